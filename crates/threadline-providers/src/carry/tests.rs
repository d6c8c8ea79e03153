//! Tests of carrying.
