//! The transcript of a run in lines: the agents' messages, commands, reads, writes and refusals. Decides nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use baton_runtime::core::SessionId;
use baton_runtime::core::facts::{ProcessExit, SignalSource};
use baton_runtime::{TranscriptEvent, TranscriptLine};

use super::notice;
use super::permission_hint;
use super::terminal_style::{TerminalStyle, Tone};
use super::text_format;
use crate::config_layers;

/// Lines of a command's output; `--format json` has all that is stored.
const OUTPUT_LINES: usize = 4;
/// Files that are named in a line.
const FILES_NAMED: usize = 8;
/// Width of the columns.
const PHASE_WIDTH: usize = 12;
const SESSION_WIDTH: usize = 4;
const WORD_WIDTH: usize = 8;
/// Characters at which a terminal or a pager may begin a new line.
const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
/// How agents begin what they return for a call that was not allowed.
const REFUSALS: [&str; 6] = [
    // Baton itself, asked by an agent.
    "the role of this session does not allow",
    "Claude requested permissions",
    "This command requires approval",
    "Permission to use",
    "The user doesn't want to proceed",
    // The adapter of Claude Code for ACP.
    "User refused permission to run tool",
];

/// How the built-in policy begins the reason of a prompt that is given once more.
const RETRY_PREFIX: &str = "Why you are asked again: ";

/// How a log is laid out.
pub(crate) struct LogRenderer {
    pub(crate) look: TerminalStyle,
    /// Whole prompts are shown.
    pub(crate) prompts: bool,
    /// Paths below it are shown from there.
    pub(crate) workspace: String,
    /// The folder of the run's sessions, if it has one.
    pub(crate) sessions: Option<PathBuf>,
    /// The terminal output of the agents that was not shown.
    pub(crate) terminal_tails: TerminalTails,
}

/// For each session that has not ended: its last line, and its terminal output.
pub(crate) type TerminalTails = BTreeMap<SessionId, (TranscriptLine, Vec<String>)>;

struct LogLine {
    word: &'static str,
    tone: Tone,
    text: String,
    /// Further lines, quoted.
    more: Vec<String>,
}

impl LogRenderer {
    /// One line, with those that belong to it; empty for terminal output of an agent. That is counted when its process has
    /// ended, and quoted if the process failed.
    pub(crate) fn next(&mut self, line: &TranscriptLine) -> String {
        match (&line.what, &line.session) {
            (TranscriptEvent::Signal { channel: SignalSource::Terminal, code, text }, Some(session))
                if code.is_empty() =>
            {
                let (last, lines) =
                    self.terminal_tails.entry(session.clone()).or_insert_with(|| (line.clone(), Vec::new()));
                *last = line.clone();
                lines.extend(without_colours(text).lines().map(str::to_owned));
                String::new()
            }
            (TranscriptEvent::Ended { exit }, Some(session)) => {
                let written = self.terminal_tails.remove(session);
                let is_failed = !exit.by_host && (exit.signal.is_some() || exit.code != Some(0));
                let written = written.map(|(_, lines)| self.written(line, &lines, is_failed));
                written.unwrap_or_default() + &self.text(line)
            }
            _ => self.text(line),
        }
    }

    /// The terminal output so far of the agents that have not ended.
    pub(crate) fn rest(&mut self) -> String {
        let rest = std::mem::take(&mut self.terminal_tails);
        rest.into_values().map(|(line, lines)| self.written(&line, &lines, false)).collect()
    }

    /// The amount of an agent's terminal output, and its file; the end of it if requested.
    fn written(&self, line: &TranscriptLine, lines: &[String], is_quoted: bool) -> String {
        let session = line.session.as_ref().map_or("", |session| session.as_str());
        let file = self.sessions.as_ref().map(|folder| folder.join(session).join("stderr.log"));
        let kept = file.map_or(String::new(), |file| format!(": {}", file.display()));
        let count = text_format::counted(lines.len(), "line");
        let more = if is_quoted { last_lines(&lines.join("\n")) } else { Vec::new() };
        let text = format!("{count} on its terminal, not shown here{kept}");
        self.shown(line, LogLine { word: "prints", tone: Tone::Dim, text, more })
    }

