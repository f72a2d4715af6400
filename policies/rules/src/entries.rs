//! The entries of lists. The host has refused what has another form; here it speaks about nothing.

/// What stands for every agent and every mode.
const ALL: &str = "*";

/// `NAME = NUMBER`.
pub(crate) fn numbered(entry: &str) -> Option<(&str, u32)> {
    let (name, number) = entry.rsplit_once('=')?;
    Some((name.trim(), number.trim().parse().ok()?))
}

/// The number of a name; where it has none, that of `*`.
pub(crate) fn number_of(entries: &[String], name: &str) -> Option<u32> {
    let of =
        |wanted: &str| entries.iter().filter_map(|entry| numbered(entry)).find(|(named, _)| *named == wanted);
    of(name).or_else(|| of(ALL)).map(|(_, number)| number)
}

/// Whether a text without capitals is what the pattern says; `*` stands for any characters.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let pattern = pattern.trim().to_ascii_lowercase();
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        let same = [
            ("Deploy", "deploy"),
            ("deploy*", "deploy-eu"),
            ("*", ""),
            ("a*b*c", "a-b-b-c"),
            ("*Notes", "release notes"),
        ];
        for (pattern, text) in same {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        let other = [("deploy", "deploy-eu"), ("a*a", "a"), ("*b", "bc"), ("", "x"), ("a*b*c", "acb")];
        for (pattern, text) in other {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_name_of_its_own_comes_before_the_star() {
        let entries = ["* = 60", "claude = 75", "claude = much"].map(str::to_owned);
        assert_eq!(number_of(&entries, "claude"), Some(75));
        assert_eq!(number_of(&entries, "codex"), Some(60));
        assert_eq!(number_of(&entries[1..], "codex"), None);
        assert_eq!(numbered("a = b = 7"), Some(("a = b", 7)));
    }
}
