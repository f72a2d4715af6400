//! Handles tool calls: identifies the caller, checks that the call fits the run, and determines its input and the answer to the
//! agent. Does not wait and does not write: the loop journals, and a thread that may block reads and saves.

use std::collections::HashMap;
use std::path::PathBuf;

use baton_core::input::{AgentReport, ArtifactRef, SplitGroupReport};
use baton_core::observation::ObjectiveStatus;
use baton_core::progress::ProgressEvent;
use baton_core::view::{PhaseStatus, PhaseSummary, RunView, SessionSummary};
use baton_core::{Digest, Input, ObjectiveId, Run, SessionId};
use baton_inbox::{ToolCall, ToolReply};
use serde_json::json;

use crate::secret_masking;
use crate::sessions::BOUNDARY_FOLDER;
use crate::tools::artifact_tools::ArtifactSaveResult;
use crate::tools::artifact_tools::ArtifactTools;
use crate::tools::report_validation;
use crate::tools::result_offload::PendingToolResult;
use crate::tools::review_submission::ReviewSubmission;
use crate::tools::session_token::{SessionToken, SessionTokens};

/// Answer to a repeated report.
const ALREADY_RECORDED: &str = "already recorded (duplicate ignored)";

/// What is done about a call.
pub(crate) enum ToolCallPlan {
    /// It is answered at once.
    Answer(ToolReply),
    /// The input is journaled, then [`ToolCallHandler::report_reply`] says what to answer.
    Report { session: Option<SessionId>, digest: Digest, report: AgentReport },
    /// To be run on a thread that may block; its result goes to [`ToolCallHandler::on_artifact_saved`].
    Save(Box<dyn FnOnce() -> ArtifactSaveResult + Send>),
    /// To be run on a thread that may block; its result is the answer.
    Read(Box<dyn FnOnce() -> ToolReply + Send>),
}

/// What the run's own view does not tell of a session.
#[derive(Default)]
struct SessionMemory {
    /// The objectives of its newest prompt.
    focus: Vec<ObjectiveId>,
    /// The newest warning of a policy.
    warning: Option<String>,
}

/// Takes the calls of one run.
pub(crate) struct ToolCallHandler {
    tokens: SessionTokens,
    pub(crate) artifact_tools: ArtifactTools,
    remembered: HashMap<SessionId, SessionMemory>,
}

impl ToolCallHandler {
    pub(crate) fn new(tokens: SessionTokens, artifact_tools: ArtifactTools) -> Self {
        Self { tokens, artifact_tools, remembered: HashMap::new() }
    }

    /// The folder of a session.
    pub(crate) fn folder(&self, session: &SessionId) -> PathBuf {
        self.tokens.folder(session)
    }

    /// Remembers what agents may ask for.
    pub(crate) fn note(&mut self, notice: &ProgressEvent) {
        match notice {
            ProgressEvent::Prompted { session, focus, .. } => {
                self.remembered.entry(session.clone()).or_default().focus.clone_from(focus);
            }
            ProgressEvent::Warned { session, message, .. } => {
                self.remembered.entry(session.clone()).or_default().warning = Some(message.clone());
            }
            _ => {}
        }
    }

