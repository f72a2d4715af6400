//! Ids of objectives in what an agent says: "issue-1" and "skip-list" are names, and tell of no issue and of nothing that was skipped.

use baton_sdk::types::Objective;

/// An id as it stands in a text of [`as_names`], in lower case. One of several words is read backwards, since lists have beginnings of
/// words, too: "partial-update" is "etadpuxlaitrap".
pub(super) fn as_name(id: &str) -> String {
    let id = id.to_ascii_lowercase();
    match is_compound(&id) {
        true => id.chars().rev().map(|c| if c.is_ascii_punctuation() { 'x' } else { c }).collect(),
        false => id,
    }
}

fn is_compound(id: &str) -> bool {
    id.contains(|c: char| c.is_ascii_punctuation())
}

/// The text, byte for byte as long, in which each id that is made of several words is one word, which no list has.
pub(super) fn as_names<'i>(text: &str, ids: impl IntoIterator<Item = &'i str>) -> String {
    named(text, &compounds(ids))
}

/// The ids that are made of several words, in lower case.
pub(super) fn compounds<'i>(ids: impl IntoIterator<Item = &'i str>) -> Vec<String> {
    ids.into_iter().filter(|id| is_compound(id)).map(str::to_ascii_lowercase).collect()
}

/// The same for many texts: ids as [`compounds`] gives them.
pub(super) fn named(text: &str, compounds: &[String]) -> String {
    let mut named = text.to_owned();
    let mut can_be = compounds.iter().filter(|id| id.len() <= text.len()).peekable();
    if can_be.peek().is_none() {
        return named;
    }
    let is_inside =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii();
    let said = text.to_ascii_lowercase();
    for id in can_be {
        for (at, _) in said.match_indices(id.as_str()) {
            let end = at + id.len();
            let is_part = said.as_bytes()[..at].last().is_some_and(is_inside)
                || said.as_bytes().get(end).is_some_and(is_inside);
            if !is_part {
                named.replace_range(at..end, &as_name(id));
            }
        }
    }
    named
}

/// The ids of these objectives and of others.
pub(super) fn ids_of<'i>(
    objectives: &'i [&Objective],
    others: &'i [String],
) -> impl Iterator<Item = &'i str> {
    objectives.iter().map(|objective| objective.id.as_str()).chain(others.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_several_words_is_one_word() {
        let named = |text: &str| as_names(text, ["issue-1", "skip-list", "tests"]);
        assert_eq!(named("Done: Issue-1, skip-list.txt"), "Done: 1xeussi, tsilxpiks.txt");
        for other in ["issue-12", "my-skip-list", "an issue", "the tests fail"] {
            assert_eq!(named(other), other);
        }
    }
}
