//! The messages of the Agent Client Protocol, as far as they are read.

use serde::de::{MapAccess, SeqAccess};

use crate::codex::{CodexError, CodexErrorInfo};
use crate::wire::{
    Amount, BoundedList, CommandText, Count, Lenient, LenientSeed, LenientValue, MeasuredOutput,
    PresenceFlag, RawJson, Text, TextOrNumber, wire,
};

wire! {
    /// A message of either side: a request, an answer or a notification.
    struct AcpMessage<'a> {
        id: RawJson<'a> = "id",
        method: Text<'a> = "method",
        params: AcpParams<'a> = "params",
        result: Option<AcpResult<'a>> = "result",
        error: Option<AcpError<'a>> = "error",
    }

    /// The parameters of a method.
    struct AcpParams<'a> {
        update: AcpUpdate<'a> = "update",
        tool_call: AcpPermissionCall<'a> = "toolCall",
        prompt: BoundedList<AcpMessageChunk<'a>> = "prompt",
        session: Text<'a> = "sessionId",
    }

    /// The call that the user is asked about.
    struct AcpPermissionCall<'a> {
        title: Text<'a> = "title",
        kind: Text<'a> = "kind",
        input: AcpToolInput<'a> = "rawInput",
    }

    /// An answer: `stop_reason` to a prompt, `session_id` to a new session, `capabilities` to `initialize`.
    struct AcpResult<'a> {
        stop_reason: Text<'a> = "stopReason",
        usage: AcpUsage = "usage",
        meta: AcpMeta<'a> = "_meta",
        session_id: Text<'a> = "sessionId",
        models: AcpModels<'a> = "models",
        capabilities: PresenceFlag = "agentCapabilities",
        agent: AcpAgentInfo<'a> = "agentInfo",
        outcome: AcpPermissionOutcome<'a> = "outcome",
    }

    /// The models of a session.
    struct AcpModels<'a> {
        current: Text<'a> = "currentModelId",
    }

    /// Who the agent is.
    struct AcpAgentInfo<'a> {
        name: Text<'a> = "name",
        version: Text<'a> = "version",
    }

    /// The answer to a request for permission.
    struct AcpPermissionOutcome<'a> {
        outcome: Text<'a> = "outcome",
        option: Text<'a> = "optionId",
    }

    /// An error in place of an answer.
    struct AcpError<'a> {
        code: TextOrNumber<'a> = "code",
        message: Text<'a> = "message",
        data: AcpErrorData<'a> = "data",
    }

    /// The additional data of an error, as fields.
    struct AcpErrorFields<'a> {
        kind: Text<'a> = "errorKind",
        name: Text<'a> = "errorName",
        details: Text<'a> = "details",
        message: Text<'a> = "message",
        codex: CodexErrorInfo<'a> = "codexErrorInfo",
        status: Count = "status",
        resets_at: Count = "resetsAt",
    }

    /// An update of an agent while it works.
    struct AcpUpdate<'a> {
        what: Text<'a> = "sessionUpdate",
        message_id: Text<'a> = "messageId",
        content: AcpContent<'a> = "content",
        call: Text<'a> = "toolCallId",
        title: Text<'a> = "title",
        name: Text<'a> = "name",
        kind: Text<'a> = "kind",
        status: Text<'a> = "status",
        locations: BoundedList<AcpToolLocation<'a>> = "locations",
        input: AcpToolInput<'a> = "rawInput",
        output: RawJson<'a> = "rawOutput",
        used: Count = "used",
        size: Count = "size",
        cost: AcpCost<'a> = "cost",
        error: Text<'a> = "error",
        meta: AcpMeta<'a> = "_meta",
    }

    /// A piece of a message.
    struct AcpMessageChunk<'a> {
        text: Text<'a> = "text",
    }

    /// A part of the content that a tool shows.
    struct AcpToolContent<'a> {
        content: AcpMessageChunk<'a> = "content",
        path: Text<'a> = "path",
    }

    /// A place in a file.
    struct AcpToolLocation<'a> {
        path: Text<'a> = "path",
    }

    /// The output of a tool to the model, if it is an object.
    struct AcpRawOutput<'a> {
        output: MeasuredOutput = "output",
        formatted_output: MeasuredOutput = "formatted_output",
        exit: Count = "exit_code",
        trigger: Text<'a> = "trigger",
        pre_tokens: Count = "preTokens",
        post_tokens: Count = "postTokens",
    }

    /// The cost of the process so far.
    struct AcpCost<'a> {
        amount: Amount = "amount",
        currency: Text<'a> = "currency",
    }

    /// Extensions of vendors.
    struct AcpMeta<'a> {
        claude: ClaudeAcpMeta<'a> = "claudeCode",
        codex: CodexAcpMeta<'a> = "codex",
        quota: GeminiAcpQuota = "quota",
    }

    /// claude-agent-acp.
    struct ClaudeAcpMeta<'a> {
        tool: Text<'a> = "toolName",
    }

    /// codex-acp.
    struct CodexAcpMeta<'a> {
        error: Option<CodexError<'a>> = "error",
    }

    /// Gemini's own form of usage.
    struct GeminiAcpQuota {
        tokens: GeminiAcpTokens = "token_count",
    }

    /// Tokens of a prompt, as Gemini counts them.
    struct GeminiAcpTokens {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
    }

    /// Tokens of a prompt.
    struct AcpTokens {
        input: Count = "inputTokens",
        cached_read: Count = "cachedReadTokens",
        cached_write: Count = "cachedWriteTokens",
        output: Count = "outputTokens",
    }
}

