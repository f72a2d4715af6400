//! Runs a host, or follows another one, and shows its progress: the one loop behind `run`, `resume`,
//! `answer --resume` and `attach`. Judges nothing.

use std::time::Duration;

use anyhow::Context as _;
use baton_runtime::core::RunId;
use baton_runtime::core::view::RunView;
use baton_runtime::engine::{is_compiling, stop_compiling};
use baton_runtime::store::secrets::mask;
use baton_runtime::{AttachResult, END_GRACE, RunStart, attach, run_folder, workflow_of};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

use crate::args::{OutputFormat, ViewArgs};
use crate::commands::sandbox::clear_ended_try;
use crate::ending_signals::EndingSignals;
use crate::exit_status::CliExit;
use crate::host_launch::ReadyNotifier;
use crate::location::RunLocation;
use crate::progress_view::RunProgressView;
use crate::render::{json_record, report, terminal_style};
use crate::report_context::collect_report_context;
use crate::stdio;
use crate::task::plan_boxes::PlanBoxes;

/// Updates that may wait for a slow terminal; the host merges what is more, so that it never waits for one.
const UPDATE_QUEUE_SIZE: usize = 64;
/// Silence at the start after which it is said what is being prepared.
pub(crate) const PREPARE_NOTICE_DELAY: Duration = Duration::from_millis(1200);
/// How often the ages in the live table move.
const REDRAW: Duration = Duration::from_secs(1);
/// The file of a run that says which boxes of its plan are ticked.
const TICKED: &str = "ticked";

/// Runs until the host leaves, then writes the report to standard output. A host that was launched to work by itself
/// says so to its launcher, once the run is in the journal.
pub(crate) fn follow(
    location: &RunLocation,
    start: RunStart,
    args: ViewArgs,
    announcement: Option<ReadyNotifier>,
) -> anyhow::Result<CliExit> {
    let is_launched = announcement.is_some();
    clear_ended_try(&location.config)?;
    let runtime = multi_threaded()?;
    let result = runtime.block_on(host_and_view(location, start, args, announcement));
    // A thread that still reads from somewhere must not hold the process: the host has ended what it started.
    runtime.shutdown_background();
    let view = result?;
    if is_launched {
        let text = report::report(
            &terminal_style::stdout(),
            &report::found(&view, Some(false)),
            location,
            &collect_report_context(location, &view),
        );
        stdio::data(&format!("\n{}", mask(&text)))?;
        return Ok(CliExit::of_view(&view));
    }
    conclude(location, &view, args)
}

/// The boxes of the plan that a run was made from, as far as they were ticked already.
fn boxes_of(location: &RunLocation, run: &RunId) -> Option<PlanBoxes> {
    let boxes = PlanBoxes::of(workflow_of(&location.config, run).ok().flatten()?)?;
    Some(boxes.with_state_file(run_folder(&location.config, run).map(|folder| folder.join(TICKED))))
}

/// Follows the run until it ends, its host is gone, or the user leaves; the run continues in any case.
pub(crate) fn watch_run(
    location: &RunLocation,
    run: Option<RunId>,
    args: ViewArgs,
) -> anyhow::Result<CliExit> {
    let runtime = multi_threaded()?;
    let result = runtime.block_on(attached_view(location, run, args));
    runtime.shutdown_background();
    let AttachResult { view, live } = result?;
    if !live {
        return conclude(location, &view, args);
    }
    let (run, flags) = (&view.run, &location.flags);
    stdio::progress(&format!("left run {run}, which continues: `baton attach {run}{flags}` shows it again"));
    if args.format.format != OutputFormat::Text {
        write_document(location, &view, Some(true), args.format.format)?;
    }
    Ok(CliExit::Done)
}

fn multi_threaded() -> anyhow::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the asynchronous runtime")
}

/// The report of a run that no host works on now, and the exit code of its state.
pub(crate) fn conclude(location: &RunLocation, view: &RunView, args: ViewArgs) -> anyhow::Result<CliExit> {
    let found = report::found(view, Some(false));
    match args.format.format {
        OutputFormat::Text => stdio::data(&format!(
            "\n{}",
            report::report(
                &terminal_style::stdout(),
                &found,
                location,
                &collect_report_context(location, view)
            )
        ))?,
        format => write_document(location, view, None, format)?,
    }
    Ok(CliExit::of_view(&found))
}

