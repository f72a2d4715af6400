//! The HTTP server: takes requests, asks the script, answers, and remembers both.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures::stream;
use serde_json::{Value, json};

use crate::answer::{self, Block, Usage};
use crate::asked::Asked;
use crate::script::{Script, Step};

/// Larger than any prompt that fits a window.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Requests that are remembered; a test that asks more is in a loop.
const MAX_REQUESTS: usize = 10_000;

/// Of a prompt this much is remembered.
const MAX_PROMPT_BYTES: usize = 64 << 10;

/// A request, for assertions.
#[derive(Clone, Debug)]
pub struct Request {
    /// The prompt that is being worked on, cut to 64 KiB.
    pub prompt: String,
    /// Its turns that are done.
    pub results: usize,
    /// Size of the whole prompt.
    pub prompt_tokens: u64,
    /// How it was answered.
    pub answered: Answered,
}

/// How a request was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// With text, by script.
    Said,
    /// With a call of this tool.
    Called(String),
    /// With a summary of the dialogue.
    Summarised,
    /// With a word, since the request offers no tools: a side request.
    Aside,
    /// With a number: it was asked to count tokens.
    Counted,
    /// With 400: the prompt is too long.
    TooLong,
    /// With this status: the script fails it, the body is no JSON (400), or there is no such path (404).
    Failed(u16),
}

/// Everything that changes while serving.
#[derive(Debug, Default)]
struct Seen {
    requests: Vec<Request>,
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
pub(crate) struct State {
    script: Script,
    seen: Mutex<Seen>,
}

impl State {
    pub(crate) fn new(script: Script) -> Self {
        let failed = vec![0; script.failures.len()];
        Self { script, seen: Mutex::new(Seen { failed, ..Seen::default() }) }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen().requests.clone()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self, asked: &Asked) -> u64 {
        self.script.tokens(asked.fixed_bytes, asked.message_bytes)
    }

    fn remember(&self, asked: &Asked, answered: Answered) {
        let mut seen = self.seen();
        if seen.requests.len() < MAX_REQUESTS {
            let mut prompt = asked.prompt.clone();
            prompt.truncate(prompt.floor_char_boundary(MAX_PROMPT_BYTES));
            let prompt_tokens = self.tokens(asked);
            seen.requests.push(Request { prompt, results: asked.results, prompt_tokens, answered });
        }
    }

    /// The failure that this request meets, as status and seconds to wait.
    fn failure(&self, asked: &Asked) -> Option<(u16, Option<u32>)> {
        if asked.tools.is_empty() {
            return None;
        }
        let mut seen = self.seen();
        seen.main += 1;
        let main = seen.main;
        for (failure, used) in self.script.failures.iter().zip(&mut seen.failed) {
            if main > failure.after && *used < failure.times {
                *used += 1;
                return Some((failure.status, failure.retry_after_s));
            }
        }
        None
    }

    /// What the model answers, and the word for it.
    fn answer(&self, asked: &Asked, ordinal: u64) -> (Block, Answered) {
        if asked.compaction {
            return (Block::Text(answer::SUMMARY.to_owned()), Answered::Summarised);
        }
        if asked.tools.is_empty() {
            return (Block::Text("Simulated".to_owned()), Answered::Aside);
        }
        match self.script.step(asked) {
            Step::Say(text) => (Block::Text(text), Answered::Said),
            Step::Call { tool, input } if asked.tools.contains(&tool) => {
                let id = format!("toolu_{ordinal:024}");
                (Block::Call { id, tool: tool.clone(), input }, Answered::Called(tool))
            }
            Step::Call { tool, .. } => {
                let offered = asked.tools.join(", ");
                (
                    Block::Text(format!("The script calls {tool}, but the agent offers only {offered}.")),
                    Answered::Said,
                )
            }
        }
    }
}

/// Serves until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, state: Arc<State>) -> io::Result<()> {
    let routes = Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(state);
    axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
}

async fn messages(Shared(state): Shared<Arc<State>>, body: Bytes) -> Response {
    let Some(asked) = read(&body) else { return refuse_body(&state) };
    if let Some((status, retry_after_s)) = state.failure(&asked) {
        state.remember(&asked, Answered::Failed(status));
        let mut headers = HeaderMap::new();
        if let Some(seconds) = retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        return reply(status, headers, &answer::failure(status));
    }
    let prompt_tokens = state.tokens(&asked);
    if let Some(max) = state.script.max_prompt_tokens.filter(|max| prompt_tokens > *max) {
        state.remember(&asked, Answered::TooLong);
        let message = format!("prompt is too long: {prompt_tokens} tokens > {max} maximum");
        return reply(400, HeaderMap::new(), &answer::error("invalid_request_error", &message));
    }
    let (ordinal, usage) = {
        let mut seen = state.seen();
        seen.ordinal += 1;
        // A side request has a dialogue of its own: it must not disturb the cache of the main one.
        let dialogue = format!("{}{}", asked.dialogue, if asked.tools.is_empty() { " aside" } else { "" });
        let cached = seen.cached.insert(dialogue, prompt_tokens).unwrap_or(0);
        (seen.ordinal, Usage::split(prompt_tokens, cached))
    };
    let (block, answered) = state.answer(&asked, ordinal);
    state.remember(&asked, answered);
    let id = format!("msg_{ordinal:024}");
    if asked.stream {
        let body = paced(answer::events(&id, &asked, &block, usage), state.script.pace);
        ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], body)
            .into_response()
    } else {
        reply(200, HeaderMap::new(), &answer::message(&id, &asked, &block, usage))
    }
}

async fn count_tokens(Shared(state): Shared<Arc<State>>, body: Bytes) -> Response {
    let Some(asked) = read(&body) else { return refuse_body(&state) };
    state.remember(&asked, Answered::Counted);
    reply(200, HeaderMap::new(), &json!({"input_tokens": state.tokens(&asked)}))
}

async fn unknown(Shared(state): Shared<Arc<State>>, uri: Uri) -> Response {
    state.remember(&Asked::read(&Value::Null), Answered::Failed(404));
    reply(
        404,
        HeaderMap::new(),
        &answer::error("not_found_error", &format!("the simulator has no {}", uri.path())),
    )
}

fn read(body: &[u8]) -> Option<Asked> {
    serde_json::from_slice(body).ok().map(|body: Value| Asked::read(&body))
}

fn refuse_body(state: &State) -> Response {
    state.remember(&Asked::read(&Value::Null), Answered::Failed(400));
    reply(400, HeaderMap::new(), &answer::error("invalid_request_error", "the body is not JSON"))
}

fn reply(status: u16, headers: HeaderMap, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Sends the events one by one, with a pause before each where the script wants one.
fn paced(events: Vec<String>, pause: Option<Duration>) -> Body {
    Body::from_stream(stream::unfold(events.into_iter(), move |mut rest| async move {
        let event = rest.next()?;
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        Some((Ok::<_, Infallible>(event), rest))
    }))
}
