//! One of each kind of notice, in an order that could happen.

use baton_runtime::RunUpdate;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::decision::{DecisionSource, Evidence, QuotaCause};
use baton_runtime::core::facts::{Refusal, RefusalKind, SignalSource};
use baton_runtime::core::grants::{Grants, RequestedGrants};
use baton_runtime::core::input::{PauseAnswer, PolicyChangeCause};
use baton_runtime::core::observation::{Capability, EvidenceKind, PromptKind};
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::CommitSummary;
use baton_runtime::core::workflow::{AgentKind, PolicyScope};
use baton_runtime::core::{ActionId, DurationMs, ObjectiveId, PhaseId, Seq, SessionId, WorktreeName};

use super::{at, binding, ids, occupancy, running};

pub(crate) fn turn(session: &str, turns: u32, used_tokens: u64) -> ProgressEvent {
    let (phase, session) = ("build".into(), session.into());
    ProgressEvent::Turn { phase, session, turns, max_turns: 25, occupancy: occupancy(used_tokens) }
}

/// One of each kind of notice, in an order that could happen.
fn notices() -> Vec<ProgressEvent> {
    let phase = || PhaseId::from("build");
    let session = || SessionId::from("s3");
    let question = ActionId(41);
    let started = |continuation: u32, remaining: &[&str], max_turns| ProgressEvent::SessionStarted {
        phase: phase(),
        session: SessionId::new(format!("s{}", continuation + 3)),
        agent: AgentKind::Rehearsal,
        continuation,
        of: 3,
        remaining: ids(remaining),
        max_turns,
        lead: false,
    };
    let prompted = |kind, focus: &str| ProgressEvent::Prompted {
        phase: phase(),
        session: session(),
        kind,
        focus: vec![ObjectiveId::from(focus)],
        because: match kind {
            PromptKind::Nudged => "no file changed".to_owned(),
            _ => String::new(),
        },
    };
    vec![
        ProgressEvent::PhaseStarted {
            phase: phase(),
            title: "Write the calculator and its tests".into(),
            objectives: 4,
        },
        ProgressEvent::Budgeted {
            phase: phase(),
            turns: 38,
            of_table: 25,
            reason: "50% more, because it is complex: 4 open objectives".into(),
        },
        started(0, &[], 25),
        prompted(PromptKind::First, "parser"),
        ProgressEvent::Activity { phase: phase(), session: session(), what: "Write src/parser.sh".into() },
        turn("s3", 1, 1_700),
        ProgressEvent::ObjectiveDone {
            phase: phase(),
            objective: "parser".into(),
            basis: EvidenceKind::Reported,
            judged_by: None,
            done: 1,
            of: 4,
        },
        ProgressEvent::ObjectiveDone {
            phase: phase(),
            objective: "evaluator".into(),
            basis: EvidenceKind::Answer,
            judged_by: Some("lenient.wasm".into()),
            done: 2,
            of: 4,
        },
        ProgressEvent::NotReviewed { phase: phase() },
        ProgressEvent::Unseen { phase: phase(), files: vec!["src/lib/".into()] },
        ProgressEvent::LeftOut { phase: phase(), files: vec!["coverage.out".into()] },
        ProgressEvent::SplitDeclined { phase: phase(), because: "one objective is open".into() },
        ProgressEvent::Reopened {
            phase: phase(),
            objective: "parser".into(),
            because: "src/parser.sh has not changed".into(),
        },
        prompted(PromptKind::Next, "evaluator"),
        ProgressEvent::OutputOmitted {
            phase: phase(),
            session: session(),
            events: 1_203,
            text_bytes: 93_100_000,
        },
        ProgressEvent::Refused {
            phase: phase(),
            session: session(),
            refusal: Refusal { kind: RefusalKind::Network, target: "evil.example:443".into() },
        },
        ProgressEvent::AgentRetries {
            phase: phase(),
            session: session(),
            code: "authentication_failed".into(),
            status: Some(401),
            text: "the agent retries by itself: 1 of 10, in 1s".into(),
        },
        ProgressEvent::Refused {
            phase: phase(),
            session: session(),
            refusal: Refusal { kind: RefusalKind::Call, target: "Bash make test".into() },
        },
        ProgressEvent::Refused {
            phase: phase(),
            session: session(),
            refusal: Refusal {
                kind: RefusalKind::Own,
                target: "rm -rf out (rm -f style commands are not permitted)".into(),
            },
        },
        ProgressEvent::Warned {
            phase: phase(),
            session: session(),
            occupancy: occupancy(7_040),
            message: "the window is nearly full; finish the objective and write it down".into(),
        },
        ProgressEvent::Compacting {
            phase: phase(),
            session: session(),
            reason: "the window is 74% full, at least 70% asks for room".into(),
        },
        ProgressEvent::Compacted {
            phase: phase(),
            session: session(),
            asked: true,
            before: Some(5_900),
            after: Some(2_100),
        },
        ProgressEvent::Compacted {
            phase: phase(),
            session: session(),
            asked: false,
            before: None,
            after: None,
        },
        prompted(PromptKind::ReOriented, "evaluator"),
        ProgressEvent::CompactionFailed {
            phase: phase(),
            session: session(),
            text: "Not enough messages to compact.".into(),
        },
        ProgressEvent::CommittedToBranch {
            phase: phase(),
            commit: CommitSummary {
                id: "1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c".into(),
                subject: "Write the parser".into(),
                branch: "work/r-7f".into(),
                files: 2,
                added: 120,
                removed: 7,
            },
            left: vec!["notes.md".into()],
            by_checks: vec!["src/__pycache__/a.pyc".into()],
        },
        ProgressEvent::NotCommitted { phase: phase(), why: "a rebase is under way in the workspace".into() },
        prompted(PromptKind::Nudged, "evaluator"),
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Rate,
            since: at(20),
            until: Some(at(24)),
            retry_at: Some(at(24)),
            time: 1,
            by_itself: false,
            said: String::new(),
            judged_by: None,
        },
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Usage,
            since: at(20),
            until: Some(at(20 + 3 * 24 * 3600)),
            retry_at: None,
            time: 1,
            by_itself: false,
            said: String::new(),
            judged_by: None,
        },
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Usage,
            since: at(20),
            until: Some(at(20 + 30 * 24 * 3600)),
            retry_at: None,
            time: 1,
            by_itself: false,
            said: String::new(),
            judged_by: None,
        },
        ProgressEvent::QuotaOver {
            phase: phase(),
            session: session(),
            waited: DurationMs::from_secs(4),
            is_try: false,
        },
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Rate,
            since: at(24),
            until: None,
            retry_at: Some(at(34)),
            time: 2,
            by_itself: false,
            said: "You've hit your usage limit. Upgrade to Pro.".into(),
            judged_by: None,
        },
        ProgressEvent::QuotaOver {
            phase: phase(),
            session: session(),
            waited: DurationMs::from_secs(10),
            is_try: true,
        },
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Overload,
            since: at(25),
            until: None,
            retry_at: None,
            time: 1,
            by_itself: true,
            said: String::new(),
            judged_by: None,
        },
        ProgressEvent::QuotaWait {
            phase: phase(),
            session: session(),
            cause: QuotaCause::Billing,
            since: at(25),
            until: None,
            retry_at: None,
            time: 1,
            by_itself: false,
            said: "Credit balance is too low".into(),
            judged_by: None,
        },
        ProgressEvent::Stopped {
            phase: phase(),
            session: session(),
            verdict: "exhausted".into(),
            evidence: vec![Evidence {
                channel: SignalSource::ProviderError,
                seq: Some(Seq(118)),
                text: "prompt is too long: 8210 tokens > 8000 maximum".into(),
            }],
            reason: "the context window is used up".into(),
        },
        ProgressEvent::HandedOff {
            phase: phase(),
            session: session(),
            path: ".baton/r-7f/handoffs/build-1.md".into(),
            remaining: ids(&["printer", "tests"]),
        },
        started(1, &["printer", "tests"], 14),
        prompted(PromptKind::Continuing, "printer"),
        ProgressEvent::Retrying {
            phase: phase(),
            attempt: 1,
            of: 2,
            after: DurationMs::from_secs(5),
            because: "the agent exited with 1 before it was ready".into(),
        },
        ProgressEvent::Split {
            phase: "20".into(),
            sub_phases: vec![("20a".into(), "Reading".into()), ("20b".into(), "Writing".into())],
            objectives: 6,
            reason: "two groups of files that nothing connects".into(),
            at_once: 2,
        },
        ProgressEvent::Reviewed {
            phase: "20a".into(),
            score: 64,
            passed: false,
            summary: "The reader leaves out the second file.".into(),
        },
        ProgressEvent::Reviewed { phase: "20a".into(), score: 92, passed: true, summary: String::new() },
        ProgressEvent::Merged { phase: "20a".into(), into: "20".into(), files: 3 },
        ProgressEvent::Conflict {
            phase: "20b".into(),
            into: "20".into(),
            files: ids(&["src/a.rs", "src/b.rs"]),
        },
        ProgressEvent::Conflict { phase: "20".into(), into: "20".into(), files: ids(&["src/c.rs"]) },
        ProgressEvent::Landed {
            phase: "20".into(),
            commit: "9c0ffee1234567890abcdef".into(),
            committed: true,
            files: 5,
        },
        ProgressEvent::Landed { phase: "20".into(), commit: "9c0ffee".into(), committed: false, files: 1 },
        ProgressEvent::KeptApart { phase: "20b".into(), tree: WorktreeName::for_phase(&"20b".into()) },
        ProgressEvent::Iterating { from: "plan".into(), by: "check".into(), iteration: 2, of: 3 },
        prompted(PromptKind::Merging, "tests"),
        ProgressEvent::CheckingFirst { phase: phase(), command: "make test".into() },
        ProgressEvent::CheckedFirst {
            phase: phase(),
            command: "make test".into(),
            passed: true,
            code: Some(0),
        },
        ProgressEvent::CheckedFirst {
            phase: phase(),
            command: "make test".into(),
            passed: false,
            code: Some(2),
        },
        ProgressEvent::Verified { phase: phase(), passed: false, code: Some(1), attempt: 1 },
        ProgressEvent::Verified { phase: phase(), passed: false, code: None, attempt: 2 },
        prompted(PromptKind::Reviewing, "tests"),
        ProgressEvent::Verified { phase: phase(), passed: true, code: Some(0), attempt: 3 },
        ProgressEvent::CheckChanged {
            phase: phase(),
            command: "pytest tests/test_x.py".into(),
            files: vec!["tests/test_x.py".into()],
        },
        ProgressEvent::PhaseDone { phase: phase() },
        ProgressEvent::FellBack {
            capability: Capability::Splitting,
            by: DecisionSource::BuiltIn,
            policy: "resilience".into(),
            because: "mine.wasm trapped: unreachable".into(),
        },
        ProgressEvent::PolicyWants {
            policy: "reader".into(),
            wants: RequestedGrants {
                artifacts: vec!["reports/*".into()],
                fuel: Some(80_000_000),
                memory_mib: None,
            },
            granted: Grants { artifacts: vec!["reports/*".into()], ..Grants::default() },
            refused: RequestedGrants { fuel: Some(80_000_000), ..RequestedGrants::default() },
        },
        ProgressEvent::PolicyChanged {
            bindings: vec![
                binding("my-split", Capability::Splitting, PolicyScope::Run),
                binding("my-split", Capability::Handoff, PolicyScope::Phase { phase: phase() }),
            ],
            was: vec!["resilience".into()],
            cause: PolicyChangeCause::File,
        },
        ProgressEvent::PolicyTakenBack {
            policy: "my-split".into(),
            to: Box::new(binding("resilience", Capability::Splitting, PolicyScope::Run)),
            again: true,
            faults: 3,
            because: "trapped: unreachable".into(),
        },
        ProgressEvent::PolicyRefused {
            policy: "my-split.wasm".into(),
            why: "imports `wasi:cli/environment@0.2.0`, which no policy may have".into(),
        },
        ProgressEvent::Paused {
            question,
            phase: Some(phase()),
            text: "3 continuations are used up and 2 objectives are open. What now?".into(),
            choices: vec![PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop],
        },
        ProgressEvent::Answered { question, choice: PauseAnswer::Retry },
        ProgressEvent::Resumed { lost: vec![] },
        ProgressEvent::Resumed { lost: ids(&["s3", "s4"]) },
        ProgressEvent::Finished { ending: RunOutcome::Interrupted },
        ProgressEvent::Finished { ending: RunOutcome::Unfinished },
        ProgressEvent::Finished { ending: RunOutcome::Done },
    ]
}

/// One notice an update, a second apart.
pub(crate) fn updates() -> Vec<RunUpdate> {
    let update =
        |(second, notice)| RunUpdate { at: at(second), notices: vec![notice], view: running(), bell: false };
    (0..).zip(notices()).map(update).collect()
}
