//! What can be asked of the host, as types. The comments on the requests and their fields become the descriptions that
//! a model reads, so they speak to the agent: what a call is for, and when to make it. Checks nothing.

use baton_core::input::{Report, ReportedHandoff, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use baton_core::{Digest, ObjectiveId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One call of one tool. As JSON it is what goes over the control socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tool", content = "arguments", rename_all = "snake_case")]
pub enum Call {
    /// An objective moved.
    ObjectiveUpdate(ObjectiveUpdate),
    /// A choice and why.
    DecisionRecord(DecisionRecord),
    /// Something that did not work.
    AttemptRecord(AttemptRecord),
    /// A trap on the way.
    GotchaRecord(GotchaRecord),
    /// What the successor should know.
    HandoffWrite(HandoffWrite),
    /// The scope is too large.
    SplitRequest(SplitRequest),
    /// Keep something.
    ArtifactSave(ArtifactSave),
    /// Read something that is kept, by range.
    ArtifactLoad(ArtifactLoad),
    /// What is kept.
    ArtifactList(ArtifactList),
    /// Where the session stands.
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
    /// Files that matter, relative to the workspace, at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub critical_files: Vec<String>,
}

/// Ask for your phase to be split, where its scope is too large for one session. Asking early is a success, not a
/// failure. Go on with the current objective meanwhile; the split comes between two prompts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitRequest {
    /// How you would group the objectives; each group becomes a phase of its own, in this order.
    pub groups: Vec<Group>,
    /// Why here: what belongs together, and what does not.
    pub rationale: String,
}

/// A group of a split request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What the group is about, in a few words.
    pub title: String,
    /// Ids of its objectives.
    #[schemars(with = "Vec<String>")]
    pub objectives: Vec<ObjectiveId>,
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

impl Call {
    /// What it reports to core by itself. Absent where it only asks, and for an artifact, which must be kept first.
    pub fn report(&self) -> Option<Report> {
        Some(match self.clone() {
            Call::ObjectiveUpdate(ObjectiveUpdate { objective, status, note }) => {
                Report::ObjectiveUpdate { objective, status, note }
            }
            Call::DecisionRecord(DecisionRecord { decision, rationale }) => {
                Report::DecisionRecord { decision, rationale }
            }
            Call::AttemptRecord(AttemptRecord { approach, outcome }) => {
                Report::AttemptRecord { approach, outcome }
            }
            Call::GotchaRecord(GotchaRecord { gotcha }) => Report::GotchaRecord { gotcha },
            Call::HandoffWrite(written) => Report::HandoffWrite(Box::new(ReportedHandoff {
                current_state: written.current_state,
                immediate_next_action: written.immediate_next_action,
                critical_context: written.critical_context,
                critical_files: written.critical_files,
            })),
            Call::SplitRequest(SplitRequest { groups, rationale }) => {
                let group =
                    |group: Group| SplitGroupReport { title: group.title, objectives: group.objectives };
                Report::SplitRequest { groups: groups.into_iter().map(group).collect(), rationale }
            }
            Call::ArtifactSave(_)
            | Call::ArtifactLoad(_)
            | Call::ArtifactList(_)
            | Call::ContextStatus(_) => return None,
        })
    }

    /// Content address of the call, whoever makes it.
    pub fn digest(&self) -> Digest {
        // A call is plain data: it always has a JSON form.
        Digest::of(serde_json::to_vec(self).unwrap_or_default())
    }
}
