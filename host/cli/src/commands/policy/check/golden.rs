//! Golden decisions, put to a component: each file of a folder holds, or is reported with its difference. Writes a file only
//! if that was asked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_lab::golden::{GoldenCase, GoldenResult};
use baton_runtime::engine::{CompiledPolicy, ComponentGrants};
use serde::Serialize;

use crate::exit_status::UsageError;
use crate::render::terminal_style::{TerminalStyle, Tone};

/// A golden file is a question of some KiB; 16 MiB is what `policy try` takes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The results of the files.
#[derive(Serialize)]
pub(super) struct GoldenReplay {
    folder: PathBuf,
    files: usize,
    stand: usize,
    /// The functions for which a confirmed file shows a decision, and not an abstention.
    decided: BTreeSet<&'static str>,
    /// Written again, with what is decided now.
    written: Vec<PathBuf>,
    parted: Vec<GoldenMismatch>,
}

/// A file whose decision is not the policy's.
#[derive(Serialize)]
struct GoldenMismatch {
    file: PathBuf,
    why: Vec<String>,
}

impl GoldenReplay {
    /// Whether every decision is the policy's.
    pub(super) fn all_match(&self) -> bool {
        self.parted.is_empty()
    }

    /// Whether a confirmed file shows a decision of this function.
    pub(super) fn covers(&self, function: &str) -> bool {
        self.decided.contains(function)
    }

    /// "2 of 12 golden decisions do not stand".
    pub(super) fn verdict(&self) -> String {
        let stand = if self.parted.len() == 1 { "does not stand" } else { "do not stand" };
        format!("{} of {} golden decisions {stand}", self.parted.len(), self.files)
    }

    /// The line below the settings, and the differences.
    pub(super) fn text(&self, look: &TerminalStyle) -> String {
        let Self { files, stand, written, .. } = self;
        let mut text = format!("golden     {stand} of {files} stand in {}", self.folder.display());
        if !written.is_empty() {
            text.push_str(&format!(", {} written", written.len()));
        }
        text.push('\n');
        for GoldenMismatch { file, why } in &self.parted {
            text.push_str(&format!("    {}\n", look.paint(Tone::Bad, &file.display().to_string())));
            for why in why {
                text.push_str(&format!("      {}\n", look.wrap(why, 6)));
            }
        }
        text
    }
}

/// Puts the question of every `*.json` in the folder to the policy, loaded again if a file grants it artifacts.
pub(super) fn replay(
    folder: &Path,
    update: bool,
    policy: &CompiledPolicy,
    load: impl Fn(ComponentGrants) -> anyhow::Result<CompiledPolicy>,
) -> anyhow::Result<GoldenReplay> {
    let mut goldens = GoldenReplay {
        folder: folder.to_owned(),
        files: 0,
        stand: 0,
        decided: BTreeSet::new(),
        written: Vec::new(),
        parted: Vec::new(),
    };
    for file in files(folder)? {
        let text = read(&file)?;
        let golden =
            GoldenCase::parse(&text).map_err(|why| UsageError(format!("{}{why}", file.display())))?;
        let replayed = match golden.artifacts.is_empty() {
            true => golden.replay(policy),
            false => {
                let artifacts = Some(golden.artifact_source());
                golden.replay(&load(ComponentGrants { artifacts, ..ComponentGrants::default() })?)
            }
        };
        goldens.files += 1;
        match replayed {
            Ok(GoldenResult::Matches) => {
                goldens.stand += 1;
                if matches!(golden.decision, Some(Some(_))) {
                    goldens.decided.insert(golden.question.query.function());
                }
            }
            Ok(GoldenResult::Differs { decision, .. }) if update => {
                std::fs::write(&file, golden.with_decision(decision.as_ref()))
                    .with_context(|| format!("writing {}", file.display()))?;
                goldens.stand += 1;
                if decision.is_some() {
                    goldens.decided.insert(golden.question.query.function());
                }
                goldens.written.push(file);
            }
            Ok(GoldenResult::Differs { places, .. }) if places.is_empty() => {
                goldens.parted.push(GoldenMismatch {
                    file,
                    why: vec!["has no decision yet; --update writes it".to_owned()],
                });
            }
            Ok(GoldenResult::Differs { places, .. }) => {
                goldens.parted.push(GoldenMismatch { file, why: places })
            }
            Ok(GoldenResult::Fault(fault)) => {
                goldens.parted.push(GoldenMismatch { file, why: vec![format!("it {fault}")] })
            }
            Err(why) => goldens.parted.push(GoldenMismatch { file, why: vec![why] }),
        }
    }
    Ok(goldens)
}

/// The golden files of a folder, in order of their names.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let unreadable = |error: std::io::Error| UsageError(format!("cannot list {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(UsageError(format!("there is no golden file (*.json) in {}", folder.display())).into());
    }
    Ok(files)
}

fn read(file: &Path) -> anyhow::Result<String> {
    let unreadable = |why: String| UsageError(format!("cannot read {}: {why}", file.display()));
    let bytes = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if bytes > FILE_BYTES_MAX {
        return Err(
            unreadable(format!("it has {bytes} bytes, and a question has at most {FILE_BYTES_MAX}")).into()
        );
    }
    Ok(std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?)
}
