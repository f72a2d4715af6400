//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod changes;
mod checks;
mod commits;
mod disputes;
mod endings;
mod examinations;
mod handoffs;
mod history;
mod inputs;
mod mind;
mod offload;
mod parts;
mod pointers;
mod properties;
mod quota;
mod recovery;
mod seats;
mod splits;
mod to_branch;
mod turns;
mod walks;
mod world;
