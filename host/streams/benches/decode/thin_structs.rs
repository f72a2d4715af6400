//! The thin typed structs: for each format the fields that every reader of an agent's stream needs. The output of tools is
//! skipped here, though a decoder measures it.
#![allow(dead_code, non_snake_case)]

use std::borrow::Cow;
use std::hint::black_box;

use baton_streams::StreamFormat;
use serde::Deserialize;

/// Reads a line, and drops it. False if the line does not fit the struct: a thin struct is not lenient.
pub(crate) fn read(format: StreamFormat, line: &[u8]) -> bool {
    fn thin<'a, T: Deserialize<'a>>(line: &'a [u8]) -> bool {
        black_box(serde_json::from_slice::<T>(line)).is_ok()
    }
    match format {
        StreamFormat::Claude => thin::<ThinClaude<'_>>(line),
        StreamFormat::CodexExec => thin::<ThinCodexExec<'_>>(line),
        StreamFormat::CodexAppServer => thin::<ThinCodexAppServer<'_>>(line),
        StreamFormat::Acp => thin::<ThinAcp<'_>>(line),
        StreamFormat::Opencode => thin::<ThinOpencode<'_>>(line),
        StreamFormat::Gemini => thin::<ThinGemini<'_>>(line),
        StreamFormat::Text => false,
    }
}

#[derive(Deserialize)]
struct ThinClaude<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    subtype: Option<Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<ThinClaudeMessage<'a>>,
    #[serde(borrow)]
    error: Option<Cow<'a, str>>,
    #[serde(borrow)]
    terminal_reason: Option<Cow<'a, str>>,
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct ThinClaudeMessage<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    content: Option<Vec<ThinClaudeBlock<'a>>>,
    usage: Option<ThinClaudeUsage>,
}

#[derive(Deserialize)]
struct ThinClaudeBlock<'a> {
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
struct ThinClaudeUsage {
    input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ThinCodexExec<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thread_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item: Option<ThinExecItem<'a>>,
    usage: Option<ThinExecUsage>,
    #[serde(borrow)]
    error: Option<ThinExecError<'a>>,
}

#[derive(Deserialize)]
struct ThinExecItem<'a> {
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
struct ThinExecError<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ThinExecUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct ThinCodexAppServer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<ThinServerParams<'a>>,
}

#[derive(Deserialize)]
struct ThinServerParams<'a> {
    #[serde(borrow)]
    threadId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    item: Option<ThinServerItem<'a>>,
    #[serde(borrow)]
    turn: Option<ThinServerTurn<'a>>,
    tokenUsage: Option<ThinServerUsage>,
    willRetry: Option<bool>,
}

#[derive(Deserialize)]
struct ThinServerItem<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ThinServerTurn<'a> {
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    status: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ThinServerUsage {
    last: Option<ThinServerTokens>,
    total: Option<ThinServerTokens>,
    modelContextWindow: Option<u64>,
}

#[derive(Deserialize)]
struct ThinServerTokens {
    totalTokens: Option<u64>,
    inputTokens: Option<u64>,
    outputTokens: Option<u64>,
}

#[derive(Deserialize)]
struct ThinAcp<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<ThinAcpParams<'a>>,
    #[serde(borrow)]
    result: Option<ThinAcpResult<'a>>,
}

#[derive(Deserialize)]
struct ThinAcpParams<'a> {
    #[serde(borrow)]
    sessionId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    update: Option<ThinAcpUpdate<'a>>,
}

#[derive(Deserialize)]
struct ThinAcpUpdate<'a> {
    /// A piece of a message, or a list of the contents that a tool shows: one struct cannot be both.
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
struct ThinAcpResult<'a> {
    #[serde(borrow)]
    sessionId: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stopReason: Option<Cow<'a, str>>,
    usage: Option<ThinAcpUsage>,
}

#[derive(Deserialize)]
struct ThinAcpUsage {
    inputTokens: Option<u64>,
    outputTokens: Option<u64>,
    cachedReadTokens: Option<u64>,
}

#[derive(Deserialize)]
struct ThinOpencode<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    #[serde(borrow)]
    sessionID: Option<Cow<'a, str>>,
    #[serde(borrow)]
    part: Option<ThinOpencodePart<'a>>,
    #[serde(borrow)]
    error: Option<ThinOpencodeError<'a>>,
}

#[derive(Deserialize)]
struct ThinOpencodePart<'a> {
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
    tokens: Option<ThinStepTokens>,
}

#[derive(Deserialize)]
struct ThinStepTokens {
    total: Option<u64>,
    input: Option<u64>,
    output: Option<u64>,
}

#[derive(Deserialize)]
struct ThinOpencodeError<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<ThinOpencodeData<'a>>,
}

#[derive(Deserialize)]
struct ThinOpencodeData<'a> {
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    statusCode: Option<u64>,
}

#[derive(Deserialize)]
struct ThinGemini<'a> {
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
    stats: Option<ThinGeminiStats>,
}

#[derive(Deserialize)]
struct ThinGeminiStats {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}
