//! Files that commands write.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::exit_status::UsageError;

/// The path of a file's companion: "a.wasm" and "sig" give "a.wasm.sig".
pub(crate) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    file.with_file_name(name)
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let unfinished = beside(path, &format!("part-{}", std::process::id()));
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .inspect_err(|_| drop(fs::remove_file(&unfinished)))
        .with_context(|| format!("writing {}", path.display()))
}

/// Writes a new file, or replaces an existing one if requested.
pub(crate) fn write_new(path: &Path, bytes: &[u8], replace: bool) -> anyhow::Result<()> {
    if replace {
        return write_whole(path, bytes);
    }
    let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
    match made.and_then(|mut file| file.write_all(bytes)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(UsageError(format!(
            "{} exists already: name another file, or replace it with --force",
            path.display()
        ))
        .into()),
        written => written.with_context(|| format!("writing {}", path.display())),
    }
}
