//! WIT <-> core, in this one folder. Core's types are canonical; observations go out borrowed, answers come in owned.
//! No judgment and no size limit here: `answer_limits.rs` checks what an answer may be.

/// Maps enums that have the same variants on both sides.
macro_rules! same {
    ($value:expr, $($source:ident)::+ => $($target:ident)::+: $($variant:ident),+) => {{
        use $($source)::+ as Source;
        use $($target)::+ as Target;
        match $value { $(Source::$variant => Target::$variant),+ }
    }};
}

mod answers;
mod facts;
mod splitting;

use baton_core::decision as core;
use baton_core::facts::{Capabilities, OccupancySource, ProcessExit, SignalSource};
use baton_core::observation as see;
use baton_core::{ObjectiveId, PhaseId, SessionId};

use crate::bindings::{questions, types};

pub(crate) use answers::*;
pub(crate) use facts::*;
pub(crate) use splitting::splitting;
use splitting::{groups, ids_of_groups, split_request};

fn channel_out(channel: SignalSource) -> types::Channel {
    same!(channel, SignalSource => types::Channel: AgentEvent, ProviderError, AgentText, Terminal, ToolOutput)
}

fn span_out(span: see::TextSpan) -> types::Span {
    types::Span { start: span.start, end: span.end }
}

fn signal(signal: &see::SignalView) -> types::Signal<'_> {
    types::Signal {
        seq: signal.seq.0,
        channel: channel_out(signal.channel),
        age_ms: signal.age_ms,
        prompt: signal.prompt,
        code: signal.code.as_deref(),
        status: signal.status,
        resets_at_ms: signal.resets_at_ms.map(|at| at.0),
        retrying: signal.retrying,
        text: span_out(signal.text),
    }
}

fn capabilities(can: Capabilities) -> types::Capabilities {
    let all = [
        (can.reports_occupancy, types::Capabilities::REPORTS_OCCUPANCY),
        (can.compacts, types::Capabilities::COMPACTS),
        (can.takes_mcp, types::Capabilities::TAKES_MCP),
        (can.caps_turns, types::Capabilities::CAPS_TURNS),
        (can.interrupts, types::Capabilities::INTERRUPTS),
        (can.reports_cost, types::Capabilities::REPORTS_COST),
    ];
    all.into_iter()
        .filter(|(yes, _)| *yes)
        .fold(types::Capabilities::empty(), |flags, (_, flag)| flags | flag)
}

fn occupancy(seen: see::OccupancyView) -> types::Occupancy {
    types::Occupancy {
        used_tokens: seen.used_tokens,
        window_tokens: seen.window_tokens,
        source: same!(seen.source, OccupancySource => types::OccupancySource: Unknown, Agent, LastCall, Estimate),
        age_ms: seen.age_ms,
    }
}

fn turn(turn: &see::TurnView) -> types::Turn {
    types::Turn {
        ordinal: turn.ordinal,
        prompt: turn.prompt,
        used_tokens: turn.used_tokens,
        output_tokens: turn.output_tokens,
        tool_calls: turn.tool_calls,
        rereads: turn.rereads,
        tool_output_bytes: turn.tool_output_bytes,
        text_bytes: turn.text_bytes,
    }
}

fn exit(exit: ProcessExit) -> types::Exit {
    types::Exit { code: exit.code, signal: exit.signal, by_host: exit.by_host }
}

fn session<'a>(session: &'a see::SessionView, recent: &'a [types::Turn]) -> types::Session<'a> {
    types::Session {
        agent: &session.agent,
        role: &session.role,
        state: same!(session.state, see::SessionState => types::SessionState:
            Starting, Idle, Working, WaitingApproval, WaitingQuota, Compacting, Ended),
        capabilities: capabilities(session.capabilities),
        occupancy: occupancy(session.occupancy),
        continuation: session.continuation,
        prompts: session.prompts,
        turns: session.turns,
        max_turns: session.max_turns,
        compactions: session.compactions,
        turns_since_compaction: session.turns_since_compaction,
        billed_input_tokens: session.billed_input_tokens,
        billed_output_tokens: session.billed_output_tokens,
        idle_ms: session.idle_ms,
        active_ms: session.active_ms,
        exit: session.exit.map(exit),
        recent,
    }
}

