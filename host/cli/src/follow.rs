//! Runs a host and shows what it tells: the one loop behind `run`, `resume` and `answer --resume`. Judges nothing.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use baton_runtime::core::view::RunView;
use baton_runtime::{Start, Update};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::args::{Format, ViewArgs};
use crate::exit::Exit;
use crate::out;
use crate::place::Place;
use crate::render::live::Live;
use crate::render::plain::Plain;
use crate::render::{look, record, report};

/// Updates that may wait for a slow terminal; the host merges what is more, so that it never waits for one.
const UPDATES_WAITING: usize = 64;
/// How often the ages in the live table move.
const REDRAW: Duration = Duration::from_secs(1);

/// Runs until the host leaves, then writes the report to standard output.
pub(crate) fn follow(place: &Place, start: Start, args: ViewArgs) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the asynchronous runtime")?;
    let result = runtime.block_on(host_and_view(place, start, args));
    // A thread that still reads from somewhere must not hold the process: the host has ended what it started.
    runtime.shutdown_background();
    let view = result?;
    let document = record::Run { place, view: &view, live: None };
    match args.format.format {
        Format::Text => out::data(&format!(
            "\n{}",
            report::report(&look::stdout(), &report::found(&view, Some(false)), place)
        ))?,
        Format::Json => out::data(&record::pretty(&document)?)?,
        Format::Jsonl => out::data(&record::line(&document)?)?,
    }
    Ok(Exit::of_view(&view))
}

async fn host_and_view(place: &Place, start: Start, args: ViewArgs) -> anyhow::Result<RunView> {
    let (sender, mut updates) = mpsc::channel(UPDATES_WAITING);
    let (stop, stopped) = watch::channel(false);
    let mut interrupt = Interrupt::new(stop)?;
    let host = tokio::spawn(baton_runtime::run(place.config.clone(), start, sender, stopped));
    let mut screen = Screen::new(args);
    let mut redraw = tokio::time::interval(REDRAW);
    loop {
        tokio::select! {
            update = updates.recv() => match update {
                Some(update) => screen.show(&update, place, args.format.format)?,
                None => break,
            },
            _ = redraw.tick() => screen.redraw(),
            () = interrupt.wait() => interrupt.pass_on(&screen),
        }
    }
    screen.leave();
    Ok(host.await.context("the host broke down")??)
}

/// The first interruption asks the host to stop; the second leaves at once.
struct Interrupt {
    keyboard: Signal,
    request: Signal,
    stop: watch::Sender<bool>,
}

impl Interrupt {
    fn new(stop: watch::Sender<bool>) -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listening for signals");
        Ok(Self {
            keyboard: listen(SignalKind::interrupt())?,
            request: listen(SignalKind::terminate())?,
            stop,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.keyboard.recv() => {}
            _ = self.request.recv() => {}
        }
    }

    fn pass_on(&self, screen: &Screen) {
        if self.stop.send_replace(true) {
            screen.leave();
            // The guards see the pipe close and end the agents; the journal is whole after every row.
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        screen.say("stopping: the agents are ended, everything is kept (interrupt again to leave at once)");
    }
}

/// What people see of a run while it goes on.
enum Screen {
    /// Lines only.
    Plain(Plain),
    /// Lines that scroll, and below them a table.
    Live(Box<Live>),
}

impl Screen {
    fn new(args: ViewArgs) -> Self {
        let look = look::stderr();
        let capable = std::io::stderr().is_terminal() && !look.dumb;
        if capable && !args.plain {
            Screen::Live(Box::new(Live::new(look)))
        } else {
            Screen::Plain(Plain::new(look))
        }
    }

    fn show(&mut self, update: &Update, place: &Place, format: Format) -> anyhow::Result<()> {
        if format == Format::Jsonl {
            for notice in &update.notices {
                out::data(&record::line(&record::Told { at: update.at, run: &update.view.run, notice })?)?;
            }
        }
        match self {
            Screen::Plain(plain) => plain.lines(update, place).iter().for_each(|line| out::progress(line)),
            Screen::Live(live) => live.show(update, place),
        }
        Ok(())
    }

    fn redraw(&mut self) {
        if let Screen::Live(live) = self {
            live.redraw();
        }
    }

    fn say(&self, line: &str) {
        match self {
            Screen::Plain(_) => out::progress(line),
            Screen::Live(live) => live.say(line),
        }
    }

    fn leave(&self) {
        if let Screen::Live(live) = self {
            live.leave();
        }
    }
}
