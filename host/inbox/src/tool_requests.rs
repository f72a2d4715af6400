//! The calls of agents to the host, as types. The comments on the requests and their fields become the descriptions that a
//! model reads, so they address the agent: the purpose of a call, and when to make it. Checks nothing.

use baton_core::input::{AgentReport, ReportedHandoff, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use baton_core::{Digest, ObjectiveId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One call of one tool. Its JSON form is sent over the control socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "arguments", rename_all = "snake_case")]
pub enum ToolCall {
    /// An objective moved.
    ObjectiveUpdate(ObjectiveUpdate),
    /// A choice and why.
    DecisionRecord(DecisionRecord),
    /// Something that did not work.
    AttemptRecord(AttemptRecord),
    /// A trap on the way.
    GotchaRecord(GotchaRecord),
    /// A pattern to follow.
    PatternRecord(PatternRecord),
    /// Notes for the successor.
    HandoffWrite(HandoffWrite),
    /// The scope is too large.
    SplitRequest(SplitRequest),
    /// The result of a review.
    ReviewSubmit(ReviewSubmit),
    /// Keep something.
    ArtifactSave(ArtifactSave),
    /// Read something that is kept, by range.
    ArtifactLoad(ArtifactLoad),
    /// List what is stored.
    ArtifactList(ArtifactList),
    /// Ask for the state of the session.
    ContextStatus(ContextStatus),
}

/// Say where an objective stands. Call it with `in-progress` when you begin one, and with `done` as soon as it is true,
/// before you go on to the next: progress that is not reported is lost when your context runs out, and your successor
/// does it again. Use `failed` with a note where you cannot do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveUpdate {
    /// Id of the objective, as your prompt names it in square brackets: "parser", for example.
    #[schemars(with = "String")]
    pub objective: ObjectiveId,
    /// Where it stands now.
    pub status: ObjectiveStatus,
    /// One sentence for whoever reads along: what shows that it is done, or why it failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// Record a choice that whoever continues your work must keep to, and why you made it. Call it when you choose between
/// real alternatives (a library, a format, an interface), not for every step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRecord {
    /// What you chose, in one sentence.
    pub decision: String,
    /// Why, and what you chose against.
    pub rationale: String,
}

/// Record something that you tried and that did not work, so that nobody tries it again. Call it when you give an
/// approach up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptRecord {
    /// What you tried.
    pub approach: String,
    /// What came of it: the error, the reason.
    pub outcome: String,
}

/// Record a trap of this code or this place that cost you time, and how to get around it. Call it when you find out
/// something that the next one would stumble over as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GotchaRecord {
    /// The trap, and the way around it.
    pub gotcha: String,
}

/// Record a pattern of this code that new work should follow: a convention, a helper that everything uses, the way in which
/// tests are written. Call it when you find one that your prompt did not name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatternRecord {
    /// The pattern, in one sentence, and a file that shows it.
    pub pattern: String,
}

/// Write down what your successor needs to go on without you. Call it when your context fills up, when you are asked to
/// hand off, or before you stop with work left. The newest one counts; the host adds what it knows itself (objectives,
/// files, commits), so write what only you know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffWrite {
    /// What is done, and what is half done and how.
    pub current_state: String,
    /// The one next step, concrete enough to begin with it.
    pub immediate_next_action: String,
    /// Essential facts, at most 5, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 5))]
    pub critical_context: Vec<String>,
    /// Files that matter, relative to the workspace, at most 20; with a line where one matters: "src/printer.rs:40".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub critical_files: Vec<String>,
    /// Ids of the objectives that are not finished: one that was reported as done before is open again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub open: Vec<ObjectiveId>,
}

/// Ask for your phase to be split, where its scope is too large for one session: each group then gets an agent of its own,
/// and they work at the same time. Asking early is a success, not a failure. Come to a good stopping point and end your
/// turn: the split is judged between two prompts, and what you have done so far is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitRequest {
    /// How you would group the objectives; each group becomes a phase of its own, in this order.
    pub groups: Vec<RequestedSplitGroup>,
    /// Why here: what belongs together, and what does not.
    pub rationale: String,
}

