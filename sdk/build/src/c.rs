//! Builds a policy in C: writes the bindings of its world, compiles every C file with clang, and wraps the module as a component.
//! It needs clang, the linker of LLVM and a C library for WebAssembly; the generator of the bindings and the encoder are part of this
//! crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use wasm_encoder::{
    CodeSection, ExportKind, ExportSection, Function, FunctionSection, Module, TypeSection, ValType,
};
use wasmparser::{Parser, Payload, TypeRef};
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::{Resolve, WorldId, WorldKey};
use wit_component::ComponentEncoder;

use crate::Error;
use crate::script::Scripted;
use crate::wants::{Wants, stamp};

/// Flags of clang. There is no start code, so a component imports nothing but the contract; a stack overflow traps.
const FLAGS: [&str; 11] = [
    "--target=wasm32-wasi",
    "-std=c17",
    "-Os",
    "-Wall",
    "-I.",
    "-Ibuild",
    "-nostartfiles",
    "-Wl,--no-entry",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=65536",
    "-Wl,--strip-debug",
];

/// The folder, in that of the policy, that the bindings are written to.
const BUILD: &str = "build";

/// Folders whose C files are not part of the component.
const NOT_SOURCES: [&str; 2] = [BUILD, "tests"];

/// The WASI interface that the C library uses for files.
const WASI: &str = "wasi_snapshot_preview1";

/// The functions of WASI that `snprintf` refers to and never calls. A module that imports more cannot become a component.
const NEVER_CALLED: [&str; 4] = ["fd_close", "fd_fdstat_get", "fd_seek", "fd_write"];

/// A folder of a policy in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CPolicy {
    folder: PathBuf,
}

impl CPolicy {
    /// The policy of a folder; absent if it has no `world.wit` and `policy.c`, or if it is a crate.
    pub fn of(folder: &Path) -> Option<Self> {
        let has = |path: &str| folder.join(path).is_file();
        let is_c = has("world.wit") && has("policy.c") && !has("Cargo.toml");
        is_c.then(|| Self { folder: folder.to_owned() })
    }

    /// Writes the bindings: the folder with `guest.h` and its related files.
    ///
    /// # Errors
    /// [`Error::Format`] if the world or the contract cannot be read, [`Error::File`] if a file cannot be written.
    pub fn bindings(&self) -> Result<PathBuf, Error> {
        let wrong = |error: anyhow::Error| Error::Format {
            path: self.folder.join("world.wit"),
            message: format!("{error:#}"),
        };
        let (mut resolve, world) = self.world().map_err(wrong)?;
        let generator = wit_bindgen_c::Opts { rename: short_names(&resolve, world), ..Default::default() };
        let mut files = Files::default();
        generator.build().generate(&mut resolve, world, &mut files).map_err(wrong)?;
        let build = self.folder.join(BUILD);
        std::fs::create_dir_all(&build).map_err(Error::file("make", &build))?;
        for (name, content) in files.iter() {
            let path = build.join(name);
            std::fs::write(&path, content).map_err(Error::file("write", &path))?;
        }
        Ok(build)
    }

    fn world(&self) -> anyhow::Result<(Resolve, WorldId)> {
        let mut resolve = Resolve::default();
        resolve.push_dir(self.folder.join("wit"))?;
        let package = resolve.push_file(self.folder.join("world.wit"))?;
        let world = resolve.select_world(&[package], None)?;
        Ok((resolve, world))
    }

    /// Builds the component, `<folder>.wasm` in the folder. The same sources and compiler give the same bytes.
    ///
    /// # Errors
    /// As of [`CPolicy::bindings`]; [`Error::Command`] if clang cannot start or fails, [`Error::Component`] if its module cannot be a
    /// component.
    pub fn build(&self) -> Result<Scripted, Error> {
        let wants = self.wants()?;
        let build = self.bindings()?;
        let module = build.join("module.wasm");
        let command = self.compile()?;
        let core = std::fs::read(&module).map_err(Error::file("read", &module))?;
        let encoded = encode(&core)
            .map_err(|error| Error::Component { policy: self.name(), message: format!("{error:#}") })?;
        let bytes = stamp(&encoded, &wants)?;
        let component = self.folder.join(format!("{}.wasm", self.name()));
        std::fs::write(&component, &bytes).map_err(Error::file("write", &component))?;
        Ok(Scripted { component, bytes: bytes.len() as u64, command })
    }