fn write_document(
    location: &RunLocation,
    view: &RunView,
    live: Option<bool>,
    format: OutputFormat,
) -> anyhow::Result<()> {
    let document = json_record::RunDocument { location, view, live };
    match format {
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?),
        _ => stdio::data(&json_record::pretty(&document)?),
    }
}

async fn host_and_view(
    location: &RunLocation,
    start: RunStart,
    args: ViewArgs,
    mut announcement: Option<ReadyNotifier>,
) -> anyhow::Result<RunView> {
    let (sender, mut updates) = mpsc::channel(UPDATE_QUEUE_SIZE);
    let (stop, stopped) = watch::channel(false);
    let mut interrupt = InterruptSignals::new(stop)?;
    let host = tokio::spawn(baton_runtime::run(location.config.clone(), start, sender, stopped));
    let is_host_of_its_own = announcement.is_some();
    let mut screen = RunProgressView::new(args, is_host_of_its_own);
    let mut redraw = tokio::time::interval(REDRAW);
    let mut has_begun = false;
    let mut prepares = tokio::time::interval_at(
        tokio::time::Instant::now() + PREPARE_NOTICE_DELAY,
        PREPARE_NOTICE_DELAY / 4,
    );
    let mut is_silent = !is_host_of_its_own;
    // Nothing where the run is made from no plan; unknown before the run is.
    let mut boxes: Option<Option<PlanBoxes>> = None;
    loop {
        tokio::select! {
            update = updates.recv() => match update {
                Some(update) => {
                    has_begun = true;
                    is_silent = false;
                    // The first one comes after the first commit, when the control socket answers already.
                    if let Some(announcement) = announcement.take() {
                        announcement.make(location, &update.view.run)?;
                    }
                    screen.show(&update, location)?;
                    let boxes = boxes.get_or_insert_with(|| {
                        boxes_of(location, &update.view.run)
                    });
                    for line in boxes.iter_mut().flat_map(|boxes| boxes.sync_with_view(&update.view)) {
                        screen.say(&line);
                    }
                }
                None => break,
            },
            // What comes from the cache needs no word.
            _ = prepares.tick(), if is_silent => if is_compiling() {
                is_silent = false;
                screen.say("preparing: the policies are compiled, which takes some seconds the first time");
            },
            _ = redraw.tick() => screen.redraw(),
            () = interrupt.signals.next() => interrupt.pass_on(&screen, has_begun),
        }
    }
    screen.leave();
    stop_compiling();
    let view = host.await.context("the host crashed")??;
    if let Some(Some(boxes)) = &mut boxes {
        boxes.sync_with_view(&view).iter().for_each(|line| stdio::progress(line));
    }
    Ok(view)
}

async fn attached_view(
    location: &RunLocation,
    run: Option<RunId>,
    args: ViewArgs,
) -> anyhow::Result<AttachResult> {
    let (sender, mut updates) = mpsc::channel(UPDATE_QUEUE_SIZE);
    let (leave, left) = watch::channel(false);
    let mut interrupt = InterruptSignals::new(leave)?;
    let watcher = tokio::spawn(attach(location.config.clone(), run, sender, left));
    let mut screen = RunProgressView::new(args, false);
    let mut redraw = tokio::time::interval(REDRAW);
    loop {
        tokio::select! {
            update = updates.recv() => match update {
                Some(update) => screen.show(&update, location)?,
                None => break,
            },
            _ = redraw.tick() => screen.redraw(),
            () = interrupt.signals.next() => drop(interrupt.stop.send_replace(true)),
        }
    }
    screen.leave();
    Ok(watcher.await.context("the display crashed")??)
}

/// The first interruption asks to stop; a second one of a host leaves at once.
struct InterruptSignals {
    signals: EndingSignals,
    stop: watch::Sender<bool>,
}

impl InterruptSignals {
    fn new(stop: watch::Sender<bool>) -> anyhow::Result<Self> {
        Ok(Self { signals: EndingSignals::listen()?, stop })
    }

    /// Before the first commit nothing waits to be ended in order: policies may still be compiled.
    fn pass_on(&self, screen: &RunProgressView, has_begun: bool) {
        if self.stop.send_replace(true) || !has_begun {
            screen.leave();
            // The guards see the pipe close and end the agents; the journal is whole after every row.
            std::process::exit(i32::from(CliExit::Interrupted.code()));
        }
        stop_compiling();
        let seconds = END_GRACE.as_secs();
        screen.say(&format!(
            "stopping: the agents get up to {seconds}s to finish, and everything is kept (interrupt again to leave at once)"
        ));
    }
}
