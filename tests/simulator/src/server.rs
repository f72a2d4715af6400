//! The HTTP server: takes requests by either API, has them decided, and sends the answers.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::api_kind::{ApiKind, ErrorResponse, ResponseHeader};
use crate::failure::ErrorReason;
use crate::model_request::ModelRequest;
use crate::reply::ReplyBlock;
use crate::state::{AnswerKind, PlannedError, SimulatorState};

/// Larger than any prompt that fits a window.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Serves until the future is dropped.
pub(crate) async fn serve(listener: TcpListener, state: Arc<SimulatorState>) -> io::Result<()> {
    let routes = Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .route("/v1/responses", post(responses).get(socket))
        .route("/v1/responses/compact", post(compact))
        .route("/v1/models", get(models))
        .fallback(unknown)
        .method_not_allowed_fallback(unknown)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(state);
    axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
}

async fn messages(Shared(state): Shared<Arc<SimulatorState>>, body: Bytes) -> Response {
    match read(&body, ApiKind::Messages) {
        Some(asked) => respond(&state, &asked).await,
        None => refuse_unread(&state, ApiKind::Messages, &ErrorReason::NoJson),
    }
}

async fn responses(Shared(state): Shared<Arc<SimulatorState>>, body: Bytes) -> Response {
    match read(&body, ApiKind::Responses) {
        Some(asked) => respond(&state, &asked).await,
        None => refuse_unread(&state, ApiKind::Responses, &ErrorReason::NoJson),
    }
}

/// A request for a summary by a path of its own.
async fn compact(Shared(state): Shared<Arc<SimulatorState>>, body: Bytes) -> Response {
    match read(&body, ApiKind::Responses) {
        Some(asked) => {
            respond(&state, &ModelRequest { compaction: true, wordless: true, aside: false, ..asked }).await
        }
        None => refuse_unread(&state, ApiKind::Responses, &ErrorReason::NoJson),
    }
}

/// Codex asks for a WebSocket first where the provider is its own; told to use plain requests, it does so at once.
async fn socket(Shared(state): Shared<Arc<SimulatorState>>) -> Response {
    state.remember_unread(ApiKind::Responses, 426);
    let body = json!({"error": {"message": "the simulator speaks no WebSocket"}});
    reply(426, HeaderMap::new(), &body)
}

/// Nobody needs the list: the agents know their models. But they ask.
async fn models() -> Response {
    reply(200, HeaderMap::new(), &json!({"object": "list", "data": []}))
}

async fn count_tokens(Shared(state): Shared<Arc<SimulatorState>>, body: Bytes) -> Response {
    let Some(asked) = read(&body, ApiKind::Messages) else {
        return refuse_unread(&state, ApiKind::Messages, &ErrorReason::NoJson);
    };
    state.remember(&asked, AnswerKind::Counted);
    reply(200, HeaderMap::new(), &json!({"input_tokens": state.tokens(&asked)}))
}

async fn unknown(Shared(state): Shared<Arc<SimulatorState>>, uri: Uri) -> Response {
    let wire = if uri.path().starts_with("/v1/responses") { ApiKind::Responses } else { ApiKind::Messages };
    refuse_unread(&state, wire, &ErrorReason::NoSuchPath(uri.path().to_owned()))
}

fn read(body: &[u8], wire: ApiKind) -> Option<ModelRequest> {
    serde_json::from_slice(body).ok().map(|body: Value| wire.read(&body))
}

async fn respond(state: &SimulatorState, asked: &ModelRequest) -> Response {
    if let Some(refusing) = state.refusing(asked) {
        return refuse(state, asked, refusing);
    }
    let (ordinal, usage) = (state.ordinal(), state.usage(asked));
    let (block, answered) = state.answer(asked);
    state.remember(asked, answered);
    let headers = headers(state.script.quota.map(|quota| asked.wire.quota(quota)).unwrap_or_default());
    let hangs = matches!(block, ReplyBlock::Hang);
    if asked.stream {
        let events = asked.wire.events(ordinal, asked, &block, usage);
        streamed(headers, events, state.script.pace, hangs)
    } else if hangs {
        std::future::pending().await
    } else {
        reply(200, headers, &asked.wire.whole(ordinal, asked, &block, usage))
    }
}

fn refuse(state: &SimulatorState, asked: &ModelRequest, refusing: PlannedError) -> Response {
    let mut refused = asked.wire.refused(&refusing.refusal);
    let answered = match refusing.refusal {
        ErrorReason::TooLong { .. } => AnswerKind::TooLong,
        _ => AnswerKind::Failed(refused.status),
    };
    state.remember(asked, answered);
    refused.headers.extend(refusing.retry_after_s.map(|seconds| ("retry-after", seconds.to_string())));
    if refusing.in_stream && asked.stream {
        let event = asked.wire.failed(state.ordinal(), &refused);
        return streamed(headers(refused.headers), vec![event], state.script.pace, false);
    }
    reply(refused.status, headers(refused.headers), &refused.body)
}

fn refuse_unread(state: &SimulatorState, wire: ApiKind, refusal: &ErrorReason) -> Response {
    let ErrorResponse { status, body, .. } = wire.refused(refusal);
    state.remember_unread(wire, status);
    reply(status, HeaderMap::new(), &body)
}

fn headers(list: Vec<ResponseHeader>) -> HeaderMap {
    // Every value is digits and plain words, so none is lost.
    list.into_iter()
        .filter_map(|(name, value)| {
            Some((header::HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
        })
        .collect()
}

fn reply(status: u16, headers: HeaderMap, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

/// Sends the events one by one, with a pause before each where the script wants one, and then leaves the stream open
/// for ever where it hangs.
fn streamed(headers: HeaderMap, events: Vec<String>, pause: Option<Duration>, hangs: bool) -> Response {
    let events = stream::unfold(events.into_iter(), move |mut rest| async move {
        let event = rest.next()?;
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
        Some((Ok::<_, Infallible>(event), rest))
    });
    let body =
        if hangs { Body::from_stream(events.chain(stream::pending())) } else { Body::from_stream(events) };
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, kind, body).into_response()
}
