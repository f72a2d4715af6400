//! What the simulated model does: turns chosen by the prompt, a token model, failures. Knows neither HTTP nor any
//! agent's tools.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::failure::ScriptedFailure;
use crate::model_request::ModelRequest;

/// Bytes that make a token; the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// What the model does, from start to end of a test.
#[derive(Clone, Debug, Default)]
pub struct ModelScript {
    rules: Vec<(String, Vec<ModelTurn>)>,
    otherwise: Vec<ModelTurn>,
    pub(crate) max_prompt_tokens: Option<u64>,
    message_scale: Option<u64>,
    pub(crate) too_long_in_stream: bool,
    pub(crate) failures: Vec<ScriptedFailure>,
    pub(crate) quota: Option<QuotaUsage>,
    pub(crate) pace: Option<Duration>,
}

/// How much of the quota is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuotaUsage {
    pub(crate) used_percent: u8,
    pub(crate) resets_at_s: u64,
}

impl ModelScript {
    /// A model that has nothing to say yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do for a prompt that contains `needle`, one turn after each tool result. The first rule that fits
    /// counts; past its last turn the model says that it is done.
    #[must_use]
    pub fn on(mut self, needle: impl Into<String>, turns: impl IntoIterator<Item = ModelTurn>) -> Self {
        self.rules.push((needle.into(), turns.into_iter().collect()));
        self
    }

    /// What to do for every other prompt.
    #[must_use]
    pub fn otherwise(mut self, turns: impl IntoIterator<Item = ModelTurn>) -> Self {
        self.otherwise = turns.into_iter().collect();
        self
    }

    /// Refuses longer prompts as the real services do: `prompt is too long: N tokens > M maximum` by the Messages API,
    /// `context_length_exceeded` by the Responses API.
    #[must_use]
    pub fn max_prompt_tokens(mut self, tokens: u64) -> Self {
        self.max_prompt_tokens = Some(tokens);
        self
    }

    /// Refuses prompts that are too long within a stream that began well, instead of by the status of the response.
    #[must_use]
    pub fn too_long_in_stream(mut self) -> Self {
        self.too_long_in_stream = true;
        self
    }

    /// Counts each byte of the dialogue (not of system prompt and tools) this many times, so that a few kilobytes of
    /// work fill a large window.
    #[must_use]
    pub fn message_scale(mut self, times: u64) -> Self {
        self.message_scale = Some(times);
        self
    }

    /// Fails some requests. The first failure that is not used up counts.
    #[must_use]
    pub fn failing(mut self, failure: ScriptedFailure) -> Self {
        self.failures.push(failure);
        self
    }

    /// Tells with each answer how much of the quota is used, and when, by the Unix clock, it begins anew.
    #[must_use]
    pub fn quota_used(mut self, percent: u8, resets_at_s: u64) -> Self {
        self.quota = Some(QuotaUsage { used_percent: percent, resets_at_s });
        self
    }

    /// Pauses before each event of a streamed answer, so that a test can break in.
    #[must_use]
    pub fn pace(mut self, pause: Duration) -> Self {
        self.pace = Some(pause);
        self
    }

    /// What the model does about what was asked.
    pub(crate) fn step(&self, asked: &ModelRequest) -> ModelStep {
        let rule = self.rules.iter().find(|(needle, _)| asked.prompt.contains(needle));
        let turns = rule.map_or(&self.otherwise, |(_, turns)| turns);
        turns.get(asked.results).map_or_else(|| ModelStep::Say("Done.".to_owned()), |turn| turn.step(asked))
    }

    /// Tokens of a prompt, from the bytes of its fixed part (system prompt and tools) and of its messages.
    pub(crate) fn tokens(&self, fixed_bytes: u64, message_bytes: u64) -> u64 {
        let messages = message_bytes.saturating_mul(self.message_scale.unwrap_or(1));
        fixed_bytes.saturating_add(messages).div_ceil(BYTES_PER_TOKEN)
    }
}

/// One answer of the model, found from what was asked.
#[derive(Clone)]
pub struct ModelTurn(Arc<dyn Fn(&ModelRequest) -> ModelStep + Send + Sync>);

/// What a turn comes to.
#[derive(Clone)]
pub(crate) enum ModelStep {
    /// Text; ends the prompt.
    Say(String),
    /// Writes a file by whatever the agent offers for it.
    Write { path: String, content: String },
    /// Reads a file likewise.
    Read { path: String },
    /// Runs a command likewise.
    Run { command: String },
    /// A call of this very tool.
    Call { tool: String, input: Value },
    /// A call of this tool of an MCP server, by the name that the agent gives it.
    Mcp { server: String, tool: String, input: Value },
    /// Looks for these tools of an MCP server by the agent's own search, before they can be called.
    Find { server: String, tools: Vec<String> },
    /// Begins to answer and never goes on.
    Hang,
}

impl ModelTurn {
    fn always(step: ModelStep) -> Self {
        Self(Arc::new(move |_| step.clone()))
    }

    /// Says something and ends the prompt.
    pub fn say(text: impl Into<String>) -> Self {
        Self::always(ModelStep::Say(text.into()))
    }

    /// Calls a tool by its name. Where the agent does not offer it, the model says so instead.
    pub fn call(tool: impl Into<String>, input: Value) -> Self {
        Self::always(ModelStep::Call { tool: tool.into(), input })
    }

    /// Calls a tool of an MCP server, by the name that the agent gives it: `mcp__server__tool`, or in a group of tools.
    pub fn mcp(server: impl Into<String>, tool: impl Into<String>, input: Value) -> Self {
        Self::always(ModelStep::Mcp { server: server.into(), tool: tool.into(), input })
    }

    /// Finds tools of an MCP server by the agent's own search. Agents with many tools offer no others of MCP servers than
    /// those that were found; the finding is a turn of its own.
    pub fn find(server: impl Into<String>, tools: &[&str]) -> Self {
        let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
        Self::always(ModelStep::Find { server: server.into(), tools })
    }

    /// Writes a file with the agent's own tool, Claude Code's `Write` or Codex's `apply_patch` or command; the path
    /// is absolute.
    pub fn write(path: impl fmt::Display, content: impl Into<String>) -> Self {
        Self::always(ModelStep::Write { path: path.to_string(), content: content.into() })
    }

    /// Reads a file with the agent's own tool; the path is absolute.
    pub fn read(path: impl fmt::Display) -> Self {
        Self::always(ModelStep::Read { path: path.to_string() })
    }

    /// Runs a command with the agent's own tool.
    pub fn bash(command: impl Into<String>) -> Self {
        Self::always(ModelStep::Run { command: command.into() })
    }

    /// Begins to answer and never goes on, until the agent hangs up or is killed.
    pub fn hang() -> Self {
        Self::always(ModelStep::Hang)
    }

    /// Decides by what was asked: by a path that the prompt names, for example.
    pub fn computed(compute: impl Fn(&ModelRequest) -> ModelTurn + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |asked| compute(asked).step(asked)))
    }

    pub(crate) fn step(&self, asked: &ModelRequest) -> ModelStep {
        (self.0)(asked)
    }
}

impl fmt::Debug for ModelTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}
