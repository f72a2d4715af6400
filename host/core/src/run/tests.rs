//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod changes;
mod checks;
mod commits;
mod disputes;
mod endings;
mod examinations;
mod fake_policy;
mod handoffs;
mod history;
mod inputs;
mod offload;
mod parts;
mod phase_transitions;
mod pointers;
mod policy_bindings;
mod properties;
mod quota;
mod recovery;
mod splits;
mod to_branch;
mod turns;
mod world;
