//! Why a recording does not become a run. Each names the file, and the line where there is one.

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
        /// Which.
        file: String,
    },
    /// The file is longer than what is held in memory.
    #[error(
        "{file} has {bytes} bytes, and a recording may have {RECORDING_BYTES_MAX}: import its sessions one by one"
    )]
    TooLarge {
        /// Which.
        file: String,
        /// How long.
        bytes: u64,
    },
    /// No format fits, or more than one.
    #[error("{file} is of no format that is known for sure: say which with --as ({})", ImportFormat::names())]
    UnknownFormat {
        /// Which.
        file: String,
    },
    /// A line cannot be what it should be.
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
        /// Where it was given up.
        line: u64,
        /// What is allowed.
        rows: usize,
    },
    /// Core does not take what the recording shows: a mistake of the import.
    #[error("{file}:{line}: {why}. This is a mistake in baton, please report it; nothing was imported")]
    Impossible {
        /// Which file.
        file: String,
        /// Where.
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
