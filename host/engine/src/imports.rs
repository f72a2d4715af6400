//! The imports of a policy: `log`, `config`, `text`, facts (`facts.rs`), `artifacts` if granted, and in a layer the next policy
//! (`layer.rs`). Every call is bounded and pays fuel, so that it is deterministic and a flood of calls ends like any other
//! loop. No import gives access to a clock, to randomness or to files.

use std::sync::Arc;

use baton_core::Digest;
use baton_core::observation::TextSpan;
use baton_core::workflow::SettingValue;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use crate::bindings::artifacts::ReadError;
use crate::bindings::{log, text, types};
use crate::contract::interface;
use crate::facts;
use crate::grants::ArtifactSource;
use crate::host_state::{HostState, LogLevel};
use crate::layer;
use crate::limits::{BEHIND_MAX, NEXT_CALLS_MAX};
use crate::patterns::{Patterns, TooManyPatterns, clip};

/// Interfaces that every component may import.
pub(crate) const FREE: [&str; 10] = [
    "types",
    "questions",
    "log",
    "config",
    "text",
    "facts-history",
    "facts-turns",
    "facts-compactions",
    "facts-waits",
    "facts-handoffs",
];

/// The interface that needs a grant.
pub(crate) const ARTIFACTS: &str = "artifacts";

/// Fuel for one call of an import: covers the host's machine time (some 100 ns); an honest decision makes some dozens of calls.
pub(crate) const CALL_FUEL: u64 = 1_000;

/// Fuel for a byte that is scanned or copied.
pub(crate) const BYTE_FUEL: u64 = 1;

/// Passing an entry of a list costs as much as this many bytes, regardless of its content.
pub(crate) const ENTRY_BYTES: usize = 32;

/// Fuel for a byte of a pattern that comes with the call: an automaton is built from it.
pub(crate) const PATTERN_BYTE_FUEL: u64 = 2_000;

/// Most bytes of one slice or read (as `wit/imports.wit` promises).
pub(crate) const SLICE_BYTES: usize = 64 << 10;

/// A call that the contract does not allow; it traps.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuestMisuse {
    #[error("asked for the setting {key:?} as {wanted}, but it is {found}")]
    Setting { key: String, wanted: &'static str, found: &'static str },
    #[error(transparent)]
    Patterns(#[from] TooManyPatterns),
    #[error("asked the next policy more than {NEXT_CALLS_MAX} times")]
    NextCalls,
    #[error("more than {BEHIND_MAX} evaluations were asked of the policies behind it in one decision")]
    Behind,
}

/// What a call of an import gives.
pub(crate) type ImportResult<T> = wasmtime::Result<(T,)>;

pub(crate) type GuestStore<'a> = StoreContextMut<'a, HostState>;

/// Takes fuel for a call that handles `bytes`. What is not there is not taken: the call traps as out of fuel.
pub(crate) fn pay(store: &mut GuestStore<'_>, fuel: u64) -> wasmtime::Result<()> {
    let left = store.get_fuel()?;
    match left.checked_sub(fuel) {
        Some(left) => store.set_fuel(left),
        None => {
            store.set_fuel(0)?;
            Err(wasmtime::Trap::OutOfFuel.into())
        }
    }
}

pub(crate) fn for_bytes(bytes: usize) -> u64 {
    CALL_FUEL.saturating_add(BYTE_FUEL.saturating_mul(bytes as u64))
}

/// Defines everything a policy may import; the loader has refused components with imports that were not granted.
pub(crate) fn define(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    linker.instance(&interface("types"))?;
    define_log(linker)?;
    define_config(linker)?;
    define_text(linker)?;
    define_artifacts(linker)?;
    facts::define(linker)?;
    layer::define(linker)
}

fn define_log(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut log = linker.instance(&interface("log"))?;
    log.func_wrap("write", |mut store: GuestStore<'_>, (level, message): (log::Level, String)| {
        pay(&mut store, for_bytes(message.len()))?;
        let level = match level {
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
        };
        store.data_mut().log.write(level, &message);
        Ok(())
    })
}

