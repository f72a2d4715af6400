//! Progress on a terminal: notices scroll, the table of phases stays below them. Draws on stderr only.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use baton_runtime::RunUpdate;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::core::{DurationMs, SessionId};
use baton_runtime::store::secrets::mask;

use super::plain_renderer::PlainRenderer;
use super::table::{SessionAges, table_within};
use super::terminal_style::{self, TerminalStyle, Tone};
use super::{notice, text_format};
use crate::location::RunLocation;
use crate::stdio;

/// Lines of the terminal that the table leaves free: the one above it, the cursor's, and the latest lines.
const LINES_FREE: usize = 5;
/// However small the terminal is: the header, one phase, and how many more there are.
const LINES_MIN: usize = 3;

/// From this duration on, the table shows how long no agent did anything.
const QUIET_MS: u64 = 3000;

/// The table is drawn at most this often, unless a line scrolls.
const REDRAWN_EVERY: Duration = Duration::from_millis(250);

/// A table below lines that scroll. Lines end as lines do, so that a terminal can wrap them again when its width changes.
pub(crate) struct LiveTable {
    plain: PlainRenderer,
    view: Option<RunView>,
    /// When the view came, since time passes while nothing happens.
    shown_at: Option<Instant>,
    /// When a session last did something, as this terminal saw it.
    last_active: BTreeMap<SessionId, Instant>,
    /// The current table.
    below: String,
    /// How wide the terminal was then.
    width: u16,
    drawn_at: Option<Instant>,
}

impl LiveTable {
    pub(crate) fn new(look: TerminalStyle) -> Self {
        let width = look.width;
        let (plain, last_active) = (PlainRenderer::new(look), BTreeMap::new());
        Self { plain, view: None, shown_at: None, last_active, below: String::new(), width, drawn_at: None }
    }

    pub(crate) fn show(&mut self, update: &RunUpdate, location: &RunLocation) {
        for notice in &update.notices {
            if let ProgressEvent::Activity { session, .. } | ProgressEvent::Turn { session, .. } = notice {
                self.last_active.insert(session.clone(), Instant::now());
            }
        }
        // The table shows the others as they change, so they need no line.
        let scrolling = RunUpdate {
            at: update.at,
            notices: update.notices.iter().filter(|notice| !is_shown_in_table(notice)).cloned().collect(),
            view: update.view.clone(),
            bell: update.bell,
        };
        self.handle_resize(&terminal_style::stderr());
        let lines = self.plain.lines(&scrolling, location);
        self.view = Some(from_workspace(scrolling.view, location));
        self.shown_at = Some(Instant::now());
        if lines.is_empty() {
            let is_early = self.drawn_at.is_some_and(|at| at.elapsed() < REDRAWN_EVERY);
            if !is_early {
                self.redraw();
            }
            return;
        }
        self.redraw_table(self.table(), &lines);
    }

    /// The lines of before are laid out for another width.
    fn handle_resize(&mut self, look: &TerminalStyle) {
        if look.width != self.width {
            self.plain.resize(look.clone());
        }
    }

    pub(crate) fn redraw(&mut self) {
        self.handle_resize(&terminal_style::stderr());
        self.redraw_table(self.table(), &[]);
    }

