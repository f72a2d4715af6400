//! The sources of a component: the policy's crate, the SDK, the contract, and the other crates by version. Asks cargo for the
//! list of these crates, offline, and compiles nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::toolchain::clean;
use crate::{Error, TARGET};

/// Crates of code generators that determine the generated code. The other dependencies of a generator (serde, anyhow…) never
/// reach a component, and a host that updates those must not change the lock.
const GENERATORS: [&str; 2] = ["wit-", "wasm"];

/// A policy crate, found in a folder of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Name of its folder and of the component.
    pub name: String,
    /// Name of its package.
    pub package: String,
    /// Its crate.
    pub folder: PathBuf,
    /// The path of the component.
    pub component: PathBuf,
    /// The workspace: the folder with the Cargo.lock.
    pub workspace: PathBuf,
}

/// The policy crates in `folder`, by name.
///
/// # Errors
/// [`Error::NoPolicies`], [`Error::NoWorkspace`], or a file that cannot be read.
pub fn discover(folder: &Path) -> Result<Vec<Policy>, Error> {
    let folder = folder.canonicalize().map_err(Error::file("open", folder))?;
    let workspace = folder
        .ancestors()
        .find(|above| above.join("Cargo.lock").is_file())
        .ok_or_else(|| Error::NoWorkspace(folder.clone()))?
        .to_owned();
    let mut policies = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(Error::file("list", &folder))? {
        let path = entry.map_err(Error::file("list", &folder))?.path();
        let manifest = path.join("Cargo.toml");
        if !manifest.is_file() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let package = package_name(&manifest)?;
        let component = folder.join(format!("{name}.wasm"));
        policies.push(Policy { name, package, component, folder: path, workspace: workspace.clone() });
    }
    policies.sort_by(|a, b| a.name.cmp(&b.name));
    if policies.is_empty() { Err(Error::NoPolicies(folder)) } else { Ok(policies) }
}

/// The policy crate in `folder`, with the workspace that it belongs to.
pub(crate) fn alone(folder: &Path) -> Result<Policy, Error> {
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(Error::NoCrate(folder.to_owned()));
    }
    let folder = folder.canonicalize().map_err(Error::file("open", folder))?;
    let package = package_name(&manifest)?;
    let is_own = self::manifest(&manifest)?.get("workspace").is_some();
    let locked = folder.ancestors().find(|above| above.join("Cargo.lock").is_file()).filter(|_| !is_own);
    let workspace = locked.unwrap_or(&folder).to_owned();
    let component = folder.join(format!("{package}.wasm"));
    Ok(Policy { name: package.clone(), package, folder, component, workspace })
}

impl Policy {
    /// Digest of every source file that reaches the component: crate, local dependencies, contract, build profile.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn source_sha256(&self) -> Result<String, Error> {
        let mut files = BTreeSet::new();
        for folder in self.local_crates()? {
            files.insert(folder.join("Cargo.toml"));
            walk(&folder.join("src"), &mut files)?;
        }
        let contract = self.workspace.join("wit");
        walk(&contract, &mut files)?;
        // Copies of earlier contracts reach no component.
        files.retain(|file| !file.starts_with(contract.join(crate::FROZEN)));
        let mut hash = Sha256::new();
        let mut add = |name: &str, bytes: &[u8]| {
            // Lengths before contents, so that no two lists of files hash alike.
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        for file in &files {
            let bytes = std::fs::read(file).map_err(Error::file("read", file))?;
            let name = file.strip_prefix(&self.workspace).unwrap_or(file);
            add(&name.to_string_lossy().replace('\\', "/"), &bytes);
        }
        add("profile", self.profile()?.as_bytes());
        // A manifest that inherits a dependency does not name its features.
        for (name, inherited) in self.inherited()? {
            add(&name, inherited.as_bytes());
        }
        Ok(hex(&hash.finalize()))
    }

