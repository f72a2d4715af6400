//! The agent of a role, and the words for it. Searches for no program and starts none.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Which agent plays a role. In files, on the command line and in the journal it is one text: `claude`,
/// `acp:opencode acp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentKind {
    /// Built in: a scripted ACP agent, a real child process.
    Rehearsal,
    /// Claude Code over stream-json.
    Claude,
    /// Codex over its app server.
    Codex,
    /// Any agent that speaks the Agent Client Protocol on stdin and stdout.
    Acp {
        /// How it is started.
        command: CommandLine,
    },
    /// Any program that takes a prompt and prints an answer.
    Process {
        /// How it is started.
        command: CommandLine,
    },
}

/// The agents that are one word; the others carry a command.
const PLAIN: [AgentKind; 3] = [AgentKind::Claude, AgentKind::Codex, AgentKind::Rehearsal];

/// Names of agents that people write in place of a kind, and their meaning.
const MEANT: [(&str, &str); 6] = [
    ("opencode", "acp:opencode acp"),
    ("gemini", "acp:gemini --acp"),
    ("claude-agent-acp", "acp:claude-agent-acp"),
    ("codex-acp", "acp:codex-acp"),
    ("claude-code", "claude"),
    ("codex-cli", "codex"),
];

impl AgentKind {
    /// Whether each of its tool calls is an event. Other agents may change files by calls that they do not show.
    pub fn reports_all_tool_calls(&self) -> bool {
        matches!(self, AgentKind::Claude | AgentKind::Codex)
    }

    /// The agent that is meant by a bare name, if that is known.
    pub fn meant(given: &str) -> Option<&'static str> {
        let name = given.trim().to_ascii_lowercase();
        MEANT.iter().find(|(known, _)| *known == name).map(|(_, meant)| *meant)
    }

    /// The accepted forms, for messages.
    pub const CHOICES: &'static str = "write `claude`, `codex`, `rehearsal` (built in), `acp:<command>` (any agent \
                                       that speaks ACP) or `process:<command>` (any program)";

    /// The possible values of [`name`](Self::name).
    pub const NAMES: [&'static str; 5] = ["rehearsal", "claude", "codex", "acp", "process"];

    /// One word for it, without the command.
    pub const fn name(&self) -> &'static str {
        match self {
            AgentKind::Rehearsal => "rehearsal",
            AgentKind::Claude => "claude",
            AgentKind::Codex => "codex",
            AgentKind::Acp { .. } => "acp",
            AgentKind::Process { .. } => "process",
        }
    }

    /// "claude", "acp:opencode": two agents of one kind differ in their programs.
    pub fn label(&self) -> String {
        match self.command() {
            None => self.name().to_owned(),
            Some(command) => {
                let program = command.program();
                format!("{}:{}", self.name(), program.rsplit('/').next().unwrap_or(program))
            }
        }
    }

    /// The command that it carries.
    pub const fn command(&self) -> Option<&CommandLine> {
        match self {
            AgentKind::Acp { command } | AgentKind::Process { command } => Some(command),
            AgentKind::Rehearsal | AgentKind::Claude | AgentKind::Codex => None,
        }
    }

    /// The same agent, with the path of its program resolved from a folder. A bare name stays unchanged: it is searched on
    /// `PATH`, as a shell does.
    #[must_use]
    pub fn with_program(mut self, join: impl FnOnce(&str) -> String) -> Self {
        if let AgentKind::Acp { command } | AgentKind::Process { command } = &mut self
            && command.program().contains('/')
        {
            command.0[0] = join(command.program());
        }
        self
    }
}

impl fmt::Display for AgentKind {
    /// The name alone; `String::from` gives the whole text, with the command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<AgentKind> for String {
    fn from(kind: AgentKind) -> Self {
        match kind.command() {
            Some(command) => format!("{}:{command}", kind.name()),
            None => kind.name().to_owned(),
        }
    }
}

impl FromStr for AgentKind {
    type Err = AgentError;

    fn from_str(text: &str) -> Result<Self, AgentError> {
        if let Some(kind) = PLAIN.into_iter().find(|kind| kind.name() == text.trim()) {
            return Ok(kind);
        }
        let unknown = || AgentError::Unknown { given: text.to_owned() };
        let (word, command) = text.split_once(':').unwrap_or((text, ""));
        match word.trim() {
            "acp" => Ok(AgentKind::Acp { command: CommandLine::parse("acp", command)? }),
            "process" => Ok(AgentKind::Process { command: CommandLine::parse("process", command)? }),
            _ => Err(unknown()),
        }
    }
}

impl TryFrom<String> for AgentKind {
    type Error = AgentError;

    fn try_from(text: String) -> Result<Self, AgentError> {
        text.parse()
    }
}

