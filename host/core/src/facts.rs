//! Facts about agents and workspaces, as decoders and drivers state them. No judgment is made here.

use std::iter::Sum;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::UnixMs;

/// Where a signal came from, from the most to the least trustworthy (WIT `types.channel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SignalSource {
    /// A structured event of the agent's own protocol.
    AgentEvent,
    /// What the model's provider answered, as passed on by the agent.
    ProviderError,
    /// What the agent wrote as its answer.
    AgentText,
    /// Everything else on the process's terminal.
    Terminal,
    /// What a tool printed; never evidence about the session.
    ToolOutput,
}

/// Something noticed in an agent's stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSignal {
    /// Where it came from.
    pub channel: SignalSource,
    /// The agent's or provider's own code, verbatim; empty where there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// HTTP status, where one was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// When the limit resets, where a structured field said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<UnixMs>,
    /// The agent says that it retries by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retrying: bool,
    /// What was said, at most [`SIGNAL_TEXT_BYTES`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A decoder truncates the text of one signal, and of one piece of tool output, to this: enough for any error message, and
/// small compared with the 8 KiB window that a policy sees.
pub const SIGNAL_TEXT_BYTES: usize = 2048;

/// A decoder cuts a command line to this: enough to know the command again.
pub const COMMAND_BYTES: usize = 200;

/// Where a number of tokens came from (WIT `types.occupancy-source`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OccupancySource {
    /// Unknown.
    #[default]
    Unknown,
    /// The agent reported the fill of its window.
    Agent,
    /// Usage of the last model call: prompt plus cached tokens of that call.
    LastCall,
    /// Estimated by the host from bytes.
    Estimate,
}

/// Tokens billed by one model call. Cost is in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Input tokens, cached ones included.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Cost, where the agent reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
}

impl TokenUsage {
    /// Adds the bill of another call.
    pub fn add(&mut self, other: &TokenUsage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_microusd = match (self.cost_microusd, other.cost_microusd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
    }

    /// Input and output together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl<'a> Sum<&'a TokenUsage> for TokenUsage {
    fn sum<I: Iterator<Item = &'a TokenUsage>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

/// Who asked for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompactionTrigger {
    /// The agent itself.
    Auto,
    /// The host.
    Asked,
}

/// A fact from a driver: what an agent's stream said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum AgentEvent {
    /// The agent is up and takes prompts.
    Ready {
        /// The agent's own id of its session.
        #[serde(default)]
        agent_session: Option<String>,
        /// Model in use.
        #[serde(default)]
        model: Option<String>,
        /// Version of the agent.
        #[serde(default)]
        version: Option<String>,
    },
    /// What the agent told of what it can do, where its driver could not know before. It holds from now on.
    Capabilities(Capabilities),
    /// A piece of the answer.
    Text {
        /// The piece.
        text: String,
    },
    /// A tool was called.
    ToolCall {
        /// The agent's id of the call.
        id: String,
        /// Name of the tool.
        name: String,
        /// What it reads (a path, a URL), where the decoder can tell; counts re-reads (C12).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reads: Option<String>,
        /// The path it writes, where the decoder can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writes: Option<String>,
        /// The command line that it runs, where the decoder can tell, cut to [`COMMAND_BYTES`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
    },
    /// A tool returned.
    ToolOutput {
        /// The agent's id of the call.
        id: String,
        /// Size of what it returned.
        bytes: u64,
        /// Its beginning, cut to [`SIGNAL_TEXT_BYTES`].
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Whether the tool failed; absent where the agent's protocol does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<bool>,
    },
    /// A model round-trip ended.
    Turn {
        /// Tokens in the window after it, where the agent said.
        #[serde(default)]
        used_tokens: Option<u64>,
        /// What it billed.
        billed: TokenUsage,
    },
    /// The fill of the window, reported outside a turn.
    Occupancy {
        /// Tokens in the window now.
        #[serde(default)]
        used_tokens: Option<u64>,
        /// Size of the window.
        #[serde(default)]
        window_tokens: Option<u64>,
        /// Who said so.
        source: OccupancySource,
    },
    /// Cost or tokens that no turn carried.
    Billing(TokenUsage),
    /// An error, a limit, a line on stderr.
    Signal(ErrorSignal),
    /// The agent began to compact.
    Compacting,
    /// The context is shorter now. One that the host asked for ends in this or in `CompactionFailed`, once the
    /// agent takes prompts again, and in no `PromptEnded`.
    Compacted {
        /// Who asked.
        trigger: CompactionTrigger,
        /// Tokens before, where known.
        #[serde(default)]
        before_tokens: Option<u64>,
        /// Tokens after, where known.
        #[serde(default)]
        after_tokens: Option<u64>,
    },
    /// Nothing to compact, or it did not work.
    CompactionFailed {
        /// What the agent said.
        text: String,
    },
    /// The agent waits for a person.
    ApprovalRequested {
        /// What it wants to do.
        title: String,
    },
    /// The agent no longer waits.
    ApprovalResolved {
        /// Whether it was allowed.
        allowed: bool,
    },
    /// The prompt was answered, or broken off.
    PromptEnded {
        /// The agent's own stop or terminal reason, verbatim ("end_turn", "prompt_too_long").
        stop_reason: String,
        /// The agent calls it an error.
        is_error: bool,
    },
    /// The agent printed faster than the host keeps: the host joined its text to the last of it, and left this much out.
    Omitted {
        /// Calls of tools, what they returned, turns and events of an unknown kind.
        events: u64,
        /// Bytes of its text.
        text_bytes: u64,
    },
    /// The agent, or what it started, asked for what its sandbox, the host or its own rules do not give.
    Refused(Refusal),
    /// Something of a kind that this decoder does not know; nothing is concluded from it.
    Unknown {
        /// The kind, as the agent names it, cut to 64 bytes.
        kind: String,
    },
}

