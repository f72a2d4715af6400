//! The commands, one file each: arguments, what it does, its help. Rendering is `render`'s.

pub(crate) mod agent_processes;
pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod artifacts;
pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod classify;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod do_;
pub(crate) mod experiment;
pub(crate) mod gc;
pub(crate) mod handoff;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod policy;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod sandbox;
pub(crate) mod save;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod undo;

use std::collections::BTreeMap;

use baton_runtime::core::RunId;
use baton_runtime::core::view::{PhaseOrigin, PhaseSummary, RunStatus, RunView};
use baton_runtime::{
    ControlMessage, ControlReply, RunRow, RuntimeError, control, diff as compare, runs as rows_of, view_of,
    workflow_of,
};

use crate::args::Command;
use crate::exit::{Exit, Usage};
use crate::out;
use crate::place::{Place, shell_quoted};
use crate::render::report::{Aside, PlanAside};
use crate::task::boxes::Boxes;

/// Does what was asked for.
pub(crate) fn dispatch(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Do(args) => do_::run(args),
        Command::Run(args) => run::run(args),
        Command::Save(args) => save::save(args),
        Command::Init(args) => init::init(args),
        Command::Resume(args) => resume::resume(args),
        Command::Attach(args) => attach::attach(args),
        Command::Diff(args) => diff::diff(args),
        Command::Log(args) => log::log(args),
        Command::Runs(args) => runs::runs(args),
        Command::Stop(args) => stop::stop(args),
        Command::Undo(args) => undo::undo(args),
        Command::Answer(args) => answer::answer(args),
        Command::Status(args) => status::status(args),
        Command::Report(args) => report::report(args),
        Command::Replay(args) => replay::run(args),
        Command::Artifacts(command) => artifacts::artifacts(command),
        Command::Gc(args) => gc::gc(args),
        Command::Import(args) => import::import(args),
        Command::Simulate(args) => simulate::simulate(args),
        Command::Experiment(command) => experiment::experiment(command),
        Command::Stats(command) => stats::stats(command),
        Command::Policy(command) => policy::policy(command),
        Command::Agents(args) => agents::agents(args),
        Command::Classify(args) => classify::run(args),
        Command::Handoff(command) => handoff::handoff(command),
        Command::Mcp(args) => mcp::mcp(args),
        Command::Check(args) => check::check(args),
        Command::Sandbox(command) => sandbox::sandbox(command),
        Command::Schema(args) => schema::schema(args),
        Command::Completions(args) => completions::completions(args),
        Command::Man(args) => man::man(args),
        Command::Help(args) => help::help(args),
    }
}

/// Waits for something short.
fn block_on<T>(what: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(what))
}

/// Sends one message to the host of a workspace, or to its journal where there is none.
fn ask_host(place: &Place, message: ControlMessage) -> anyhow::Result<ControlReply> {
    match block_on(control(&place.config, message))?? {
        ControlReply::Refused { why } => Err(RuntimeError::Refused(why).into()),
        reply => Ok(reply),
    }
}

/// The run that the host of a workspace works on, or its newest one, and whether a host works on it.
fn current(place: &Place) -> anyhow::Result<(RunView, bool)> {
    match ask_host(place, ControlMessage::Status)? {
        ControlReply::View { view, live } => Ok((*view, live)),
        ControlReply::Silent { view, why } => {
            out::progress(&format!("baton: {why}. This is what its journal says"));
            Ok((*view, true))
        }
        _ => anyhow::bail!("the host answered another question than it was asked"),
    }
}

/// Whether a host works on this run; nothing where that cannot be told.
fn is_live(place: &Place, run: &RunId) -> Option<bool> {
    current(place).ok().map(|(view, live)| live && view.run == *run)
}

