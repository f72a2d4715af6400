//! The message of `baton run` about the unfinished run that it finds (D8): for people and programs. Decides nothing.

use baton_runtime::UnfinishedRun;
use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::view::{PhaseStatus, RunStatus, RunView};
use baton_runtime::core::workflow::{PlanBox, TickedPlan};
use baton_runtime::core::{PhaseId, Workflow};
use serde_json::{Value, json};

use super::terminal_style::{TerminalStyle, Tone};
use super::text_format;

/// Names in a line; of more than this only the number is said.
const NAMES_SHOWN: usize = 8;

/// The message about a found run.
pub(crate) struct ResumeMessage<'a> {
    /// The run.
    pub(crate) run: &'a UnfinishedRun,
    /// The workflow, or a file beneath it, says something else since it began.
    pub(crate) changed: bool,
    /// The typed flags that the run began without; empty if there are none.
    pub(crate) beyond: &'a str,
    /// The changes in the plan that it was made from.
    pub(crate) boxes: PlanBoxDiff,
    /// What to type to begin a new run instead.
    pub(crate) restart: &'a str,
}

/// The differences between the boxes of a plan and those at the start of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanBoxDiff {
    /// Boxes that are open, and no objective of the run.
    pub(crate) new: Vec<String>,
    /// Objectives that are open, and no open box any more.
    pub(crate) gone: Vec<String>,
}

impl PlanBoxDiff {
    /// The user's changes since. Empty if it is not a plan.
    pub(crate) fn between(run: &UnfinishedRun, now: &Workflow) -> Self {
        let (Some(TickedPlan { boxes: before, .. }), Some(TickedPlan { boxes: now, .. })) =
            (&run.workflow.plan, &now.plan)
        else {
            return Self::default();
        };
        let is_done = |one: &&PlanBox| {
            let objectives = run.view.phases.iter().flat_map(|phase| &phase.objectives);
            objectives.filter(|row| row.id == one.objective).any(|row| row.status == ObjectiveStatus::Done)
        };
        let lacks = |boxes: &[PlanBox], one: &PlanBox| !boxes.iter().any(|other| other.line == one.line);
        let lines = |boxes: Vec<&PlanBox>| boxes.into_iter().map(|one| one.line.clone()).collect();
        Self {
            new: lines(now.iter().filter(|one| lacks(before, one)).collect()),
            gone: lines(before.iter().filter(|one| !is_done(one) && lacks(now, one)).collect()),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.new.is_empty() {
            lines.push(format!(
                "  New in the plan: {}. Repeat the command after this run to do that.",
                quoted(&self.new)
            ));
        }
        if !self.gone.is_empty() {
            lines.push(format!(
                "  No longer open in the plan: {}. The run keeps the objectives that it began with.",
                quoted(&self.gone)
            ));
        }
        lines
    }
}

fn quoted(lines: &[String]) -> String {
    let quoted: Vec<String> = lines.iter().map(|line| format!("\"{line}\"")).collect();
    text_format::first_of(&quoted, NAMES_SHOWN)
}

/// The flags that a command gives the agents of a run that it resumes, until it ends.
const GRANT_FLAGS: [&str; 4] = ["--env", "--allow", "--permission", "--model"];

impl ResumeMessage<'_> {
    /// The commands that give its agents what this one would, where they can.
    fn given_by(&self) -> String {
        let is_handed_over = |flag: &str| GRANT_FLAGS.contains(&flag);
        match self.beyond.split([' ', ',', '`']).filter(|flag| flag.starts_with("--")).all(is_handed_over) {
            true => {
                " `baton resume` and `baton answer … --resume` accept the flag, until they end.".to_owned()
            }
            false => String::new(),
        }
    }

    /// No phase continues until the user answers.
    pub(crate) fn waits(&self) -> bool {
        self.run.view.status == RunStatus::Paused
    }

