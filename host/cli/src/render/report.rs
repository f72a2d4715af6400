//! The report of a run: the table, the results of each phase, the paths of its handoffs and artifacts, the next commands.

mod refusals;

use std::collections::{BTreeMap, BTreeSet};

use baton_runtime::END_GRACE;
use baton_runtime::core::PhaseId;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::observation::EvidenceKind;
use baton_runtime::core::view::{
    ObjectiveSummary, PhaseOrigin, PhaseStatus, PhaseSummary, QuestionSummary, RunStatus, RunView,
    SessionSummary, SourceSummary,
};

use self::refusals::refused_calls;
use super::import;
use super::notice;
use super::table::{SessionAges, table};
use super::terminal_style::{TerminalStyle, Tone};
use super::text_format::{self, in_a_line};
use crate::location::RunLocation;
use crate::task::plan_boxes::PlanProgress;

/// Width of the labels of the sums.
const LABEL: usize = 11;
/// The column in which the line of a session continues, and that of its refusals.
const SESSION_INDENT: usize = 6;
const REFUSED_INDENT: usize = 8;

/// Data of a report in addition to the view, from the location of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportContext {
    /// The plan that it was made from, and how its boxes are.
    pub(crate) plan: Option<PlanStatus>,
    /// What it changed in the workspace: "3 files, +120 −7"; nothing if it changed nothing, or that is unknown.
    pub(crate) changed: Option<String>,
    /// The same for its phases, if it has several.
    pub(crate) changed_by: BTreeMap<PhaseId, String>,
    /// `baton undo` reverted its changes.
    pub(crate) is_undone: bool,
    /// The workflow bounds what the run, or a phase of it, may cost.
    pub(crate) has_cost_ceiling: bool,
    /// Files that its confined agents could write and that have names elsewhere as well; none if there were none.
    pub(crate) shared_files: Option<String>,
    /// A host is ending the agents of the run now.
    pub(crate) is_stopping: bool,
}

/// A plan as it is now.
#[derive(Clone, Debug)]
pub(crate) struct PlanStatus {
    /// Its path, for people.
    pub(crate) name: String,
    /// What to type to continue it.
    pub(crate) command: String,
    /// Its boxes.
    pub(crate) standing: PlanProgress,
}

/// The run as it is found, where it is known whether a host works on it.
pub(crate) fn found(view: &RunView, live: Option<bool>) -> RunView {
    RunView { status: text_format::found(view.status, live), ..view.clone() }
}

/// Everything: for the end of a run and for `baton report`.
pub(crate) fn report(
    look: &TerminalStyle,
    view: &RunView,
    location: &RunLocation,
    aside: &ReportContext,
) -> String {
    let mut text = status(look, view, location, aside.is_stopping);
    for phase in &view.phases {
        text.push('\n');
        text.push_str(&phase_section(look, phase, view, aside));
    }
    text.push('\n');
    text.extend(totals(view, location, aside).lines().map(|line| labelled(look, line)));
    text.push_str(&next(look, view, location, aside));
    text
}

/// Whether the host of a run that has been stopped still ends its agents.
pub(crate) fn is_stopping(view: &RunView, live: Option<bool>) -> bool {
    view.status == RunStatus::Ended(RunOutcome::Interrupted) && live == Some(true)
}

