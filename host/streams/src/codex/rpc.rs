//! The messages of `codex app-server`, as far as they are read.

use super::tools::{Action, Answer, Call, Change, Failed};
use super::{CodexError, Info};
use crate::wire::{Amount, CommandLine, Count, Flag, List, Output, Raw, Text, Word, wire};

wire! {
    /// A message of either side: a request, an answer or a notification.
    struct RpcMessage<'a> {
        id: Raw<'a> = "id",
        method: Text<'a> = "method",
        params: RpcParams<'a> = "params",
        result: Raw<'a> = "result",
        error: Option<RpcFailure<'a>> = "error",
    }

    /// An error in place of an answer.
    struct RpcFailure<'a> {
        code: Word<'a> = "code",
        message: Text<'a> = "message",
    }

    /// An answer: of the agent to `initialize` or a new thread, of the host to a request for approval.
    struct Answered<'a> {
        user_agent: Text<'a> = "userAgent",
        thread: Option<Thread<'a>> = "thread",
        model: Text<'a> = "model",
        decision: Info<'a> = "decision",
        action: Text<'a> = "action",
    }

    /// A thread: what Codex calls a session.
    struct Thread<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        version: Text<'a> = "cliVersion",
    }

    /// What comes with a method.
    struct RpcParams<'a> {
        thread_id: Text<'a> = "threadId",
        thread: Option<Thread<'a>> = "thread",
        turn: Turn<'a> = "turn",
        item: Item<'a> = "item",
        usage: Usage = "tokenUsage",
        limits: Limits<'a> = "rateLimits",
        error: Option<CodexError<'a>> = "error",
        will_retry: Flag = "willRetry",
        command: CommandLine = "command",
        reason: Text<'a> = "reason",
        message: Text<'a> = "message",
        request: Raw<'a> = "requestId",
    }

    /// A turn: what Codex calls a prompt.
    struct Turn<'a> {
        status: Text<'a> = "status",
        error: Option<CodexError<'a>> = "error",
    }

    /// Something the agent said or did.
    struct Item<'a> {
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        actions: List<Action<'a>> = "commandActions",
        changes: List<Change<'a>> = "changes",
        command: Text<'a> = "command",
        exit: Count = "exitCode",
        status: Text<'a> = "status",
        output: Output = "aggregatedOutput",
        result: Answer = "result",
        error: Failed<'a> = "error",
    }

    /// Tokens: of the last call, and of the thread in total.
    struct Usage {
        last: Tokens = "last",
        total: Tokens = "total",
        window: Count = "modelContextWindow",
    }

    /// Tokens; `input` includes the cached ones.
    struct Tokens {
        total: Count = "totalTokens",
        input: Count = "inputTokens",
        output: Count = "outputTokens",
    }

    /// Limits of the account.
    struct Limits<'a> {
        primary: Limit = "primary",
        secondary: Limit = "secondary",
        reached: Text<'a> = "rateLimitReachedType",
        spend_reached: Flag = "spendControlReached",
    }

    /// A limit over a window of time.
    struct Limit {
        used_percent: Amount = "usedPercent",
        minutes: Count = "windowDurationMins",
        resets_at: Count = "resetsAt",
    }
}

impl Item<'_> {
    /// Its parts as those of a tool call.
    pub(super) fn call(&self) -> Call<'_> {
        Call {
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

/// Notices of the many kinds that say nothing about the session's context or end, by the part before the first slash.
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
