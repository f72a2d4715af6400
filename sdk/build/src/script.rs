//! Policies in JavaScript and Python have a build script; this runs it. The script is not checked: it is as trusted as the
//! sources in its folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// A folder of a policy that is not a crate, and its build script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    folder: PathBuf,
    program: PathBuf,
    file: &'static str,
    /// The missing tools, and how to install them.
    missing: Option<&'static str>,
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scripted {
    /// Its path.
    pub component: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The executed command.
    pub command: String,
}

impl Script {
    /// The build script of a folder; none if it has none, or is a crate.
    pub fn of(folder: &Path) -> Option<Self> {
        let has = |path: &str| folder.join(path).exists();
        let script = |program: PathBuf, file, missing| {
            Some(Self { folder: folder.to_owned(), program, file, missing })
        };
        if has("Cargo.toml") {
            None
        } else if has("build.mjs") {
            let installed = has("node_modules/@bytecodealliance/componentize-js");
            let missing = "componentize-js is not installed there; run `npm install` in it once";
            script(PathBuf::from("node"), "build.mjs", (!installed).then_some(missing))
        } else if has("build.py") {
            let own = folder.join(".venv/bin/python3");
            // A relative program would be looked for in the folder that the script runs in.
            let own = own.canonicalize().is_ok().then(|| std::path::absolute(&own).unwrap_or(own));
            script(own.unwrap_or_else(|| PathBuf::from("python3")), "build.py", None)
        } else {
            None
        }
    }

    /// Runs it. Its output is shown if it fails.
    ///
    /// # Errors
    /// [`Error::Command`] if it cannot start, fails, or makes no component.
    pub fn run(&self) -> Result<Scripted, Error> {
        let command = format!("{} {}", self.program.display(), self.file);
        let failed = |message: String| Error::Command {
            command: command.clone(),
            policy: self.folder.display().to_string(),
            message,
        };
        if let Some(missing) = self.missing {
            return Err(failed(missing.to_owned()));
        }
        let output = Command::new(&self.program)
            .arg(self.file)
            .current_dir(&self.folder)
            .output()
            .map_err(|error| failed(format!("it cannot be started: {error}")))?;
        if !output.status.success() {
            let said =
                [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).trim().to_owned());
            return Err(failed(format!("{}\n{}", output.status, said.join("\n").trim())));
        }
        let (component, bytes) = self
            .newest()
            .map_err(Error::file("list", &self.folder))?
            .ok_or_else(|| failed("it made no component (*.wasm) in the folder".to_owned()))?;
        Ok(Scripted { component, bytes, command })
    }

    /// The component that was written last.
    fn newest(&self) -> std::io::Result<Option<(PathBuf, u64)>> {
        let mut newest = None;
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "wasm") {
                let about = path.metadata()?;
                newest = newest.max(Some((about.modified()?, path, about.len())));
            }
        }
        Ok(newest.map(|(_, path, bytes)| (path, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            std::fs::write(folder.path().join(path), text).unwrap();
        }
        folder
    }

    // M4
    #[test]
    fn a_folder_is_known_by_what_builds_it() {
        assert_eq!(Script::of(folder(&[]).path()), None);
        assert_eq!(Script::of(folder(&[("Cargo.toml", ""), ("build.py", "")]).path()), None);
        let js = folder(&[("build.mjs", "")]);
        let error = Script::of(js.path()).unwrap().run().unwrap_err().to_string();
        assert!(error.contains("npm install"), "{error}");
    }

    #[cfg(unix)]
    fn with_python(script: &str) -> Result<Scripted, Error> {
        use std::os::unix::fs::PermissionsExt as _;
        // A fake script, so that the test needs no Python.
        let folder = folder(&[("build.py", script)]);
        let bin = folder.path().join(".venv/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("python3"), "#!/bin/sh\n. ./\"$1\"\n").unwrap();
        std::fs::set_permissions(bin.join("python3"), std::fs::Permissions::from_mode(0o755)).unwrap();
        Script::of(folder.path()).unwrap().run()
    }

    // M4
    #[cfg(unix)]
    #[test]
    fn what_a_script_made_is_found_and_what_it_says_is_told() {
        let made = with_python("printf 1234 > mine.wasm").unwrap();
        assert!(made.component.ends_with("mine.wasm") && made.bytes == 4);
        let error = with_python("echo no such module >&2; exit 3").unwrap_err().to_string();
        assert!(error.contains("no such module") && error.contains('3'), "{error}");
        let error = with_python("true").unwrap_err().to_string();
        assert!(error.contains("made no component"), "{error}");
    }
}
