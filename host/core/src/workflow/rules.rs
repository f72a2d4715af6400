//! The entries of the policy `rules` (`builtin:rules`), whose settings are rules: the form of each, and the mistakes in
//! malformed ones. A schema of settings only requires lists of texts; the form of a text is checked here, for every source.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::file::suggest;
use super::turn_table::MODES;
use super::{AgentKind, SettingValue};

/// How a workflow names the policy whose settings are rules.
pub const RULES: &str = "builtin:rules";

/// The prefix of the path of a file of rules, in a reference to a policy.
pub const RULES_FILE: &str = "rules:";

/// Settings that are whole numbers and words have a schema; these are the lists.
const LISTS: [(&str, RuleEntryForm); 9] = [
    ("exhausted-phrases", RuleEntryForm::Phrase),
    ("quota-phrases", RuleEntryForm::Phrase),
    ("failed-phrases", RuleEntryForm::Phrase),
    ("stalled-phrases", RuleEntryForm::Phrase),
    ("compact-percent", RuleEntryForm::Threshold),
    ("hand-off-percent", RuleEntryForm::Threshold),
    ("never-split", RuleEntryForm::Pattern),
    ("turns-by-phase", RuleEntryForm::TurnsOfPhase),
    ("turns-by-mode", RuleEntryForm::TurnsOfMode),
];

/// Channels on which a phrase can be evidence.
const CHANNELS: [&str; 4] = ["agent-event", "provider-error", "agent-text", "terminal"];
/// The channel of a tool's output, which is not evidence.
const TOOL_OUTPUT: &str = "tool-output";
/// Characters of a phrase: a shorter one is in every text, a longer one in none.
const PHRASE_CHARS: RangeInclusive<usize> = 3..=200;
const PERCENT: RangeInclusive<u32> = 1..=99;
const TURNS: RangeInclusive<u32> = 1..=super::file::TURNS_MAX;
/// Stands for every agent, or every mode.
const ALL: &str = "*";

/// The form of the entries of a list.
#[derive(Clone, Copy, Debug)]
enum RuleEntryForm {
    /// `CHANNEL: PHRASE`.
    Phrase,
    /// `AGENT = PERCENT`.
    Threshold,
    /// `MODE = TURNS`.
    TurnsOfMode,
    /// `PHASE = TURNS`.
    TurnsOfPhase,
    /// The id or title of phases.
    Pattern,
}

/// The mistake in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidRuleEntry {
    /// Its place in the list, from 0.
    pub at: usize,
    /// The mistake, with the entry.
    pub what: String,
    /// The form that works.
    pub hint: String,
}

/// The mistakes in the entries of a list of the policy `rules`; other settings are unknown here.
pub fn wrong_entries(key: &str, entries: &[&str]) -> Vec<InvalidRuleEntry> {
    let Some((_, form)) = LISTS.iter().find(|(known, _)| *known == key) else { return Vec::new() };
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let checked = form.check(entry).and_then(|name| match names.insert(name) {
            true => Ok(()),
            false => {
                Err((format!("says a second time what is with {name:?}"), "leave one of them".to_owned()))
            }
        });
        if let Err((what, hint)) = checked {
            wrong.push(InvalidRuleEntry { at, what: format!("\"{}\" {what}", entry.escape_debug()), hint });
        }
    }
    wrong
}

/// The same for all settings, a line each: the key, and the mistake with its correction.
pub fn wrong_rules(settings: &BTreeMap<String, SettingValue>) -> Vec<(String, String)> {
    let lists = settings.iter().filter_map(|(key, value)| match value {
        SettingValue::Texts(entries) => Some((key, entries.iter().map(String::as_str).collect::<Vec<_>>())),
        _ => None,
    });
    lists
        .flat_map(|(key, entries)| {
            let wrong = wrong_entries(key, &entries).into_iter();
            wrong.map(|InvalidRuleEntry { what, hint, .. }| (key.clone(), format!("{what}; {hint}")))
        })
        .collect()
}

/// The mistake in an entry, and a valid form.
type RuleEntryProblem = (String, String);

impl RuleEntryForm {
    /// The subject of the entry: two of one list cannot have the same.
    fn check(self, entry: &str) -> Result<&str, RuleEntryProblem> {
        match self {
            RuleEntryForm::Phrase => phrase(entry),
            RuleEntryForm::Threshold => {
                let form = "AGENT = PERCENT, like \"claude = 75\"";
                numbered(
                    entry,
                    "is not a threshold",
                    form,
                    &PERCENT,
                    Some(("kind of agent", &AgentKind::NAMES)),
                )
            }
            RuleEntryForm::TurnsOfMode => {
                let modes = MODES.map(|mode| mode.name());
                let form = "MODE = TURNS, like \"swarm = 40\"";
                numbered(entry, "is not a budget", form, &TURNS, Some(("mode", &modes)))
            }
            RuleEntryForm::TurnsOfPhase => {
                numbered(entry, "is not a budget", "PHASE = TURNS, like \"docs-* = 8\"", &TURNS, None)
            }
            RuleEntryForm::Pattern if entry.trim().is_empty() => {
                let hint = "write the id or title of a phase; * stands for any characters: \"deploy-*\"";
                Err(("names no phase".to_owned(), hint.to_owned()))
            }
            RuleEntryForm::Pattern => Ok(entry.trim()),
        }
    }
}

