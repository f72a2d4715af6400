//! `baton policy build`: turns a policy into a component: a crate by the compiler, C files by clang, other languages by the
//! policy's build script. Checks nothing; `baton policy check` does.

use std::path::PathBuf;

use baton_build::{CPolicy, Script, Scripted};
use baton_runtime::core::Digest;
use clap::{Args, ValueHint};
use serde_json::json;

use crate::args::OutputFormatArg;
use crate::exit_status::{CliExit, UsageError};
use crate::render::{json_record, text_format};
use crate::stdio;

/// Build a policy into a component
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy build              the crate in this folder -> <name>.wasm in it
  baton policy build my-split

A crate needs a Rust compiler with the WebAssembly target, once:
  rustup target add wasm32-unknown-unknown
A policy in JavaScript or Python is built by its own build.mjs or build.py; its README lists the requirements.
A policy in C needs clang with a C library for WebAssembly:
  apt-get install clang lld wasi-libc libclang-rt-dev-wasm32")]
pub(crate) struct BuildArgs {
    /// The folder of the policy
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Write only the bindings of a policy in C, for an editor and for native tests: build/guest.h
    #[arg(long)]
    bindings: bool,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<CliExit> {
    let c = CPolicy::of(&args.folder);
    if args.bindings {
        let Some(c) = c else {
            return Err(UsageError(
                "--bindings is for policies in C, which have a world.wit and a policy.c".into(),
            )
            .into());
        };
        let folder = c.bindings()?;
        let document = json!({
            "schema": json_record::SCHEMA,
            "record": "policy-bindings",
            "folder": folder.to_string_lossy(),
        });
        if !json_record::write(args.format.format, &document)? {
            stdio::progress(&format!("wrote the bindings into {}", folder.display()));
        }
        return Ok(CliExit::Done);
    }
    let scripted = match (&c, Script::of(&args.folder)) {
        (Some(c), _) => Some(c.build()?),
        (None, Some(script)) => Some(script.run()?),
        (None, None) => None,
    };
    let (component, bytes, by) = match scripted {
        Some(Scripted { component, bytes, command }) => (component, bytes, format!("by {command}")),
        None => {
            let built = baton_build::build_alone(&args.folder)?;
            (built.component, built.bytes, format!("with rustc {}", built.rustc))
        }
    };
    let digest = Digest::of(std::fs::read(&component)?);
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-build",
        "file": component.to_string_lossy(),
        "component": digest,
        "bytes": bytes,
        "built": by,
    });
    if !json_record::write(args.format.format, &document)? {
        let (component, size) = (component.display(), text_format::bytes(bytes));
        stdio::progress(&format!("built {component}  {digest}  {size}, {by}"));
    }
    Ok(CliExit::Done)
}
