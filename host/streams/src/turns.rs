//! Finds the turns in formats that tell of none: a model round-trip is over where the model speaks again after a tool
//! returned, or with another message.

use baton_core::facts::{AgentEvent, TokenUsage};

use crate::wire::truncate_name;

/// What the model did since the last turn ended.
#[derive(Debug, Default)]
pub(crate) struct TurnTracker {
    has_output: bool,
    tool_returned: bool,
    message: Option<String>,
}

impl TurnTracker {
    /// The model says something or calls a tool, in the message of this id where there is one. True where that begins
    /// another turn: the one before is over.
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

    /// A tool returned: what the model says next is of another round-trip.
    pub(crate) fn tool_returned(&mut self) {
        self.tool_returned = true;
    }

    /// Nothing more comes of this turn. True where there was one.
    pub(crate) fn end(&mut self) -> bool {
        std::mem::take(self).has_output
    }

    /// As [`Turns::speaks`], where a format tells neither messages nor what a turn took: gives the turn that is over.
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
