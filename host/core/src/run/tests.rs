//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod examinations;
mod handoffs;
mod inputs;
mod mind;
mod offload;
mod properties;
mod seats;
mod splits;
mod walks;
mod world;
