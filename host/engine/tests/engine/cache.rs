//! The cache of compiled components: it survives restarts, and nothing in it is trusted that this host did not make.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use crate::hostile::guests::GuestBuilder;
use crate::hostile::questions;
use baton_engine::{CompiledPolicy, Engine, EngineConfig, Evaluation};

/// A host that starts, with this cache.
fn start(folder: &Path) -> Engine {
    let config = EngineConfig { cache_dir: Some(folder.to_owned()), ..EngineConfig::default() };
    Engine::new(config).expect("an engine")
}

fn load(folder: &Path) -> CompiledPolicy {
    load_with(&start(folder))
}

fn load_with(engine: &Engine) -> CompiledPolicy {
    engine.load("good", &GuestBuilder::good("there is room").build()).expect("it loads")
}

fn ask(policy: &CompiledPolicy) -> Evaluation {
    let evaluation =
        policy.configure(&BTreeMap::new()).expect("no settings").evaluate(&questions::compaction());
    assert!(evaluation.result.is_ok(), "{:?}", evaluation.result);
    evaluation
}

fn compiled(folder: &Path) -> PathBuf {
    kept(folder, "cwasm")
}

fn record(folder: &Path) -> PathBuf {
    kept(folder, "record")
}

fn kept(folder: &Path, end: &str) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .find(|path| path.extension().is_some_and(|extension| extension == end))
        .expect("a compiled component")
}

/// Puts another file in the place of this one, with the same mode.
fn replace(file: &Path, content: &[u8]) {
    fs::remove_file(file).unwrap();
    fs::write(file, content).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o400)).unwrap();
}

/// A folder with a policy in it, compiled.
fn filled() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("state").join("aot");
    assert!(!load(&folder).from_cache());
    (root, folder)
}

/// It is not taken from the cache now, still decides, and is there again for the next start.
fn compiled_anew_and_kept(folder: &Path) {
    let policy = load(folder);
    assert!(!policy.from_cache());
    ask(&policy);
    assert!(load(folder).from_cache(), "it was written anew");
}

#[test]
fn a_second_start_does_not_compile() {
    let (_root, folder) = filled();
    let engine = start(&folder);
    assert_eq!(engine.cache_problem(), None);
    let warm = load_with(&engine);
    assert!(warm.from_cache());
    let cold = load_with(&Engine::new(EngineConfig::default()).expect("an engine"));
    assert!(!cold.from_cache());
    assert_eq!(ask(&warm), ask(&cold));
}

#[test]
fn everything_in_it_is_private() {
    let (_root, folder) = filled();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()) & 0o077, 0, "this user's alone");
    }
}

#[test]
fn another_file_in_its_place_is_ignored() {
    let (_root, folder) = filled();
    for file in [compiled(&folder), record(&folder)] {
        let good = fs::read(&file).unwrap();
        for at in [0, 31, 32, good.len() / 2, good.len() - 1] {
            let mut changed = good.clone();
            changed[at] ^= 1;
            replace(&file, &changed);
            compiled_anew_and_kept(&folder);
        }
    }
}

/// The very file, of the same length, with its old time of modification.
#[test]
fn a_file_that_was_written_to_is_ignored() {
    let (_root, folder) = filled();
    for file in [compiled(&folder), record(&folder)] {
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        let mut changed = fs::read(&file).unwrap();
        changed[100] ^= 1;
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        fs::write(&file, &changed).unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        compiled_anew_and_kept(&folder);
    }
}

#[test]
fn a_truncated_file_is_ignored() {
    let (_root, folder) = filled();
    let file = compiled(&folder);
    let good = fs::read(&file).unwrap();
    for length in [0, 1, 32, good.len() - 1] {
        replace(&file, &good[..length]);
        compiled_anew_and_kept(&folder);
    }
}

/// A folder that was copied, key and all, to where this host never compiled anything.
#[test]
fn a_copied_folder_is_not_trusted() {
    let (root, folder) = filled();
    let copy = root.path().join("copy");
    fs::rename(&folder, &copy).unwrap();
    drop(start(&folder));
    for entry in fs::read_dir(&copy).unwrap() {
        let from = entry.unwrap().path();
        let to = folder.join(from.file_name().unwrap());
        fs::copy(&from, &to).unwrap();
    }
    compiled_anew_and_kept(&folder);
}

/// What another host compiled, of the same component with the same engine, under its right name: it has another key.
#[test]
fn a_foreign_file_is_ignored() {
    let (_root, folder) = filled();
    let (_other_root, other) = filled();
    for end in ["cwasm", "record"] {
        replace(&kept(&folder, end), &fs::read(kept(&other, end)).unwrap());
    }
    compiled_anew_and_kept(&folder);
}

/// A file of this very host under the name of another component.
#[test]
fn a_renamed_file_is_ignored() {
    let (_root, folder) = filled();
    let other = wat::parse_str("(component)").unwrap();
    for genuine in [compiled(&folder), record(&folder)] {
        let name = genuine.file_name().unwrap().to_str().unwrap();
        let engine_part = name.split_once('-').unwrap().1;
        fs::rename(&genuine, folder.join(format!("{}-{engine_part}", blake3::hash(&other).to_hex())))
            .unwrap();
    }
    let error = start(&folder).load("other", &other).err().expect("it decides nothing").to_string();
    assert!(error.contains("it exports: nothing"), "its own code was looked at: {error}");
}

#[test]
fn a_file_that_others_may_write_is_ignored() {
    let (_root, folder) = filled();
    fs::set_permissions(compiled(&folder), Permissions::from_mode(0o666)).unwrap();
    compiled_anew_and_kept(&folder);
}

#[test]
fn a_link_is_not_followed() {
    let (root, folder) = filled();
    let file = compiled(&folder);
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    compiled_anew_and_kept(&folder);
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
}

#[test]
fn an_unfit_key_is_replaced_and_what_it_signed_is_not_trusted() {
    let (_root, folder) = filled();
    let key = folder.join("key");
    fs::write(&key, "short").unwrap();
    compiled_anew_and_kept(&folder);
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    compiled_anew_and_kept(&folder);
    fs::remove_file(&key).unwrap();
    compiled_anew_and_kept(&folder);
}

#[test]
fn a_folder_that_others_may_use_is_not_used_and_that_is_said() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("aot");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let engine = start(&folder);
    let problem = engine.cache_problem().expect("it says why").to_owned();
    assert!(problem.contains(folder.to_str().unwrap()) && problem.contains("0700"), "{problem}");
    ask(&load_with(&engine));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_made_is_no_error() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let engine = start(&file.join("aot"));
    assert!(engine.cache_problem().is_some());
    ask(&load_with(&engine));
}

/// Components of strangers do not fill the disk: what was compiled first goes first.
#[test]
fn no_more_is_kept_than_some_interpreters_take() {
    let (_root, folder) = filled();
    let (large, part) = (folder.join("large.cwasm"), folder.join("large.record"));
    let file = fs::File::create(&large).unwrap();
    file.set_len(1 << 30).unwrap(); // It has a size, and takes no room.
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    fs::write(&part, "").unwrap();
    start(&folder).load("other", &GuestBuilder::good("another").build()).expect("it loads");
    assert!(!large.exists() && !part.exists());
    assert!(load(&folder).from_cache(), "what is newer stays");
}
