//! A host for native tests: settings, texts and artifacts in memory, logs recorded. It keeps the contract's semantics of
//! reading to the letter, and enforces no limit of fuel, memory or time.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::types::{SettingValue, Span, TextId};
use crate::{
    Answer, Ask, Facts, Hit, Host, Level, Next, PastCompaction, PastHandoff, PastSession, PastWait,
    ReadError, Settings, TurnTaken, budgeting, compaction, completion, exhaustion, handoff, offloading,
    prompting, recovery, review, schema, splitting,
};

/// Bytes that one slice returns at most (`wit/imports.wit`).
const SLICE_BYTES: usize = 64 << 10;
/// Hits that one search returns at most.
const HITS: usize = 256;
/// Messages kept of one call, and bytes of each.
const LOG_MESSAGES: usize = 16;
const LOG_BYTES: usize = 1 << 10;
/// Facts of each kind returned at most (`wit/facts.wit`).
const PAST_SESSIONS: u32 = 16;
const TURNS_TAKEN: u32 = 8;
const PAST_COMPACTIONS: u32 = 16;
const PAST_WAITS: u32 = 16;
const PAST_HANDOFFS: u32 = 8;
/// Artifact names returned at most.
const ARTIFACT_NAMES: usize = 256;

/// A host in memory.
///
/// ```
/// use baton_sdk::{Host, MockHost, types::Span};
///
/// let mut host = MockHost::new();
/// let text = host.add_text("the context window is full");
/// let hits = host.find_any(text, Span { start: 0, end: u32::MAX }, &["Window".into()], 1);
/// assert_eq!((hits[0].pattern, hits[0].at.start), (0, 12));
/// ```
#[derive(Debug, Default)]
pub struct MockHost {
    settings: BTreeMap<String, SettingValue>,
    texts: Vec<String>,
    artifacts: BTreeMap<String, Vec<u8>>,
    facts: Facts,
    logs: RefCell<Vec<(Level, String)>>,
    next: Option<NextPolicy>,
}

/// Who answers a layer.
struct NextPolicy(Box<dyn Fn(Ask) -> Option<Answer>>);

impl std::fmt::Debug for NextPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NextPolicy")
    }
}

impl MockHost {
    /// A host without any setting.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost};
    ///
    /// assert_eq!(MockHost::new().text_len(0), 0);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// A host with the settings of a policy: its defaults, and what is given.
    ///
    /// # Panics
    /// Where the policy refuses what is given; a test should hear of it.
    ///
    /// ```
    /// use baton_sdk::prelude::*;
    /// use baton_sdk::MockHost;
    ///
    /// struct Calm;
    /// impl Settings for Calm {
    ///     fn schema() -> Vec<settings::Setting> {
    ///         vec![schema::integer("turns", 25, 1..=200, "Turns of a session.")]
    ///     }
    /// }
    /// assert_eq!(MockHost::with_settings_of::<Calm>(&[]).integer("turns"), 25);
    /// assert_eq!(MockHost::with_settings_of::<Calm>(&[("turns", SettingValue::Integer(30))]).integer("turns"), 30);
    /// ```
    pub fn with_settings_of<P: Settings>(given: &[(&str, SettingValue)]) -> Self {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        match schema::values(&P::schema(), given) {
            Ok(values) => Self::with_settings(values),
            Err(problem) => panic!("the host would refuse these settings: {problem}"),
        }
    }

    /// A host with these settings, as they are.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("loud".to_owned(), SettingValue::Flag(true))]);
    /// assert!(host.flag("loud"));
    /// ```
    pub fn with_settings(values: impl IntoIterator<Item = (String, SettingValue)>) -> Self {
        Self { settings: values.into_iter().collect(), ..Self::default() }
    }

    /// Adds a text and returns its id, counted from 0.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost};
    ///
    /// let mut host = MockHost::new();
    /// let text = host.add_text("as long as a novel");
    /// assert_eq!(host.text_len(text), 18);
    /// ```
    pub fn add_text(&mut self, text: impl Into<String>) -> TextId {
        self.texts.push(text.into());
        self.texts.len() as TextId - 1
    }

