//! `baton policy list`: the policies that were pulled, and those that the `baton.lock` of a folder pins. Asks no registry.

use std::collections::BTreeMap;
use std::path::Path;

use baton_registry::trust::TrustResult;
use baton_registry::{LOCK_FILE, OciReference, PolicyLock, PolicyResolver};
use baton_runtime::core::Digest;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::component_info::outside;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::location::RunLocation;
use crate::registries::{self, RegistryArgs};
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::render::{json_record, text_format};
use crate::stdio;

/// List the policies that were pulled, and those that are pinned here
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy list
  baton policy list --workspace ~/app       with what is pinned in another folder
  baton policy list --format json")]
pub(crate) struct PolicyListArgs {
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// A policy that was pulled, or is pinned, or both.
#[derive(Debug, Serialize)]
struct PolicyListRow {
    reference: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<Digest>,
    component: Digest,
    /// It was pulled, and needs no network.
    kept: bool,
    /// The lock of this folder names it.
    pinned: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    decides: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<TrustResult>,
    /// Why it would not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

impl PolicyListRow {
    /// An entry with only the lock's data.
    fn pinned(reference: &str, component: &Digest, manifest: Option<&Digest>) -> Self {
        PolicyListRow {
            reference: reference.to_owned(),
            tag: reference.parse::<OciReference>().ok().and_then(|r| r.tag().map(str::to_owned)),
            manifest: manifest.cloned(),
            component: component.clone(),
            kept: false,
            pinned: true,
            bytes: None,
            decides: Vec::new(),
            verdict: None,
            refused: None,
        }
    }
}

pub(super) fn list(args: PolicyListArgs) -> anyhow::Result<CliExit> {
    let location = RunLocation::here(&args.location)?;
    let path = location.config.workspace.join(LOCK_FILE);
    let depot = registries::depot(&RegistryArgs::of(&args.location))?;
    let rows = rows(&args.location, &depot, &PolicyLock::read(&path)?)?;
    match args.format.format {
        OutputFormat::Text => {
            stdio::data(&text(&rows, &terminal_style::stdout()))?;
            if rows.is_empty() {
                stdio::progress(&empty_message(&path));
            }
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&json!({
            "schema": json_record::SCHEMA,
            "record": "policies",
            "lock": path,
            "policies": rows,
        }))?)?,
        OutputFormat::Jsonl => {
            for row in &rows {
                stdio::data(&json_record::line(&PolicyListRecord {
                    schema: json_record::SCHEMA,
                    record: "policy-kept",
                    row,
                })?)?;
            }
        }
    }
    Ok(CliExit::Done)
}

#[derive(Serialize)]
struct PolicyListRecord<'a> {
    schema: u32,
    record: &'static str,
    #[serde(flatten)]
    row: &'a PolicyListRow,
}

fn empty_message(lock: &Path) -> String {
    format!("no policy was pulled, and none is pinned in {}; `baton policy pull` pulls one", lock.display())
}

/// By reference and manifest: a tag may have led to several, and one manifest may have several tags.
fn rows(
    location: &LocationArgs,
    depot: &PolicyResolver,
    lock: &PolicyLock,
) -> anyhow::Result<Vec<PolicyListRow>> {
    let mut found: BTreeMap<(String, Option<Digest>), PolicyListRow> = BTreeMap::new();
    for (reference, component, manifest) in lock.pins() {
        let row = PolicyListRow::pinned(reference, component, manifest);
        found.insert((reference.to_owned(), manifest.cloned()), row);
    }
    for entry in depot.store().entries()? {
        // One whose files were removed by hand is as good as never pulled.
        let kept = match depot.store().get(&entry.manifest) {
            Ok(None) => continue,
            Ok(Some(kept)) => Ok(kept),
            Err(error) => Err(error.to_string()),
        };
        for reference in &entry.references {
            let Ok(remote) = reference.parse::<OciReference>() else { continue };
            let key = (reference.clone(), Some(entry.manifest.clone()));
            let row = found.entry(key).or_insert_with(|| PolicyListRow {
                pinned: false,
                ..PolicyListRow::pinned(reference, &entry.component, Some(&entry.manifest))
            });
            let kept = match &kept {
                Ok(kept) => kept,
                Err(error) => {
                    row.refused = Some(error.clone());
                    continue;
                }
            };
            (row.kept, row.bytes) = (true, Some(kept.bytes.len() as u64));
            match depot.judge(&remote, &kept.entry) {
                Ok(verdict) => row.verdict = Some(verdict),
                Err(error) => row.refused = Some(error.to_string()),
            }
            match outside(location, reference, remote.short_name(), &kept.bytes) {
                Ok(outside) => row.decides = outside.decides,
                Err(error) => row.refused = Some(format!("{error:#}")),
            }
        }
    }
    Ok(found.into_values().collect())
}

fn text(rows: &[PolicyListRow], look: &TerminalStyle) -> String {
    let mut text = String::new();
    for row in rows {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{}\n", look.paint(Tone::Strong, &row.reference)));
        if let Some(manifest) = &row.manifest {
            text.push_str(&format!("    manifest   {manifest}\n"));
        }
        let size = row.bytes.map(|bytes| format!("  {}", text_format::bytes(bytes))).unwrap_or_default();
        text.push_str(&format!("    component  {}{size}\n", row.component));
        if !row.decides.is_empty() {
            text.push_str(&format!("    decides    {}\n", row.decides.join(", ")));
        }
        if let Some(verdict) = &row.verdict {
            text.push_str(&format!("    trust      {}\n", registries::verdict(verdict)));
        }
        if let Some(refused) = &row.refused {
            let refused = look.wrap(refused, 15);
            text.push_str(&format!("    {}    {refused}\n", look.paint(Tone::Bad, "refused")));
        }
        let here = match (row.kept, row.pinned) {
            (true, true) => "pinned in this folder; needs no network",
            (true, false) => "needs no network",
            (false, true) if row.manifest.is_none() || row.refused.is_some() => "pinned in this folder",
            (false, true) => "pinned in this folder; the next run pulls it",
            (false, false) => "the pulled copy is unusable",
        };
        text.push_str(&format!("    {here}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_policy_is_shown_with_what_is_known_of_it() {
        let row = |reference: &str| PolicyListRow {
            kept: true,
            bytes: Some(61_234),
            decides: vec!["splitting", "handoff"],
            verdict: Some(TrustResult::Signed { by: "acme.pub".into(), key: Digest::of("key") }),
            ..PolicyListRow::pinned(reference, &Digest::of("component"), Some(&Digest::of("manifest")))
        };
        let rows = [
            row("oci://registry.example/acme/strict:1"),
            PolicyListRow {
                pinned: false,
                verdict: Some(TrustResult::Unsigned),
                ..row("oci://registry.example/acme/other:1")
            },
            PolicyListRow {
                verdict: None,
                refused: Some(
                    "it is not signed, and the rule for \"registry.example/*\" requires a signature".into(),
                ),
                ..row("oci://registry.example/acme/stranger:1")
            },
            PolicyListRow::pinned(
                "oci://registry.example/acme/away:1",
                &Digest::of("component"),
                Some(&Digest::of("manifest")),
            ),
            PolicyListRow::pinned("mine.wasm", &Digest::of("mine"), None),
        ];
        insta::assert_snapshot!("policy_list", text(&rows, &TerminalStyle::bare(100)));
    }
}
