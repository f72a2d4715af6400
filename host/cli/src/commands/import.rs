//! `baton import`: recorded streams become runs that can be replayed. Starts no agent; how a recording becomes a run is the
//! lab's, how that is shown is in `render/import.rs`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_lab::{
    Import, ImportError, ImportFormat, ImportOutcome, ImportRequest, Importer, RECORDING_BYTES_MAX,
    RecordedFile, RecordingTime, turns_schema,
};
use baton_runtime::RuntimeError;
use baton_runtime::core::UnixMs;
use baton_runtime::core::facts::ProcessExit;
use baton_runtime::store::{StateDir, StoreError};
use clap::{Args, ValueHint};
use jiff::{Timestamp, Zoned};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::import::ImportSummary;
use crate::render::{json_record, terminal_style};
use crate::{policies, stdio};

/// SIGKILL.
const KILLED: i32 = 9;

/// Import recorded agent sessions as runs, to replay them and to try policies on them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton import session.jsonl                          what an agent printed; the format is detected
  baton import --as claude --exit 1 *.jsonl           one run per file
  baton import --join first.jsonl second.jsonl        sessions of one run, in this order
  baton import --as process answer.txt --exit 0       what any program printed
  baton import turns.jsonl                            a log of your own, one turn a line
  baton import --schema > turns.schema.json           its format
Then:
  baton status RUN; baton replay RUN --verify; baton policy try POLICY --on RUN

