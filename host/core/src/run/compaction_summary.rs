//! The safety net (B2): what is true, in words, composed from facts without a model. Also the handoff of last
//! resort, where no policy could compose one.

use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::action::{Action, sibling_name};
use crate::ids::{Digest, PhaseId};
use crate::input::ActionOutcome;
use crate::observation::{ObjectiveStatus, PromptKind};
use crate::text::TextBlob;
use crate::workflow::paths;

use super::Run;
use super::handoff::FACTS;
use super::phase::Phase;
use super::phase_list::PhaseIndex;
use super::step::{OnSummary, PhaseStep};
use super::text_format::one_line;

/// The summaries of a run in the store, whatever their names in the workspace.
const SUMMARIES: &str = "summaries/";

/// Changed files that the plain handoff names; the facts beside it name all.
const PLAIN_FILES: usize = 40;

/// Changed files that a summary names: it is read by an agent that has just lost its context, to find its way.
const SUMMARY_FILES: usize = 40;
/// Attempts, decisions and traps that it names, each; the newest. All of them are in `progress.json` and the handoff.
const SUMMARY_RECORDS: usize = 10;

impl Run {
    /// Writes one summary of the phase and one of the run (B2). False if the newest one of the phase says the same.
    pub(super) fn write_summaries(&mut self, p: PhaseIndex, then: OnSummary) -> bool {
        let step = TextBlob::new(self.phase_summary(p));
        let digest = step.digest().clone();
        if self.phases[p].artifacts.summarised.as_ref() == Some(&digest) {
            return false;
        }
        let (phase, directory) = (self.phases[p].spec.id.clone(), TextBlob::new(self.summary()));
        let action = self.emit(Action::WriteSummaries { phase, step, directory });
        self.phases[p].step = PhaseStep::Summarising { action, digest, then };
        true
    }

    pub(super) fn on_summaries_written(
        &mut self,
        p: PhaseIndex,
        digest: Digest,
        then: OnSummary,
        outcome: &ActionOutcome,
    ) {
        let written = match outcome {
            ActionOutcome::SummariesWritten { artifacts } => Some(artifacts),
            _ => None,
        };
        if let Some(artifacts) = written {
            artifacts.iter().for_each(|artifact| self.phases[p].artifacts.keep(artifact));
            self.phases[p].artifacts.summarised = Some(digest);
        }
        match then {
            OnSummary::Boundary => self.continue_from_boundary(p),
            OnSummary::Compact(instructions) if written.is_some() => self.compact(p, instructions),
            // Without its safety net no context is thrown away (B2): the work continues uncompacted.
            OnSummary::Compact(_) => self.request_next_prompt(p, PromptKind::Next),
            OnSummary::RepeatPrompt(focus) => self.brief(p, PromptKind::Nudged, focus),
        }
    }

    /// The summary of a phase as it stands now; the artifact of that name keeps what was written before a compaction.
    pub fn summary_of(&self, phase: &PhaseId) -> Option<String> {
        self.phases.position(|p| p.spec.id == *phase).map(|p| self.phase_summary(p))
    }

    /// Session intent, artifacts, next steps (C5). What is done is named, not told again; of a file only its state now
    /// counts, and of an artifact its newest version; what lies in a file beside is not repeated.
    fn phase_summary(&self, p: PhaseIndex) -> String {
        let phase = &self.phases[p];
        let mut text = format!("# Phase {}: {}\n\n", phase.spec.id, phase.spec.title);
        let _ = writeln!(text, "## Session intent\n\n{}\n", self.workflow.goal);
        let (done, open): (Vec<_>, Vec<_>) =
            phase.objectives.iter().partition(|objective| objective.status == ObjectiveStatus::Done);
        text.push_str("## Objectives\n\n");
        if !done.is_empty() {
            let ids: Vec<&str> = done.iter().map(|objective| objective.spec.id.as_str()).collect();
            let _ = writeln!(text, "Done: {}", ids.join(", "));
        }
        for objective in open {
            let _ = writeln!(text, "- [ ] {}: {}", objective.spec.id, one_line(&objective.spec.description));
        }
        self.summarise_artifacts(p, &mut text);
        text.push_str("\n## Next steps\n\n");
        match phase.open_objectives().next() {
            _ if phase.is_over() => text.push_str("Nothing: the phase is over.\n"),
            _ if phase.step == PhaseStep::Split => text.push_str("Its sub-phases do what is left.\n"),
            Some((_, objective)) => {
                let _ = writeln!(
                    text,
                    "1. Work on {}: {}",
                    objective.spec.id,
                    one_line(&objective.spec.description)
                );
            }
            None => text.push_str("1. Every objective is done; verify.\n"),
        }
        for attempt in newest(&phase.records.attempts) {
            let (tried, outcome) = (one_line(&attempt.approach), one_line(&attempt.outcome));
            let _ = writeln!(text, "- Do not try again: {tried} ({outcome})");
        }
        for decision in newest(&phase.records.decisions) {
            let (chosen, why) = (one_line(&decision.approach), one_line(&decision.outcome));
            let by = if decision.by_person { " by a person" } else { "" };
            let _ = writeln!(text, "- Decided{by}: {chosen} ({why})");
        }
        for gotcha in newest(&phase.records.gotchas) {
            let _ = writeln!(text, "- Beware: {}", one_line(gotcha));
        }
        for pattern in newest(&phase.records.patterns) {
            let _ = writeln!(text, "- Pattern: {}", one_line(pattern));
        }
        text
    }

