//! A handoff file of a wrong form. The agent that wrote it may have ended when that is found, so its content is kept instead of being sent
//! back (C23): text that does not fit its field is in the state, as it was written.

use baton_core::ObjectiveId;
use serde_json::{Map, Value};

use crate::handoff_markdown::{NO_NEXT, NO_STATE};
use crate::tool_requests::HandoffWrite;
use crate::validation::{FACTS_MAX, FILES_MAX, TEXT_BYTES_MAX};

/// The content of such a file; none if it has no content. The fields are those of a `handoff-write`, of any type.
pub(crate) fn handoff(fields: &Map<String, Value>) -> Option<HandoffWrite> {
    let mut state = text(fields.get("current_state"));
    let next = texts(fields.get("immediate_next_action")).join("; ");
    let mut context = texts(fields.get("critical_context"));
    let mut files = texts(fields.get("critical_files"));
    let mut beyond = context.split_off(context.len().min(FACTS_MAX));
    beyond.extend(files.split_off(files.len().min(FILES_MAX)));
    let known = ["current_state", "immediate_next_action", "critical_context", "critical_files", "open"];
    let unknown = fields.iter().filter(|(key, _)| !known.contains(&key.as_str()));
    beyond.extend(unknown.map(|(key, value)| format!("{key}: {}", text(Some(value)))));
    for line in beyond {
        state.push_str("\n- ");
        state.push_str(&line);
    }
    if state.trim().is_empty() && next.is_empty() && context.is_empty() {
        return None;
    }
    let or = |text: String, otherwise: &str| {
        let text = text.trim();
        if text.is_empty() { otherwise.to_owned() } else { cut(text) }
    };
    Some(HandoffWrite {
        current_state: or(state, NO_STATE),
        immediate_next_action: or(next, NO_NEXT),
        critical_context: context.iter().map(|fact| cut(fact)).collect(),
        // A line 0, or an empty one, is not a place in a file.
        critical_files: files.iter().map(|file| file.trim_end_matches(":0").to_owned()).collect(),
        open: texts(fields.get("open")).into_iter().map(ObjectiveId::new).collect(),
    })
}

/// The texts of a list, or the single text in place of a list.
fn texts(value: Option<&Value>) -> Vec<String> {
    let items = match value {
        Some(Value::Array(items)) => items.iter().map(|item| text(Some(item))).collect(),
        value => vec![text(value)],
    };
    items.into_iter().filter(|text: &String| !text.trim().is_empty()).collect()
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}
