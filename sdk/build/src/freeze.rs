//! Freezes the contract: a copy of `wit/` for each released version, and one of the draft version. It only copies; a test of
//! the engine checks the effect of a change on components.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;

/// Folder below the contract with a copy of each version. No component is made from it.
pub const FROZEN: &str = "released";

/// File in it that names the version which is not released yet.
pub const DRAFT: &str = "draft";

/// The result of copying the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// The version of the contract.
    pub version: String,
    /// Its copy.
    pub folder: PathBuf,
    /// The copy differs from the previous one.
    pub changed: bool,
}

/// Copies the contract in `wit` to the folder of its version. With `release`, for the last time.
///
/// # Errors
/// [`Error::Released`] if the version was released and reads differently now; a file that cannot be read or written; a contract
/// that names no version.
pub fn freeze(wit: &Path, release: bool) -> Result<Frozen, Error> {
    let now = texts(wit)?;
    let version = version(wit, &now)?;
    let (frozen, draft) = (wit.join(FROZEN), wit.join(FROZEN).join(DRAFT));
    let folder = frozen.join(&version);
    let before = if folder.is_dir() { texts(&folder)? } else { BTreeMap::new() };
    let named = match fs::read_to_string(&draft) {
        Ok(named) => named.trim().to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::file("read", &draft)(error)),
    };
    let changed = before != now;
    let is_released = !before.is_empty() && named != version;
    if is_released && changed {
        return Err(Error::Released { version, folder });
    }
    if changed {
        fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        for gone in before.keys().filter(|name| !now.contains_key(*name)) {
            let path = folder.join(gone);
            fs::remove_file(&path).map_err(Error::file("remove", &path))?;
        }
        for (name, text) in &now {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
        }
    }
    if !is_released && (release || named != version) {
        let names = if release { String::new() } else { format!("{version}\n") };
        fs::write(&draft, names).map_err(Error::file("write", &draft))?;
    }
    Ok(Frozen { version, folder, changed })
}

/// The WIT of a folder, by file.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(Error::file("list", folder))? {
        let path = entry.map_err(Error::file("list", folder))?.path();
        if path.extension().is_some_and(|end| end == "wit") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            texts.insert(name, fs::read_to_string(&path).map_err(Error::file("read", &path))?);
        }
    }
    Ok(texts)
}

/// The version in the line `package baton:policy@0.1.0;`.
fn version(wit: &Path, texts: &BTreeMap<String, String>) -> Result<String, Error> {
    let package = |line: &str| {
        let (_, version) = line.strip_prefix("package ")?.strip_suffix(';')?.split_once('@')?;
        Some(version.to_owned())
    };
    let found = texts.values().flat_map(|text| text.lines()).find_map(package);
    let is_name =
        |version: &String| version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains('/');
    found.filter(is_name).ok_or_else(|| Error::Format {
        path: wit.to_owned(),
        message: "no line says `package NAMESPACE:NAME@VERSION;`".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, text);
        folder
    }

    fn write(folder: &tempfile::TempDir, text: &str) {
        fs::write(folder.path().join("a.wit"), text).unwrap();
    }

    fn copy(folder: &tempfile::TempDir, version: &str) -> String {
        fs::read_to_string(folder.path().join(FROZEN).join(version).join("a.wit")).unwrap()
    }

    #[test]
    fn a_draft_follows_and_a_release_stays() {
        let wit = contract("package a:b@0.1.0;\n// one\n");
        assert!(freeze(wit.path(), false).unwrap().changed);
        assert!(!freeze(wit.path(), false).unwrap().changed);
        write(&wit, "package a:b@0.1.0;\n// two\n");
        assert!(freeze(wit.path(), true).unwrap().changed);
        assert!(!freeze(wit.path(), false).unwrap().changed, "released as it is");
        write(&wit, "package a:b@0.1.0;\n// three\n");
        let error = freeze(wit.path(), false).unwrap_err().to_string();
        assert!(error.contains("0.1.0") && error.contains("new version"), "{error}");
        assert!(copy(&wit, "0.1.0").contains("two"));

        write(&wit, "package a:b@0.2.0;\n// three\n");
        freeze(wit.path(), false).unwrap();
        write(&wit, "package a:b@0.2.0;\n// four\n");
        freeze(wit.path(), false).unwrap();
        assert!(copy(&wit, "0.2.0").contains("four") && copy(&wit, "0.1.0").contains("two"));
    }

    #[test]
    fn a_contract_without_a_version_is_refused() {
        let error = freeze(contract("interface a {}").path(), false).unwrap_err().to_string();
        assert!(error.contains("package NAMESPACE:NAME@VERSION"), "{error}");
        assert!(freeze(contract("package a:b@../../x;").path(), false).is_err());
    }
}