    fn summarise_artifacts(&self, p: PhaseIndex, text: &mut String) {
        let phase = &self.phases[p];
        text.push_str("\n## Artifacts\n\n");
        let (there, gone): (Vec<_>, Vec<_>) =
            phase.measurements.facts.changed.iter().partition(|file| file.exists);
        for file in there.iter().take(SUMMARY_FILES) {
            let _ = writeln!(text, "- {} ({} bytes)", file.path, file.bytes);
        }
        let beyond = there.len().saturating_sub(SUMMARY_FILES) as u64
            + u64::from(phase.measurements.facts.changed_beyond);
        if beyond > 0 {
            let _ = writeln!(text, "- and {beyond} more changed files");
        }
        if !gone.is_empty() {
            let names: Vec<&str> = gone.iter().take(SUMMARY_FILES).map(|file| file.path.as_str()).collect();
            let _ = writeln!(text, "- deleted: {}", names.join(", "));
        }
        // The summaries before this one are what it replaces.
        let kept = phase.artifacts.kept.iter().filter(|artifact| !artifact.name.starts_with(SUMMARIES));
        let kept: Vec<_> = kept.collect();
        for artifact in &kept {
            let _ = writeln!(text, "- {} version {}: {}", artifact.name, artifact.version, artifact.summary);
        }
        if let Some(handoff) = phase.handoffs.written.last() {
            // It moves when its phase ends (C21).
            let path = match phase.is_over() {
                true => paths::archived(&handoff.path),
                false => handoff.path.clone(),
            };
            let _ = writeln!(text, "- the newest handoff: {path}");
        }
        if phase.measurements.facts.changed.is_empty() && kept.is_empty() && phase.handoffs.written.is_empty()
        {
            text.push_str("None yet.\n");
        }
    }

    /// The summary of the run as it stands now.
    pub fn summary(&self) -> String {
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
                phase.objectives.len(),
            );
        }
        text
    }

    /// Document and index from facts alone, without a word of an agent: those are in the facts that lie beside it.
    pub(super) fn plain_handoff(&self, p: PhaseIndex, path: &str) -> (String, String) {
        let phase = &self.phases[p];
        let mut text = format!("# Phase {} Handoff\n\n## Immediate Next Action\n\n", phase.spec.id);
        match phase.open_objectives().next() {
            Some((_, objective)) => {
                let _ = writeln!(
                    text,
                    "Work on {}: {}",
                    objective.spec.id,
                    one_line(&objective.spec.description)
                );
            }
            None if phase.verification.has_failed() => {
                text.push_str("Every objective is done; mend what the verification found.\n");
            }
            None => self.list_dependent_phases(p, &mut text),
        }
        text.push_str("\n## Current State\n\n");
        if let (true, Some(session)) = (self.stopping, &phase.session) {
            let _ = writeln!(text, "- the run was stopped while {session} had the phase");
        }
        for objective in &phase.objectives {
            match objective.done_by {
                Some(basis) => {
                    let _ = writeln!(text, "- [x] {} ({})", objective.spec.id, basis.words());
                }
                None => {
                    let _ = writeln!(text, "- [ ] {}", objective.spec.id);
                }
            }
        }
        if phase.verification.passed == Some(true) {
            text.push_str("- the verification passed\n");
        }
        for file in phase.measurements.facts.changed.iter().take(PLAIN_FILES) {
            let state = if file.exists { "changed" } else { "deleted" };
            let _ = writeln!(text, "- {state}: {}", file.path);
        }
        text.push_str("\n## References\n\n");
        let facts = sibling_name(path, FACTS);
        let _ = writeln!(
            text,
            "- {facts}: every objective, every changed file, and what was recorded (decisions: {}, failed attempts: {}, \
             gotchas: {}, patterns: {}); read it first",
            phase.records.decisions.len(),
            phase.records.attempts.len(),
            phase.records.gotchas.len(),
            phase.records.patterns.len(),
        );
        if let Some(before) = phase.handoffs.newest() {
            let _ = writeln!(text, "- Predecessor: {}", before.path);
        }
        (text, self.summary())
    }

    /// The phases that wait for this one.
    fn list_dependent_phases(&self, p: PhaseIndex, text: &mut String) {
        let id = &self.phases[p].spec.id;
        let mut after = self.phases.iter().filter(|after| after.spec.depends_on.contains(id)).peekable();
        if after.peek().is_none() {
            text.push_str("None in this phase: every objective is done.\n");
        }
        for phase in after {
            let _ = writeln!(text, "Phase {}: {}", phase.spec.id, one_line(&phase.spec.title));
        }
    }
}

/// The newest records, oldest first.
fn newest<T>(records: &VecDeque<T>) -> impl Iterator<Item = &T> {
    records.iter().skip(records.len().saturating_sub(SUMMARY_RECORDS))
}

fn status_word(phase: &Phase) -> &'static str {
    match phase.step {
        PhaseStep::Pending => "pending",
        PhaseStep::Done => "done",
        PhaseStep::Skipped => "skipped",
        PhaseStep::Split => "split",
        PhaseStep::Paused { .. } => "paused",
        _ => "in progress",
    }
}
