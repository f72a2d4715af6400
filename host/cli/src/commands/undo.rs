//! `baton undo`: reverts the changes that a run landed in the workspace.

use baton_runtime::core::RunId;
use baton_runtime::{UndoChangeKind, UndoFileChange, UndoOutcome, UndoResult, UndoSummary};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::host_client::block_on;
use crate::location::RunLocation;
use crate::render::json_record;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::stdio;
use crate::undo_marker::remember;

/// Characters of a commit id that people are shown.
const SHORT: usize = 10;

/// Revert the merges that a run's split phases made
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton undo --dry-run         what would change
  baton undo                   take back the newest run
  baton undo 20260212-103000   this one

Baton merges the work of a run's sub-phases into the workspace as a whole; this command reverts these merges, the \
newest first. If the branch is exactly where the run left it and nothing is uncommitted, the branch moves back. \
Otherwise the merge is reverted as uncommitted changes, and later work stays. If these conflict, the files are named \
and nothing is changed. The previous state is kept on a ref, which is printed. Work that a run did without splitting \
cannot be reverted like this: `git diff` shows it.")]
pub(crate) struct UndoArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn undo(args: UndoArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_writing(&args.location, run.as_ref())?;
    let undid = block_on(baton_runtime::undo(&location.config, run.as_ref(), args.dry_run))??;
    if !args.dry_run && matches!(undid.what, UndoOutcome::Undone(_)) {
        remember(&location, &undid.run);
    }
    match args.format.format {
        OutputFormat::Text => {
            stdio::data(&list(&terminal_style::stdout(), &undid))?;
            messages(&undid, args.dry_run, &location.flags).iter().for_each(|line| stdio::progress(line));
        }
        OutputFormat::Json => {
            let mut document = summary(&undid, args.dry_run);
            document["files"] = files(&undid).iter().map(file).collect();
            stdio::data(&json_record::pretty(&document)?)?;
        }
        OutputFormat::Jsonl => {
            for one in files(&undid) {
                let mut row = file(one);
                row["schema"] = json_record::SCHEMA.into();
                row["record"] = "undo-file".into();
                stdio::data(&json_record::line(&row)?)?;
            }
            stdio::data(&json_record::line(&summary(&undid, args.dry_run))?)?;
        }
    }
    Ok(match undid.what {
        UndoOutcome::Conflicted { .. } => CliExit::Unfinished,
        UndoOutcome::Nothing | UndoOutcome::Undone(_) => CliExit::Done,
    })
}

fn files(undid: &UndoResult) -> &[UndoFileChange] {
    match &undid.what {
        UndoOutcome::Undone(undone) => &undone.files,
        _ => &[],
    }
}

fn file(file: &UndoFileChange) -> Value {
    json!({ "path": file.path, "change": word(file.kind) })
}

fn word(kind: UndoChangeKind) -> &'static str {
    match kind {
        UndoChangeKind::Restored => "restored",
        UndoChangeKind::Reverted => "reverted",
        UndoChangeKind::Removed => "removed",
    }
}

fn summary(undid: &UndoResult, dry_run: bool) -> Value {
    let outcome = match &undid.what {
        UndoOutcome::Nothing => "nothing",
        UndoOutcome::Conflicted { .. } => "conflicted",
        UndoOutcome::Undone(_) => "undone",
    };
    let mut document = json!({
        "schema": json_record::SCHEMA,
        "record": "undo",
        "run": undid.run,
        "dry_run": dry_run,
        "outcome": outcome,
    });
    match &undid.what {
        UndoOutcome::Nothing => {}
        UndoOutcome::Conflicted { files } => document["conflicts"] = json!(files),
        UndoOutcome::Undone(undone) => {
            document["phases"] = json!(undone.phases);
            document["branch"] = undone.branch.as_ref().map_or(
                Value::Null,
                |moved| json!({ "name": moved.name, "from": moved.from, "to": moved.to }),
            );
            document["kept"] = if undone.kept.is_empty() { Value::Null } else { json!(undone.kept) };
        }
    }
    document
}

