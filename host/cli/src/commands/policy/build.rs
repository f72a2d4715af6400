//! `baton policy build`: a policy becomes a component: a crate by the compiler, what is in another language by the build script
//! that it brings along. Checks nothing; `baton policy check` does.

use std::path::PathBuf;

use baton_build::{Script, Scripted};
use baton_runtime::core::Digest;
use clap::{Args, ValueHint};

use crate::exit::Exit;
use crate::out;
use crate::render::words;

/// Build a policy into a component
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy build              the crate in this folder -> <name>.wasm in it
  baton policy build my-split

A crate needs a Rust compiler with the WebAssembly target, once:
  rustup target add wasm32-unknown-unknown
A policy in JavaScript or Python is built by its own build.mjs or build.py; its README says what that needs.")]
pub(crate) struct BuildArgs {
    /// The folder of the policy
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<Exit> {
    if let Some(script) = Script::of(&args.folder) {
        let Scripted { component, bytes, command } = script.run()?;
        let digest = Digest::of(std::fs::read(&component)?);
        let (component, size) = (component.display(), words::bytes(bytes));
        out::progress(&format!("built {component}  {digest}  {size}, by {command}"));
        return Ok(Exit::Done);
    }
    let built = baton_build::build_alone(&args.folder)?;
    let bytes = std::fs::read(&built.component)?;
    let (component, size) = (built.component.display(), words::bytes(built.bytes));
    out::progress(&format!("built {component}  {}  {size}, with rustc {}", Digest::of(&bytes), built.rustc));
    Ok(Exit::Done)
}
