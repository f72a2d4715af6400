//! The lists of words of `settings/phrases/ending.rs` and `work.rs`, ready to be looked for in a sentence (A12).

use baton_sdk::Host;

use super::words::words;

/// Phrases of one or more words each, by the first letter.
pub(super) struct List(Vec<Vec<Pattern>>);

struct Pattern {
    word: String,
    /// Any ending fits.
    open: bool,
}

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
        let list = |key| List::of(&host.texts(key));
        Self {
            names: list("own-context-names"),
            used_up: list("used-up-words"),
            nearly: list("nearly-used-up-words"),
            scarce: list("scarce-words"),
            stopping: list("stopping-words"),
            left: list("work-left-words"),
            successors: list("successor-words"),
            carried_on: list("carried-on-words"),
            finished: list("finished-words"),
            rid: list("rid-words"),
        }
    }
}

/// The lists of what is said of the work.
pub(super) struct Work {
    pub(super) done: List,
    pub(super) idle: List,
    pub(super) trouble: List,
    pub(super) ahead: List,
    pub(super) comes_next: List,
}

impl Work {
    pub(super) fn of(host: &impl Host) -> Self {
        let list = |key| List::of(&host.texts(key));
        Self {
            done: list("done-words"),
            idle: list("idle-words"),
            trouble: list("trouble-words"),
            ahead: list("ahead-words"),
            comes_next: list("comes-next-words"),
        }
    }
}

impl List {
    fn of(phrases: &[String]) -> Self {
        let mut phrases: Vec<Vec<Pattern>> =
            phrases.iter().map(|phrase| patterns(phrase)).filter(|phrase| !phrase.is_empty()).collect();
        phrases.sort_by_key(|phrase| phrase[0].letter());
        Self(phrases)
    }

    /// How many words the longest phrase that stands here has.
    pub(super) fn at(&self, words: &[String], at: usize) -> Option<usize> {
        let rest = words.get(at..)?;
        let letter = rest.first()?.bytes().next();
        let from = self.0.partition_point(|phrase| phrase[0].letter() < letter);
        let same = self.0[from..].iter().take_while(|phrase| phrase[0].letter() == letter);
        same.filter_map(|phrase| length(phrase, rest)).max()
    }

    /// Where its phrases stand, each with its end.
    pub(super) fn all<'s>(&'s self, words: &'s [String]) -> impl Iterator<Item = (usize, usize)> + 's {
        (0..words.len()).filter_map(|at| Some((at, at + self.at(words, at)?)))
    }
}

/// How many words a phrase has here. An adverb may stand between its words: "running very low".
fn length(phrase: &[Pattern], words: &[String]) -> Option<usize> {
    let mut at = 0;
    for (place, pattern) in phrase.iter().enumerate() {
        while place > 0 && !pattern.fits(words.get(at)?) && is_adverb(&words[at]) {
            at += 1;
        }
        if !pattern.fits(words.get(at)?) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

fn is_adverb(word: &str) -> bool {
    const ADVERBS: [&str; 13] = [
        "very", "so", "quite", "rather", "too", "pretty", "now", "just", "almost", "already", "yet", "even",
        "all",
    ];
    ADVERBS.contains(&word) || word.ends_with("ly")
}

impl Pattern {
    fn letter(&self) -> Option<u8> {
        self.word.bytes().next()
    }

    fn fits(&self, word: &str) -> bool {
        if self.open { word.starts_with(&self.word) } else { word == self.word }
    }
}

fn patterns(phrase: &str) -> Vec<Pattern> {
    let pattern = |part: &str| {
        let open = part.ends_with('*');
        words(part).into_iter().map(move |word| Pattern { word, open }).collect::<Vec<_>>()
    };
    phrase.split_whitespace().flat_map(pattern).collect()
}