/// "removed   src/lexer.rs", or the files that do not fit.
fn list(look: &TerminalStyle, undid: &UndoResult) -> String {
    let row =
        |tone: Tone, word: &str, path: &str| format!("{}  {path}\n", look.paint(tone, &format!("{word:8}")));
    match &undid.what {
        UndoOutcome::Nothing => String::new(),
        UndoOutcome::Conflicted { files } => {
            files.iter().map(|path| row(Tone::Bad, "changed", path)).collect()
        }
        UndoOutcome::Undone(undone) => {
            undone.files.iter().map(|file| row(Tone::Strong, word(file.kind), &file.path)).collect()
        }
    }
}

/// The messages about the result, a line each.
fn messages(undid: &UndoResult, dry_run: bool, flags: &str) -> Vec<String> {
    let run = &undid.run;
    match &undid.what {
        UndoOutcome::Nothing => {
            vec![format!("nothing to undo: no split phase of run {run} has changes in the workspace")]
        }
        UndoOutcome::Conflicted { .. } => vec![format!(
            "nothing was changed: run {run} cannot be undone, because these files have later changes in the same \
             places; remove those changes, or move them to a commit on another branch, and repeat the command"
        )],
        UndoOutcome::Undone(undone) => {
            let mut lines = vec![taken_back(undone, run, dry_run)];
            if !undone.kept.is_empty() {
                lines.push(format!(
                    "the previous state is kept: git restore --source={} -- :/ brings its files back",
                    undone.kept
                ));
            }
            if undid.is_unfinished && !dry_run {
                lines.push(format!(
                    "run {run} has not ended: `baton resume {run}{flags}` would continue as if its work were still there"
                ));
            }
            lines
        }
    }
}

fn taken_back(undone: &UndoSummary, run: &RunId, dry_run: bool) -> String {
    let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
    let count = |n: usize, what: &str| if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") };
    let (is, moves) = if dry_run { ("would be", "would move") } else { ("is", "moved") };
    let how = match &undone.branch {
        Some(moved) => {
            format!("{} {moves} back from {} to {}", moved.name, short(&moved.from), short(&moved.to))
        }
        None => "as uncommitted changes, the branch stays where it is".to_owned(),
    };
    let phases = count(undone.phases.len(), "split phase");
    format!("run {run} {is} undone ({phases}, {}): {how}", count(undone.files.len(), "file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::BranchMoveBack;

    fn undid(what: UndoOutcome) -> UndoResult {
        UndoResult { run: RunId::new("20260212-103000"), is_unfinished: true, what }
    }

    fn undone(branch: bool, kept: &str) -> UndoOutcome {
        let file = |path: &str, kind| UndoFileChange { path: path.into(), kind };
        UndoOutcome::Undone(UndoSummary {
            phases: vec!["30".into(), "20".into()],
            files: vec![
                file("src/lexer.rs", UndoChangeKind::Removed),
                file("src/main.rs", UndoChangeKind::Reverted),
                file("notes ü.md", UndoChangeKind::Restored),
            ],
            branch: branch.then(|| BranchMoveBack {
                name: "main".into(),
                from: "a".repeat(40),
                to: "b".repeat(40),
            }),
            kept: kept.into(),
        })
    }

    #[test]
    fn what_was_taken_back_is_told() {
        // D3
        let conflicted = UndoOutcome::Conflicted { files: vec!["src/main.rs".into()] };
        let cases = [
            (undone(true, ""), true),
            (undone(false, ""), true),
            (undone(true, "refs/baton/20260212-103000/undo/1/before"), false),
            (undone(false, "refs/baton/20260212-103000/undo/1/before"), false),
            (conflicted, false),
            (UndoOutcome::Nothing, false),
        ];
        let text: Vec<String> = cases
            .map(|(what, dry_run)| {
                let undid = undid(what);
                format!(
                    "{}{}\n",
                    list(&TerminalStyle::bare(100), &undid),
                    messages(&undid, dry_run, "").join("\n")
                )
            })
            .into();
        insta::assert_snapshot!(text.join("---\n"));
    }

    #[test]
    fn the_record_is_whole() {
        insta::assert_json_snapshot!(summary(&undid(undone(true, "refs/x")), false));
    }
}