/// The short form, for `baton status`: where it stands, the table, the questions.
pub(crate) fn status(
    look: &TerminalStyle,
    view: &RunView,
    location: &RunLocation,
    is_stopping: bool,
) -> String {
    let (word, tone) = text_format::run(view.status);
    let name = look.paint(Tone::Strong, &view.workflow);
    let (word, goal) = (look.paint(tone, word), look.wrap(&view.goal, 0));
    let mut text = format!("{name}  {}  {word}\n{goal}\n\n", view.run);
    for assignment in &view.assignments {
        text.push_str(&format!(
            "experiment {}: arm {} (component {})\n\n",
            assignment.experiment,
            assignment.arm,
            assignment.component.short()
        ));
    }
    text.push_str(&table(view, look, &SessionAges::new()));
    text.push('\n');
    for row in &view.policy_failures {
        text.push_str(&format!("\n{}\n", look.wrap(&text_format::policy_failure(row), 0)));
    }
    let decided = text_format::policy_decisions(&view.policy_decisions);
    if !decided.is_empty() {
        text.push('\n');
    }
    for line in decided {
        text.push_str(&format!("{}\n", look.wrap(&line, 2)));
    }
    if let Some(imported) = &view.imported {
        text.push_str(&format!("\n{}\n", look.wrap(&import::provenance(imported), 0)));
        return text;
    }
    if is_stopping {
        text.push_str(&format!(
            "\nBaton is stopping: it gives the agents up to {}s to finish; then `baton resume {}{}` continues\n",
            END_GRACE.as_secs(),
            view.run,
            location.flags
        ));
    } else if view.status == RunStatus::Ended(RunOutcome::Interrupted) {
        text.push_str(&format!(
            "\nBaton is not running: `baton resume {}{}` continues\n",
            view.run, location.flags
        ));
    }
    let waits: Vec<String> = view.phases.iter().filter_map(|phase| text_format::waits(phase, look)).collect();
    if view.status == RunStatus::Running && !waits.is_empty() {
        waits.iter().for_each(|line| text.push_str(&format!("\n{}", look.wrap(line, 0))));
        text.push('\n');
    }
    if view.set_aside {
        text.push_str(&format!(
            "\nIt was set aside by a later `baton run --restart`; only `baton resume {}{}` continues it\n",
            view.run, location.flags
        ));
    }
    for question in &view.questions {
        text.push_str(&question_section(look, question, view, location));
    }
    text
}

fn question_section(
    look: &TerminalStyle,
    question: &QuestionSummary,
    view: &RunView,
    location: &RunLocation,
) -> String {
    let about = question.phase.as_ref().map(|phase| format!(" about {phase}")).unwrap_or_default();
    let head = look.paint(Tone::Warn, &format!("Question {}{about}", question.id));
    let which = which(view, question);
    let mut text = format!("\n{head}: {}\n", look.wrap(&in_a_line(&question.text), 0));
    for choice in &question.choices {
        let name = choice.name();
        text.push_str(&format!("  baton answer {} {name}{which} --resume{}\n", view.run, location.flags));
        if *choice == PauseAnswer::Retry {
            text.push_str("    add --message 'TEXT' to tell the agent something\n");
        }
    }
    text
}

/// If several questions are open, the answer names its question.
fn which(view: &RunView, question: &QuestionSummary) -> String {
    if view.questions.len() > 1 { format!(" --question {}", question.id) } else { String::new() }
}

