//! The built `baton` from end to end, over real processes, folders and journals; one module a subject. In one program, since each
//! links all of wasmtime. `cargo test -p baton-cli --test e2e swap::` runs one module.

#[path = "../../host/lab/tests/lab/enrolled/mod.rs"]
mod enrolled;
#[path = "../hostile/guests.rs"]
mod guests;
mod support;

mod arrows;
mod badinput;
mod command_line;
mod commits;
mod crash;
mod documents;
mod experiment;
mod flags;
mod grants;
mod hostile_agents;
mod hostile_run;
mod import;
mod languages;
mod launch;
mod layers;
mod names;
mod offload;
mod own_policy;
mod pickup;
mod picture;
mod plans;
mod policy_check;
mod policy_try;
mod privacy;
mod proxy;
mod quickstart;
mod registry;
mod replay;
mod rules;
mod sandbox;
mod shown;
mod simulate;
mod split;
mod swap;
mod terminal;
mod tools;
mod undo;
mod way_in;
mod workspace;
