//! `baton policy build`: a policy becomes a component: a crate by the compiler, C files by clang, what is in another language by the
//! build script that it brings along. Checks nothing; `baton policy check` does.

use std::path::PathBuf;

use baton_build::{CPolicy, Script, Scripted};
use baton_runtime::core::Digest;
use clap::{Args, ValueHint};

use crate::exit::{Exit, Usage};
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
A policy in JavaScript or Python is built by its own build.mjs or build.py; its README says what that needs.
A policy in C needs clang with a C library for WebAssembly:
  apt-get install clang lld wasi-libc libclang-rt-dev-wasm32")]
pub(crate) struct BuildArgs {
    /// The folder of the policy
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Write only the bindings of a policy in C, for an editor and for native tests: build/guest.h
    #[arg(long)]
    bindings: bool,
}

pub(super) fn build(args: BuildArgs) -> anyhow::Result<Exit> {
    let c = CPolicy::of(&args.folder);
    if args.bindings {
        let Some(c) = c else {
            return Err(Usage(
                "--bindings is for policies in C, which have a world.wit and a policy.c".into(),
            )
            .into());
        };
        out::progress(&format!("wrote the bindings into {}", c.bindings()?.display()));
        return Ok(Exit::Done);
    }
    let scripted = match (&c, Script::of(&args.folder)) {
        (Some(c), _) => Some(c.build()?),
        (None, Some(script)) => Some(script.run()?),
        (None, None) => None,
    };
    if let Some(Scripted { component, bytes, command }) = scripted {
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