fn phase_section(
    look: &TerminalStyle,
    phase: &PhaseSummary,
    view: &RunView,
    aside: &ReportContext,
) -> String {
    let run = view.status;
    let (word, tone) = text_format::phase(phase, run);
    let title = if phase.title == phase.id.as_str() {
        String::new()
    } else {
        format!("  {}", in_a_line(&phase.title))
    };
    let id = look.paint(Tone::Strong, phase.id.as_str());
    let mut text = format!("{id}  {}{}{title}\n", look.paint(tone, &word), text_format::until(phase, look));
    let parts: Vec<&PhaseSummary> = view
        .phases
        .iter()
        .filter(|row| row.parent.as_ref() == Some(&phase.id) && row.origin == PhaseOrigin::Split)
        .collect();
    if !parts.is_empty() {
        let ids: Vec<&PhaseId> = parts.iter().map(|part| &part.id).collect();
        let count = text_format::count(u32::try_from(ids.len()).unwrap_or(u32::MAX), "sub-phase");
        text.push_str(&format!("  split into {count}: {}\n", look.wrap(&text_format::list(&ids), 4)));
    }
    // The objectives of a part are shown there.
    let elsewhere = |objective: &&ObjectiveSummary| {
        !parts.iter().flat_map(|part| &part.objectives).any(|held| held.id == objective.id)
    };
    let own: Vec<&ObjectiveSummary> = phase.objectives.iter().filter(elsewhere).collect();
    let width = own.iter().map(|objective| objective.id.as_str().len()).max().unwrap_or_default();
    for objective in own {
        let (word, tone) = text_format::objective(objective.status);
        let before = match objective.done_by {
            Some(EvidenceKind::Checked | EvidenceKind::Accepted) | None => "",
            Some(_) if objective.passed_before => "; its check passed before, too",
            Some(_) if objective.has_check && objective.check_passed != Some(true) => {
                "; its check has not passed"
            }
            Some(_) => "",
        };
        let judged = text_format::judged_by(objective.judged_by.as_deref());
        let basis = objective
            .done_by
            .map(|basis| format!(" · {}{judged}{before}", basis.words()))
            .unwrap_or_default();
        let word = format!("{word}{basis}");
        let by = objective.by.as_ref().map(|session| format!("by {session}")).unwrap_or_default();
        let line = format!("  {}  {:width$}  {by}", look.paint(tone, &format!("{word:16}")), objective.id);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for session in &phase.sessions {
        text.push_str(&session_line(look, session, phase.continuations, run));
        for refusal in &session.refused {
            let line = in_a_line(&format!("not allowed by its {}: to {refusal}", refusal.by()));
            text.push_str(&format!("      {}\n", look.wrap(&line, REFUSED_INDENT)));
        }
    }
    if let Some(passed) = phase.verified {
        let word = if passed { "passed" } else { "failed" };
        text.push_str(&format!("  verification {word}\n"));
    }
    for check in &phase.modified_checks {
        let line = look.wrap(&notice::modified_check(&check.command, &check.files), 4);
        text.push_str(&format!("  {}\n", look.paint(Tone::Warn, &line)));
    }
    if let Some(score) = phase.score {
        text.push_str(&format!("  review    {score} of 100\n"));
    }
    if let Some(changed) = aside.changed_by.get(&phase.id) {
        text.push_str(&format!("  changed   {changed}\n"));
    }
    // Of one session, its line says it.
    if phase.sessions.len() != 1 && phase.billed.tokens() > 0 {
        let billed = text_format::billed_of(&phase.billed, &phase.sessions);
        text.push_str(&format!("  billed    {}\n", look.wrap(&billed, LABEL + 1)));
    }
    for commit in &phase.commits {
        text.push_str(&format!("  commit    {}\n", text_format::committed(commit)));
    }
    if let Some(why) = &phase.commit_failed {
        let why = in_a_line(&format!("failed: {why}"));
        text.push_str(&format!("  commit    {}\n", look.wrap(&look.paint(Tone::Bad, &why), LABEL + 1)));
    }
    // The tree of a finished part is gone: its work is in the place where its parent began.
    if !phase.tree.is_workspace() && phase.status != PhaseStatus::Done {
        text.push_str(&format!("  work tree {}\n", phase.tree));
    }
    for handoff in &phase.handoffs {
        let what =
            if handoff.closes { "what the phase left" } else { &format!("left by {}", handoff.session) };
        text.push_str(&format!("  handoff   {}  {what}\n", handoff.path));
    }
    for artifact in &phase.artifacts {
        let (name, version) = (&artifact.name, artifact.version);
        text.push_str(&format!("  artifact  {name}@{version}  {}\n", text_format::bytes(artifact.bytes)));
    }
    text
}

/// "  s4  continuation 1 of 3  rehearsal  completed  9 turns, context 61% (4.9k of 8.0k), 31.0k tokens".
fn session_line(
    look: &TerminalStyle,
    session: &SessionSummary,
    continuations: u32,
    run: RunStatus,
) -> String {
    let place = match session.continuation {
        0 => String::new(),
        k => format!("  continuation {k} of {continuations}"),
    };
    let words = session.ending.replace('-', " ");
    let ending = match words.as_str() {
        "" if run == RunStatus::Ended(RunOutcome::Interrupted) => "interrupted",
        "" => "working",
        "lost with the host" => "cut off when Baton was killed",
        ending => ending,
    };
    let line = format!(
        "{}  {}{place}  {ending}  {}, {}, {}",
        session.id,
        session.agent,
        text_format::count(session.turns, "turn"),
        text_format::context_in_full(session.used_tokens, session.window_tokens, session.source),
        text_format::billed_of(&session.billed, [session]),
    );
    format!("  {}\n", look.wrap(&line, SESSION_INDENT))
}

/// A line of the sums, broken beside its label; paths and what is typed stay whole.
fn labelled(look: &TerminalStyle, line: &str) -> String {
    let is_copied = ["Workspace ", "baton ", "git worktree ", "git add ", "--allow "]
        .iter()
        .any(|part| line.contains(part));
    match line.split_at_checked(LABEL) {
        Some((label, rest)) if !is_copied => format!("{label}{}\n", look.wrap(rest, LABEL)),
        _ => format!("{line}\n"),
    }
}

fn totals(view: &RunView, location: &RunLocation, aside: &ReportContext) -> String {
    let quota = match view.quota_wait_ms.0 {
        0 => String::new(),
        _ => format!(", and {} of waiting for a provider, which is not counted", view.quota_wait_ms),
    };
    let (done, objectives) = view.objectives();
    let plan = aside.plan.as_ref().map(|plan| {
        let PlanProgress { ticked, all, beyond, not_done, gone } = plan.standing;
        let new = if beyond > 0 { format!(", {beyond} new") } else { String::new() };
        let not_done =
            if not_done > 0 { format!(", {not_done} of them not done by this run") } else { String::new() };
        let gone =
            if gone > 0 { format!(", {gone} that this run has not done removed") } else { String::new() };
        format!("Plan       {}: {ticked} of {all} boxes ticked{not_done}{gone}{new}\n", plan.name)
    });
    let plan = plan.unwrap_or_default();
    let (refused, trees, commits) =
        (refused_calls(view, location), leftover_worktrees(view), commits_failed(view));
    let undone = match aside.is_undone {
        true => {
            "Undone     `baton undo` reverted the merges of its split phases: they are no longer in the workspace\n"
        }
        false => "",
    };
    let changed = aside.changed.as_ref().map(|changed| format!("Changed    {changed}\n")).unwrap_or_default();
    let shared = aside.shared_files.as_ref().map(|found| format!("Hard links {found}\n")).unwrap_or_default();
    format!(
        "Done       {done} of {}\n{plan}{undone}{changed}{shared}{commits}{refused}{trees}Time       {}{quota}\nBilled     {}\n{}Workspace  {}\n",
        text_format::count(objectives, "objective"),
        view.active_ms,
        text_format::billed_of(&view.billed, view.phases.iter().flat_map(|phase| &phase.sessions)),
        cost_ceiling_caveat(view, aside),
        location.config.workspace.display()
    )
}

/// Phases that should be committed and are not, and the commands for that.
fn commits_failed(view: &RunView) -> String {
    let phases: Vec<&PhaseId> = view.not_committed().map(|phase| &phase.id).collect();
    if phases.is_empty()
        || !matches!(view.status, RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished))
    {
        return String::new();
    }
    format!(
        "Commits    failed for {}: the work is in the workspace, but not committed; the reason is above\n           \
         fix that, then commit it yourself: git add -A && git commit\n",
        text_format::list(&phases)
    )
}