    fn text(&self, line: &TranscriptLine) -> String {
        self.shown(line, self.say(&line.what))
    }

    fn shown(&self, line: &TranscriptLine, said: LogLine) -> String {
        let phase = line.phase.as_ref().map_or("", |phase| phase.as_str());
        let session = line.session.as_ref().map_or("", |session| session.as_str());
        // A narrow terminal has room for the time or for the words.
        let head = match self.look.width < NARROW {
            true => format!("{:SESSION_WIDTH$} ", session),
            false => {
                format!("{}  {phase:PHASE_WIDTH$}  {session:SESSION_WIDTH$}  ", self.look.clock(line.at))
            }
        };
        let indent = head.chars().count() + WORD_WIDTH + 2;
        let word = self.look.paint(said.tone, &format!("{:WORD_WIDTH$}", said.word));
        // An agent's message or command may have several lines, and none of them may look like a row of the host's own.
        let whole = said.text.trim().to_owned();
        let mut lines = whole.split(BREAKS);
        let mut text = format!(
            "{}{word}  {}\n",
            self.look.paint(Tone::Dim, &head),
            self.look.wrap(&self.short(lines.next().unwrap_or_default()), indent)
        );
        for more in lines.chain(said.more.iter().flat_map(|more| more.split(BREAKS))) {
            let more = self.look.wrap(&self.short(more), indent + 2);
            text.push_str(&format!("{:indent$}{} {more}\n", "", self.look.paint(Tone::Dim, "|")));
        }
        text
    }

    fn short(&self, text: &str) -> String {
        notice::from_workspace(text, &self.workspace)
    }

    fn say(&self, what: &TranscriptEvent) -> LogLine {
        let line = |word, tone, text: String| LogLine { word, tone, text, more: Vec::new() };
        match what {
            TranscriptEvent::Started { agent, continuation: 0 } => {
                line("agent", Tone::Strong, format!("{agent} starts"))
            }
            TranscriptEvent::Started { agent, continuation } => {
                line("agent", Tone::Handoff, format!("{agent} takes over: continuation {continuation}"))
            }
            TranscriptEvent::Prompted { prompt, focus, text } => {
                let what = notice::prompted(*prompt, &text_format::list(focus));
                let more = match self.prompts {
                    true => text.lines().map(str::to_owned).collect(),
                    // Why a prompt is given once more is worth a line.
                    false => text
                        .lines()
                        .filter(|line| line.starts_with(RETRY_PREFIX))
                        .map(str::to_owned)
                        .collect(),
                };
                LogLine { word: "prompt", tone: Tone::Dim, text: what, more }
            }
            TranscriptEvent::Said { text } => line("says", Tone::Plain, text.clone()),
            TranscriptEvent::Called { tool, command, reads, writes, failed, returned, output } => {
                called(tool, [command, reads, writes], *failed, *returned, output)
            }
            TranscriptEvent::Asks { title } => line("asks", Tone::Warn, title.clone()),
            TranscriptEvent::Signal { code, text, .. } => {
                let text = first_lines(&without_colours(text)).join("\n");
                match (code.is_empty(), text.is_empty()) {
                    // Terminal output of a program is not a message of the agent.
                    (true, _) => line("prints", Tone::Dim, text),
                    (false, true) => line("signal", Tone::Warn, code.clone()),
                    (false, false) => line("signal", Tone::Warn, format!("{code}: {text}")),
                }
            }
            TranscriptEvent::Refused { refusal } => {
                line("refused", Tone::Warn, format!("to {refusal}: {}", permission_hint::not_given(refusal)))
            }
            TranscriptEvent::AskedToCompact { instructions } => {
                let more = match self.prompts {
                    true => instructions.lines().map(str::to_owned).collect(),
                    false => Vec::new(),
                };
                LogLine { word: "compact", tone: Tone::Dim, text: "it was asked to compact".to_owned(), more }
            }
            TranscriptEvent::Compacted => {
                line("compact", Tone::Handoff, "the context was made shorter".to_owned())
            }
            TranscriptEvent::Answered { stop_reason, is_error: true } => {
                line("ended", Tone::Warn, format!("the prompt, with an error: {stop_reason}"))
            }
            TranscriptEvent::Answered { stop_reason, .. } => {
                line("ended", Tone::Dim, format!("the prompt: {stop_reason}"))
            }
            TranscriptEvent::Changed { files, beyond } => {
                let rest = u32::try_from(files.len().saturating_sub(FILES_NAMED)).unwrap_or(u32::MAX);
                let rest = rest.saturating_add(*beyond);
                let named = text_format::list(&files[..files.len().min(FILES_NAMED)]);
                let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
                line("changed", Tone::Good, format!("{named}{rest}"))
            }
            TranscriptEvent::Checked { command, passed: true, .. } => {
                line("check", Tone::Good, format!("$ {command}  exit 0"))
            }
            TranscriptEvent::Checked { command, code, findings, .. } => {
                let how = code.map_or("ended by a signal".to_owned(), |code| format!("exit {code}"));
                let text = format!("$ {command}  {how}");
                LogLine { word: "check", tone: Tone::Bad, text, more: last_lines(findings) }
            }
            TranscriptEvent::Chosen { by_folder } => {
                line("policy", Tone::Warn, config_layers::describe_choices(by_folder))
            }
            TranscriptEvent::Shared { found } => line("sandbox", Tone::Warn, found.to_string()),
            TranscriptEvent::Policies { notice } => {
                let (tone, text) = notice::about_policies(notice);
                line("policy", tone, text)
            }
            TranscriptEvent::Ended { exit } => line("gone", Tone::Dim, gone(exit)),
        }
    }
}

