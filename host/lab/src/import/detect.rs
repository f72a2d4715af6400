//! The formats of recordings by name, and which of them a file has. Looks at its beginning; a file that could be of two
//! formats is of none.

use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;

use baton_core::facts::{AgentEvent, Capabilities, SignalSource};
use baton_core::workflow::AgentKind;
use baton_streams::{StreamDecoder, StreamFormat};

use super::turn_log;
use super::{ImportError, RecordedFile};

/// Bytes of a file that are looked at: a session tells its format with its first words.
const DETECTION_BYTES: usize = 512 * 1024;

/// The format of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// What an agent prints.
    Stream(StreamFormat),
    /// Plain JSONL of turns (`baton import --schema`).
    Turns,
}

/// The names that agents have in workflows, where they are not those of their formats.
const ALIASES: [(&str, StreamFormat); 2] =
    [("rehearsal", StreamFormat::Acp), ("process", StreamFormat::Text)];
/// The name of [`ImportFormat::Turns`].
const TURNS: &str = "turns";

impl ImportFormat {
    /// Its name, as `--as` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            ImportFormat::Stream(format) => format.name(),
            ImportFormat::Turns => TURNS,
        }
    }

    /// All names, for messages.
    pub fn names() -> String {
        let streams = StreamFormat::ALL.map(StreamFormat::name);
        let aliases = ALIASES.map(|(name, _)| name);
        [streams.as_slice(), &aliases, &[TURNS]].concat().join(", ")
    }

    /// The agent of such a recording, as a run names it. Nobody ever starts it.
    pub(super) fn agent(self) -> AgentKind {
        let text = match self {
            ImportFormat::Stream(StreamFormat::Claude) => return AgentKind::Claude,
            ImportFormat::Stream(StreamFormat::CodexExec | StreamFormat::CodexAppServer) => {
                return AgentKind::Codex;
            }
            ImportFormat::Stream(StreamFormat::Acp) => "acp:recording",
            ImportFormat::Stream(StreamFormat::Opencode) => "process:opencode",
            ImportFormat::Stream(StreamFormat::Gemini) => "process:gemini",
            ImportFormat::Stream(StreamFormat::Text) | ImportFormat::Turns => "process:recording",
        };
        // Each of them is one word behind a kind.
        text.parse().unwrap_or(AgentKind::Rehearsal)
    }

    /// What the recorded agent could have done for a host that spoke to it, as far as its kind alone tells. A stream that
    /// tells more has the last word.
    pub(super) fn capabilities(self) -> Capabilities {
        match self {
            ImportFormat::Stream(StreamFormat::Claude) => Capabilities {
                reports_occupancy: true,
                compacts: true,
                takes_mcp: true,
                caps_turns: true,
                interrupts: true,
                reports_cost: true,
            },
            ImportFormat::Stream(StreamFormat::CodexAppServer) => Capabilities {
                reports_occupancy: true,
                compacts: true,
                takes_mcp: true,
                interrupts: true,
                ..Capabilities::default()
            },
            ImportFormat::Stream(StreamFormat::Acp) => {
                Capabilities { takes_mcp: true, interrupts: true, ..Capabilities::default() }
            }
            ImportFormat::Stream(
                StreamFormat::CodexExec | StreamFormat::Opencode | StreamFormat::Gemini | StreamFormat::Text,
            )
            | ImportFormat::Turns => Capabilities::default(),
        }
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ImportFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == TURNS {
            return Ok(ImportFormat::Turns);
        }
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, format)| *format);
        match alias.map_or_else(|| name.parse::<StreamFormat>(), Ok) {
            Ok(format) => Ok(ImportFormat::Stream(format)),
            Err(_) => Err(format!("the formats are {}", Self::names())),
        }
    }
}

/// The format of a file. Plain text is never guessed: anything could be.
pub(super) fn detect(file: &RecordedFile<'_>) -> Result<ImportFormat, ImportError> {
    let beginning = match &file.bytes[..file.bytes.len().min(DETECTION_BYTES)] {
        whole if whole.len() == file.bytes.len() => whole,
        cut => &cut[..cut.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)],
    };
    if file.bytes.trim_ascii().is_empty() && file.stderr.is_none() {
        return Err(ImportError::Empty { file: file.name.to_owned() });
    }
    if turn_log::looks_like_turns(beginning) {
        return Ok(ImportFormat::Turns);
    }
    let mut fits: Vec<(FormatFit, StreamFormat)> = StreamFormat::ALL
        .into_iter()
        .filter(|format| *format != StreamFormat::Text)
        .map(|format| (fit(format, beginning), format))
        .filter(|(fit, _)| fit.understood.0 > 0)
        .collect();
    fits.sort_by_key(|(fit, _)| *fit);
    match fits.as_slice() {
        [(best, format), rest @ ..] if rest.first().is_none_or(|(next, _)| next > best) => {
            Ok(ImportFormat::Stream(*format))
        }
        _ => Err(ImportError::UnknownFormat { file: file.name.to_owned() }),
    }
}

/// How well a format fits; the best one is the least. Words that formats share make many of them understand a little of a
/// stream, and only its own leaves nothing over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FormatFit {
    foreign_lines: u64,
    understood: Reverse<u64>,
}

fn fit(format: StreamFormat, bytes: &[u8]) -> FormatFit {
    let mut events = Vec::new();
    let mut stream = StreamDecoder::new(format.decoder());
    stream.push(bytes, &mut events);
    stream.end(&mut events);
    let foreign_lines = events.iter().filter(|event| is_foreign(event)).count() as u64;
    FormatFit { foreign_lines, understood: Reverse(events.len() as u64 - foreign_lines) }
}

/// What becomes of a line that is of another format.
pub(super) fn is_foreign(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Unknown { .. } => true,
        AgentEvent::Signal(signal) => signal.channel == SignalSource::Terminal,
        _ => false,
    }
}
