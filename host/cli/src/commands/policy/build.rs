//! `baton policy build`: a policy crate becomes a component. Checks nothing; `baton policy check` does.

use std::path::PathBuf;

use baton_runtime::core::Digest;
use clap::{Args, ValueHint};

use crate::exit::Exit;
use crate::out;
use crate::render::words;

/// Build a policy crate into a component
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy build              the crate in this folder -> <name>.wasm in it
  baton policy build my-split

Needs a Rust compiler with the WebAssembly target, once:
  rustup target add wasm32-unknown-unknown")]
pub(crate) struct BuildArgs {
    /// The folder of the crate
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<Exit> {
    let built = baton_build::build_alone(&args.folder)?;
    let bytes = std::fs::read(&built.component)?;
    let (component, size) = (built.component.display(), words::bytes(built.bytes));
    out::progress(&format!("built {component}  {}  {size}, with rustc {}", Digest::of(&bytes), built.rustc));
    Ok(Exit::Done)
}