    /// That of the folder.
    fn name(&self) -> String {
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The content of `wants.json`, if the policy has one.
    fn wants(&self) -> Result<Wants, Error> {
        let path = self.folder.join("wants.json");
        if !path.is_file() {
            return Ok(Wants::default());
        }
        let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        serde_json::from_str(&text).map_err(|error| Error::Format { path, message: error.to_string() })
    }

    /// Runs clang and returns its version. Its messages are shown to the user.
    fn compile(&self) -> Result<String, Error> {
        let clang = std::env::var_os("WASI_SDK_PATH")
            .filter(|sdk| !sdk.is_empty())
            .map_or_else(|| PathBuf::from("clang"), |sdk| Path::new(&sdk).join("bin/clang"));
        let command = clang.display().to_string();
        let failed =
            |message: String| Error::Command { command: command.clone(), policy: self.name(), message };
        let status = Command::new(&clang)
            .current_dir(&self.folder)
            .args(FLAGS)
            .args(sources(&self.folder, Path::new("")).map_err(Error::file("list", &self.folder))?)
            .args(["guest.c", "guest_component_type.o"].map(|file| Path::new(BUILD).join(file)))
            .arg("-o")
            .arg(Path::new(BUILD).join("module.wasm"))
            .status()
            .map_err(|error| failed(format!("it cannot be started: {error}\n{INSTALL}")))?;
        match status.success() {
            true => Ok(command),
            false => Err(failed(format!(
                "{status}; its own messages are above. If it did not find a header or a library:\n{INSTALL}"
            ))),
        }
    }
}

/// Instructions if clang is missing, or cannot build WebAssembly.
const INSTALL: &str = "install clang, lld and a C library for WebAssembly: `apt-get install clang lld wasi-libc \
    libclang-rt-dev-wasm32`, or a release of wasi-sdk, whose folder the variable WASI_SDK_PATH names";

/// `baton:policy/splitting@0.1.0` is `splitting` in C, and `baton:policy/facts-history@0.1.0` is `facts_history`.
fn short_names(resolve: &Resolve, world: WorldId) -> Vec<(String, String)> {
    let world = &resolve.worlds[world];
    let keys = world.imports.keys().chain(world.exports.keys());
    let names: BTreeMap<String, String> = keys
        .filter_map(|key| match key {
            WorldKey::Interface(id) => {
                let name = resolve.interfaces[*id].name.as_ref()?;
                Some((resolve.name_world_key(key), name.replace('-', "_")))
            }
            WorldKey::Name(_) => None,
        })
        .collect();
    names.into_iter().collect()
}

/// The C files below a folder, by their paths in it, in order.
fn sources(folder: &Path, below: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.join(below))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = below.join(&name);
        let is_hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type()?.is_dir() {
            if !is_hidden && !NOT_SOURCES.iter().any(|other| path == Path::new(other)) {
                found.extend(sources(folder, &path)?);
            }
        } else if path.extension().is_some_and(|end| end == "c") && !is_hidden {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn encode(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(module)?;
    if let Some(stubs) = stubs(module)? {
        encoder.adapter(WASI, &stubs)?;
    }
    encoder.encode()
}

/// A module with the functions of [`NEVER_CALLED`] that the policy's imports; each traps.
fn stubs(module: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let mut signatures = Vec::new();
    let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
    let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
    let mut count = 0;
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                for one in section.into_iter_err_on_gc_types() {
                    signatures.push(one?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    let TypeRef::Func(signature) = import.ty else { continue };
                    if import.module != WASI {
                        continue;
                    }
                    anyhow::ensure!(
                        NEVER_CALLED.contains(&import.name),
                        "its C code needs `{}` of WASI, but a policy has no files, clock, randomness or network",
                        import.name
                    );
                    let Some(signature) = signatures.get(signature as usize) else { continue };
                    types.ty().function(plain(signature.params())?, plain(signature.results())?);
                    functions.function(count);
                    exports.export(import.name, ExportKind::Func, count);
                    let mut body = Function::new([]);
                    body.instructions().unreachable().end();
                    code.function(&body);
                    count += 1;
                }
            }
            _ => {}
        }
    }
    let mut stubs = Module::new();
    stubs.section(&types).section(&functions).section(&exports).section(&code);
    Ok((count > 0).then(|| stubs.finish()))
}

