//! Work trees over real repositories: nothing that anybody wrote is lost, and every step can be said again (D3, D9).

#[path = "trees/commands.rs"]
mod commands;
#[path = "trees/commit.rs"]
mod commit;
#[path = "trees/land.rs"]
mod land;
#[path = "trees/merge.rs"]
mod merge;
#[path = "trees/start.rs"]
mod start;
#[path = "trees/to_branch.rs"]
mod to_branch;
#[path = "trees/undo.rs"]
mod undo;
#[path = "trees/world.rs"]
mod world;
