//! Values that the host hands to agents by name: it knows them exactly, of any form. They live as long as the process.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use super::SecretMatch;

/// How such a value is called in a masked text.
pub(super) const KIND: &str = "environment";

/// A shorter value is a word or a number, which would be found everywhere.
const BYTES_MIN: usize = 8;

static VALUES: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// From now on these values are secrets in every text. Short ones are not, nor are paths of this machine.
pub fn register_known(values: impl IntoIterator<Item = String>) {
    let is_secret =
        |value: &String| value.len() >= BYTES_MIN && !(value.starts_with('/') && Path::new(value).exists());
    let mut known = VALUES.write().unwrap_or_else(PoisonError::into_inner);
    for value in values.into_iter().map(|value| value.trim().to_owned()).filter(is_secret) {
        if !known.contains(&value) {
            known.push(value);
        }
    }
}

pub(super) fn scan(text: &str, offset: usize, found: &mut Vec<SecretMatch>) {
    for value in VALUES.read().unwrap_or_else(PoisonError::into_inner).iter() {
        let spans = text.match_indices(value.as_str());
        found.extend(
            spans.map(|(at, _)| SecretMatch { kind: KIND, span: offset + at..offset + at + value.len() }),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::{mask, mask_line};
    use super::*;

    #[test]
    fn what_is_handed_over_is_masked_exactly() {
        let said = "log in as correct horse \"battery\" staple, then print";
        assert_eq!(mask(said), said);
        register_known([
            "correct horse \"battery\" staple".to_owned(),
            "short".to_owned(),
            "/usr/bin".to_owned(),
        ]);
        assert_eq!(mask(said), "log in as [secret: environment], then print");
        let line = serde_json::json!({ "text": said }).to_string();
        let masked: serde_json::Value = serde_json::from_str(&mask_line(&line)).unwrap();
        assert_eq!(masked["text"], "log in as [secret: environment], then print");
        assert_eq!(mask("a short one in /usr/bin"), "a short one in /usr/bin");
    }
}
