//! What one sentence says of the agent's own context (A12): a subject that is the agent, or none as in a status line; a
//! verb of reaching, using up or running out; a name of the context. Only words without a meaning of their own may stand
//! between, so "I reached the conclusion that the context limit …" and "the context limit handler" say nothing.

use super::classes::*;
use super::lexicon::{Lexicon, List};
use super::words::QUOTE;

/// How sure the words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// Little context is left, or it is mentioned: enough only beside a stop, or work that is left.
    Scarce,
    /// The context is nearly used up, or would be.
    Near,
    /// Used up, by a line that does not say whose context it is.
    Bare,
    /// The agent's own context is used up.
    Own,
}

/// Whose words, by what stands before them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Subject {
    Agent,
    Nothing,
    Other,
}

/// From so many percent on, a context is nearly used up (source A: "approaching context limit at ~85%").
const NEARLY_PERCENT: f64 = 75.0;
/// Little is left from so many percent on.
const LITTLE_PERCENT: f64 = 15.0;
const LITTLE_TOKENS: f64 = 20.0;
/// Words from a number to "left".
const ROOM_WORDS: usize = 7;
/// Words between a verb and its context.
const GAP: usize = 6;
/// Names of a sentence that are looked at: more are noise.
const NAMES: usize = 8;
/// Words of a clause that are looked at, and those that stand near.
const CLAUSE: usize = 12;
const NEAR: usize = 4;
/// A name that stands so early is what the sentence is about.
const BARE_START: usize = 7;
/// Words of a verb.
const VERB_WORDS: usize = 4;
/// Words that are looked at before a verb for its subject.
const BACK: usize = 6;

/// Behind "context": what somebody knows of a thing.
const TOLD_ABOUT: [&str; 6] = ["about", "regarding", "concerning", "around", "behind", "on"];
/// Before "context", where it is asked for.
const MORE_OF_IT: [&str; 5] = ["more", "some", "additional", "further", "missing"];

/// A verb or an adjective of a context, and its words.
#[derive(Clone, Copy)]
struct Verb {
    says: Claim,
    start: usize,
    end: usize,
}

/// What a sentence claims, and the words that claim it.
pub(super) struct Claimed {
    pub(super) claim: Claim,
    /// The words of the claim; they say nothing else.
    pub(super) words: (usize, usize),
    /// It is of the agent, and not of a line without a subject.
    pub(super) own: bool,
    /// It counts only beside a stop, or work left, in a sentence next to it.
    pub(super) close: bool,
    /// It says itself that the agent is stopped.
    pub(super) stops: bool,
    /// It goes on with what was not reached any more: "before the tests could run".
    pub(super) interrupts: bool,
}

pub(super) fn claims(words: &[String], lexicon: &Lexicon) -> Vec<Claimed> {
    let sentence = Sentence { words, lexicon };
    sentence.names().into_iter().rev().take(NAMES).filter_map(|name| sentence.claim(name)).collect()
}

/// Whether a sentence names a context of the agent, whatever it says of it.
pub(super) fn names_context(words: &[String], lexicon: &Lexicon) -> bool {
    !Sentence { words, lexicon }.names().is_empty()
}

/// From one mark between clauses to the next.
pub(super) fn is_mark(word: &str) -> bool {
    matches!(word, "," | ":" | ";")
}

fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word) || word.ends_with("ly") || word.starts_with(|c: char| c.is_ascii_digit())
}

fn percent(word: &str) -> Option<f64> {
    word.strip_suffix('%')?.parse().ok()
}

struct Sentence<'s> {
    words: &'s [String],
    lexicon: &'s Lexicon,
}

