//! The form of a call: required texts are not empty, and nothing is longer than a report may be. Independent of the run.

use baton_core::input::SCORE_MAX;

use crate::tool_definitions::ArgumentError;
use crate::tool_requests::{HandoffWrite, RequestedSplitGroup, ReviewSubmit, ToolCall};

/// A report is a few sentences, kept in the journal and given to every successor; a longer text is an artifact.
pub const TEXT_BYTES_MAX: usize = 8 << 10;
/// Facts of a handoff: they must fit on one screen together with everything else (C7).
pub const FACTS_MAX: usize = 5;
/// Files of a handoff: a list that is longer names no file that matters.
pub(crate) const FILES_MAX: usize = 20;
/// Groups of a split: a phase has no more objectives than this.
const GROUPS_MAX: usize = 200;
/// Findings of a review: no agent acts on more of them at once.
const FINDINGS_MAX: usize = 100;
/// Text of an artifact inside a call: as much as a model would ever write in one. More comes by path.
pub const CONTENT_BYTES_MAX: usize = 256 << 10;
/// One answer of `artifact_load`: some 16,000 tokens, the most that should enter a context at once.
pub const LOAD_BYTES_MAX: u64 = 64 << 10;
/// One answer of `artifact_list`.
pub const LIST_MAX: u32 = 200;

impl ToolCall {
    /// Whether it has the right form.
    ///
    /// # Errors
    /// An [`ArgumentError`] that names the argument and what would be right.
    pub fn check(&self) -> Result<(), ArgumentError> {
        match self {
            ToolCall::ObjectiveUpdate(update) => text("note", &update.note),
            ToolCall::DecisionRecord(record) => {
                said("decision", &record.decision)?;
                said("rationale", &record.rationale)
            }
            ToolCall::AttemptRecord(record) => {
                said("approach", &record.approach)?;
                said("outcome", &record.outcome)
            }
            ToolCall::GotchaRecord(record) => said("gotcha", &record.gotcha),
            ToolCall::PatternRecord(record) => said("pattern", &record.pattern),
            ToolCall::HandoffWrite(handoff) => check_handoff(handoff),
            ToolCall::SplitRequest(request) => {
                said("rationale", &request.rationale)?;
                check_groups(&request.groups)
            }
            ToolCall::ReviewSubmit(review) => check_review(review),
            ToolCall::ArtifactSave(save) => {
                said("name", &save.name)?;
                text("summary", &save.summary)?;
                match (&save.content, &save.path) {
                    (Some(content), None) if content.len() > CONTENT_BYTES_MAX => fault(
                        "content",
                        format!(
                            "it has {} bytes, and a call takes {CONTENT_BYTES_MAX}: write it to a file in the \
                             workspace and give its path",
                            content.len()
                        ),
                    ),
                    (Some(_), None) => Ok(()),
                    (None, Some(path)) => said("path", path),
                    (None, None) => {
                        fault("content", "give the text itself as content, or the path of a file".to_owned())
                    }
                    (Some(_), Some(_)) => fault("path", "give content or path, not both".to_owned()),
                }
            }
            ToolCall::ArtifactLoad(load) => {
                said("name", &load.name)?;
                match load.limit {
                    Some(0) => fault("limit", "0 bytes are nothing: ask for 1 or more".to_owned()),
                    _ => Ok(()),
                }
            }
            ToolCall::ArtifactList(_) | ToolCall::ContextStatus(_) => Ok(()),
        }
    }
}

fn check_handoff(handoff: &HandoffWrite) -> Result<(), ArgumentError> {
    said("current_state", &handoff.current_state)?;
    said("immediate_next_action", &handoff.immediate_next_action)?;
    at_most("critical_context", handoff.critical_context.len(), FACTS_MAX, "facts that matter most")?;
    at_most("critical_files", handoff.critical_files.len(), FILES_MAX, "files that matter most")?;
    handoff.critical_context.iter().try_for_each(|fact| said("critical_context", fact))?;
    handoff.critical_files.iter().try_for_each(|file| critical_file(file))
}

/// A path, with or without a line after it: "src/printer.rs:40".
fn critical_file(file: &str) -> Result<(), ArgumentError> {
    said("critical_files", file)?;
    match file.trim().rsplit_once(':') {
        Some(("", _)) => fault("critical_files", format!("{file:?} names a line and no file")),
        Some((_, "0")) => fault("critical_files", format!("{file:?} names line 0; lines begin at 1")),
        _ => Ok(()),
    }
}

fn check_review(review: &ReviewSubmit) -> Result<(), ArgumentError> {
    if review.score > SCORE_MAX {
        return fault("score", format!("it is {}, and the best is {SCORE_MAX}", review.score));
    }
    said("summary", &review.summary)?;
    at_most("findings", review.findings.len(), FINDINGS_MAX, "findings that matter most")?;
    review.findings.iter().try_for_each(|finding| said("findings", finding))
}

fn check_groups(groups: &[RequestedSplitGroup]) -> Result<(), ArgumentError> {
    if groups.is_empty() {
        return fault("groups", "there is none: name at least one group with its objectives".to_owned());
    }
    at_most("groups", groups.len(), GROUPS_MAX, "groups; put more objectives into each")?;
    for group in groups {
        said("groups", &group.title)?;
        if group.objectives.is_empty() {
            return fault("groups", format!("the group {:?} has no objectives", group.title));
        }
    }
    Ok(())
}

/// A text that must not be empty.
fn said(field: &'static str, value: &str) -> Result<(), ArgumentError> {
    if value.trim().is_empty() {
        return fault(field, "it is empty".to_owned());
    }
    text(field, value)
}

fn text(field: &'static str, value: &str) -> Result<(), ArgumentError> {
    if value.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    let bytes = value.len();
    fault(
        field,
        format!(
            "it has {bytes} bytes, at most {TEXT_BYTES_MAX}: save the long form as an artifact and name it"
        ),
    )
}

fn at_most(field: &'static str, count: usize, max: usize, what: &str) -> Result<(), ArgumentError> {
    if count <= max {
        return Ok(());
    }
    fault(field, format!("there are {count}, at most {max}: keep the {what}"))
}

fn fault<T>(field: &str, message: String) -> Result<T, ArgumentError> {
    Err(ArgumentError { field: Some(field.to_owned()), message })
}
