//! What an agent has told of each of its calls: all of it, since a request for permission may name the call by its id alone, or say
//! less than an earlier message. Judges nothing.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;
use serde_json::Value;

/// Calls that are remembered. An agent asks about a call right after it has told of it.
const CALLS_MAX: usize = 1024;
/// Bytes of calls that are over, and of all.
const OVER_BYTES_MAX: usize = 4 << 20;
const BYTES_MAX: usize = 16 << 20;
/// The states of a call that is over.
const OVER: [&str; 2] = ["completed", "failed"];
/// The message that begins a call.
const BEGIN: &str = "tool_call";

/// A message about a call: an update of a session, or a request.
#[derive(Deserialize)]
struct CallMessage {
    params: CallMessageParams,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallMessageParams {
    update: Option<CallTelling>,
    tool_call: Option<CallTelling>,
}

/// What one message tells of a call. Whatever form it has, it is read.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CallTelling {
    session_update: Value,
    tool_call_id: Value,
    kind: Value,
    status: Value,
    title: Value,
    name: Value,
    raw_input: Value,
    content: Value,
    locations: Value,
    #[serde(rename = "_meta")]
    meta: Value,
}

/// Everything that the agent reported on a call. Later data is added, and replaces nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct CallRecord {
    pub(super) kinds: BTreeSet<String>,
    /// Of the tool, for programs.
    pub(super) names: BTreeSet<String>,
    /// Of the tool, for people.
    pub(super) titles: BTreeSet<String>,
    /// Of the MCP server that the tool is of.
    pub(super) servers: BTreeSet<String>,
    /// Its inputs, as JSON.
    inputs: BTreeSet<String>,
    /// Files that it is about, and that it shows changes of.
    pub(super) paths: BTreeSet<String>,
    pub(super) has_terminal: bool,
    /// Some of it could not be read or kept.
    pub(super) is_incomplete: bool,
    is_over: bool,
}

impl CallRecord {
    pub(super) fn add(&mut self, told: &CallTelling) {
        let put = |set: &mut BTreeSet<String>, value: Option<&Value>| {
            set.extend(value.and_then(Value::as_str).map(str::to_owned));
        };
        put(&mut self.kinds, Some(&told.kind));
        put(&mut self.names, Some(&told.name));
        put(&mut self.names, told.meta.pointer("/claudeCode/toolName"));
        put(&mut self.titles, Some(&told.title));
        put(&mut self.servers, told.meta.pointer("/claudeCode/mcpServer/name"));
        if !told.raw_input.is_null() {
            self.inputs.insert(told.raw_input.to_string());
        }
        let of_call = [&told.locations, &told.content];
        for shown in of_call.into_iter().filter_map(Value::as_array).flatten() {
            put(&mut self.paths, shown.get("path"));
            self.has_terminal |= shown.get("type").and_then(Value::as_str) == Some("terminal");
        }
        self.is_over |= told.status.as_str().is_some_and(|status| OVER.contains(&status));
    }

    /// Its inputs.
    pub(super) fn inputs(&self) -> Vec<Value> {
        self.inputs.iter().map(|input| serde_json::from_str(input).unwrap_or_default()).collect()
    }

    fn bytes(&self) -> usize {
        let sets = [&self.kinds, &self.names, &self.titles, &self.servers, &self.inputs, &self.paths];
        sets.into_iter().flatten().map(String::len).sum()
    }
}

/// The calls of a session, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ToldCalls {
    calls: VecDeque<(String, CallRecord)>,
    /// Whether data on an unknown call was lost: only the data of calls that began later is complete.
    has_gap: bool,
}

impl ToldCalls {
    /// Takes a line of the agent.
    pub(super) fn take(&mut self, line: &[u8]) {
        let Ok(CallMessage { params }) = serde_json::from_slice::<CallMessage>(line) else { return };
        for told in [params.update, params.tool_call].into_iter().flatten() {
            if let Some(id) = told.tool_call_id.as_str() {
                self.add(id, &told);
            }
        }
    }

    /// Takes the beginning of a line that was too long to be read.
    pub(super) fn take_beginning(&mut self, beginning: &[u8]) {
        let text = String::from_utf8_lossy(beginning);
        let behind = |key: &str| {
            let rest = text.split_once(key)?.1.trim_start().strip_prefix(':')?.trim_start();
            rest.strip_prefix('"')?.split_once('"').map(|(id, _)| id.to_owned())
        };
        match behind("\"toolCallId\"") {
            Some(id) => self.record(&id).is_incomplete = true,
            None => {
                self.has_gap = true;
                self.calls.iter_mut().for_each(|(_, record)| record.is_incomplete = true);
            }
        }
        self.shrink();
    }

    /// The data that was reported on a call up to now.
    pub(super) fn of(&self, id: &str) -> CallRecord {
        let known = self.calls.iter().find(|(known, _)| known == id).map(|(_, record)| record.clone());
        known.unwrap_or_else(|| self.unknown())
    }

