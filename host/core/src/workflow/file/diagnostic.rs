//! The mistakes in a file, and their places. Independent of workflows.

use std::fmt;
use std::ops::Range;

/// Messages about one file: of more mistakes than this, only the first ones are shown.
pub(super) const PROBLEMS_MAX: usize = 20;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key it is about; empty if it is about the whole file.
    pub key: String,
    /// The mistake, with the key and its place.
    pub what: String,
    /// The correction; may be empty.
    pub hint: String,
}

/// A file that is not a valid workflow or configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowError {
    /// Name of the file, as the caller gave it.
    pub origin: String,
    /// The mistakes, in the order of the file; never empty, at most 20.
    pub problems: Vec<Diagnostic>,
    /// How many more there are.
    pub beyond: usize,
}

impl std::error::Error for WorkflowError {}

impl fmt::Display for WorkflowError {
    /// One `file:line:column: what` per mistake, its hint on the next line, indented.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:{}:{}: {}", self.origin, problem.line, problem.column, problem.what)?;
            if !problem.hint.is_empty() {
                write!(f, "\n    {}", problem.hint)?;
            }
        }
        match self.beyond {
            0 => Ok(()),
            1 => write!(f, "\nand 1 more"),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// Gathers mistakes of one file.
pub(super) struct Diagnostics<'t> {
    origin: &'t str,
    text: &'t str,
    /// With the offset they are sorted by.
    found: Vec<(usize, Diagnostic)>,
}

impl<'t> Diagnostics<'t> {
    pub(super) fn new(origin: &'t str, text: &'t str) -> Self {
        Self { origin, text, found: Vec::new() }
    }

    /// The name of the file in messages.
    pub(super) fn origin(&self) -> &'t str {
        self.origin
    }

    /// The text before a byte offset.
    fn before(&self, at: usize) -> &'t str {
        let at = (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        &self.text[..at]
    }

    /// The line of a byte offset, from 1.
    pub(super) fn line_of(&self, at: usize) -> u32 {
        u32::try_from(self.before(at).matches('\n').count() + 1).unwrap_or(u32::MAX)
    }

    /// Adds one at a byte offset of the text.
    pub(super) fn add(&mut self, at: usize, key: &str, what: String, hint: String) {
        let before = self.before(at);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let problem = Diagnostic {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.to_owned(),
            what,
            hint,
        };
        self.found.push((before.len(), problem));
    }

    /// Adds one at the beginning of a span.
    pub(super) fn at(&mut self, span: Range<usize>, key: &str, what: String, hint: impl Into<String>) {
        self.add(span.start, key, what, hint.into());
    }

    /// Returns an error if there are mistakes.
    pub(super) fn done(&mut self) -> Result<(), WorkflowError> {
        if self.found.is_empty() { Ok(()) } else { Err(self.take()) }
    }

    /// Everything that was found, as an error.
    pub(super) fn take(&mut self) -> WorkflowError {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|(at, _)| *at);
        let beyond = found.len().saturating_sub(PROBLEMS_MAX);
        found.truncate(PROBLEMS_MAX);
        let problems = found.into_iter().map(|(_, problem)| problem).collect();
        WorkflowError { origin: self.origin.to_owned(), problems, beyond }
    }
}

/// "did you mean `x`?" if one of the names is similar, else the list of them.
pub(in crate::workflow) fn suggest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    match nearest(given, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None if names.is_empty() => String::new(),
        None => format!("one of: {}", names.join(", ")),
    }
}

/// The name that the user most likely meant.
pub(in crate::workflow) fn nearest<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    /// Below this two words have hardly a letter in common; the same bound as in clap and cargo's kin.
    const ALIKE: f64 = 0.75;
    let given = given.to_lowercase().replace('_', "-");
    names
        .iter()
        .map(|name| (strsim::jaro_winkler(&given, &name.replace('_', "-")), *name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
