//! The last events, so that a failing seed can be understood. Prints nothing by itself. Formatting them takes longer than the
//! events themselves, so it is done only once a seed has failed: it then fails again.

use std::collections::VecDeque;
use std::fmt::Write as _;

use baton_core::{Action, Input, Intent, JournaledInput};

/// Lines that are kept unless all are asked for.
pub(crate) const LINES: usize = 60;
/// Characters that are kept of a line.
const WIDTH: usize = 220;

/// The tail of a story.
#[derive(Debug)]
pub(crate) struct Trace {
    head: String,
    lines: VecDeque<String>,
    most: usize,
}

impl Trace {
    /// Keeps this number of last lines.
    pub(crate) fn new(most: usize) -> Self {
        Self { head: String::new(), lines: VecDeque::new(), most }
    }

    pub(crate) fn head(&mut self, head: impl FnOnce() -> String) {
        if self.most > 0 {
            self.head = head();
        }
    }

    pub(crate) fn line(&mut self, line: impl FnOnce() -> String) {
        if self.most == 0 {
            return;
        }
        let mut line = line();
        if line.len() > WIDTH {
            let cut = (0..=WIDTH).rev().find(|i| line.is_char_boundary(*i)).unwrap_or(0);
            line.truncate(cut);
        }
        if self.lines.len() >= self.most {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn input(&mut self, stamped: &JournaledInput) {
        self.line(|| {
            let what = match &stamped.input {
                Input::Decided { request_id, result, .. } => format!("decided {request_id}: {result:?}"),
                Input::Started { .. } => "started".to_owned(),
                other => format!("{other:?}"),
            };
            format!("{} {} {what}", stamped.seq, stamped.at.0 % 1_000_000_000)
        });
    }

    pub(crate) fn intent(&mut self, intent: &Intent) {
        self.line(|| {
            let what = match &intent.action {
                Action::RequestDecision { request_id, request, .. } => {
                    format!("ask {request_id} {}", request.query.function())
                }
                Action::Notify(notice) => format!("told {notice:?}"),
                other => format!("{other:?}"),
            };
            format!("    => {} {what}", intent.id)
        });
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}\n", self.head);
        for line in &self.lines {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        }
        text
    }
}
