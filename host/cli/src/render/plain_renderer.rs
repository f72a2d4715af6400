//! Progress as lines that stay readable in scrollback, in a log and without colour. Moves no cursor.

use std::collections::BTreeMap;

use baton_runtime::RunUpdate;
use baton_runtime::core::observation::PromptKind;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{PhaseOrigin, RunView, SessionSummary};
use baton_runtime::core::{SessionId, UnixMs};

use super::notice::{NoticeText, say};
use super::terminal_style::{TerminalStyle, Tone};
use super::text_format;
use crate::location::RunLocation;

/// Widest column of phase ids; a longer id pushes its line to the right.
const PHASE_WIDTH_MAX: usize = 16;
/// Width of the columns of sessions and words: "s12" and "exhausted" fit.
const SESSION_WIDTH: usize = 4;
const WORD_WIDTH: usize = 9;
/// A new line about the context comes with every tenth of the window, not with every turn.
const CONTEXT_STEP_PERCENT: u64 = 10;
/// A terminal that is narrower has no columns: a line continues below its beginning.
const COLUMNS_FROM: u16 = 78;
/// Where a line continues there.
const NARROW_INDENT: usize = 2;

/// Renders a run in lines. Remembers only the lines that were shown.
pub(crate) struct PlainRenderer {
    look: TerminalStyle,
    header_printed: bool,
    phase_width: usize,
    /// The last shown tenth of the window, by session.
    told: BTreeMap<SessionId, Option<u64>>,
    /// What is shown of a context only if the size of its window stays unknown, by session.
    held: BTreeMap<SessionId, ProgressEvent>,
}

impl PlainRenderer {
    pub(crate) fn new(look: TerminalStyle) -> Self {
        Self { look, header_printed: false, phase_width: 0, told: BTreeMap::new(), held: BTreeMap::new() }
    }

    /// The terminal has another size by now.
    pub(crate) fn resize(&mut self, look: TerminalStyle) {
        self.look = look;
    }

    /// The lines for an update, the first one with an introduction.
    pub(crate) fn lines(&mut self, update: &RunUpdate, location: &RunLocation) -> Vec<String> {
        let longest =
            update.view.phases.iter().map(|phase| phase.id.as_str().len()).max().unwrap_or_default();
        // One more, since a split adds a letter.
        self.phase_width = self.phase_width.max((longest + 1).min(PHASE_WIDTH_MAX));
        let mut lines =
            if self.header_printed { Vec::new() } else { self.introduction(&update.view, location) };
        for notice in &update.notices {
            let before = self.release_held(notice);
            let news = self.is_worth_a_line(notice).then(|| as_first_prompt(notice, &update.view));
            for notice in before.iter().chain(&news) {
                let said = say(notice, update.view.run.as_str(), location, &self.look);
                lines.extend(self.lay_out(update.at, &said));
            }
        }
        lines
    }

    /// What was held back of a session in the hope that the size of its window would be told, where its prompt has ended.
    fn release_held(&mut self, notice: &ProgressEvent) -> Option<ProgressEvent> {
        match notice {
            ProgressEvent::Said { session, .. } | ProgressEvent::Stopped { session, .. } => {
                let held = self.held.remove(session)?;
                self.told.insert(session.clone(), None);
                Some(held)
            }
            _ => None,
        }
    }

    fn introduction(&mut self, view: &RunView, location: &RunLocation) -> Vec<String> {
        self.header_printed = true;
        let phases = view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Workflow).count();
        let name = self.look.paint(Tone::Strong, &view.workflow);
        let goal = self.look.wrap(&format!("{}: {}", view.workflow, view.goal), NARROW_INDENT);
        vec![
            goal.replacen(&view.workflow, &name, 1),
            format!(
                "run {}, {}, {}",
                view.run,
                text_format::count(u32::try_from(phases).unwrap_or(u32::MAX), "phase"),
                text_format::count(view.objectives().1, "objective")
            ),
            format!("workspace {}", location.config.workspace.display()),
            String::new(),
        ]
    }

    /// Whether a notice is worth a line of its own.
    fn is_worth_a_line(&mut self, notice: &ProgressEvent) -> bool {
        let ProgressEvent::Turn { session, occupancy, .. } = notice else { return true };
        if occupancy.used_tokens.is_some() && occupancy.window_tokens.is_none() {
            if !self.told.contains_key(session) {
                self.held.insert(session.clone(), notice.clone());
            }
            return false;
        }
        self.held.remove(session);
        let step = match (occupancy.used_tokens, occupancy.window_tokens) {
            (Some(used), Some(window)) => Some(text_format::percent(used, window) / CONTEXT_STEP_PERCENT),
            _ => None,
        };
        self.told.insert(session.clone(), step) != Some(step)
    }

    /// One notice as lines: when, where, who, what.
    pub(crate) fn lay_out(&self, at: UnixMs, said: &NoticeText) -> Vec<String> {
        let phase = said.phase.as_ref().map_or("", |phase| phase.as_str());
        let session = said.session.as_ref().map_or("", |session| session.as_str());
        let (clock, phase_width) = (self.look.clock(at), self.phase_width);
        if self.look.wrap && self.look.width < COLUMNS_FROM {
            return self.lay_out_narrow(&clock, said);
        }
        let head = format!("{clock}  {phase:phase_width$}  {session:SESSION_WIDTH$}  ");
        let indent = head.chars().count() + WORD_WIDTH + 2;
        let word = self.look.paint(said.tone, &format!("{:WORD_WIDTH$}", said.word));
        let quiet = if said.tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
        let text = self.look.paint(quiet, &self.look.wrap(&said.text, indent));
        let first = format!("{}{word}  {text}", self.look.paint(Tone::Dim, &head));
        let more = said.more.iter().map(|line| format!("{:indent$}{}", "", self.look.wrap(line, indent)));
        std::iter::once(first).chain(more).collect()
    }

    /// The same without columns.
    fn lay_out_narrow(&self, clock: &str, said: &NoticeText) -> Vec<String> {
        let phase = said.phase.as_ref().map(|phase| format!(" {phase}")).unwrap_or_default();
        let session = said.session.as_ref().map(|session| format!(" {session}")).unwrap_or_default();
        let head = format!("{clock}{phase}{session}");
        let line = self.look.wrap(&format!("{head} {}: {}", said.word, said.text), NARROW_INDENT);
        let quiet = if said.tone == Tone::Dim { Tone::Dim } else { Tone::Plain };
        // A long id may be broken over lines itself.
        let first = match line.strip_prefix(&format!("{head} {}:", said.word)) {
            Some(rest) => {
                let (head, word) = (self.look.paint(Tone::Dim, &head), self.look.paint(said.tone, said.word));
                format!("{head} {word}:{}", self.look.paint(quiet, rest))
            }
            None => line,
        };
        let more = said.more.iter().map(|line| format!("  {}", self.look.wrap(line, NARROW_INDENT)));
        std::iter::once(first).chain(more).collect()
    }
}

