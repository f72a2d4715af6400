//! Plain text of any process: its output is its answer. Independent of how such a process is run.

use baton_core::facts::{AgentEvent, OccupancySource, TokenUsage};

use crate::Decoder;
use crate::lines::MAX_LINE_BYTES;
use crate::truncate::cut_owned;
use crate::wire::{Amount, Count, read, wire};

wire! {
    /// A usage line.
    struct PlainTextLine {
        baton: Option<PlainTextUsage> = "baton",
    }

    /// The fields of a usage line.
    struct PlainTextUsage {
        used_tokens: Count = "used_tokens",
        window_tokens: Count = "window_tokens",
        input_tokens: Count = "input_tokens",
        output_tokens: Count = "output_tokens",
        cost_usd: Amount = "cost_usd",
    }
}

/// Decodes one process's stdout. Each line is a [`AgentEvent::Text`] with its line break, except for usage lines.
///
/// A program that knows the fill of its context may report it, on a line of its own, any number of times:
///
/// ```json
/// {"baton": {"used_tokens": 41200, "window_tokens": 200000, "input_tokens": 41000, "output_tokens": 200, "cost_usd": 0.13}}
/// ```
///
/// Every field is optional. `used_tokens` and `window_tokens` are the fill now ([`AgentEvent::Occupancy`]). With `input_tokens`
/// or `output_tokens` the line reports one model call ([`AgentEvent::Turn`]), and these are its bill. `cost_usd` is the cost
/// since the last line that reported it.
///
/// Such a process is ready when it runs and done when it exits, so its driver emits [`AgentEvent::Ready`] and
/// [`AgentEvent::PromptEnded`], and not this decoder.
#[derive(Debug, Default)]
pub struct PlainDecoder {}

impl PlainDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Decoder for PlainDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<PlainTextLine>(line, &mut String::new()).and_then(|line| line.baton) {
            Some(usage) => told(&usage, out),
            None => {
                let mut text = cut_owned(line, MAX_LINE_BYTES);
                text.push('\n');
                out.push(AgentEvent::Text { text });
            }
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        self.line(beginning, out);
    }

    fn end(&mut self, _out: &mut Vec<AgentEvent>) {}
}

fn told(usage: &PlainTextUsage, out: &mut Vec<AgentEvent>) {
    let (used_tokens, window_tokens) = (usage.used_tokens.0, usage.window_tokens.0);
    if used_tokens.is_some() || window_tokens.is_some() {
        let source = OccupancySource::Agent;
        out.push(AgentEvent::Occupancy { used_tokens, window_tokens, source });
    }
    let billed = TokenUsage {
        input_tokens: usage.input_tokens.or_zero(),
        output_tokens: usage.output_tokens.or_zero(),
        cost_microusd: usage.cost_usd.microusd(),
    };
    if billed.tokens() > 0 {
        out.push(AgentEvent::Turn { used_tokens, billed });
    } else if billed.cost_microusd.is_some() {
        out.push(AgentEvent::Billing(billed));
    }
}
