//! What objectives are about (A11): their names, words, files and amounts, by which an answer is read.

use baton_sdk::types::Objective;

use super::claim::is_mark;
use super::classes::NUMBERS;
use super::ids::{as_name, compounds, ids_of, named};
use super::words::{QUOTE, words};

/// Bytes of a description that are read, and of a word that says what it is about.
const TOPIC_BYTES: usize = 1_000;
const TOPIC_WORD_BYTES: usize = 4;
/// A shorter id is a word of any sentence.
const ID_BYTES: usize = 3;
/// Larger numbers are no amounts ("port 8080").
const MOST: usize = 100;
/// Words between an amount and what it counts.
const COUNTED_BY: [&str; 7] = ["of", "the", "all", "to", "and", "through", "or"];
/// Bytes that a word may end in beside another form of it.
const INFLECTION_BYTES: usize = 3;
/// Longer words of orders that say nothing of what they are about.
const VAGUE: [&str; 25] = [
    "write",
    "make",
    "with",
    "that",
    "this",
    "from",
    "into",
    "have",
    "each",
    "them",
    "then",
    "they",
    "your",
    "when",
    "which",
    "must",
    "should",
    "done",
    "implement",
    "create",
    "update",
    "work",
    "task",
    "objective",
    "everything",
];

/// What objectives are about.
pub(super) struct Topic {
    /// Their names, as `ids.rs` writes them.
    pub(super) ids: Vec<String>,
    /// The longer words of their names and descriptions.
    words: Vec<String>,
    /// Their files and names in code, in lower case and without folders: "parser.txt".
    pub(super) code: Vec<String>,
    /// The largest number in the words that may be an amount: "all five cases".
    amount: Option<usize>,
}

impl Topic {
    pub(super) fn of(objectives: &[&Objective]) -> Self {
        let texts = objectives.iter().flat_map(|objective| {
            let description = &objective.description;
            [&objective.id[..], &description[..description.floor_char_boundary(TOPIC_BYTES)]]
        });
        let mut words: Vec<String> = texts.clone().flat_map(words).collect();
        let amount = amounts(&words).max();
        let is_vague = |word: &str| word == QUOTE || VAGUE.contains(&word);
        words.retain(|word| word.len() >= TOPIC_WORD_BYTES && !is_vague(word));
        let files = objectives.iter().flat_map(|objective| &objective.expected_files);
        let in_code = texts.flat_map(code_in);
        let code = in_code.chain(files.map(|file| &file.path[..])).map(base_name);
        let compounds = compounds(ids_of(objectives, &[]));
        let code = code.map(|name| named(&name, &compounds)).collect();
        let ids = objectives.iter().map(|objective| as_name(&objective.id)).collect();
        Self { ids, words, code, amount }
    }

    /// Whether it says as many as were wanted.
    pub(super) fn is_amount(&self, word: &String) -> bool {
        let amount = amounts(std::slice::from_ref(word)).next();
        amount.is_some() && amount == self.amount
    }

    /// Whether every file and piece of code in a text is one that an objective names.
    pub(super) fn names_all_code(&self, text: &str) -> bool {
        code_in(text).all(|word| self.code.contains(&base_name(word)))
    }

    /// Whether it says the id of an objective, or a thing of its work.
    pub(super) fn is_meant(&self, words: &[String]) -> bool {
        // "A" is a name, and an article.
        let ids = || self.ids.iter().filter(|id| id.len() >= ID_BYTES);
        let is_name = |word: &String| ids().any(|id| id == word) || self.is_stem(word);
        self.is_named(words) || words.iter().any(is_name)
    }

    /// Whether it is the name of a file without what stands behind its point: "bye", of `src/bye.sh`.
    fn is_stem(&self, word: &str) -> bool {
        let stems = self.code.iter().filter_map(|name| name.split('.').next());
        word.len() >= ID_BYTES && stems.into_iter().any(|stem| stem == word)
    }

    pub(super) fn is_named(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.words.iter().any(|topic| is_alike(topic, word)))
    }

    /// Whether it counts the things of the work, and fewer than were wanted: "seven of the ten cases", "cases 1 to 7".
    pub(super) fn counts_short(&self, words: &[String]) -> bool {
        let counts = |at: usize| {
            let is_link = |word: &String| COUNTED_BY.contains(&word.as_str()) || amount(word).is_some();
            // "Cases 1, 2 and 3", but not "with its cases, one a line".
            let in_list = |at: usize| is_mark(&words[at]) && at > 0 && amount(&words[at - 1]).is_some();
            let before = (0..at).rev().find(|at| !is_link(&words[*at]) && !in_list(*at)).map(|at| &words[at]);
            let behind = words[at + 1..].iter().find(|word| !is_link(word));
            [before, behind].into_iter().flatten().any(|word| self.is_named(std::slice::from_ref(word)))
        };
        let counted = (0..words.len()).filter(|at| amount(&words[*at]).is_some() && counts(*at));
        let most = counted.filter_map(|at| amount(&words[at])).max();
        self.amount.zip(most).is_some_and(|(wanted, most)| most < wanted)
    }
}

/// The files and names in code of a text.
pub(super) fn code_in(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| is_code(word))
}

/// A path, a name with a dot or an underscore, or a word in the marks of code.
fn is_code(word: &str) -> bool {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.starts_with('`') || inner.len() >= TOPIC_WORD_BYTES && inner.contains(['.', '/', '_'])
}

/// A path or name without its folders and the marks around it, in lower case.
pub(super) fn base_name(word: &str) -> String {
    let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
    inner.rsplit('/').next().unwrap_or_default().to_lowercase()
}

/// Numbers that may be amounts.
fn amounts(words: &[String]) -> impl Iterator<Item = usize> {
    words.iter().filter_map(amount)
}

fn amount(word: &String) -> Option<usize> {
    let spelled = || NUMBERS.iter().position(|number| number == word);
    word.parse().ok().or_else(spelled).filter(|number| *number <= MOST)
}

/// "case" and "cases", "parser" and "parsers".
fn is_alike(topic: &str, word: &str) -> bool {
    let (short, long) = if topic.len() < word.len() { (topic, word) } else { (word, topic) };
    short.len() >= TOPIC_WORD_BYTES && long.starts_with(short) && long.len() <= short.len() + INFLECTION_BYTES
}
