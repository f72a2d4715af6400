//! Small values of a workflow file: ids, durations, money, relative paths. No positions and no files here.

use crate::time::DurationMs;

/// An id is at most this long: it becomes a column of a table and a part of file names.
pub(super) const ID_CHARS_MAX: usize = 40;

/// The form of an id, for messages.
pub(super) const ID_RULE: &str = "use 1 to 40 of the characters A-Z a-z 0-9 . _ -";

/// Whether a text can be an id. Ids become file names, so `.` and `..` cannot.
pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= ID_CHARS_MAX
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().any(|b| b != b'.')
}

/// Whether a text can name an environment variable.
pub fn is_variable_name(text: &str) -> bool {
    let first_fits = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first_fits && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// "500ms", "90s", "30m", "2h": a whole number and its unit.
pub(super) fn duration(text: &str) -> Option<DurationMs> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    let unit_ms: u64 = match text[digits..].trim() {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        _ => return None,
    };
    number.checked_mul(unit_ms).map(DurationMs)
}

/// US dollars to millionths. The schema has bounded the amount, so it neither overflows nor is negative.
pub(super) fn microusd(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

/// Why a text cannot name a file of the workspace, if so.
pub(super) fn path_fault(path: &str) -> Option<&'static str> {
    if path.starts_with('/') || path.starts_with('\\') || path.as_bytes().get(1) == Some(&b':') {
        return Some("is absolute; write it relative to the workspace");
    }
    if path.contains('\0') || path.contains('\n') {
        return Some("has a character that no file name should have");
    }
    let mut parts = path.split('/');
    if path.split('/').any(|part| part == "..") {
        return Some("leads out with `..`; write it relative to the workspace");
    }
    if path.split('/').any(|part| part.is_empty() || part == ".") {
        return Some("has an empty part or a `.`; write the plain path, as in `src/parser.sh`");
    }
    if matches!(parts.next(), Some(".baton" | ".git")) {
        return Some("belongs to git or to Baton; an agent does not write there");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(duration("90s"), Some(DurationMs::from_secs(90)));
        assert_eq!(duration("30m"), Some(DurationMs::from_mins(30)));
        assert_eq!(duration("2h"), Some(DurationMs::from_mins(120)));
        assert_eq!(duration("250ms"), Some(DurationMs(250)));
        for bad in ["", "s", "90", "1.5h", "-3s", "3 days", "99999999999999999999h", "18446744073709551615h"]
        {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn money_is_counted_in_millionths() {
        assert_eq!(microusd(2.5), 2_500_000);
        assert_eq!(microusd(0.1 + 0.2), 300_000);
    }

    #[test]
    fn no_file_leads_out_of_the_workspace() {
        assert_eq!(path_fault("src/parser.sh"), None);
        assert_eq!(path_fault(".gitignore"), None);
        for bad in [
            "/etc/passwd",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            "",
            "C:\\x",
            "a\0b",
            ".git/config",
            ".baton/x",
        ] {
            assert!(path_fault(bad).is_some(), "{bad}");
        }
    }
}
