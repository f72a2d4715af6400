//! What a policy may ask of its host, as a trait: natively a mock, in a component the imports. It decides nothing.

use crate::types::{Span, TextId};

pub use crate::bindings::shared::baton::policy::artifacts::ReadError;
pub use crate::bindings::shared::baton::policy::log::Level;
pub use crate::bindings::shared::baton::policy::text::Hit;

/// The host's services (`wit/imports.wit`).
///
/// Decisions take it as `&impl Host`, not as a trait object: a component then imports only what it really calls, and
/// the host grants capabilities by looking at the imports.
pub trait Host {
    /// Writes a note for a person who debugs the policy. At most 16 messages of 1 KiB a call are kept.
    fn log(&self, level: Level, message: &str);

    /// The setting of type flag. Panics (a fault in the host's eyes) where the schema has none of that name and type;
    /// so do the other getters.
    fn flag(&self, key: &str) -> bool;

    /// The setting of type integer.
    fn integer(&self, key: &str) -> i64;

    /// The setting of type number.
    fn number(&self, key: &str) -> f64;

    /// The setting of type text.
    fn text(&self, key: &str) -> String;

    /// The setting of type texts.
    fn texts(&self, key: &str) -> Vec<String>;

    /// Length of a text in bytes; 0 for an unknown id.
    fn text_len(&self, text: TextId) -> u32;

    /// The text in `range`, clipped to the text and then widened outwards to UTF-8 boundaries, at most 64 KiB.
    fn text_slice(&self, text: TextId, range: Span) -> String;

    /// The first `limit` (at most 256) non-overlapping occurrences of any pattern in `range`, leftmost first and, at
    /// one place, the longest. ASCII letters match in either case. An empty pattern matches nothing.
    fn find_any(&self, text: TextId, range: Span, patterns: &[String], limit: u32) -> Vec<Hit>;

    /// The same with the patterns of a setting of type texts, which stay in the host: cheaper than [`Host::find_any`].
    fn find_setting(&self, text: TextId, range: Span, setting: &str, limit: u32) -> Vec<Hit>;

    /// Names of the artifacts that the workflow grants, newest version of each, at most 256.
    fn artifact_names(&self) -> Vec<String>;

    /// At most `limit` (and 64 KiB) bytes of an artifact's newest version from `offset`, widened to UTF-8 boundaries.
    ///
    /// # Errors
    /// [`ReadError`] where the artifact is not granted, not there, or no text.
    fn read_artifact(&self, name: &str, offset: u64, limit: u32) -> Result<String, ReadError>;
}

/// The host behind a component's imports.
#[cfg(target_arch = "wasm32")]
#[derive(Clone, Copy, Debug)]
pub struct Imports;

#[cfg(target_arch = "wasm32")]
mod imports {
    use super::{Hit, Host, Imports, Level, ReadError};
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
        fn artifact_names(&self) -> Vec<String> {
            artifacts::names()
        }
        fn read_artifact(&self, name: &str, offset: u64, limit: u32) -> Result<String, ReadError> {
            artifacts::read(name, offset, limit)
        }
    }
}