    /// For people, as lines.
    pub(crate) fn lines(&self, look: &TerminalStyle) -> Vec<String> {
        let view = &self.run.view;
        let (done, all) = view.objectives();
        let word = look.paint(Tone::Handoff, "found");
        let (run, workflow) = (&view.run, &view.workflow);
        let at = look.day_and_time(self.run.last_at);
        let mut lines = vec![format!(
            "{word}: run {run} of {workflow} is unfinished; it stopped at {at} with {done} of {} done",
            text_format::count(all, "objective")
        )];
        let (closed, open) = phases(view);
        for (word, phases) in [("done", closed), ("open", open)] {
            if !phases.is_empty() {
                lines.push(format!("  {word}  {}", list_ids(&phases)));
            }
        }
        for question in &view.questions {
            let about = question.phase.as_ref().map(|phase| format!(" about {phase}")).unwrap_or_default();
            let head = look.paint(Tone::Warn, &format!("question {}{about}", question.id));
            lines.push(format!("  {head}: {}", look.wrap(&text_format::in_a_line(&question.text), 4)));
        }
        if self.changed {
            lines.push(
                "  The workflow, or a file beneath it, has changed since: the run keeps the version that it began with.".to_owned(),
            );
        }
        if !self.beyond.is_empty() {
            let said = format!(
                "  It began without `{}`, and this command does not change that.{}",
                self.beyond,
                self.given_by()
            );
            lines.push(look.wrap(&said, 4));
        }
        lines.extend(self.boxes.lines().into_iter().map(|line| look.wrap(&line, 4)));
        let then = match self.waits() {
            true => "It waits for your answer, see below;",
            false => "Resuming it;",
        };
        lines.push(format!("{then} `{}` starts a new run and keeps this one.", self.restart));
        lines
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let view = &self.run.view;
        let (done, objectives) = view.objectives();
        let (closed, open) = phases(view);
        json!({
            "schema": super::json_record::SCHEMA,
            "record": "found",
            "run": view.run,
            "workflow": view.workflow,
            "stopped_at_ms": self.run.last_at,
            "done": done,
            "objectives": objectives,
            "phases_done": closed,
            "phases_open": open,
            "questions": view.questions,
            "began_without": self.beyond,
            "changed": self.changed || self.boxes != PlanBoxDiff::default(),
            "goes_on": !self.waits(),
        })
    }
}

/// Phases that are over, and those that are not. One that was split is shown by its parts.
fn phases(view: &RunView) -> (Vec<&PhaseId>, Vec<&PhaseId>) {
    let rows = view.phases.iter().filter(|phase| phase.split == 0 && phase.origin.is_part());
    let (closed, open): (Vec<_>, Vec<_>) =
        rows.partition(|phase| matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped));
    let ids = |rows: Vec<_>| rows.into_iter().map(|row: &_| id(row)).collect();
    (ids(closed), ids(open))
}

fn id(row: &baton_runtime::core::view::PhaseSummary) -> &PhaseId {
    &row.id
}

fn list_ids(phases: &[&PhaseId]) -> String {
    text_format::first_of(phases, NAMES_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;
    use baton_runtime::core::{DurationMs, UnixMs};

    fn unfinished(view: RunView) -> UnfinishedRun {
        let last_at: UnixMs = view.started_at + DurationMs::from_secs(90);
        UnfinishedRun { view, workflow: Box::new(test_samples::workflow()), last_at, busy: false }
    }

    // D8
    #[test]
    fn what_is_found_is_said() {
        let said = |view: RunView, changed| {
            let run = unfinished(view);
            let found = ResumeMessage {
                run: &run,
                changed,
                beyond: if changed { "" } else { "--agent codex" },
                boxes: PlanBoxDiff::default(),
                restart: "baton run quickstart.toml --restart",
            };
            found.lines(&TerminalStyle::bare(100)).join("\n")
        };
        let texts = [said(test_samples::running(), true), said(test_samples::paused(), false)];
        insta::assert_snapshot!("found", texts.join("\n\n"));
        let run = unfinished(test_samples::paused());
        let found = ResumeMessage {
            run: &run,
            changed: false,
            beyond: "",
            boxes: PlanBoxDiff::default(),
            restart: "",
        };
        insta::assert_json_snapshot!("found_json", found.json());
    }

    #[test]
    fn many_phases_are_counted() {
        let ids: Vec<PhaseId> = (1..=12).map(|n| PhaseId::new(n.to_string())).collect();
        let all: Vec<&PhaseId> = ids.iter().collect();
        assert_eq!(list_ids(&all), "1, 2, 3, 4, 5, 6, 7, 8 and 4 more");
        assert_eq!(list_ids(&all[..8]), "1, 2, 3, 4, 5, 6, 7, 8");
    }
}
