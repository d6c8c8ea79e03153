//! Where histories live.