fn phase(phase: &see::PhaseView) -> types::Phase<'_> {
    let see::BudgetView { turns, turns_used, continuations, continuations_used, retries, retries_used } =
        phase.budget;
    let see::ProgressView { done, open, failed, done_by_session } = phase.progress;
    types::Phase {
        id: phase.id.as_str(),
        title: &phase.title,
        mode: &phase.mode,
        depth: phase.depth,
        budget: types::Budget { turns, turns_used, continuations, continuations_used, retries, retries_used },
        progress: types::Progress { done, open, failed, done_by_session },
        expects_files: phase.expects_files,
        accept: phase.accept.map(basis),
        check: phase.check.as_deref(),
        check_passed: phase.check_passed,
        depends_on: phase.depends_on,
        origin: match &phase.origin {
            see::OriginView::Workflow => types::Origin::Workflow,
            see::OriginView::Split => types::Origin::Split,
            see::OriginView::Review => types::Origin::Review,
            see::OriginView::Merge => types::Origin::Merge,
            see::OriginView::Other(origin) => types::Origin::Other(origin),
        },
        complex: phase.complex,
        iteration: phase
            .iteration
            .map(|round| types::Iteration { ordinal: round.ordinal, at_most: round.at_most }),
        tree: phase.tree.as_deref(),
    }
}

fn basis(basis: see::EvidenceKind) -> types::Basis {
    same!(basis, see::EvidenceKind => types::Basis: Checked, Reported, Files, Answer, Accepted)
}

fn status(status: see::ObjectiveStatus) -> types::ObjectiveStatus {
    same!(status, see::ObjectiveStatus => types::ObjectiveStatus: Open, InProgress, Done, Failed)
}

fn expected_files(objective: &see::ObjectiveView) -> Vec<types::ExpectedFile<'_>> {
    list(&objective.expected_files, |file| types::ExpectedFile {
        path: &file.path,
        state: same!(file.state, see::FileState => types::FileState: Missing, Unchanged, Rewritten, Changed),
    })
}

/// Calls `ask` with the WIT form of objectives, which borrows from them.
fn objectives<R>(seen: &[see::ObjectiveView], ask: impl FnOnce(&[types::Objective<'_>]) -> R) -> R {
    let expected = list(seen, expected_files);
    let objectives: Vec<_> = seen.iter().zip(&expected).map(|(seen, files)| objective(seen, files)).collect();
    ask(&objectives)
}

fn objective<'a>(
    objective: &'a see::ObjectiveView,
    expected_files: &'a [types::ExpectedFile<'a>],
) -> types::Objective<'a> {
    types::Objective {
        id: objective.id.as_str(),
        description: &objective.description,
        status: status(objective.status),
        attempts: objective.attempts,
        files: objective.files,
        expected_files,
        check: objective.check.as_deref(),
        check_passed: objective.check_passed,
        reported: objective.reported.as_ref().map(|said| types::StatusReport {
            status: status(said.status),
            note: &said.note,
            by_session: said.by_session,
            changed_since: said.changed_since,
        }),
        done_by: objective.done_by.map(basis),
    }
}

fn changed_file(file: &see::ChangedFileView) -> types::ChangedFile<'_> {
    types::ChangedFile {
        path: &file.path,
        bytes: file.bytes,
        exists: file.exists,
        by_session: file.by_session,
        digest: file.digest.as_ref().map(|digest| digest.short()),
    }
}

fn git(git: &see::GitView) -> types::GitFacts<'_> {
    types::GitFacts {
        branch: git.branch.as_deref(),
        commits_since: git.commits_since,
        dirty_files: git.dirty_files,
    }
}

fn attempt(attempt: &see::Attempt) -> questions::Attempt<'_> {
    questions::Attempt {
        approach: &attempt.approach,
        outcome: &attempt.outcome,
        by_person: attempt.by_person,
    }
}

fn list<'a, T, U>(items: &'a [T], convert: impl FnMut(&'a T) -> U) -> Vec<U> {
    items.iter().map(convert).collect()
}

fn pairs(attributes: &see::Attributes) -> Vec<(&str, &str)> {
    list(attributes, |(key, value)| (key.as_str(), value.as_str()))
}

fn strs(texts: &[String]) -> Vec<&str> {
    list(texts, String::as_str)
}

fn ids(ids: &[ObjectiveId]) -> Vec<&str> {
    list(ids, ObjectiveId::as_str)
}

/// The context and the files of a handoff that an agent wrote.
fn lists_of_handoff(said: &see::ReportedHandoffView) -> (Vec<&str>, Vec<&str>) {
    (strs(&said.critical_context), strs(&said.critical_files))
}

