//! Questions that core could put, of every function and every shape. A question is a pure function of seed and index, so a
//! reported one can be asked again. The rules for the answers are in `rules.rs`.

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
/// Open objectives besides those of a prompt.
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
    let rng = &mut QuestionRng::new(seed, index, 0);
    let (query, texts) = match capability {
        Capability::Exhaustion => {
            let (seen, window) = assess(rng);
            (PolicyQuery::Exhaustion(Box::new(seen)), vec![window])
        }
        Capability::Completion => {
            let (session, window) = assess(rng);
            let session = SessionObservation { occasion: AssessTrigger::PromptEnded, ..session };
            let assessment = assessment(rng, Verdict::Answered);
            (PolicyQuery::Completion(Box::new(CompletionObservation { session, assessment })), vec![window])
        }
        Capability::Recovery => {
            let (seen, window) = recovery(rng);
            (PolicyQuery::Recovery(Box::new(seen)), vec![window])
        }
        Capability::Offloading => (PolicyQuery::Offloading(Box::new(offloading(rng))), Vec::new()),
        Capability::Compaction => (PolicyQuery::Compaction(Box::new(compaction(rng))), Vec::new()),
        Capability::Splitting => {
            let mut seen = scope(rng);
            views::name_files(rng, &mut seen.objectives);
            (PolicyQuery::Splitting(Box::new(seen)), Vec::new())
        }
        Capability::Budgeting => {
            let SplittingObservation { phase, objectives, workspace_files, attributes, .. } = scope(rng);
            let (role, base_turns) = (rng.line(40), views::counted(rng, views::TURNS));
            let spent = rng.maybe(|rng| TurnUsage {
                objectives_done: rng.number32(4),
                files_changed: rng.number32(40),
                idle_grants: rng.number32(5),
                ceiling: views::counted(rng, views::TURNS),
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
            (PolicyQuery::Budgeting(Box::new(seen)), Vec::new())
        }
        Capability::Prompting => (PolicyQuery::Prompting(Box::new(handoff(rng))), handoff_texts(rng)),
        Capability::Handoff => {
            let seen = HandoffObservation { kind: PromptKind::Continuing, ..handoff(rng) };
            (PolicyQuery::Handoff(Box::new(seen)), handoff_texts(rng))
        }
        Capability::Review => {
            let (seen, document) = review(rng);
            (PolicyQuery::Review(Box::new(seen)), vec![document])
        }
    };
    PolicyRequest { query, texts: texts.into_iter().map(TextBlob::new).collect(), facts: facts(rng) }
}

/// What an agent wrote for its successor.
fn reported_handoff(rng: &mut QuestionRng, bytes: usize, files: usize) -> ReportedHandoffView {
    ReportedHandoffView {
        session: rng.maybe(|_| "s7".to_owned()),
        current_state: rng.text(bytes),
        immediate_next_action: rng.text(bytes),
        critical_context: rng.list(FACTS, |rng| rng.text(bytes)),
        critical_files: rng.list(files, |rng| rng.line(PATH_BYTES)),
    }
}

fn assess(rng: &mut QuestionRng) -> (SessionObservation, String) {
    let occasion = rng.pick(OCCASIONS);
    let state = match occasion {
        AssessTrigger::SessionEnded => SessionState::Ended,
        AssessTrigger::PromptEnded => {
            rng.pick(&[SessionState::Idle, SessionState::Working, SessionState::Ended])
        }
        AssessTrigger::Turn => SessionState::Working,
        AssessTrigger::Signal | AssessTrigger::Heartbeat => {
            let (_, alive) = views::STATES.split_last().expect("there are states");
            rng.pick(alive)
        }
    };
    let session = views::session(rng, state);
    let progress = views::progress(rng);
    let depth = rng.number32(views::DEPTH);
    let (signals, window) = views::signals(rng, session.prompts);
    let mut objectives = views::objectives(rng);
    objectives.truncate(IN_FOCUS);
    let focus: Vec<ObjectiveId> = objectives.iter().map(|objective| objective.id.clone()).collect();
    views::set_file_states(rng, &mut objectives, &focus);
    let split_request = rng.one_in(8).then(|| request(rng, focus));
    let seen = SessionObservation {
        occasion,
        session,
        phase: views::phase(rng, progress, depth),
        signals,
        window: TextId(0),
        answer_bytes: rng.number(u64::MAX),
        files_changed: rng.number32(u32::MAX),
        phase_files_changed: rng.number32(u32::MAX),
        files_missing: rng.number32(100),
        objectives,
        others_open: rng.list(OTHERS_OPEN, |_| "beside".into()),
        handoff_reported: rng.coin(),
        handoff: rng.one_in(4).then(|| reported_handoff(rng, HANDOFF_BYTES, FACTS)),
        nudges: rng.number32(20),
        asked_at_ms: UnixMs(rng.number(LATEST_MS)),
        utc_offset_minutes: rng.pick(&[0, 1, -1, 60, 330, -720, 840]),
        git: views::git(rng),
        split_request,
        review_missing: rng.one_in(8),
        report_not_taken: rng.one_in(8).then(|| rng.line(REASON_BYTES)),
        imported: rng.one_in(8),
        attributes: views::attributes(rng),
    };
    (seen, window)
}

fn compaction(rng: &mut QuestionRng) -> CompactionObservation {
    let session = views::session(rng, SessionState::Idle);
    let progress = views::progress(rng);
    let depth = rng.number32(views::DEPTH);
    CompactionObservation {
        session,
        phase: views::phase(rng, progress, depth),
        refilled_within_turns: views::counted(rng, views::TURNS),
        attributes: views::attributes(rng),
    }
}

/// What a policy said of a session: any verdict, in words of any length that it may have.
fn assessment(rng: &mut QuestionRng, verdict: Verdict) -> Assessment {
    Assessment {
        verdict,
        evidence: Vec::new(),
        warning: rng.maybe(|rng| rng.line(REASON_BYTES / 4)),
        reason: rng.line(REASON_BYTES / 4),
    }
}

fn recovery(rng: &mut QuestionRng) -> (RecoveryObservation, String) {
    let (mut session, window) = assess(rng);
    if session.occasion != AssessTrigger::SessionEnded && rng.number32(3) > 0 {
        session.occasion = AssessTrigger::PromptEnded;
    }
    let cause = rng.pick(QUOTA_CAUSES);
    let until = rng.maybe(|rng| UnixMs(rng.number(LATEST_MS)));
    let at_work = !matches!(session.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
    let verdict = match rng.number32(3) {
        _ if at_work => Verdict::Stalled,
        0 => Verdict::Quota { cause, resets_at_ms: until },
        _ => rng.pick(VERDICTS),
    };
    let completion = (verdict == Verdict::Answered).then(|| CompletionDecision {
        done: Vec::new(),
        evidence: Vec::new(),
        reason: rng.line(REASON_BYTES / 4),
    });
    let assessment = assessment(rng, verdict);
    let other_roles = Some((0..rng.count(3)).map(|_| rng.line(REPORT_BYTES)).collect());
    (RecoveryObservation { session, assessment, completion, other_roles }, window)
}

fn offloading(rng: &mut QuestionRng) -> OffloadingObservation {
    let session = views::session(rng, SessionState::Idle);
    let progress = views::progress(rng);
    let depth = rng.number32(views::DEPTH);
    OffloadingObservation {
        session,
        phase: views::phase(rng, progress, depth),
        items: (0..1 + rng.count(ITEMS - 1))
            .map(|place| ContextItem {
                id: format!("inputs/{place}.md"),
                kind: rng.pick(ITEM_KINDS),
                tokens: rng.number(1 << 40),
            })
            .collect(),
        attributes: views::attributes(rng),
    }
}

/// Without the files of its objectives, which a question about turns does not have.
fn scope(rng: &mut QuestionRng) -> SplittingObservation {
    let occasion = rng.pick(SPLIT_OCCASIONS);
    let objectives = views::objectives(rng);
    let progress = views::progress_of(rng, &objectives);
    // In most questions the phase has not been split before, so that it may be split: a policy that splits by what it observes
    // needs such questions.
    let depth = if rng.one_in(4) { rng.number32(views::DEPTH) } else { 0 };
    let requested = (occasion == SplitTrigger::Requested).then(|| request(rng, views::open_ids(&objectives)));
    let prompts = rng.number32(u32::MAX);
    let limits = SplitLimits {
        parts: 2 + rng.number32(views::OBJECTIVES as u32 - 2),
        depth: if rng.one_in(4) { rng.number32(views::DEPTH) } else { depth + 1 },
    };
    SplittingObservation {
        occasion,
        phase: views::phase(rng, progress, depth),
        objectives,
        requested,
        limits,
        wish: rng.pick(SPLIT_TIMES),
        files_changed: rng.number32(u32::MAX),
        workspace_files: rng.number32(10_000),
        recent: views::turns(rng, prompts),
        window_tokens: rng.maybe(views::window),
        git: views::git(rng),
        attributes: views::attributes(rng),
    }
}

/// Groups of open objectives, as an agent would request them: some forgotten, some named twice, some made up.
fn request(rng: &mut QuestionRng, open: Vec<ObjectiveId>) -> SplitRequestView {
    let count = 1 + rng.count(views::OBJECTIVES - 1);
    let mut groups: Vec<SplitGroup> =
        (0..count).map(|_| SplitGroup { title: rng.text(REPORT_BYTES), objectives: Vec::new() }).collect();
    for id in open {
        for _ in 0..rng.pick(&[1, 1, 1, 1, 0, 2]) {
            let group = rng.below(count);
            groups[group].objectives.push(id.clone());
        }
    }
    // A report with an empty group is refused before core hears of it.
    for group in groups.iter_mut().filter(|group| group.objectives.is_empty()) {
        group.objectives.push(ObjectiveId::new("made-up"));
    }
    SplitRequestView { groups, rationale: rng.text(REPORT_BYTES) }
}

fn attempt(rng: &mut QuestionRng) -> Attempt {
    Attempt { approach: rng.text(REPORT_BYTES), outcome: rng.text(REPORT_BYTES), by_person: rng.one_in(4) }
}

fn handoff(rng: &mut QuestionRng) -> HandoffObservation {
    let kind = rng.pick(KINDS);
    let state = rng.pick(&[SessionState::Starting, SessionState::Idle, SessionState::Ended]);
    let mut objectives = views::objectives(rng);
    let progress = views::progress_of(rng, &objectives);
    let depth = rng.number32(views::DEPTH);
    let mut focus = views::open_ids(&objectives);
    focus.truncate(if rng.coin() { 1 } else { rng.count(views::OBJECTIVES) });
    let (looked_at, _) = focus.split_at(focus.len().min(IN_FOCUS));
    views::set_file_states(rng, &mut objectives, looked_at);
    let asked_at_ms = UnixMs(rng.number(LATEST_MS));
    let remarks = objectives.iter().filter_map(|objective| {
        let text = if rng.one_in(4) { rng.text(REPORT_BYTES) } else { String::new() };
        (!text.is_empty()).then(|| ObjectiveNote { objective: objective.id.clone(), text })
    });
    let remarks = remarks.collect();
    HandoffObservation {
        kind,
        phase: views::phase(rng, progress, depth),
        session: views::session(rng, state),
        objectives,
        focus,
        goal: rng.text(REPORT_BYTES),
        changed_files: rng.list(CHANGED_FILES, changed_file),
        attempts: rng.list(RECORDS, attempt),
        decisions: rng.list(RECORDS, attempt),
        artifacts: rng.list(ARTIFACTS, |rng| ArtifactView {
            name: rng.line(PATH_BYTES),
            version: rng.number32(u32::MAX),
            summary: rng.text(REPORT_BYTES),
        }),
        newest_handoff: rng.maybe(newest_handoff),
        inbox_path: ".baton/tasks/r1/inbox".to_owned(),
        because: (kind != PromptKind::First).then(|| rng.text(REPORT_BYTES)),
        last_output: Some(TextId(0)),
        findings: Some(TextId(1)),
        git: views::git(rng),
        gotchas: rng.list(RECORDS, |rng| rng.text(REPORT_BYTES)),
        patterns: rng.list(RECORDS, |rng| rng.text(REPORT_BYTES)),
        commands: rng.list(COMMANDS, |rng| CommandRunView {
            line: rng.line(COMMAND_BYTES),
            failed: rng.maybe(QuestionRng::coin),
            times: rng.number32(u32::MAX),
        }),
        reads: rng
            .list(READS, |rng| FileReadView { path: rng.line(PATH_BYTES), times: rng.number32(u32::MAX) }),
        lessons: rng.list(LESSONS, |rng| LessonView {
            phase: "10".into(),
            kind: rng.pick(LESSON_KINDS),
            text: rng.line(REPORT_BYTES),
            path: rng.maybe(|_| ".baton/r1/facts/10.json".to_owned()),
        }),
        entry_points: rng.list(ENTRY_KINDS.len(), |rng| EntryPointView {
            kind: rng.pick(ENTRY_KINDS),
            path: ".baton/r1/progress.json".to_owned(),
        }),
        context_files: rng.list(CONTEXT_FILES, |rng| ContextFile {
            path: rng.line(PATH_BYTES),
            sections: rng.list(CONTEXT_FILES, |rng| rng.line(PATH_BYTES)),
        }),
        reported: rng.maybe(|rng| reported_handoff(rng, REPORT_BYTES, CRITICAL_FILES)),
        commits: rng.list(views::COMMITS, |rng| CommitView {
            id: "4f2c9e1d".to_owned(),
            subject: rng.line(200),
            by_session: rng.coin(),
        }),
        verification: rng.maybe(|rng| VerificationView {
            passed: rng.coin(),
            ended_at_ms: asked_at_ms,
            artifact: rng.maybe(|rng| rng.line(PATH_BYTES)),
        }),
        remarks,
        facts_path: rng.maybe(|_| "docs/handoffs/20-3-facts.json".to_owned()),
        beyond: beyond(rng),
        words_withheld: rng.maybe(withheld),
        plans_first: rng.coin(),
        as_lead: rng.one_in(4),
        compacted: rng.one_in(4),
        reports_as: rng.maybe(|_| SessionId::new("s8")),
        result_file: rng.maybe(|_| ".baton/tasks/r1/results/phase-20a.md".to_owned()),
        result_files: rng.list(views::OBJECTIVES, |rng| rng.line(PATH_BYTES)),
        conflict: rng.maybe(conflict),
        attributes: views::attributes(rng),
        asked_at_ms,
    }
}

fn newest_handoff(rng: &mut QuestionRng) -> HandoffReference {
    HandoffReference {
        path: "docs/handoffs/20-3.md".to_owned(),
        staleness: rng.pick(STALENESS),
        found: rng.maybe(|rng| HandoffFinding {
            commits_since: rng.number32(u32::MAX),
            missing_files: rng.number32(MISSING as u32),
            diverged: rng.coin(),
        }),
    }
}

fn beyond(rng: &mut QuestionRng) -> OmittedCounts {
    OmittedCounts {
        changed_files: rng.number32(OMITTED_MAX),
        attempts: rng.number32(OMITTED_MAX),
        decisions: rng.number32(OMITTED_MAX),
        gotchas: rng.number32(OMITTED_MAX),
        patterns: rng.number32(OMITTED_MAX),
    }
}

fn withheld(rng: &mut QuestionRng) -> WithheldCounts {
    WithheldCounts {
        attempts: rng.number32(RECORDS as u32),
        decisions: rng.number32(RECORDS as u32),
        gotchas: rng.number32(RECORDS as u32),
        patterns: rng.number32(RECORDS as u32),
        commands: rng.number32(COMMANDS as u32),
        reads: rng.number32(READS as u32),
    }
}

fn conflict(rng: &mut QuestionRng) -> ConflictView {
    ConflictView {
        with_phase: rng.maybe(|_| PhaseId::new("20b")),
        files: rng.list(CONFLICT_FILES, |rng| rng.line(PATH_BYTES)),
    }
}

fn changed_file(rng: &mut QuestionRng) -> ChangedFileView {
    let exists = !rng.one_in(4);
    ChangedFileView {
        path: format!("src/{}", rng.line(PATH_BYTES)),
        bytes: if exists { rng.number(1 << 40) } else { 0 },
        exists,
        by_session: rng.coin(),
        digest: (exists && rng.coin()).then(|| Digest::of("a file")),
    }
}

fn handoff_texts(rng: &mut QuestionRng) -> Vec<String> {
    vec![rng.text_of_host(TAIL_BYTES), rng.text_of_host(FINDINGS_BYTES)]
}

/// The document names what is missing, because the host reads it from there.
fn review(rng: &mut QuestionRng) -> (ReviewObservation, String) {
    let open_objectives = views::open_ids(&views::objectives(rng));
    let missing_files: Vec<String> =
        (0..rng.count(MISSING)).map(|place| format!("src/{}/gone-{place}.rs", rng.pick(&FOLDERS))).collect();
    let named: String = missing_files.iter().map(|path| format!("- `{path}`\n")).collect();
    let document = format!("{}\n{named}", rng.text_of_host(DOCUMENT_BYTES - named.len() - 1));
    let seen = ReviewObservation {
        document: TextId(0),
        missing_files,
        secrets: rng.list(SECRETS, |rng| rng.pick(&["aws-access-key", "private-key", "jwt"]).to_owned()),
        commits_since: rng.number32(u32::MAX),
        diverged: rng.coin(),
        open_objectives: if rng.coin() { open_objectives } else { Vec::new() },
        attributes: views::attributes(rng),
    };
    // An empty document names nothing.
    let document = if named.is_empty() { document.trim_end_matches('\n').to_owned() } else { document };
    (seen, document)
}
