//! Reads a workflow from TOML, and the files of users and workspaces below it; every mistake is reported with its line and its
//! correction. Opens no file itself.
//!
//! Three steps, one file each: `schema` defines the keys of the file and is the source of its JSON Schema; `schema_validation`
//! checks the text against it, so that unknown keys, wrong types and values out of bounds are reported together with their
//! places; `check`, with a file for each topic next to it, builds the model and finds the mistakes that no schema can express
//! (ids that repeat, phases that wait for each other).

mod check;
mod derived_values;
mod diagnostic;
mod graph;
mod limits;
mod modes;
mod paths;
mod phases;
mod policies;
mod roles;
mod rules;
mod sandbox;
mod schema;
mod schema_validation;
mod values;

pub use diagnostic::{Diagnostic, WorkflowError};
pub use roles::is_command_pattern;
pub use rules::{rules_file, rules_schema};
pub use values::is_variable_name;

pub(super) use diagnostic::suggest;
pub(super) use schema::TURNS_MAX;

use serde::de::DeserializeOwned;

use diagnostic::Diagnostics;

use crate::workflow::{ConfigLayer, PolicyLayerFile, Sandbox, Workflow};

/// A workflow file may have this many bytes: a thousand objectives with a page each fit, a mistaken path to a log
/// or an archive does not.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Reads and checks a workflow that names no further files; one that has `mode_files` or names files of rules needs
/// [`parse_with`].
///
/// # Errors
/// As for [`parse_with`].
pub fn parse(text: &str, origin: &str, base: &str) -> Result<Workflow, WorkflowError> {
    parse_with(text, origin, base, &mut |_| Err("nothing is read from files here".to_owned()))
}

/// Reads and checks a workflow, with no layer beneath it.
///
/// # Errors
/// As for [`read`].
pub fn parse_with(
    text: &str,
    origin: &str,
    base: &str,
    read_file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Workflow, WorkflowError> {
    Ok(read(text, origin, base, read_file)?.over([]))
}

/// A workflow that was read, before the layers that are farther than it are laid beneath.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedWorkflow {
    workflow: Workflow,
    said: PolicyLayerFile,
}

impl ParsedWorkflow {
    /// Everything but the policies of the run.
    pub fn workflow(&self) -> &Workflow {
        &self.workflow
    }

    /// The workflow over the policy tables of other layers, the farthest first.
    pub fn over(self, farther: impl IntoIterator<Item = PolicyLayerFile>) -> Workflow {
        let Self { mut workflow, said } = self;
        workflow.policies.lay(farther.into_iter().chain([said]));
        workflow
    }
}

/// Reads and checks a workflow.
///
/// `origin` is the name of the file in messages. `base` is the folder that relative paths of scripts, policies and the
/// workspace start from; give an absolute one, since agents and policies are opened from other folders. `read_file` returns the
/// text of a file at a path that begins with `base`, or the reason why it cannot.
///
/// # Errors
/// [`WorkflowError`] lists the mistakes, each with line, column, key and correction.
pub fn read(
    text: &str,
    origin: &str,
    base: &str,
    read_file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<ParsedWorkflow, WorkflowError> {
    let mut problems = Diagnostics::new(origin, text);
    let shape = parse_document(text, "a workflow", &schema(), &mut problems)?;
    let (workflow, said) = check::check(shape, base, read_file, &mut problems);
    problems.done()?;
    Ok(ParsedWorkflow { workflow, said })
}

/// Reads and checks what a file of another layer says of policies: `config.toml` of a user, or `baton.toml` of a workspace.
/// `origin`, `base` and `read_file` are as for [`read`]. The trusted keys are in the user's file as well, and are read by the code that asks a registry.
///
/// # Errors
/// As for [`read`].
pub fn parse_policies_file(
    text: &str,
    origin: &str,
    base: &str,
    layer: ConfigLayer,
    read_file: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<PolicyLayerFile, WorkflowError> {
    let mut problems = Diagnostics::new(origin, text);
    let shape: schema::ConfigurationSchema =
        parse_document(text, "a configuration", &configuration_schema(), &mut problems)?;
    if let Some(trust) = shape.trust.as_ref().filter(|_| layer == ConfigLayer::Workspace) {
        let what = "[trust] is not for the file of a workspace".to_owned();
        let hint =
            "whoever brings a folder does not decide whom its user trusts: write it in your own config.toml";
        problems.at(trust.span(), "trust", what, hint);
    }
    let said = policies::PolicyTableReader::new(base, read_file, &mut problems).said(layer, shape.policies);
    problems.done()?;
    Ok(said)
}

/// Reads the sandbox of such a file, as a floor of its own; none if the file has none.
///
/// # Errors
/// As for [`read`].
pub fn parse_sandbox_file(text: &str, origin: &str) -> Result<Option<Sandbox>, WorkflowError> {
    let mut problems = Diagnostics::new(origin, text);
    let shape: schema::ConfigurationSchema =
        parse_document(text, "a configuration", &configuration_schema(), &mut problems)?;
    let said = shape.sandbox.map(|shape| sandbox::sandbox(&mut problems, "in [sandbox]", shape));
    problems.done()?;
    Ok(said)
}

/// The text as a shape, held to its schema first.
fn parse_document<T: DeserializeOwned>(
    text: &str,
    what: &str,
    schema: &serde_json::Value,
    problems: &mut Diagnostics<'_>,
) -> Result<T, WorkflowError> {
    if text.len() > FILE_BYTES_MAX {
        let what = format!("the file has {} bytes, and {what} may have {FILE_BYTES_MAX}", text.len());
        problems.add(0, "", what, "is this the right file?".to_owned());
        problems.done()?;
    }
    let (document, mistakes) = toml::de::DeTable::parse_recoverable(text);
    for mistake in mistakes {
        let at = mistake.span().map_or(0, |span| span.start);
        let what = format!("this is not TOML: {}", mistake.message().replace('\n', ", "));
        problems.add(at, "", what, String::new());
    }
    problems.done()?;
    schema_validation::validate_document(&document, schema, problems);
    problems.done()?;
    toml::from_str(text).map_err(|mistake: toml::de::Error| {
        // `schema_validation` has found every mistake that the schema covers, so this is another one.
        let at = mistake.span().map_or(0, |span| span.start);
        problems.add(at, "", mistake.message().to_owned(), String::new());
        problems.take()
    })
}

/// The JSON Schema of a workflow file, for editors; `baton schema` prints it.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(schema::WorkflowSchema).to_value()
}

/// The JSON Schema of `config.toml` and `baton.toml`.
pub fn configuration_schema() -> serde_json::Value {
    schemars::schema_for!(schema::ConfigurationSchema).to_value()
}

#[cfg(test)]
mod tests;
