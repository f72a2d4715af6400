//! How a simulated agent gets on with an objective, and what it says when it is through: what it really did and what it claims
//! are two things.

use baton_core::facts::AgentEvent;
use baton_core::input::AgentReport;
use baton_core::observation::{ObjectiveStatus, PromptKind};
use baton_core::{DurationMs, ObjectiveId};

use super::{SimAgent, SimAgentAction, SimAgentStep, SimContext, agent_messages};
use crate::simulate::sim_rng::SimRng;

/// What really came of an objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkQuality {
    Correct,
    Wrong,
    NotDone,
}

impl SimAgent {
    /// A turn of work on what the prompt asks for.
    pub(super) fn progress(
        &mut self,
        about: &ObjectiveId,
        step: &mut SimAgentStep,
        around: &mut SimContext<'_>,
    ) {
        let Some(job) = &mut self.job else { return };
        if job.left > 0.0 {
            job.left -= 1.0;
            if job.left <= 0.0 {
                self.is_through(step, around);
            }
            return;
        }
        let needed = around.needed(about);
        let mut is_through = true;
        around.workspace_model.work(&self.spec.tree, about, |piece| {
            piece.turns += 1.0;
            // What is half done lies there already.
            if piece.version == 0 && piece.turns * 2.0 >= needed {
                piece.version = 1;
            }
            is_through = piece.turns >= needed;
        });
        if is_through {
            self.finish_objective(about, needed, step, around);
        }
    }

    /// One objective is through, in the eyes of the agent.
    fn finish_objective(
        &mut self,
        about: &ObjectiveId,
        needed: f64,
        step: &mut SimAgentStep,
        around: &mut SimContext<'_>,
    ) {
        let piece = around.workspace_model.piece(&self.spec.tree, about);
        let mut rng = SimRng::of(around.seed, "quality", &format!("{about}/{}", piece.version));
        let came = match piece.finished {
            Some(true) => WorkQuality::Correct,
            _ => self.quality(rng.uniform(), around),
        };
        let (honest, reports) =
            (rng.chance(around.model.quality.truth), rng.chance(around.model.quality.reports));
        let mend = around.model.work.mend;
        around.workspace_model.work(&self.spec.tree, about, |piece| match came {
            WorkQuality::NotDone => piece.turns = needed * (1.0 - mend),
            _ => {
                piece.version += 1;
                piece.finished = Some(came == WorkQuality::Correct);
            }
        });
        if came != WorkQuality::NotDone {
            for path in around.workspace_model.files(about) {
                self.calls += 1;
                let id = format!("call-{}", self.calls);
                step.push_event(AgentEvent::ToolCall {
                    id: id.clone(),
                    name: "Write".to_owned(),
                    reads: None,
                    writes: Some(path),
                    command: None,
                });
                step.push_event(AgentEvent::ToolOutput {
                    id,
                    bytes: 40,
                    text: "The file was written.".to_owned(),
                    failed: Some(false),
                });
            }
        }
        let admits = came == WorkQuality::NotDone && honest;
        if reports {
            let (status, note) = match admits {
                true => (
                    ObjectiveStatus::Failed,
                    "I did not get this to work; what is missing is in the code.".to_owned(),
                ),
                false => (ObjectiveStatus::Done, String::new()),
            };
            step.after(
                DurationMs(0),
                SimAgentAction::Report(AgentReport::ObjectiveUpdate {
                    objective: about.clone(),
                    status,
                    note,
                }),
            );
        }
        let Some(job) = &mut self.job else { return };
        job.answer.push_str(&agent_messages::on_objective(about, admits));
        if admits {
            job.admitted.push(about.clone());
        }
        job.at += 1;
        job.filled = (0.0, 0);
        if job.at >= job.focus.len() {
            self.is_through(step, around);
        }
    }

    /// What comes of the work, by how full the window was while it was done.
    fn quality(&self, drawn: f64, around: &SimContext<'_>) -> WorkQuality {
        let quality = &around.model.quality;
        let (filled, turns) = self.job.as_ref().map_or((0.0, 0), |job| job.filled);
        let occupancy = if turns > 0 { filled / f64::from(turns) } else { self.used / self.window };
        let beyond = ((occupancy - quality.knee) / (1.0 - quality.knee)).clamp(0.0, 1.0);
        let at = |below: f64, full: f64| below + (full - below) * beyond;
        let not_done = at(quality.skipped, quality.skipped_full);
        let forgotten = around.model.compaction.wrong * f64::from(self.compactions);
        match drawn {
            drawn if drawn < not_done => WorkQuality::NotDone,
            drawn if drawn < not_done + at(quality.wrong, quality.wrong_full) + forgotten => {
                WorkQuality::Wrong
            }
            _ => WorkQuality::Correct,
        }
    }

    /// Nothing of the prompt is left.
    fn is_through(&mut self, step: &mut SimAgentStep, around: &mut SimContext<'_>) {
        let Some(mut job) = self.job.take() else { return };
        let mut answer = std::mem::take(&mut job.answer);
        let name = format!("{}/{}", self.spec.session, self.prompts);
        match job.kind {
            PromptKind::Reviewing => {
                let report = self.review(&name, around);
                step.after(DurationMs(0), SimAgentAction::Report(report));
                answer.push_str("I have read what changed and submitted a score with my findings. ");
            }
            PromptKind::Merging => {
                if SimRng::of(around.seed, "resolves", &name).chance(around.model.merge.resolved) {
                    around.workspace_model.resolve(&self.spec.tree);
                }
                answer.push_str("The conflicts are resolved so that both sides keep what they wanted. ");
            }
            _ => {}
        }
        let line = match job.kind {
            PromptKind::Reviewing => String::new(),
            _ => agent_messages::last_line(&job.focus, &job.admitted),
        };
        // Who is asked whether all of it is done answers with the line alone.
        let text = match job.kind {
            PromptKind::Nudged if job.admitted.is_empty() => line.trim_start().to_owned(),
            _ => agent_messages::answer(&answer) + &line,
        };
        step.push_event(AgentEvent::Text { text });
        step.push_event(agent_messages::prompt_ended("end_turn", false));
    }

    /// A score by what is really right, as far as a reviewer sees it.
    fn review(&self, name: &str, around: &mut SimContext<'_>) -> AgentReport {
        let finished =
            |objective: &ObjectiveId| around.workspace_model.piece(&self.spec.tree, objective).finished;
        let there = around.asked.iter().filter(|objective| finished(objective).is_some()).count();
        let wrong: Vec<_> =
            around.asked.iter().filter(|objective| finished(objective) == Some(false)).cloned().collect();
        let share = if there == 0 { 1.0 } else { (there - wrong.len()) as f64 / there as f64 };
        let noise = around.model.verification.review_noise * SimRng::of(around.seed, "review", name).normal();
        let score = (share * 90.0 + 5.0 + noise).clamp(0.0, 100.0) as u32;
        let findings =
            wrong.iter().map(|objective| format!("{objective} does not do what it asks for")).collect();
        if !wrong.is_empty() {
            around.found.insert(self.spec.tree.clone(), wrong);
        }
        AgentReport::ReviewSubmit { score, summary: "Read against the objectives.".to_owned(), findings }
    }
}
