//! Why did this agent stop? Puts a recorded stream through the decoders, the fold and the policy of a live run, and returns the
//! policy's verdict. Starts no agent, and uses only the recording.

use std::io::{self, Read};

use baton_core::decision::{Assessment, Decision, Fault, Provenance};
use baton_core::facts::{AgentEvent, ErrorSignal, ProcessExit, SignalSource};
use baton_core::observation::{OccupancyView, PolicyRequest};
use baton_core::run::RecordedSession;
use baton_core::time::UnixMs;
use baton_engine::Router;
use baton_streams::{StreamDecoder, StreamFormat, TerminalText, cut_owned};

/// How much of a recording is read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// Time and UTC offset of a recording. The recorded lines have no times of their own, and "resets 3:45pm" needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordingTime {
    /// Time at which the recording was made.
    pub at: UnixMs,
    /// Minutes that the clock on the wall there is ahead of UTC.
    pub utc_offset_minutes: i32,
}

/// What a policy made of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// The verdict with its evidence; the `seq` of a piece of evidence counts the events of the recording from 1.
    pub assessment: Assessment,
    /// The fill of the window at the end, as far as the stream says.
    pub occupancy: OccupancyView,
    /// Who decided.
    pub label: Provenance,
    /// Whether any line was of the format: a stream of another one is terminal text from end to end.
    pub recognised: bool,
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassifyError {
    /// The recording cannot be read.
    #[error("reading the recording failed: {0}")]
    Read(#[from] io::Error),
    /// Neither the policy nor any behind it could answer.
    #[error("no policy could judge the recording: it {0}")]
    Fault(Fault),
}

/// Judges the recording of a whole session: its stdout, its stderr, and how its process ended, if known. The two streams are
/// read in bounded memory.
pub fn classify(
    router: &Router,
    format: StreamFormat,
    moment: RecordingTime,
    stdout: &mut dyn Read,
    stderr: Option<&mut dyn Read>,
    exit: Option<ProcessExit>,
) -> Result<Classification, ClassifyError> {
    let mut recording = RecordedSession::new(format.name(), moment.at, moment.utc_offset_minutes);
    let mut events = Vec::new();
    let mut recognised = false;
    let mut take = |recording: &mut RecordedSession, events: &mut Vec<AgentEvent>| {
        for event in events.drain(..) {
            recognised |= !is_foreign(&event);
            recording.take(event);
        }
    };
    let mut stream = StreamDecoder::new(format.decoder());
    in_chunks(stdout, |chunk| {
        stream.push(chunk, &mut events);
        take(&mut recording, &mut events);
    })?;
    stream.end(&mut events);
    take(&mut recording, &mut events);
    if let Some(stderr) = stderr {
        let mut stream = StreamDecoder::new(TerminalText::new());
        in_chunks(stderr, |chunk| {
            stream.push(chunk, &mut events);
            take(&mut recording, &mut events);
        })?;
        stream.end(&mut events);
        take(&mut recording, &mut events);
    }
    let occupancy = recording.occupancy();
    Ok(Classification { recognised, ..judge(router, &recording.question(exit), occupancy)? })
}

/// What becomes of a line that is of another format.
fn is_foreign(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Unknown { .. } => true,
        AgentEvent::Signal(signal) => signal.channel == SignalSource::Terminal,
        _ => false,
    }
}

/// Judges one remark alone, as the last thing that was said on its channel in a session that has otherwise something
/// to show for itself.
pub fn classify_remark(
    router: &Router,
    moment: RecordingTime,
    channel: SignalSource,
    text: &str,
) -> Result<Classification, ClassifyError> {
    let mut recording = RecordedSession::new(StreamFormat::Text.name(), moment.at, moment.utc_offset_minutes);
    recording.take(match channel {
        SignalSource::AgentText => AgentEvent::Text { text: text.to_owned() },
        _ => AgentEvent::Signal(ErrorSignal {
            channel,
            code: String::new(),
            status: None,
            resets_at: None,
            retrying: false,
            text: cut_owned(text.as_bytes(), baton_core::facts::SIGNAL_TEXT_BYTES),
        }),
    });
    let occupancy = recording.occupancy();
    judge(router, &recording.question_after_signal(), occupancy)
}

fn judge(
    router: &Router,
    question: &PolicyRequest,
    occupancy: OccupancyView,
) -> Result<Classification, ClassifyError> {
    match router.decide(question) {
        (Ok(Decision::Exhaustion(assessment)), label) => {
            Ok(Classification { assessment, occupancy, label, recognised: true })
        }
        (Ok(_), _) => {
            Err(ClassifyError::Fault(Fault::Invalid { message: "answered another question".to_owned() }))
        }
        (Err(fault), _) => Err(ClassifyError::Fault(fault)),
    }
}

fn in_chunks(from: &mut dyn Read, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(bytes) => take(&chunk[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