impl Sentence<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn before(&self, at: usize) -> &str {
        at.checked_sub(1).map_or("", |before| self.word(before))
    }

    /// "I need more context about the format", "please give me some context": what a person knows, and no window.
    fn is_information(&self, start: usize, end: usize) -> bool {
        let is_asked_for = || {
            MORE_OF_IT.contains(&self.before(start))
                && self.words.iter().any(|word| ["you", "your", "please"].contains(&word.as_str()))
        };
        self.word(start) == "context"
            && end == start + 1
            && (TOLD_ABOUT.contains(&self.word(end)) || is_asked_for())
    }

    /// The names of a context, each with all that belongs to it.
    fn names(&self) -> Vec<(usize, usize)> {
        let mut names: Vec<(usize, usize)> = Vec::new();
        for (start, mut end) in self.lexicon.names.all(self.words) {
            while NAME_TAIL.contains(&self.word(end)) {
                end += 1;
            }
            let output = ["output", "response", "rate", "usage", "completion"].contains(&self.before(start));
            if !output && !self.is_information(start, end) && names.last().is_none_or(|last| last.1 <= start)
            {
                names.push((start, end));
            }
        }
        names
    }

    fn claim(&self, name: (usize, usize)) -> Option<Claimed> {
        let from = self.gap_before(name.0);
        if self.is_easy(name.0) {
            return None;
        }
        if self.is_of_others(from, name.0) {
            return self.verb_before(name);
        }
        let claims = [
            self.verb_before(name),
            self.verb_behind(name),
            self.percentage(name),
            self.reason(name),
            self.mention(name),
        ];
        let mut claimed =
            claims.into_iter().flatten().max_by_key(|claimed| (claimed.claim, !claimed.close))?;
        let next = claimed.words.1;
        let wanting =
            claimed.claim == Claim::Scarce && !claimed.close && matches!(self.word(next), "to" | "for");
        claimed.interrupts = (wanting || INTERRUPTS.contains(&self.word(next)))
            && !self.word(next + 1).is_empty()
            && !is_mark(self.word(next + 1));
        Some(claimed)
    }

    /// "I have run out of my context window", "approaching context limit".
    fn verb_before(&self, (name, end): (usize, usize)) -> Option<Claimed> {
        let verb = self.verb_ahead(name)?;
        let gap = &self.words[verb.end..name];
        let share = gap.iter().find_map(|word| percent(word));
        let (subject, hedged) = self.subject(verb.start)?;
        let possessed = self.words[verb.end..=name].iter().any(|word| OWNERS.contains(&word.as_str()));
        // "The logs used up my context window" is about the agent.
        let subject = if possessed { Subject::Agent } else { subject };
        // "Running out of context is handled": the words are a subject themselves.
        let itself = subject == Subject::Nothing
            && ["is", "are", "was", "has", "will", "can"].contains(&self.word(end));
        let easy = share.is_some_and(|share| share < NEARLY_PERCENT);
        if easy
            || itself
            || subject == Subject::Other
            || !self.goes_on(end)
            || self.conditional(verb.start, verb.end)
        {
            return None;
        }
        let mut close = self.words[..verb.start].iter().rev().take(NEAR);
        let own = possessed || close.any(|word| SELVES.contains(&word.as_str()));
        if !own && self.is_topic(verb.start) {
            return None;
        }
        let hedged = hedged || share.is_some() || self.hedged(verb.start, name);
        Some(Claimed::of(verb.says, subject, hedged, (verb.start, end)))
    }

    /// "Plenty of context", "31% of my window": no limit, whatever else is said.
    fn is_easy(&self, name: usize) -> bool {
        let ahead = name.saturating_sub(NEAR)..name;
        let denied = |at: usize| NEGATIONS.contains(&self.before(at));
        ahead.clone().any(|at| EASY.contains(&self.word(at)) && !denied(at))
            || ahead.clone().any(|at| {
                percent(self.word(at)).is_some_and(|share| share < NEARLY_PERCENT && !self.is_little(at))
            })
    }

    /// Whether the clause is about a thing that the agent worked on: "I fixed the crash when the context was full".
    fn is_topic(&self, at: usize) -> bool {
        let mut clause = (0..at).rev().take_while(|at| !is_mark(self.word(*at)) && self.word(*at) != "but");
        clause.any(|at| {
            let own = OWN_NOUNS.contains(&self.word(at)) && OWNERS.contains(&self.before(at));
            !own && TOPICS.contains(&self.word(at))
        })
    }

    /// "Its context", but not that of "this session".
    fn is_of_others(&self, from: usize, name: usize) -> bool {
        let own = self.words[..name]
            .windows(2)
            .any(|pair| OWNERS.contains(&pair[0].as_str()) && OWN_NOUNS.contains(&pair[1].as_str()));
        let mut owners = self.words[from.saturating_sub(1)..name].iter();
        owners.any(|word| OTHERS.contains(&word.as_str()) && !(own && word == "its"))
    }

    /// Where words without a meaning begin, before a name.
    fn gap_before(&self, name: usize) -> usize {
        let floor = name.saturating_sub(GAP);
        (floor..name).rev().take_while(|at| is_filler(self.word(*at))).last().unwrap_or(name)
    }

    /// The verb before a name, with nothing but words without a meaning between.
    fn verb_ahead(&self, name: usize) -> Option<Verb> {
        let fits = |verb: &Verb| {
            let gap = self.words.get(verb.end..name);
            gap.is_some_and(|gap| gap.iter().all(|word| is_filler(word)))
        };
        (self.gap_before(name).saturating_sub(VERB_WORDS)..name).find_map(|at| self.verb_at(at).filter(fits))
    }

    /// "My context window is nearly full", "context limit reached".
    fn verb_behind(&self, (name, end): (usize, usize)) -> Option<Claimed> {
        let subject = self.owner(name)?;
        let ceiling = (end + GAP).min(self.words.len());
        let verb = (end..ceiling).find_map(|at| {
            let filled = self.words[end..at].iter().all(|word| is_filler(word) || word == ":");
            filled.then(|| self.verb_at(at)).flatten()
        })?;
        let gap = &self.words[end..verb.start];
        // "The context overflow" is a name, "the context is full" is said.
        let named = subject == Subject::Other && gap.is_empty()
            || !OWNERS.contains(&self.before(name)) && self.is_topic(name);
        let goes_on = self.goes_on(verb.end) || percent(self.word(verb.end)).is_some();
        if named || !goes_on || self.conditional(name, verb.end) {
            return None;
        }
        let hedged = subject == Subject::Other
            || self.hedged(end, verb.end)
            || self.averted(name)
            || gap.iter().any(|word| HYPOTHETICAL.contains(&word.as_str()));
        Some(Claimed::of(verb.says, subject, hedged, (name, verb.end)))
    }

    /// The longest verb that begins here.
    fn verb_at(&self, at: usize) -> Option<Verb> {
        let lists = [
            (Claim::Scarce, &self.lexicon.scarce),
            (Claim::Near, &self.lexicon.nearly),
            (Claim::Own, &self.lexicon.used_up),
        ];
        let verb = |(says, list): (Claim, &List)| {
            list.at(self.words, at).map(|length| Verb { says, start: at, end: at + length })
        };
        lists.into_iter().filter_map(verb).max_by_key(|verb| verb.end)
    }

    /// "I'm at 91% of my context", "context at 93%".
    fn percentage(&self, (name, end): (usize, usize)) -> Option<Claimed> {
        let full = |at: &usize| self.share(*at).is_some_and(|percent| percent >= NEARLY_PERCENT);
        let ceiling = (end + GAP).min(self.words.len());
        let between = |from: usize, to: usize| {
            let known = |word: &String| {
                is_filler(word) || ["used", "full", "at", "token", ":"].contains(&word.as_str())
            };
            self.words[from..to].iter().all(known)
        };
        let behind = (end..ceiling).find(full).filter(|at| between(end, *at) && self.owner(name).is_some());
        let owned = |at: &usize| {
            let clause = self.words[..*at].iter().rev().take_while(|word| !is_mark(word));
            let own = |word: &String| SELVES.contains(&word.as_str()) || OWNERS.contains(&word.as_str());
            let about = clause.clone().any(|word| TOPICS.contains(&word.as_str()));
            !about && clause.chain(&self.words[*at..=name]).any(own)
        };
        let ahead = (name.saturating_sub(GAP)..name).rev().find(full);
        let ahead = ahead.filter(|at| between(at + 1, name) && owned(at));
        let little = || (0..self.words.len()).find(|at| self.is_little(*at));
        let at = behind.or(ahead).or_else(little)?;
        let words = (at.min(name), (at + 1).max(end));
        Some(Claimed {
            claim: Claim::Scarce,
            words,
            own: false,
            close: false,
            stops: false,
            interrupts: false,
        })
    }

    /// "91%", or "190k of my 200k".
    fn share(&self, at: usize) -> Option<f64> {
        let thousands = |at: usize| self.word(at).strip_suffix('k')?.parse::<f64>().ok();
        let whole = || (at + 2..at + 5).find_map(thousands).filter(|whole| *whole > 0.0);
        percent(self.word(at)).or_else(|| {
            let part = thousands(at).filter(|_| self.word(at + 1) == "of")?;
            Some(part * 100.0 / whole()?)
        })
    }

    /// "3% left", "2k tokens to spare".
    fn is_little(&self, at: usize) -> bool {
        let tokens = || self.word(at).strip_suffix('k')?.parse::<f64>().ok();
        let few =
            tokens().is_some_and(|tokens| tokens <= LITTLE_TOKENS) && self.word(at + 1).starts_with("token");
        let little = few || percent(self.word(at)).is_some_and(|percent| percent <= LITTLE_PERCENT);
        little && (at + 1..at + 1 + ROOM_WORDS).any(|next| ROOM.contains(&self.word(next)))
    }

    /// "Due to context limits", "reason: context limit", "context constraints prevent me from".
    fn reason(&self, (name, end): (usize, usize)) -> Option<Claimed> {
        let limiting = LIMITING.contains(&self.before(end)) || self.word(end).starts_with("reason");
        let from = self.gap_before(name);
        let caused = (from.saturating_sub(3)..name).any(|at| CAUSES.contains(&self.word(at)));
        let stops = PREVENTS.contains(&self.word(end))
            && self.words[end..].iter().take(3).any(|word| SELVES.contains(&word.as_str()));
        let labelled = self.before(from) == ":" && from > 1 && CAUSES.contains(&self.before(from - 1));
        let agent = self.words.iter().any(|word| SELVES.contains(&word.as_str()));
        let stated = limiting || labelled || agent && self.lexicon.stopping.all(self.words).next().is_some();
        (stated && caused && self.goes_on(end) || stops).then(|| Claimed::close((name, end), stops))
    }

    /// The agent's own context in whatever words: "what is left of my context", "I hit the wall on context". Where it does
    /// not say "my", something has to say that little is left.
    fn mention(&self, (name, end): (usize, usize)) -> Option<Claimed> {
        let from = self.gap_before(name);
        let has = |words: &[String], list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
        let owned = has(&self.words[from..=name], OWNERS)
            || self.word(end) == "i" && matches!(self.word(end + 1), "have" | "had");
        let ahead = &self.words[..name];
        let agent = has(self.words, SELVES)
            || has(self.words, OWNERS)
            || name <= BARE_START && !["at", "in", "on", "for", "to", "from"].contains(&self.word(0));
        let scarce = || has(self.words, ROOM) || has(&self.words[name..end], LIMITING) || self.says_scarce();
        let easy = has(&self.words[name.saturating_sub(4)..name], EASED)
            || self.words.windows(2).any(|pair| EASY.contains(&pair[1].as_str()) && pair[0] != "not")
            || (0..self.words.len()).any(|at| {
                percent(self.word(at)).is_some_and(|share| share < NEARLY_PERCENT && !self.is_little(at))
            });
        let about = !owned && has(ahead, TOPICS);
        // "The context limit in the config" is a thing that is elsewhere.
        let elsewhere = !owned
            && matches!(self.word(end), "in" | "from" | "of")
            && matches!(self.word(end + 1), "the" | "a")
            && !OWN_NOUNS.contains(&self.word(end + 2));
        // "I go on in this conversation".
        let within = has(&self.words[from..name], &["in"]) && !scarce();
        let says =
            !within && (owned || agent && scarce()) && !about && !elsewhere && !easy && self.goes_on(end);
        let hypothetical = self.conditional(name, end) || self.averted(from);
        (says && !hypothetical).then(|| Claimed { own: owned, ..Claimed::close((name, end), false) })
    }

    fn says_scarce(&self) -> bool {
        (0..self.words.len()).any(|at| {
            self.verb_at(at).is_some() || self.share(at).is_some_and(|share| share >= NEARLY_PERCENT)
        })
    }

    /// Whether the sentence may go on like this behind a name or a verb, which then is no part of a longer name.
    fn goes_on(&self, at: usize) -> bool {
        let word = self.word(at);
        // "Of 200k tokens", "of this model", but not "of the parser".
        let of = word == "of" && {
            let next = self.word(at + 1);
            is_filler(next) && next != "the" || NAME_TAIL.contains(&next) || self.word(at + 2) == "model"
        };
        if word == "of" {
            return of;
        }
        // "The context limits in values.yaml".
        if matches!(word, "in" | "for" | "from") && self.word(at + 1) == QUOTE {
            return false;
        }
        // "My context reading logs", but not "the context handling".
        let doing = word.ends_with("ing") && self.words[..at].iter().rev().take(GAP).any(|word| word == "my");
        doing
            || word.is_empty()
            || word.starts_with(|c: char| c.is_ascii_digit())
            || NUMBERS.contains(&word)
            || is_mark(word)
            || GOES_ON.contains(&word)
            || word.ends_with("ly")
            || percent(word).is_some()
            || self.lexicon.stopping.at(self.words, at).is_some()
            || self.lexicon.left.at(self.words, at).is_some()
    }

    /// Who does what a verb says, and whether only perhaps. None where it is denied.
    fn subject(&self, verb: usize) -> Option<(Subject, bool)> {
        let mut hedged = false;
        for at in (verb.saturating_sub(BACK)..verb).rev() {
            let word = self.word(at);
            if NEGATIONS.contains(&word) {
                return None;
            }
            if AVERTING.contains(&word) || matches!(word, "than" | "of") {
                return Some((self.inherited(at), true));
            }
            hedged |= HYPOTHETICAL.contains(&word) || matches!(word, "almost" | "nearly" | "about" | "close");
            if AUXILIARIES.contains(&word) || HYPOTHETICAL.contains(&word) || word.ends_with("ly") {
                continue;
            }
            return Some((self.who(at), hedged));
        }
        Some((Subject::Nothing, hedged))
    }

    fn who(&self, at: usize) -> Subject {
        let word = self.word(at);
        if SELVES.contains(&word) || OWNERS.contains(&word) {
            return Subject::Agent;
        }
        if OWN_NOUNS.contains(&word) {
            let own = at == 0
                || OWNERS.contains(&self.before(at))
                || self.before(at) == "the" && matches!(word, "session" | "conversation");
            return if own { Subject::Agent } else { Subject::Other };
        }
        if is_mark(word) {
            return if self.inherited(at) == Subject::Other { Subject::Other } else { Subject::Nothing };
        }
        const JOINING: &[&str] = &[
            "due", "given", "owing", "lack", "for", "of", "and", "but", "because", "since", "as", "after",
            "when", "while", "then", "there", "with", "from", "by", "on",
        ];
        if JOINING.contains(&word) { self.inherited(at) } else { Subject::Other }
    }

    /// The subject that a clause without one takes over from the words before it.
    fn inherited(&self, at: usize) -> Subject {
        let before = &self.words[..at];
        let own = |word: &String| SELVES.contains(&word.as_str()) || word == "my";
        let stops = || self.lexicon.stopping.all(before).next().is_some_and(|(start, _)| start <= 2);
        if before.iter().any(own) || stops() {
            Subject::Agent
        } else if before.len() <= 3 || before.last().is_some_and(|word| is_mark(word)) {
            Subject::Nothing
        } else {
            Subject::Other
        }
    }

    /// Whose context a name in front of its verb is. None where it is another's, or no context at all.
    fn owner(&self, name: usize) -> Option<Subject> {
        if OWNERS.contains(&self.word(name)) {
            return Some(Subject::Agent);
        }
        if self.before(name) == "its" {
            return None;
        }
        let mut at = name;
        while at > 0
            && is_filler(self.before(at))
            && !OWNERS.contains(&self.before(at))
            && self.before(at) != "the"
        {
            at -= 1;
        }
        let word = self.before(at);
        if OWNERS.contains(&word) {
            return Some(Subject::Agent);
        }
        let before = if word == "the" { self.before(at - 1) } else { word };
        const OPENING: &[&str] = &[
            "and", "but", "because", "since", "as", "so", "that", "before", "after", "when", "while",
            "though", "given", "now",
        ];
        if before.is_empty() || is_mark(before) || before.ends_with("ly") {
            return Some(Subject::Nothing);
        }
        if OPENING.contains(&before) {
            return Some(self.inherited(at.saturating_sub(1))).filter(|subject| *subject != Subject::Other);
        }
        let told = word == "the" && self.words.iter().any(|word| SELVES.contains(&word.as_str()));
        told.then_some(Subject::Other)
    }

    fn hedged(&self, from: usize, to: usize) -> bool {
        let words = self.words.get(from..to).unwrap_or_default();
        words.iter().any(|word| matches!(word.as_str(), "almost" | "nearly" | "about" | "close" | "most"))
    }

    /// "Before the context runs out".
    fn averted(&self, name: usize) -> bool {
        (name.saturating_sub(3)..name).any(|at| AVERTING.contains(&self.word(at)))
    }

    /// Whether it is said of a case, and not of now: "if I hit …", "when the context is full".
    fn conditional(&self, start: usize, end: usize) -> bool {
        let said = &self.words[start..end];
        let present = said.iter().any(|word| matches!(word.as_str(), "is" | "are" | "be" | "gets" | "get"));
        let past = !present && said.iter().any(|word| PAST.contains(&word.as_str()));
        let mut clause = (0..start).rev().take_while(|at| !is_mark(self.word(*at))).take(CLAUSE);
        clause.any(|at| {
            let next = self.word(at + 1);
            // "Where I run out" is here, "places where it is full" are elsewhere.
            let elsewhere = !SELVES.contains(&next) && !OWNERS.contains(&next) && start - at <= NEAR;
            match self.word(at) {
                "where" => elsewhere,
                "when" => !past,
                word => CONDITIONS.contains(&word),
            }
        })
    }
}

impl Claimed {
    /// What a verb says of a context, with its subject, and whether only nearly or perhaps.
    fn of(says: Claim, subject: Subject, hedged: bool, words: (usize, usize)) -> Self {
        let claim = match (says, subject) {
            (Claim::Own, _) if hedged => Claim::Near,
            (Claim::Own, Subject::Agent) => Claim::Own,
            (Claim::Own, _) => Claim::Bare,
            (says, _) => says,
        };
        Self { claim, words, own: subject == Subject::Agent, close: false, stops: false, interrupts: false }
    }

    /// A name that says something only close to a stop, or to work that is left.
    fn close(words: (usize, usize), stops: bool) -> Self {
        Self { claim: Claim::Scarce, words, own: false, close: true, stops, interrupts: false }
    }
}
