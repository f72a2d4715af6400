//! The thin typed structs: of each format the fields that anyone who follows an agent needs. What tools print is skipped
//! here, though a decoder measures it.
#![allow(dead_code, non_snake_case)]

use std::borrow::Cow;
use std::hint::black_box;

use baton_streams::Format;
use serde::Deserialize;

/// Reads a line, and drops it. False where the line does not fit the struct: a thin struct is not lenient.
pub(crate) fn read(format: Format, line: &[u8]) -> bool {
    fn thin<'a, T: Deserialize<'a>>(line: &'a [u8]) -> bool {
        black_box(serde_json::from_slice::<T>(line)).is_ok()
    }
    match format {
        Format::Claude => thin::<Claude<'_>>(line),
        Format::CodexExec => thin::<CodexExec<'_>>(line),
        Format::CodexAppServer => thin::<CodexAppServer<'_>>(line),
        Format::Acp => thin::<Acp<'_>>(line),
        Format::Opencode => thin::<Opencode<'_>>(line),
        Format::Gemini => thin::<Gemini<'_>>(line),
        Format::Text => false,
    }
}

#[derive(Deserialize)]
struct Claude<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<ClaudeMessage<'a>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    terminal_reason: Option<Cow<'a, str>>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Vec<ClaudeBlock<'a>>>,
    usage: Option<ClaudeUsage>,
}

#[derive(Deserialize)]
struct ClaudeBlock<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ClaudeUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CodexExec<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item: Option<ExecItem<'a>>,
    usage: Option<ExecUsage>,
    #[serde(borrow)]
    error: Option<ExecError<'a>>,
}

#[derive(Deserialize)]
struct ExecItem<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ExecError<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ExecUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CodexAppServer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<ServerParams<'a>>,
}

#[derive(Deserialize)]
struct ServerParams<'a> {
    #[serde(borrow)]
    threadId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item: Option<ServerItem<'a>>,
    #[serde(borrow)]
    turn: Option<ServerTurn<'a>>,
    tokenUsage: Option<ServerUsage>,
    willRetry: Option<bool>,
}

#[derive(Deserialize)]
struct ServerItem<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ServerTurn<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ServerUsage {
    last: Option<ServerTokens>,
    total: Option<ServerTokens>,
    modelContextWindow: Option<u64>,
}

#[derive(Deserialize)]
struct ServerTokens {
    totalTokens: Option<u64>,
    inputTokens: Option<u64>,
    outputTokens: Option<u64>,
}

#[derive(Deserialize)]
struct Acp<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<AcpParams<'a>>,
    #[serde(borrow)]
    result: Option<AcpResult<'a>>,
}

#[derive(Deserialize)]
struct AcpParams<'a> {
    #[serde(borrow)]
    sessionId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    update: Option<AcpUpdate<'a>>,
}

#[derive(Deserialize)]
struct AcpUpdate<'a> {
    /// A piece of a message, or a list of what a tool shows: no struct is both.
    #[serde(borrow)]
    content: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow)]
    sessionUpdate: Option<Cow<'a, str>>,
    #[serde(borrow)]
    toolCallId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    used: Option<u64>,
    size: Option<u64>,
}

#[derive(Deserialize)]
struct AcpResult<'a> {
    #[serde(borrow)]
    sessionId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stopReason: Option<Cow<'a, str>>,
    usage: Option<AcpUsage>,
}

#[derive(Deserialize)]
struct AcpUsage {
    inputTokens: Option<u64>,
    outputTokens: Option<u64>,
    cachedReadTokens: Option<u64>,
}

#[derive(Deserialize)]
struct Opencode<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    sessionID: Option<Cow<'a, str>>,
    #[serde(borrow)]
    part: Option<OpencodePart<'a>>,
    #[serde(borrow)]
    error: Option<OpencodeError<'a>>,
}

#[derive(Deserialize)]
struct OpencodePart<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(borrow)]
    callID: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    tokens: Option<StepTokens>,
}

#[derive(Deserialize)]
struct StepTokens {
    total: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct OpencodeError<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<OpencodeData<'a>>,
}

#[derive(Deserialize)]
struct OpencodeData<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    statusCode: Option<u64>,
}

#[derive(Deserialize)]
struct Gemini<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    stats: Option<GeminiStats>,
}

#[derive(Deserialize)]
struct GeminiStats {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}
