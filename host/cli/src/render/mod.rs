//! From notices and views to what people and programs read. The wording lives here; nothing is decided here.

pub(crate) mod allowing;
pub(crate) mod asking;
pub(crate) mod changes;
pub(crate) mod comparison;
pub(crate) mod decision;
pub(crate) mod experiment;
pub(crate) mod found;
pub(crate) mod handoff;
pub(crate) mod import;
pub(crate) mod live;
pub(crate) mod log;
pub(crate) mod look;
pub(crate) mod notice;
pub(crate) mod page;
pub(crate) mod plain;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
#[cfg(test)]
pub(crate) mod samples;
pub(crate) mod shadow;
pub(crate) mod simulation;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod trial;
pub(crate) mod which;
pub(crate) mod words;