impl AgentEvent {
    /// Whether it separates two messages of an agent. The pieces of one message follow each other; the results of tools may
    /// come between them, since a call may outlast the message after it.
    pub fn separates_messages(&self) -> bool {
        matches!(
            self,
            AgentEvent::ToolCall { .. }
                | AgentEvent::Turn { .. }
                | AgentEvent::Compacting
                | AgentEvent::Compacted { .. }
                | AgentEvent::CompactionFailed { .. }
                | AgentEvent::ApprovalRequested { .. }
        )
    }

    /// Whether it is a call of a tool that may change files: every one that does not only read.
    pub fn may_write(&self) -> bool {
        match self {
            AgentEvent::ToolCall { reads, writes, command, .. } => {
                reads.is_none() || writes.is_some() || command.is_some()
            }
            _ => false,
        }
    }
}

/// The code of the signal of a call that was not allowed, by the role or by the agent itself.
pub(crate) const PERMISSION_REFUSED: &str = "permission-refused";

/// What a sandbox, the host, the role of a session, or the agent itself did not allow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Of what kind.
    pub kind: RefusalKind,
    /// What was asked for: a path, a host with its port, the name of a system call, a tool with its command, a
    /// command with why.
    pub target: String,
}

/// What an agent asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalKind {
    /// Read something.
    Read,
    /// Write, make, move or remove something.
    Write,
    /// Connect to something.
    Network,
    /// Signal a process, or change the system.
    System,
    /// Change its own run, which only people do.
    Host,
    /// Call a tool, or run a command, that its role does not allow.
    Call,
    /// Run a command that the rules of the agent itself do not allow.
    Own,
}

impl RefusalKind {
    /// Whether a call of a tool or a command was not allowed, by the role or by the agent itself.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::Own)
    }
}

impl Refusal {
    /// The signal for policies. It is never evidence of the state of a session, since it comes neither from the agent nor its
    /// provider.
    pub(crate) fn signal(&self) -> ErrorSignal {
        ErrorSignal {
            channel: SignalSource::ToolOutput,
            code: match self.kind {
                RefusalKind::Own => PERMISSION_REFUSED,
                _ => self.by(),
            }
            .to_owned(),
            status: None,
            resets_at: None,
            retrying: false,
            text: match self.kind {
                // The code names the refuser; the text is the call, as for a call that a role did not allow.
                RefusalKind::Own => self.target.clone(),
                _ => format!("the {} did not allow to {self}", self.by()),
            },
        }
    }

    /// The refuser: "sandbox", "host", "role" or "agent's rules".
    pub fn by(&self) -> &'static str {
        match self.kind {
            RefusalKind::Host => "host",
            RefusalKind::Call => "role",
            RefusalKind::Own => "agent's rules",
            RefusalKind::Read | RefusalKind::Write | RefusalKind::Network | RefusalKind::System => "sandbox",
        }
    }
}

