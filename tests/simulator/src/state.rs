//! What the simulator remembers while it serves, and what it decides from that and the script. Knows no HTTP.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::api_kind::ApiKind;
use crate::failure::{ErrorReason, ScriptedFailure};
use crate::model_request::ModelRequest;
use crate::reply::{self, PromptUsage, ReplyBlock};
use crate::script::ModelScript;

/// Requests that are remembered; a test that asks more is in a loop.
const MAX_REQUESTS: usize = 10_000;

/// Of a prompt this much is remembered.
const MAX_PROMPT_BYTES: usize = 64 << 10;

/// A request, for assertions.
#[derive(Clone, Debug)]
pub struct ServedRequest {
    /// The API that it came by.
    pub wire: ApiKind,
    /// The prompt that is being worked on, cut to 64 KiB.
    pub prompt: String,
    /// Its turns that are done.
    pub results: usize,
    /// Size of the whole prompt.
    pub prompt_tokens: u64,
    /// How it was answered.
    pub answered: AnswerKind,
}

/// How a request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// With text, by script.
    Said,
    /// With a call of this tool.
    Called(String),
    /// With a summary of the dialogue.
    Summarised,
    /// With a beginning that nothing follows.
    Hung,
    /// With a word, since it is no work on the prompt: a title, a suggestion.
    SideRequest,
    /// With a number: it was asked to count tokens.
    Counted,
    /// With a refusal: the prompt is too long.
    TooLong,
    /// With this status, or with an error in a stream that stands for it: the script fails it, the body is no JSON
    /// (400), there is no such path (404), or it wants a WebSocket (426).
    Failed(u16),
}

/// Everything that changes while serving.
#[derive(Debug, Default)]
struct ServingLog {
    requests: Vec<ServedRequest>,
    /// Main requests so far.
    main: u32,
    /// How often each failure of the script was used.
    failed: Vec<u32>,
    /// Tokens of the last prompt, by dialogue.
    cached: BTreeMap<String, u64>,
    /// Makes ids.
    ordinal: u64,
}

#[derive(Debug)]
pub(crate) struct SimulatorState {
    pub(crate) script: ModelScript,
    seen: Mutex<ServingLog>,
}

/// A refusal, and how it is sent.
pub(crate) struct PlannedError {
    pub(crate) refusal: ErrorReason,
    pub(crate) retry_after_s: Option<u32>,
    pub(crate) in_stream: bool,
}

impl SimulatorState {
    pub(crate) fn new(script: ModelScript) -> Self {
        let failed = vec![0; script.failures.len()];
        Self { script, seen: Mutex::new(ServingLog { failed, ..ServingLog::default() }) }
    }

    pub(crate) fn requests(&self) -> Vec<ServedRequest> {
        self.seen().requests.clone()
    }

    fn seen(&self) -> MutexGuard<'_, ServingLog> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tokens(&self, asked: &ModelRequest) -> u64 {
        self.script.tokens(asked.fixed_bytes, asked.message_bytes)
    }

    /// Makes an id.
    pub(crate) fn ordinal(&self) -> u64 {
        let mut seen = self.seen();
        seen.ordinal += 1;
        seen.ordinal
    }

    pub(crate) fn remember(&self, asked: &ModelRequest, answered: AnswerKind) {
        let prompt_tokens = self.tokens(asked);
        let mut prompt = asked.prompt.clone();
        prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT_BYTES));
        let (wire, results) = (asked.wire, asked.results);
        let mut seen = self.seen();
        if seen.requests.len() < MAX_REQUESTS {
            seen.requests.push(ServedRequest { wire, prompt, results, prompt_tokens, answered });
        }
    }

    /// Remembers what could not be read as a request.
    pub(crate) fn remember_unread(&self, wire: ApiKind, status: u16) {
        self.remember(&wire.read(&Value::Null), AnswerKind::Failed(status));
    }

    /// The refusal that this request meets: a failure of the script, or the limit of the window.
    pub(crate) fn refusing(&self, asked: &ModelRequest) -> Option<PlannedError> {
        if let Some(failure) = self.failure(asked) {
            let ScriptedFailure { refusal, retry_after_s, in_stream, .. } = failure.clone();
            return Some(PlannedError { refusal, retry_after_s, in_stream });
        }
        let tokens = self.tokens(asked);
        let max = self.script.max_prompt_tokens.filter(|max| tokens > *max)?;
        let refusal = ErrorReason::TooLong { tokens, max };
        Some(PlannedError { refusal, retry_after_s: None, in_stream: self.script.too_long_in_stream })
    }

    fn failure(&self, asked: &ModelRequest) -> Option<&ScriptedFailure> {
        if asked.aside {
            return None;
        }
        let mut seen = self.seen();
        seen.main += 1;
        let number = seen.main;
        let mut failures = self.script.failures.iter().zip(&mut seen.failed);
        let (failure, used) = failures.find(|(failure, used)| failure.meets(number, **used))?;
        *used += 1;
        Some(failure)
    }

    /// What the prompt takes, now that it is answered.
    pub(crate) fn usage(&self, asked: &ModelRequest) -> PromptUsage {
        let prompt = self.tokens(asked);
        // A side request has a dialogue of its own: it must not disturb the cache of the main one.
        let dialogue = format!("{}{}", asked.dialogue, if asked.aside { " aside" } else { "" });
        let last = self.seen().cached.insert(dialogue, prompt).unwrap_or(0);
        PromptUsage { prompt, cached: if last <= prompt { last } else { 0 } }
    }

    /// What the model answers, and the word for it.
    pub(crate) fn answer(&self, asked: &ModelRequest) -> (ReplyBlock, AnswerKind) {
        if asked.compaction {
            let summary = asked.summary.clone();
            let block = if asked.wordless { ReplyBlock::Summary(summary) } else { ReplyBlock::Text(summary) };
            return (block, AnswerKind::Summarised);
        }
        if asked.aside {
            return (ReplyBlock::Text("Simulated".to_owned()), AnswerKind::SideRequest);
        }
        let block = reply::block(self.script.step(asked), asked);
        let answered = match &block {
            ReplyBlock::Call(call) => AnswerKind::Called(call.tool.name.clone()),
            ReplyBlock::Hang => AnswerKind::Hung,
            ReplyBlock::Text(_) | ReplyBlock::Summary(_) => AnswerKind::Said,
        };
        (block, answered)
    }
}
