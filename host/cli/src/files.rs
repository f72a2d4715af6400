//! Files that commands write.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// A file beside the one that it is about: "a.wasm" and "sig" give "a.wasm.sig".
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
