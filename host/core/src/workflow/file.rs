//! Reads a workflow from TOML; every mistake is named with its line and what to do. Opens no file itself.
//!
//! Three steps, one file each: `shape` says what may stand in the file and is the source of its JSON Schema;
//! `conform` holds the text to that schema, so that unknown keys, wrong types and values out of bounds are
//! reported together with their places; `check`, with a file for each topic beside it, turns the shape into
//! the model and finds what no schema can say (ids that repeat, phases that wait for each other).

mod check;
mod conform;
mod graph;
mod limits;
mod modes;
mod paths;
mod phases;
mod policies;
mod problem;
mod roles;
mod shape;
mod values;

pub use problem::{Problem, WorkflowError};

use problem::Problems;

use crate::workflow::Workflow;

/// A workflow file may have this many bytes: a thousand objectives with a page each fit, a mistaken path to a log
/// or an archive does not.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Reads and checks a workflow that names no further files of the same kind of text; one that has `mode_files` needs
/// [`parse_with`].
///
/// # Errors
/// As for [`parse_with`].
pub fn parse(text: &str, origin: &str, base: &str) -> Result<Workflow, WorkflowError> {
    parse_with(text, origin, base, &mut |_| Err("nothing is read from files here".to_owned()))
}

/// Reads and checks a workflow.
///
/// `origin` is what messages call the file. `base` is the folder that relative paths of scripts, policies and the
/// workspace start from; give an absolute one, since agents and policies are opened from elsewhere. `read` gives the text
/// of a file at a path that begins with `base`, or says why it cannot.
///
/// # Errors
/// [`WorkflowError`] lists what is wrong, each with line, column, key and what to do.
pub fn parse_with(
    text: &str,
    origin: &str,
    base: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Workflow, WorkflowError> {
    let mut problems = Problems::new(origin, text);
    if text.len() > FILE_BYTES_MAX {
        let what = format!("the file has {} bytes, and a workflow may have {FILE_BYTES_MAX}", text.len());
        problems.add(0, "", what, "is this the right file?".to_owned());
        return Err(problems.into_error());
    }
    let (document, mistakes) = toml::de::DeTable::parse_recoverable(text);
    for mistake in mistakes {
        let at = mistake.span().map_or(0, |span| span.start);
        let what = format!("this is not TOML: {}", mistake.message().replace('\n', ", "));
        problems.add(at, "", what, String::new());
    }
    problems.done()?;

    let schema = schema();
    conform::hold_to(&document, &schema, &mut problems);
    problems.done()?;

    let shape = match toml::from_str::<shape::WorkflowShape>(text) {
        Ok(shape) => shape,
        // `conform` has found every mistake that the schema knows, so this is one that it does not.
        Err(mistake) => {
            let at = mistake.span().map_or(0, |span| span.start);
            problems.add(at, "", mistake.message().to_owned(), String::new());
            return Err(problems.into_error());
        }
    };
    let workflow = check::check(shape, base, read, &mut problems);
    problems.done()?;
    Ok(workflow)
}

/// The JSON Schema of a workflow file, for editors; `baton schema` prints it.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(shape::WorkflowShape).to_value()
}

#[cfg(test)]
mod tests;
