//! Parses the bytes of a file into a call, or into a sentence about the problem. Independent of any folder.

use baton_core::SessionId;
use serde_json::{Map, Value};

use crate::error::FileProblem;
use crate::handoff_extraction;
use crate::instructions::KINDS;
use crate::tool_definitions::{ArgumentError, read, takes};
use crate::tool_requests::ToolCall;

/// The tool whose text is not for the host.
const HANDOFF: &str = "handoff_write";

/// The reason why a file is not a report.
#[derive(Debug)]
pub(crate) struct ParseFailure {
    /// The problem.
    pub(crate) problem: FileProblem,
    /// The JSON breaks off: it may still be being written.
    pub(crate) unfinished: bool,
}

/// Reads a report and the session that it names.
pub(crate) fn report(file: &str, bytes: &[u8]) -> Result<(Option<SessionId>, ToolCall), ParseFailure> {
    let value = serde_json::from_slice(bytes).map_err(|error| ParseFailure {
        problem: FileProblem {
            line: Some(error.line()),
            allowed: "a file holds one JSON object".to_owned(),
            ..FileProblem::new(file, format!("not JSON: {error}"))
        },
        unfinished: error.is_eof(),
    })?;
    object(value).map_err(|InvalidReport { fault, allowed }| {
        let line = fault.field.as_deref().and_then(|field| line_of(field, bytes));
        let problem =
            FileProblem { line, field: fault.field, allowed, ..FileProblem::new(file, fault.message) };
        ParseFailure { problem, unfinished: false }
    })
}

/// The problem of a JSON value, before its place in the file is known.
struct InvalidReport {
    fault: ArgumentError,
    allowed: String,
}

impl InvalidReport {
    fn new(field: Option<&str>, message: impl Into<String>, allowed: impl Into<String>) -> Self {
        let fault = ArgumentError { field: field.map(str::to_owned), message: message.into() };
        Self { fault, allowed: allowed.into() }
    }
}

fn object(value: Value) -> Result<(Option<SessionId>, ToolCall), InvalidReport> {
    let Value::Object(mut object) = value else {
        let allowed = format!("a report is an object with \"report\", one of {}", kinds());
        return Err(InvalidReport::new(None, "not a JSON object", allowed));
    };
    let session = match object.remove("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(SessionId::new(id)),
        Some(other) => {
            let allowed = "name your session as text (\"s3\") or leave it out";
            return Err(InvalidReport::new(Some("session"), format!("{other} is not text"), allowed));
        }
    };
    Ok((session, call(object)?))
}

fn call(mut object: Map<String, Value>) -> Result<ToolCall, InvalidReport> {
    let named = object.remove("report");
    let Some(kind) = KINDS.into_iter().find(|kind| named.as_ref().and_then(Value::as_str) == Some(*kind))
    else {
        let message = named
            .map_or_else(|| "it is missing".to_owned(), |other| format!("{other} is not a kind of report"));
        return Err(InvalidReport::new(Some("report"), message, format!("use one of {}", kinds())));
    };
    let tool = kind.replace('-', "_");
    let kept = (tool == HANDOFF).then(|| object.clone());
    read(&tool, object).or_else(|fault| {
        let salvaged =
            kept.and_then(|fields| handoff_extraction::handoff(&fields)).map(ToolCall::HandoffWrite);
        salvaged.filter(|handoff| handoff.check().is_ok()).ok_or_else(|| {
            let allowed = format!("{kind:?} takes {}, and session (text, optional)", takes(&tool));
            InvalidReport { fault, allowed }
        })
    })
}

fn kinds() -> String {
    KINDS.map(|kind| format!("{kind:?}")).join(", ")
}

/// The line on which a field is first named.
fn line_of(field: &str, bytes: &[u8]) -> Option<usize> {
    let outermost = field.split(['.', '[']).next()?;
    let key = serde_json::to_string(outermost).ok()?;
    let text = String::from_utf8_lossy(bytes);
    Some(text[..text.find(&key)?].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::INSTRUCTIONS;
    use crate::tool_requests::AttemptRecord;

    fn problem(text: &str) -> String {
        report("r.json", text.as_bytes()).unwrap_err().problem.to_string()
    }

    #[test]
    fn a_session_may_be_named() {
        let text = r#"{"session": "s3", "report": "attempt-record", "approach": "a", "outcome": "b"}"#;
        let (session, read) = report("r.json", text.as_bytes()).unwrap();
        assert_eq!(session, Some(SessionId::from("s3")));
        assert_eq!(
            read,
            ToolCall::AttemptRecord(AttemptRecord { approach: "a".into(), outcome: "b".into() })
        );
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
        assert!(nested.starts_with("r.json, line 1, field \"groups[0].objectives\": "), "{nested}");

        let empty = problem(r#"{"report": "gotcha-record", "gotcha": " "}"#);
        assert!(empty.starts_with("r.json, line 1, field \"gotcha\": it is empty; "), "{empty}");

        let kind = problem(r#"{"report": "progress"}"#);
        assert!(
            kind.contains("\"progress\" is not a kind of report; use one of \"objective-update\", "),
            "{kind}"
        );

        assert!(problem("[]").contains("not a JSON object"));
        assert!(problem(r#"{"session": 3, "report": "attempt-record"}"#).contains("3 is not text"));
        assert!(problem("{\n\"a\": x\n}").starts_with("r.json, line 2: not JSON: "));
    }

    // C23
    #[test]
    fn a_handoff_of_a_wrong_form_keeps_what_it_says() {
        let read = |text: &str| match report("r.json", text.as_bytes()) {
            Ok((_, ToolCall::HandoffWrite(handoff))) => handoff,
            other => panic!("{other:?}"),
        };
        let long = read(
            r#"{"report": "handoff-write", "current_state": "2 of 5", "immediate_next_action": ["case 3", "case 4"],
                "critical_context": ["a", "b", "c", "d", "e", "f"], "open": "parser", "branch": "main"}"#,
        );
        assert_eq!(long.current_state, "2 of 5\n- f\n- branch: main");
        assert_eq!(long.immediate_next_action, "case 3; case 4");
        assert_eq!((long.critical_context.len(), long.open.len()), (5, 1));

        let short = read(r#"{"report": "handoff-write", "critical_context": "the file is latin1"}"#);
        assert_eq!(short.critical_context, ["the file is latin1"]);
        assert!(short.immediate_next_action.starts_with("Go on with"), "{short:?}");

        let empty = problem(r#"{"report": "handoff-write", "current_state": " "}"#);
        assert!(empty.contains("immediate_next_action"), "{empty}");
    }

    #[test]
    fn what_the_host_alone_may_say_is_no_report_of_an_agent() {
        // A file must not be able to claim that something is in the store.
        assert!(problem(r#"{"report": "artifact-saved", "artifact": {}}"#).contains("not a kind of report"));
        assert!(problem(r#"{"report": "context-status"}"#).contains("not a kind of report"));
    }

    #[test]
    fn only_json_that_breaks_off_may_still_be_being_written() {
        let example = INSTRUCTIONS.lines().find(|line| line.contains("split-request")).unwrap();
        for end in 0..example.len() {
            assert!(report("r.json", &example.as_bytes()[..end]).unwrap_err().unfinished, "cut at {end}");
        }
        assert!(!report("r.json", b"{]").unwrap_err().unfinished);
        let deep = "[".repeat(100_000);
        assert!(report("r.json", deep.as_bytes()).is_err());
    }
}
