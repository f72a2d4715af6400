//! `baton policy push`: a component goes to a registry, in the layout in which registries hold WebAssembly. Judges nothing.

use baton_registry::PolicyArtifact;
use clap::{Args, ValueHint};
use serde_json::json;

use super::component_info::{outside, remote};
use crate::args::OutputFormatArg;
use crate::conformance_record::ConformanceArgs;
use crate::exit_status::CliExit;
use crate::policies::NamedComponent;
use crate::registries::{self, RegistryArgs};
use crate::render::{json_record, text_format};
use crate::{conformance_record, policies, stdio};

/// Push a policy to a registry, under a tag
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy push careful.wasm oci://registry.example/acme/careful:1.0
  baton policy push careful.wasm oci://127.0.0.1:5000/careful:dev

A policy that breaks a rule of the contract is refused. Credentials come from the Docker config (`docker login`). \
The same component always gives the same digest, which is printed to standard output; `baton policy sign` signs it.")]
pub(crate) struct PushArgs {
    /// A component
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: String,
    /// Where it goes: oci://host/name:tag
    #[arg(value_name = "REFERENCE")]
    reference: String,
    #[command(flatten)]
    fitness: ConformanceArgs,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn push(args: PushArgs) -> anyhow::Result<CliExit> {
    let reference = remote(&args.reference)?;
    let named = policies::named(&args.file, &args.registry)?;
    let location = args.registry.location();
    let outside = outside(&location, &args.file, &named.name, &named.bytes)?;
    let engine = policies::engine(&location)?;
    let policy = policies::load(&engine, &args.file, &named, &named.rules)?;
    conformance_record::require(args.fitness, &location, &args.file, &[], &engine, &policy, &[])?;
    let NamedComponent { name, bytes, .. } = named;
    let imports: Vec<String> = outside.outline.imports.iter().map(|import| import.name.clone()).collect();
    let artifact = PolicyArtifact::new(bytes.into_owned(), &imports, &outside.outline.exports);
    let depot = registries::depot(&args.registry)?;
    // None if the reference is new or cannot be read.
    let before = depot.registry().resolve(&reference).ok();
    let digest = depot.registry().push(&reference, &artifact)?;
    let size = text_format::bytes(artifact.component_bytes());
    stdio::progress(&format!(
        "pushed {name}  {}  {size}, which {}",
        artifact.component(),
        outside.sentence()
    ));
    let before = before.filter(|before| *before != digest).map(|before| reference.at(&before).to_string());
    if let Some(before) = &before {
        stdio::progress(&format!("{reference} was another component before: {before}"));
    }
    let pushed = reference.at(&digest).to_string();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-push",
        "policy": name,
        "reference": pushed,
        "component": artifact.component(),
        "manifest": digest,
        "bytes": artifact.component_bytes(),
        "decides": outside.decides,
        "wants": outside.wants(),
        "before": before,
    });
    if !json_record::write(args.format.format, &document)? {
        stdio::data(&format!("{pushed}\n"))?;
    }
    Ok(CliExit::Done)
}