fn reported_handoff<'a>(
    (said, (context, files)): (&'a see::ReportedHandoffView, &'a (Vec<&'a str>, Vec<&'a str>)),
) -> questions::ReportedHandoff<'a> {
    questions::ReportedHandoff {
        session: said.session.as_deref(),
        current_state: &said.current_state,
        immediate_next_action: &said.immediate_next_action,
        critical_context: context,
        critical_files: files,
    }
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn session_observation<R>(
    seen: &see::SessionObservation,
    ask: impl FnOnce(questions::SessionObservation<'_>) -> R,
) -> R {
    let recent = list(&seen.session.recent, turn);
    let signals = list(&seen.signals, signal);
    let others_open = ids(&seen.others_open);
    let lists = seen.handoff.as_ref().map(lists_of_handoff);
    let handoff = seen.handoff.as_ref().zip(lists.as_ref()).map(reported_handoff);
    let ids_of_groups = ids_of_groups(seen.split_request.as_ref());
    let groups = groups(seen.split_request.as_ref(), &ids_of_groups);
    let split_request = split_request(seen.split_request.as_ref(), &groups);
    let attributes = pairs(&seen.attributes);
    objectives(&seen.objectives, |objectives| {
        ask(questions::SessionObservation {
            occasion: same!(seen.occasion, see::AssessTrigger => questions::Occasion:
                Turn, Signal, PromptEnded, SessionEnded, Heartbeat),
            session: session(&seen.session, &recent),
            phase: phase(&seen.phase),
            signals: &signals,
            window: seen.window.0,
            answer_bytes: seen.answer_bytes,
            files_changed: seen.files_changed,
            phase_files_changed: seen.phase_files_changed,
            files_missing: seen.files_missing,
            objectives,
            others_open: &others_open,
            handoff_reported: seen.handoff_reported,
            handoff,
            nudges: seen.nudges,
            asked_at_ms: seen.asked_at_ms.0,
            utc_offset_minutes: seen.utc_offset_minutes,
            git: seen.git.as_ref().map(git),
            split_request,
            review_missing: seen.review_missing,
            report_not_taken: seen.report_not_taken.as_deref(),
            imported: seen.imported,
            attributes: &attributes,
        })
    })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn completion<R>(
    seen: &see::CompletionObservation,
    ask: impl FnOnce(questions::CompletionObservation<'_>) -> R,
) -> R {
    let evidence = list(&seen.assessment.evidence, evidence_out);
    let assessment = assessment_out(&seen.assessment, &evidence);
    session_observation(&seen.session, |session| {
        ask(questions::CompletionObservation { session, assessment })
    })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn recovery<R>(
    seen: &see::RecoveryObservation,
    ask: impl FnOnce(questions::RecoveryObservation<'_>) -> R,
) -> R {
    let evidence = list(&seen.assessment.evidence, evidence_out);
    let assessment = assessment_out(&seen.assessment, &evidence);
    let completion = seen.completion.as_ref();
    let of_completion =
        completion.map(|decision| (ids(&decision.done), list(&decision.evidence, evidence_out)));
    let completion = completion.zip(of_completion.as_ref()).map(|(decision, (done, evidence))| {
        questions::CompletionDecisionParam { done, evidence, reason: &decision.reason }
    });
    let other_roles = strs(seen.other_roles.as_deref().unwrap_or_default());
    session_observation(&seen.session, |session| {
        ask(questions::RecoveryObservation { session, assessment, completion, other_roles: &other_roles })
    })
}

fn evidence_out(evidence: &core::Evidence) -> types::EvidenceParam<'_> {
    types::EvidenceParam {
        channel: channel_out(evidence.channel),
        seq: evidence.seq.map(|seq| seq.0),
        text: &evidence.text,
    }
}

fn assessment_out<'a>(
    of: &'a core::Assessment,
    evidence: &'a [types::EvidenceParam<'a>],
) -> questions::AssessmentParam<'a> {
    use questions::Verdict;
    let verdict = match of.verdict {
        core::Verdict::Healthy => Verdict::Healthy,
        core::Verdict::Answered => Verdict::Answered,
        core::Verdict::HandedOff => Verdict::HandedOff,
        core::Verdict::Exhausted => Verdict::Exhausted,
        core::Verdict::Quota { cause, resets_at_ms: until } => Verdict::Quota(questions::Quota {
            cause: same!(cause, core::QuotaCause => questions::QuotaCause: Usage, Billing, Rate, Overload),
            resets_at_ms: until.map(|at| at.0),
        }),
        core::Verdict::TurnLimit => Verdict::TurnLimit,
        core::Verdict::BudgetLimit => Verdict::BudgetLimit,
        core::Verdict::Truncated => Verdict::Truncated,
        core::Verdict::Stalled => Verdict::Stalled,
        core::Verdict::Interrupted => Verdict::Interrupted,
        core::Verdict::Unauthenticated => Verdict::Unauthenticated,
        core::Verdict::NeedsInput => Verdict::NeedsInput,
        core::Verdict::Refused => Verdict::Refused,
        core::Verdict::Failed => Verdict::Failed,
    };
    questions::AssessmentParam { verdict, evidence, warning: of.warning.as_deref(), reason: &of.reason }
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn compaction<R>(
    seen: &see::CompactionObservation,
    ask: impl FnOnce(questions::CompactionObservation<'_>) -> R,
) -> R {
    let recent = list(&seen.session.recent, turn);
    let attributes = pairs(&seen.attributes);
    ask(questions::CompactionObservation {
        session: session(&seen.session, &recent),
        phase: phase(&seen.phase),
        refilled_within_turns: seen.refilled_within_turns,
        attributes: &attributes,
    })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn offloading<R>(
    seen: &see::OffloadingObservation,
    ask: impl FnOnce(questions::OffloadingObservation<'_>) -> R,
) -> R {
    let recent = list(&seen.session.recent, turn);
    let items = list(&seen.items, |item| questions::Item {
        id: &item.id,
        kind: same!(item.kind, see::ContextItemKind => questions::ItemKind: ToolResult, ToolInput),
        tokens: item.tokens,
    });
    let attributes = pairs(&seen.attributes);
    ask(questions::OffloadingObservation {
        session: session(&seen.session, &recent),
        phase: phase(&seen.phase),
        items: &items,
        attributes: &attributes,
    })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn budgeting<R>(
    seen: &see::BudgetingObservation,
    ask: impl FnOnce(questions::BudgetingObservation<'_>) -> R,
) -> R {
    let attributes = pairs(&seen.attributes);
    objectives(&seen.objectives, |objectives| {
        ask(questions::BudgetingObservation {
            phase: phase(&seen.phase),
            role: &seen.role,
            objectives,
            workspace_files: seen.workspace_files,
            base_turns: seen.base_turns,
            spent: seen.spent.map(|spent| questions::TurnsSpent {
                objectives_done: spent.objectives_done,
                files_changed: spent.files_changed,
                idle_grants: spent.idle_grants,
                ceiling: spent.ceiling,
            }),
            attributes: &attributes,
        })
    })
}

fn staleness(of: core::Staleness) -> questions::Staleness {
    same!(of, core::Staleness => questions::Staleness: Fresh, SlightlyStale, Stale, VeryStale)
}

fn handoff_reference(newest: &see::HandoffReference) -> questions::HandoffReference<'_> {
    questions::HandoffReference {
        path: &newest.path,
        staleness: staleness(newest.staleness),
        found: newest.found.map(|found| questions::HandoffFinding {
            commits_since: found.commits_since,
            missing_files: found.missing_files,
            diverged: found.diverged,
        }),
    }
}

fn beyond(beyond: see::OmittedCounts) -> questions::Beyond {
    let see::OmittedCounts { changed_files, attempts, decisions, gotchas, patterns } = beyond;
    questions::Beyond { changed_files, attempts, decisions, gotchas, patterns }
}

fn withheld(withheld: see::WithheldCounts) -> questions::Withheld {
    let see::WithheldCounts { attempts, decisions, gotchas, patterns, commands, reads } = withheld;
    questions::Withheld { attempts, decisions, gotchas, patterns, commands, reads }
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn handoff<R>(
    seen: &see::HandoffObservation,
    ask: impl FnOnce(questions::HandoffObservation<'_>) -> R,
) -> R {
    let recent = list(&seen.session.recent, turn);
    let focus = ids(&seen.focus);
    let changed_files = list(&seen.changed_files, changed_file);
    let attempts = list(&seen.attempts, attempt);
    let decisions = list(&seen.decisions, attempt);
    let artifacts = list(&seen.artifacts, |artifact| questions::Artifact {
        name: &artifact.name,
        version: artifact.version,
        summary: &artifact.summary,
    });
    let gotchas = strs(&seen.gotchas);
    let patterns = strs(&seen.patterns);
    let commands = list(&seen.commands, |run| questions::CommandRun {
        line: &run.line,
        failed: run.failed,
        times: run.times,
    });
    let reads = list(&seen.reads, |read| questions::FileRead { path: &read.path, times: read.times });
    let lessons = list(&seen.lessons, |lesson| questions::Lesson {
        phase: lesson.phase.as_str(),
        kind: same!(lesson.kind, see::LessonKind => questions::LessonKind: Decision, Answer, Gotcha, FailedApproach, Pattern, Handoff),
        text: &lesson.text,
        path: lesson.path.as_deref(),
    });
    let entry_points = list(&seen.entry_points, |entry| questions::EntryPoint {
        kind: same!(entry.kind, see::EntryPointKind => questions::EntryKind: Index, Progress, WorkItems, InitScript, Summary),
        path: &entry.path,
    });
    let sections = list(&seen.context_files, |file| strs(&file.sections));
    let context_files: Vec<_> = seen
        .context_files
        .iter()
        .zip(&sections)
        .map(|(file, sections)| questions::ContextFile { path: &file.path, sections })
        .collect();
    let lists = seen.reported.as_ref().map(lists_of_handoff);
    let reported = seen.reported.as_ref().zip(lists.as_ref()).map(reported_handoff);
    let commits = list(&seen.commits, |commit| questions::Commit {
        id: &commit.id,
        subject: &commit.subject,
        by_session: commit.by_session,
    });
    let remarks = list(&seen.remarks, |remark| questions::Remark {
        objective: remark.objective.as_str(),
        text: &remark.text,
    });
    let result_files = strs(&seen.result_files);
    let conflict_files = seen.conflict.as_ref().map(|conflict| strs(&conflict.files));
    let conflict = seen.conflict.as_ref().zip(conflict_files.as_ref()).map(|(conflict, files)| {
        questions::Conflict { with_phase: conflict.with_phase.as_ref().map(PhaseId::as_str), files }
    });
    let attributes = pairs(&seen.attributes);
    objectives(&seen.objectives, |objectives| {
        ask(questions::HandoffObservation {
            kind: same!(seen.kind, see::PromptKind => questions::PromptKind:
            First, Next, Continuing, ReOriented, Nudged, Reviewing, Merging),
            phase: phase(&seen.phase),
            session: session(&seen.session, &recent),
            objectives,
            focus: &focus,
            goal: &seen.goal,
            changed_files: &changed_files,
            attempts: &attempts,
            decisions: &decisions,
            artifacts: &artifacts,
            newest_handoff: seen.newest_handoff.as_ref().map(handoff_reference),
            inbox_path: &seen.inbox_path,
            because: seen.because.as_deref(),
            last_output: seen.last_output.map(|text| text.0),
            findings: seen.findings.map(|text| text.0),
            git: seen.git.as_ref().map(git),
            asked_at_ms: seen.asked_at_ms.0,
            gotchas: &gotchas,
            patterns: &patterns,
            commands: &commands,
            reads: &reads,
            lessons: &lessons,
            entry_points: &entry_points,
            context_files: &context_files,
            reported,
            commits: &commits,
            verification: seen.verification.as_ref().map(|last| questions::Verification {
                passed: last.passed,
                ended_at_ms: last.ended_at_ms.0,
                artifact: last.artifact.as_deref(),
            }),
            remarks: &remarks,
            facts_path: seen.facts_path.as_deref(),
            beyond: beyond(seen.beyond),
            words_withheld: seen.words_withheld.map(withheld),
            plans_first: seen.plans_first,
            as_lead: seen.as_lead,
            compacted: seen.compacted,
            reports_as: seen.reports_as.as_ref().map(SessionId::as_str),
            result_file: seen.result_file.as_deref(),
            result_files: &result_files,
            conflict,
            attributes: &attributes,
        })
    })
}

/// Calls `ask` with the WIT form of the observation, which borrows from it.
pub(crate) fn review<R>(
    seen: &see::ReviewObservation,
    ask: impl FnOnce(questions::ReviewObservation<'_>) -> R,
) -> R {
    let missing_files = strs(&seen.missing_files);
    let secrets = strs(&seen.secrets);
    let open_objectives = ids(&seen.open_objectives);
    let attributes = pairs(&seen.attributes);
    ask(questions::ReviewObservation {
        document: seen.document.0,
        missing_files: &missing_files,
        secrets: &secrets,
        commits_since: seen.commits_since,
        diverged: seen.diverged,
        open_objectives: &open_objectives,
        attributes: &attributes,
    })
}
