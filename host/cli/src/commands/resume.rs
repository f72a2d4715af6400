//! `baton resume`: continues a run after its host ended.

use baton_runtime::core::RunId;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::{RunStart, view_of};
use clap::Args;

use crate::args::{LocationArgs, ViewArgs};
use crate::exit_status::CliExit;
use crate::host_launch::DetachedHostArgs;
use crate::location::RunLocation;
use crate::render::text_format;
use crate::run_ui::{conclude, follow};
use crate::stdio;
use crate::task::grants::RoleGrantArgs;

/// Resume an interrupted, crashed or answered run
#[derive(Debug, Args)]
#[command(
    alias = "continue",
    after_help = "\
Examples:
  baton resume                    the newest run of this folder
  baton resume 20260212-103000    this one
  baton resume --env MY_TOKEN     its agents get MY_TOKEN from your environment
  baton resume --allow 'make *'   its agents may run these commands as well

Workflow, policies and settings come from the journal; no file is read again."
)]
pub(crate) struct ResumeArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    handed_over: RoleGrantArgs,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    host: DetachedHostArgs,
}

pub(crate) fn resume(args: ResumeArgs) -> anyhow::Result<CliExit> {
    let announcement = args.host.settle()?;
    let run = args.run.map(RunId::new);
    let mut location = RunLocation::for_resuming(&args.location, run.as_ref())?;
    let waiting = view_of(&location.config, run.as_ref()).ok().filter(needs_answer);
    if let Some(view) = waiting.filter(|_| announcement.is_none()) {
        stdio::progress(&unanswered_message(&view));
        return conclude(&location, &view, args.view);
    }
    args.handed_over.give(&mut location.config);
    follow(&location, RunStart::Resume { run }, args.view, announcement)
}

/// Whether nothing of a run can continue before a question is answered.
fn needs_answer(view: &RunView) -> bool {
    view.status == RunStatus::Paused && !view.questions.is_empty()
}

/// "run r waits for an answer to question 41 about build: nothing was resumed. The answers are below; …"
fn unanswered_message(view: &RunView) -> String {
    let questions: Vec<String> = view
        .questions
        .iter()
        .map(|question| match &question.phase {
            Some(phase) => format!("question {} about {phase}", question.id),
            None => format!("question {}", question.id),
        })
        .collect();
    format!(
        "run {} waits for your answer to {}: nothing was resumed. Each answer with its command is below; options like --env and \
         --allow go with `baton answer … --resume`",
        view.run,
        text_format::list(&questions)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn a_run_that_waits_for_an_answer_is_not_called_resumed() {
        let view = test_samples::paused();
        assert!(needs_answer(&view));
        let said = unanswered_message(&view);
        assert!(said.contains("question ") && said.contains("nothing was resumed"), "{said}");
        let mut answered = view;
        answered.questions.clear();
        assert!(!needs_answer(&answered), "it was answered, and goes on");
        assert!(!needs_answer(&test_samples::finished()));
    }
}
