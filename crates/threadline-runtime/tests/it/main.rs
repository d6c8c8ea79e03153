//! Tests of the runtime: scripted models, real stores, real tools.

mod crashes;
mod faults;
mod feed;
mod house;
mod leases;
mod stops;
mod tools;
mod turns;
