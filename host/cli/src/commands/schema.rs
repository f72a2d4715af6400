//! `baton schema`: the JSON Schema of a workflow file, for editors.

use baton_runtime::core::workflow::file;
use clap::Args;

use crate::exit::Exit;
use crate::out;
use crate::render::record;

/// Print the JSON Schema of a workflow file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton schema > workflow.schema.json

An editor with TOML support completes and checks a workflow that begins with
  #:schema ./workflow.schema.json")]
pub(crate) struct SchemaArgs {}

pub(crate) fn schema(_: SchemaArgs) -> anyhow::Result<Exit> {
    out::data(&text()?)?;
    Ok(Exit::Done)
}

fn text() -> anyhow::Result<String> {
    record::pretty(&file::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo run -- schema > host/cli/workflow.schema.json` writes it anew.
    #[test]
    fn the_schema_that_is_checked_in_is_the_current_one() {
        assert_eq!(include_str!("../../workflow.schema.json"), text().unwrap());
    }
}