fn phrase(entry: &str) -> Result<&str, RuleEntryProblem> {
    let form = || {
        format!(
            "write CHANNEL: PHRASE, like \"agent-text: context is full\"; a channel is {}",
            CHANNELS.join(", ")
        )
    };
    let (channel, phrase) = entry.split_once(':').ok_or_else(|| ("names no channel".to_owned(), form()))?;
    let channel = channel.trim();
    if channel == TOOL_OUTPUT {
        return Err((
            format!("names the channel `{TOOL_OUTPUT}`: what a tool printed is not evidence"),
            form(),
        ));
    }
    if !CHANNELS.contains(&channel) {
        let what = format!("names the channel `{}`, which is not known", channel.escape_debug());
        return Err((what, suggest(channel, CHANNELS)));
    }
    let chars = phrase.trim().chars().count();
    if !PHRASE_CHARS.contains(&chars) {
        let (least, most) = (PHRASE_CHARS.start(), PHRASE_CHARS.end());
        let hint = format!("a phrase has from {least} to {most}: a shorter one is in every text");
        return Err((format!("has a phrase of {chars} characters"), hint));
    }
    Ok(entry)
}

/// `names` are the accepted words before the sign, and their description; `*` is always accepted.
fn numbered<'e>(
    entry: &'e str,
    otherwise: &str,
    form: &str,
    bounds: &RangeInclusive<u32>,
    names: Option<(&str, &[&str])>,
) -> Result<&'e str, RuleEntryProblem> {
    let write = || format!("write {form}");
    let (name, number) = entry.rsplit_once('=').ok_or_else(|| (otherwise.to_owned(), write()))?;
    let (name, number) = (name.trim(), number.trim());
    if name.is_empty() {
        return Err((otherwise.to_owned(), write()));
    }
    if let Some((called, names)) = names.filter(|(_, names)| name != ALL && !names.contains(&name)) {
        let what = format!("names the {called} `{}`, which is not known", name.escape_debug());
        return Err((what, suggest(name, names.iter().copied().chain([ALL]))));
    }
    match number.parse() {
        Ok(number) if bounds.contains(&number) => Ok(name),
        _ => {
            let what = format!("has the number \"{}\"", number.escape_debug());
            let (least, most) = (bounds.start(), bounds.end());
            Err((what, format!("it must be a whole number from {least} to {most}: {form}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(key: &str, entries: &[&str]) -> Vec<String> {
        let wrong = wrong_entries(key, entries);
        wrong
            .into_iter()
            .map(|InvalidRuleEntry { at, what, hint }| format!("{at}: {what}\n    {hint}"))
            .collect()
    }

    #[test]
    fn every_form_has_entries_that_work() {
        for (key, entry) in [
            ("exhausted-phrases", "agent-text: context: used up"),
            ("failed-phrases", " terminal :out of memory"),
            ("compact-percent", "claude=75"),
            ("hand-off-percent", "* = 90"),
            ("turns-by-mode", "swarm = 40"),
            ("turns-by-phase", "a = b* = 10"),
            ("never-split", "deploy*"),
            ("after-failed", "no list"),
        ] {
            assert_eq!(told(key, &[entry]), [""; 0], "{key}");
        }
    }

    #[test]
    fn an_entry_of_another_form_is_named_with_the_form_that_works() {
        let phrases = [
            "context is full",
            "agent: context is full",
            "tool-output: full",
            "terminal: x",
            "terminal: full",
            "terminal: full",
        ];
        let thresholds =
            ["claude 75", "= 75", "claud = 75", "claude = 75 %", "claude = 100", "claude = 7", "claude = 8"];
        let told = [
            told("quota-phrases", &phrases),
            told("compact-percent", &thresholds),
            told("turns-by-mode", &["swrm = 40", "swarm = 0", "swarm"]),
            told("turns-by-phase", &["build", "build = many"]),
            told("never-split", &[" "]),
        ];
        insta::assert_snapshot!(told.concat().join("\n"));
        let settings = BTreeMap::from([
            ("never-split".to_owned(), SettingValue::Texts(vec!["deploy".to_owned(), String::new()])),
            ("objectives-at-most".to_owned(), SettingValue::Integer(5)),
        ]);
        let wrong = wrong_rules(&settings);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].1.starts_with("\"\" names no phase; write the id"), "{wrong:?}");
    }
}
