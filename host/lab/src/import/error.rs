//! Why a recording cannot become a run. Each names the file, and the line if there is one.

use baton_store::StoreError;

use super::RECORDING_BYTES_MAX;
use super::detect::ImportFormat;

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// No file was named.
    #[error("there is nothing to import: name a recording")]
    NoFile,
    /// The file has no line.
    #[error("{file} is empty: there is nothing to import")]
    Empty {
        /// The file.
        file: String,
    },
    /// The file exceeds the size that is held in memory.
    #[error(
        "{file} has {bytes} bytes, and a recording may have {RECORDING_BYTES_MAX}: import its sessions one by one"
    )]
    TooLarge {
        /// The file.
        file: String,
        /// How long.
        bytes: u64,
    },
    /// No format fits, or more than one.
    #[error("{file} is of no format that is known for sure: say which with --as ({})", ImportFormat::names())]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// A line is invalid.
    #[error("{file}:{line}: {why}")]
    Broken {
        /// Which file.
        file: String,
        /// From 1.
        line: u64,
        /// What is wrong, and what to do.
        why: String,
    },
    /// No line says anything in the format.
    #[error("{file} has no line of the format {format}: is --as right?")]
    NotOfFormat {
        /// Which file.
        file: String,
        /// The format that it was read as.
        format: ImportFormat,
    },
    /// What the recording shows would make too long a journal for one transaction.
    #[error("{file}:{line}: the run would have more than {rows} entries: import its sessions one by one")]
    TooLong {
        /// Which file.
        file: String,
        /// The line at which the import gave up.
        line: u64,
        /// What is allowed.
        rows: usize,
    },
    /// Core refuses an input made from the recording: a bug in the import.
    #[error("{file}:{line}: {why}. This is a mistake in baton, please report it; nothing was imported")]
    Impossible {
        /// Which file.
        file: String,
        /// Line in the file, from 1.
        line: u64,
        /// What core says.
        why: String,
    },
    /// The built-in policy cannot be asked.
    #[error("the built-in policy cannot be asked: {0}")]
    Policy(String),
    /// The run cannot be kept.
    #[error("the run cannot be kept: {0}")]
    Store(#[from] StoreError),
}
