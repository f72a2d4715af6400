//! Finding phrases in texts that stay in the host, and the settings that hold them. Case is folded for ASCII alone,
//! hits do not overlap, leftmost first and at one place the longest; an empty pattern matches nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use baton_core::Digest;
use baton_core::observation::TextSpan;
use baton_core::workflow::SettingValue;

/// Most hits of one call (as `wit/imports.wit` promises).
pub(crate) const MAX_HITS: usize = 256;

/// Most patterns of one list, and most bytes of them together: a phrase list has some dozens.
pub(crate) const MAX_PATTERNS: usize = 1024;
/// See [`MAX_PATTERNS`].
pub(crate) const MAX_PATTERN_BYTES: usize = 32 << 10;

/// The fastest automaton takes up to a KiB for each byte of pattern, so longer lists get a slower one, which takes some
/// twenty bytes. Phrase lists have some hundred bytes.
const FAST_PATTERN_BYTES: usize = 4 << 10;

/// A list of phrases, ready to be searched for.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    /// Absent if nothing can match.
    automaton: Option<AhoCorasick>,
    /// Bytes of the longest pattern.
    longest_bytes: usize,
    /// Place in the original list of each pattern of the automaton, since empty ones are left out.
    places: Vec<u32>,
}

/// Phrases that are too many or too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{count} patterns of {bytes} bytes together are too many: at most {MAX_PATTERNS} of {MAX_PATTERN_BYTES} bytes"
)]
pub(crate) struct TooManyPatterns {
    count: usize,
    bytes: usize,
}

/// A place where a pattern was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) pattern: u32,
    pub(crate) at: TextSpan,
}

impl Patterns {
    pub(crate) fn new(list: &[impl AsRef<str>]) -> Result<Self, TooManyPatterns> {
        let kept = || list.iter().map(AsRef::as_ref).zip(0..).filter(|(pattern, _)| !pattern.is_empty());
        let refuse = || TooManyPatterns {
            count: list.len(),
            bytes: list.iter().map(|pattern| pattern.as_ref().len()).sum(),
        };
        let size = refuse();
        if size.count > MAX_PATTERNS || size.bytes > MAX_PATTERN_BYTES {
            return Err(size);
        }
        let places: Vec<u32> = kept().map(|(_, place)| place).collect();
        let automaton = if places.is_empty() {
            None
        } else {
            // Folding both sides beforehand leaves the search its vector instructions, which case-insensitive
            // automata do without: that makes it some ten times faster.
            let folded = kept().map(|(pattern, _)| pattern.to_ascii_lowercase());
            let kind = (size.bytes > FAST_PATTERN_BYTES).then_some(AhoCorasickKind::ContiguousNFA);
            let automaton =
                AhoCorasick::builder().kind(kind).match_kind(MatchKind::LeftmostLongest).build(folded);
            Some(automaton.map_err(|_| size)?)
        };
        let longest_bytes = kept().map(|(pattern, _)| pattern.len()).max().unwrap_or_default();
        Ok(Self { automaton, longest_bytes, places })
    }

    /// How far a search may look ahead behind a hit.
    pub(crate) fn longest_bytes(&self) -> usize {
        self.longest_bytes
    }

    /// The first `limit` hits in `range` of a text that is [`folded`]; the range is clipped to the text.
    pub(crate) fn find(&self, folded: &[u8], range: TextSpan, limit: u32) -> Vec<Hit> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let (start, end) = clip(folded.len(), range);
        let base = start as u32;
        automaton
            .find_iter(&folded[start..end])
            .take(MAX_HITS.min(limit as usize))
            .map(|found| Hit {
                pattern: self.places[found.pattern().as_usize()],
                at: TextSpan { start: base + found.start() as u32, end: base + found.end() as u32 },
            })
            .collect()
    }
}

/// The text with its ASCII letters in lower case, byte for byte.
pub(crate) fn folded(text: &str) -> Arc<[u8]> {
    text.to_ascii_lowercase().into_bytes().into()
}

/// The range, cut to a text of `text_bytes` bytes. A text is never longer than the input limit, so they fit 32 bits.
pub(crate) fn clip(text_bytes: usize, range: TextSpan) -> (usize, usize) {
    let end = text_bytes.min(range.end as usize);
    (end.min(range.start as usize), end)
}

/// The canonical settings of a policy, with every list of texts prepared for searching.
#[derive(Debug)]
pub(crate) struct PreparedSettings {
    pub(crate) values: BTreeMap<String, SettingValue>,
    patterns: BTreeMap<String, Patterns>,
    pub(crate) digest: Digest,
}

impl PreparedSettings {
    /// Errors name the setting.
    pub(crate) fn new(values: BTreeMap<String, SettingValue>) -> Result<Self, (String, TooManyPatterns)> {
        let mut patterns = BTreeMap::new();
        for (key, value) in &values {
            if let SettingValue::Texts(list) = value {
                let prepared = Patterns::new(list).map_err(|error| (key.clone(), error))?;
                patterns.insert(key.clone(), prepared);
            }
        }
        Ok(Self::assemble(values, patterns))
    }