/// The usage of a prompt. Some agents state explicitly that there is none, which has a meaning.
#[derive(Debug, Default)]
pub(super) struct AcpUsage {
    pub(super) is_null: bool,
    pub(super) tokens: AcpTokens,
}

impl<'de> LenientValue<'de> for AcpUsage {
    fn null(&mut self) {
        self.is_null = true;
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.tokens.map(entries)
    }
}

/// The additional data of an error: a text, or fields.
#[derive(Debug, Default)]
pub(super) struct AcpErrorData<'a> {
    pub(super) text: Text<'a>,
    pub(super) fields: AcpErrorFields<'a>,
}

impl<'de> LenientValue<'de> for AcpErrorData<'de> {
    fn borrowed(&mut self, text: &'de str) {
        self.text.borrowed(text);
    }

    fn text(&mut self, text: &str) {
        self.text.text(text);
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.fields.map(entries)
    }
}

/// The content of an update: a piece of a message, or the content that a tool shows to the user.
#[derive(Debug, Default)]
pub(super) struct AcpContent<'a> {
    pub(super) text: Text<'a>,
    pub(super) shown: MeasuredOutput,
    pub(super) path: Text<'a>,
}

impl<'de> LenientValue<'de> for AcpContent<'de> {
    fn list<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(Lenient(item)) = items.next_element::<Lenient<AcpToolContent<'de>>>()? {
            self.shown.add(item.content.text.str());
            if self.path.is_empty() {
                self.path = item.path;
            }
        }
        Ok(())
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        let mut chunk = AcpMessageChunk::default();
        chunk.map(entries)?;
        self.text = chunk.text;
        Ok(())
    }
}

/// The input of a tool: whether there is any, and the file or address in it.
#[derive(Debug, Default)]
pub(super) struct AcpToolInput<'a> {
    pub(super) given: bool,
    pub(super) target: Text<'a>,
    pub(super) command: CommandText,
}

impl<'de> LenientValue<'de> for AcpToolInput<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(Lenient(key)) = entries.next_key::<Lenient<Text<'de>>>()? {
            self.given = true;
            match key.str() {
                "file_path" | "filePath" | "path" | "url" if self.target.is_empty() => {
                    entries.next_value_seed(LenientSeed(&mut self.target))?;
                }
                "command" => entries.next_value_seed(LenientSeed(&mut self.command))?,
                _ => {
                    entries.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
