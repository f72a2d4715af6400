//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod handoffs;
mod inputs;
mod offload;
mod properties;
mod walks;
mod world;
