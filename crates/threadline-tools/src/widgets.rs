//! Widgets: state that an agent sees on its live screen and changes by recorded calls.

pub mod notebook;
