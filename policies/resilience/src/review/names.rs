//! Finds many names in one text, in one pass: a document may name hundreds of files and objectives, and looking for each by
//! itself takes as many passes as there are names. What a name stands for is the caller's.

/// Places that are looked at; what is beyond them counts as not found. A page has some hundred, and a text made so that
/// names lie in each other at every byte must not take all the fuel there is.
const FOUND: usize = 20_000;

/// Pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Names to look for.
pub(super) struct Names<'n> {
    /// Sorted, with the place that each was given at.
    names: Vec<(&'n [u8], usize)>,
    /// For each, the longest other one that it begins with.
    inside: Vec<Option<usize>>,
    /// Which bytes a name begins with: most bytes of a text end here.
    first: [bool; 256],
    /// Which pairs of bytes a name begins with, a bit each.
    pairs: Vec<u64>,
}

impl<'n> Names<'n> {
    /// An empty name is never found.
    pub(super) fn new(names: impl IntoIterator<Item = &'n str>) -> Self {
        let mut names: Vec<(&[u8], usize)> =
            names.into_iter().enumerate().map(|(place, name)| (name.as_bytes(), place)).collect();
        names.retain(|(name, _)| !name.is_empty());
        names.sort_unstable();
        let mut inside: Vec<Option<usize>> = Vec::with_capacity(names.len());
        let mut first = [false; 256];
        let mut pairs = vec![0u64; PAIRS / 64];
        for (at, (name, _)) in names.iter().enumerate() {
            let mut other = at.checked_sub(1);
            while let Some(shorter) = other.filter(|shorter| !name.starts_with(names[*shorter].0)) {
                other = inside[shorter];
            }
            inside.push(other);
            first[usize::from(name[0])] = true;
            match name.get(1) {
                Some(second) => mark(&mut pairs, pair(name[0], *second)),
                None => (0..=u8::MAX).for_each(|second| mark(&mut pairs, pair(name[0], second))),
            }
        }
        Self { names, inside, first, pairs }
    }

    /// Every place of every name: its first byte, the one behind its last, and which name it is.
    pub(super) fn find(&self, text: &str, mut found: impl FnMut(usize, usize, usize)) {
        let text = text.as_bytes();
        let mut left = FOUND;
        for (at, byte) in text.iter().enumerate() {
            if !self.first[usize::from(*byte)] {
                continue;
            }
            let pair = pair(*byte, text.get(at + 1).copied().unwrap_or(0));
            if self.pairs[pair / 64] & (1 << (pair % 64)) == 0 {
                continue;
            }
            // The last name that does not come after what stands here: every name that does stand here is that one, or
            // one that it begins with.
            let rest = &text[at..];
            let mut name = self.names.partition_point(|(name, _)| *name <= rest).checked_sub(1);
            while let Some(candidate) = name {
                let (body, place) = self.names[candidate];
                if rest.starts_with(body) {
                    found(at, at + body.len(), place);
                    left -= 1;
                    if left == 0 {
                        return;
                    }
                }
                name = self.inside[candidate];
            }
        }
    }
}

fn pair(first: u8, second: u8) -> usize {
    (usize::from(first) << 8) | usize::from(second)
}

fn mark(bits: &mut [u64], bit: usize) {
    bits[bit / 64] |= 1 << (bit % 64);
}

/// Nothing of a word goes on before or behind.
pub(super) fn is_word(text: &str, from: usize, to: usize) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let (Some(before), Some(behind)) = (text.get(..from), text.get(to..)) else { return false };
    !inside(before.chars().next_back()) && !inside(behind.chars().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str], text: &str) -> Vec<(usize, usize, usize)> {
        let mut all = Vec::new();
        Names::new(names.iter().copied()).find(text, |from, to, name| all.push((from, to, name)));
        all.sort_unstable();
        all
    }

    #[test]
    fn every_name_is_found_where_it_stands_also_inside_another() {
        assert_eq!(
            found(&["src/a.rs", "a.rs", "src/a"], "see src/a.rs"),
            [(4, 9, 2), (4, 12, 0), (8, 12, 1)]
        );
        assert_eq!(
            found(&["b", "", "ab", "b"], "abé b"),
            [(0, 2, 2), (1, 2, 0), (1, 2, 3), (5, 6, 0), (5, 6, 3)]
        );
        assert_eq!(found(&["ac", "abz"], "ab"), []);
        assert_eq!(found(&[], "ab"), []);
    }

    #[test]
    fn finds_what_one_by_one_finds() {
        let names = ["a", "aa", "ab", "aab", "ba", "bab", "é", "éa"];
        let text = "aabab éaab baéé aaab";
        let mut one_by_one = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let at = (0..text.len()).filter(|at| text.is_char_boundary(*at) && text[*at..].starts_with(name));
            one_by_one.extend(at.map(|at| (at, at + name.len(), place)));
        }
        one_by_one.sort_unstable();
        assert_eq!(found(&names, text), one_by_one);
    }

    #[test]
    fn names_within_names_have_an_end() {
        let names: Vec<String> = (1..200).map(|n| "a/".repeat(n)).collect();
        let mut count = 0;
        Names::new(names.iter().map(String::as_str)).find(&"a/".repeat(9_000), |_, _, _| count += 1);
        assert_eq!(count, FOUND);
    }

    #[test]
    fn a_word_is_whole() {
        assert!(is_word("a login b", 2, 7));
        assert!(is_word("login", 0, 5));
        assert!(!is_word("login-tests", 0, 5));
        assert!(!is_word("élogin", 2, 7));
    }
}
