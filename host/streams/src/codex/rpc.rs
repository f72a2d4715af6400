//! The messages of `codex app-server`, as far as they are read.

use super::tools::{CodexCommandAction, CodexFileChange, CodexMcpResult, CodexToolCall, CodexToolError};
use super::{CodexError, CodexErrorInfo};
use crate::wire::{
    Amount, BoundedList, CommandText, Count, Flag, MeasuredOutput, RawJson, Text, TextOrNumber, wire,
};

wire! {
    /// A message of either side: a request, an answer or a notification.
    struct RpcMessage<'a> {
        id: RawJson<'a> = "id",
        method: Text<'a> = "method",
        params: RpcParams<'a> = "params",
        result: RawJson<'a> = "result",
        error: Option<RpcError<'a>> = "error",
    }

    /// An error in place of an answer.
    struct RpcError<'a> {
        code: TextOrNumber<'a> = "code",
        message: Text<'a> = "message",
    }

    /// An answer: of the agent to `initialize` or a new thread, of the host to a request for approval.
    struct CodexRpcResult<'a> {
        user_agent: Text<'a> = "userAgent",
        thread: Option<CodexThread<'a>> = "thread",
        model: Text<'a> = "model",
        decision: CodexErrorInfo<'a> = "decision",
        action: Text<'a> = "action",
    }

    /// A thread: Codex's name for a session.
    struct CodexThread<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        version: Text<'a> = "cliVersion",
    }

    /// The parameters of a method.
    struct RpcParams<'a> {
        thread_id: Text<'a> = "threadId",
        thread: Option<CodexThread<'a>> = "thread",
        turn: CodexTurn<'a> = "turn",
        item: CodexThreadItem<'a> = "item",
        usage: CodexThreadUsage = "tokenUsage",
        limits: CodexRateLimits<'a> = "rateLimits",
        error: Option<CodexError<'a>> = "error",
        will_retry: Flag = "willRetry",
        command: CommandText = "command",
        reason: Text<'a> = "reason",
        message: Text<'a> = "message",
        request: RawJson<'a> = "requestId",
    }

    /// A turn: Codex's name for a prompt.
    struct CodexTurn<'a> {
        status: Text<'a> = "status",
        error: Option<CodexError<'a>> = "error",
    }

    /// A message or an action of the agent.
    struct CodexThreadItem<'a> {
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        actions: BoundedList<CodexCommandAction<'a>> = "commandActions",
        changes: BoundedList<CodexFileChange<'a>> = "changes",
        command: Text<'a> = "command",
        exit: Count = "exitCode",
        status: Text<'a> = "status",
        output: MeasuredOutput = "aggregatedOutput",
        result: CodexMcpResult = "result",
        error: CodexToolError<'a> = "error",
    }

    /// Tokens: of the last call, and of the thread in total.
    struct CodexThreadUsage {
        last: CodexTokens = "last",
        total: CodexTokens = "total",
        window: Count = "modelContextWindow",
    }

    /// Tokens; `input` includes the cached ones.
    struct CodexTokens {
        total: Count = "totalTokens",
        input: Count = "inputTokens",
        output: Count = "outputTokens",
    }

    /// Limits of the account.
    struct CodexRateLimits<'a> {
        primary: CodexRateLimit = "primary",
        secondary: CodexRateLimit = "secondary",
        reached: Text<'a> = "rateLimitReachedType",
        spend_reached: Flag = "spendControlReached",
    }

    /// A limit over a window of time.
    struct CodexRateLimit {
        used_percent: Amount = "usedPercent",
        minutes: Count = "windowDurationMins",
        resets_at: Count = "resetsAt",
    }
}

impl CodexThreadItem<'_> {
    /// Its parts as those of a tool call.
    pub(super) fn call(&self) -> CodexToolCall<'_> {
        CodexToolCall {
            id: self.id.str(),
            kind: self.kind.str(),
            server: self.server.str(),
            tool: self.tool.str(),
            actions: &self.actions.0,
            changes: &self.changes,
            outputs: [&self.output, &self.result.content],
            failed: self.error.message.str(),
            command: self.command.str(),
            exit: self.exit,
            status: self.status.str(),
        }
    }
}

/// Notices of the many kinds that do not concern the session's context or end, by the part before the first slash.
pub(super) fn is_known(method: &str) -> bool {
    matches!(
        method.split('/').next().unwrap_or_default(),
        "account"
            | "app"
            | "command"
            | "configWarning"
            | "deprecationNotice"
            | "externalAgentConfig"
            | "fs"
            | "fuzzyFileSearch"
            | "guardianWarning"
            | "hook"
            | "item"
            | "mcpServer"
            | "model"
            | "process"
            | "rawResponseItem"
            | "remoteControl"
            | "skills"
            | "thread"
            | "turn"
            | "warning"
            | "windows"
            | "windowsSandbox"
    )
}
