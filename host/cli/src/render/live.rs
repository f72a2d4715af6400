//! Progress on a terminal: notices scroll, the table of phases stays below them. Draws on stderr only.

use std::collections::BTreeMap;
use std::time::Instant;

use baton_runtime::Update;
use baton_runtime::core::notice::Notice;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::core::{DurationMs, SessionId};
use baton_runtime::store::secrets::mask;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::look::{self, Look, Tone};
use super::plain::Plain;
use super::table::{Ages, table_within};
use super::{notice, words};
use crate::out;
use crate::place::Place;

/// Lines of the terminal that the table leaves free: the one above it, the cursor's, and what just happened.
const LINES_FREE: usize = 5;
/// However small the terminal is: the header, one phase, and how many more there are.
const LINES_MIN: usize = 3;

/// A table below lines that scroll.
pub(crate) struct Live {
    plain: Plain,
    screen: MultiProgress,
    below: ProgressBar,
    view: Option<RunView>,
    /// When the view came, since time goes on while nothing happens.
    shown_at: Option<Instant>,
    /// When a session last did something, as this terminal saw it.
    active: BTreeMap<SessionId, Instant>,
}

impl Live {
    pub(crate) fn new(look: Look) -> Self {
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let below = screen.add(ProgressBar::new_spinner());
        // The message may have many lines; a style that says so has no variable part that could fail.
        below.set_style(
            ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Self { plain: Plain::new(look), screen, below, view: None, shown_at: None, active: BTreeMap::new() }
    }

    pub(crate) fn show(&mut self, update: &Update, place: &Place) {
        for notice in &update.notices {
            if let Notice::Activity { session, .. } | Notice::Turn { session, .. } = notice {
                self.active.insert(session.clone(), Instant::now());
            }
        }
        // The table shows these as they change, so they need no line.
        let scrolling = Update {
            at: update.at,
            notices: update.notices.iter().filter(|notice| !in_the_table(notice)).cloned().collect(),
            view: update.view.clone(),
            bell: update.bell,
        };
        for line in self.plain.lines(&scrolling, place) {
            self.say(&line);
        }
        self.view = Some(from_workspace(scrolling.view, place));
        self.shown_at = Some(Instant::now());
        self.redraw();
    }

    pub(crate) fn redraw(&mut self) {
        if let Some(view) = &self.view {
            let age =
                |since: &Instant| DurationMs(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
            let ages: Ages =
                self.active.iter().map(|(session, since)| (session.clone(), age(since))).collect();
            // Looked up anew, since a terminal may have been made larger or smaller.
            let look = look::stderr();
            let lines_max = usize::from(look.height).saturating_sub(LINES_FREE).max(LINES_MIN);
            let since = self.shown_at.map_or(DurationMs(0), |at| age(&at));
            let sum = summary(view, since);
            let table =
                format!("\n{}\n{}", look.paint(Tone::Dim, &sum), table_within(view, &look, &ages, lines_max));
            self.below.set_message(self.shown(&table));
            self.below.tick();
        }
    }

    /// A line above the table.
    pub(crate) fn say(&self, line: &str) {
        // Where the terminal is gone there is nobody to tell.
        let _ = self.screen.println(self.shown(line));
    }

    /// Without secrets, and without anything that the terminal would obey.
    fn shown(&self, text: &str) -> String {
        out::cleaned(&mask(text), look::stderr().colour).into_owned()
    }

    /// Takes the table away; what scrolled stays.
    pub(crate) fn leave(&self) {
        self.below.finish_and_clear();
        let _ = self.screen.clear();
    }
}

/// "1m 12s, 5 of 8 objectives, 151k tokens, $1.20".
fn summary(view: &RunView, since: DurationMs) -> String {
    let is_running = view.status == RunStatus::Running;
    let elapsed = DurationMs((view.active_ms.0 + if is_running { since.0 } else { 0 }) / 1000 * 1000);
    let (done, objectives) = view.objectives();
    format!("{elapsed}, {done} of {}, {}", words::count(objectives, "objective"), words::billed(&view.billed))
}

/// What sessions did last, with the paths of files as they are from the workspace.
fn from_workspace(mut view: RunView, place: &Place) -> RunView {
    let workspace = place.config.workspace.to_string_lossy();
    for session in view.phases.iter_mut().flat_map(|phase| &mut phase.sessions) {
        session.last = notice::from_workspace(&session.last, &workspace);
    }
    view
}

fn in_the_table(notice: &Notice) -> bool {
    matches!(notice, Notice::Turn { .. } | Notice::Activity { .. } | Notice::Prompted { .. })
}