fn plain(types: &[wasmparser::ValType]) -> anyhow::Result<Vec<ValType>> {
    let plain = |kind: &wasmparser::ValType| match kind {
        wasmparser::ValType::I32 => Ok(ValType::I32),
        wasmparser::ValType::I64 => Ok(ValType::I64),
        other => anyhow::bail!("an import of WASI has a parameter of type {other}"),
    };
    types.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    // M4
    #[test]
    fn a_folder_with_a_world_and_c_is_a_policy_in_c() {
        assert_eq!(CPolicy::of(folder(&[("policy.c", "")]).path()), None);
        let crate_with_c = folder(&[("policy.c", ""), ("world.wit", ""), ("Cargo.toml", "")]);
        assert_eq!(CPolicy::of(crate_with_c.path()), None);
        let wrong = folder(&[("policy.c", ""), ("world.wit", ""), ("wants.json", r#"{ "fule": 1 }"#)]);
        let error = CPolicy::of(wrong.path()).unwrap().build().unwrap_err().to_string();
        assert!(error.contains("wants.json") && error.contains("unknown field `fule`"), "{error}");
    }

    // M4
    #[test]
    fn bindings_have_the_short_names_of_the_contract() {
        let world = "package team:policy;\nworld guest {\n  import baton:policy/config@0.1.0;\n  \
            import baton:policy/facts-history@0.1.0;\n  export baton:policy/splitting@0.1.0;\n}\n";
        let policy = folder(&[("policy.c", ""), ("world.wit", world)]);
        let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
        std::fs::create_dir(policy.path().join("wit")).unwrap();
        for file in std::fs::read_dir(contract).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_some_and(|end| end == "wit") {
                std::fs::copy(&file, policy.path().join("wit").join(file.file_name().unwrap())).unwrap();
            }
        }
        let build = CPolicy::of(policy.path()).unwrap().bindings().unwrap();
        let header = std::fs::read_to_string(build.join("guest.h")).unwrap();
        for part in [
            "bool exports_splitting_decide(",
            "int64_t config_get_integer(",
            "void facts_history_past_sessions(",
            "questions_split_decision_t;",
        ] {
            assert!(header.contains(part), "{part}");
        }
        std::fs::write(
            policy.path().join("world.wit"),
            "package team:policy;\nworld guest { import a:b/c; }\n",
        )
        .unwrap();
        let error = CPolicy::of(policy.path()).unwrap().bindings().unwrap_err().to_string();
        assert!(error.contains("world.wit") && error.contains("a:b"), "{error}");
    }

    #[test]
    fn sources_are_every_c_file_but_those_of_tests_and_of_the_build() {
        let all = [
            "policy.c",
            "decisions/b.c",
            "decisions/a.c",
            "decisions/a.h",
            "tests/host.c",
            "build/guest.c",
            ".x/y.c",
        ];
        let policy = folder(&all.map(|path| (path, "")));
        let found = sources(policy.path(), Path::new("")).unwrap();
        assert_eq!(found, ["decisions/a.c", "decisions/b.c", "policy.c"].map(PathBuf::from));
    }

    #[test]
    fn only_what_is_never_called_gets_a_stub() {
        let importing = |name: &str| {
            let mut types = TypeSection::new();
            types.ty().function([ValType::I32, ValType::I64], [ValType::I32]);
            let mut imports = wasm_encoder::ImportSection::new();
            imports.import(WASI, name, wasm_encoder::EntityType::Function(0));
            let mut module = Module::new();
            module.section(&types).section(&imports);
            module.finish()
        };
        let stubs = stubs(&importing("fd_seek")).unwrap().unwrap();
        assert!(stubs.windows(7).any(|name| name == b"fd_seek"));
        let error = encode(&importing("clock_time_get")).unwrap_err().to_string();
        assert!(error.contains("needs `clock_time_get` of WASI"), "{error}");
    }
}
