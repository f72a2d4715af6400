//! The context window of the rehearsal: counts tokens, refuses what does not fit.

/// Bytes of a token, as everybody guesses.
const BYTES_PER_TOKEN: u64 = 4;

/// What a compaction keeps of the conversation, in percent.
const KEPT_PERCENT: u64 = 25;

/// A shorter conversation is not worth a compaction.
const COMPACTABLE_TOKENS: u64 = 100;

/// Fill and bill.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextWindow {
    pub(super) size: u64,
    pub(super) used: u64,
    base: u64,
    /// Of this prompt.
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) output: u64,
}

/// A step that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WindowOverflow {
    pub(super) tokens: u64,
}

impl ContextWindow {
    pub(super) fn new(size: u64, base: u64) -> Self {
        Self { size, used: base, base, input: 0, cached: 0, output: 0 }
    }

    /// A prompt begins: its bill starts at nothing.
    pub(super) fn begin(&mut self) {
        (self.input, self.cached, self.output) = (0, 0, 0);
    }

    /// Tokens that are missing until `percent` percent are full.
    pub(super) fn missing(&self, percent: u64) -> u64 {
        self.size.saturating_mul(percent).div_ceil(100).saturating_sub(self.used)
    }

    /// A turn with this input and output. Changes nothing if it does not fit.
    pub(super) fn turn(&mut self, input: u64, output: u64) -> Result<(), WindowOverflow> {
        let tokens = self.used.saturating_add(input).saturating_add(output);
        if tokens > self.size {
            return Err(WindowOverflow { tokens });
        }
        self.cached += self.used;
        self.input += input;
        self.output += output;
        self.used = tokens;
        Ok(())
    }

    /// Compacts the context; returns the fill before. None if there is nothing to compact.
    pub(super) fn compact(&mut self) -> Option<u64> {
        let (before, conversation) = (self.used, self.used - self.base);
        if conversation < COMPACTABLE_TOKENS {
            return None;
        }
        self.used = self.base + conversation * KEPT_PERCENT / 100;
        Some(before)
    }
}

/// A guess at the tokens of a text.
pub(super) fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES_PER_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let mut window = ContextWindow::new(1000, 200);
        window.turn(500, 100).unwrap();
        assert_eq!(window.turn(300, 1), Err(WindowOverflow { tokens: 1101 }));
        assert_eq!((window.used, window.input, window.output, window.cached), (800, 500, 100, 200));
        assert_eq!(window.compact(), Some(800));
        assert_eq!(window.used, 350);
        assert_eq!([window.missing(80), window.missing(35), window.missing(1)], [450, 0, 0]);
        window.used = 250;
        assert_eq!(window.compact(), None);
    }
}