/// A ceiling of cost counts what has no price by the price of the rest, and sees nothing where no price was named.
fn cost_ceiling_caveat(view: &RunView, aside: &ReportContext) -> &'static str {
    if !aside.has_cost_ceiling || text_format::unpriced_of(view) == 0 {
        return "";
    }
    match view.billed.cost_microusd {
        Some(_) => {
            "           `cost_usd` counts tokens without a price by the price of the others; `tokens` in [limits] counts all\n"
        }
        None => {
            "           `cost_usd` bounds nothing here: no agent named a price; `tokens` in [limits] counts all\n"
        }
    }
}

/// Work trees that an ended run leaves behind, since their content was not merged.
fn leftover_worktrees(view: &RunView) -> String {
    // A reviewer works in the tree of the part that it reviews, which is that part's to leave.
    let left = |phase: &&PhaseSummary| {
        !phase.tree.is_workspace() && phase.status != PhaseStatus::Done && phase.origin != PhaseOrigin::Review
    };
    let left: BTreeSet<String> =
        view.phases.iter().filter(left).map(|phase| phase.tree.to_string()).collect();
    let trees = u32::try_from(left.len()).unwrap_or(u32::MAX);
    if trees == 0 || !matches!(view.status, RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished)) {
        return String::new();
    }
    let count = text_format::count(trees, "work tree");
    format!(
        "Trees      {count} kept, with their own branches, for unmerged work: `git worktree list` shows them\n           \
         to remove one: git worktree remove --force FOLDER, then git branch -D BRANCH\n"
    )
}

