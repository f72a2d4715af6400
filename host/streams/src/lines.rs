//! Splits a stream of bytes into lines, in bounded memory and linear time, independent of their content.

/// A longer line is cut. The longest line seen from a real agent is 0.3 MB (a file in a tool result); this leaves room for a
/// large one, and bounds the memory that a broken agent can use in the host.
pub const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The part of a line that is too long that is kept: enough to recognise it.
const KEPT_BYTES: usize = 2048;

/// A line of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum LinePiece<'a> {
    /// A line without its `\n` or `\r\n`; never empty.
    Line(&'a [u8]),
    /// The beginning of a line longer than [`MAX_LINE_BYTES`]; the rest was skipped.
    TooLong(&'a [u8]),
}

/// Collects bytes into lines.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The line so far, without its break.
    partial: Vec<u8>,
    /// The line so far was too long and has been given out; everything up to the next break is skipped.
    skipping: bool,
}

impl LineSplitter {
    /// At the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and gives out every line that they complete.
    pub fn push(&mut self, mut chunk: &[u8], mut each: impl FnMut(LinePiece<'_>)) {
        while let Some(at) = chunk.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = (&chunk[..at], &chunk[at + 1..]);
            if self.skipping {
                self.skipping = false;
            } else if self.partial.is_empty() && head.len() <= MAX_LINE_BYTES {
                // The common case: a whole line in one chunk needs no copy.
                emit_line(head, &mut each);
            } else {
                self.extend(head, &mut each);
                self.finish(&mut each);
            }
            chunk = tail;
        }
        if !self.skipping {
            self.extend(chunk, &mut each);
        }
    }

    /// The stream is over: passes on the rest.
    pub fn end(&mut self, mut each: impl FnMut(LinePiece<'_>)) {
        self.finish(&mut each);
    }

    fn extend(&mut self, bytes: &[u8], each: &mut impl FnMut(LinePiece<'_>)) {
        if self.partial.len() + bytes.len() <= MAX_LINE_BYTES {
            self.partial.extend_from_slice(bytes);
            return;
        }
        if self.partial.len() < KEPT_BYTES {
            let room = KEPT_BYTES - self.partial.len();
            self.partial.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
        each(LinePiece::TooLong(&self.partial[..KEPT_BYTES.min(self.partial.len())]));
        // Give the memory back: one long line must not cost 8 MiB for the rest of the session.
        self.partial = Vec::new();
        self.skipping = true;
    }

    fn finish(&mut self, each: &mut impl FnMut(LinePiece<'_>)) {
        if !self.skipping {
            emit_line(&self.partial, each);
        }
        self.skipping = false;
        self.partial.clear();
    }
}

fn emit_line(line: &[u8], each: &mut impl FnMut(LinePiece<'_>)) {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if !line.is_empty() {
        each(LinePiece::Line(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<(bool, usize)> {
        let mut splitter = LineSplitter::new();
        let mut lines = Vec::new();
        let mut each = |piece: LinePiece<'_>| {
            lines.push(match piece {
                LinePiece::Line(line) => (true, line.len()),
                LinePiece::TooLong(line) => (false, line.len()),
            });
        };
        for chunk in chunks {
            splitter.push(chunk, &mut each);
        }
        splitter.end(&mut each);
        lines
    }

    #[test]
    fn a_hundred_megabytes_on_one_line_are_cut_and_the_next_line_is_read() {
        let mut splitter = LineSplitter::new();
        let (mut pieces, mut held) = (Vec::new(), 0);
        let chunk = vec![b'x'; 1 << 16];
        for _ in 0..1600 {
            splitter.push(&chunk, |piece| pieces.push(format!("{:.9}", format!("{piece:?}"))));
            held = held.max(splitter.partial.capacity());
        }
        splitter.push(b"\nafter\n", |piece| {
            assert_eq!(piece, LinePiece::Line(b"after"));
            pieces.push("after".to_owned());
        });
        assert_eq!(pieces, ["TooLong([", "after"]);
        assert!(held <= 2 * MAX_LINE_BYTES, "{held} bytes held");
        assert!(splitter.partial.capacity() < 1 << 10);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        let line = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(split(&[&line, b"\n"]), [(true, MAX_LINE_BYTES)]);
        assert_eq!(split(&[&line, b"x\ny"]), [(false, KEPT_BYTES), (true, 1)]);
    }

    #[test]
    fn breaks_of_both_kinds_and_a_last_line_without_one() {
        assert_eq!(split(&[b"a\r\n\r\n\nbc", b"d\r", b"\ne"]), [(true, 1), (true, 3), (true, 1)]);
    }

    proptest! {
        #[test]
        fn where_a_stream_is_cut_into_chunks_does_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200),
            cuts in proptest::collection::vec(0usize..200, 0..8),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(&chunks), split(&[&bytes]));
        }
    }
}