impl std::fmt::Display for Refusal {
    /// "write /etc/passwd"
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = match self.kind {
            RefusalKind::Read => "read",
            RefusalKind::Write => "write",
            RefusalKind::Network => "connect to",
            RefusalKind::System => "do",
            RefusalKind::Host => "change its run by",
            RefusalKind::Call => "call",
            RefusalKind::Own => "run",
        };
        write!(f, "{verb} {}", self.target)
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessExit {
    /// Exit code, where it exited.
    pub code: Option<i32>,
    /// The signal, where one ended it.
    pub signal: Option<i32>,
    /// The host asked it to end.
    pub by_host: bool,
}

/// What an agent and its driver can do (WIT `types.capabilities`). What they cannot do is visible, never faked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Reports occupancy while working.
    pub reports_occupancy: bool,
    /// Compacts when asked.
    pub compacts: bool,
    /// Takes MCP servers.
    pub takes_mcp: bool,
    /// Accepts a cap of turns.
    pub caps_turns: bool,
    /// A prompt can be interrupted.
    pub interrupts: bool,
    /// Reports what it costs.
    pub reports_cost: bool,
}

/// What git says of a workspace (WIT `types.git-facts`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitFacts {
    /// The workspace is a git work tree.
    pub present: bool,
    /// Current branch; empty when detached or absent.
    pub branch: String,
    /// Commit of HEAD; empty where there is none.
    pub head: String,
    /// Commits since the phase began.
    pub commits_since: u32,
    /// Files with uncommitted changes.
    pub dirty_files: u32,
    /// The commits since the phase began, newest first, at most [`COMMITS_NAMED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<Commit>,
}

/// Commits that facts name; [`GitFacts::commits_since`] counts the others. A session that makes more is rare, and git
/// itself has them all.
pub const COMMITS_NAMED: usize = 50;

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Commit {
    /// Its abbreviated id.
    pub id: String,
    /// The first line of its message, cut. The committer wrote it: data, never instructions.
    pub subject: String,
}

/// A file that differs from the start of the phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFile {
    /// Workspace-relative, `/` between components.
    pub path: String,
    /// Size now; 0 where it is gone.
    pub bytes: u64,
    /// Whether it is there.
    pub exists: bool,
    /// Content address now, where it is there and not larger than the workspace crate hashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<crate::ids::Digest>,
    /// It was not there at the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
}

/// What is really on disk (A5), measured against the start of the phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceFacts {
    /// Git.
    pub git: GitFacts,
    /// Files in the workspace, up to 10,000, ignored ones not counted.
    pub files: u32,
    /// Files that differ from the start of the phase, by path, at most 500.
    pub changed: Vec<ChangedFile>,
    /// How many more there are.
    #[serde(default)]
    pub changed_beyond: u32,
    /// Files that the objectives name and that are not there.
    pub missing: Vec<String>,
    /// Files that the objectives name and that were written since the start of the phase, be it with the content that they had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<WrittenFile>,
    /// Those of [`Workflow::next_run_files`](crate::Workflow::next_run_files) that differ from the first start of the phase, or of which
    /// that cannot be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_run_files: Vec<String>,
    /// There are more files than are looked at, and nothing tells which of those beyond differ.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_unseen: bool,
}

/// A file that was written, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Workspace-relative, `/` between components.
    pub path: String,
    /// ns since the epoch, by its file system.
    pub at_ns: i64,
}

impl WorkspaceFacts {
    /// Number of files that differ from their state at `before`. Beyond the listed files only their number is known.
    /// number is known.
    pub fn changed_since(&self, before: &WorkspaceFacts) -> u32 {
        let listed = self.changed.iter().filter(|file| !before.changed.contains(file)).count();
        let beyond = self.changed_beyond.saturating_sub(before.changed_beyond);
        u32::try_from(listed).unwrap_or(u32::MAX).saturating_add(beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_before_and_not_since_does_not_count() {
        // A4
        let file = |path: &str, bytes| ChangedFile {
            path: path.into(),
            bytes,
            exists: true,
            digest: None,
            is_new: true,
        };
        let before = WorkspaceFacts { changed: vec![file("a", 1), file("b", 1)], ..Default::default() };
        let changed = vec![file("a", 1), file("b", 2), file("c", 1)];
        let now = WorkspaceFacts { changed, changed_beyond: 4, ..Default::default() };
        assert_eq!(now.changed_since(&before), 6);
        assert_eq!(now.changed_since(&now), 0);
    }
}