/// The next commands.
fn next(look: &TerminalStyle, view: &RunView, location: &RunLocation, aside: &ReportContext) -> String {
    let (run, flags) = (&view.run, &location.flags);
    let resume = format!("baton resume {run}{flags}");
    // A user who comes back looks at the work first.
    let has_artifacts =
        view.phases.iter().any(|phase| !phase.artifacts.is_empty() || !phase.handoffs.is_empty());
    let artifacts = match aside.changed {
        Some(_) => format!("baton diff {run}{flags}"),
        None if has_artifacts => format!("baton artifacts ls {run}{flags}"),
        None => format!("baton log {run}{flags}"),
    };
    let mut commands = match view.status {
        // It cannot be continued, and it left nothing in a workspace.
        _ if view.imported.is_some() => vec![format!("baton replay {run} --verify{flags}"), artifacts],
        RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished)
            if view.phases.iter().any(|phase| phase.split > 0) && !aside.is_undone =>
        {
            vec![artifacts, format!("baton undo {run}{flags}")]
        }
        RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished) => vec![artifacts],
        RunStatus::Ended(RunOutcome::Interrupted) => vec![resume, artifacts],
        RunStatus::Running => vec![format!("baton attach {run}{flags}"), format!("baton stop {run}{flags}")],
        RunStatus::Paused if view.questions.is_empty() => vec![resume],
        RunStatus::Paused => {
            let answer = |question: &QuestionSummary| {
                let choices: Vec<&str> = question.choices.iter().map(|choice| choice.name()).collect();
                let which = which(view, question);
                format!("baton answer {run} {}{which} --resume{flags}", choices.join("|"))
            };
            view.questions.iter().map(answer).chain([artifacts]).collect()
        }
    };
    let is_over = matches!(view.status, RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished));
    if let Some(plan) = aside.plan.as_ref().filter(|plan| is_over && plan.standing.beyond > 0) {
        commands.insert(0, plan.command.clone());
    }
    if is_over && matches!(view.source, Some(SourceSummary::Sentence { .. })) {
        commands.push(format!("baton save{flags}   keeps it as a workflow"));
    }
    let mut text = String::new();
    for (index, command) in commands.iter().enumerate() {
        let label = if index == 0 { "Next" } else { "" };
        text.push_str(&format!("{label:9}  {}\n", look.paint(Tone::Strong, command)));
    }
    text
}

#[cfg(test)]
mod tests;