    /// Grants an artifact.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost};
    ///
    /// let mut host = MockHost::new();
    /// host.add_artifact("reports/lint", "clean");
    /// assert_eq!(host.read_artifact("reports/lint", 0, 100).unwrap(), "clean");
    /// ```
    pub fn add_artifact(&mut self, name: impl Into<String>, body: impl Into<Vec<u8>>) {
        self.artifacts.insert(name.into(), body.into());
    }

    /// Adds a session that came before all that were added so far.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.add_past_session(sample::past_session("s2"));
    /// host.add_past_session(sample::past_session("s1"));
    /// assert_eq!(host.past_sessions(1)[0].id, "s2");
    /// ```
    pub fn add_past_session(&mut self, session: PastSession) {
        self.facts.past_sessions.push(session);
    }

    /// Sets all that the host knows beside a question.
    ///
    /// ```
    /// use baton_sdk::{Facts, Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_facts(Facts { past_sessions: vec![sample::past_session("s1")], ..Facts::default() });
    /// assert_eq!(host.past_sessions(1)[0].id, "s1");
    /// ```
    pub fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
    }

    /// Says what the next policy of the chain answers, for the tests of a layer. `None` abstains.
    ///
    /// ```
    /// use baton_sdk::compaction::{Action, Decision};
    /// use baton_sdk::{Answer, MockHost, Next, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_next(|_| Some(Answer::Compaction(Decision::new(Action::Keep, "there is room"))));
    /// let next = host.next_compaction(&sample::compaction_observation());
    /// assert_eq!(next.unwrap().action, Action::Keep);
    /// ```
    pub fn set_next(&mut self, next: impl Fn(Ask) -> Option<Answer> + 'static) {
        self.next = Some(NextPolicy(Box::new(next)));
    }

    fn ask_next(&self, ask: impl FnOnce() -> Ask) -> Option<Answer> {
        self.next.as_ref().and_then(|next| (next.0)(ask()))
    }

    /// What was logged so far.
    ///
    /// ```
    /// use baton_sdk::{Host, Level, MockHost};
    ///
    /// let host = MockHost::new();
    /// host.log(Level::Debug, "two parts");
    /// assert_eq!(host.logs(), [(Level::Debug, "two parts".to_owned())]);
    /// ```
    pub fn logs(&self) -> Vec<(Level, String)> {
        self.logs.borrow().clone()
    }

    fn setting(&self, key: &str) -> &SettingValue {
        self.settings.get(key).unwrap_or_else(|| panic!("the policy's schema has no setting `{key}`"))
    }

    fn body(&self, text: TextId) -> &str {
        self.texts.get(text as usize).map_or("", String::as_str)
    }
}

