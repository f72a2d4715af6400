//! Recorded streams of real agents become runs that can be replayed, although no agent ever ran under Baton.
//!
//! | file | part |
//! |---|---|
//! | `import/detect.rs` | which format a file has |
//! | `import/recorded_lines.rs` | its lines, whole, readable and without secrets, with the events decoded by `baton-streams` |
//! | `import/turn_log.rs` | the format for logs of other programs |
//! | `import/timeline.rs` | what happened: sessions with their prompts |
//! | `import/import_context.rs` | the workflow and the policies of the run |
//! | `import/player.rs` | drives [`baton_core::Run`] by it |
//! | `import/recorded_decisions.rs` | decisions that the recording makes instead of a policy |
//! | `import/store.rs` | into the journal, whole or not at all |
//!
//! The state machine is the one of every run; its questions are put to the built-in policy, whose answers are journaled under
//! its label. The run follows the recorded agent: if a policy would have made the host act differently, the decision of the
//! recording is journaled instead, and its label says so. Facts that the recording lacks are taken as neutral and noted.
//! Nothing is invented to continue: the run ends where the recording ends.

mod detect;
mod error;
mod import_context;
mod player;
mod recorded_decisions;
mod recorded_lines;
mod report;
mod store;
mod timeline;
mod turn_log;

use baton_core::facts::ProcessExit;
use baton_core::workflow::{ImportedFile, ImportedRecording};
use baton_core::{Digest, RunId};
use baton_engine::Engine;

use crate::RecordingTime;

pub use detect::ImportFormat;
pub use error::ImportError;
pub use report::{ImportNote, ImportReport, ImportedVerdict, NOTES_KEPT};
pub use store::ImportOutcome;
pub use turn_log::schema as turns_schema;

use import_context::{BuiltinDecider, ImportContext};
use player::ImportedRun;

/// A longer recording is refused: it is held in memory until its run is whole. The longest that is known of a single agent
/// has a fifth of it.
pub const RECORDING_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Hex digits of a recording's digest in the id of its run: short to type, and no two recordings of a workspace share them.
const RUN_DIGITS: usize = 12;

/// A recorded session, as its files have it.
#[derive(Clone, Copy, Debug)]
pub struct RecordedFile<'a> {
    /// Its name, for people.
    pub name: &'a str,
    /// What the agent printed, or a log of turns.
    pub bytes: &'a [u8],
    /// Its standard error, if that was kept.
    pub stderr: Option<&'a [u8]>,
    /// How its process ended, if known.
    pub exit: Option<ProcessExit>,
}

/// What is to become a run.
#[derive(Clone, Debug)]
pub struct ImportRequest<'a> {
    /// The sessions, in the order in which they were; one in most cases.
    pub files: &'a [RecordedFile<'a>],
    /// The format of all of them; found out where absent.
    pub format: Option<ImportFormat>,
    /// What the work was for; the name of the first file where absent.
    pub goal: Option<&'a str>,
    /// Size of the context window if the recording does not contain it.
    pub window_tokens: Option<u64>,
    /// When it began, for a recording without times, and the time zone that its agents print.
    pub moment: RecordingTime,
}

/// A run that was made from a recording, and is not yet kept.
#[derive(Debug)]
pub struct Import {
    run: RunId,
    played: ImportedRun,
    blobs: Vec<Vec<u8>>,
    report: ImportReport,
}

impl Import {
    /// The id of the run: the same for the same recording.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// What it came to.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }
}

/// Makes runs from recordings. Loads the built-in policy once.
pub struct Importer {
    judge: BuiltinDecider,
}

impl Importer {
    /// Loads the built-in policy into this engine.
    ///
    /// # Errors
    /// [`ImportError::Policy`] if the host was built with a broken built-in policy.
    pub fn new(engine: &Engine) -> Result<Self, ImportError> {
        Ok(Self { judge: BuiltinDecider::new(engine)? })
    }

    /// Makes a run; nothing is written.
    ///
    /// # Errors
    /// Whatever is wrong with the recording, with file and line. Nothing of it is imported then.
    pub fn import(&self, request: &ImportRequest<'_>) -> Result<Import, ImportError> {
        let first = request.files.first().ok_or(ImportError::NoFile)?;
        let format = match request.format {
            Some(format) => format,
            None => detect::detect(first)?,
        };
        let script = timeline::read(request.files, format)?;
        let run = run_id(request, format);
        let imported = ImportedRecording {
            format: format.name().to_owned(),
            files: request.files.iter().map(described).collect(),
            times_are_made_up: !script.has_times(),
        };
        let setting =
            ImportContext { run: run.clone(), format, request, imported: &imported, script: &script };
        // The recording does not contain the number of objectives; it is taken to be the number of answered prompts. That is
        // known after the first pass. Each answered prompt gets one objective, so that the boundaries between prompts are
        // boundaries of the run.
        let first = player::play(&script, &setting, &self.judge, script.prompts())?;
        let played = match first.objectives() {
            objectives if objectives == script.prompts() => first,
            objectives => player::play(&script, &setting, &self.judge, objectives)?,
        };
        let report = played.report(&script, imported);
        Ok(Import { run, played, blobs: self.judge.blobs(), report })
    }
}

fn described(file: &RecordedFile<'_>) -> ImportedFile {
    ImportedFile {
        name: file.name.to_owned(),
        digest: Digest::of(file.bytes),
        bytes: file.bytes.len() as u64,
    }
}

/// The id is a digest of everything that the run is derived from, so that importing a recording again gives the same run.
fn run_id(request: &ImportRequest<'_>, format: ImportFormat) -> RunId {
    let files: Vec<_> = request
        .files
        .iter()
        .map(|file| (Digest::of(file.bytes), file.stderr.map(Digest::of), file.exit))
        .collect();
    // Digests, numbers and a name always serialise to JSON.
    let text = serde_json::to_string(&(format.name(), request.window_tokens, files)).unwrap_or_default();
    RunId::new(format!("import-{}", &Digest::of(text).hex()[..RUN_DIGITS]))
}
