//! The safety net (B2): what is true, in words, composed from facts without a model. Also the handoff of last
//! resort, where no policy could compose one.

use std::fmt::Write as _;

use crate::action::Action;
use crate::ids::ActionId;
use crate::observation::ObjectiveStatus;
use crate::text::Text;

use super::Run;
use super::phase::{Phase, Step};

impl Run {
    /// One summary of the phase and one of the run, before a context is thrown away.
    pub(super) fn write_summaries(&mut self, p: usize) -> ActionId {
        let (step, directory) = (self.phase_summary(p), self.run_summary());
        self.emit(Action::WriteSummaries {
            phase: self.phases[p].spec.id.clone(),
            step: Text::new(step),
            directory: Text::new(directory),
        })
    }

    fn phase_summary(&self, p: usize) -> String {
        let phase = &self.phases[p];
        let mut text = format!("# Phase {}: {}\n\n", phase.spec.id, phase.spec.title);
        let _ = writeln!(text, "Session intent: {}\n", self.workflow.goal);
        text.push_str("## Objectives\n\n");
        for goal in &phase.goals {
            let mark = if goal.status == ObjectiveStatus::Done { 'x' } else { ' ' };
            let _ = writeln!(text, "- [{mark}] {}: {}", goal.spec.id, one_line(&goal.spec.description));
        }
        text.push_str("\n## Artifacts\n\n");
        if phase.facts.changed.is_empty() && phase.artifacts.is_empty() {
            text.push_str("None yet.\n");
        }
        for file in &phase.facts.changed {
            let state = if file.exists { format!("{} bytes", file.bytes) } else { "deleted".to_owned() };
            let _ = writeln!(text, "- {} ({state})", file.path);
        }
        for artifact in &phase.artifacts {
            let _ = writeln!(text, "- {} version {}: {}", artifact.name, artifact.version, artifact.summary);
        }
        text.push_str("\n## Next steps\n\n");
        match phase.open_goals().next() {
            Some((_, goal)) => {
                let _ = writeln!(text, "Work on {}: {}", goal.spec.id, one_line(&goal.spec.description));
            }
            None => text.push_str("Every objective is done; verify.\n"),
        }
        for attempt in &phase.attempts {
            let _ = writeln!(
                text,
                "Do not try again: {} ({})",
                one_line(&attempt.approach),
                one_line(&attempt.outcome)
            );
        }
        text
    }

    fn run_summary(&self) -> String {
        let mut text = format!("# {}\n\n{}\n\n", self.workflow.name, self.workflow.goal);
        text.push_str("| phase | title | status | objectives |\n|---|---|---|---|\n");
        for phase in &self.phases {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} of {} done |",
                phase.spec.id,
                phase.spec.title,
                status_word(phase),
                phase.done_count(),
                phase.goals.len(),
            );
        }
        text
    }

    /// Document and index from facts alone.
    pub(super) fn plain_handoff(&self, p: usize) -> (String, String) {
        let document =
            format!("{}\n## Why the session ended\n\n{}\n", self.phase_summary(p), self.phases[p].because);
        (document, self.run_summary())
    }
}

fn status_word(phase: &Phase) -> &'static str {
    match phase.step {
        Step::Pending => "pending",
        Step::Done => "done",
        Step::Skipped => "skipped",
        Step::Split => "split",
        Step::Paused { .. } => "paused",
        _ => "in progress",
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