/// The next policy, as [`MockHost::set_next`] says; an answer to another question is none.
impl Next for MockHost {
    fn next_assessment(&self, o: &exhaustion::Observation) -> Option<exhaustion::Assessment> {
        match self.ask_next(|| Ask::Assess(o.clone()))? {
            Answer::Assess(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_completion(&self, o: &completion::Observation) -> Option<completion::Decision> {
        match self.ask_next(|| Ask::Complete(o.clone()))? {
            Answer::Complete(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_recovery(&self, o: &recovery::Observation) -> Option<recovery::Decision> {
        match self.ask_next(|| Ask::Recover(o.clone()))? {
            Answer::Recover(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_offloading(&self, o: &offloading::Observation) -> Option<offloading::Decision> {
        match self.ask_next(|| Ask::Offload(o.clone()))? {
            Answer::Offload(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_compaction(&self, o: &compaction::Observation) -> Option<compaction::Decision> {
        match self.ask_next(|| Ask::Compaction(o.clone()))? {
            Answer::Compaction(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_split(&self, o: &splitting::Observation) -> Option<splitting::Decision> {
        match self.ask_next(|| Ask::Split(o.clone()))? {
            Answer::Split(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_turn_budget(&self, o: &budgeting::Observation) -> Option<budgeting::TurnBudget> {
        match self.ask_next(|| Ask::Budget(o.clone()))? {
            Answer::Budget(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_prompt(&self, o: &prompting::Observation) -> Option<prompting::Prompt> {
        match self.ask_next(|| Ask::Brief(o.clone()))? {
            Answer::Brief(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_handoff(&self, o: &handoff::Observation) -> Option<handoff::Composition> {
        match self.ask_next(|| Ask::Compose(o.clone()))? {
            Answer::Compose(answer) => Some(answer),
            _ => None,
        }
    }

    fn next_review(&self, o: &review::Observation) -> Option<review::Review> {
        match self.ask_next(|| Ask::Review(o.clone()))? {
            Answer::Review(answer) => Some(answer),
            _ => None,
        }
    }
}

/// The getters panic like the host's trap: a policy may only read what its own schema has.
impl Host for MockHost {
    fn log(&self, level: Level, message: &str) {
        let mut logs = self.logs.borrow_mut();
        if logs.len() < LOG_MESSAGES {
            logs.push((level, message[..message.floor_char_boundary(LOG_BYTES)].to_owned()));
        }
    }

    fn flag(&self, key: &str) -> bool {
        match self.setting(key) {
            SettingValue::Flag(value) => *value,
            other => panic!("setting `{key}` is no flag but {other:?}"),
        }
    }

    fn integer(&self, key: &str) -> i64 {
        match self.setting(key) {
            SettingValue::Integer(value) => *value,
            other => panic!("setting `{key}` is no integer but {other:?}"),
        }
    }

    fn number(&self, key: &str) -> f64 {
        match self.setting(key) {
            SettingValue::Number(value) => *value,
            other => panic!("setting `{key}` is no number but {other:?}"),
        }
    }

    fn text(&self, key: &str) -> String {
        match self.setting(key) {
            SettingValue::Text(value) => value.clone(),
            other => panic!("setting `{key}` is no text but {other:?}"),
        }
    }

    fn texts(&self, key: &str) -> Vec<String> {
        match self.setting(key) {
            SettingValue::Texts(value) => value.clone(),
            other => panic!("setting `{key}` is no list of texts but {other:?}"),
        }
    }

    fn text_len(&self, text: TextId) -> u32 {
        self.body(text).len() as u32
    }

    fn text_slice(&self, text: TextId, range: Span) -> String {
        widened(self.body(text), range.start as usize, range.end as usize).to_owned()
    }

    fn find_any(&self, text: TextId, range: Span, patterns: &[String], limit: u32) -> Vec<Hit> {
        find(self.body(text), range, patterns, limit)
    }

    fn find_setting(&self, text: TextId, range: Span, setting: &str, limit: u32) -> Vec<Hit> {
        find(self.body(text), range, &self.texts(setting), limit)
    }

    fn past_sessions(&self, limit: u32) -> Vec<PastSession> {
        newest(&self.facts.past_sessions, limit, PAST_SESSIONS)
    }

    fn turns_taken(&self, limit: u32) -> Vec<TurnTaken> {
        newest(&self.facts.turns_taken, limit, TURNS_TAKEN)
    }

    fn past_compactions(&self, limit: u32) -> Vec<PastCompaction> {
        newest(&self.facts.past_compactions, limit, PAST_COMPACTIONS)
    }

    fn past_waits(&self, limit: u32) -> Vec<PastWait> {
        newest(&self.facts.past_waits, limit, PAST_WAITS)
    }

    fn past_handoffs(&self, limit: u32) -> Vec<PastHandoff> {
        newest(&self.facts.past_handoffs, limit, PAST_HANDOFFS)
    }

    fn artifact_names(&self) -> Vec<String> {
        self.artifacts.keys().take(ARTIFACT_NAMES).cloned().collect()
    }

    fn read_artifact(&self, name: &str, offset: u64, limit: u32) -> Result<String, ReadError> {
        let bytes = self.artifacts.get(name).ok_or(ReadError::NotGranted)?;
        let text = std::str::from_utf8(bytes).map_err(|_| ReadError::NotText)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(widened(text, start, start.saturating_add(limit as usize)).to_owned())
    }
}

/// The range, clipped to the text, then widened outwards to whole characters, at most [`SLICE_BYTES`].
fn widened(text: &str, start: usize, end: usize) -> &str {
    let end = end.min(text.len());
    if start >= end {
        return "";
    }
    let start = text.floor_char_boundary(start);
    let longest = text.floor_char_boundary(start.saturating_add(SLICE_BYTES));
    &text[start..text.ceil_char_boundary(end).min(longest)]
}

/// At each byte of the range, the longest pattern that matches there; then on behind it.
fn newest<T: Clone>(known: &[T], limit: u32, most: u32) -> Vec<T> {
    known.iter().take(limit.min(most) as usize).cloned().collect()
}

fn find(text: &str, range: Span, patterns: &[String], limit: u32) -> Vec<Hit> {
    let end = text.len().min(range.end as usize);
    let mut at = end.min(range.start as usize);
    let mut hits = Vec::new();
    while at < end && hits.len() < HITS.min(limit as usize) {
        let rest = &text.as_bytes()[at..end];
        let matches = |pattern: &&(u32, &[u8])| {
            !pattern.1.is_empty()
                && rest.get(..pattern.1.len()).is_some_and(|head| head.eq_ignore_ascii_case(pattern.1))
        };
        let places: Vec<(u32, &[u8])> = (0..).zip(patterns.iter().map(String::as_bytes)).collect();
        // `max_by_key` takes the last of equals; of equal patterns the first counts.
        match places.iter().rev().filter(matches).max_by_key(|pattern| pattern.1.len()) {
            Some((pattern, body)) => {
                let next = at + body.len();
                hits.push(Hit { pattern: *pattern, at: Span { start: at as u32, end: next as u32 } });
                at = next;
            }
            None => at += 1,
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> (MockHost, TextId) {
        let mut host = MockHost::new();
        let id = host.add_text(text);
        (host, id)
    }

    fn found(text: &str, start: u32, end: u32, patterns: &[&str], limit: u32) -> Vec<(u32, u32, u32)> {
        let (host, id) = host(text);
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        let hits = host.find_any(id, Span { start, end }, &patterns, limit);
        hits.iter().map(|hit| (hit.pattern, hit.at.start, hit.at.end)).collect()
    }

    #[test]
    fn a_slice_is_clipped_and_widened_to_whole_characters() {
        let (host, id) = host("aéb");
        assert_eq!(host.text_len(id), 4);
        assert_eq!(host.text_slice(id, Span { start: 2, end: 3 }), "é");
        assert_eq!(host.text_slice(id, Span { start: 1, end: 2 }), "é");
        assert_eq!(host.text_slice(id, Span { start: 3, end: 99 }), "b");
        assert_eq!(host.text_slice(id, Span { start: 9, end: 3 }), "");
        assert_eq!(host.text_slice(7, Span { start: 0, end: 3 }), "");
        assert_eq!(host.text_len(7), 0);
    }

    #[test]
    fn leftmost_then_longest_ascii_case_folded_and_bounded() {
        assert_eq!(found("Prompt is TOO LONG", 0, 99, &["too", "too long"], 9), [(1, 10, 18)]);
        assert_eq!(found("aaa", 0, 3, &["aa", "a"], 9), [(0, 0, 2), (1, 2, 3)]);
        assert_eq!(found("é É", 0, 5, &["é"], 9), [(0, 0, 2)]);
        assert_eq!(found("x x x", 1, 99, &["", "x"], 1), [(1, 2, 3)]);
        assert_eq!(found("abc", 9, 2, &["a"], 9), []);
        assert_eq!(found(&"x".repeat(999), 0, 999, &["x"], u32::MAX).len(), HITS);
    }

    #[test]
    fn artifacts_are_granted_by_name_and_read_in_parts() {
        let mut host = MockHost::new();
        host.add_artifact("notes", "héllo");
        host.add_artifact("image", [0xff, 0xfe]);
        assert_eq!(host.artifact_names(), ["image", "notes"]);
        assert_eq!(host.read_artifact("notes", 2, 1).unwrap(), "é");
        assert_eq!(host.read_artifact("other", 0, 1), Err(ReadError::NotGranted));
        assert_eq!(host.read_artifact("image", 0, 1), Err(ReadError::NotText));
    }

    #[test]
    fn logs_are_recorded_within_bounds() {
        let host = MockHost::new();
        for _ in 0..20 {
            host.log(Level::Info, &"ä".repeat(LOG_BYTES));
        }
        assert_eq!(host.logs().len(), LOG_MESSAGES);
        assert_eq!(host.logs()[0].1.len(), LOG_BYTES);
    }
}