/// Below this width a line has no room for the time and the phase.
const NARROW: u16 = 70;

/// A text without the codes that colour it on a terminal; any other escape stays, and is shown as one.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.find(|c: char| !(c.is_ascii_digit() || c == ';')) {
            Some(at) if part[at..].starts_with('m') => plain.push_str(&part[at + 1..]),
            _ => {
                plain.push_str("\u{1b}[");
                plain.push_str(part);
            }
        }
    }
    plain
}

fn gone(exit: &ProcessExit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("its process ended with {code}"),
        (None, Some(signal)) if exit.by_host => format!("its process was ended (signal {signal})"),
        (None, Some(signal)) => format!("its process was ended by signal {signal}"),
        (None, None) => "its process is gone".to_owned(),
    }
}

fn called(
    tool: &str,
    [command, reads, writes]: [&Option<String>; 3],
    failed: Option<bool>,
    returned: bool,
    output: &str,
) -> LogLine {
    let (word, text) = match (command, writes, reads) {
        (Some(command), ..) => ("ran", format!("$ {command}")),
        (None, Some(path), _) => ("wrote", path.clone()),
        (None, None, Some(path)) => ("read", path.clone()),
        (None, None, None) => ("tool", tool.to_owned()),
    };
    let is_refused =
        failed == Some(true) && REFUSALS.iter().any(|words| output.trim_start().starts_with(words));
    if is_refused {
        return LogLine { word: "refused", tone: Tone::Warn, text, more: first_lines(output) };
    }
    match failed {
        Some(true) => {
            let how = exit_code(output).map_or("failed".to_owned(), |code| format!("exit {code}"));
            // The code is in the line.
            let printed = if how == "failed" {
                output
            } else {
                output.trim_start().split_once('\n').unwrap_or_default().1
            };
            LogLine { word, tone: Tone::Bad, text: format!("{text}  {how}"), more: first_lines(printed) }
        }
        Some(false) if command.is_some() => {
            LogLine { word, tone: Tone::Plain, text: format!("{text}  exit 0"), more: Vec::new() }
        }
        None if !returned => {
            LogLine { word, tone: Tone::Dim, text: format!("{text}  (has not returned)"), more: Vec::new() }
        }
        _ => LogLine { word, tone: Tone::Plain, text, more: Vec::new() },
    }
}