    /// The crates from outside the workspace that determine the component's bytes: `name version` to checksum.
    ///
    /// These are the crates that are linked into it, and those that determine the output of macros.
    ///
    /// # Errors
    /// If cargo fails, or Cargo.lock cannot be read.
    pub fn crates(&self) -> Result<BTreeMap<String, String>, Error> {
        let lock = CargoLock::read(&self.workspace)?;
        let mut found = BTreeMap::new();
        // Depth of the macro that the lines below belong to.
        let mut inside: Option<usize> = None;
        for line in self.tree()?.lines() {
            let mut words = line.split(' ');
            let (Some(depth), Some(name), Some(version)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let depth: usize = depth.parse().unwrap_or(0);
            inside = inside.filter(|macro_depth| depth > *macro_depth);
            if inside.is_some() && !GENERATORS.iter().any(|family| name.starts_with(family)) {
                continue;
            }
            if line.ends_with("(proc-macro)") {
                inside = inside.or(Some(depth));
            }
            let version = version.trim_start_matches('v');
            let package =
                lock.packages.iter().find(|package| package.name == name && package.version == version);
            // A package without a checksum is a local one: its files are hashed instead.
            if let Some(checksum) = package.and_then(|package| package.checksum.as_ref()) {
                found.insert(format!("{name} {version}"), checksum.clone());
            }
        }
        Ok(found)
    }

    /// The output of `cargo tree` for the policy as it is built: a line per crate, with its depth.
    fn tree(&self) -> Result<String, Error> {
        let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let mut command = clean(Command::new(&cargo));
        command.current_dir(&self.workspace).args(["tree", "--locked", "--offline", "--edges", "normal"]);
        command.args([
            "--no-dedupe",
            "--prefix",
            "depth",
            "--format",
            " {p}",
            "--target",
            TARGET,
            "-p",
            &self.package,
        ]);
        let failed = |message: String| Error::Command {
            command: format!("{} tree -p {}", cargo.display(), self.package),
            policy: self.name.clone(),
            message,
        };
        let output = command.output().map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(failed(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())))
        }
    }

    /// Version of a crate that this tool was built with, from the workspace's lock.
    pub(crate) fn version_used_by(&self, member: &str, name: &str) -> Result<String, Error> {
        let lock = CargoLock::read(&self.workspace)?;
        let path = self.workspace.join("Cargo.lock");
        let member = lock.named(member, &path)?;
        lock.dependencies(member)
            .map(|index| &lock.packages[index])
            .find(|package| package.name == name)
            .map(|package| package.version.clone())
            .ok_or_else(|| Error::Format { path, message: format!("nothing depends on {name}") })
    }

    /// The policy's crate and the local crates it is built from, transitively.
    fn local_crates(&self) -> Result<Vec<PathBuf>, Error> {
        let root = manifest(&self.workspace.join("Cargo.toml"))?;
        let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
        let mut found: Vec<PathBuf> = Vec::new();
        let mut queue = vec![self.folder.clone()];
        while let Some(folder) = queue.pop() {
            if found.contains(&folder) {
                continue;
            }
            let path = folder.join("Cargo.toml");
            let here = manifest(&path)?;
            for section in ["dependencies", "build-dependencies"] {
                let Some(table) = here.get(section).and_then(toml::Value::as_table) else { continue };
                for (name, dependency) in table {
                    let inherited = dependency.get("workspace").is_some();
                    let (base, dependency) = if inherited {
                        (&self.workspace, shared.and_then(|shared| shared.get(name)))
                    } else {
                        (&folder, Some(dependency))
                    };
                    let local = dependency.and_then(|d| d.get("path")).and_then(toml::Value::as_str);
                    if let Some(local) = local {
                        let local = base.join(local);
                        queue.push(local.canonicalize().map_err(Error::file("open", &local))?);
                    }
                }
            }
            found.push(folder);
        }
        found.sort();
        Ok(found)
    }

    /// The root manifest's entries for the dependencies that the local crates inherit from it.
    fn inherited(&self) -> Result<BTreeMap<String, String>, Error> {
        let root = manifest(&self.workspace.join("Cargo.toml"))?;
        let mut inherited = BTreeMap::new();
        for folder in self.local_crates()? {
            let here = manifest(&folder.join("Cargo.toml"))?;
            for section in ["dependencies", "build-dependencies"] {
                let names = here
                    .get(section)
                    .and_then(toml::Value::as_table)
                    .into_iter()
                    .flat_map(|table| table.keys());
                for name in names {
                    let shared =
                        root.get("workspace").and_then(|workspace| workspace.get("dependencies")?.get(name));
                    inherited.extend(shared.map(|shared| (name.clone(), shared.to_string())));
                }
            }
        }
        Ok(inherited)
    }

    /// The build profile, as far as the root manifest sets it.
    fn profile(&self) -> Result<String, Error> {
        let root = manifest(&self.workspace.join("Cargo.toml"))?;
        let profile = |name: &str| root.get("profile").and_then(|profiles| profiles.get(name)).cloned();
        let of = |name| profile(name).map(|value| value.to_string()).unwrap_or_default();
        Ok(format!("release {}\n{} {}", of("release"), crate::PROFILE, of(crate::PROFILE)))
    }
}

/// `Cargo.lock`, as far as it matters here.
#[derive(serde::Deserialize)]
struct CargoLock {
    #[serde(rename = "package")]
    packages: Vec<Package>,
}

#[derive(serde::Deserialize)]
struct Package {
    name: String,
    version: String,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl CargoLock {
    fn read(workspace: &Path) -> Result<Self, Error> {
        let path = workspace.join("Cargo.lock");
        let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        toml::from_str(&text).map_err(|error| Error::Format { path, message: error.to_string() })
    }

    fn named(&self, name: &str, asked_by: &Path) -> Result<usize, Error> {
        self.packages.iter().position(|package| package.name == name).ok_or_else(|| Error::Format {
            path: asked_by.to_owned(),
            message: format!(
                "Cargo.lock does not know {name}; run `cargo metadata` once to bring it up to date"
            ),
        })
    }

    /// The dependencies of a package. An entry is `name`, or `name version` if the lock holds several versions.
    fn dependencies(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        self.packages[index].dependencies.iter().filter_map(|entry| {
            let mut words = entry.split(' ');
            let (name, version) = (words.next()?, words.next());
            self.packages.iter().position(|package| {
                package.name == name && version.is_none_or(|version| package.version == version)
            })
        })
    }
}

fn manifest(path: &Path) -> Result<toml::Value, Error> {
    let text = std::fs::read_to_string(path).map_err(Error::file("read", path))?;
    toml::from_str(&text).map_err(|error| Error::Format { path: path.to_owned(), message: error.to_string() })
}

fn package_name(path: &Path) -> Result<String, Error> {
    let name =
        manifest(path)?.get("package").and_then(|package| package.get("name")?.as_str().map(str::to_owned));
    name.ok_or_else(|| Error::Format { path: path.to_owned(), message: "it names no package".to_owned() })
}

fn walk(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    for entry in std::fs::read_dir(folder).map_err(Error::file("list", folder))? {
        let path = entry.map_err(Error::file("list", folder))?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
