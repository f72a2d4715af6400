//! What the simulated model does: turns chosen by the prompt, a token model, and failures. Knows no HTTP.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::asked::Asked;

/// Bytes that make a token; the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: u64 = 4;

/// What the model does, from start to end of a test.
#[derive(Clone, Debug, Default)]
pub struct Script {
    rules: Vec<(String, Vec<Turn>)>,
    otherwise: Vec<Turn>,
    pub(crate) max_prompt_tokens: Option<u64>,
    message_scale: Option<u64>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) pace: Option<Duration>,
}

impl Script {
    /// A model that has nothing to say yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do for a prompt that contains `needle`, one turn after each tool result. The first rule that fits
    /// counts; past its last turn the model says that it is done.
    #[must_use]
    pub fn on(mut self, needle: impl Into<String>, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.rules.push((needle.into(), turns.into_iter().collect()));
        self
    }

    /// What to do for every other prompt.
    #[must_use]
    pub fn otherwise(mut self, turns: impl IntoIterator<Item = Turn>) -> Self {
        self.otherwise = turns.into_iter().collect();
        self
    }

    /// Refuses longer prompts, as the real service does: `prompt is too long: N tokens > M maximum`.
    #[must_use]
    pub fn max_prompt_tokens(mut self, tokens: u64) -> Self {
        self.max_prompt_tokens = Some(tokens);
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
    pub fn failing(mut self, failure: Failure) -> Self {
        self.failures.push(failure);
        self
    }

    /// Pauses before each event of a streamed answer, so that a test can break in.
    #[must_use]
    pub fn pace(mut self, pause: Duration) -> Self {
        self.pace = Some(pause);
        self
    }

    /// What the model does about what was asked.
    pub(crate) fn step(&self, asked: &Asked) -> Step {
        let rule = self.rules.iter().find(|(needle, _)| asked.prompt.contains(needle));
        let turns = rule.map_or(&self.otherwise, |(_, turns)| turns);
        turns.get(asked.results).map_or_else(|| Step::Say("Done.".to_owned()), |turn| turn.step(asked))
    }

    /// Tokens of a prompt, from the bytes of its fixed part (system prompt and tools) and of its messages.
    pub(crate) fn tokens(&self, fixed_bytes: u64, message_bytes: u64) -> u64 {
        let messages = message_bytes.saturating_mul(self.message_scale.unwrap_or(1));
        fixed_bytes.saturating_add(messages).div_ceil(BYTES_PER_TOKEN)
    }
}

/// One answer of the model, found from what was asked.
#[derive(Clone)]
pub struct Turn(Arc<dyn Fn(&Asked) -> Step + Send + Sync>);

/// What a turn comes to.
pub(crate) enum Step {
    /// Text; ends the prompt.
    Say(String),
    /// A call of a tool.
    Call { tool: String, input: Value },
}

impl Turn {
    /// Says something and ends the prompt.
    pub fn say(text: impl Into<String>) -> Self {
        let text = text.into();
        Self(Arc::new(move |_| Step::Say(text.clone())))
    }

    /// Calls a tool. Where the agent does not offer it, the model says so instead.
    pub fn call(tool: impl Into<String>, input: Value) -> Self {
        let tool = tool.into();
        Self(Arc::new(move |_| Step::Call { tool: tool.clone(), input: input.clone() }))
    }

    /// Writes a file with Claude Code's `Write`; the path is absolute.
    pub fn write(path: impl fmt::Display, content: impl Into<String>) -> Self {
        Self::call("Write", json!({ "file_path": path.to_string(), "content": content.into() }))
    }

    /// Reads a file with Claude Code's `Read`; the path is absolute.
    pub fn read(path: impl fmt::Display) -> Self {
        Self::call("Read", json!({ "file_path": path.to_string() }))
    }

    /// Runs a command with Claude Code's `Bash`.
    pub fn bash(command: impl Into<String>) -> Self {
        Self::call("Bash", json!({ "command": command.into(), "description": "a step of the script" }))
    }

    /// Decides by what was asked: by a path that the prompt names, for example.
    pub fn computed(compute: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |asked| compute(asked).step(asked)))
    }

    pub(crate) fn step(&self, asked: &Asked) -> Step {
        (self.0)(asked)
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}

/// Requests that fail before the model sees them. Only main requests count, those that offer tools.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) status: u16,
    pub(crate) times: u32,
    pub(crate) after: u32,
    pub(crate) retry_after_s: Option<u32>,
}

impl Failure {
    /// Answers 429 this many times.
    pub fn rate_limited(times: u32) -> Self {
        Self { status: 429, times, after: 0, retry_after_s: None }
    }

    /// Answers 529 this many times.
    pub fn overloaded(times: u32) -> Self {
        Self { status: 529, times, after: 0, retry_after_s: None }
    }

    /// Not before this many main requests.
    #[must_use]
    pub fn after(mut self, requests: u32) -> Self {
        self.after = requests;
        self
    }

    /// Sends a `retry-after` header.
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }
}
