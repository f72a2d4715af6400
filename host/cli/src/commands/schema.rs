//! `baton schema`: JSON Schemas, of a workflow file for editors and of the files in a task folder for programs.

use baton_registry::trust::TrustConfig;
use baton_runtime::core::workflow::file;
use baton_runtime::{Progress, SessionResult, WorkItems};
use clap::{Args, ValueEnum};
use schemars::schema_for;
use serde_json::Value;

use crate::exit_status::CliExit;
use crate::render::json_record;
use crate::stdio;

/// Print the JSON Schema of a workflow file, of a configuration, or of a file in a task folder
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton schema > workflow.schema.json
  baton schema --of config > config.schema.json
  baton schema --of progress

An editor with TOML support completes and checks a workflow that begins with
  #:schema ./workflow.schema.json")]
pub(crate) struct SchemaArgs {
    /// What the schema is of
    #[arg(long, value_name = "WHAT", default_value = "workflow")]
    of: SchemaSubject,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum SchemaSubject {
    /// A workflow file
    Workflow,
    /// baton.toml of a workspace, and your own config.toml
    Config,
    /// A file of rules, which a policy is named by as rules:FILE
    Rules,
    /// progress.json: what is done, what is open, what comes next
    Progress,
    /// work-items.json: every objective and verification, with pass or fail
    WorkItems,
    /// .return-meta.json and returns/SESSION.json: what a session came to
    Return,
}

pub(crate) fn schema(args: SchemaArgs) -> anyhow::Result<CliExit> {
    stdio::data(&text(args.of)?)?;
    Ok(CliExit::Done)
}

fn text(of: SchemaSubject) -> anyhow::Result<String> {
    json_record::pretty(&match of {
        SchemaSubject::Workflow => file::schema(),
        SchemaSubject::Config => configuration(),
        SchemaSubject::Rules => file::rules_schema(),
        SchemaSubject::Progress => schema_for!(Progress).to_value(),
        SchemaSubject::WorkItems => schema_for!(WorkItems).to_value(),
        SchemaSubject::Return => schema_for!(SessionResult).to_value(),
    })
}

/// The schema of each of its tables is beside the code that reads it.
fn configuration() -> Value {
    let mut schema = file::configuration_schema();
    let mut trust = schema_for!(TrustConfig).to_value();
    if let (Some(shared), Some(Value::Object(own))) =
        (schema["$defs"].as_object_mut(), trust.as_object_mut().and_then(|trust| trust.remove("$defs")))
    {
        shared.extend(own);
    }
    if let Some(trust) = trust.as_object_mut() {
        trust.remove("$schema");
        trust.insert("description".to_owned(), schema["properties"]["trust"]["description"].clone());
    }
    schema["properties"]["trust"] = trust;
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo run -- schema > host/cli/workflow.schema.json` writes it again.
    #[test]
    fn the_schema_that_is_checked_in_is_the_current_one() {
        assert_eq!(include_str!("../../workflow.schema.json"), text(SchemaSubject::Workflow).unwrap());
    }

    #[test]
    fn a_configuration_has_one_schema_with_all_its_tables() {
        let schema = configuration();
        assert!(schema["properties"]["policies"]["$ref"].is_string(), "{schema}");
        assert_eq!(schema["properties"]["trust"]["additionalProperties"], false);
        assert!(schema["$defs"]["TrustRule"].is_object() && schema["$defs"]["Policies"].is_object());
    }
}
