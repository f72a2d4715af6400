//! Seams of a scope: objectives that share a file or a feature stay together, and a feature keeps its tests (C14).

use baton_sdk::types::Objective;

/// Words that tell a test of a thing from the thing.
const TEST_WORDS: [&str; 6] = ["test", "tests", "spec", "specs", "testing", "tested"];

/// Objectives, by index, in groups that belong together; groups and members in the order of the objectives.
pub(crate) fn groups(objectives: &[&Objective]) -> Vec<Vec<usize>> {
    let keys: Vec<Vec<String>> = objectives.iter().map(|objective| keys(objective)).collect();
    let mut labels: Vec<usize> = (0..objectives.len()).collect();
    for later in 1..keys.len() {
        for earlier in 0..later {
            if keys[later].iter().any(|key| keys[earlier].contains(key)) {
                let (one, other) = (labels[later], labels[earlier]);
                join(&mut labels, one, other);
            }
        }
    }
    collect(&labels)
}

/// Merges the smallest groups until there are at most `limit`. Every index up to the largest is in one group.
pub(crate) fn merge(groups: Vec<Vec<usize>>, limit: usize) -> Vec<Vec<usize>> {
    let mut labels = vec![0; groups.iter().map(Vec::len).sum()];
    for group in &groups {
        group.iter().for_each(|member| labels[*member] = group[0]);
    }
    let mut left = groups.len();
    while left > limit.max(1) {
        let size = |label: usize| labels.iter().filter(|other| **other == label).count();
        let heads = || (0..labels.len()).filter(|member| labels[*member] == *member);
        let smallest = heads().min_by_key(|head| size(*head));
        let next = heads().filter(|head| Some(*head) != smallest).min_by_key(|head| size(*head));
        let (Some(smallest), Some(next)) = (smallest, next) else { break };
        join(&mut labels, smallest, next);
        left -= 1;
    }
    collect(&labels)
}

/// Gives two groups one label: the smaller, so that a label is always the first member of its group.
fn join(labels: &mut [usize], one: usize, other: usize) {
    let (from, to) = (one.max(other), one.min(other));
    labels.iter_mut().filter(|label| **label == from).for_each(|label| *label = to);
}

fn collect(labels: &[usize]) -> Vec<Vec<usize>> {
    let heads = (0..labels.len()).filter(|member| labels[*member] == *member);
    heads.map(|head| (0..labels.len()).filter(|member| labels[*member] == head).collect()).collect()
}

/// Whether two objectives are about the same thing.
pub(crate) fn belong(one: &Objective, other: &Objective) -> bool {
    let others = keys(other);
    keys(one).iter().any(|key| others.contains(key))
}

/// Objectives that test what another one makes, each with that one; by index (C14).
pub(crate) fn tests(objectives: &[&Objective]) -> Vec<(usize, usize)> {
    let is_test: Vec<bool> = objectives.iter().map(|objective| is_test(objective)).collect();
    let tested = |test: usize| {
        (0..objectives.len()).find(|place| !is_test[*place] && belong(objectives[*place], objectives[test]))
    };
    (0..objectives.len())
        .filter(|place| is_test[*place])
        .filter_map(|test| Some((test, tested(test)?)))
        .collect()
}

/// Whether an objective is there for the tests of something: its id or all the files that it names say so.
fn is_test(objective: &Objective) -> bool {
    let mut files = files(&objective.description).peekable();
    has_test_word(&objective.id) || (files.peek().is_some() && files.all(has_test_word))
}

fn has_test_word(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(|word| TEST_WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

/// The files that a text names, with their folders.
fn files(text: &str) -> impl Iterator<Item = &str> {
    let words =
        text.split([' ', ',', ';', '(', ')', '`', '"', '\n']).map(|word| word.trim_end_matches(['.', ':']));
    words.filter(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        name.split_once('.').is_some_and(|(stem, extension)| {
            let plain = extension.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
            !stem.is_empty() && !extension.is_empty() && plain
        })
    })
}

/// What an objective is about: its id without the words for tests, and the stems of the files it names.
fn keys(objective: &Objective) -> Vec<String> {
    let mut keys = Vec::new();
    keys.extend(subject(&objective.id).map(|subject| format!("id {subject}")));
    for file in files(&objective.description) {
        let name = file.rsplit('/').next().unwrap_or(file);
        let stem = name.split('.').next().unwrap_or(name);
        keys.extend(subject(stem).map(|subject| format!("file {subject}")));
    }
    keys
}

/// A name in lower case without the words for tests; nothing where no other word is in it.
fn subject(name: &str) -> Option<String> {
    let mut subject = String::new();
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        let word = word.to_ascii_lowercase();
        if !word.is_empty() && !TEST_WORDS.contains(&word.as_str()) {
            if !subject.is_empty() {
                subject.push(' ');
            }
            subject.push_str(&word);
        }
    }
    (!subject.is_empty()).then_some(subject)
}

#[cfg(test)]
mod tests {
    use baton_sdk::sample::objective;

    use super::*;

    fn grouped(objectives: &[(&str, &str)]) -> Vec<Vec<usize>> {
        let objectives: Vec<Objective> = objectives.iter().map(|(id, text)| objective(id, text)).collect();
        groups(&objectives.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_feature_keeps_its_tests() {
        // C14
        let by_id = grouped(&[("login", "Log in"), ("logout", "Log out"), ("login-tests", "Test it")]);
        assert_eq!(by_id, [vec![0, 2], vec![1]]);
        let by_file = grouped(&[
            ("a", "Write src/lexer.rs."),
            ("b", "Write src/parser.rs"),
            ("c", "Cover tests/lexer_test.rs, all of it"),
        ]);
        assert_eq!(by_file, [vec![0, 2], vec![1]]);
    }

    #[test]
    fn tests_are_known_with_what_they_test() {
        // C14
        let tested = |objectives: &[(&str, &str)]| {
            let objectives: Vec<Objective> =
                objectives.iter().map(|(id, text)| objective(id, text)).collect();
            tests(&objectives.iter().collect::<Vec<_>>())
        };
        assert_eq!(tested(&[("login-tests", "Test it"), ("login", "Log in"), ("tests", "All")]), [(0, 1)]);
        assert_eq!(tested(&[("a", "Write src/lexer.rs"), ("b", "Cover tests/lexer.rs")]), [(1, 0)]);
        assert!(
            tested(&[("a", "Write src/lexer.rs"), ("b", "Mend src/lexer.rs and tests/lexer.rs")]).is_empty()
        );
    }

    #[test]
    fn what_shares_nothing_stays_apart() {
        assert_eq!(grouped(&[("a", "One thing"), ("b", "Another thing"), ("tests", "All tests")]).len(), 3);
        assert!(grouped(&[]).is_empty());
    }

    #[test]
    fn groups_are_merged_smallest_first_down_to_the_limit() {
        let merged = merge(vec![vec![0, 1, 2], vec![3], vec![4]], 2);
        assert_eq!(merged, [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(merge(vec![vec![0], vec![1]], 0), [vec![0, 1]]);
    }
}
