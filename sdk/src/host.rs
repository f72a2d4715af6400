//! What a policy may ask of its host, as a trait: natively a mock, in a component the imports. It decides nothing.

use crate::next::Next;
use crate::types::{Span, TextId};

pub use crate::bindings::facts::baton::policy::facts_compactions::PastCompaction;
pub use crate::bindings::facts::baton::policy::facts_handoffs::PastHandoff;
pub use crate::bindings::facts::baton::policy::facts_history::PastSession;
pub use crate::bindings::facts::baton::policy::facts_turns::TurnTaken;
pub use crate::bindings::facts::baton::policy::facts_waits::PastWait;
pub use crate::bindings::shared::baton::policy::artifacts::ReadError;
pub use crate::bindings::shared::baton::policy::log::Level;
pub use crate::bindings::shared::baton::policy::text::Hit;

/// The host's services (`wit/imports.wit`), and for layers the next policy of the chain ([`Next`]).
///
/// Decisions take it as `&impl Host`, not as a trait object: a component then imports only what it really calls, and
/// the host grants capabilities by looking at the imports.
///
/// ```
/// use baton_sdk::{Host, MockHost, types::{Span, TextId}};
///
/// /// The first line of a text, however long that is.
/// fn first_line(host: &impl Host, text: TextId) -> String {
///     let beginning = host.text_slice(text, Span { start: 0, end: 200 });
///     beginning.lines().next().unwrap_or_default().to_owned()
/// }
///
/// let mut host = MockHost::new();
/// let text = host.add_text("# Handoff\n\nThe lexer is done.");
/// assert_eq!(first_line(&host, text), "# Handoff");
/// ```
pub trait Host: Next {
    /// Writes a note for a person who debugs the policy. At most 16 messages of 1 KiB a call are kept.
    ///
    /// ```
    /// use baton_sdk::{Host, Level, MockHost};
    ///
    /// let host = MockHost::new();
    /// host.log(Level::Info, "six objectives, two parts");
    /// assert_eq!(host.logs().len(), 1);
    /// ```
    fn log(&self, level: Level, message: &str);

    /// The setting of type flag. Panics (a fault in the host's eyes) where the schema has none of that name and type;
    /// so do the other getters.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("loud".to_owned(), SettingValue::Flag(true))]);
    /// assert!(host.flag("loud"));
    /// ```
    fn flag(&self, key: &str) -> bool;

    /// The setting of type integer.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("turns".to_owned(), SettingValue::Integer(25))]);
    /// assert_eq!(host.integer("turns"), 25);
    /// ```
    fn integer(&self, key: &str) -> i64;

    /// The setting of type number.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("percent".to_owned(), SettingValue::Number(70.0))]);
    /// assert_eq!(host.number("percent"), 70.0);
    /// ```
    fn number(&self, key: &str) -> f64;

    /// The setting of type text.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("rules".to_owned(), SettingValue::Text("No TODOs.".into()))]);
    /// assert_eq!(host.text("rules"), "No TODOs.");
    /// ```
    fn text(&self, key: &str) -> String;

    /// The setting of type texts.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::SettingValue};
    ///
    /// let host = MockHost::with_settings([("phrases".to_owned(), SettingValue::Texts(vec!["too long".into()]))]);
    /// assert_eq!(host.texts("phrases"), ["too long"]);
    /// ```
    fn texts(&self, key: &str) -> Vec<String>;

    /// Length of a text in bytes; 0 for an unknown id.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost};
    ///
    /// let mut host = MockHost::new();
    /// let text = host.add_text("größer");
    /// assert_eq!((host.text_len(text), host.text_len(99)), (8, 0));
    /// ```
    fn text_len(&self, text: TextId) -> u32;

    /// The text in `range`, clipped to the text and then widened outwards to UTF-8 boundaries, at most 64 KiB.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::Span};
    ///
    /// let mut host = MockHost::new();
    /// let text = host.add_text("größer");
    /// // Byte 3 is the second half of the ö.
    /// assert_eq!(host.text_slice(text, Span { start: 3, end: u32::MAX }), "ößer");
    /// ```
    fn text_slice(&self, text: TextId, range: Span) -> String;

    /// The first `limit` (at most 256) non-overlapping occurrences of any pattern in `range`, leftmost first and, at
    /// one place, the longest. ASCII letters match in either case. An empty pattern matches nothing.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::Span};
    ///
    /// let mut host = MockHost::new();
    /// let text = host.add_text("Error 429: rate limit");
    /// let patterns = ["rate limit".to_owned(), "error".to_owned()];
    /// let hits = host.find_any(text, Span { start: 0, end: u32::MAX }, &patterns, 8);
    /// let found: Vec<(u32, u32)> = hits.iter().map(|hit| (hit.pattern, hit.at.start)).collect();
    /// assert_eq!(found, [(1, 0), (0, 11)]);
    /// ```
    fn find_any(&self, text: TextId, range: Span, patterns: &[String], limit: u32) -> Vec<Hit>;