    fn unknown(&self) -> CallRecord {
        CallRecord { is_incomplete: self.has_gap, ..CallRecord::default() }
    }

    fn add(&mut self, id: &str, told: &CallTelling) {
        let begins = told.session_update.as_str() == Some(BEGIN);
        let is_new = !self.calls.iter().any(|(known, _)| known == id);
        let record = self.record(id);
        if is_new && begins {
            record.is_incomplete = false;
        }
        record.add(told);
        self.shrink();
    }

    fn record(&mut self, id: &str) -> &mut CallRecord {
        let at = self.calls.iter().position(|(known, _)| known == id).unwrap_or_else(|| {
            let unknown = self.unknown();
            self.calls.push_back((id.to_owned(), unknown));
            self.calls.len() - 1
        });
        &mut self.calls[at].1
    }

    /// Forgets the oldest calls, those first that are over.
    fn shrink(&mut self) {
        let of = |calls: &VecDeque<(String, CallRecord)>, over: bool| -> usize {
            let counted = calls.iter().filter(|(_, record)| record.is_over || !over);
            counted.map(|(id, record)| id.len() + record.bytes()).sum()
        };
        let is_full =
            |calls: &VecDeque<(String, CallRecord)>| calls.len() > CALLS_MAX || of(calls, false) > BYTES_MAX;
        while is_full(&self.calls) || of(&self.calls, true) > OVER_BYTES_MAX {
            let over = self.calls.iter().position(|(_, record)| record.is_over);
            self.has_gap |= over.is_none();
            if self.calls.remove(over.unwrap_or_default()).is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn take(calls: &mut ToldCalls, what: &str, call: &Value) {
        let mut update = call.clone();
        update["sessionUpdate"] = json!(what);
        let message = json!({ "method": "session/update", "params": { "update": update } });
        calls.take(message.to_string().as_bytes());
    }

    #[test]
    fn everything_that_is_told_of_a_call_is_kept() {
        // N6
        let mut calls = ToldCalls::default();
        take(
            &mut calls,
            "tool_call",
            &json!({ "toolCallId": "a", "kind": "other", "rawInput": { "do": "x" } }),
        );
        let shown = json!([{ "type": "terminal" }, { "type": "diff", "path": "p" }, 1]);
        let more =
            json!({ "toolCallId": "a", "kind": "read", "rawInput": {}, "content": shown, "locations": 5 });
        take(&mut calls, "tool_call_update", &more);
        let request =
            json!({ "params": { "toolCall": { "toolCallId": "a", "title": "t", "rawInput": [1] } } });
        calls.take(request.to_string().as_bytes());
        let known = calls.of("a");
        assert_eq!(known.kinds.iter().collect::<Vec<_>>(), ["other", "read"]);
        assert_eq!(known.inputs(), [json!([1]), json!({ "do": "x" }), json!({})]);
        assert!(known.has_terminal && known.paths.contains("p") && known.titles.contains("t"));
        assert!(calls.of("b").kinds.is_empty() && !calls.of("b").is_incomplete);
    }

    #[test]
    fn what_could_not_be_read_or_kept_is_known_as_missing() {
        // N6: data in a line that is too long, or too old, may be the command.
        let mut calls = ToldCalls::default();
        let call = |id: &str| json!({ "toolCallId": id, "kind": "read" });
        take(&mut calls, "tool_call", &call("a"));
        calls.take_beginning(br#"{"params":{"update":{"toolCallId" : "a","rawInput":{"command":"x"#);
        assert!(calls.of("a").is_incomplete && !calls.of("b").is_incomplete);
        take(&mut calls, "tool_call", &call("b"));
        calls.take_beginning(br#"{"params":{"update":{"rawInput":{"command":"x"#);
        assert!(calls.of("b").is_incomplete && calls.of("c").is_incomplete);
        take(&mut calls, "tool_call", &call("c"));
        take(&mut calls, "tool_call_update", &call("d"));
        assert!(!calls.of("c").is_incomplete && calls.of("d").is_incomplete);

        let mut calls = ToldCalls::default();
        take(&mut calls, "tool_call", &call("first"));
        let over = |n: usize| json!({ "toolCallId": n.to_string(), "status": "completed" });
        (0..CALLS_MAX).for_each(|n| take(&mut calls, "tool_call", &over(n)));
        assert!(calls.of("first").kinds.contains("read") && !calls.has_gap);
        (0..CALLS_MAX).for_each(|n| take(&mut calls, "tool_call", &call(&format!("open-{n}"))));
        assert!(calls.of("first").is_incomplete && calls.calls.len() == CALLS_MAX);

        let mut calls = ToldCalls::default();
        let long = json!({ "toolCallId": "a", "rawInput": { "content": "x".repeat(BYTES_MAX) } });
        take(&mut calls, "tool_call", &long);
        assert!(calls.of("a").is_incomplete && calls.calls.is_empty());
    }
}
