//! Walks of the machine through a small world: agents, disk and policies that do what the test says.

mod branch_commits;
mod checks;
mod commits;
mod disputes;
mod endings;
mod fake_policy;
mod handoffs;
mod history;
mod part_reviews;
mod phase_transitions;
mod pointers;
mod policy_bindings;
mod prompt_offload;
mod properties;
mod quota;
mod recovery;
mod resumed_claims;
mod reviews_and_loops;
mod session_changes;
mod splits;
mod test_run;
mod tool_result_offload;
mod turns;
