//! Seams of a scope: objectives that share a file or a feature stay together, and a feature keeps its tests (C14).

use std::collections::BTreeMap;

use baton_sdk::types::Objective;

/// Words that tell a test of a thing from the thing.
const TEST_WORDS: [&str; 6] = ["test", "tests", "spec", "specs", "testing", "tested"];

/// Bytes of descriptions that are read, shared among the objectives: they name their files at the beginning, and reading
/// the longest ones of a workflow to their ends would take all the fuel of a decision.
const READ_BYTES: usize = 48 << 10;

/// What objectives are about, a number a subject: two of them belong together where they share one.
pub(crate) struct Subjects {
    /// By objective.
    of: Vec<Vec<usize>>,
    is_test: Vec<bool>,
    /// How many subjects there are.
    count: usize,
}

impl Subjects {
    pub(crate) fn of(objectives: &[&Objective]) -> Self {
        let each_bytes = READ_BYTES / objectives.len().max(1);
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut number = |name: String| {
            let next = numbers.len();
            *numbers.entry(name).or_insert(next)
        };
        let mut subjects = Self { of: Vec::new(), is_test: Vec::new(), count: 0 };
        for objective in objectives {
            let (mut of, mut files_of_tests, mut files_of_others) = (Vec::new(), 0, 0);
            of.extend(subject("id", &objective.id).map(&mut number));
            let description = &objective.description;
            for file in files(&description[..description.floor_char_boundary(each_bytes)]) {
                let name = file.rsplit('/').next().unwrap_or(file);
                of.extend(subject("file", name.split('.').next().unwrap_or(name)).map(&mut number));
                *if has_test_word(file) { &mut files_of_tests } else { &mut files_of_others } += 1;
            }
            subjects.of.push(of);
            // It is there for the tests of something where its id or all the files that it names say so.
            let tests_alone = files_of_tests > 0 && files_of_others == 0;
            subjects.is_test.push(tests_alone || has_test_word(&objective.id));
        }
        subjects.count = numbers.len();
        subjects
    }

    /// These objectives, by index, in groups that belong together; groups and members in the order given.
    pub(crate) fn groups(&self, places: &[usize]) -> Vec<Vec<usize>> {
        // The group of an objective is found by going up from one to the next, up to its first member.
        let mut up: Vec<usize> = (0..places.len()).collect();
        let mut seen: Vec<Option<usize>> = vec![None; self.count];
        for (member, place) in places.iter().enumerate() {
            for subject in &self.of[*place] {
                match seen[*subject] {
                    Some(other) => join(&mut up, member, other),
                    None => seen[*subject] = Some(member),
                }
            }
        }
        let mut groups: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
        for (member, place) in places.iter().enumerate() {
            groups[head(&mut up, member)].push(*place);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Tests, each with the first objective whose work they test; by index (C14).
    pub(crate) fn tests(&self) -> Vec<(usize, usize)> {
        let mut made_by = Holders::new(self);
        for place in (0..self.of.len()).filter(|place| !self.is_test[*place]) {
            made_by.add(place, place);
        }
        let tests = (0..self.of.len()).filter(|place| self.is_test[*place]);
        tests.filter_map(|test| Some((test, made_by.first(test)?))).collect()
    }
}

/// Who has which subject: the first of those that were added.
pub(crate) struct Holders<'s> {
    subjects: &'s Subjects,
    first: Vec<Option<usize>>,
}

impl<'s> Holders<'s> {
    pub(crate) fn new(subjects: &'s Subjects) -> Self {
        Self { subjects, first: vec![None; subjects.count] }
    }

    /// What the objective is about is held by this one too; of two holders the smaller number counts.
    pub(crate) fn add(&mut self, objective: usize, holder: usize) {
        for subject in &self.subjects.of[objective] {
            let first = &mut self.first[*subject];
            *first = Some(first.map_or(holder, |known| known.min(holder)));
        }
    }

