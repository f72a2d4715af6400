//! Questions that core could put, of every function and every shape. A question is a pure function of seed and index, so
//! that whoever is shown one can ask it again. What must hold of the answers is in `rules.rs`.

use baton_core::decision::{Assessment, CompletionDecision, QuotaCause, Staleness, Verdict};
use baton_core::observation::{
    ArtifactView, AssessTrigger, Attempt, BudgetingObservation, Capability, ChangedFileView, CommandRunView,
    CommitView, CompactionObservation, CompletionObservation, ConflictView, ContextFile, ContextItem,
    ContextItemKind, EntryPointKind, EntryPointView, FileReadView, HandoffFinding, HandoffObservation,
    HandoffReference, LessonKind, LessonView, ObjectiveNote, OffloadingObservation, OmittedCounts,
    PolicyQuery, PolicyRequest, PromptKind, RecoveryObservation, ReportedHandoffView, ReviewObservation,
    SessionObservation, SessionState, SplitGroup, SplitLimits, SplitRequestView, SplitTrigger,
    SplittingObservation, TextId, TurnUsage, VerificationView, WithheldCounts,
};
use baton_core::workflow::SplitTime;
use baton_core::{Digest, ObjectiveId, PhaseId, SessionId, TextBlob, UnixMs};
use baton_engine::limits::{ANSWER_TEXT_BYTES, REASON_BYTES};

use super::facts::facts;
use super::question_rng::QuestionRng;
use super::views::{self, every};

every! {
    OCCASIONS: AssessTrigger = Turn, Signal, PromptEnded, SessionEnded, Heartbeat;
    SPLIT_OCCASIONS: SplitTrigger = PhaseStart, Boundary, Requested, OutOfContinuations;
    KINDS: PromptKind = First, Next, Continuing, ReOriented, Nudged, Reviewing, Merging;
    QUOTA_CAUSES: QuotaCause = Usage, Billing, Rate, Overload;
    ITEM_KINDS: ContextItemKind = ToolResult, ToolInput;
    ENTRY_KINDS: EntryPointKind = Index, Progress, WorkItems, InitScript, Summary;
    LESSON_KINDS: LessonKind = Decision, Answer, Gotcha, FailedApproach, Pattern, Handoff;
    SPLIT_TIMES: SplitTime = Ahead, During, Never;
    STALENESS: Staleness = Fresh, SlightlyStale, Stale, VeryStale;
}

/// Those after which it is asked what to do; a quota is made with its cause.
pub(super) const VERDICTS: &[Verdict] = &[
    Verdict::Answered,
    Verdict::HandedOff,
    Verdict::Exhausted,
    Verdict::TurnLimit,
    Verdict::BudgetLimit,
    Verdict::Truncated,
    Verdict::Stalled,
    Verdict::Interrupted,
    Verdict::Failed,
];

/// Of core: records of a handoff, files and artifacts in it, items that could be replaced, files that a document names.
pub(super) const RECORDS: usize = 64;
const CHANGED_FILES: usize = 100;
const ARTIFACTS: usize = 20;
const ITEMS: usize = 64;
const MISSING: usize = 200;
/// Records and files that core keeps and a question has no room for.
const OMITTED_MAX: u32 = 10_000;
const CONFLICT_FILES: usize = 100;
/// Of the reports of agents: bytes of a text, facts and files of a handoff.
const REPORT_BYTES: usize = 8 << 10;
const IN_FOCUS: usize = 8;
const COMMANDS: usize = 20;
const COMMAND_BYTES: usize = 200;
const READS: usize = 10;
const LESSONS: usize = 32;
const CONTEXT_FILES: usize = 8;
const FACTS: usize = 5;
const CRITICAL_FILES: usize = 20;
/// Bytes of each text of a handoff when its session is judged.
const HANDOFF_BYTES: usize = 1 << 10;
/// Objectives beside those of a prompt.
const OTHERS_OPEN: usize = 64;
/// Kinds of secrets that a host can tell apart.
const SECRETS: usize = 20;
/// Of texts that stay in the host: the tail of an answer, findings of a verification, a document as `compose` may write it.
const TAIL_BYTES: usize = 4 << 10;
const FINDINGS_BYTES: usize = 16 << 10;
pub(super) const DOCUMENT_BYTES: usize = ANSWER_TEXT_BYTES;
const PATH_BYTES: usize = 300;
const FOLDERS: [&str; 3] = ["parser", "données", "部品"];
/// The year 2100: no agent's clock is further on.
pub(super) const LATEST_MS: u64 = 4_102_444_800_000;

