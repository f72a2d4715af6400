//! The lines of Claude Code's stream, as far as they are read.

use crate::wire::{Amount, BoundedList, BoundedMap, Count, Flag, MeasuredOutput, PresenceFlag, Text, wire};

wire! {
    /// One line of any kind: `kind` determines its fields.
    struct ClaudeLine<'a> {
        kind: Text<'a> = "type",
        subtype: Text<'a> = "subtype",
        session_id: Text<'a> = "session_id",
        model: Text<'a> = "model",
        version: Text<'a> = "claude_code_version",
        parent: Text<'a> = "parent_tool_use_id",
        message: Option<ClaudeMessage<'a>> = "message",
        error: Text<'a> = "error",
        error_status: Count = "error_status",
        api_error: Text<'a> = "api_error",
        api_error_type: Text<'a> = "api_error_type",
        api_error_status: Count = "api_error_status",
        status: Text<'a> = "status",
        compact_result: Text<'a> = "compact_result",
        compact_error: Text<'a> = "compact_error",
        compaction: Option<ClaudeCompactBoundary<'a>> = "compact_metadata",
        attempt: Count = "attempt",
        max_retries: Count = "max_retries",
        retry_delay_ms: Count = "retry_delay_ms",
        limit: Option<ClaudeRateLimit<'a>> = "rate_limit_info",
        is_error: Flag = "is_error",
        result: Text<'a> = "result",
        errors: BoundedList<Text<'a>> = "errors",
        terminal_reason: Text<'a> = "terminal_reason",
        local_command: Text<'a> = "local_command",
        models: BoundedMap<'a, ClaudeModelUsage> = "modelUsage",
        cost_usd: Amount = "total_cost_usd",
        response: Option<ClaudeControlResponse<'a>> = "response",
    }

    /// A message of the model or to it.
    struct ClaudeMessage<'a> {
        id: Text<'a> = "id",
        model: Text<'a> = "model",
        content: BoundedList<ClaudeBlock<'a>> = "content",
        usage: ClaudeUsage = "usage",
    }

    /// A block of a message.
    struct ClaudeBlock<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: ClaudeToolInput<'a> = "input",
        tool_use_id: Text<'a> = "tool_use_id",
        is_error: Flag = "is_error",
        content: MeasuredOutput = "content",
    }

    /// The input of a tool, as far as it names what is read or written.
    struct ClaudeToolInput<'a> {
        file_path: Text<'a> = "file_path",
        notebook_path: Text<'a> = "notebook_path",
        url: Text<'a> = "url",
        command: Text<'a> = "command",
        offset: Count = "offset",
        limit: Count = "limit",
    }

    /// Tokens of one call.
    struct ClaudeUsage {
        input: Count = "input_tokens",
        cache_read: Count = "cache_read_input_tokens",
        cache_creation: Count = "cache_creation_input_tokens",
        output: Count = "output_tokens",
    }

    /// A compaction that is done.
    struct ClaudeCompactBoundary<'a> {
        trigger: Text<'a> = "trigger",
        pre_tokens: Count = "pre_tokens",
    }

    /// A limit of the account.
    struct ClaudeRateLimit<'a> {
        status: Text<'a> = "status",
        kind: Text<'a> = "rateLimitType",
        resets_at: Count = "resetsAt",
    }

    /// Totals of one model over the process.
    struct ClaudeModelUsage {
        input: Count = "inputTokens",
        cache_read: Count = "cacheReadInputTokens",
        cache_creation: Count = "cacheCreationInputTokens",
        output: Count = "outputTokens",
        window: Count = "contextWindow",
    }

    /// The answer to a control request.
    struct ClaudeControlResponse<'a> {
        subtype: Text<'a> = "subtype",
        error: Text<'a> = "error",
        response: Option<ClaudeControlResult<'a>> = "response",
    }

    /// The result of `initialize`, or of `get_context_usage`.
    struct ClaudeControlResult<'a> {
        version: Text<'a> = "claude_code_version",
        commands: PresenceFlag = "commands",
        total_tokens: Count = "totalTokens",
        max_tokens: Count = "maxTokens",
    }
}
