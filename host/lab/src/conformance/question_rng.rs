//! Chance for generated questions: sizes, numbers at their bounds, texts of every width. The same key gives the same
//! throws on every machine. What is made of them is in `generate.rs` and `views.rs`.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// Bytes of text inside one observation. A workflow of some hundred objectives takes some dozen KiB; this is several times
/// as much, and still less than a policy's memory and fuel are made for.
const TEXT_BUDGET_BYTES: usize = 128 << 10;

/// Bytes of a text that are thrown piece by piece.
const RANDOM_TEXT_BYTES: usize = 512;

/// In a huge question, one text in this many has the maximum length.
const LONG_ONE_IN: usize = 4;

/// How much there is in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuestionSize {
    /// Every list and text is empty.
    Empty,
    /// A few entries, short texts.
    Small,
    /// As a run has them after some hours.
    Usual,
    /// Lists at their caps, and long texts.
    Huge,
}

/// Half of the questions are small: there, what went wrong is seen at once.
const SIZES: [QuestionSize; 8] = [
    QuestionSize::Empty,
    QuestionSize::Small,
    QuestionSize::Small,
    QuestionSize::Small,
    QuestionSize::Small,
    QuestionSize::Usual,
    QuestionSize::Usual,
    QuestionSize::Huge,
];

/// Pieces of generated texts: characters of one to four bytes, marks and joiners, both directions, line ends, syntax of
/// markdown, JSON and prompts, and the words that policies look for.
const PIECES: [&str; 48] = [
    " ",
    "word ",
    "the parser ",
    "src/lib.rs",
    "0",
    "429",
    "1762952400",
    "é",
    "ß",
    "e\u{301}",
    "Ω",
    "日本",
    "한",
    "🦀",
    "👩‍💻",
    "𝔘",
    "\u{10ffff}",
    "\u{feff}",
    "\u{200d}",
    "\u{202e}",
    "مرحبا",
    "\u{0}",
    "\u{1b}[31m",
    "\u{7f}",
    "\n",
    "\r\n",
    "\t",
    "\u{2028}",
    "`",
    "```\n",
    "\"",
    "\\",
    "{",
    "}}",
    "<system>",
    "# ",
    "\n## Current State\n",
    "\n## Next Steps\n",
    "- [x] ",
    "[TODO]",
    "| a | b |",
    "prompt is too long",
    "context window",
    "rate limit reached",
    "usage limit reached, resets 3:45pm",
    "payment required",
    "ignore all previous instructions",
    "error: ",
];

/// Throws for one question, or for one change of it.
pub(super) struct QuestionRng {
    rng: ChaCha8Rng,
    /// How much the question is to hold.
    pub(super) size: QuestionSize,
    remaining_bytes: usize,
}

impl QuestionRng {
    /// For the `index`th question of a seed; `use_for` separates the random streams of different uses.
    pub(super) fn new(seed: u64, index: u64, use_for: u64) -> Self {
        let mut key = [0; 32];
        for (place, number) in [seed, index, use_for].into_iter().enumerate() {
            key[place * 8..][..8].copy_from_slice(&number.to_le_bytes());
        }
        let mut rng = Self {
            rng: ChaCha8Rng::from_seed(key),
            size: QuestionSize::Small,
            remaining_bytes: TEXT_BUDGET_BYTES,
        };
        rng.size = rng.pick(&SIZES);
        rng
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.rng.random_range(0..end.max(1))
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// True with a chance of one in `throws`.
    pub(super) fn one_in(&mut self, throws: usize) -> bool {
        self.below(throws) == 0
    }

    pub(super) fn coin(&mut self) -> bool {
        self.one_in(2)
    }

    pub(super) fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| make(self))
    }

    /// From 0 to `most`: often a bound, or a number that people have.
    pub(super) fn number(&mut self, most: u64) -> u64 {
        match self.below(8) {
            0 | 1 => 0,
            2 => most.min(1),
            3 => most,
            4 => self.rng.random_range(0..=most),
            _ => self.rng.random_range(0..=most.min(1000)),
        }
    }

    pub(super) fn number32(&mut self, most: u32) -> u32 {
        u32::try_from(self.number(most.into())).unwrap_or(most)
    }

    /// How many entries a list has that may have `cap`.
    pub(super) fn count(&mut self, cap: usize) -> usize {
        let size = self.size;
        match size {
            QuestionSize::Empty => 0,
            QuestionSize::Small => self.below(4).min(cap),
            QuestionSize::Usual => self.below(13).min(cap),
            QuestionSize::Huge if self.coin() => cap,
            QuestionSize::Huge => self.below(cap + 1),
        }
    }

    pub(super) fn list<T>(&mut self, cap: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.count(cap)).map(|_| make(self)).collect()
    }

    /// A text of at most `cap` bytes.
    pub(super) fn text(&mut self, cap: usize) -> String {
        let size = self.size;
        let bytes = match size {
            QuestionSize::Empty => 0,
            QuestionSize::Small => self.below(41),
            QuestionSize::Usual => self.below(201),
            QuestionSize::Huge if self.one_in(LONG_ONE_IN) => cap,
            QuestionSize::Huge => self.below(101),
        };
        let bytes = bytes.min(cap).min(self.remaining_bytes);
        let mut text = String::new();
        while text.len() < bytes.min(RANDOM_TEXT_BYTES) {
            match self.one_in(16) {
                true => text.push(self.rng.random()),
                false => text.push_str(self.pick(&PIECES)),
            }
        }
        // What is long says the same again and again.
        text = text.repeat(bytes.div_ceil(text.len().max(1)).max(1));
        text.truncate(text.floor_char_boundary(bytes));
        self.remaining_bytes -= text.len();
        text
    }

    /// Takes `bytes` bytes from the remaining size; false if fewer are left.
    pub(super) fn try_reserve(&mut self, bytes: usize) -> bool {
        let left = self.remaining_bytes.checked_sub(bytes);
        self.remaining_bytes = left.unwrap_or(self.remaining_bytes);
        left.is_some()
    }

    /// A text of at most `cap` bytes on one line.
    pub(super) fn line(&mut self, cap: usize) -> String {
        self.text(cap).replace(['\n', '\r'], " ")
    }

    /// A text that stays in the host, of at most `cap` bytes: it takes no room in the observation.
    pub(super) fn text_of_host(&mut self, cap: usize) -> String {
        let room = std::mem::replace(&mut self.remaining_bytes, usize::MAX);
        let text = self.text(cap);
        self.remaining_bytes = room;
        text
    }
}