fn define_config(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    /// One typed getter.
    macro_rules! getter {
        ($config:expr, $name:literal, $wanted:literal, $variant:ident, |$value:ident| $bytes:expr) => {
            $config.func_wrap($name, |mut store: GuestStore<'_>, (key,): (String,)| -> ImportResult<_> {
                let settings = Arc::clone(&store.data().settings);
                match settings.values.get(&key) {
                    Some(SettingValue::$variant($value)) => {
                        pay(&mut store, for_bytes($bytes))?;
                        Ok(($value.clone(),))
                    }
                    other => Err(wrong_setting(key, $wanted, other)),
                }
            })?;
        };
    }
    let mut config = linker.instance(&interface("config"))?;
    getter!(config, "get-flag", "a flag", Flag, |value| 0);
    getter!(config, "get-integer", "an integer", Integer, |value| 0);
    getter!(config, "get-number", "a number", Number, |value| 0);
    getter!(config, "get-text", "a text", Text, |value| value.len());
    getter!(config, "get-texts", "texts", Texts, |value| list_bytes(value));
    Ok(())
}

/// What a list costs: its entries, each of which the guest makes room for, and their bytes.
fn list_bytes(entries: &[String]) -> usize {
    entries.iter().map(|entry| entry.len() + ENTRY_BYTES).sum()
}

fn wrong_setting(key: String, wanted: &'static str, found: Option<&SettingValue>) -> wasmtime::Error {
    let found = found.map_or("not in its schema", type_name);
    GuestMisuse::Setting { key, wanted, found }.into()
}

/// The type of a value, with its article.
pub(crate) fn type_name(value: &SettingValue) -> &'static str {
    match value {
        SettingValue::Flag(_) => "a flag",
        SettingValue::Integer(_) => "an integer",
        SettingValue::Number(_) => "a number",
        SettingValue::Text(_) => "a text",
        SettingValue::Texts(_) => "a list of texts",
    }
}

fn define_text(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut text = linker.instance(&interface("text"))?;
    text.func_wrap("len", |mut store: GuestStore<'_>, (id,): (u32,)| -> ImportResult<u32> {
        pay(&mut store, CALL_FUEL)?;
        Ok((store.data().text(id).len() as u32,))
    })?;
    text.func_wrap(
        "slice",
        |mut store: GuestStore<'_>, (id, range): (u32, types::Span)| -> ImportResult<String> {
            let slice = widened(store.data().text(id), span(range)).to_owned();
            pay(&mut store, for_bytes(slice.len()))?;
            Ok((slice,))
        },
    )?;
    text.func_wrap(
        "find-any",
        |mut store: GuestStore<'_>, (id, range, patterns, limit): (u32, types::Span, Vec<String>, u32)| {
            let bytes: usize = patterns.iter().map(String::len).sum();
            pay(&mut store, PATTERN_BYTE_FUEL.saturating_mul((bytes + patterns.len()) as u64))?;
            let patterns = Patterns::new(&patterns).map_err(GuestMisuse::from)?;
            find(store, id, span(range), &patterns, limit)
        },
    )?;
    text.func_wrap(
        "find-setting",
        |store: GuestStore<'_>, (id, range, key, limit): (u32, types::Span, String, u32)| {
            let settings = Arc::clone(&store.data().settings);
            match settings.patterns(&key) {
                Some(patterns) => find(store, id, span(range), patterns, limit),
                None => {
                    let found = settings.values.get(&key);
                    Err(wrong_setting(key, "texts", found))
                }
            }
        },
    )
}

fn span(range: types::Span) -> TextSpan {
    TextSpan { start: range.start, end: range.end }
}

/// Pays for the whole range first, so that the price does not depend on the result, then searches it.
fn find(
    mut store: GuestStore<'_>,
    id: u32,
    range: TextSpan,
    patterns: &Patterns,
    limit: u32,
) -> ImportResult<Vec<text::Hit>> {
    let (start, end) = clip(store.data().text(id).len(), range);
    pay(&mut store, for_bytes(end - start))?;
    let hits = patterns.find(&store.data_mut().folded(id), range, limit);
    // Behind each hit the search may have looked ahead as far as the longest pattern goes, and turned back. What that
    // costs is known only now; a call that cannot pay for it is the last one.
    pay(&mut store, BYTE_FUEL.saturating_mul(patterns.longest_bytes().saturating_mul(hits.len()) as u64))?;
    let hit = |hit: &crate::patterns::Hit| text::Hit {
        pattern: hit.pattern,
        at: types::Span { start: hit.at.start, end: hit.at.end },
    };
    Ok((hits.iter().map(hit).collect(),))
}

