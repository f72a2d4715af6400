//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod properties;
mod walks;
mod world;