    /// The smallest number that holds something of what the objective is about.
    pub(crate) fn first(&self, objective: usize) -> Option<usize> {
        self.subjects.of[objective].iter().filter_map(|subject| self.first[*subject]).min()
    }
}

/// The first member of a group; the way there is shorter the next time.
fn head(up: &mut [usize], member: usize) -> usize {
    let mut at = member;
    while up[at] != at {
        up[at] = up[up[at]];
        at = up[at];
    }
    at
}

fn join(up: &mut [usize], one: usize, other: usize) {
    let (one, other) = (head(up, one), head(up, other));
    up[one.max(other)] = one.min(other);
}

/// Merges the two smallest groups until there are at most `limit`; groups and members stay in order.
pub(crate) fn merge(mut groups: Vec<Vec<usize>>, limit: usize) -> Vec<Vec<usize>> {
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    while groups.len() > limit.max(1) {
        let smallest = |groups: &[Vec<usize>], but: Option<usize>| {
            (0..groups.len()).filter(|at| Some(*at) != but).min_by_key(|at| groups[*at].len())
        };
        let first = smallest(&groups, None);
        let (Some(one), Some(other)) = (first, smallest(&groups, first)) else { break };
        let later = groups.remove(one.max(other));
        groups[one.min(other)].extend(later);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups
}

fn has_test_word(name: &str) -> bool {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    words.any(is_test_word)
}

fn is_test_word(word: &str) -> bool {
    TEST_WORDS.iter().any(|test| test.eq_ignore_ascii_case(word))
}

/// The files that a text names, with their folders: words with a dot inside.
fn files(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| matches!(c, ' ' | ',' | ';' | '(' | ')' | '`' | '"' | '\n');
    let mut read = 0;
    let words = std::iter::from_fn(move || {
        let dot = read + text[read..].find('.')?;
        let start = text[read..dot].rfind(is_between).map_or(read, |at| read + at + 1);
        let end = text[dot..].find(is_between).map_or(text.len(), |at| dot + at);
        read = end;
        Some(text[start..end].trim_end_matches(['.', ':']))
    });
    words.filter(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        name.split_once('.').is_some_and(|(stem, extension)| {
            let plain = extension.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'.');
            !stem.is_empty() && !extension.is_empty() && plain
        })
    })
}

/// A name in lower case without the words for tests, behind what it names; nothing where no other word is in it.
fn subject(of: &str, name: &str) -> Option<String> {
    let mut subject = of.to_owned();
    for word in name.split(|c: char| !c.is_alphanumeric()) {
        if !word.is_empty() && !is_test_word(word) {
            subject.push(' ');
            subject.extend(word.chars().map(|c| c.to_ascii_lowercase()));
        }
    }
    (subject.len() > of.len()).then_some(subject)
}

#[cfg(test)]
mod tests {
    use baton_sdk::sample::objective;

    use super::*;

    fn grouped(objectives: &[(&str, &str)]) -> Vec<Vec<usize>> {
        let objectives: Vec<Objective> = objectives.iter().map(|(id, text)| objective(id, text)).collect();
        let places: Vec<usize> = (0..objectives.len()).collect();
        Subjects::of(&objectives.iter().collect::<Vec<_>>()).groups(&places)
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
            Subjects::of(&objectives.iter().collect::<Vec<_>>()).tests()
        };
        assert_eq!(tested(&[("login-tests", "Test it"), ("login", "Log in"), ("tests", "All")]), [(0, 1)]);
        assert_eq!(tested(&[("a", "Write src/lexer.rs"), ("b", "Cover tests/lexer.rs")]), [(1, 0)]);
        assert!(
            tested(&[("a", "Write src/lexer.rs"), ("b", "Mend src/lexer.rs and tests/lexer.rs")]).is_empty()
        );
    }

    #[test]
    fn what_hangs_together_by_others_is_one_group() {
        let chained = grouped(&[
            ("a", "Mend x.rs"),
            ("b", "Mend y.rs"),
            ("c", "Mend z.rs"),
            ("d", "Mend z.rs and y.rs"),
            ("e", "Mend w.rs"),
            ("f", "Mend y.rs, x.rs"),
        ]);
        assert_eq!(chained, [vec![0, 1, 2, 3, 5], vec![4]]);
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
