//! The lists of words of `settings/phrases/ending.rs` and `work.rs`, ready to be looked for in a sentence (A12).

use baton_sdk::Host;

use super::words::words;

/// Phrases of one or more words each, by the first letter. They are kept as they are written: a decision looks at few of them.
pub(super) struct List(Vec<String>);

/// Every list, read once.
pub(super) struct Lexicon {
    pub(super) names: List,
    pub(super) used_up: List,
    pub(super) nearly: List,
    pub(super) scarce: List,
    pub(super) stopping: List,
    pub(super) left: List,
    pub(super) successors: List,
    pub(super) carried_on: List,
    pub(super) finished: List,
    pub(super) rid: List,
}

impl Lexicon {
    pub(super) fn of(host: &impl Host) -> Self {
        let list = |key| List::of(host.texts(key));
        Self {
            names: list("own-context-names"),
            used_up: list("used-up-words"),
            nearly: list("nearly-used-up-words"),
            scarce: list("scarce-words"),
            carried_on: list("carried-on-words"),
            ..Self::without_context(host)
        }
    }

    /// For what is said of the work alone: reading the lists costs more than most answers do.
    pub(super) fn without_context(host: &impl Host) -> Self {
        let list = |key| List::of(host.texts(key));
        let none = || List(Vec::new());
        Self {
            names: none(),
            used_up: none(),
            nearly: none(),
            scarce: none(),
            carried_on: none(),
            stopping: list("stopping-words"),
            left: list("work-left-words"),
            successors: list("successor-words"),
            finished: list("finished-words"),
            rid: list("rid-words"),
        }
    }
}

/// The lists of what is said of the work.
pub(super) struct Work {
    pub(super) plain: List,
    pub(super) courtesy: List,
    pub(super) trouble: List,
    pub(super) contradiction: List,
    pub(super) ahead: List,
    pub(super) comes_next: List,
}

impl Work {
    pub(super) fn of(host: &impl Host) -> Self {
        let list = |key| List::of(host.texts(key));
        Self {
            plain: list("plain-claim-words"),
            courtesy: list("courtesy-words"),
            trouble: list("trouble-words"),
            contradiction: list("contradiction-words"),
            ahead: list("ahead-words"),
            comes_next: list("comes-next-words"),
        }
    }
}

impl List {
    fn of(mut phrases: Vec<String>) -> Self {
        for phrase in &mut phrases {
            if !phrase.bytes().all(is_plain) || phrase.starts_with(' ') {
                *phrase = written_plainly(phrase);
            }
        }
        phrases.retain(|phrase| !phrase.is_empty());
        phrases.sort_unstable_by_key(|phrase| letter(phrase));
        Self(phrases)
    }

    /// How many words the longest phrase that stands here has.
    pub(super) fn at(&self, words: &[String], at: usize) -> Option<usize> {
        let rest = words.get(at..)?;
        let first = letter(rest.first()?);
        let from = self.0.partition_point(|phrase| letter(phrase) < first);
        let same = self.0[from..].iter().take_while(|phrase| letter(phrase) == first);
        let second = rest[0].as_bytes().get(1);
        let near = same.filter(|phrase| {
            matches!(phrase.as_bytes().get(1), None | Some(b' ' | b'*')) || phrase.as_bytes().get(1) == second
        });
        near.filter_map(|phrase| length(phrase, rest)).max()
    }

    /// Where its phrases stand, each with its end.
    pub(super) fn all<'s>(&'s self, words: &'s [String]) -> impl Iterator<Item = (usize, usize)> + 's {
        (0..words.len()).filter_map(|at| Some((at, at + self.at(words, at)?)))
    }
}

/// What the words of a phrase are made of, where nothing is to be written out.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b' ' || byte == b'*'
}

/// A phrase as the words of a sentence are: in lower case, with contractions written out and hyphens as spaces.
fn written_plainly(phrase: &str) -> String {
    let part = |part: &str| {
        let open = if part.ends_with('*') { "*" } else { "" };
        words(part).join(" ") + open
    };
    phrase.split_whitespace().map(part).collect::<Vec<_>>().join(" ")
}

fn letter(word: &str) -> u8 {
    word.bytes().next().unwrap_or_default()
}

/// How many words a phrase has here. An adverb may stand between its words: "running very low".
fn length(phrase: &str, words: &[String]) -> Option<usize> {
    let (first, others) = phrase.split_once(' ').unwrap_or((phrase, ""));
    if !fits(first, &words[0]) {
        return None;
    }
    let mut at = 1;
    for pattern in others.split(' ').filter(|pattern| !pattern.is_empty()) {
        while !fits(pattern, words.get(at)?) && is_adverb(&words[at]) {
            at += 1;
        }
        if !fits(pattern, words.get(at)?) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Whether a word is meant; behind a `*` any ending is.
fn fits(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == pattern,
    }
}

fn is_adverb(word: &str) -> bool {
    const ADVERBS: [&str; 13] = [
        "very", "so", "quite", "rather", "too", "pretty", "now", "just", "almost", "already", "yet", "even",
        "all",
    ];
    ADVERBS.contains(&word) || word.ends_with("ly")
}