    /// No settings, for a component that has none or was not asked yet.
    pub(crate) fn none() -> Self {
        Self::assemble(BTreeMap::new(), BTreeMap::new())
    }

    fn assemble(values: BTreeMap<String, SettingValue>, patterns: BTreeMap<String, Patterns>) -> Self {
        let json = serde_json::to_vec(&values).expect("a map from text to scalars and texts is always JSON");
        Self { values, patterns, digest: Digest::of(json) }
    }

    /// The prepared list of a setting; absent if the setting does not exist or is not a list.
    pub(crate) fn patterns(&self, key: &str) -> Option<&Patterns> {
        self.patterns.get(key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> TextSpan {
        TextSpan { start: 0, end: text.len() as u32 }
    }

    fn found<'t>(text: &'t str, patterns: &[&str]) -> Vec<(u32, &'t str)> {
        let hits = Patterns::new(patterns).unwrap().find(&folded(text), all(text), 256);
        hits.iter().map(|hit| (hit.pattern, &text[hit.at.start as usize..hit.at.end as usize])).collect()
    }

    #[test]
    fn leftmost_then_longest_and_ascii_case_alone_is_folded() {
        assert_eq!(found("Prompt is TOO LONG", &["too", "too long"]), [(1, "TOO LONG")]);
        assert_eq!(found("é É", &["é"]), [(0, "é")]);
        assert_eq!(found("aaa", &["aa", "a"]), [(0, "aa"), (1, "a")]);
    }

    #[test]
    fn an_empty_pattern_matches_nothing_and_keeps_the_places_of_the_others() {
        assert_eq!(found("abc", &["", "b", ""]), [(1, "b")]);
        assert_eq!(found("abc", &[""]), []);
    }

    #[test]
    fn range_and_limit_bound_the_hits() {
        let patterns = Patterns::new(&["x"]).unwrap();
        let find = |range, limit| patterns.find(&folded("x x x"), range, limit);
        assert_eq!(find(TextSpan { start: 1, end: 99 }, 1).len(), 1);
        assert_eq!(find(TextSpan { start: 1, end: 99 }, 1)[0].at, TextSpan { start: 2, end: 3 });
        assert_eq!(find(TextSpan { start: 9, end: 2 }, 9), []);
        let many = "x".repeat(1000);
        assert_eq!(patterns.find(&folded(&many), all(&many), u32::MAX).len(), MAX_HITS);
    }

    #[test]
    fn lists_are_bounded() {
        assert!(Patterns::new(&vec!["a"; MAX_PATTERNS + 1]).is_err());
        assert!(Patterns::new(&["a".repeat(MAX_PATTERN_BYTES + 1)]).is_err());
    }

    #[test]
    fn no_list_takes_much_memory() {
        let odd = |seed: u32, n: u32| char::from_u32(0x80 + (seed * 31 + n * 7) % 0x700).unwrap();
        let list: Vec<String> = (0..100).map(|seed| (0..160).map(|n| odd(seed, n)).collect()).collect();
        let automaton = Patterns::new(&list).unwrap().automaton.unwrap();
        assert!(automaton.memory_usage() < 1 << 20, "{}", automaton.memory_usage());
    }

    #[test]
    fn whole_and_fractional_numbers_have_other_digests() {
        let digest = |value| {
            let values = BTreeMap::from([("k".to_owned(), value)]);
            PreparedSettings::new(values).unwrap().digest
        };
        assert_ne!(digest(SettingValue::Integer(1)), digest(SettingValue::Number(1.0)));
    }

    /// The obvious way: at each byte, the longest pattern that matches there.
    fn naive(text: &str, patterns: &[String]) -> Vec<(u32, u32, u32)> {
        let (text, mut at, mut hits) = (text.as_bytes(), 0, Vec::new());
        while at < text.len() {
            let fits = |pattern: &&(u32, &[u8])| {
                text[at..].get(..pattern.1.len()).is_some_and(|head| head.eq_ignore_ascii_case(pattern.1))
            };
            let places: Vec<(u32, &[u8])> = (0..).zip(patterns.iter().map(String::as_bytes)).collect();
            let longest =
                places.iter().filter(|p| !p.1.is_empty()).filter(fits).rev().max_by_key(|p| p.1.len());
            match longest {
                Some((place, pattern)) => {
                    hits.push((*place, at as u32, (at + pattern.len()) as u32));
                    at += pattern.len();
                }
                None => at += 1,
            }
        }
        hits
    }

    proptest! {
        #[test]
        fn finds_what_the_obvious_way_finds(text in "[abAB ]{0,60}", patterns in prop::collection::vec("[abAB ]{0,4}", 0..6)) {
            let patterns: Vec<String> = patterns;
            let hits = Patterns::new(&patterns).unwrap().find(&folded(&text), all(&text), 256);
            let hits: Vec<_> = hits.iter().map(|h| (h.pattern, h.at.start, h.at.end)).collect();
            prop_assert_eq!(hits, naive(&text, &patterns));
        }
    }
}
