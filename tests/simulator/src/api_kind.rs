//! The two APIs side by side: which one a request came by, and what each makes of a reply or a refusal. The shapes are
//! in `messages` and `responses`.

use serde_json::Value;

use crate::failure::ErrorReason;
use crate::model_request::ModelRequest;
use crate::reply::{PromptUsage, ReplyBlock};
use crate::script::QuotaUsage;
use crate::{messages, responses};

/// Bytes of text in one event of a stream.
const PIECE_BYTES: usize = 400;

/// An API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKind {
    /// Anthropic Messages, which Claude Code speaks.
    Messages,
    /// OpenAI Responses, which Codex speaks.
    Responses,
}

/// A header of a response.
pub(crate) type ResponseHeader = (&'static str, String);

/// A refusal as an API words it.
pub(crate) struct ErrorResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<ResponseHeader>,
    pub(crate) body: Value,
}

impl ApiKind {
    /// Reads the body of a request. What is missing counts as empty.
    pub(crate) fn read(self, body: &Value) -> ModelRequest {
        match self {
            ApiKind::Messages => messages::read(body),
            ApiKind::Responses => responses::read(body),
        }
    }

    /// A reply as one body.
    pub(crate) fn whole(
        self,
        ordinal: u64,
        asked: &ModelRequest,
        block: &ReplyBlock,
        usage: PromptUsage,
    ) -> Value {
        match self {
            ApiKind::Messages => messages::whole(ordinal, asked, block, usage),
            ApiKind::Responses => responses::whole(ordinal, asked, block, usage),
        }
    }

    /// A reply as the events of a stream. One that hangs is only begun.
    pub(crate) fn events(
        self,
        ordinal: u64,
        asked: &ModelRequest,
        block: &ReplyBlock,
        usage: PromptUsage,
    ) -> Vec<String> {
        match self {
            ApiKind::Messages => messages::events(ordinal, asked, block, usage),
            ApiKind::Responses => responses::events(ordinal, asked, block, usage),
        }
    }

    pub(crate) fn refused(self, refusal: &ErrorReason) -> ErrorResponse {
        match self {
            ApiKind::Messages => messages::refused(refusal),
            ApiKind::Responses => responses::refused(refusal),
        }
    }

    /// The event by which a stream fails.
    pub(crate) fn failed(self, ordinal: u64, refused: &ErrorResponse) -> String {
        match self {
            ApiKind::Messages => event("error", refused.body.clone()),
            ApiKind::Responses => responses::failed(ordinal, refused),
        }
    }

    /// Headers that tell how much of the quota is used.
    pub(crate) fn quota(self, quota: QuotaUsage) -> Vec<ResponseHeader> {
        match self {
            ApiKind::Messages => messages::quota(quota),
            ApiKind::Responses => responses::quota(quota),
        }
    }
}

/// One event of a stream.
pub(crate) fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

/// A text in the pieces in which a stream carries it.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