/// A group of a split request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestedSplitGroup {
    /// What the group is about, in a few words.
    pub title: String,
    /// Ids of its objectives.
    #[schemars(with = "Vec<String>")]
    pub objectives: Vec<ObjectiveId>,
}

/// Submit your review, where your prompt asks you for one; nobody else can. Call it once, at the end, when you have looked
/// at everything that you were asked to look at. A score below the one that is asked for sends your findings back to
/// whoever did the work, so write each so that it can be acted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewSubmit {
    /// How good the work is, from 0 to 100: 100 where you would change nothing, below 70 where it must not stay as it is.
    #[schemars(range(max = 100))]
    pub score: u32,
    /// What you think of it as a whole, in one to three sentences.
    pub summary: String,
    /// What is wrong, the worst first, each with its file and line and what would be right; at most 100.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub findings: Vec<String>,
}

/// Keep a text or a file under a name, outside of the workspace and of your context: a long output, a plan, a finding.
/// Give `content`, or the `path` of a file that is there already; not both. A name that exists gets a new version, and
/// older ones stay. Refer to it by name afterwards instead of repeating it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactSave {
    /// Name, like a relative path: "plans/parser.md".
    pub name: String,
    /// The text to keep, up to 256 KiB. Write what is longer to a file, and give its `path`.
    #[serde(default, alias = "text", skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// A file to keep, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// As in HTTP, "text/markdown" for example; found by the name where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// One line that tells others whether they need it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
}

/// Read a part of an artifact: of yours, or of an earlier session. Text comes as it is, anything else as base64. The
/// answer says how long the whole is and at which `offset` to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactLoad {
    /// Its name, as `artifact_list` gives it.
    pub name: String,
    /// Which version; the newest where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// First byte; 0 where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Bytes at most: 16384 where it is left out, never more than 65536.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// List what this run keeps, newest versions only, by name: what earlier sessions, you and the host saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactList {
    /// How many to pass over; 0 where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    /// How many at most: 50 where it is left out, never more than 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Ask where you stand: how full your context is, turns used and left, which objectives are done and open, the newest
/// handoff, and the newest warning. Call it before you begin something large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextStatus {}

/// Characters of a review's summary that are shown.
const SUMMARY_CHARS: usize = 500;
/// Bytes of all findings that go back to the agent that did the work: what a prompt has room for. The artifact has all of them.
const FINDINGS_BYTES: usize = 4 << 10;

impl ReviewSubmit {
    /// The whole of it, to be kept as an artifact.
    pub fn document(&self, title: &str) -> String {
        let mut text = format!("# {title}\n\nScore: {} of 100\n\n{}\n", self.score, self.summary.trim());
        for (index, finding) in self.findings.iter().enumerate() {
            let lines = finding.trim().replace('\n', "\n   ");
            text.push_str(&format!(
                "{}{}. {lines}\n",
                if index == 0 { "\n## Findings\n\n" } else { "" },
                index + 1
            ));
        }
        text
    }

    /// The part of it that core holds: the score, the summary, and as many findings as fit (D1). `artifact` has the rest.
    pub fn report(&self, artifact: &str) -> AgentReport {
        let summary = cut(self.summary.trim(), SUMMARY_CHARS);
        let whole: usize = self.findings.iter().map(String::len).sum();
        let rest = format!("the whole review is the artifact {artifact}; artifact_load reads it");
        let mut room = if whole > FINDINGS_BYTES { FINDINGS_BYTES.saturating_sub(rest.len()) } else { whole };
        let mut findings = Vec::new();
        for finding in &self.findings {
            if finding.len() > room {
                // The beginning of a long finding is still useful.
                if findings.is_empty() {
                    findings.push(finding[..finding.floor_char_boundary(room)].to_owned());
                }
                break;
            }
            room -= finding.len();
            findings.push(finding.clone());
        }
        if whole > FINDINGS_BYTES {
            findings.push(rest);
        }
        AgentReport::ReviewSubmit { score: self.score, summary, findings }
    }
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}

