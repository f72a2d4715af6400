//! The built `baton` from end to end, over real processes, folders and journals; one module a subject. In one program, since each
//! links all of wasmtime. `cargo test -p baton-cli --test e2e swap::` runs one module.

#[path = "../../host/lab/tests/lab/enrolled/mod.rs"]
mod enrolled;
#[path = "../hostile/guests.rs"]
mod guests;
mod support;

mod automatic_resume;
mod bad_input;
mod command_line;
mod commits;
mod crash;
mod dependency_rules;
mod documented_output;
mod documents;
mod experiment;
mod first_use;
mod flags;
mod grants;
mod hostile_agents;
mod hostile_run;
mod import;
mod languages;
mod launch;
mod layers;
mod lost_work;
mod lost_work_in_history;
mod lost_work_in_waits;
mod names;
mod offload;
mod own_policy;
mod plans;
mod policy_check;
mod policy_try;
mod privacy;
mod proxy;
mod quickstart;
mod readme_picture;
mod registry;
mod replay;
mod restored_folder;
mod rules;
mod runs_above;
mod sandbox;
mod simulate;
mod split;
mod swap;
mod task_sources;
mod terminal;
mod tools;
mod undo;
mod undone_work;
mod workspace;
