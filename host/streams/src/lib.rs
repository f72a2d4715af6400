//! Pure decoders: bytes of an agent's stream in, agent events out. One file a format. No IO.
//!
//! A decoder never fails and never panics: a line that is not of its format is terminal text, a kind that it does
//! not know is [`AgentEvent::Unknown`]. Live streams and recordings go through the very same code.
#![forbid(unsafe_code)]

mod acp;
mod claude;
mod codex;
mod cumulative;
mod format;
mod gemini;
mod lines;
mod message_separator;
mod opencode;
mod pending_requests;
mod plain_text;
mod signal;
mod terminal;
mod truncate;
mod turns;
mod wire;

use baton_core::facts::AgentEvent;

pub use acp::AcpDecoder;
pub use claude::ClaudeDecoder;
pub use codex::{CodexAppServerDecoder, CodexExecDecoder};
pub use format::{StreamFormat, UnknownFormat};
pub use gemini::GeminiDecoder;
pub use lines::{LinePiece, LineSplitter, MAX_LINE_BYTES};
pub use opencode::OpencodeDecoder;
pub use plain_text::PlainDecoder;
pub use terminal::{TERMINAL_PIECES, TERMINAL_TOTAL_BYTES, TerminalText};
pub use truncate::{cut, cut_owned, cut_tail};

/// Turns lines of one agent's stream into events.
pub trait Decoder {
    /// Takes one line, without its line break, and appends its events to `out`.
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>);

    /// Takes the beginning of a line that was longer than [`MAX_LINE_BYTES`].
    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>);

    /// The stream is over: appends the events that were held back.
    fn end(&mut self, out: &mut Vec<AgentEvent>);
}

impl<D: Decoder + ?Sized> Decoder for Box<D> {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        (**self).line(line, out);
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        (**self).long_line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        (**self).end(out);
    }
}

/// Decodes a whole stream that arrives in pieces of any size: splitter and decoder in one.
#[derive(Debug, Default)]
pub struct StreamDecoder<D> {
    lines: LineSplitter,
    decoder: D,
}

impl<D: Decoder> StreamDecoder<D> {
    /// Around a decoder that has seen nothing yet.
    pub fn new(decoder: D) -> Self {
        Self { lines: LineSplitter::new(), decoder }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8], out: &mut Vec<AgentEvent>) {
        let decoder = &mut self.decoder;
        self.lines.push(chunk, |piece| match piece {
            LinePiece::Line(line) => decoder.line(line, out),
            LinePiece::TooLong(beginning) => decoder.long_line(beginning, out),
        });
    }

    /// The stream is over.
    pub fn end(&mut self, out: &mut Vec<AgentEvent>) {
        let decoder = &mut self.decoder;
        self.lines.end(|piece| match piece {
            LinePiece::Line(line) => decoder.line(line, out),
            LinePiece::TooLong(beginning) => decoder.long_line(beginning, out),
        });
        self.decoder.end(out);
    }
}
