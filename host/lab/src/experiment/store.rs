//! Storage of experiments: a folder each below the state root, with the definition, the bytes of every component that an arm
//! ever had, and the measures so far. Reads no runs.
//!
//! ```text
//! experiments/split-v2/experiment.json     its definition
//! experiments/split-v2/components/<hex>    the components of its arms, independent of the files that they were copied from
//! experiments/split-v2/outcomes.json       cached measures of its runs, may be deleted at any time
//! ```

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::ids::ExperimentId;

use super::definition::{ExperimentDefinition, ExperimentError, checked_name};

/// A definition is a few kilobytes; a larger file was not written by this program.
const DEFINITION_BYTES_MAX: u64 = 1 << 20;

/// The largest component that a host loads, and some more.
const COMPONENT_BYTES_MAX: u64 = 64 << 20;

/// The experiments of a state root.
#[derive(Clone, Debug)]
pub struct ExperimentStore {
    root: PathBuf,
}

/// No other process changes a definition while this is held.
#[derive(Debug)]
pub struct ExperimentStoreLock {
    _file: File,
}

impl ExperimentStore {
    /// Those below this state root. Makes nothing.
    pub fn below(state_root: &Path) -> Self {
        Self { root: state_root.join("experiments") }
    }

    /// Takes the right to change definitions; given back when it is dropped, or when the process is gone.
    pub fn hold(&self) -> Result<ExperimentStoreLock, ExperimentError> {
        make_folder(&self.root)?;
        let path = self.root.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(io("open", &path))?;
        file.lock().map_err(io("lock", &path))?;
        Ok(ExperimentStoreLock { _file: file })
    }

    /// All of them by name; one that cannot be read says why.
    pub fn all(&self) -> Vec<(String, Result<ExperimentDefinition, ExperimentError>)> {
        let Ok(folders) = std::fs::read_dir(&self.root) else { return Vec::new() };
        let mut names: Vec<String> = folders
            .flatten()
            .filter(|entry| entry.path().join(DEFINITION).exists())
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names.into_iter().map(|name| (name.clone(), self.read(&name))).collect()
    }

    /// The one of this name.
    pub fn read(&self, name: &str) -> Result<ExperimentDefinition, ExperimentError> {
        checked_name(name).map_err(ExperimentError::Refused)?;
        let path = self.folder(name).join(DEFINITION);
        let text = match read_bounded(&path, DEFINITION_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(ExperimentError::UnknownExperiment {
                    name: name.to_owned(),
                    known: self.known(),
                });
            }
            read => read.map_err(io("read", &path))?,
        };
        let broken = |why: String| ExperimentError::Broken { path: path.clone(), why };
        let definition: ExperimentDefinition =
            serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))?;
        definition.check().map_err(broken)?;
        if definition.name.as_str() != name {
            return Err(broken(format!("it calls itself {}", definition.name)));
        }
        Ok(definition)
    }

    /// The one of this name, if there is one.
    pub fn find(&self, name: &str) -> Result<Option<ExperimentDefinition>, ExperimentError> {
        match self.read(name) {
            Err(ExperimentError::UnknownExperiment { .. }) => Ok(None),
            read => read.map(Some),
        }
    }

    fn known(&self) -> String {
        let names: Vec<String> = self.all().into_iter().map(|(name, _)| name).collect();
        match names.is_empty() {
            true => "none was started here. `baton experiment start --help` shows how".to_owned(),
            false => format!("there is {}", names.join(", ")),
        }
    }

    /// Writes it, whole or not at all. The caller holds its lock.
    pub fn write(
        &self,
        definition: &ExperimentDefinition,
        _held: &ExperimentStoreLock,
    ) -> Result<(), ExperimentError> {
        definition.check().map_err(ExperimentError::Refused)?;
        let folder = self.folder(definition.name.as_str());
        make_folder(&folder)?;
        let text = serde_json::to_vec_pretty(definition).map_err(|error| {
            ExperimentError::Refused(format!("the experiment cannot be written: {error}"))
        })?;
        replace(&folder, DEFINITION, &text)
    }

    /// Keeps a component, so that the arm does not change if the original file does.
    pub fn keep(
        &self,
        name: &ExperimentId,
        bytes: &[u8],
        _held: &ExperimentStoreLock,
    ) -> Result<Digest, ExperimentError> {
        let folder = self.folder(name.as_str()).join(COMPONENTS);
        make_folder(&folder)?;
        let digest = Digest::of(bytes);
        if self.component(name, &digest).is_err() {
            replace(&folder, digest.hex(), bytes)?;
        }
        Ok(digest)
    }

    /// The bytes of an arm's component; an error if they no longer match its digest.
    pub fn component(&self, name: &ExperimentId, digest: &Digest) -> Result<Vec<u8>, ExperimentError> {
        let path = self.folder(name.as_str()).join(COMPONENTS).join(digest.hex());
        let bytes = read_bounded(&path, COMPONENT_BYTES_MAX).map_err(io("read the component", &path))?;
        if Digest::of(&bytes) != *digest {
            let why = "the bytes of this component are no longer those that the experiment was started with";
            return Err(ExperimentError::Broken { path, why: why.to_owned() });
        }
        Ok(bytes)
    }

    /// The cached measures, which may be deleted at any time; none if they are missing or cannot be read.
    pub fn read_cache(&self, name: &ExperimentId) -> Option<Vec<u8>> {
        std::fs::read(self.folder(name.as_str()).join(CACHE)).ok()
    }

    /// Writes it for the next time.
    pub fn write_cache(&self, name: &ExperimentId, bytes: &[u8]) -> Result<(), ExperimentError> {
        replace(&self.folder(name.as_str()), CACHE, bytes)
    }

    /// The folder of one.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }
}

const DEFINITION: &str = "experiment.json";
const COMPONENTS: &str = "components";
const CACHE: &str = "outcomes.json";

fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ExperimentError + use<> {
    let path = path.to_owned();
    move |source| ExperimentError::Io { what, path, source }
}

fn make_folder(path: &Path) -> Result<(), ExperimentError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io("make the folder", path))
}

fn read_bounded(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(std::io::Error::other(format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

/// Puts a file in place of the one of that name: one of the two exists at any moment, also after a power cut.
fn replace(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ExperimentError> {
    let path = folder.join(name);
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let write = || {
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, &path)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(io("write", &path))
}
