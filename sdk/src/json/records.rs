//! Every record and word of the contract as JSON. The names are those of the contract; where the host's own form has
//! more or other fields, it is written out by hand.

use serde_json::{Map, Value, json};

use super::{Fields, Json, Wrong};
use crate::sections::{Block, Section};
use crate::types::{
    Basis, Budget, Capabilities, ChangedFile, Channel, Evidence, Exit, ExpectedFile, FileState, GitFacts,
    Iteration, Objective, ObjectiveStatus, Occupancy, OccupancySource, Origin, Phase, Progress, Session,
    SessionState, Signal, Span, StatusReport, Turn,
};
use crate::{
    Answer, Ask, PastCompaction, PastHandoff, PastSession, PastWait, TurnTaken, budgeting, compaction,
    completion, exhaustion, handoff, offloading, prompting, recovery, review, splitting,
};

/// A word of the contract, from that of Rust: `ToolOutput` is `tool-output`.
fn kebab(word: &str) -> String {
    let mut kebab = String::new();
    for (place, letter) in word.char_indices() {
        if letter.is_ascii_uppercase() && place > 0 {
            kebab.push('-');
        }
        kebab.push(letter.to_ascii_lowercase());
    }
    kebab
}

fn says_nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Enums without payload: a word each.
macro_rules! words {
    ($($type:ty: $($word:ident)+;)+) => {$(
        impl Json for $type {
            fn read(value: Value) -> Result<Self, Wrong> {
                let word = String::read(value)?;
                $( if word == kebab(stringify!($word)) { return Ok(Self::$word); } )+
                let known = [$( kebab(stringify!($word)) ),+].join(", ");
                Err(Wrong::new(format!("`{word}` is none of {known}")))
            }

            fn write(&self) -> Value {
                match self { $( Self::$word => json!(kebab(stringify!($word))) ),+ }
            }
        }
    )+};
}

/// Words of which a later host may have more: a word, or an object with one that nobody knows yet.
macro_rules! growing_words {
    ($($type:ty: $($word:ident)+;)+) => {$(
        impl Json for $type {
            fn read(value: Value) -> Result<Self, Wrong> {
                if value.is_object() {
                    let mut fields = Fields::of(value)?;
                    let other = Self::Other(fields.take("other")?);
                    return fields.finish().map(|()| other);
                }
                let word = String::read(value)?;
                $( if word == kebab(stringify!($word)) { return Ok(Self::$word); } )+
                let known = [$( kebab(stringify!($word)) ),+].join(", ");
                Err(Wrong::new(format!("`{word}` is none of {known}, other")))
            }

            fn write(&self) -> Value {
                match self {
                    $( Self::$word => json!(kebab(stringify!($word))), )+
                    Self::Other(word) => json!({ "other": word }),
                }
            }
        }
    )+};
}

/// Records: each field under its own name; behind `or-default`, those that are left out where they say nothing.
macro_rules! records {
    ($($type:ty: $($field:ident)+ $(, or_default $($later:ident)+)?;)+) => {$(
        impl Json for $type {
            fn read(value: Value) -> Result<Self, Wrong> {
                let mut fields = Fields::of(value)?;
                let record = Self {
                    $( $field: fields.take(stringify!($field))?, )+
                    $($( $later: fields.take_or_default(stringify!($later))?, )+)?
                };
                fields.finish().map(|()| record)
            }

            fn write(&self) -> Value {
                let mut fields = Map::new();
                $( fields.insert(stringify!($field).to_owned(), self.$field.write()); )+
                $($(
                    if !says_nothing(&self.$later) {
                        fields.insert(stringify!($later).to_owned(), self.$later.write());
                    }
                )+)?
                Value::Object(fields)
            }
        }
    )+};
}

/// Variants: an object whose `tag` is the word, with a payload under a name.
macro_rules! variants {
    ($($type:ty, $tag:literal: $($word:ident)*, $($with:ident($payload:ident))+;)+) => {$(
        impl Json for $type {
            fn read(value: Value) -> Result<Self, Wrong> {
                let mut fields = Fields::of(value)?;
                let word: String = fields.take($tag)?;
                let variant = match word.as_str() {
                    $( word if word == kebab(stringify!($word)) => Self::$word, )*
                    $( word if word == kebab(stringify!($with)) => Self::$with(fields.take(stringify!($payload))?), )+
                    other => {
                        let known = [$( kebab(stringify!($word)), )* $( kebab(stringify!($with)), )+].join(", ");
                        return Err(Wrong::new(format!("`{other}` is none of {known}")).inside($tag));
                    }
                };
                fields.finish().map(|()| variant)
            }

            fn write(&self) -> Value {
                match self {
                    $( Self::$word => json!({ $tag: kebab(stringify!($word)) }), )*
                    $( Self::$with(payload) => {
                        json!({ $tag: kebab(stringify!($with)), stringify!($payload): payload.write() })
                    } )+
                }
            }
        }
    )+};
}