/// The `index`th question of a seed about this.
pub(super) fn question(seed: u64, index: u64, capability: Capability) -> PolicyRequest {
    let dice = &mut QuestionRng::new(seed, index, 0);
    let (ask, texts) = match capability {
        Capability::Exhaustion => {
            let (seen, window) = assess(dice);
            (PolicyQuery::Assess(Box::new(seen)), vec![window])
        }
        Capability::Completion => {
            let (session, window) = assess(dice);
            let session = SessionObservation { occasion: AssessTrigger::PromptEnded, ..session };
            let assessment = assessment(dice, Verdict::Answered);
            (PolicyQuery::Complete(Box::new(CompletionObservation { session, assessment })), vec![window])
        }
        Capability::Recovery => {
            let (seen, window) = recovery(dice);
            (PolicyQuery::Recover(Box::new(seen)), vec![window])
        }
        Capability::Offloading => (PolicyQuery::Offload(Box::new(offloading(dice))), Vec::new()),
        Capability::Compaction => (PolicyQuery::Compaction(Box::new(compaction(dice))), Vec::new()),
        Capability::Splitting => {
            let mut seen = scope(dice);
            views::name_files(dice, &mut seen.objectives);
            (PolicyQuery::Split(Box::new(seen)), Vec::new())
        }
        Capability::Budgeting => {
            let SplittingObservation { phase, objectives, workspace_files, attributes, .. } = scope(dice);
            let (role, base_turns) = (dice.line(40), views::counted(dice, views::TURNS));
            let spent = dice.maybe(|dice| TurnUsage {
                objectives_done: dice.number32(4),
                files_changed: dice.number32(40),
                idle_grants: dice.number32(5),
                ceiling: views::counted(dice, views::TURNS),
            });
            let seen = BudgetingObservation {
                phase,
                role,
                objectives,
                workspace_files,
                base_turns,
                spent,
                attributes,
            };
            (PolicyQuery::Budget(Box::new(seen)), Vec::new())
        }
        Capability::Prompting => (PolicyQuery::Brief(Box::new(handoff(dice))), handoff_texts(dice)),
        Capability::Handoff => {
            let seen = HandoffObservation { kind: PromptKind::Continuing, ..handoff(dice) };
            (PolicyQuery::Compose(Box::new(seen)), handoff_texts(dice))
        }
        Capability::Review => {
            let (seen, document) = review(dice);
            (PolicyQuery::Review(Box::new(seen)), vec![document])
        }
    };
    PolicyRequest { ask, texts: texts.into_iter().map(TextBlob::new).collect(), facts: facts(dice) }
}

/// What an agent wrote for its successor.
fn reported_handoff(dice: &mut QuestionRng, bytes: usize, files: usize) -> ReportedHandoffView {
    ReportedHandoffView {
        session: dice.maybe(|_| "s7".to_owned()),
        current_state: dice.text(bytes),
        immediate_next_action: dice.text(bytes),
        critical_context: dice.list(FACTS, |dice| dice.text(bytes)),
        critical_files: dice.list(files, |dice| dice.line(PATH_BYTES)),
    }
}

fn assess(dice: &mut QuestionRng) -> (SessionObservation, String) {
    let occasion = dice.pick(OCCASIONS);
    let state = match occasion {
        AssessTrigger::SessionEnded => SessionState::Ended,
        AssessTrigger::PromptEnded => {
            dice.pick(&[SessionState::Idle, SessionState::Working, SessionState::Ended])
        }
        AssessTrigger::Turn => SessionState::Working,
        AssessTrigger::Signal | AssessTrigger::Heartbeat => {
            let (_, alive) = views::STATES.split_last().expect("there are states");
            dice.pick(alive)
        }
    };
    let session = views::session(dice, state);
    let progress = views::progress(dice);
    let depth = dice.number32(views::DEPTH);
    let (signals, window) = views::signals(dice, session.prompts);
    let mut objectives = views::objectives(dice);
    objectives.truncate(IN_FOCUS);
    let focus: Vec<ObjectiveId> = objectives.iter().map(|objective| objective.id.clone()).collect();
    views::set_file_states(dice, &mut objectives, &focus);
    let split_request = dice.one_in(8).then(|| request(dice, focus));
    let seen = SessionObservation {
        occasion,
        session,
        phase: views::phase(dice, progress, depth),
        signals,
        window: TextId(0),
        answer_bytes: dice.number(u64::MAX),
        files_changed: dice.number32(u32::MAX),
        phase_files_changed: dice.number32(u32::MAX),
        files_missing: dice.number32(100),
        objectives,
        others_open: dice.list(OTHERS_OPEN, |_| "beside".into()),
        handoff_reported: dice.coin(),
        handoff: dice.one_in(4).then(|| reported_handoff(dice, HANDOFF_BYTES, FACTS)),
        nudges: dice.number32(20),
        asked_at_ms: UnixMs(dice.number(LATEST_MS)),
        utc_offset_minutes: dice.pick(&[0, 1, -1, 60, 330, -720, 840]),
        git: views::git(dice),
        split_request,
        review_missing: dice.one_in(8),
        report_not_taken: dice.one_in(8).then(|| dice.line(REASON_BYTES)),
        imported: dice.one_in(8),
        attributes: views::attributes(dice),
    };
    (seen, window)
}

