//! Requests in, bodies out.
