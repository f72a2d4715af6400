//! One step of a script: its syntax and meaning. Plays nothing.

use std::path::Path;

use baton_core::input::{AgentReport, ReportedHandoff, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One turn of the agent.
#[derive(Debug, PartialEq)]
pub(super) struct ScriptStep {
    pub(super) act: StepAction,
    /// Tokens that it takes, if the script sets them.
    pub(super) tokens: Option<u64>,
    /// Skipped if this file existed when the prompt began.
    pub(super) unless: Option<String>,
    /// Skipped if this file did not exist when the prompt began.
    pub(super) when: Option<String>,
    /// Left out in prompts of phases whose id does not match this pattern.
    pub(super) phase: Option<String>,
    /// Left out in sessions of the other kind.
    pub(super) session: Option<SessionKind>,
}

impl ScriptStep {
    /// Whether no step after this one is ever played.
    pub(super) fn always_ends_the_prompt(&self) -> bool {
        let conditions = [&self.unless, &self.when, &self.phase];
        self.act.ends_the_prompt() && conditions.iter().all(|text| text.is_none()) && self.session.is_none()
    }
}

/// How a session came to its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionKind {
    /// It began the phase, or began it again with nothing handed on to it.
    First,
    /// It continues the work of another session.
    Successor,
}

/// What is done in a step.
#[derive(Debug, PartialEq)]
pub(super) enum StepAction {
    /// Write a file, whole.
    Write { path: String, content: String },
    /// Append lines to a file that are not in it yet.
    Append { path: String, lines: Vec<String> },
    /// Put one text in the place of another one.
    Edit { path: String, from: String, to: String },
    /// Take the marks of a conflict out of a file.
    Resolve { path: String, keep: ConflictChoice },
    /// Write to the file that the prompt names for the result of a sub-phase; does nothing if it names none.
    Result { content: String },
    /// Put the files that the prompt names as results one below the other.
    Gather { path: String },
    /// Answer something.
    Say(String),
    /// Call a tool that reads a file; its result takes the `tokens` of the step.
    Read { path: String },
    /// Read the handoff that the session's first prompt names.
    ReadHandoff,
    /// Think.
    Think,
    /// Work until `percent` percent of the window are full.
    Fill { percent: u64 },
    /// Ask the host for permission, and say the answer.
    Ask { title: String, kind: String },
    /// Report something else than a finished objective.
    Report(AgentReport),
    /// Report the status of the objective. The agent then reports no other status of it by itself.
    Status { status: ObjectiveStatus, note: String },
    /// Write a handoff, and end the prompt with the objective open.
    Handoff(ReportedHandoff),
    /// Say some last words, and end the prompt with the objective open.
    Stop(String),
    /// Call a tool of the MCP server that the host has given.
    Tool { name: String, arguments: Value },
    /// Ask for a split, and end the prompt with the objective open.
    Split { groups: Vec<SplitGroupReport>, rationale: String },
    /// Submit a review. Each review of a phase has the next score; those after the last one have the last.
    Review { scores: Vec<u32>, summary: String, findings: Vec<String> },
    /// Answer the prompt with a rate limit, `times` times in a process.
    RateLimit { resets_in_ms: u64, times: u32 },
    /// End the process.
    Exit(u8),
    /// Never answer again.
    Hang,
    /// Print this many bytes that are not a message, on one line.
    Garbage(u64),
    /// Leave two processes behind: one in the own process group, one in another.
    Grandchildren,
    /// Take no notice of SIGTERM from here on.
    IgnoreSigterm,
    /// Delete everything in the workspace that can be deleted.
    DeleteWorkspace,
}

impl StepAction {
    /// Whether the prompt ends with it, with the objective open.
    pub(super) fn ends_the_prompt(&self) -> bool {
        matches!(self, StepAction::Split { .. } | StepAction::Handoff(_) | StepAction::Stop(_))
    }

    /// The call of a tool that the host has, and the report through a file that means the same.
    pub(super) fn call(&self, objective: &str) -> Option<(&'static str, Value)> {
        match self {
            StepAction::Split { groups, rationale } => {
                Some(("split_request", json!({ "groups": groups, "rationale": rationale })))
            }
            StepAction::Status { status, note } => {
                let arguments = json!({ "objective": objective, "status": status, "note": note });
                Some(("objective_update", arguments))
            }
            StepAction::Handoff(handoff) => Some(("handoff_write", json!(handoff))),
            StepAction::Review { scores, summary, findings } => {
                let score = scores.get(round(objective) - 1).or(scores.last()).copied().unwrap_or_default();
                Some(("review_submit", json!({ "score": score, "summary": summary, "findings": findings })))
            }
            _ => None,
        }
    }
}

