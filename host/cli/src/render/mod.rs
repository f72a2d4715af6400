//! Renders notices and views for people and programs. The wording is here; nothing is decided here.

pub(crate) mod candidate_trial;
pub(crate) mod changes;
pub(crate) mod comparison;
pub(crate) mod decision;
pub(crate) mod dry_run;
pub(crate) mod experiment;
pub(crate) mod handoff;
pub(crate) mod html_page;
pub(crate) mod import;
pub(crate) mod json_record;
pub(crate) mod live_table;
pub(crate) mod log;
pub(crate) mod notice;
pub(crate) mod permission_hint;
pub(crate) mod plain_renderer;
pub(crate) mod question_progress;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod resume_message;
pub(crate) mod shadow;
pub(crate) mod simulation;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod terminal_style;
#[cfg(test)]
pub(crate) mod test_samples;
pub(crate) mod text_format;
pub(crate) mod which;
