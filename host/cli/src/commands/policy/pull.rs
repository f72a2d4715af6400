//! `baton policy pull`: fetches a policy from a registry, and stores it only if the trust rules accept it. Does not use it.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde_json::json;

use super::component_info::{outside, remote};
use crate::args::OutputFormatArg;
use crate::exit_status::CliExit;
use crate::files::write_whole;
use crate::registries::{self, RegistryArgs};
use crate::render::{json_record, text_format};
use crate::stdio;

/// Pull a policy from a registry
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy pull oci://registry.example/acme/careful:1.0
  baton policy pull oci://registry.example/acme/careful:1.0 -o careful.wasm
  baton policy pull oci://registry.example/acme/careful@sha256:…

A pulled policy needs no network if you name it by its digest.

A workflow that names such a reference needs no pull: the first run pulls it and pins it in `baton.lock`. [trust] in \
~/.config/baton/config.toml says whose policies are trusted:

  [[trust.rule]]
  from = \"registry.example/acme/*\"
  keys = [\"acme.pub\"]              # next to the config; what it has not signed is refused")]
pub(crate) struct PullArgs {
    /// Which one: oci://host/name:tag or oci://host/name@sha256:…
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Write the component to this file as well
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn pull(args: PullArgs) -> anyhow::Result<CliExit> {
    let reference = remote(&args.reference)?;
    let depot = registries::depot(&args.registry)?;
    let delivered = depot.get(&reference, None)?;
    let outside = outside(&args.registry.location(), &args.reference, &delivered.name, &delivered.bytes)?;
    if let Some(output) = &args.output {
        write_whole(output, &delivered.bytes)?;
    }
    let did = if delivered.fetched { "pulled" } else { "had" };
    let size = text_format::bytes(delivered.bytes.len() as u64);
    stdio::progress(&format!(
        "{did} {}  {}  {size}, {}; it {}",
        delivered.name,
        delivered.pin.component,
        registries::verdict(&delivered.verdict),
        outside.sentence()
    ));
    let pulled = reference.at(&delivered.pin.manifest).to_string();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-pull",
        "policy": delivered.name,
        "reference": pulled,
        "component": delivered.pin.component,
        "manifest": delivered.pin.manifest,
        "bytes": delivered.bytes.len(),
        "fetched": delivered.fetched,
        "verdict": delivered.verdict,
        "decides": outside.decides,
        "wants": outside.wants(),
        "file": args.output.as_ref().map(|file| file.to_string_lossy()),
    });
    if !json_record::write(args.format.format, &document)? {
        stdio::data(&format!("{pulled}\n"))?;
    }
    Ok(CliExit::Done)
}