/// The code that agents write before what a command printed.
fn exit_code(output: &str) -> Option<i32> {
    let rest = output.trim_start().strip_prefix("Exit code ")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn first_lines(text: &str) -> Vec<String> {
    let lines = text.trim().lines().filter(|line| !line.trim().is_empty());
    lines.take(OUTPUT_LINES).map(str::to_owned).collect()
}

fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.trim().lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(OUTPUT_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::core::facts::{Refusal, RefusalKind};
    use baton_runtime::core::observation::PromptKind;
    use baton_runtime::core::{Seq, UnixMs};

    fn lines() -> Vec<TranscriptLine> {
        let call =
            |command: Option<&str>, writes: Option<&str>, failed, output: &str| TranscriptEvent::Called {
                tool: "Bash".into(),
                command: command.map(Into::into),
                reads: None,
                writes: writes.map(Into::into),
                failed,
                returned: failed.is_some(),
                output: output.into(),
            };
        let happened = [
            TranscriptEvent::Started { agent: "claude".into(), continuation: 0 },
            TranscriptEvent::Prompted {
                prompt: PromptKind::First,
                focus: vec!["parser".into()],
                text: "# Phase\nDo.".into(),
            },
            TranscriptEvent::Said {
                text: "I will look at what is there before anything is changed, and then move the parser."
                    .into(),
            },
            call(Some("cargo test -q"), None, Some(true), "Exit code 101\nerror[E0433]: no `lexer`\n"),
            call(
                Some("git push"),
                None,
                Some(true),
                "Claude requested permissions to use Bash, but you haven't granted it yet.",
            ),
            call(Some("cargo test -q"), None, Some(false), "ok"),
            call(None, Some("/home/ada/app/src/a.rs"), Some(false), ""),
            call(Some("sleep 100"), None, None, ""),
            TranscriptEvent::AskedToCompact {
                instructions: "Keep the names of files.\nDrop outputs.".into(),
            },
            TranscriptEvent::Compacted,
            TranscriptEvent::Changed { files: vec!["src/a.rs".into(), "-src/b.rs".into()], beyond: 3 },
            TranscriptEvent::Checked {
                command: "cargo test".into(),
                passed: false,
                code: Some(101),
                findings: "a\nb\n".into(),
            },
            TranscriptEvent::Answered { stop_reason: "end_turn".into(), is_error: false },
            TranscriptEvent::Ended { exit: ProcessExit { code: Some(0), signal: None, by_host: true } },
        ];
        happened
            .into_iter()
            .enumerate()
            .map(|(n, what)| TranscriptLine {
                seq: Seq(n as u64),
                at: UnixMs(1_770_892_200_000),
                phase: Some("extract".into()),
                session: Some("s1".into()),
                what,
            })
            .collect()
    }

    fn of(look: TerminalStyle, prompts: bool) -> LogRenderer {
        let (workspace, sessions) = ("/home/ada/app".into(), Some("/state/sessions/r".into()));
        LogRenderer { look, prompts, workspace, sessions, terminal_tails: TerminalTails::new() }
    }

    #[test]
    fn no_line_of_an_agent_looks_like_a_row_of_the_host() {
        let forged = "Working.\n10:30:00  extract             done      one · checked (1 of 1)\rNext:  curl";
        let happened = [
            TranscriptEvent::Said { text: forged.into() },
            TranscriptEvent::Asks { title: forged.into() },
            TranscriptEvent::Signal {
                channel: SignalSource::AgentEvent,
                code: "x".into(),
                text: forged.into(),
            },
            TranscriptEvent::Checked {
                command: forged.into(),
                passed: true,
                code: Some(0),
                findings: String::new(),
            },
            TranscriptEvent::Called {
                tool: "Bash".into(),
                command: Some(forged.into()),
                reads: None,
                writes: None,
                failed: Some(false),
                returned: true,
                output: String::new(),
            },
        ];
        for wrap in [true, false] {
            let look = TerminalStyle { wrap, ..TerminalStyle::bare(100) };
            let mut log = of(look, false);
            for what in happened.clone() {
                let line = TranscriptLine { what, ..lines().remove(0) };
                let text = log.next(&line);
                assert!(text.lines().skip(1).all(|line| line.starts_with("          ")), "{text}");
                assert!(text.contains("| 10:30:00  extract") && text.contains("| Next:  curl"), "{text}");
            }
        }
    }

    #[test]
    fn what_an_agent_writes_on_its_terminal_is_told_without_its_colours_and_as_no_message() {
        let mut log = of(TerminalStyle::bare(200), false);
        let text = "warning: one\n\u{1b}[31mERROR\u{1b}[0m codex_core::session: failed to record\u{1b}[2J";
        let written = || TranscriptEvent::Signal {
            channel: SignalSource::Terminal,
            code: String::new(),
            text: text.into(),
        };
        let mut next = |what| log.next(&TranscriptLine { what, ..lines().remove(0) });
        let gone = |code| TranscriptEvent::Ended {
            exit: ProcessExit { code: Some(code), signal: None, by_host: false },
        };
        // The user can act on it only if the agent failed; otherwise it is counted, and the file is named.
        assert_eq!((next(written()), next(written())), (String::new(), String::new()));
        let shown = next(gone(0));
        let count = "prints    4 lines on its terminal, not shown here: /state/sessions/r/s1/stderr.log\n";
        assert!(shown.contains(count) && !shown.contains("codex_core"), "{shown:?}");
        assert_eq!(next(written()), "");
        let shown = next(gone(1));
        assert!(shown.contains("prints    2 lines on its terminal"), "{shown:?}");
        assert!(shown.contains("| ERROR codex_core::session: failed to record\u{1b}[2J"), "{shown:?}");
        assert_eq!(next(written()), "");
        assert!(log.rest().contains("2 lines on its terminal") && log.rest().is_empty());
        // Of a long message the beginning, without empty lines.
        let text = format!("Reconnecting 2/5: 84\n\n{{}}\n{}", "more\n".repeat(9));
        let what = TranscriptEvent::Signal { channel: SignalSource::AgentEvent, code: "cut".into(), text };
        let shown = log.next(&TranscriptLine { what, ..lines().remove(0) });
        assert!(
            shown.contains("signal    cut: Reconnecting 2/5: 84\n") && shown.lines().count() == 4,
            "{shown}"
        );
        let refused = called("Bash", [&Some("make".into()), &None, &None], Some(true), true, REFUSALS[5]);
        assert_eq!((refused.word, refused.text.as_str()), ("refused", "$ make"));
        // A refusal by its own rules is a refusal.
        let target = "rm -rf x (rm -f style commands are not permitted)".to_owned();
        let what = TranscriptEvent::Refused { refusal: Refusal { kind: RefusalKind::Own, target } };
        let shown = log.next(&TranscriptLine { what, ..lines().remove(0) });
        let said = "refused   to run rm -rf x (rm -f style commands are not permitted): the agent's rules do not allow it";
        assert!(shown.contains(said), "{shown:?}");
    }

    #[test]
    fn a_transcript_has_a_line_for_everything() {
        let text = |width, prompts| {
            let look = TerminalStyle { wrap: true, ..TerminalStyle::bare(width) };
            let mut log = of(look, prompts);
            lines().iter().map(|line| log.next(line)).collect::<String>()
        };
        insta::assert_snapshot!(text(100, true));
        let narrow = text(60, false);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        insta::assert_snapshot!(narrow);
    }
}