    /// Plans the handling of a call.
    pub(crate) fn plan_call(
        &self,
        run: &Run,
        view: &RunView,
        token: Option<&SessionToken>,
        key: Option<String>,
        call: ToolCall,
    ) -> ToolCallPlan {
        let refused = |why: String| ToolCallPlan::Answer(ToolReply::refused(format!("not recorded: {why}")));
        let session = match token.map(|token| self.tokens.check(view, token)).transpose() {
            Ok(session) => session,
            Err(why) => return refused(why),
        };
        let by_key = key.as_ref().map(|key| address(session.as_ref(), key));
        if by_key.as_ref().is_some_and(|digest| run.has_report(digest)) {
            return ToolCallPlan::Answer(ToolReply::said(ALREADY_RECORDED));
        }
        if let Some(ended) = session.as_ref().and_then(|session| ended(view, session)) {
            return refused(format!(
                "session {} has ended ({}); its report was rejected, and another session continues the work",
                ended.id, ended.ending
            ));
        }
        if let Err(why) = self.check_call(run, view, session.as_ref(), &call) {
            return refused(why);
        }
        let (artifact_tools, digest) = (self.artifact_tools.clone(), call.digest());
        let tree = report_validation::session_worktree(view, session.as_ref());
        if let Some(report) = secret_masking::mask_report(&call) {
            let digest = by_key.unwrap_or_else(|| address(session.as_ref(), digest.as_str()));
            // An objective may change back and forth, so a report that it has an earlier status again is not a duplicate.
            if run.has_report(&digest) && !matches!(report, AgentReport::ObjectiveUpdate { .. }) {
                return ToolCallPlan::Answer(ToolReply::said(ALREADY_RECORDED));
            }
            return ToolCallPlan::Report { session, digest, report };
        }
        match call {
            ToolCall::ArtifactSave(save) => ToolCallPlan::Save(Box::new(move || {
                let result = artifact_tools.save(session.clone(), &tree, &save);
                ArtifactSaveResult { session, key, result, says: None }
            })),
            ToolCall::ReviewSubmit(said) => match ReviewSubmission::of(view, session.as_ref(), &said) {
                Ok(review) => ToolCallPlan::Save(Box::new(move || {
                    let session = review.session();
                    // Said again it is the same review, whether or not the client tells its calls apart.
                    let key = key.or_else(|| Some(digest.to_string()));
                    let (result, says) = match review.save(&artifact_tools) {
                        Ok((artifact, says)) => (Ok(artifact), Some(says)),
                        Err(why) => (Err(why), None),
                    };
                    ArtifactSaveResult { session, key, result, says }
                })),
                Err(why) => refused(why),
            },
            ToolCall::ArtifactLoad(load) => ToolCallPlan::Read(Box::new(move || artifact_tools.load(&load))),
            ToolCall::ArtifactList(list) => ToolCallPlan::Read(Box::new(move || artifact_tools.list(&list))),
            _ => ToolCallPlan::Answer(self.status(view, session.as_ref())),
        }
    }

    /// Takes a tool result that a session's proxy holds back.
    pub(crate) fn hold(
        &self,
        view: &RunView,
        token: &SessionToken,
        tool: String,
        call: Option<String>,
        file: String,
    ) -> Result<PendingToolResult, String> {
        let session = self.tokens.check(view, token)?;
        match ended(view, &session) {
            Some(_) => Err(format!("session {session} has ended")),
            None => {
                let folder = self.tokens.folder(&session);
                // A confined session has no other own folder than that of its boundary.
                let inside = folder.join(BOUNDARY_FOLDER);
                let folder = if inside.is_dir() { inside } else { folder };
                PendingToolResult::new(folder, session, tool, call, &file)
            }
        }
    }

    /// Whether the run takes such a call now.
    fn check_call(
        &self,
        run: &Run,
        view: &RunView,
        session: Option<&SessionId>,
        call: &ToolCall,
    ) -> Result<(), String> {
        let says =
            call.report().is_some() || matches!(call, ToolCall::ArtifactSave(_) | ToolCall::ReviewSubmit(_));
        if says && run.ending().is_some() {
            return Err("the run is over; `baton run` starts another".to_owned());
        }
        report_validation::check(view, session, call)
    }

    /// An artifact is in the store: the inputs for the artifact and its report, unless they are duplicates, and the answer.
    pub(crate) fn on_artifact_saved(&self, run: &Run, saved: ArtifactSaveResult) -> (Vec<Input>, ToolReply) {
        let ArtifactSaveResult { session, key, result, says } = saved;
        let artifact = match result {
            Ok(artifact) => artifact,
            Err(why) => return (Vec::new(), ToolReply::refused(why)),
        };
        // Without a key of the client, a version of a name is what counts once.
        let key =
            key.unwrap_or_else(|| format!("{}@{} {}", artifact.name, artifact.version, artifact.digest));
        let digest = address(session.as_ref(), &key);
        let ArtifactRef { name, version, bytes, .. } = &artifact;
        let text =
            format!("kept as {name}@{version}, {bytes} bytes; artifact_load reads it back by its name");
        let answer = match says {
            Some(AgentReport::ReviewSubmit { score, .. }) => review_reply(score, &artifact.name),
            _ => ToolReply::said(text),
        };
        if run.has_report(&digest) {
            return (Vec::new(), answer);
        }
        let there = AgentReport::ArtifactSaved { artifact };
        let reports = match says {
            None => vec![(digest, there)],
            // The review comes last: with it the phase that reviews may be over.
            Some(says) => vec![(address(session.as_ref(), digest.as_str()), there), (digest, says)],
        };
        let inputs = reports.into_iter().map(|(digest, report)| Input::Reported {
            session: session.clone(),
            digest,
            report,
        });
        (inputs.collect(), answer)
    }

