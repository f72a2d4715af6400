//! `baton answer`: the user's answer to a question of a paused run.

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::view::{QuestionSummary, RunStatus};
use baton_runtime::core::{ActionId, RunId};
use baton_runtime::{ControlMessage, ControlReply, RunStart};
use clap::Args;
use serde_json::json;

use crate::args::{LocationArgs, PauseAnswerArg, ViewArgs};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{ask_host, named_or_current, others_waiting};
use crate::location::RunLocation;
use crate::render::json_record;
use crate::run_ui::{conclude, follow};
use crate::stdio;
use crate::task::grants::RoleGrantArgs;

/// Answer a question of a run that waits for a person
#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Examples:
  baton answer retry --resume            answers the only question, and resumes
  baton answer 20260212-103000 skip      answers for this run; `baton resume` continues it later
  baton answer retry --message 'CSV, with a header line' --resume
                                         tells the agent that continues what it asked
  baton answer retry --allow 'make lint' --resume
                                         its agents may run `make lint` as well
  baton answer raise --question 41       if several questions are open

`baton status` shows the open questions and the answers that each takes."
)]
pub(crate) struct AnswerArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// The answer
    #[arg(value_enum, value_name = "CHOICE")]
    choice: PauseAnswerArg,
    /// A message to the agent that continues; with `retry`
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Which question, if several are open
    #[arg(long, value_name = "N")]
    question: Option<u64>,
    /// Resume the run at once, if no host is running it
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    handed_over: RoleGrantArgs,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn answer(args: AnswerArgs) -> anyhow::Result<CliExit> {
    let gives = !args.handed_over.is_empty();
    if !args.resume && gives {
        let why = "--env, --allow, --permission and --model are for the agents that --resume starts; nothing was answered";
        return Err(UsageError(why.into()).into());
    }
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_writing(&args.location, run.as_ref())?;
    let (view, is_at_work) = named_or_current(&location, run.as_ref())?;
    if run.is_none() && view.questions.is_empty() {
        let others = others_waiting(&location, &view.run);
        if !others.is_empty() {
            let others: Vec<&str> = others.iter().map(RunId::as_str).collect();
            let why = format!(
                "run {} asks nothing; name the one that you answer: {} waits for an answer",
                view.run,
                others.join(", or ")
            );
            return Err(UsageError(why).into());
        }
    }
    if is_at_work && gives {
        return Err(UsageError(format!(
            "Baton is running, and its agents keep their permissions: `baton stop{0}` first, then `baton answer … \
             --resume{0}` grants more; nothing was answered",
            location.flags
        ))
        .into());
    }
    if args.message.is_some() && !matches!(args.choice, PauseAnswerArg::Retry) {
        anyhow::bail!("--message is for the agent that continues, so it needs `retry`; nothing was answered");
    }
    let answer = ControlMessage::Answer {
        run: Some(view.run.clone()),
        question: args.question.map(ActionId),
        choice: args.choice.into(),
        message: args.message,
    };
    let (now, live) = match ask_host(&location, answer)? {
        ControlReply::View { view, live } => (*view, live),
        _ => anyhow::bail!("unexpected reply from the host"),
    };
    if !live && let RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished) = now.status {
        // The answer ended the run: nothing is left to continue.
        let became = conclude(&location, &now, args.view)?;
        return Ok(if args.resume { became } else { CliExit::Done });
    }
    let is_new = |asked: &QuestionSummary| view.questions.iter().all(|before| before.id != asked.id);
    if !live && !args.resume && now.questions.iter().any(is_new) {
        // Instead of the end of the run: the finished work is gone.
        stdio::progress(&format!("answered run {}; it asks something else, see below", view.run));
        conclude(&location, &now, args.view)?;
        return Ok(CliExit::Done);
    }
    if args.resume && !live {
        let mut location = location;
        args.handed_over.give(&mut location.config);
        return follow(&location, RunStart::Resume { run: Some(view.run) }, args.view, None);
    }
    let next = (!live).then(|| format!("baton resume {}{}", view.run, location.flags));
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "answer",
        "run": view.run,
        "choice": PauseAnswer::from(args.choice),
        "live": live,
        "next": next,
    });
    if !json_record::write(args.view.format.format, &document)? {
        let goes_on = next.map_or("its host continues".to_owned(), |next| format!("`{next}` continues"));
        stdio::progress(&format!("answered run {}; {goes_on}", view.run));
    }
    Ok(CliExit::Done)
}