words! {
    Channel: AgentEvent ProviderError AgentText Terminal ToolOutput;
    OccupancySource: Unknown Agent LastCall Estimate;
    ObjectiveStatus: Open InProgress Done Failed;
    Basis: Checked Reported Files Answer Accepted;
    FileState: Missing Unchanged Rewritten Changed;
    exhaustion::QuotaCause: Usage Billing Rate Overload;
    splitting::Order: MiniPlan Direct;
    splitting::Time: Ahead During Never;
    handoff::Continuer: Successor Lead;
    review::Staleness: Fresh SlightlyStale Stale VeryStale;
}

growing_words! {
    SessionState: Starting Idle Working WaitingApproval WaitingQuota Compacting Ended;
    Origin: Workflow Split Review Merge;
    exhaustion::Occasion: Turn Signal PromptEnded SessionEnded Heartbeat;
    offloading::ItemKind: ToolResult ToolInput;
    splitting::Occasion: PhaseStart Boundary Requested OutOfContinuations;
    prompting::Kind: First Next Continuing ReOriented Nudged Reviewing Merging;
    handoff::LessonKind: Decision Answer Gotcha FailedApproach Pattern Handoff;
    handoff::EntryKind: Index Progress WorkItems InitScript Summary;
}

records! {
    Span: start end;
    Signal: seq channel age_ms prompt code status resets_at_ms retrying text;
    Occupancy: used_tokens window_tokens source age_ms;
    Exit: code signal by_host;
    Turn: ordinal prompt used_tokens output_tokens tool_calls rereads tool_output_bytes text_bytes;
    Session: agent role state capabilities occupancy continuation prompts turns max_turns compactions
        turns_since_compaction billed_input_tokens billed_output_tokens idle_ms active_ms exit recent;
    ExpectedFile: path state;
    StatusReport: status note by_session changed_since;
    Objective: id description status attempts files, or_default expected_files check check_passed reported done_by;
    Progress: done open failed done_by_session;
    Budget: turns turns_used continuations continuations_used retries retries_used;
    Phase: id title mode depth budget progress expects_files, or_default accept check check_passed depends_on
        origin complex iteration tree;
    Iteration: ordinal at_most;
    GitFacts: branch commits_since dirty_files;
    Evidence: channel seq text;
    PastSession: id agent role objectives_done turns compactions, or_default ended_by peak_tokens window_tokens;
    TurnTaken: ordinal ended_at_ms took_ms billed_input_tokens billed_output_tokens, or_default cost_microusd model;
    PastCompaction: session turn ended_at_ms by_host, or_default before_tokens after_tokens;
    PastWait: cause began_at_ms, or_default ended_at_ms;
    PastHandoff: path session, or_default score staleness;
    exhaustion::Observation: occasion session phase signals window answer_bytes files_changed files_missing nudges git
        attributes, or_default asked_at_ms utc_offset_minutes objectives others_open handoff_reported handoff phase_files_changed
        split_request review_missing report_not_taken imported;
    exhaustion::Assessment: verdict evidence warning reason;
    completion::Observation: session assessment;
    completion::Decision: done evidence reason;
    recovery::Observation: session assessment completion, or_default other_roles;
    recovery::Decision: action reason;
    compaction::Observation: session phase refilled_within_turns attributes;
    offloading::Item: id kind tokens;
    offloading::Observation: session phase items attributes;
    offloading::Decision: items reason;
    compaction::Decision: action reason;
    splitting::Group: title objectives;
    splitting::Request: groups rationale;
    splitting::Limits: parts depth;
    splitting::Observation: occasion phase objectives requested limits files_changed workspace_files recent
        window_tokens git attributes, or_default wish;
    splitting::SubPhase: title objectives order max_turns;
    splitting::Decision: action reason;
    budgeting::Spent: objectives_done files_changed idle_grants ceiling;
    budgeting::Observation: phase role objectives workspace_files base_turns attributes, or_default spent;
    budgeting::TurnBudget: max_turns reason;
    handoff::Artifact: name version summary;
    handoff::Attempt: approach outcome, or_default by_person;
    handoff::ReportedHandoff: session current_state immediate_next_action critical_context critical_files;
    handoff::Commit: id subject by_session;
    handoff::Verification: passed ended_at_ms artifact;
    handoff::Remark: objective text;
    handoff::CommandRun: line failed times;
    handoff::FileRead: path times;
    handoff::Lesson: phase kind text path;
    handoff::EntryPoint: kind path;
    handoff::ContextFile: path, or_default sections;
    handoff::Conflict: with_phase files;
    handoff::HandoffReference: path staleness found;
    handoff::HandoffFinding: commits_since missing_files diverged;
    handoff::Beyond: changed_files attempts decisions gotchas patterns;
    handoff::Withheld: attempts decisions gotchas patterns commands reads;
    handoff::Observation: kind phase session objectives focus goal changed_files attempts decisions artifacts
        inbox_path because last_output findings git asked_at_ms attributes,
        or_default newest_handoff gotchas patterns commands reads lessons entry_points context_files reported commits
        verification remarks facts_path beyond words_withheld plans_first as_lead compacted reports_as result_file
        result_files conflict;
    review::Observation: document missing_files secrets commits_since diverged attributes,
        or_default open_objectives;
    review::Finding: cost text, or_default line;
    review::Review: score findings staleness accepted reason;
}

