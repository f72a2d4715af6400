//! Bytes of a file to a report, or to a sentence that says what is wrong with it. Knows no folder.

use baton_core::SessionId;
use baton_core::input::Report;
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::instructions::{KINDS, Kind};

/// Why a file is no report.
#[derive(Debug)]
pub(crate) struct Refused {
    /// What is wrong.
    pub(crate) problem: Problem,
    /// The JSON breaks off: it may still be being written.
    pub(crate) unfinished: bool,
}

/// Reads a report and the session that it names.
pub(crate) fn report(file: &str, bytes: &[u8]) -> Result<(Option<SessionId>, Report), Refused> {
    let value = serde_json::from_slice(bytes).map_err(|error| Refused {
        problem: Problem {
            line: Some(error.line()),
            allowed: "a file holds one JSON object".to_owned(),
            ..Problem::new(file, format!("not JSON: {error}"))
        },
        unfinished: error.is_eof(),
    })?;
    object(value).map_err(|wrong| {
        let line = wrong.field.as_deref().and_then(|field| line_of(field, bytes));
        let problem =
            Problem { line, field: wrong.field, allowed: wrong.allowed, ..Problem::new(file, wrong.message) };
        Refused { problem, unfinished: false }
    })
}

/// What is wrong with a JSON value, before it is known where in the file it stands.
struct Wrong {
    field: Option<String>,
    message: String,
    allowed: String,
}

fn object(value: Value) -> Result<(Option<SessionId>, Report), Wrong> {
    let Value::Object(mut object) = value else {
        let allowed = format!("a report is an object with \"report\", one of {}", kinds());
        return Err(Wrong { field: None, message: "not a JSON object".to_owned(), allowed });
    };
    let session = match object.remove("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(SessionId::new(id)),
        Some(other) => {
            return Err(Wrong {
                field: Some("session".to_owned()),
                message: format!("{other} is not text"),
                allowed: "name your session as text (\"s3\") or leave it out".to_owned(),
            });
        }
    };
    match serde_json::from_value(Value::Object(object.clone())) {
        Ok(report) => Ok((session, report)),
        Err(error) => Err(explain(&object, &error.to_string())),
    }
}

/// Finds the field at fault: the reader of a tagged enum says only what it expected, not where.
fn explain(object: &Map<String, Value>, said: &str) -> Wrong {
    let named = object.get("report");
    let Some(kind) = KINDS.iter().find(|kind| named.and_then(Value::as_str) == Some(kind.name)) else {
        return Wrong {
            field: Some("report".to_owned()),
            message: named
                .map_or_else(|| "it is missing".to_owned(), |other| format!("{other} is no kind of report")),
            allowed: format!("use one of {}", kinds()),
        };
    };
    let (field, message) = fault(kind, object).unwrap_or_else(|| (None, said.to_owned()));
    Wrong { field, message, allowed: kind.allowed() }
}

fn fault(kind: &Kind, object: &Map<String, Value>) -> Option<(Option<String>, String)> {
    let takes = |key: &str| key == "report" || kind.fields.iter().any(|(name, ..)| *name == key);
    if let Some(unknown) = object.keys().find(|key| !takes(key)) {
        return Some((Some(unknown.clone()), "unknown field".to_owned()));
    }
    if let Some((missing, ..)) =
        kind.fields.iter().find(|(name, _, required)| *required && !object.contains_key(*name))
    {
        return Some((Some((*missing).to_owned()), "it is missing".to_owned()));
    }
    let example: Map<String, Value> = serde_json::from_str(kind.example).ok()?;
    kind.fields.iter().find_map(|(name, ..)| {
        let mut tried = example.clone();
        tried.insert((*name).to_owned(), object.get(*name)?.clone());
        let error = serde_json::from_value::<Report>(Value::Object(tried)).err()?;
        Some((Some((*name).to_owned()), error.to_string()))
    })
}

fn kinds() -> String {
    KINDS.map(|kind| format!("{:?}", kind.name)).join(", ")
}

/// The line on which a field is first named.
fn line_of(field: &str, bytes: &[u8]) -> Option<usize> {
    let key = serde_json::to_string(field).ok()?;
    let text = String::from_utf8_lossy(bytes);
    Some(text[..text.find(&key)?].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        report("r.json", text.as_bytes()).unwrap_err().problem.to_string()
    }

    #[test]
    fn a_session_may_be_named() {
        let text = r#"{"session": "s3", "report": "attempt-record", "approach": "a", "outcome": "b"}"#;
        let (session, read) = report("r.json", text.as_bytes()).unwrap();
        assert_eq!(session, Some(SessionId::from("s3")));
        assert_eq!(read, Report::AttemptRecord { approach: "a".into(), outcome: "b".into() });
    }

    #[test]
    fn a_problem_names_line_field_and_what_is_allowed() {
        let unknown = problem("{\"report\": \"attempt-record\",\n\"approach\": \"a\",\n\"outcom\": \"b\"}");
        assert!(unknown.starts_with("r.json, line 3, field \"outcom\": unknown field; "), "{unknown}");
        assert!(
            unknown.contains("approach (text), outcome (text), and session (text, optional)"),
            "{unknown}"
        );

        let missing = problem(r#"{"report": "objective-update", "objective": "a"}"#);
        assert!(missing.starts_with("r.json, field \"status\": it is missing; "), "{missing}");

        let wrong =
            problem("{\"report\": \"objective-update\", \"objective\": \"a\",\n \"status\": \"finished\"}");
        assert!(wrong.starts_with("r.json, line 2, field \"status\": unknown variant"), "{wrong}");

        let nested = problem(
            r#"{"report": "split-request", "rationale": "r", "groups": [{"title": "t", "objectives": "a"}]}"#,
        );
        assert!(nested.starts_with("r.json, line 1, field \"groups\": "), "{nested}");

        let kind = problem(r#"{"report": "progress"}"#);
        assert!(
            kind.contains("\"progress\" is no kind of report; use one of \"objective-update\", "),
            "{kind}"
        );

        assert!(problem("[]").contains("not a JSON object"));
        assert!(problem(r#"{"session": 3, "report": "attempt-record"}"#).contains("3 is not text"));
        assert!(problem("{\n\"a\": x\n}").starts_with("r.json, line 2: not JSON: "));
    }

    #[test]
    fn only_json_that_breaks_off_may_still_be_being_written() {
        let whole = KINDS[3].example.as_bytes();
        for end in 0..whole.len() {
            assert!(report("r.json", &whole[..end]).unwrap_err().unfinished, "cut at {end}");
        }
        assert!(!report("r.json", b"{]").unwrap_err().unfinished);
        let deep = "[".repeat(100_000);
        assert!(report("r.json", deep.as_bytes()).is_err());
    }
}