    /// The same with the patterns of a setting of type texts, which stay in the host: cheaper than [`Host::find_any`].
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, types::{SettingValue, Span}};
    ///
    /// let phrases = SettingValue::Texts(vec!["prompt is too long".into()]);
    /// let mut host = MockHost::with_settings([("phrases".to_owned(), phrases)]);
    /// let text = host.add_text("400: Prompt is too long");
    /// let whole = Span { start: 0, end: host.text_len(text) };
    /// assert!(!host.find_setting(text, whole, "phrases", 1).is_empty());
    /// ```
    fn find_setting(&self, text: TextId, range: Span, setting: &str, limit: u32) -> Vec<Hit>;

    /// The sessions of the phase before the present one, newest first, at most `limit` and 16. Empty in questions that were recorded
    /// before the host told of them.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.add_past_session(sample::past_session("s1"));
    /// assert_eq!(host.past_sessions(8)[0].id, "s1");
    /// ```
    fn past_sessions(&self, limit: u32) -> Vec<PastSession>;

    /// What the newest turns of the session took, newest first, at most `limit` and 8.
    ///
    /// ```
    /// use baton_sdk::{Facts, Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_facts(Facts { turns_taken: vec![sample::turn_taken(7)], ..Facts::default() });
    /// assert_eq!(host.turns_taken(8)[0].took_ms, 30_000);
    /// ```
    fn turns_taken(&self, limit: u32) -> Vec<TurnTaken>;

    /// Where the phase's sessions made room, newest first, at most `limit` and 16.
    ///
    /// ```
    /// use baton_sdk::{Facts, Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_facts(Facts { past_compactions: vec![sample::past_compaction("s1")], ..Facts::default() });
    /// assert_eq!(host.past_compactions(8)[0].before_tokens, Some(160_000));
    /// ```
    fn past_compactions(&self, limit: u32) -> Vec<PastCompaction>;

    /// The waits of the phase for a provider, newest first, at most `limit` and 16; one that is under way has no end.
    ///
    /// ```
    /// use baton_sdk::{Facts, Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_facts(Facts { past_waits: vec![sample::past_wait()], ..Facts::default() });
    /// assert!(host.past_waits(8)[0].ended_at_ms.is_some());
    /// ```
    fn past_waits(&self, limit: u32) -> Vec<PastWait>;

    /// The handoffs that the phase's sessions left, newest first, at most `limit` and 8.
    ///
    /// ```
    /// use baton_sdk::{Facts, Host, MockHost, sample};
    ///
    /// let mut host = MockHost::new();
    /// host.set_facts(Facts { past_handoffs: vec![sample::past_handoff("s1")], ..Facts::default() });
    /// assert_eq!(host.past_handoffs(8)[0].score, Some(95));
    /// ```
    fn past_handoffs(&self, limit: u32) -> Vec<PastHandoff>;

    /// Names of the artifacts that the workflow grants, newest version of each, at most 256.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost};
    ///
    /// let mut host = MockHost::new();
    /// host.add_artifact("reports/lint", "clean");
    /// assert_eq!(host.artifact_names(), ["reports/lint"]);
    /// ```
    fn artifact_names(&self) -> Vec<String>;

    /// At most `limit` (and 64 KiB) bytes of an artifact's newest version from `offset`, widened to UTF-8 boundaries.
    ///
    /// # Errors
    /// [`ReadError`] where the artifact is not granted, not there, or no text.
    ///
    /// ```
    /// use baton_sdk::{Host, MockHost, ReadError};
    ///
    /// let mut host = MockHost::new();
    /// host.add_artifact("reports/lint", "clean");
    /// assert_eq!(host.read_artifact("reports/lint", 0, 3).unwrap(), "cle");
    /// assert_eq!(host.read_artifact("secrets", 0, 3), Err(ReadError::NotGranted));
    /// ```
    fn read_artifact(&self, name: &str, offset: u64, limit: u32) -> Result<String, ReadError>;
}

/// The host behind a component's imports.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Imports;

#[cfg(target_arch = "wasm32")]
mod imports {
    use super::{
        Hit, Host, Imports, Level, PastCompaction, PastHandoff, PastSession, PastWait, ReadError, TurnTaken,
    };
    use crate::bindings::facts::baton::policy::{
        facts_compactions, facts_handoffs, facts_history, facts_turns, facts_waits,
    };
    use crate::bindings::shared::baton::policy::{artifacts, config, log, text};
    use crate::types::{Span, TextId};

    impl Host for Imports {
        fn log(&self, level: Level, message: &str) {
            log::write(level, message);
        }
        fn flag(&self, key: &str) -> bool {
            config::get_flag(key)
        }
        fn integer(&self, key: &str) -> i64 {
            config::get_integer(key)
        }
        fn number(&self, key: &str) -> f64 {
            config::get_number(key)
        }
        fn text(&self, key: &str) -> String {
            config::get_text(key)
        }
        fn texts(&self, key: &str) -> Vec<String> {
            config::get_texts(key)
        }
        fn text_len(&self, id: TextId) -> u32 {
            text::len(id)
        }
        fn text_slice(&self, id: TextId, range: Span) -> String {
            text::slice(id, range)
        }
        fn find_any(&self, id: TextId, range: Span, patterns: &[String], limit: u32) -> Vec<Hit> {
            text::find_any(id, range, patterns, limit)
        }
        fn find_setting(&self, id: TextId, range: Span, setting: &str, limit: u32) -> Vec<Hit> {
            text::find_setting(id, range, setting, limit)
        }
        fn past_sessions(&self, limit: u32) -> Vec<PastSession> {
            facts_history::past_sessions(limit)
        }
        fn turns_taken(&self, limit: u32) -> Vec<TurnTaken> {
            facts_turns::turns_taken(limit)
        }
        fn past_compactions(&self, limit: u32) -> Vec<PastCompaction> {
            facts_compactions::past_compactions(limit)
        }
        fn past_waits(&self, limit: u32) -> Vec<PastWait> {
            facts_waits::past_waits(limit)
        }
        fn past_handoffs(&self, limit: u32) -> Vec<PastHandoff> {
            facts_handoffs::past_handoffs(limit)
        }
        fn artifact_names(&self) -> Vec<String> {
            artifacts::names()
        }
        fn read_artifact(&self, name: &str, offset: u64, limit: u32) -> Result<String, ReadError> {
            artifacts::read(name, offset, limit)
        }
    }
}
