//! The output of a tool, measured and truncated while it is read: outputs are the largest part of most streams.

use baton_core::facts::SIGNAL_TEXT_BYTES;
use serde::de::SeqAccess;

use super::{Lenient, LenientValue, RawJson, Text, wire};
use crate::truncate::cut;

/// The output of a tool: its size and its beginning. A text, a list of blocks with texts, or anything else.
#[derive(Debug, Default)]
pub(crate) struct MeasuredOutput {
    pub(crate) bytes: u64,
    pub(crate) beginning: String,
}

impl MeasuredOutput {
    /// Adds a piece of text.
    pub(crate) fn add(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
        let room = SIGNAL_TEXT_BYTES.saturating_sub(self.beginning.len());
        self.beginning.push_str(cut(text, room));
    }

    /// Adds another output.
    pub(crate) fn append(&mut self, more: &MeasuredOutput) {
        let room = SIGNAL_TEXT_BYTES.saturating_sub(self.beginning.len());
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.beginning.push_str(cut(&more.beginning, room));
    }
}

wire! {
    /// A block of a tool's output.
    struct OutputBlock<'a> {
        text: Text<'a> = "text",
    }
}

impl<'de> LenientValue<'de> for MeasuredOutput {
    fn text(&mut self, text: &str) {
        self.add(text);
    }

    fn list<A: SeqAccess<'de>>(&mut self, mut blocks: A) -> Result<(), A::Error> {
        while let Some(Lenient(raw)) = blocks.next_element::<Lenient<RawJson<'de>>>()? {
            match raw.get::<OutputBlock<'_>>().text.nonempty() {
                Some(text) => self.add(text),
                // Of an image or a reference only the size is counted.
                None => self.bytes = self.bytes.saturating_add(raw.0.unwrap_or_default().len() as u64),
            }
        }
        Ok(())
    }
}
