//! Errors of the inbox as a whole, and problems of a single file in it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The folder itself cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempt} the inbox {}: {source}; check free space, permissions and links on the way", path.display())]
pub struct InboxError {
    attempt: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl InboxError {
    pub(crate) fn new(attempt: &'static str, path: PathBuf, source: io::Error) -> Self {
        Self { attempt, path, source }
    }
}

/// A problem of a file, for the agent that wrote it and for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// Name of the file.
    pub file: String,
    /// From 1, if it is known.
    pub line: Option<usize>,
    /// The faulty field, if there is one.
    pub field: Option<String>,
    /// The problem.
    pub message: String,
    /// The accepted values; empty if they are obvious.
    pub allowed: String,
}

impl FileProblem {
    pub(crate) fn new(file: &str, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            line: None,
            field: None,
            message: message.into(),
            allowed: String::new(),
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ", field {field:?}")?;
        }
        write!(f, ": {}", self.message)?;
        if !self.allowed.is_empty() {
            write!(f, "; {}", self.allowed)?;
        }
        Ok(())
    }
}