variants! {
    recovery::Action, "action": Wait Nudge Interrupt HandOff Retry Split, OtherRole(role) AskPerson(question);
    compaction::Action, "action": Keep HandOff, Compact(instructions);
    splitting::Action, "action": Keep, Split(sub_phases) AskPerson(question);
    Answer, "function": Abstained, Assess(answer) Complete(answer) Recover(answer) Compaction(answer) Offload(answer)
        Split(answer) Budget(answer) Brief(answer) Compose(answer) Review(answer);
}

/// A prompt or document stands in a file as the host writes it.
fn page(text: String) -> Vec<Section> {
    let lines = || Section { blocks: vec![Block::Markdown(text.clone())], ..Section::new("text") };
    if text.is_empty() { Vec::new() } else { vec![lines()] }
}

fn with_left_out(mut fields: Value, left_out: &[String]) -> Value {
    if !left_out.is_empty() {
        fields["left_out"] = json!(left_out);
    }
    fields
}

impl Json for prompting::Prompt {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of(value)?;
        let prompt = Self {
            sections: page(fields.take("prompt")?),
            left_out: fields.take_or_default("left_out")?,
            reason: fields.take("reason")?,
        };
        fields.finish()?;
        Ok(prompt)
    }

    fn write(&self) -> Value {
        let fields = json!({ "prompt": self.text(), "reason": self.reason });
        with_left_out(fields, &self.left_out)
    }
}

impl Json for handoff::Composition {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of(value)?;
        let composition = Self {
            document: page(fields.take("document")?),
            index: page(fields.take("index")?),
            continuer: fields.take("continuer")?,
            left_out: fields.take_or_default("left_out")?,
            reason: fields.take("reason")?,
        };
        fields.finish()?;
        Ok(composition)
    }

    fn write(&self) -> Value {
        let fields = json!({
            "document": self.document_text(),
            "index": self.index_text(),
            "continuer": self.continuer.write(),
            "reason": self.reason,
        });
        with_left_out(fields, &self.left_out)
    }
}

impl Json for Ask {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of(value)?;
        let function: String = fields.take("function")?;
        let ask = match function.as_str() {
            "assess" => Ask::Assess(fields.take("observation")?),
            "complete" => Ask::Complete(fields.take("observation")?),
            "recover" => Ask::Recover(fields.take("observation")?),
            "offload" => Ask::Offload(fields.take("observation")?),
            "compaction" => Ask::Compaction(fields.take("observation")?),
            "split" => Ask::Split(fields.take("observation")?),
            "budget" => Ask::Budget(fields.take("observation")?),
            "brief" => Ask::Brief(fields.take("observation")?),
            "compose" => Ask::Compose(fields.take("observation")?),
            "review" => Ask::Review(fields.take("observation")?),
            other => {
                let known =
                    "assess, complete, recover, compaction, offload, split, budget, brief, compose, review";
                return Err(Wrong::new(format!("`{other}` is none of {known}")).inside("function"));
            }
        };
        fields.finish().map(|()| ask)
    }

    fn write(&self) -> Value {
        let observation = match self {
            Ask::Assess(seen) => seen.write(),
            Ask::Complete(seen) => seen.write(),
            Ask::Recover(seen) => seen.write(),
            Ask::Offload(seen) => seen.write(),
            Ask::Compaction(seen) => seen.write(),
            Ask::Split(seen) => seen.write(),
            Ask::Budget(seen) => seen.write(),
            Ask::Brief(seen) | Ask::Compose(seen) => seen.write(),
            Ask::Review(seen) => seen.write(),
        };
        json!({ "function": self.function(), "observation": observation })
    }
}

