//! Finds the turns in formats that report none: a model round-trip is over when the model speaks again after a tool returned,
//! or with another message.

use baton_core::facts::{AgentEvent, TokenUsage};

use crate::wire::truncate_name;

/// The output of the model since the last turn ended.
#[derive(Debug, Default)]
pub(crate) struct TurnTracker {
    has_output: bool,
    tool_returned: bool,
    message: Option<String>,
}

impl TurnTracker {
    /// The model speaks or calls a tool, in the message of this id if there is one. True if that begins another turn: the
    /// previous one is over.
    pub(crate) fn speaks(&mut self, message: Option<&str>) -> bool {
        let message = message.map(truncate_name);
        let same = message == self.message.as_deref();
        let other = message.is_some() && self.message.is_some() && !same;
        let over = (self.tool_returned || other) && self.end();
        self.has_output = true;
        if message.is_some() && !same {
            self.message = message.map(str::to_owned);
        }
        over
    }

    /// A tool returned: the next output of the model belongs to another round-trip.
    pub(crate) fn tool_returned(&mut self) {
        self.tool_returned = true;
    }

    /// This turn is over. True if there was one.
    pub(crate) fn end(&mut self) -> bool {
        std::mem::take(self).has_output
    }

    /// As [`TurnTracker::speaks`], if a format reports neither messages nor the usage of a turn: appends the turn that is over.
    pub(crate) fn speaks_into(&mut self, out: &mut Vec<AgentEvent>) {
        if self.speaks(None) {
            out.push(bare_turn());
        }
    }

    /// As [`Turns::end`], likewise.
    pub(crate) fn end_into(&mut self, out: &mut Vec<AgentEvent>) {
        if self.end() {
            out.push(bare_turn());
        }
    }
}

/// A turn of which nothing but its end is known.
fn bare_turn() -> AgentEvent {
    AgentEvent::Turn { used_tokens: None, billed: TokenUsage::default() }
}
