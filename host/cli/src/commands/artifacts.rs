//! `baton artifacts`: the artifacts of a run, by name and version. Changes nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_runtime::core::RunId;
use baton_runtime::{ArtifactEntry, artifact, artifacts as entries};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::render::{json_record, text_format};
use crate::stdio;

/// List and read the artifacts of a run: handoffs, summaries, outputs
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton artifacts ls
  baton artifacts show summaries/phase-survey.md
  baton artifacts cat summaries/phase-survey.md --offset 1024 --limit 512")]
pub(crate) enum ArtifactsCommand {
    Ls(ArtifactsListArgs),
    #[command(visible_alias = "cat")]
    Show(ArtifactsShowArgs),
}

/// List the artifacts of a run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton artifacts ls                    of the newest run
  baton artifacts ls 20260212-103000    of this one
  baton artifacts ls --format jsonl     for programs")]
pub(crate) struct ArtifactsListArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// Write an artifact, or a part of one, to standard output, as it is
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton artifacts show summaries/phase-survey.md      the newest version
  baton artifacts show summaries/phase-survey.md@1    version 1
  baton artifacts show summaries/phase-survey.md --run 20260212-103000
  baton artifacts cat summaries/phase-survey.md --offset 1024 --limit 512    a part of it, in bytes
  baton artifacts show summaries/phase-survey.md --format json    for programs; base64 if not UTF-8")]
