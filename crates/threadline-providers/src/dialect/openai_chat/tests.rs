//! Small streams and requests of our own making, one for each thing that servers do differently.

mod asked;
mod decode;
mod encode;
mod options;