    /// What to answer to a report, from the run that has taken it.
    pub(crate) fn report_reply(&self, view: &RunView, report: &AgentReport) -> ToolReply {
        let text = match report {
            AgentReport::ObjectiveUpdate { objective, status, .. } => objective_reply(view, objective, *status),
            AgentReport::DecisionRecord { .. } => "recorded: whoever continues is told of this decision".to_owned(),
            AgentReport::AttemptRecord { .. } => "recorded: whoever continues will not try this again".to_owned(),
            AgentReport::GotchaRecord { .. } => "recorded: whoever continues is warned of this".to_owned(),
            AgentReport::PatternRecord { .. } => "recorded: your successor is told to follow this pattern".to_owned(),
            AgentReport::HandoffWrite(_) => {
                "recorded: your successor gets this beside what is known of objectives, files and commits; a newer \
                 one replaces it"
                    .to_owned()
            }
            // A success with a special answer (D2).
            AgentReport::SplitRequest { groups, .. } => return split_taken(groups),
            AgentReport::ReviewSubmit { score, .. } => format!("taken: {score} of 100"),
            AgentReport::Refused { why } => why.clone(),
            AgentReport::ArtifactSaved { artifact } => format!("kept as {}@{}", artifact.name, artifact.version),
        };
        ToolReply::said(text)
    }

    /// `context_status`.
    fn status(&self, view: &RunView, session: Option<&SessionId>) -> ToolReply {
        let found = match session {
            Some(session) => report_validation::session_phase(view, session),
            None => working_phase(view),
        };
        let Some(phase) = found else {
            let text = format!("run {} of {}: no phase is worked on now", view.run, view.workflow);
            return ToolReply::said(text);
        };
        let row = match session {
            Some(session) => phase.sessions.iter().find(|row| row.id == *session),
            None => phase.sessions.last(),
        };
        let remembered = row.and_then(|row| self.remembered.get(&row.id));
        ContextReport { view, phase, row, remembered }.answer()
    }
}

/// A request to split was taken: what follows from it is judged at the next boundary.
fn split_taken(groups: &[SplitGroupReport]) -> ToolReply {
    let objectives: usize = groups.iter().map(|group| group.objectives.len()).sum();
    let parts = match groups.len() {
        1 => "1 part".to_owned(),
        many => format!("{many} parts"),
    };
    let text = format!(
        "taken: a split into {parts} is judged between two prompts. Come to a good stopping point and end your turn; what \
         you have done is kept, and each part begins from it"
    );
    let data = json!({ "outcome": "split-requested", "groups": groups.len(), "objectives": objectives });
    ToolReply { data: Some(data), ..ToolReply::said(text) }
}

/// A review was taken.
fn review_reply(score: u32, artifact: &str) -> ToolReply {
    let text = format!("taken: {score} of 100, kept as {artifact}. Your review is done; end your turn");
    let data = json!({ "outcome": "review-submitted", "score": score, "artifact": artifact });
    ToolReply { data: Some(data), ..ToolReply::said(text) }
}

/// The address of a report: one that comes again counts once.
fn address(session: Option<&SessionId>, key: &str) -> Digest {
    Digest::of(json!(["call", session, key]).to_string())
}

fn ended<'a>(view: &'a RunView, session: &SessionId) -> Option<&'a SessionSummary> {
    let rows = view.phases.iter().flat_map(|phase| &phase.sessions);
    rows.into_iter().find(|row| row.id == *session).filter(|row| !row.ending.is_empty())
}

/// The phase that is worked on.
fn working_phase(view: &RunView) -> Option<&PhaseSummary> {
    let idle = [PhaseStatus::Pending, PhaseStatus::Split, PhaseStatus::Done, PhaseStatus::Skipped];
    view.phases.iter().find(|phase| !idle.contains(&phase.status))
}

/// "recorded: parser done, 2 of 4; next: printer".
fn objective_reply(view: &RunView, objective: &ObjectiveId, status: ObjectiveStatus) -> String {
    let Some(phase) = report_validation::holder(view, objective) else { return "recorded".to_owned() };
    let done = |status: ObjectiveStatus| status == ObjectiveStatus::Done;
    let count = phase.objectives.iter().filter(|row| done(row.status)).count();
    let now = phase.objectives.iter().find(|row| row.id == *objective).map_or(status, |row| row.status);
    let what = match (status, now) {
        (said, now) if said == now => format!("{objective} {}", word(now)),
        (_, ObjectiveStatus::Done) => {
            format!("its phase is over, and {objective} stays done until a person is asked about this")
        }
        (_, now) => format!("{objective} stays {}", word(now)),
    };
    let next = match phase.objectives.iter().find(|row| !done(row.status)) {
        Some(next) if next.id == *objective => String::new(),
        Some(next) => format!("; next: {}", next.id),
        None => "; that was the last one".to_owned(),
    };
    let verb = if done(now) { "" } else { " done" };
    format!("recorded: {what}, {count} of {}{verb}{next}", phase.objectives.len())
}

