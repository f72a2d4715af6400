//! `baton resume`: takes a run up where its host left it.

use baton_runtime::Start;
use baton_runtime::core::RunId;
use clap::Args;

use crate::args::{PlaceArgs, ViewArgs};
use crate::exit::Exit;
use crate::follow::follow;
use crate::launch::HostArgs;
use crate::place::Place;
use crate::task::grants::HandedOver;

/// Take up a run that was interrupted, that crashed, or that a person has answered
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
    handed_over: HandedOver,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    host: HostArgs,
}

pub(crate) fn resume(args: ResumeArgs) -> anyhow::Result<Exit> {
    let announcement = args.host.settle()?;
    let run = args.run.map(RunId::new);
    let mut place = Place::to_resume(&args.place, run.as_ref())?;
    args.handed_over.give(&mut place.config);
    follow(&place, Start::Resume { run }, args.view, announcement)
}