The run repeats what the recorded agent did. Verdicts are those of the built-in policy; if it would have acted \
differently from the recording (compact, hand off, split), the recording decides, and this is noted. The same \
recording gives the same run: importing it again changes nothing. An incomplete recording is refused, with file and \
line.")]
pub(crate) struct ImportArgs {
    /// Recordings: what an agent printed on its standard output, or a log of turns; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "schema", value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Their format: claude, codex-exec, codex-app-server, acp, opencode, gemini, rehearsal, process, turns; `codex`
    /// for either of its two [default: detected]
    #[arg(long = "as", value_name = "FORMAT", value_parser = format_of)]
    read_as: Option<ImportFormatArg>,
    /// The files are sessions of one run, in this order
    #[arg(long)]
    join: bool,
    /// What the work was for
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// What the agent printed on its standard error; of one file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stderr: Option<PathBuf>,
    /// The exit code of the agent; a negative one is a signal. Of every file, or of the last of those that are joined
    #[arg(long, value_name = "CODE", allow_negative_numbers = true, conflicts_with = "killed")]
    exit: Option<i32>,
    /// The agent was killed
    #[arg(long)]
    killed: bool,
    /// When it was recorded, as 2026-02-12T15:30:00Z, for a recording without times [default: when its file was written]
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Size of the context window, if the recording does not say it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    window_tokens: Option<u64>,
    /// Print the JSON Schema of a line of a log of turns, and import nothing
    #[arg(long, conflicts_with_all = ["files", "read_as", "join", "goal", "stderr", "exit", "killed", "at"])]
    schema: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// A format, or an agent that has two.
#[derive(Clone, Copy, Debug)]
enum ImportFormatArg {
    One(ImportFormat),
    Codex,
}

fn format_of(name: &str) -> Result<ImportFormatArg, String> {
    if name == "codex" {
        return Ok(ImportFormatArg::Codex);
    }
    name.parse().map(ImportFormatArg::One)
}

/// A file that was read.
struct ImportSource {
    name: String,
    bytes: Vec<u8>,
    written_at: Option<UnixMs>,
}

pub(crate) fn import(args: ImportArgs) -> anyhow::Result<CliExit> {
    if args.schema {
        stdio::data(&json_record::pretty(&turns_schema())?)?;
        return Ok(CliExit::Done);
    }
    if args.stderr.is_some() && args.files.len() > 1 {
        return Err(UsageError("--stderr belongs to one agent: import its file separately".to_owned()).into());
    }
    let opened = args.files.iter().map(|path| read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let stderr = args.stderr.as_deref().map(read).transpose()?;
    let location = RunLocation::here(&args.location)?;
    let importer = Importer::new(&policies::engine(&args.location)?).map_err(to_error)?;
    let groups = match args.join {
        true => vec![opened.as_slice()],
        false => opened.chunks(1).collect(),
    };
    // Everything is read before anything is stored: a broken recording leaves no part of the others behind.
    let imports = groups
        .into_iter()
        .map(|group| import_group(&args, &importer, group, stderr.as_ref()))
        .collect::<anyhow::Result<Vec<Import>>>()?;
    let state = state_of(&location)?;
    let mut told = Vec::new();
    for import in imports {
        let (run, report) = (import.run().clone(), import.report().clone());
        let kept = import.keep(&state).map_err(|error| locked(error, &location))?;
        told.push((run, report, kept == ImportOutcome::AlreadyImported));
    }
    let told: Vec<ImportSummary<'_>> = told
        .iter()
        .map(|(run, report, already_imported)| ImportSummary {
            run,
            report,
            already_imported: *already_imported,
            flags: &location.flags,
        })
        .collect();
    match args.format.format {
        OutputFormat::Text => {
            told.iter().try_for_each(|one| stdio::data(&one.text(&terminal_style::stdout())))?
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&ImportSummary::json_of(&told))?)?,
        OutputFormat::Jsonl => {
            told.iter().try_for_each(|one| stdio::data(&json_record::line(&one.json())?))?
        }
    }
    Ok(CliExit::Done)
}

fn import_group(
    args: &ImportArgs,
    importer: &Importer,
    group: &[ImportSource],
    stderr: Option<&ImportSource>,
) -> anyhow::Result<Import> {
    let exit = match (args.killed, args.exit) {
        (true, _) => Some(process_exit(None, Some(KILLED))),
        (false, Some(code @ ..0)) => Some(process_exit(None, Some(code.saturating_neg()))),
        (false, code) => code.map(|code| process_exit(Some(code), None)),
    };
    let last = group.len().saturating_sub(1);
    let files: Vec<RecordedFile<'_>> = group
        .iter()
        .enumerate()
        .map(|(index, opened)| RecordedFile {
            name: &opened.name,
            bytes: &opened.bytes,
            stderr: stderr.map(|stderr| stderr.bytes.as_slice()),
            exit: exit.filter(|_| index == last),
        })
        .collect();
    let format = match args.read_as {
        None => None,
        Some(ImportFormatArg::One(format)) => Some(format),
        Some(ImportFormatArg::Codex) => Some(codex(&group[0])),
    };
    let written_at = group.first().and_then(|opened| opened.written_at);
    let request = ImportRequest {
        files: &files,
        format,
        goal: args.goal.as_deref(),
        window_tokens: args.window_tokens,
        moment: moment(args.at, written_at),
    };
    importer.import(&request).map_err(to_error)
}

/// Which of its two formats a stream of Codex has: messages of the app server have no `type`.
fn codex(opened: &ImportSource) -> ImportFormat {
    use baton_lab::StreamFormat::{CodexAppServer, CodexExec};
    let first = opened.bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let first = first.and_then(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let is_exec = first.is_none_or(|first| first.get("type").is_some());
    ImportFormat::Stream(if is_exec { CodexExec } else { CodexAppServer })
}

/// A bad recording is a mistake on the command line; an error of the disk is not.
fn to_error(error: ImportError) -> anyhow::Error {
    match error {
        error @ (ImportError::Store(_) | ImportError::Policy(_) | ImportError::Impossible { .. }) => {
            error.into()
        }
        error => UsageError(format!("{error}; nothing was imported")).into(),
    }
}

fn locked(error: ImportError, location: &RunLocation) -> anyhow::Error {
    match error {
        ImportError::Store(StoreError::Locked { pid, .. }) => {
            RuntimeError::Busy { pid, workspace: location.config.workspace.clone() }.into()
        }
        error => to_error(error),
    }
}

fn state_of(location: &RunLocation) -> anyhow::Result<StateDir> {
    let (root, workspace) = (&location.config.state_root, &location.config.workspace);
    StateDir::open(root, workspace).map_err(|source| {
        RuntimeError::State { what: "cannot keep a run", dir: root.clone(), source: source.into() }.into()
    })
}

fn process_exit(code: Option<i32>, signal: Option<i32>) -> ProcessExit {
    ProcessExit { code, signal, by_host: false }
}

fn moment(at: Option<Timestamp>, written_at: Option<UnixMs>) -> RecordingTime {
    let here = Zoned::now();
    let ms = |at: Timestamp| UnixMs(u64::try_from(at.as_millisecond()).unwrap_or_default());
    let at = at.map(ms).or(written_at).unwrap_or_else(|| ms(here.timestamp()));
    RecordingTime { at, utc_offset_minutes: here.offset().seconds() / 60 }
}

/// Reads a file, and no more of it than an import takes.
fn read(path: &Path) -> anyhow::Result<ImportSource> {
    let wrong = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    let mut take = |from: &mut dyn Read| from.take(RECORDING_BYTES_MAX + 1).read_to_end(&mut bytes);
    if path == Path::new("-") {
        take(&mut std::io::stdin().lock()).map_err(wrong)?;
        return Ok(ImportSource { name: "stdin".to_owned(), bytes, written_at: None });
    }
    let mut file = File::open(path).map_err(wrong)?;
    take(&mut file).map_err(wrong)?;
    let written = file.metadata().ok().and_then(|metadata| metadata.modified().ok());
    let since = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let written_at = since.and_then(|since| u64::try_from(since.as_millis()).ok()).map(UnixMs);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(ImportSource { name, bytes, written_at })
}
