//! `baton undo`: takes back what a run landed in the workspace.

use baton_runtime::core::RunId;
use baton_runtime::{ChangeKind, UndoResult, Undoing, Undone, UndoneFile};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{Format, FormatArg, PlaceArgs};
use crate::exit::Exit;
use crate::host_client::block_on;
use crate::out;
use crate::place::Place;
use crate::render::look::{self, Look, Tone};
use crate::render::record;
use crate::undone::remember;

/// Characters of a commit id that people are shown.
const SHORT: usize = 10;

/// Revert the merges that a run's split phases made
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton undo --dry-run         what would change
  baton undo                   take back the newest run
  baton undo 20260212-103000   this one

What a run's sub-phases made is brought into the workspace as a whole, and this takes it back, the newest first. Where the \
branch is exactly where the run left it, and nothing is uncommitted, the branch moves back; otherwise the change is \
reverted as uncommitted changes, and what came after it stays. Where that does not fit, the files are named and nothing is \
changed. The state before is kept on a ref, which is told. What a run did without splitting is not its own to take back: \
git diff shows it.")]
pub(crate) struct UndoArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

pub(crate) fn undo(args: UndoArgs) -> anyhow::Result<Exit> {
    let run = args.run.map(RunId::new);
    let place = Place::to_change(&args.place, run.as_ref())?;
    let undid = block_on(baton_runtime::undo(&place.config, run.as_ref(), args.dry_run))??;
    if !args.dry_run && matches!(undid.what, Undoing::Undone(_)) {
        remember(&place, &undid.run);
    }
    match args.format.format {
        Format::Text => {
            out::data(&list(&look::stdout(), &undid))?;
            said(&undid, args.dry_run, &place.flags).iter().for_each(|line| out::progress(line));
        }
        Format::Json => {
            let mut document = summary(&undid, args.dry_run);
            document["files"] = files(&undid).iter().map(file).collect();
            out::data(&record::pretty(&document)?)?;
        }
        Format::Jsonl => {
            for one in files(&undid) {
                let mut row = file(one);
                row["schema"] = record::SCHEMA.into();
                row["record"] = "undo-file".into();
                out::data(&record::line(&row)?)?;
            }
            out::data(&record::line(&summary(&undid, args.dry_run))?)?;
        }
    }
    Ok(match undid.what {
        Undoing::Conflicted { .. } => Exit::Unfinished,
        Undoing::Nothing | Undoing::Undone(_) => Exit::Done,
    })
}

fn files(undid: &UndoResult) -> &[UndoneFile] {
    match &undid.what {
        Undoing::Undone(undone) => &undone.files,
        _ => &[],
    }
}

fn file(file: &UndoneFile) -> Value {
    json!({ "path": file.path, "change": word(file.kind) })
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Restored => "restored",
        ChangeKind::Reverted => "reverted",
        ChangeKind::Removed => "removed",
    }
}

fn summary(undid: &UndoResult, dry_run: bool) -> Value {
    let outcome = match &undid.what {
        Undoing::Nothing => "nothing",
        Undoing::Conflicted { .. } => "conflicted",
        Undoing::Undone(_) => "undone",
    };
    let mut document = json!({
        "schema": record::SCHEMA,
        "record": "undo",
        "run": undid.run,
        "dry_run": dry_run,
        "outcome": outcome,
    });
    match &undid.what {
        Undoing::Nothing => {}
        Undoing::Conflicted { files } => document["conflicts"] = json!(files),
        Undoing::Undone(undone) => {
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
fn list(look: &Look, undid: &UndoResult) -> String {
    let row =
        |tone: Tone, word: &str, path: &str| format!("{}  {path}\n", look.paint(tone, &format!("{word:8}")));
    match &undid.what {
        Undoing::Nothing => String::new(),
        Undoing::Conflicted { files } => files.iter().map(|path| row(Tone::Bad, "changed", path)).collect(),
        Undoing::Undone(undone) => {
            undone.files.iter().map(|file| row(Tone::Strong, word(file.kind), &file.path)).collect()
        }
    }
}

/// What is said of it, a line each.
fn said(undid: &UndoResult, dry_run: bool, flags: &str) -> Vec<String> {
    let run = &undid.run;
    match &undid.what {
        Undoing::Nothing => {
            vec![format!("nothing to take back: no split phase of run {run} has anything in the workspace")]
        }
        Undoing::Conflicted { .. } => vec![format!(
            "nothing was changed: run {run} cannot be taken back, since these files were changed since in the same places; \
             take those later changes out of them, or keep them as a commit on another branch, and say it again"
        )],
        Undoing::Undone(undone) => {
            let mut lines = vec![taken_back(undone, run, dry_run)];
            if !undone.kept.is_empty() {
                lines.push(format!(
                    "the state before is kept: git restore --source={} -- :/ brings its files back",
                    undone.kept
                ));
            }
            if undid.is_unfinished && !dry_run {
                lines.push(format!(
                    "run {run} has not ended: `baton resume {run}{flags}` would go on as if all of it were there"
                ));
            }
            lines
        }
    }
}

fn taken_back(undone: &Undone, run: &RunId, dry_run: bool) -> String {
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
    format!("run {run} {is} taken back ({phases}, {}): {how}", count(undone.files.len(), "file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::MovedBack;

    fn undid(what: Undoing) -> UndoResult {
        UndoResult { run: RunId::new("20260212-103000"), is_unfinished: true, what }
    }

    fn undone(branch: bool, kept: &str) -> Undoing {
        let file = |path: &str, kind| UndoneFile { path: path.into(), kind };
        Undoing::Undone(Undone {
            phases: vec!["30".into(), "20".into()],
            files: vec![
                file("src/lexer.rs", ChangeKind::Removed),
                file("src/main.rs", ChangeKind::Reverted),
                file("notes ü.md", ChangeKind::Restored),
            ],
            branch: branch.then(|| MovedBack {
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
        let conflicted = Undoing::Conflicted { files: vec!["src/main.rs".into()] };
        let cases = [
            (undone(true, ""), true),
            (undone(false, ""), true),
            (undone(true, "refs/baton/20260212-103000/undo/1/before"), false),
            (undone(false, "refs/baton/20260212-103000/undo/1/before"), false),
            (conflicted, false),
            (Undoing::Nothing, false),
        ];
        let text: Vec<String> = cases
            .map(|(what, dry_run)| {
                let undid = undid(what);
                format!("{}{}\n", list(&Look::bare(100), &undid), said(&undid, dry_run, "").join("\n"))
            })
            .into();
        insta::assert_snapshot!(text.join("---\n"));
    }

    #[test]
    fn the_record_is_whole() {
        insta::assert_json_snapshot!(summary(&undid(undone(true, "refs/x")), false));
    }
}
