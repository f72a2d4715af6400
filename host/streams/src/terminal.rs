//! Terminal text of an agent as signals: garbage on stdout, everything on stderr. Bounds their number. Codex's log lines about
//! a refused call become a refusal.

use baton_core::facts::{AgentEvent, ErrorSignal, SIGNAL_TEXT_BYTES, SignalSource};

use crate::Decoder;
use crate::codex;
use crate::truncate::{cut_owned, cut_tail};

/// The first lines of terminal text, up to this number, become a signal each, at once: an error message is a few lines, and
/// must not wait. After that lines are joined until they fill a signal, so that a chatty agent costs few journal rows.
pub const TERMINAL_PIECES: usize = 64;

/// After this amount of terminal text only the tail is kept, and given out at the end: an agent that keeps printing must not
/// fill the journal, and what it said last is what tells why it ended.
pub const TERMINAL_TOTAL_BYTES: usize = 1024 * 1024;

/// Collects lines of terminal text.
#[derive(Debug, Default)]
pub struct TerminalText {
    signals: usize,
    refusals: usize,
    total_bytes: usize,
    held: String,
}

impl TerminalText {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line and appends the signals that are due.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let text = cut_owned(line, SIGNAL_TEXT_BYTES);
        if text.trim().is_empty() {
            return;
        }
        self.total_bytes = self.total_bytes.saturating_add(line.len());
        if self.refusals < TERMINAL_PIECES
            && let Some(refusal) = codex::refusal(&text)
        {
            self.refusals += 1;
            return out.push(AgentEvent::Refused(refusal));
        }
        if self.total_bytes > TERMINAL_TOTAL_BYTES {
            self.hold(&text);
            self.held = cut_tail(&self.held, SIGNAL_TEXT_BYTES).to_owned();
        } else if self.signals < TERMINAL_PIECES {
            self.emit(text, out);
        } else {
            if self.held.len() + text.len() >= SIGNAL_TEXT_BYTES {
                self.flush(out);
            }
            self.hold(&text);
        }
    }

    /// Passes on the text that was held back. Called when it must not wait: a proper event follows, or the stream ended.
    pub fn flush(&mut self, out: &mut Vec<AgentEvent>) {
        if !self.held.is_empty() && self.total_bytes <= TERMINAL_TOTAL_BYTES {
            let held = std::mem::take(&mut self.held);
            self.emit(held, out);
        }
    }

    /// The stream is over: gives out everything, the tail of a flood included.
    pub fn end(&mut self, out: &mut Vec<AgentEvent>) {
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            self.emit(held, out);
        }
    }

    fn hold(&mut self, text: &str) {
        if !self.held.is_empty() {
            self.held.push('\n');
        }
        self.held.push_str(text);
    }

    fn emit(&mut self, text: String, out: &mut Vec<AgentEvent>) {
        self.signals += 1;
        out.push(AgentEvent::Signal(terminal(String::new(), text)));
    }
}

/// A signal of the terminal.
pub(crate) fn terminal(code: String, text: String) -> ErrorSignal {
    ErrorSignal {
        channel: SignalSource::Terminal,
        code,
        status: None,
        resets_at: None,
        retrying: false,
        text,
    }
}

/// Stderr, and any other stream without a protocol.
impl Decoder for TerminalText {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        TerminalText::line(self, line, out);
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        TerminalText::line(self, beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        TerminalText::end(self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(events: &[AgentEvent]) -> Vec<&str> {
        fn text(event: &AgentEvent) -> &str {
            match event {
                AgentEvent::Signal(signal) => &signal.text,
                other => panic!("{other:?}"),
            }
        }
        events.iter().map(text).collect()
    }

    #[test]
    fn the_first_lines_are_given_out_at_once() {
        let (mut terminal, mut out) = (TerminalText::new(), Vec::new());
        terminal.line(b"error: no key", &mut out);
        terminal.line(b"   ", &mut out);
        assert_eq!(texts(&out), ["error: no key"]);
    }

    #[test]
    fn a_flood_costs_few_signals_and_its_last_words_are_kept() {
        let (mut terminal, mut out) = (TerminalText::new(), Vec::new());
        for n in 0..200_000 {
            terminal.line(format!("line {n} of many").as_bytes(), &mut out);
        }
        terminal.line(b"fatal: the reason", &mut out);
        terminal.end(&mut out);
        assert!(out.len() < TERMINAL_PIECES + 2 * TERMINAL_TOTAL_BYTES / SIGNAL_TEXT_BYTES, "{}", out.len());
        assert!(texts(&out).last().unwrap().ends_with("fatal: the reason"));
        assert!(texts(&out).iter().all(|text| text.len() <= SIGNAL_TEXT_BYTES));
    }
}