/// The round, from the number at the end of an objective's id (`review-20a-2`); 1 if there is none.
fn round(objective: &str) -> usize {
    let digits = objective.rsplit('-').next().unwrap_or_default();
    digits.parse().unwrap_or(1).max(1)
}

/// What is left of the two sides of a conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ConflictChoice {
    /// First the one, then the other.
    #[default]
    Both,
    /// What was there.
    Ours,
    /// What came.
    Theirs,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    write: Option<String>,
    append: Option<String>,
    edit: Option<String>,
    resolve: Option<String>,
    result: Option<String>,
    gather: Option<String>,
    say: Option<String>,
    read: Option<String>,
    #[serde(default)]
    read_handoff: bool,
    think_tokens: Option<u64>,
    fill_percent: Option<u64>,
    ask: Option<String>,
    report: Option<AgentReport>,
    status: Option<ObjectiveStatus>,
    handoff: Option<ReportedHandoff>,
    stop: Option<String>,
    tool: Option<RawTool>,
    split: Option<RawSplit>,
    review: Option<RawReview>,
    rate_limit: Option<RawRateLimit>,
    exit: Option<u8>,
    #[serde(default)]
    hang: bool,
    garbage: Option<u64>,
    #[serde(default)]
    spawn_grandchild: bool,
    #[serde(default)]
    ignore_sigterm: bool,
    #[serde(default)]
    delete_workspace: bool,

    content: Option<String>,
    lines: Option<Vec<String>>,
    from: Option<String>,
    to: Option<String>,
    keep: Option<ConflictChoice>,
    kind: Option<String>,
    note: Option<String>,
    tokens: Option<u64>,
    unless: Option<String>,
    when: Option<String>,
    phase: Option<String>,
    session: Option<SessionKind>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSplit {
    groups: Vec<SplitGroupReport>,
    rationale: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReview {
    score: OneOrMore,
    summary: String,
    #[serde(default)]
    findings: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(u32),
    More(Vec<u32>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRateLimit {
    resets_in_ms: u64,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

/// What a step may say, for the error of one that says nothing or too much.
const ACTS: &str = "write, append, edit, resolve, result, gather, say, read, read_handoff, think_tokens, fill_percent, \
                    ask, report, status, handoff, stop, tool, split, review, rate_limit, exit, hang, garbage, \
                    spawn_grandchild, ignore_sigterm, delete_workspace";

impl RawStep {
    pub(super) fn into_step(mut self) -> Result<ScriptStep, String> {
        let tokens = self.think_tokens.or(self.tokens.take());
        let (unless, when, phase) = (self.unless.take(), self.when.take(), self.phase.take());
        let session = self.session.take();
        let mut acts = Vec::new();
        self.take_files(&mut acts)?;
        self.parse_message_actions(&mut acts)?;
        self.parse_status_actions(&mut acts)?;
        self.parse_fault_actions(&mut acts);
        self.check_no_keys_left()?;
        let count = acts.len();
        match (acts.pop(), count) {
            (Some(act), 1) => Ok(ScriptStep { act, tokens, unless, when, phase, session }),
            (_, 0) => Err(format!("this step does nothing; it needs one of: {ACTS}")),
            _ => Err(format!("this step does {count} things; write one step for each of them")),
        }
    }

    fn take_files(&mut self, acts: &mut Vec<StepAction>) -> Result<(), String> {
        if let Some(path) = self.write.take() {
            acts.push(StepAction::Write {
                path: check_workspace_path(path)?,
                content: join_lines(self.text("write")?),
            });
        }
        if let Some(path) = self.append.take() {
            let lines =
                self.text("append")?.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
            acts.push(StepAction::Append { path: check_workspace_path(path)?, lines });
        }
        if let Some(path) = self.edit.take() {
            let (Some(from), Some(to)) = (self.from.take(), self.to.take()) else {
                return Err("edit needs what is there and what comes in its place: from = \"…\", to = \"…\""
                    .to_owned());
            };
            acts.push(StepAction::Edit { path: check_workspace_path(path)?, from, to });
        }
        if let Some(path) = self.resolve.take() {
            acts.push(StepAction::Resolve {
                path: check_workspace_path(path)?,
                keep: self.keep.take().unwrap_or_default(),
            });
        }
        acts.extend(self.result.take().map(|text| StepAction::Result { content: join_lines(vec![text]) }));
        if let Some(path) = self.gather.take() {
            acts.push(StepAction::Gather { path: check_workspace_path(path)? });
        }
        acts.extend(self.read.take().map(|path| StepAction::Read { path }));
        acts.extend(self.read_handoff.then_some(StepAction::ReadHandoff));
        Ok(())
    }

    fn parse_message_actions(&mut self, acts: &mut Vec<StepAction>) -> Result<(), String> {
        if let Some(title) = self.ask.take() {
            acts.push(StepAction::Ask {
                title,
                kind: self.kind.take().unwrap_or_else(|| "execute".to_owned()),
            });
        }
        acts.extend(self.say.take().map(StepAction::Say));
        acts.extend(self.think_tokens.map(|_| StepAction::Think));
        acts.extend(self.report.take().map(StepAction::Report));
        let tool =
            |tool: RawTool| StepAction::Tool { name: tool.name, arguments: Value::Object(tool.arguments) };
        acts.extend(self.tool.take().map(tool));
        acts.extend(
            self.split.take().map(|RawSplit { groups, rationale }| StepAction::Split { groups, rationale }),
        );
        if let Some(RawReview { score, summary, findings }) = self.review.take() {
            let scores = match score {
                OneOrMore::One(score) => vec![score],
                OneOrMore::More(scores) => scores,
            };
            if scores.is_empty() {
                return Err("review needs a score, or one for each time: score = [40, 90]".to_owned());
            }
            acts.push(StepAction::Review { scores, summary, findings });
        }
        Ok(())
    }

    /// Parses the actions about the state of the session and its objective.
    fn parse_status_actions(&mut self, acts: &mut Vec<StepAction>) -> Result<(), String> {
        if let Some(percent) = self.fill_percent {
            if !(1..=100).contains(&percent) {
                return Err(format!("fill_percent is from 1 to 100, not {percent}"));
            }
            acts.push(StepAction::Fill { percent });
        }
        if let Some(status) = self.status.take() {
            acts.push(StepAction::Status { status, note: self.note.take().unwrap_or_default() });
        }
        acts.extend(self.handoff.take().map(StepAction::Handoff));
        acts.extend(self.stop.take().map(StepAction::Stop));
        Ok(())
    }

    fn parse_fault_actions(&mut self, acts: &mut Vec<StepAction>) {
        let limit = |limit: RawRateLimit| StepAction::RateLimit {
            resets_in_ms: limit.resets_in_ms,
            times: limit.times,
        };
        acts.extend(self.rate_limit.take().map(limit));
        acts.extend(self.exit.map(StepAction::Exit));
        acts.extend(self.garbage.map(StepAction::Garbage));
        acts.extend(self.hang.then_some(StepAction::Hang));
        acts.extend(self.spawn_grandchild.then_some(StepAction::Grandchildren));
        acts.extend(self.ignore_sigterm.then_some(StepAction::IgnoreSigterm));
        acts.extend(self.delete_workspace.then_some(StepAction::DeleteWorkspace));
    }

    /// What no act has taken belongs to another one.
    fn check_no_keys_left(&self) -> Result<(), String> {
        let said = match self {
            step if step.content.is_some() || step.lines.is_some() => {
                "content and lines belong to a step with write or append"
            }
            step if step.from.is_some() || step.to.is_some() => "from and to belong to a step with edit",
            step if step.keep.is_some() => "keep belongs to a step with resolve",
            step if step.kind.is_some() => "kind belongs to a step with ask",
            step if step.note.is_some() => "note belongs to a step with status",
            _ => return Ok(()),
        };
        Err(said.to_owned())
    }

    /// The text of a step that writes, in pieces.
    fn text(&mut self, act: &str) -> Result<Vec<String>, String> {
        match (self.content.take(), self.lines.take()) {
            (Some(content), None) => Ok(vec![content]),
            (None, Some(lines)) => Ok(lines),
            (None, None) => Err(format!("{act} needs what to write: content = \"…\" or lines = [\"…\"]")),
            (Some(_), Some(_)) => Err(format!("{act} takes content or lines, not both")),
        }
    }
}

/// The text of a file, which ends with a line break.
fn join_lines(pieces: Vec<String>) -> String {
    let content = pieces.join("\n");
    if content.ends_with('\n') { content } else { content + "\n" }
}

/// A shared script must not write outside of the workspace.
fn check_workspace_path(path: String) -> Result<String, String> {
    let normal = Path::new(&path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if normal && !path.is_empty() {
        Ok(path)
    } else {
        Err(format!("{path:?} is not a path inside the workspace"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_review_of_a_phase_has_its_own_score() {
        let act = StepAction::Review { scores: vec![40, 90], summary: "s".to_owned(), findings: Vec::new() };
        let score = |objective: &str| act.call(objective).unwrap().1["score"].clone();
        assert_eq!([score("review-20a-1"), score("review-20a-2"), score("review-20a-3")], [40, 90, 90]);
        assert_eq!([score("review-20a-1-2"), score("look"), score("look-0")], [90, 40, 40]);
    }
}
