//! The lines of a recorded stream, and the events that its decoder makes of each. A live host accepts an incomplete stream. An
//! incomplete recording is refused, since the missing part could have changed the result.

use std::borrow::Cow;

use baton_core::UnixMs;
use baton_core::facts::{AgentEvent, TokenUsage};
use baton_store::secrets::mask_line;
use baton_streams::{Decoder, MAX_LINE_BYTES, StreamFormat, TerminalText};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::detect::is_foreign;
use super::timeline::{TimelineEvent, TimelineSession};
use super::{ImportError, ImportFormat, RECORDING_BYTES_MAX, RecordedFile};

/// A line of a file, in which no secret is left.
pub(super) struct RecordedLine<'a> {
    /// From 1.
    pub(super) number: u64,
    /// Without its break.
    pub(super) text: Cow<'a, str>,
    /// A secret was in it.
    pub(super) was_masked: bool,
}

/// The lines of a file that say anything.
pub(super) fn lines<'a>(
    file: &'a str,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = Result<RecordedLine<'a>, ImportError>>, ImportError> {
    if bytes.len() as u64 > RECORDING_BYTES_MAX {
        return Err(ImportError::TooLarge { file: file.to_owned(), bytes: bytes.len() as u64 });
    }
    let numbered = bytes.split(|byte| *byte == b'\n').zip(1_u64..);
    Ok(numbered.filter(|(line, _)| !line.trim_ascii().is_empty()).map(move |(line, number)| {
        let broken = |why: String| ImportError::Broken { file: file.to_owned(), line: number, why };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > MAX_LINE_BYTES {
            return Err(broken(format!(
                "is longer than {MAX_LINE_BYTES} bytes, the longest line of any agent"
            )));
        }
        let text = str::from_utf8(line).map_err(|error| {
            broken(format!("is no text: byte {} of the line is not UTF-8", error.valid_up_to() + 1))
        })?;
        if text.contains('\0') {
            return Err(broken("is no text: it has a NUL byte".to_owned()));
        }
        let text = mask_line(text);
        let was_masked = matches!(text, Cow::Owned(_));
        Ok(RecordedLine { number, text, was_masked })
    }))
}

/// What a line may say about when it was printed; agents that say it say it in one of these ways.
#[derive(Deserialize)]
struct LineTimestamps {
    #[serde(default)]
    timestamp: Option<LogTimestamp>,
    #[serde(default, rename = "emittedAtMs")]
    emitted_at_ms: Option<u64>,
}

/// A time as logs write it.
#[derive(Clone, Copy, Debug, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(super) enum LogTimestamp {
    /// Milliseconds since 1970.
    Ms(u64),
    /// RFC 3339.
    Text(#[schemars(with = "String")] Timestamp),
}

impl From<LogTimestamp> for UnixMs {
    fn from(written: LogTimestamp) -> Self {
        match written {
            LogTimestamp::Ms(ms) => UnixMs(ms),
            LogTimestamp::Text(at) => UnixMs(u64::try_from(at.as_millisecond()).unwrap_or_default()),
        }
    }
}

/// The session of a recorded stream.
pub(super) fn session(
    file: &RecordedFile<'_>,
    index: usize,
    format: StreamFormat,
) -> Result<(TimelineSession, u64), ImportError> {
    let mut decoder = format.decoder();
    let (mut told, mut events, mut masked) = (Vec::new(), Vec::new(), 0);
    let (mut last, mut at, mut is_known) = (0, None, false);
    for line in lines(file.name, file.bytes)? {
        let RecordedLine { number, text, was_masked } = line?;
        let is_json = format != StreamFormat::Text && text.trim_start().starts_with('{');
        if is_json {
            whole(file, number, &text)?;
            at = stamped(&text).or(at);
        }
        masked += u64::from(was_masked);
        decoder.line(text.as_bytes(), &mut events);
        is_known |= events.iter().any(|event| !is_foreign(event));
        told.extend(events.drain(..).map(|event| TimelineEvent { line: number, at, event }));
        last = number;
    }
    // An agent that could not begin may have said so on its standard error alone.
    if last == 0 && file.stderr.is_none() {
        return Err(ImportError::Empty { file: file.name.to_owned() });
    }
    decoder.end(&mut events);
    if last > 0 && !is_known && events.iter().all(is_foreign) {
        let format = ImportFormat::Stream(format);
        return Err(ImportError::NotOfFormat { file: file.name.to_owned(), format });
    }
    told.extend(events.drain(..).map(|event| TimelineEvent { line: last, at, event }));
    if format == StreamFormat::Text {
        told.extend(end_of_program(file, &told).into_iter().map(|event| TimelineEvent {
            line: last,
            at,
            event,
        }));
    }
    if let Some(stderr) = file.stderr {
        let mut terminal = TerminalText::new();
        for line in lines(&format!("the stderr of {}", file.name), stderr)? {
            let line = line?;
            masked += u64::from(line.was_masked);
            terminal.line(line.text.as_bytes(), &mut events);
        }
        terminal.end(&mut events);
        told.extend(events.drain(..).map(|event| TimelineEvent { line: last, at, event }));
    }
    Ok((TimelineSession::new(index, told, file.exit, last), masked))
}

/// A program that knows no prompts has answered the one that it got when it ends; its driver says so, by its exit code.
fn end_of_program(file: &RecordedFile<'_>, told: &[TimelineEvent]) -> Vec<AgentEvent> {
    let Some(exit) = file.exit else { return Vec::new() };
    let (stop_reason, is_error) = match (exit.code, exit.signal) {
        (Some(0), _) => ("completed".to_owned(), false),
        (Some(code), _) => (format!("exit {code}"), true),
        (None, Some(signal)) => (format!("signal {signal}"), true),
        (None, None) => ("gone".to_owned(), true),
    };
    let told_turn = told.iter().any(|told| matches!(told.event, AgentEvent::Turn { .. }));
    let turn = AgentEvent::Turn { used_tokens: None, billed: TokenUsage::default() };
    let ended = AgentEvent::PromptEnded { stop_reason, is_error };
    if told_turn { vec![ended] } else { vec![turn, ended] }
}

/// A line that begins as JSON is JSON to its end.
fn whole(file: &RecordedFile<'_>, number: u64, text: &str) -> Result<(), ImportError> {
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| ImportError::Broken {
        file: file.name.to_owned(),
        line: number,
        why: match error.is_eof() {
            true => "the line breaks off: the recording was cut here. Without this line it can be imported"
                .to_owned(),
            false => format!("is no JSON: {error}"),
        },
    })
}

fn stamped(text: &str) -> Option<UnixMs> {
    let stamp: LineTimestamps = serde_json::from_str(text).ok()?;
    stamp.timestamp.map(UnixMs::from).or(stamp.emitted_at_ms.map(UnixMs))
}
