//! `baton policy push`: a component goes to a registry, in the layout in which registries hold WebAssembly. Judges nothing.

use baton_registry::PolicyArtifact;
use clap::{Args, ValueHint};
use serde_json::json;

use super::outside::{outside, remote};
use crate::args::OutputFormatArg;
use crate::exit::CliExit;
use crate::fitness::ConformanceArgs;
use crate::policies::NamedComponent;
use crate::registries::{self, RegistryArgs};
use crate::render::{record, words};
use crate::{fitness, out, policies};

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
    let place = args.registry.place();
    let outside = outside(&place, &args.file, &named.name, &named.bytes)?;
    let engine = policies::engine(&place)?;
    let policy = policies::load(&engine, &args.file, &named, &named.rules)?;
    fitness::require(args.fitness, &place, &args.file, &[], &engine, &policy, &[])?;
    let NamedComponent { name, bytes, .. } = named;
    let imports: Vec<String> = outside.outline.imports.iter().map(|import| import.name.clone()).collect();
    let artifact = PolicyArtifact::new(bytes.into_owned(), &imports, &outside.outline.exports);
    let depot = registries::depot(&args.registry)?;
    // Nothing, or nothing that can be read, is there where it is new.
    let before = depot.registry().resolve(&reference).ok();
    let digest = depot.registry().push(&reference, &artifact)?;
    let size = words::bytes(artifact.component_bytes());
    out::progress(&format!("pushed {name}  {}  {size}, which {}", artifact.component(), outside.sentence()));
    let before = before.filter(|before| *before != digest).map(|before| reference.at(&before).to_string());
    if let Some(before) = &before {
        out::progress(&format!("{reference} was another component before: {before}"));
    }
    let pushed = reference.at(&digest).to_string();
    let document = json!({
        "schema": record::SCHEMA,
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
    if !record::write(args.format.format, &document)? {
        out::data(&format!("{pushed}\n"))?;
    }
    Ok(CliExit::Done)
}
