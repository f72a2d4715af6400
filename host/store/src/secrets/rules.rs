//! The rules as they are run: keywords first, then the expression of each rule whose keywords occur, then entropy and
//! allow lists, as Gitleaks does. Nothing here knows a kind of secret by name.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::SecretMatch;

/// Three of the expressions need more than the crate's default limit of 10 MiB; none needs as much as this.
const PROGRAM_BYTES: usize = 64 * 1024 * 1024;

static RULES: LazyLock<SecretRules> = LazyLock::new(|| {
    let file: RuleFile = serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/secret-rules.json")))
        .expect("the build script wrote this file");
    SecretRules::of(file)
});

/// The file that the build script wrote.
#[derive(Deserialize)]
struct RuleFile {
    rules: Vec<RawRule>,
    lists: Vec<RawAllowList>,
}

#[derive(Deserialize)]
struct RawRule {
    id: String,
    pattern: String,
    group: Option<usize>,
    /// A text with a match has a word of each of these sets.
    keywords: Vec<Vec<String>>,
    min_len: usize,
    entropy: Vec<EntropyFloor>,
    allow: Vec<usize>,
}

/// A secret of up to `max_len` bytes has more bits a character than this; the first floor that fits its length counts.
#[derive(Deserialize)]
struct EntropyFloor {
    max_len: Option<usize>,
    floor: f64,
}

#[derive(Deserialize)]
struct RawAllowList {
    all: bool,
    target: AllowTarget,
    regexes: Vec<String>,
    words: Vec<String>,
}

/// The part of a match that an allow list checks.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AllowTarget {
    Secret,
    Match,
    Line,
}

struct SecretRules {
    rules: Vec<SecretRule>,
    lists: Vec<AllowList>,
    /// All keywords of all rules, and for each the rules that have it, and in which of their sets.
    keywords: AhoCorasick,
    rules_of: Vec<Vec<(usize, u8)>>,
}

struct SecretRule {
    raw: RawRule,
    regex: LazyRegex,
}

struct AllowList {
    raw: RawAllowList,
    regexes: Vec<LazyRegex>,
    words: OnceLock<Option<AhoCorasick>>,
}

/// An expression that is compiled on first use. If this version of `regex` rejects it, it matches nothing; a test verifies that
/// no expression is rejected.
#[derive(Default)]
struct LazyRegex(OnceLock<Option<Regex>>);

impl LazyRegex {
    fn get(&self, pattern: &str) -> Option<&Regex> {
        self.0.get_or_init(|| compile(pattern).ok()).as_ref()
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    let build = |unicode| RegexBuilder::new(pattern).unicode(unicode).size_limit(PROGRAM_BYTES).build();
    // Go's `\w` and `\b` are those of ASCII, and Gitleaks' rules were written for Go. No key has a letter beyond it, so
    // that Keyhog's do well with it, too, but for the few that name a class of Unicode.
    build(false).or_else(|_| build(true))
}

impl SecretRules {
    fn of(file: RuleFile) -> Self {
        let mut words = BTreeMap::<&str, Vec<(usize, u8)>>::new();
        for (index, rule) in file.rules.iter().enumerate() {
            for (set, keyword) in
                (0..).zip(&rule.keywords).flat_map(|(n, set)| set.iter().map(move |word| (n, word)))
            {
                words.entry(keyword).or_default().push((index, 1 << set));
            }
        }
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // A DFA scans twice as fast, and takes four times as long to build: longer than most runs scan.
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(words.keys())
            .expect("a few thousand short words are within every limit");
        let rules_of = words.into_values().collect();
        let list = |raw: RawAllowList| {
            let regexes = raw.regexes.iter().map(|_| LazyRegex::default()).collect();
            AllowList { raw, regexes, words: OnceLock::new() }
        };
        Self {
            rules: file
                .rules
                .into_iter()
                .map(|raw| SecretRule { raw, regex: LazyRegex::default() })
                .collect(),
            lists: file.lists.into_iter().map(list).collect(),
            keywords,
            rules_of,
        }
    }
}

/// The kinds that are known; of some there are several rules.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    RULES.rules.iter().map(|rule| rule.raw.id.as_str())
}

/// Adds the matches of all rules in a piece that begins at `offset` of its text.
pub(super) fn scan(piece: &str, offset: usize, found: &mut Vec<SecretMatch>) {
    let rules: &'static SecretRules = &RULES;
    let mut met = vec![0_u8; rules.rules.len()];
    for keyword in rules.keywords.find_overlapping_iter(piece) {
        for &(rule, set) in &rules.rules_of[keyword.pattern().as_usize()] {
            met[rule] |= set;
        }
    }
    let due = |rule: &SecretRule, met: u8| met.count_ones() as usize == rule.raw.keywords.len();
    for (rule, _) in rules.rules.iter().zip(met).filter(|&(rule, met)| due(rule, met)) {
        rule.find(&rules.lists, piece, offset, found);
    }
}