/// The range, clipped to the text and to [`SLICE_BYTES`], then widened outwards to whole characters.
fn widened(text: &str, range: TextSpan) -> &str {
    let (start, end) = clip(text.len(), range);
    if start == end {
        return "";
    }
    let start = text.floor_char_boundary(start);
    let longest = text.floor_char_boundary(start.saturating_add(SLICE_BYTES));
    &text[start..text.ceil_char_boundary(end).min(longest)]
}

/// The text of an artifact. The host reads it whole, so all of it is paid for, once: it stays at hand for the reads that
/// follow, as long as they are of the same one.
fn artifact(
    store: &mut GuestStore<'_>,
    source: &dyn ArtifactSource,
    digest: &Digest,
) -> wasmtime::Result<Result<Arc<str>, ReadError>> {
    if let Some((_, text)) = store.data().read.as_ref().filter(|(read, _)| read == digest) {
        return Ok(Ok(Arc::clone(text)));
    }
    let Some(bytes) = source.read(digest) else { return Ok(Err(ReadError::NotFound)) };
    pay(store, BYTE_FUEL.saturating_mul(bytes.len() as u64))?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(Err(ReadError::NotText)) };
    let text: Arc<str> = text.into();
    store.data_mut().read = Some((digest.clone(), Arc::clone(&text)));
    Ok(Ok(text))
}

fn define_artifacts(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    let mut artifacts = linker.instance(&interface("artifacts"))?;
    artifacts.func_wrap("names", |mut store: GuestStore<'_>, (): ()| -> ImportResult<Vec<String>> {
        let names: Vec<String> = store.data_mut().artifacts().iter().map(|(name, _)| name.clone()).collect();
        pay(&mut store, for_bytes(list_bytes(&names)))?;
        Ok((names,))
    })?;
    artifacts.func_wrap(
        "read",
        |mut store: GuestStore<'_>,
         (name, offset, limit): (String, u64, u32)|
         -> ImportResult<Result<String, ReadError>> {
            pay(&mut store, CALL_FUEL)?;
            let Some(source) = store.data().grants.artifacts.clone() else {
                return Ok((Err(ReadError::NotGranted),));
            };
            let listed = store.data_mut().artifacts();
            let Some(digest) =
                listed.iter().find(|(known, _)| *known == name).map(|(_, digest)| digest.clone())
            else {
                return Ok((Err(ReadError::NotGranted),));
            };
            let text = match artifact(&mut store, source.as_ref(), &digest)? {
                Ok(text) => text,
                Err(error) => return Ok((Err(error),)),
            };
            let start = u32::try_from(offset).unwrap_or(u32::MAX);
            let part = widened(&text, TextSpan { start, end: start.saturating_add(limit) }).to_owned();
            pay(&mut store, BYTE_FUEL.saturating_mul(part.len() as u64))?;
            Ok((Ok(part),))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(text: &str, start: u32, end: u32) -> &str {
        widened(text, TextSpan { start, end })
    }

    #[test]
    fn a_slice_is_clipped_and_widened_to_whole_characters() {
        assert_eq!(slice("aéb", 2, 3), "é");
        assert_eq!(slice("aéb", 1, 2), "é");
        assert_eq!(slice("aéb", 2, 2), "");
        assert_eq!(slice("aéb", 3, 99), "b");
        assert_eq!(slice("aéb", 9, 3), "");
        assert_eq!(slice("", 0, 1), "");
    }

    #[test]
    fn a_slice_is_never_longer_than_promised() {
        let long = "é".repeat(SLICE_BYTES);
        for start in 0..3 {
            assert!(slice(&long, start, u32::MAX).len() <= SLICE_BYTES);
        }
    }
}