impl ToolCall {
    /// The report that it makes to core directly. None for a query, and for an artifact and a review, which must be stored
    /// first.
    pub fn report(&self) -> Option<AgentReport> {
        Some(match self.clone() {
            ToolCall::ObjectiveUpdate(ObjectiveUpdate { objective, status, note }) => {
                AgentReport::ObjectiveUpdate { objective, status, note }
            }
            ToolCall::DecisionRecord(DecisionRecord { decision, rationale }) => {
                AgentReport::DecisionRecord { decision, rationale }
            }
            ToolCall::AttemptRecord(AttemptRecord { approach, outcome }) => {
                AgentReport::AttemptRecord { approach, outcome }
            }
            ToolCall::GotchaRecord(GotchaRecord { gotcha }) => AgentReport::GotchaRecord { gotcha },
            ToolCall::PatternRecord(PatternRecord { pattern }) => AgentReport::PatternRecord { pattern },
            ToolCall::HandoffWrite(written) => AgentReport::HandoffWrite(Box::new(ReportedHandoff {
                current_state: written.current_state,
                immediate_next_action: written.immediate_next_action,
                critical_context: written.critical_context,
                critical_files: written.critical_files,
                open: written.open,
            })),
            ToolCall::SplitRequest(SplitRequest { groups, rationale }) => {
                let group = |group: RequestedSplitGroup| SplitGroupReport {
                    title: group.title,
                    objectives: group.objectives,
                };
                AgentReport::SplitRequest { groups: groups.into_iter().map(group).collect(), rationale }
            }
            ToolCall::ReviewSubmit(_)
            | ToolCall::ArtifactSave(_)
            | ToolCall::ArtifactLoad(_)
            | ToolCall::ArtifactList(_)
            | ToolCall::ContextStatus(_) => return None,
        })
    }

    /// Content address of the call, which does not depend on the caller.
    pub fn digest(&self) -> Digest {
        // A call is plain data: it always has a JSON form.
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_holds_a_bounded_part_of_a_review_and_the_artifact_has_all_of_it() {
        // D1
        let long = ReviewSubmit {
            score: 40,
            summary: "ä".repeat(2_000),
            findings: (0..100).map(|n| format!("src/f{n}.rs:1 {}", "wrong ".repeat(100))).collect(),
        };
        let AgentReport::ReviewSubmit { score, summary, findings } = long.report("reviews/phase-20a-1.md")
        else {
            panic!("another report")
        };
        assert_eq!((score, summary.chars().count()), (40, SUMMARY_CHARS));
        assert!(findings.iter().map(String::len).sum::<usize>() <= FINDINGS_BYTES);
        assert!(findings[0].starts_with("src/f0.rs:1"), "the worst comes first");
        assert!(findings.last().is_some_and(|last| last.contains("reviews/phase-20a-1.md")));
        let document = long.document("Review of phase 20a");
        assert!(document.contains("\n100. src/f99.rs:1") && document.contains("Score: 40 of 100"));

        let one = ReviewSubmit { findings: vec!["é".repeat(5_000)], ..long.clone() };
        let AgentReport::ReviewSubmit { findings, .. } = one.report("r") else { panic!("another report") };
        assert!(findings.len() == 2 && findings.iter().map(String::len).sum::<usize>() <= FINDINGS_BYTES);

        let short =
            ReviewSubmit { score: 95, summary: " Good. ".into(), findings: vec!["a".into(), "b".into()] };
        let expected = AgentReport::ReviewSubmit {
            score: 95,
            summary: "Good.".into(),
            findings: short.findings.clone(),
        };
        assert_eq!(short.report("r"), expected);
        assert_eq!(short.document("T"), "# T\n\nScore: 95 of 100\n\nGood.\n\n## Findings\n\n1. a\n2. b\n");
    }
}
