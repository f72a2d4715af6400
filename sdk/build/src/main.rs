//! The command line of `baton-build`: arguments and messages, nothing else.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use baton_build::Outcome;
use clap::Parser;

/// Builds the policy crates of a folder into components, and their lock; or freezes the contract.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Folder with one crate a policy.
    #[arg(default_value = "policies")]
    folder: PathBuf,
    /// Rebuild and compare with the committed components; write nothing there.
    #[arg(long)]
    check: bool,
    /// Copy the contract in FOLDER to the folder of its version, `released/VERSION`; compile nothing.
    #[arg(long, conflicts_with = "check")]
    freeze: bool,
    /// With --freeze: for the last time, since this version is released now.
    #[arg(long, requires = "freeze")]
    release: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.freeze {
        let frozen = baton_build::freeze(&arguments.folder, arguments.release)?;
        let state = if frozen.changed { "copied" } else { "as before" };
        println!("{}: {state} in {}", frozen.version, frozen.folder.display());
        return Ok(());
    }
    let reports = if arguments.check {
        baton_build::check(&arguments.folder)
    } else {
        baton_build::build(&arguments.folder)
    }?;
    for report in reports {
        let name = report.name;
        match report.outcome {
            Outcome::Written { bytes, changed } => {
                println!("{name}: {bytes} bytes, {}", if changed { "new" } else { "as before" });
            }
            Outcome::Identical => println!("{name}: byte for byte the committed component"),
            Outcome::Incomparable { locked, here } => println!(
                "{name}: NOT COMPARED. Another compiler gives other bytes; rely on the golden decisions instead.\n  \
                 locked: {locked}\n  here:   {here}"
            ),
        }
    }
    Ok(())
}
