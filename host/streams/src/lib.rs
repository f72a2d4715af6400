//! Pure decoders: bytes of an agent's stream in, agent events out. One file a format. No IO.
//!
//! A decoder never fails and never panics: a line that is not of its format is terminal text, a kind that it does
//! not know is [`AgentEvent::Unknown`]. Live streams and recordings go through the very same code.
#![forbid(unsafe_code)]

mod acp;
mod claude;
mod cut;
mod json;
mod lines;
mod terminal;

use baton_core::facts::AgentEvent;

pub use acp::AcpDecoder;
pub use claude::ClaudeDecoder;
pub use cut::{cut, cut_owned, cut_tail};
pub use lines::{LineSplitter, MAX_LINE_BYTES, Piece};
pub use terminal::{TERMINAL_PIECES, TERMINAL_TOTAL_BYTES, TerminalText};

/// Turns lines of one agent's stream into events.
pub trait Decoder {
    /// Takes one line, without its line break, and appends what it says to `out`.
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>);

    /// Takes a line that was longer than [`MAX_LINE_BYTES`]: only its beginning is left of it.
    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>);

    /// The stream is over: appends what was held back.
    fn end(&mut self, out: &mut Vec<AgentEvent>);
}

/// Decodes a whole stream that arrives in pieces of any size: splitter and decoder in one.
#[derive(Debug, Default)]
pub struct Stream<D> {
    lines: LineSplitter,
    decoder: D,
}

impl<D: Decoder> Stream<D> {
    /// Around a decoder that has seen nothing yet.
    pub fn new(decoder: D) -> Self {
        Self { lines: LineSplitter::new(), decoder }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<AgentEvent>) {
        let decoder = &mut self.decoder;
        self.lines.push(chunk, |piece| match piece {
            Piece::Line(line) => decoder.line(line, out),
            Piece::TooLong(beginning) => decoder.long_line(beginning, out),
        });
    }

    /// The stream is over.
    pub fn end(&mut self, out: &mut Vec<AgentEvent>) {
        let decoder = &mut self.decoder;
        self.lines.end(|piece| match piece {
            Piece::Line(line) => decoder.line(line, out),
            Piece::TooLong(beginning) => decoder.long_line(beginning, out),
        });
        self.decoder.end(out);
    }
}
