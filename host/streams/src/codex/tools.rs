//! Tool calls of Codex: items that start and complete. Both of its formats report them alike, except for the spelling.

use std::borrow::Cow;
use std::collections::VecDeque;

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};

use crate::truncate::{command_line, cut};
use crate::wire::{BoundedList, Count, MeasuredOutput, Text, truncate_name, wire};

/// Shells that Codex starts a command with.
const SHELLS: [&str; 4] = ["bash", "sh", "zsh", "dash"];

/// Calls under way at a time are few; an agent that never finishes one must not grow the list.
const OPEN_CALLS: usize = 256;

wire! {
    /// A file that was changed.
    struct CodexFileChange<'a> {
        path: Text<'a> = "path",
    }

    /// The action that Codex derives from a command.
    struct CodexCommandAction<'a> {
        kind: Text<'a> = "type",
        command: Text<'a> = "command",
        path: Text<'a> = "path",
    }

    /// The answer of an MCP server.
    struct CodexMcpResult {
        content: MeasuredOutput = "content",
    }

    /// Why a tool failed.
    struct CodexToolError<'a> {
        message: Text<'a> = "message",
    }
}

/// The parts of an item that is a tool call, for the names of either format.
pub(super) struct CodexToolCall<'a> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) server: &'a str,
    pub(super) tool: &'a str,
    pub(super) actions: &'a [CodexCommandAction<'a>],
    pub(super) changes: &'a BoundedList<CodexFileChange<'a>>,
    pub(super) outputs: [&'a MeasuredOutput; 2],
    pub(super) failed: &'a str,
    pub(super) command: &'a str,
    pub(super) exit: Count,
    pub(super) status: &'a str,
}

/// Calls that were reported and have not returned.
#[derive(Debug, Default)]
pub(super) struct CodexToolCalls {
    open: VecDeque<String>,
}

impl CodexToolCalls {
    /// A call began.
    pub(super) fn started(&mut self, call: &CodexToolCall<'_>, out: &mut Vec<AgentEvent>) {
        let id = truncate_name(call.id);
        if self.open.iter().any(|open| open == id) {
            return;
        }
        if self.open.len() == OPEN_CALLS {
            self.open.pop_front();
        }
        self.open.push_back(id.to_owned());
        let event = |writes: Option<&str>| AgentEvent::ToolCall {
            id: id.to_owned(),
            name: call.name(),
            reads: call.reads(),
            writes: writes.map(str::to_owned),
            command: command_line(&inner_command(call.command)),
        };
        match &*call.changes.0 {
            [] => out.push(event(None)),
            changes => out.extend(changes.iter().map(|change| event(change.path.nonempty()))),
        }
    }

    /// A call returned; some are reported only now.
    pub(super) fn completed(&mut self, call: &CodexToolCall<'_>, out: &mut Vec<AgentEvent>) {
        self.started(call, out);
        let id = truncate_name(call.id);
        self.open.retain(|open| open != id);
        let given = call.outputs.into_iter().find(|output| output.bytes > 0);
        let (bytes, mut text) = match given {
            Some(output) => (output.bytes, output.beginning.clone()),
            None => (call.failed.len() as u64, cut(call.failed, SIGNAL_TEXT_BYTES).to_owned()),
        };
        // Codex reports the exit code separately from the output; other agents write it before the output.
        if let Some(code) = call.exit.0.filter(|code| *code != 0) {
            text = format!("Exit code {code}\n{text}");
            text.truncate(text.floor_char_boundary(SIGNAL_TEXT_BYTES));
        }
        out.push(AgentEvent::ToolOutput { id: id.to_owned(), bytes, text, failed: call.has_failed() });
    }
}

/// The command that a shell is started for: of `/bin/bash -lc 'make test'` the part that the user knows, `make test`.
pub(super) fn inner_command(line: &str) -> Cow<'_, str> {
    let inner = || {
        let (shell, rest) = line.trim().split_once(' ')?;
        let program = shell.rsplit('/').next().unwrap_or(shell);
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("-lc ").or_else(|| rest.strip_prefix("-c "))?;
        SHELLS.contains(&program).then(|| one_word(rest.trim()))?
    };
    inner().map_or(Cow::Borrowed(line), Cow::Owned)
}

/// The text of a shell's word, without its quotes; none if there is more than one, or a quote stays open.
fn one_word(text: &str) -> Option<String> {
    let mut word = String::new();
    let mut chars = text.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => word.push(chars.next()?),
            (Some('"'), '\\') => {
                let next = chars.next()?;
                if !['"', '\\', '$', '`'].contains(&next) {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, c) if c.is_whitespace() => return None,
            (_, c) => word.push(c),
        }
    }
    (quote.is_none() && !word.is_empty()).then_some(word)
}

impl CodexToolCall<'_> {
    fn name(&self) -> String {
        match (self.server, self.tool) {
            ("", "") => truncate_name(self.kind).to_owned(),
            ("", tool) => truncate_name(tool).to_owned(),
            (server, tool) => format!("{}.{}", truncate_name(server), truncate_name(tool)),
        }
    }

    /// By the exit code, else by the word that Codex has for it.
    fn has_failed(&self) -> Option<bool> {
        match (self.exit.0, self.status) {
            (Some(code), _) => Some(code != 0),
            (None, "failed") => Some(true),
            (None, "completed") => Some(false),
            _ => None,
        }
    }

    /// The whole file, if Codex says that the command only reads one. A part of a file (by `sed`, `head`) is not reported:
    /// reading the next part is not a repeated read.
    fn reads(&self) -> Option<String> {
        let [action] = self.actions else { return None };
        let whole = action.kind.str() == "read" && action.command.str().starts_with("cat ");
        action.path.nonempty().filter(|_| whole).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_without_the_shell_that_runs_it() {
        for (line, inner) in [
            ("/bin/bash -lc 'make test'", "make test"),
            ("bash -lc ls", "ls"),
            (r#"/usr/bin/zsh -lc "printf '%s' \"$HOME\"""#, r#"printf '%s' "$HOME""#),
            (r"/bin/bash -lc 'echo '\''a'\'' && rm b'", "echo 'a' && rm b"),
            ("/bin/bash -lc 'cat a' b", "/bin/bash -lc 'cat a' b"),
            ("/bin/bash -lc 'open", "/bin/bash -lc 'open"),
            ("bash build.sh -lc x", "bash build.sh -lc x"),
            ("python3 -c 'print(1)'", "python3 -c 'print(1)'"),
            ("make test", "make test"),
        ] {
            assert_eq!(inner_command(line), inner, "{line}");
        }
    }
}
