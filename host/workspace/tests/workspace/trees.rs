//! Work trees over real repositories: nothing that was written is lost, and every step can be repeated (D3, D9).

mod checkpoint;
mod commands;
mod commit;
mod fixture;
mod ignored;
mod index;
mod land;
mod merge;
mod objects;
mod to_branch;
mod undo;
mod user_filters;
mod whole_files;