/// The run that a person named, or else the current one, and whether a host works on it.
fn named_or_current(place: &Place, run: Option<&RunId>) -> anyhow::Result<(RunView, bool)> {
    let (view, live) = current(place)?;
    match run {
        Some(run) if *run != view.run => Ok((view_of(&place.config, Some(run))?, false)),
        _ => Ok((view, live)),
    }
}

/// Runs of a folder that wait for an answer, but for this one; the newest first.
fn others_waiting(place: &Place, but: &RunId) -> Vec<RunId> {
    let waits = |row: &RunRow| row.status == RunStatus::Paused && !row.set_aside && row.run != *but;
    let mut rows: Vec<RunRow> =
        rows_of(&place.config).unwrap_or_default().into_iter().filter(waits).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.started_at));
    rows.into_iter().map(|row| row.run).collect()
}

/// What [`current`] says, held against the run that a person named: the host answers for one run only.
fn current_is(place: &Place, run: Option<&RunId>) -> anyhow::Result<(RunView, bool)> {
    let (view, live) = current(place)?;
    match run {
        Some(run) if *run != view.run => {
            let workspace = place.config.workspace.display();
            let why = format!("run {run} is not the current one of {workspace}; that is {}", view.run);
            Err(Usage(why).into())
        }
        _ => Ok((view, live)),
    }
}

/// The run that is meant: the one that was named as such, or else the one that the first word names, which is then no phase and no session.
pub(crate) fn meant(place: &Place, run: Option<RunId>, word: &mut Option<String>) -> Option<RunId> {
    let is_run = |word: &String| view_of(&place.config, Some(&RunId::new(word.as_str()))).is_ok();
    match run {
        None if word.as_ref().is_some_and(is_run) => word.take().map(RunId::new),
        run => run,
    }
}

/// Phases whose changes a report tells: each is a comparison by git.
const PHASES_COMPARED: usize = 20;

/// A report waits this long for what was changed, and is without it otherwise: a host that is to stop ends with one.
const COMPARED_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// What a report tells beside the view. What cannot be looked up is left out.
pub(crate) fn aside_of(place: &Place, view: &RunView) -> Aside {
    let workflow = workflow_of(&place.config, &view.run).ok().flatten();
    let has_cost_ceiling = workflow.as_ref().is_some_and(|workflow| {
        let of_phases = workflow.phases.iter().any(|phase| phase.cost_microusd.is_some());
        of_phases || workflow.limits.cost_microusd.is_some()
    });
    let boxes = workflow.and_then(Boxes::of);
    let plan = boxes.and_then(|boxes| {
        let path = boxes.path();
        let name = path.strip_prefix(&place.config.workspace).unwrap_or(path);
        let name = name.to_string_lossy().into_owned();
        let command = format!("baton run {}{}", shell_quoted(&path.to_string_lossy()), place.flags);
        Some(PlanAside { name, command, standing: boxes.standing(view)? })
    });
    let until = tokio::time::Instant::now() + COMPARED_WITHIN;
    let changed = |phase| {
        let found = block_on(async {
            let found = compare(&place.config, Some(&view.run), phase, &[], false);
            tokio::time::timeout_at(until, found).await
        });
        let found = found.ok().and_then(Result::ok).and_then(Result::ok);
        found.filter(|found| view.imported.is_none() && !found.is_empty()).as_ref().map(diff::sum)
    };
    let begun = |phase: &&PhaseSummary| phase.origin == PhaseOrigin::Workflow && !phase.sessions.is_empty();
    let phases: Vec<&PhaseSummary> = view.phases.iter().filter(begun).collect();
    let changed_by = match phases.len() {
        2..=PHASES_COMPARED => {
            phases.iter().filter_map(|phase| Some((phase.id.clone(), changed(Some(&phase.id))?))).collect()
        }
        _ => BTreeMap::new(),
    };
    Aside {
        plan,
        changed: changed(None),
        changed_by,
        is_undone: undo::is_undone(place, &view.run),
        has_cost_ceiling,
        is_stopping: false,
    }
}
