//! Widgets: state that an agent sees on its live screen and changes by recorded calls.

mod answer;
pub mod board;
pub mod clock;
mod lines;
pub mod notebook;
pub mod resources;
#[cfg(test)]
mod testing;