/// The cause and the time stand beside the word.
impl Json for exhaustion::Verdict {
    fn read(value: Value) -> Result<Self, Wrong> {
        use exhaustion::Verdict;
        let mut fields = Fields::of(value)?;
        let word: String = fields.take("verdict")?;
        let verdict = match VERDICTS.iter().find(|verdict| verdict_word(verdict) == word) {
            Some(verdict) => *verdict,
            None if word == "quota" => Verdict::Quota(exhaustion::Quota {
                cause: fields.take("cause")?,
                resets_at_ms: fields.take("resets_at_ms")?,
            }),
            None => {
                let known: String = VERDICTS.iter().map(|verdict| verdict_word(verdict) + ", ").collect();
                return Err(Wrong::new(format!("`{word}` is none of {known}quota")).inside("verdict"));
            }
        };
        fields.finish().map(|()| verdict)
    }

    fn write(&self) -> Value {
        match self {
            exhaustion::Verdict::Quota(quota) => {
                json!({ "verdict": "quota", "cause": quota.cause.write(), "resets_at_ms": quota.resets_at_ms.write() })
            }
            plain => json!({ "verdict": verdict_word(plain) }),
        }
    }
}

/// Every verdict without a payload.
pub(crate) const VERDICTS: [exhaustion::Verdict; 13] = {
    use exhaustion::Verdict::*;
    [
        Healthy,
        Answered,
        HandedOff,
        Exhausted,
        TurnLimit,
        BudgetLimit,
        Truncated,
        Stalled,
        Interrupted,
        Unauthenticated,
        NeedsInput,
        Refused,
        Failed,
    ]
};

fn verdict_word(verdict: &exhaustion::Verdict) -> String {
    use exhaustion::Verdict::*;
    kebab(match verdict {
        Healthy => "Healthy",
        Answered => "Answered",
        HandedOff => "HandedOff",
        Exhausted => "Exhausted",
        Quota(_) => "Quota",
        TurnLimit => "TurnLimit",
        BudgetLimit => "BudgetLimit",
        Truncated => "Truncated",
        Stalled => "Stalled",
        Interrupted => "Interrupted",
        Unauthenticated => "Unauthenticated",
        NeedsInput => "NeedsInput",
        Refused => "Refused",
        Failed => "Failed",
    })
}

/// Flags by name.
const CAPABILITIES: [(&str, Capabilities); 6] = [
    ("reports_occupancy", Capabilities::REPORTS_OCCUPANCY),
    ("compacts", Capabilities::COMPACTS),
    ("takes_mcp", Capabilities::TAKES_MCP),
    ("caps_turns", Capabilities::CAPS_TURNS),
    ("interrupts", Capabilities::INTERRUPTS),
    ("reports_cost", Capabilities::REPORTS_COST),
];

impl Json for Capabilities {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of(value)?;
        let mut can = Capabilities::empty();
        for (name, flag) in CAPABILITIES {
            can.set(flag, fields.take(name)?);
        }
        fields.finish().map(|()| can)
    }

    fn write(&self) -> Value {
        let flag = |(name, flag): (&str, Capabilities)| (name.to_owned(), json!(self.contains(flag)));
        Value::Object(CAPABILITIES.into_iter().map(flag).collect())
    }
}

/// The host knows the whole digest, and tells a policy this much of it.
const DIGEST_TOLD: usize = 12;
const DIGEST_DIGITS: usize = 64;

impl Json for ChangedFile {
    fn read(value: Value) -> Result<Self, Wrong> {
        let mut fields = Fields::of(value)?;
        let digest: Option<String> = fields.take("digest")?;
        let told =
            |digest: String| match digest.strip_prefix("sha256:").and_then(|hex| hex.get(..DIGEST_TOLD)) {
                Some(told) => Ok(told.to_owned()),
                None => {
                    Err(Wrong::new(format!("expected sha256: and 64 digits, not `{digest}`"))
                        .inside("digest"))
                }
            };
        let file = Self {
            path: fields.take("path")?,
            bytes: fields.take("bytes")?,
            exists: fields.take("exists")?,
            by_session: fields.take("by_session")?,
            digest: digest.map(told).transpose()?,
        };
        fields.finish().map(|()| file)
    }

    fn write(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("path".to_owned(), json!(self.path));
        fields.insert("bytes".to_owned(), json!(self.bytes));
        fields.insert("exists".to_owned(), json!(self.exists));
        fields.insert("by_session".to_owned(), json!(self.by_session));
        if let Some(told) = &self.digest {
            // What a policy is not told is nothing that a decision could depend on.
            let digest = format!("sha256:{told:0<DIGEST_DIGITS$}");
            fields.insert("digest".to_owned(), json!(digest));
        }
        Value::Object(fields)
    }
}