fn compaction(dice: &mut QuestionRng) -> CompactionObservation {
    let session = views::session(dice, SessionState::Idle);
    let progress = views::progress(dice);
    let depth = dice.number32(views::DEPTH);
    CompactionObservation {
        session,
        phase: views::phase(dice, progress, depth),
        refilled_within_turns: views::counted(dice, views::TURNS),
        attributes: views::attributes(dice),
    }
}

/// What a policy said of a session: any verdict, in words of any length that it may have.
fn assessment(dice: &mut QuestionRng, verdict: Verdict) -> Assessment {
    Assessment {
        verdict,
        evidence: Vec::new(),
        warning: dice.maybe(|dice| dice.line(REASON_BYTES / 4)),
        reason: dice.line(REASON_BYTES / 4),
    }
}

fn recovery(dice: &mut QuestionRng) -> (RecoveryObservation, String) {
    let (mut session, window) = assess(dice);
    if session.occasion != AssessTrigger::SessionEnded && dice.number32(3) > 0 {
        session.occasion = AssessTrigger::PromptEnded;
    }
    let cause = dice.pick(QUOTA_CAUSES);
    let until = dice.maybe(|dice| UnixMs(dice.number(LATEST_MS)));
    let at_work = !matches!(session.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
    let verdict = match dice.number32(3) {
        _ if at_work => Verdict::Stalled,
        0 => Verdict::Quota { cause, resets_at_ms: until },
        _ => dice.pick(VERDICTS),
    };
    let completion = (verdict == Verdict::Answered).then(|| CompletionDecision {
        done: Vec::new(),
        evidence: Vec::new(),
        reason: dice.line(REASON_BYTES / 4),
    });
    let assessment = assessment(dice, verdict);
    let other_roles = Some((0..dice.count(3)).map(|_| dice.line(REPORT_BYTES)).collect());
    (RecoveryObservation { session, assessment, completion, other_roles }, window)
}

fn offloading(dice: &mut QuestionRng) -> OffloadingObservation {
    let session = views::session(dice, SessionState::Idle);
    let progress = views::progress(dice);
    let depth = dice.number32(views::DEPTH);
    OffloadingObservation {
        session,
        phase: views::phase(dice, progress, depth),
        items: (0..1 + dice.count(ITEMS - 1))
            .map(|place| ContextItem {
                id: format!("inputs/{place}.md"),
                kind: dice.pick(ITEM_KINDS),
                tokens: dice.number(1 << 40),
            })
            .collect(),
        attributes: views::attributes(dice),
    }
}

/// Without the files of its objectives, which a question about turns does not have.
fn scope(dice: &mut QuestionRng) -> SplittingObservation {
    let occasion = dice.pick(SPLIT_OCCASIONS);
    let objectives = views::objectives(dice);
    let progress = views::progress_of(dice, &objectives);
    // Most phases are split for the first time, where they may be: a policy that splits by what it sees is asked about such.
    let depth = if dice.one_in(4) { dice.number32(views::DEPTH) } else { 0 };
    let requested =
        (occasion == SplitTrigger::Requested).then(|| request(dice, views::open_ids(&objectives)));
    let prompts = dice.number32(u32::MAX);
    let limits = SplitLimits {
        parts: 2 + dice.number32(views::OBJECTIVES as u32 - 2),
        depth: if dice.one_in(4) { dice.number32(views::DEPTH) } else { depth + 1 },
    };
    SplittingObservation {
        occasion,
        phase: views::phase(dice, progress, depth),
        objectives,
        requested,
        limits,
        wish: dice.pick(SPLIT_TIMES),
        files_changed: dice.number32(u32::MAX),
        workspace_files: dice.number32(10_000),
        recent: views::turns(dice, prompts),
        window_tokens: dice.maybe(views::window),
        git: views::git(dice),
        attributes: views::attributes(dice),
    }
}

/// Groups of what is open; agents forget some, name some twice, and make others up.
fn request(dice: &mut QuestionRng, open: Vec<ObjectiveId>) -> SplitRequestView {
    let count = 1 + dice.count(views::OBJECTIVES - 1);
    let mut groups: Vec<SplitGroup> =
        (0..count).map(|_| SplitGroup { title: dice.text(REPORT_BYTES), objectives: Vec::new() }).collect();
    for id in open {
        for _ in 0..dice.pick(&[1, 1, 1, 1, 0, 2]) {
            let group = dice.below(count);
            groups[group].objectives.push(id.clone());
        }
    }
    // A report with an empty group is refused before core hears of it.
    for group in groups.iter_mut().filter(|group| group.objectives.is_empty()) {
        group.objectives.push(ObjectiveId::new("made-up"));
    }
    SplitRequestView { groups, rationale: dice.text(REPORT_BYTES) }
}

fn attempt(dice: &mut QuestionRng) -> Attempt {
    Attempt { approach: dice.text(REPORT_BYTES), outcome: dice.text(REPORT_BYTES), by_person: dice.one_in(4) }
}

fn handoff(dice: &mut QuestionRng) -> HandoffObservation {
    let kind = dice.pick(KINDS);
    let state = dice.pick(&[SessionState::Starting, SessionState::Idle, SessionState::Ended]);
    let mut objectives = views::objectives(dice);
    let progress = views::progress_of(dice, &objectives);
    let depth = dice.number32(views::DEPTH);
    let mut focus = views::open_ids(&objectives);
    focus.truncate(if dice.coin() { 1 } else { dice.count(views::OBJECTIVES) });
    let (looked_at, _) = focus.split_at(focus.len().min(IN_FOCUS));
    views::set_file_states(dice, &mut objectives, looked_at);
    let asked_at_ms = UnixMs(dice.number(LATEST_MS));
    let remarks = objectives.iter().filter_map(|objective| {
        let text = if dice.one_in(4) { dice.text(REPORT_BYTES) } else { String::new() };
        (!text.is_empty()).then(|| ObjectiveNote { objective: objective.id.clone(), text })
    });
    let remarks = remarks.collect();
    HandoffObservation {
        kind,
        phase: views::phase(dice, progress, depth),
        session: views::session(dice, state),
        objectives,
        focus,
        goal: dice.text(REPORT_BYTES),
        changed_files: dice.list(CHANGED_FILES, changed_file),
        attempts: dice.list(RECORDS, attempt),
        decisions: dice.list(RECORDS, attempt),
        artifacts: dice.list(ARTIFACTS, |dice| ArtifactView {
            name: dice.line(PATH_BYTES),
            version: dice.number32(u32::MAX),
            summary: dice.text(REPORT_BYTES),
        }),
        newest_handoff: dice.maybe(newest_handoff),
        inbox_path: ".baton/tasks/r1/inbox".to_owned(),
        because: (kind != PromptKind::First).then(|| dice.text(REPORT_BYTES)),
        last_output: Some(TextId(0)),
        findings: Some(TextId(1)),
        git: views::git(dice),
        gotchas: dice.list(RECORDS, |dice| dice.text(REPORT_BYTES)),
        patterns: dice.list(RECORDS, |dice| dice.text(REPORT_BYTES)),
        commands: dice.list(COMMANDS, |dice| CommandRunView {
            line: dice.line(COMMAND_BYTES),
            failed: dice.maybe(QuestionRng::coin),
            times: dice.number32(u32::MAX),
        }),
        reads: dice
            .list(READS, |dice| FileReadView { path: dice.line(PATH_BYTES), times: dice.number32(u32::MAX) }),
        lessons: dice.list(LESSONS, |dice| LessonView {
            phase: "10".into(),
            kind: dice.pick(LESSON_KINDS),
            text: dice.line(REPORT_BYTES),
            path: dice.maybe(|_| ".baton/r1/facts/10.json".to_owned()),
        }),
        entry_points: dice.list(ENTRY_KINDS.len(), |dice| EntryPointView {
            kind: dice.pick(ENTRY_KINDS),
            path: ".baton/r1/progress.json".to_owned(),
        }),
        context_files: dice.list(CONTEXT_FILES, |dice| ContextFile {
            path: dice.line(PATH_BYTES),
            sections: dice.list(CONTEXT_FILES, |dice| dice.line(PATH_BYTES)),
        }),
        reported: dice.maybe(|dice| reported_handoff(dice, REPORT_BYTES, CRITICAL_FILES)),
        commits: dice.list(views::COMMITS, |dice| CommitView {
            id: "4f2c9e1d".to_owned(),
            subject: dice.line(200),
            by_session: dice.coin(),
        }),
        verification: dice.maybe(|dice| VerificationView {
            passed: dice.coin(),
            ended_at_ms: asked_at_ms,
            artifact: dice.maybe(|dice| dice.line(PATH_BYTES)),
        }),
        remarks,
        facts_path: dice.maybe(|_| "docs/handoffs/20-3-facts.json".to_owned()),
        beyond: beyond(dice),
        words_withheld: dice.maybe(withheld),
        plans_first: dice.coin(),
        as_lead: dice.one_in(4),
        compacted: dice.one_in(4),
        reports_as: dice.maybe(|_| SessionId::new("s8")),
        result_file: dice.maybe(|_| ".baton/tasks/r1/results/phase-20a.md".to_owned()),
        result_files: dice.list(views::OBJECTIVES, |dice| dice.line(PATH_BYTES)),
        conflict: dice.maybe(conflict),
        attributes: views::attributes(dice),
        asked_at_ms,
    }
}

fn newest_handoff(dice: &mut QuestionRng) -> HandoffReference {
    HandoffReference {
        path: "docs/handoffs/20-3.md".to_owned(),
        staleness: dice.pick(STALENESS),
        found: dice.maybe(|dice| HandoffFinding {
            commits_since: dice.number32(u32::MAX),
            missing_files: dice.number32(MISSING as u32),
            diverged: dice.coin(),
        }),
    }
}

fn beyond(dice: &mut QuestionRng) -> OmittedCounts {
    OmittedCounts {
        changed_files: dice.number32(OMITTED_MAX),
        attempts: dice.number32(OMITTED_MAX),
        decisions: dice.number32(OMITTED_MAX),
        gotchas: dice.number32(OMITTED_MAX),
        patterns: dice.number32(OMITTED_MAX),
    }
}

fn withheld(dice: &mut QuestionRng) -> WithheldCounts {
    WithheldCounts {
        attempts: dice.number32(RECORDS as u32),
        decisions: dice.number32(RECORDS as u32),
        gotchas: dice.number32(RECORDS as u32),
        patterns: dice.number32(RECORDS as u32),
        commands: dice.number32(COMMANDS as u32),
        reads: dice.number32(READS as u32),
    }
}

fn conflict(dice: &mut QuestionRng) -> ConflictView {
    ConflictView {
        with_phase: dice.maybe(|_| PhaseId::new("20b")),
        files: dice.list(CONFLICT_FILES, |dice| dice.line(PATH_BYTES)),
    }
}

fn changed_file(dice: &mut QuestionRng) -> ChangedFileView {
    let exists = !dice.one_in(4);
    ChangedFileView {
        path: format!("src/{}", dice.line(PATH_BYTES)),
        bytes: if exists { dice.number(1 << 40) } else { 0 },
        exists,
        by_session: dice.coin(),
        digest: (exists && dice.coin()).then(|| Digest::of("a file")),
    }
}

fn handoff_texts(dice: &mut QuestionRng) -> Vec<String> {
    vec![dice.text_of_host(TAIL_BYTES), dice.text_of_host(FINDINGS_BYTES)]
}

/// What is missing is named in the document, since that is where the host has it from.
fn review(dice: &mut QuestionRng) -> (ReviewObservation, String) {
    let open_objectives = views::open_ids(&views::objectives(dice));
    let missing_files: Vec<String> = (0..dice.count(MISSING))
        .map(|place| format!("src/{}/gone-{place}.rs", dice.pick(&FOLDERS)))
        .collect();
    let named: String = missing_files.iter().map(|path| format!("- `{path}`\n")).collect();
    let document = format!("{}\n{named}", dice.text_of_host(DOCUMENT_BYTES - named.len() - 1));
    let seen = ReviewObservation {
        document: TextId(0),
        missing_files,
        secrets: dice.list(SECRETS, |dice| dice.pick(&["aws-access-key", "private-key", "jwt"]).to_owned()),
        commits_since: dice.number32(u32::MAX),
        diverged: dice.coin(),
        open_objectives: if dice.coin() { open_objectives } else { Vec::new() },
        attributes: views::attributes(dice),
    };
    // An empty document names nothing.
    let document = if named.is_empty() { document.trim_end_matches('\n').to_owned() } else { document };
    (seen, document)
}