    /// The table to show now.
    fn table(&self) -> String {
        let Some(view) = &self.view else { return String::new() };
        let age =
            |since: &Instant| DurationMs(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        let ages: SessionAges =
            self.last_active.iter().map(|(session, since)| (session.clone(), age(since))).collect();
        let look = terminal_style::stderr();
        let lines_max = usize::from(look.height).saturating_sub(LINES_FREE).max(LINES_MIN);
        let since = self.shown_at.map_or(DurationMs(0), |at| age(&at));
        let sum = summary(view, since, quiet_for(view, &ages));
        format!("\n{}\n{}", look.paint(Tone::Dim, &sum), table_within(view, &look, &ages, lines_max))
    }

    /// Draws it, with these lines above it, in one write. Writes nothing if nothing has changed.
    fn redraw_table(&mut self, below: String, above: &[String]) {
        let width = terminal_style::stderr().width;
        if above.is_empty() && below == self.below && width == self.width {
            return;
        }
        let lines: String = above.iter().map(|line| shown(line) + "\n").collect();
        stdio::redraw(self.rows(width), &format!("{lines}{}", shown(&below)));
        (self.below, self.width, self.drawn_at) = (below, width, Some(Instant::now()));
    }

    /// Rows of the current table: a terminal that became narrower has broken its lines.
    fn rows(&self, width: u16) -> usize {
        self.below.lines().map(|line| columns(line).div_ceil(usize::from(width)).max(1)).sum()
    }

    /// A line above the table.
    pub(crate) fn say(&self, line: &str) {
        stdio::redraw(
            self.rows(terminal_style::stderr().width),
            &format!("{}\n{}", shown(line), shown(&self.below)),
        );
    }

    /// Removes the table; scrolled lines stay.
    pub(crate) fn leave(&self) {
        stdio::redraw(self.rows(terminal_style::stderr().width), "");
    }
}

/// Without secrets, and without anything that the terminal would obey.
fn shown(text: &str) -> String {
    stdio::cleaned(&mask(text), terminal_style::stderr().colour).into_owned()
}

/// How long ago an agent at work did something, if that is long.
fn quiet_for(view: &RunView, ages: &SessionAges) -> Option<DurationMs> {
    let at_work = view.phases.iter().filter_map(|phase| phase.sessions.last());
    let at_work = at_work.filter(|session| session.ending.is_empty());
    let youngest = at_work.filter_map(|session| ages.get(&session.id)).min_by_key(|age| age.0)?;
    (youngest.0 >= QUIET_MS).then_some(DurationMs(youngest.0 / 1000 * 1000))
}

/// Columns of a line, without its escape sequences.
fn columns(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().chars().count();
    let painted = parts.map(|part| part.split_once('m').map_or(0, |(_, rest)| rest.chars().count()));
    first + painted.sum::<usize>()
}

/// "1m 12s, 5 of 8 objectives, 151k tokens, $1.20, last sign 20s ago".
fn summary(view: &RunView, since: DurationMs, quiet: Option<DurationMs>) -> String {
    let is_running = view.status == RunStatus::Running;
    let elapsed = DurationMs((view.active_ms.0 + if is_running { since.0 } else { 0 }) / 1000 * 1000);
    let (done, objectives) = view.objectives();
    let quiet = quiet.map(|age| format!(", last sign {age} ago")).unwrap_or_default();
    let objectives = text_format::count(objectives, "objective");
    format!("{elapsed}, {done} of {objectives}, {}{quiet}", text_format::billed_of_run(view))
}

/// The last acts of sessions, with the paths of files relative to the workspace.
fn from_workspace(mut view: RunView, location: &RunLocation) -> RunView {
    let workspace = location.config.workspace.to_string_lossy();
    for session in view.phases.iter_mut().flat_map(|phase| &mut phase.sessions) {
        session.last = notice::from_workspace(&session.last, &workspace);
    }
    view
}

/// Turns and the context are in the table as they change. What an agent does is a line as well: it stays when the next follows.
fn is_shown_in_table(notice: &ProgressEvent) -> bool {
    matches!(notice, ProgressEvent::Turn { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn what_an_agent_does_scrolls_above_the_table() {
        let updates = test_samples::updates();
        let notices = updates.iter().flat_map(|update| &update.notices);
        let lines: Vec<&ProgressEvent> = notices.filter(|notice| !is_shown_in_table(notice)).collect();
        assert!(lines.iter().any(|notice| matches!(notice, ProgressEvent::Activity { .. })));
        assert!(lines.iter().any(|notice| matches!(notice, ProgressEvent::Prompted { .. })));
        assert!(is_shown_in_table(&test_samples::turn("s1", 1, 200)));
    }
}