fn word(status: ObjectiveStatus) -> &'static str {
    match status {
        ObjectiveStatus::Open => "open",
        ObjectiveStatus::InProgress => "in progress",
        ObjectiveStatus::Done => "done",
        ObjectiveStatus::Failed => "failed",
    }
}

/// The context usage and progress of a session.
struct ContextReport<'a> {
    view: &'a RunView,
    phase: &'a PhaseSummary,
    row: Option<&'a SessionSummary>,
    remembered: Option<&'a SessionMemory>,
}

impl ContextReport<'_> {
    fn answer(&self) -> ToolReply {
        let phase = self.phase;
        let with = |wanted: &[ObjectiveStatus]| -> Vec<&ObjectiveId> {
            let rows = phase.objectives.iter().filter(|row| wanted.contains(&row.status));
            rows.map(|row| &row.id).collect()
        };
        let done = with(&[ObjectiveStatus::Done]);
        let open = with(&[ObjectiveStatus::Open, ObjectiveStatus::InProgress]);
        let failed = with(&[ObjectiveStatus::Failed]);
        let focus: Vec<&ObjectiveId> = self.remembered.iter().flat_map(|known| &known.focus).collect();
        let handoff = phase.handoffs.first().map(|handoff| handoff.path.as_str());
        let warning = self.remembered.and_then(|known| known.warning.as_deref());
        let (occupancy, occupancy_data) = self.occupancy();
        let left = (phase.max_turns > 0).then(|| phase.max_turns.saturating_sub(phase.turns));
        let turns = match left {
            Some(left) => format!("{} used of {}, {left} left", phase.turns, phase.max_turns),
            None => format!("{} used, no cap", phase.turns),
        };
        let mut lines = vec![
            format!("context: {occupancy}"),
            format!("turns of the phase: {turns}"),
            format!(
                "phase: {} ({}), continuation {} of {}",
                phase.id, phase.title, phase.continuation, phase.continuations
            ),
            format!("done: {}", list(&done)),
            format!("open: {}", list(&open)),
        ];
        if !failed.is_empty() {
            lines.push(format!("failed: {}", list(&failed)));
        }
        lines.push(format!("current: {}", list(&focus)));
        lines.push(format!("newest handoff: {}", handoff.unwrap_or("none")));
        lines.push(format!("newest warning: {}", warning.unwrap_or("none")));
        let data = json!({
            "run": self.view.run, "phase": phase.id, "session": self.row.map(|row| &row.id),
            "context": occupancy_data,
            "turns": { "used": phase.turns, "max": (phase.max_turns > 0).then_some(phase.max_turns), "left": left },
            "continuation": { "k": phase.continuation, "of": phase.continuations },
            "objectives": { "done": done, "open": open, "failed": failed, "current": focus },
            "handoff": handoff, "warning": warning,
        });
        ToolReply { data: Some(data), ..ToolReply::said(lines.join("\n")) }
    }

    /// How full the window is: the policy's numbers, if the agent reports any.
    fn occupancy(&self) -> (String, serde_json::Value) {
        let Some(row) = self.row else { return ("no session works now".to_owned(), json!(null)) };
        let percent = match (row.used_tokens, row.window_tokens) {
            (Some(used), Some(window)) if window > 0 => {
                // One place after the point, as people are shown it.
                Some((used.saturating_mul(1000) / window) as f64 / 10.0)
            }
            _ => None,
        };
        let data = json!({
            "used_tokens": row.used_tokens, "window_tokens": row.window_tokens, "percent": percent,
            "source": row.used_tokens.map(|_| row.source),
        });
        let text = match (row.used_tokens, row.window_tokens, percent) {
            (Some(used), Some(window), Some(percent)) => {
                let source = serde_json::to_value(row.source).ok();
                let source =
                    source.as_ref().and_then(|source| source.as_str()).unwrap_or("unknown").to_owned();
                format!("{percent} % used, {used} of {window} tokens (source: {source})")
            }
            (Some(used), ..) => format!("{used} tokens used; how many there are is not known"),
            _ => "how full it is is not known: nobody reports it".to_owned(),
        };
        (text, data)
    }
}

fn list(ids: &[&ObjectiveId]) -> String {
    match ids {
        [] => "none".to_owned(),
        ids => ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", "),
    }
}
