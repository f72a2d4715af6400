//! The lab over recorded and simulated runs: replay, trials, imports, experiments, statistics; one module a subject.
#![forbid(unsafe_code)]

#[path = "../../../../tests/hostile/guests.rs"]
mod guests;

mod conformance;
mod enrolled;
mod experiment;
mod gates;
mod golden;
mod handoff;
mod import;
mod relay;
mod replay;
mod simulated;
mod stats;
mod stats_gates;
mod stub_recorder;
mod trial;
mod verify;