/// The notice, if a prompt continues from a handoff of sessions in which no agent has done anything: it is a first one.
fn as_first_prompt(notice: &ProgressEvent, view: &RunView) -> ProgressEvent {
    let mut notice = notice.clone();
    if let ProgressEvent::Prompted { phase, session, kind: kind @ PromptKind::Continuing, .. } = &mut notice {
        let rows = view.phases.iter().find(|row| row.id == *phase).map(|row| row.sessions.as_slice());
        let mut before = rows.unwrap_or_default().iter().take_while(|row| row.id != *session).peekable();
        let is_idle = |row: &SessionSummary| row.turns == 0 && row.used_tokens.is_none();
        if before.peek().is_some() && before.all(is_idle) {
            *kind = PromptKind::First;
        }
    }
    notice
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn every_notice_has_a_line() {
        let mut plain = PlainRenderer::new(TerminalStyle::bare(120));
        let location = test_samples::location();
        let lines: Vec<String> =
            test_samples::updates().iter().flat_map(|update| plain.lines(update, &location)).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_terminal_breaks_long_lines_and_colours_words() {
        let mut plain =
            PlainRenderer::new(TerminalStyle { wrap: true, colour: true, ..TerminalStyle::bare(80) });
        let location = test_samples::location();
        let lines: Vec<String> = test_samples::updates()
            .iter()
            .take(12)
            .flat_map(|update| plain.lines(update, &location))
            .collect();
        insta::assert_snapshot!(lines.join("\n").replace('\x1b', "^"));
    }

    #[test]
    fn a_context_waits_for_the_size_of_its_window() {
        let location = test_samples::location();
        let mut plain = PlainRenderer::new(TerminalStyle::bare(120));
        let update = |notices: Vec<ProgressEvent>| RunUpdate {
            at: UnixMs(0),
            notices,
            view: test_samples::running(),
            bell: false,
        };
        let unknown = || {
            let mut notice = test_samples::turn("s4", 1, 10_500);
            if let ProgressEvent::Turn { occupancy, .. } = &mut notice {
                occupancy.window_tokens = None;
            }
            notice
        };
        let said = || ProgressEvent::Said {
            phase: "build".into(),
            session: "s4".into(),
            text: "It is done.".into(),
        };
        plain.lines(&update(vec![]), &location);
        assert_eq!(plain.lines(&update(vec![unknown()]), &location), [""; 0]);
        let known = plain.lines(&update(vec![test_samples::turn("s4", 1, 2_000)]), &location);
        assert!(known.len() == 1 && known[0].contains("25%"), "{known:?}");
        let mut plain = PlainRenderer::new(TerminalStyle::bare(120));
        plain.lines(&update(vec![]), &location);
        let ended = plain.lines(&update(vec![unknown(), said(), unknown(), said()]), &location);
        assert_eq!(ended.len(), 3, "{ended:?}");
        assert!(
            ended[0].contains("of a window of unknown size") && ended[1].contains("It is done."),
            "{ended:?}"
        );
    }

    #[test]
    fn a_first_prompt_after_agents_that_never_started_is_the_first() {
        let mut view = test_samples::running();
        let phase = view.phases.iter_mut().find(|phase| phase.sessions.len() > 1).unwrap();
        let id = phase.id.clone();
        let last = phase.sessions.last().unwrap().id.clone();
        let notice = ProgressEvent::Prompted {
            phase: id,
            session: last,
            kind: PromptKind::Continuing,
            focus: vec!["printer".into()],
            because: String::new(),
        };
        assert_eq!(as_first_prompt(&notice, &view), notice);
        let rows = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions);
        rows.for_each(|row| (row.turns, row.used_tokens) = (0, None));
        assert!(matches!(
            as_first_prompt(&notice, &view),
            ProgressEvent::Prompted { kind: PromptKind::First, .. }
        ));
    }

    #[test]
    fn a_session_tells_its_context_by_tenths() {
        let mut plain = PlainRenderer::new(TerminalStyle::bare(120));
        let told = (1..=40)
            .filter(|turn| plain.is_worth_a_line(&test_samples::turn("s1", *turn, u64::from(*turn) * 200)))
            .count();
        // 2.5 % a turn: steps 0 to 10.
        assert_eq!(told, 11);
    }
}