impl SecretRule {
    fn find(&'static self, lists: &[AllowList], piece: &str, offset: usize, found: &mut Vec<SecretMatch>) {
        let Some(regex) = self.regex.get(&self.raw.pattern) else { return };
        for captures in regex.captures_iter(piece.as_bytes()) {
            let Some(whole) = captures.get(0) else { continue };
            // The first group that took part is the secret, as with Gitleaks; without groups it is the whole match.
            let secret = match self.raw.group {
                Some(group) => captures.get(group),
                None => captures.iter().skip(1).flatten().find(|group| !group.is_empty()),
            }
            .unwrap_or(whole);
            let (secret, whole) = (characters(piece, secret.range()), characters(piece, whole.range()));
            let text = &piece[secret.clone()];
            if text.len() < self.raw.min_len || self.is_too_plain(text) {
                continue;
            }
            let line = line_of(piece, &whole);
            if !self.raw.allow.iter().any(|&list| lists[list].allows(text, &piece[whole.clone()], line)) {
                let span = offset + secret.start..offset + secret.end;
                found.push(SecretMatch { kind: &self.raw.id, span });
            }
        }
    }
}

impl SecretRule {
    fn is_too_plain(&self, secret: &str) -> bool {
        let fits = |floor: &&EntropyFloor| floor.max_len.is_none_or(|most| secret.len() <= most);
        let floor = self.raw.entropy.iter().find(fits).map_or(0.0, |floor| floor.floor);
        floor > 0.0 && entropy(secret) <= floor
    }
}

impl AllowList {
    fn allows(&self, secret: &str, whole: &str, line: &str) -> bool {
        let target = match self.raw.target {
            AllowTarget::Secret => secret,
            AllowTarget::Match => whole,
            AllowTarget::Line => line,
        };
        let matches = || {
            let mut each = self.raw.regexes.iter().zip(&self.regexes);
            each.any(|(pattern, regex)| {
                regex.get(pattern).is_some_and(|regex| regex.is_match(target.as_bytes()))
            })
        };
        // Words are searched in the secret, regardless of the target of the expressions.
        let has_word = || {
            let words = self.words.get_or_init(|| {
                let mut builder = AhoCorasick::builder();
                builder.ascii_case_insensitive(true).build(&self.raw.words).ok()
            });
            words.as_ref().is_some_and(|words| words.is_match(secret))
        };
        if self.raw.all {
            (self.raw.regexes.is_empty() || matches()) && (self.raw.words.is_empty() || has_word())
        } else {
            (!self.raw.regexes.is_empty() && matches()) || (!self.raw.words.is_empty() && has_word())
        }
    }
}

/// An expression over bytes may stop within a character; the whole character belongs to the match.
fn characters(text: &str, bytes: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(bytes.start)..text.ceil_char_boundary(bytes.end)
}

/// The lines that contain a match.
fn line_of<'a>(text: &'a str, span: &Range<usize>) -> &'a str {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
    &text[start..end]
}

/// Bits a character, by Shannon.
fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::HashMap::<char, u32>::new();
    let mut total = 0_u32;
    for c in text.chars() {
        *counts.entry(c).or_default() += 1;
        total += 1;
    }
    counts.values().map(|&n| f64::from(n) / f64::from(total)).map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
pub(super) mod checks {
    use super::*;

    /// The expression of each of Gitleaks' rules (they alone know no least length), to make samples from.
    pub(in super::super) fn patterns() -> impl Iterator<Item = (&'static str, &'static str)> {
        RULES
            .rules
            .iter()
            .filter(|rule| rule.raw.min_len == 1)
            .map(|rule| (rule.raw.id.as_str(), rule.raw.pattern.as_str()))
    }

    #[test]
    fn every_expression_of_the_rules_compiles() {
        for rule in &RULES.rules {
            compile(&rule.raw.pattern).unwrap_or_else(|e| panic!("{}: {e}", rule.raw.id));
            let sets = &rule.raw.keywords;
            assert!(
                !sets.is_empty() && sets.len() <= 8,
                "{} needs between 1 and 8 sets of words",
                rule.raw.id
            );
            assert!(
                sets.iter().flatten().all(|word| !word.is_empty()),
                "{} would run on every text",
                rule.raw.id
            );
        }
        for pattern in RULES.lists.iter().flat_map(|list| &list.raw.regexes) {
            compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        }
    }
}