pub(crate) struct ArtifactsShowArgs {
    /// Name of the artifact, with its version unless it is the newest
    #[arg(value_name = "NAME[@VERSION]")]
    name: String,
    /// Which run [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// First byte
    #[arg(long, value_name = "BYTES")]
    offset: Option<u64>,
    /// Bytes at most
    #[arg(long, value_name = "BYTES")]
    limit: Option<u64>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn artifacts(command: ArtifactsCommand) -> anyhow::Result<CliExit> {
    match command {
        ArtifactsCommand::Ls(args) => ls(args),
        ArtifactsCommand::Show(args) => show(args),
    }
}

fn ls(args: ArtifactsListArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let entries = entries(&location.config, run.as_ref())?;
    match args.format.format {
        OutputFormat::Text if entries.is_empty() => {
            stdio::progress(
                "this run has no artifacts yet: handoffs, summaries and files that agents save are listed here",
            );
        }
        OutputFormat::Text => stdio::data(&list(&terminal_style::stdout(), &entries))?,
        OutputFormat::Json => {
            let entries: Vec<Value> = entries.iter().map(record).collect();
            let document =
                json!({ "schema": json_record::SCHEMA, "record": "artifacts", "artifacts": entries });
            stdio::data(&json_record::pretty(&document)?)?;
        }
        OutputFormat::Jsonl => {
            for entry in &entries {
                stdio::data(&json_record::line(&record(entry))?)?;
            }
        }
    }
    Ok(CliExit::Done)
}

fn show(args: ArtifactsShowArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let (name, version) = name_and_version(&args.name)?;
    let part = (args.offset.is_some() || args.limit.is_some())
        .then(|| (args.offset.unwrap_or_default(), args.limit));
    let bytes = artifact(&location.config, run.as_ref(), name, version, part)?;
    if args.format.format == OutputFormat::Text {
        stdio::bytes(&bytes)?;
        return Ok(CliExit::Done);
    }
    let entries = entries(&location.config, run.as_ref())?;
    let named = entries.iter().filter(|entry| entry.artifact.name == name);
    let entry = named
        .filter(|entry| version.is_none_or(|version| entry.artifact.version == version))
        .max_by_key(|entry| entry.artifact.version);
    let document = content(name, entry, args.offset.unwrap_or_default(), &bytes);
    json_record::write(args.format.format, &document)?;
    Ok(CliExit::Done)
}

/// An artifact with these bytes of it, from an offset.
fn content(name: &str, entry: Option<&ArtifactEntry>, offset: u64, bytes: &[u8]) -> Value {
    let (encoding, content) = match std::str::from_utf8(bytes) {
        Ok(text) => ("utf-8", text.to_owned()),
        Err(_) => ("base64", BASE64.encode(bytes)),
    };
    json!({
        "schema": json_record::SCHEMA,
        "record": "artifact-content",
        "name": name,
        "version": entry.map(|entry| entry.artifact.version),
        "media_type": entry.map(|entry| &entry.media_type),
        "bytes": entry.map(|entry| entry.artifact.bytes),
        "offset": offset,
        "encoding": encoding,
        "content": content,
    })
}

/// "summaries/build.md@2" to its parts.
fn name_and_version(text: &str) -> Result<(&str, Option<u32>), UsageError> {
    match text.rsplit_once('@') {
        None => Ok((text, None)),
        Some((name, version)) => match version.parse() {
            Ok(version) => Ok((name, Some(version))),
            Err(_) => Err(UsageError(format!(
                "{version:?} is not a version of {name}: write a number, as in {name}@2"
            ))),
        },
    }
}

fn record(entry: &ArtifactEntry) -> Value {
    json!({
        "schema": json_record::SCHEMA,
        "record": "artifact",
        "name": entry.artifact.name,
        "version": entry.artifact.version,
        "digest": entry.artifact.digest,
        "bytes": entry.artifact.bytes,
        "summary": entry.artifact.summary,
        "media_type": entry.media_type,
        "session": entry.session,
        "at_ms": entry.at,
        "tool_call": entry.tool_call,
        "archived_at_ms": entry.archived_at,
        "tokens": entry.tokens,
        "tokens_by": entry.tokens_by,
        "preview": entry.preview,
    })
}

/// "handoffs/build-1.md@1  1.2 kB  310 tokens  2026-02-12 10:30  s3  What s3 leaves". An estimate has a "~" before it;
/// `--format json` says how tokens were counted.
fn list(look: &TerminalStyle, entries: &[ArtifactEntry]) -> String {
    let name = |entry: &ArtifactEntry| format!("{}@{}", entry.artifact.name, entry.artifact.version);
    let width = entries.iter().map(|entry| name(entry).chars().count()).max().unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let session = entry.session.as_ref().map_or("-", |session| session.as_str());
            let from = match &entry.tool_call {
                Some(call) => format!("{session}/{call}"),
                None => session.to_owned(),
            };
            let estimated = if entry.tokens_by.starts_with("estimate") { "~" } else { "" };
            let tokens = format!("{estimated}{}", text_format::tokens(entry.tokens));
            let archived = if entry.archived_at.is_some() { "  archived" } else { "" };
            let (name, at) = (name(entry), look.day_and_time(entry.at));
            let name = look.paint(Tone::Strong, &format!("{name:width$}"));
            let line = format!(
                "{name}  {:>8}  {tokens:>6} tokens  {at}  {from:4}  {}{archived}",
                text_format::bytes(entry.artifact.bytes),
                entry.artifact.summary
            );
            format!("{}\n", line.trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;
    use baton_runtime::core::UnixMs;

    #[test]
    fn artifacts_are_listed_one_a_line() {
        let view = test_samples::finished();
        let entry = |artifact: &baton_runtime::core::input::ArtifactRef| ArtifactEntry {
            artifact: artifact.clone(),
            media_type: "text/markdown".into(),
            session: Some("s3".into()),
            at: UnixMs(1_770_892_200_000),
            tool_call: (artifact.version == 2).then(|| "toolu_7".to_owned()),
            archived_at: (artifact.version == 1).then_some(UnixMs(1_770_892_300_000)),
            tokens: 310,
            tokens_by: "tiktoken:o200k_base".into(),
            preview: "# What s3 leaves".into(),
        };
        let entries: Vec<ArtifactEntry> = view.phases[1].artifacts.iter().map(entry).collect();
        insta::assert_snapshot!(list(&TerminalStyle::bare(100), &entries));
    }

    #[test]
    fn the_content_of_an_artifact_is_text_or_else_base64() {
        let text = content("notes/a", None, 3, "für".as_bytes());
        assert_eq!((&text["encoding"], &text["content"]), (&"utf-8".into(), &"für".into()));
        assert_eq!((&text["offset"], &text["bytes"]), (&3.into(), &Value::Null));
        let binary = content("notes/a", None, 0, &[0xff, 0xfe]);
        assert_eq!((&binary["encoding"], &binary["content"]), (&"base64".into(), &"//4=".into()));
    }

    #[test]
    fn a_version_is_a_number_behind_the_name() {
        assert_eq!(name_and_version("a/b.md").unwrap(), ("a/b.md", None));
        assert_eq!(name_and_version("a/b.md@2").unwrap(), ("a/b.md", Some(2)));
        assert!(name_and_version("a/b.md@new").is_err());
    }
}
