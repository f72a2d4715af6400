//! The messages of the Agent Client Protocol, as far as they are read.

use serde::de::{MapAccess, SeqAccess};

use crate::codex::{CodexError, Info};
use crate::wire::{Amount, CommandLine, Count, In, Lax, List, Output, Present, Raw, Take, Text, Word, wire};

wire! {
    /// A message of either side: a request, an answer or a notification.
    struct AcpMessage<'a> {
        id: Raw<'a> = "id",
        method: Text<'a> = "method",
        params: Params<'a> = "params",
        result: Option<Answer<'a>> = "result",
        error: Option<Failure<'a>> = "error",
    }

    /// What comes with a method.
    struct Params<'a> {
        update: Update<'a> = "update",
        tool_call: Titled<'a> = "toolCall",
        prompt: List<Chunk<'a>> = "prompt",
        session: Text<'a> = "sessionId",
    }

    /// What a person is asked about.
    struct Titled<'a> {
        title: Text<'a> = "title",
        kind: Text<'a> = "kind",
        input: Input<'a> = "rawInput",
    }

    /// An answer: `stop_reason` to a prompt, `session_id` to a new session, `capabilities` to `initialize`.
    struct Answer<'a> {
        stop_reason: Text<'a> = "stopReason",
        usage: Usage = "usage",
        meta: Meta<'a> = "_meta",
        session_id: Text<'a> = "sessionId",
        models: Models<'a> = "models",
        capabilities: Present = "agentCapabilities",
        agent: Agent<'a> = "agentInfo",
        outcome: Outcome<'a> = "outcome",
    }

    /// The models of a session.
    struct Models<'a> {
        current: Text<'a> = "currentModelId",
    }

    /// Who the agent is.
    struct Agent<'a> {
        name: Text<'a> = "name",
        version: Text<'a> = "version",
    }

    /// What was said to a request for permission.
    struct Outcome<'a> {
        outcome: Text<'a> = "outcome",
        option: Text<'a> = "optionId",
    }

    /// An error in place of an answer.
    struct Failure<'a> {
        code: Word<'a> = "code",
        message: Text<'a> = "message",
        data: Data<'a> = "data",
    }

    /// What is added to an error in fields.
    struct DataFields<'a> {
        kind: Text<'a> = "errorKind",
        name: Text<'a> = "errorName",
        details: Text<'a> = "details",
        message: Text<'a> = "message",
        codex: Info<'a> = "codexErrorInfo",
        status: Count = "status",
        resets_at: Count = "resetsAt",
    }

    /// What an agent says while it works.
    struct Update<'a> {
        what: Text<'a> = "sessionUpdate",
        message_id: Text<'a> = "messageId",
        content: Content<'a> = "content",
        call: Text<'a> = "toolCallId",
        title: Text<'a> = "title",
        name: Text<'a> = "name",
        kind: Text<'a> = "kind",
        status: Text<'a> = "status",
        locations: List<Location<'a>> = "locations",
        input: Input<'a> = "rawInput",
        output: Raw<'a> = "rawOutput",
        used: Count = "used",
        size: Count = "size",
        cost: Cost<'a> = "cost",
        error: Text<'a> = "error",
        meta: Meta<'a> = "_meta",
    }

    /// A piece of a message.
    struct Chunk<'a> {
        text: Text<'a> = "text",
    }

    /// A part of what a tool shows.
    struct Shown<'a> {
        content: Chunk<'a> = "content",
        path: Text<'a> = "path",
    }

    /// A place in a file.
    struct Location<'a> {
        path: Text<'a> = "path",
    }

    /// What a tool returned to the model, where it is an object.
    struct Returned<'a> {
        output: Output = "output",
        formatted_output: Output = "formatted_output",
        exit: Count = "exit_code",
        trigger: Text<'a> = "trigger",
        pre_tokens: Count = "preTokens",
        post_tokens: Count = "postTokens",
    }

    /// What the process cost so far.
    struct Cost<'a> {
        amount: Amount = "amount",
        currency: Text<'a> = "currency",
    }

    /// What vendors add.
    struct Meta<'a> {
        claude: ClaudeMeta<'a> = "claudeCode",
        codex: CodexMeta<'a> = "codex",
        quota: Quota = "quota",
    }

    /// claude-agent-acp.
    struct ClaudeMeta<'a> {
        tool: Text<'a> = "toolName",
    }

    /// codex-acp.
    struct CodexMeta<'a> {
        error: Option<CodexError<'a>> = "error",
    }

    /// Gemini's own form of usage.
    struct Quota {
        tokens: QuotaTokens = "token_count",
    }

    /// Tokens of a prompt, as Gemini counts them.
    struct QuotaTokens {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
    }

    /// Tokens of a prompt.
    struct Tokens {
        input: Count = "inputTokens",
        cached_read: Count = "cachedReadTokens",
        cached_write: Count = "cachedWriteTokens",
        output: Count = "outputTokens",
    }
}

/// The usage of a prompt. That there is none is said by some agents, and means something.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) is_null: bool,
    pub(super) tokens: Tokens,
}

impl<'de> Take<'de> for Usage {
    fn null(&mut self) {
        self.is_null = true;
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        self.tokens.map(entries)
    }
}

/// What is added to an error: a text, or fields.
#[derive(Debug, Default)]
pub(super) struct Data<'a> {
    pub(super) text: Text<'a>,
    pub(super) fields: DataFields<'a>,
}

impl<'de> Take<'de> for Data<'de> {
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

/// What an update shows: a piece of a message, or what a tool shows to a person.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    pub(super) text: Text<'a>,
    pub(super) shown: Output,
    pub(super) path: Text<'a>,
}

impl<'de> Take<'de> for Content<'de> {
    fn list<A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(Lax(item)) = items.next_element::<Lax<Shown<'de>>>()? {
            self.shown.add(item.content.text.str());
            if self.path.is_empty() {
                self.path = item.path;
            }
        }
        Ok(())
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        let mut chunk = Chunk::default();
        chunk.map(entries)?;
        self.text = chunk.text;
        Ok(())
    }
}

/// What a tool is called with: whether there is anything, and the file or address among it.
#[derive(Debug, Default)]
pub(super) struct Input<'a> {
    pub(super) given: bool,
    pub(super) target: Text<'a>,
    pub(super) command: CommandLine,
}

impl<'de> Take<'de> for Input<'de> {
    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(Lax(key)) = entries.next_key::<Lax<Text<'de>>>()? {
            self.given = true;
            match key.str() {
                "file_path" | "filePath" | "path" | "url" if self.target.is_empty() => {
                    entries.next_value_seed(In(&mut self.target))?;
                }
                "command" => entries.next_value_seed(In(&mut self.command))?,
                _ => {
                    entries.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}