impl JsonSchema for AgentKind {
    fn schema_name() -> Cow<'static, str> {
        "AgentKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which agent plays a role: \"claude\" (Claude Code), \"codex\", \"rehearsal\" (built in: plays a script), \"acp:<command>\" (any agent that speaks the Agent Client Protocol) or \"process:<command>\" (any program that takes a prompt and prints an answer). A command is split as a shell would, and run without one.",
            "type": "string",
            "pattern": r"^\s*(claude|codex|rehearsal|(acp|process):\s*\S.*)\s*$",
            "examples": ["claude", "codex", "rehearsal", "acp:opencode acp", "process:./agent.sh --fast"],
        })
    }
}

/// A program and its arguments, at least the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

impl CommandLine {
    /// Splits as a POSIX shell would: quotes and backslashes count, variables, globs and pipes do not.
    fn parse(kind: &'static str, text: &str) -> Result<Self, AgentError> {
        let words = shlex::split(text).ok_or(AgentError::OpenQuote { kind })?;
        if words.iter().any(|word| word.contains('\0')) {
            return Err(AgentError::Nul { kind });
        }
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Self(words)),
            _ => Err(AgentError::NoCommand { kind }),
        }
    }

    /// A name to look up on `PATH`, or a path.
    pub fn program(&self) -> &str {
        &self.0[0]
    }

    /// Its arguments.
    pub fn args(&self) -> &[String] {
        &self.0[1..]
    }
}

impl fmt::Display for CommandLine {
    /// Quoted if a word needs it, so that parsing gives the same words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `parse` lets no NUL in, and nothing else fails.
        f.write_str(&shlex::try_join(self.0.iter().map(String::as_str)).map_err(|_| fmt::Error)?)
    }
}

/// "did you mean `acp:opencode acp`? ", or nothing.
fn meant(given: &str) -> String {
    AgentKind::meant(given).map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default()
}

/// Why a text names no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// None of the kinds.
    #[error("\"{}\" is no agent: {}{}", given.escape_debug(), meant(given), AgentKind::CHOICES)]
    Unknown {
        /// As it was written.
        given: String,
    },
    /// A kind that needs a command, without one.
    #[error("`{kind}` needs a command: write `{kind}:<program> <arguments>`")]
    NoCommand {
        /// The kind.
        kind: &'static str,
    },
    /// A quote that is never closed, or a backslash at the end.
    #[error(
        "the command of `{kind}` ends within a quote: close it, or write \\ before a quote that is meant"
    )]
    OpenQuote {
        /// The kind.
        kind: &'static str,
    },
    /// No program can be given such a word.
    #[error("the command of `{kind}` has a NUL character: remove it")]
    Nul {
        /// The kind.
        kind: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let kind: AgentKind = text.parse().unwrap();
        let command = kind.command().expect("has a command");
        std::iter::once(command.program().to_owned()).chain(command.args().iter().cloned()).collect()
    }

    #[test]
    fn a_command_is_split_as_a_shell_would_and_nothing_in_it_is_run() {
        assert_eq!(words("acp:opencode acp"), ["opencode", "acp"]);
        assert_eq!(words("acp: node '/opt/my agents/index.js'"), ["node", "/opt/my agents/index.js"]);
        assert_eq!(
            words(r#"process:./agent.sh --say "a b" $HOME c:d"#),
            ["./agent.sh", "--say", "a b", "$HOME", "c:d"]
        );
    }

    #[test]
    fn what_names_no_agent_is_told_with_what_to_write() {
        let error = |text: &str| text.parse::<AgentKind>().unwrap_err();
        for unknown in ["", "codx", "claude:opus", "acpx:a", ":"] {
            assert_eq!(error(unknown), AgentError::Unknown { given: unknown.to_owned() });
        }
        let opencode = error("OpenCode").to_string();
        assert!(opencode.contains("did you mean `acp:opencode acp`?"), "{opencode}");
        for (_, meant) in MEANT {
            meant.parse::<AgentKind>().unwrap();
        }
        for empty in ["acp", "acp:", "acp:  ", "acp:''", "acp:'' x"] {
            assert_eq!(error(empty), AgentError::NoCommand { kind: "acp" }, "{empty}");
        }
        assert_eq!(error("process:sh -c 'a"), AgentError::OpenQuote { kind: "process" });
        assert_eq!(error("process:a\0b"), AgentError::Nul { kind: "process" });
    }

    #[test]
    fn only_a_path_starts_from_a_folder() {
        let rooted = |text: &str| {
            let kind: AgentKind = text.parse().unwrap();
            String::from(kind.with_program(|path| format!("/home/ada/{path}")))
        };
        assert_eq!(rooted("process:bin/agent.sh x/y"), "process:/home/ada/bin/agent.sh x/y");
        assert_eq!(rooted("acp:opencode acp"), "acp:opencode acp");
        assert_eq!(rooted("codex"), "codex");
    }

    proptest::proptest! {
        #[test]
        fn every_command_is_read_back_as_it_was(words in proptest::collection::vec("[^\0]{0,12}", 1..5)) {
            proptest::prop_assume!(!words[0].is_empty());
            let kind = AgentKind::Process { command: CommandLine(words) };
            let text = serde_json::to_string(&kind).unwrap();
            proptest::prop_assert_eq!(serde_json::from_str::<AgentKind>(&text).unwrap(), kind);
        }
    }
}
