//! Writes the secret rules of the packages that `rules/Cargo.toml` pins into `$OUT_DIR/secret-rules.json`, without the parts
//! that only a scanner of files can use, and the vectors of the scanner's acceptance test into `$OUT_DIR/secret-vectors.json`.
//! Compiles nothing of those packages, and changes no expression.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Value, json};

type BuildResult<T> = Result<T, Box<dyn Error>>;

/// Carries Gitleaks' rules in one file.
const GITLEAKS: (&str, &str) = ("keyspoor", "src/builtin_rules.json");
/// Keyhog's rules, a file for each kind.
const KEYHOG: (&str, &str) = ("keyhog-core", "detectors");
/// Keyhog's words for placeholders, for all of its rules.
const PLACEHOLDERS: (&str, &str) = ("keyhog-scanner", "rules/placeholder_words.toml");
/// Keyhog's own test vectors, a file for each kind.
const VECTORS: (&str, &str) = ("keyhog-scanner", "tests/contracts");

/// A word that a rule is looked up by has at least this many bytes: shorter ones are in every text.
const WORD_BYTES: usize = 3;
/// A rule asks for at most this number of words at once: more would hardly spare another run of its expression.
const WORDS_AT_ONCE: usize = 4;
/// Shortest match of a Keyhog rule, in bytes, that counts as a secret: shorter ones are names, numbers and switches.
const SECRET_BYTES: usize = 8;

fn main() -> BuildResult<()> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let manifest = here.join("rules/Cargo.toml");
    for changed in ["build.rs", "rules/Cargo.toml", "rules/Cargo.lock"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    let metadata = metadata(&manifest, true).or_else(|_| metadata(&manifest, false))?;
    let gitleaks = place(&metadata, GITLEAKS)?;
    let text = std::fs::read(&gitleaks).map_err(|e| format!("cannot read {}: {e}", gitleaks.display()))?;
    let mut rules = SecretRuleSet::default();
    rules.add_gitleaks(&serde_json::from_slice(&text)?)?;
    let placeholders = rules.placeholders(&toml_file(&place(&metadata, PLACEHOLDERS)?)?);
    for (_, file) in toml_files(&place(&metadata, KEYHOG)?)? {
        rules.add_keyhog(&file["detector"], placeholders)?;
    }
    write("secret-rules.json", &json!({ "rules": rules.rules, "lists": rules.lists }))?;
    let vectors = toml_files(&place(&metadata, VECTORS)?)?.into_iter().map(|(kind, file)| {
        json!({
            "kind": kind,
            "service": file["service"],
            "severity": file["severity"],
            "positive": file["positive"],
            "negative": file["negative"],
        })
    });
    let vectors: Vec<Value> = vectors.collect();
    write("secret-vectors.json", &Value::from(vectors))
}

fn write(name: &str, value: &Value) -> BuildResult<()> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join(name);
    Ok(std::fs::write(out, serde_json::to_vec(value)?)?)
}

/// The path of a file or folder of a package in cargo's folder.
fn place(metadata: &Value, (package, inside): (&str, &str)) -> BuildResult<PathBuf> {
    metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|known| known["name"] == package))
        .and_then(|known| Path::new(known["manifest_path"].as_str()?).parent())
        .map(|root| root.join(inside))
        .ok_or_else(|| format!("cargo knows no {package} for rules/Cargo.toml").into())
}

/// Cargo's metadata of the pinned packages. They are fetched only if they are not here yet.
fn metadata(manifest: &Path, offline: bool) -> BuildResult<Value> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform"])
        .arg(std::env::var("HOST")?)
        .args(offline.then_some("--offline"))
        .arg("--manifest-path")
        .arg(manifest)
        // Clippy and similar wrappers replace rustc only when workspace code is compiled.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .map_err(|e| format!("cannot run cargo to find the secret rules: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let advice = format!("`cargo fetch --manifest-path {}` fetches them", manifest.display());
        return Err(format!("the secret rules are not here, and were not fetched: {said}\n{advice}").into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The TOML files of a folder by their names, in order.
fn toml_files(folder: &Path) -> BuildResult<Vec<(String, Value)>> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.map(|entry| entry.path())) {
        let path = path?;
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push((
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                toml_file(&path)?,
            ));
        }
    }
    files.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

fn toml_file(path: &Path) -> BuildResult<Value> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    Ok(toml::from_str(&text).map_err(|e| format!("{} is no TOML: {e}", path.display()))?)
}

/// The rules of all packages in one form, with their allow lists once each.
#[derive(Default)]
struct SecretRuleSet {
    rules: Vec<Value>,
    lists: Vec<Value>,
    /// The lists that every rule of Gitleaks has: what is a placeholder, for each of them.
    common: Vec<usize>,
}

impl SecretRuleSet {
    /// All of Gitleaks' rules, except those that need the path of a file: the texts that Baton scans have none.
    fn add_gitleaks(&mut self, file: &Value) -> BuildResult<()> {
        let mut lists_of = Vec::new();
        for rule in array(file, "rules")? {
            if !rule["path"].is_null() {
                continue;
            }
            let mut allow = Vec::new();
            for list in array(rule, "allowlist")? {
                let (regexes, words) = (array(list, "regexes")?, array(list, "stopwords")?);
                let needs_path = list["condition"] == "and" && !array(list, "paths")?.is_empty();
                if needs_path || (regexes.is_empty() && words.is_empty()) {
                    continue;
                }
                allow.push(self.list(json!({
                    "all": list["condition"] == "and",
                    "target": list["target"],
                    "regexes": regexes,
                    "words": words,
                })));
            }
            self.rules.push(json!({
                "id": rule["id"],
                "pattern": rule["pattern"],
                "group": rule["secret_group"],
                "keywords": [rule["keywords"]],
                "min_len": 1,
                "entropy": [{ "floor": rule["min_entropy"] }],
                "allow": allow,
            }));
            lists_of.push(allow);
        }
        let Some((first, others)) = lists_of.split_first() else {
            return Err("the file with Gitleaks' rules has none".into());
        };
        let everywhere = |list: &&usize| others.iter().all(|lists| lists.contains(list));
        self.common = first.iter().filter(everywhere).copied().collect();
        Ok(())
    }

    /// Keyhog's placeholders as a list of ours.
    fn placeholders(&mut self, file: &Value) -> usize {
        let markers = [&file["doc_markers"]["marker_substrings"], &file["entropy_markers"]["ci_substrings"]];
        let words: Vec<_> = markers.iter().filter_map(|words| words.as_array()).flatten().collect();
        let whole = file["entropy_markers"]["exact_values"].as_array().into_iter().flatten();
        let whole: Vec<_> = whole.filter_map(Value::as_str).map(regex_syntax::escape).collect();
        let regexes = [format!("(?i)^(?:{})$", whole.join("|"))];
        self.list(json!({ "all": false, "target": "secret", "regexes": regexes, "words": words }))
    }

    /// A kind that Keyhog knows, unless its authors say that it is not secret ("info" and "low" are names and public
    /// identifiers) or it is one of the generic ones, which rely on a model that this scanner does not have.
    fn add_keyhog(&mut self, detector: &Value, placeholders: usize) -> BuildResult<()> {
        let harmless = detector["severity"] == "info" || detector["severity"] == "low";
        if harmless || !detector["kind"].is_null() {
            return Ok(());
        }
        let mut allow = self.common.clone();
        if let Some(words) = detector["allowlist_values"].as_array() {
            allow.push(self.list(json!({ "all": false, "target": "secret", "regexes": [], "words": words })));
        }
        for pattern in detector["patterns"].as_array().into_iter().flatten() {
            let regex =
                pattern["regex"].as_str().ok_or_else(|| format!("{} has no regex", detector["id"]))?;
            let parse = |unicode| {
                let mut builder = ParserBuilder::new();
                builder.unicode(unicode).utf8(false).build().parse(regex).map_err(|e| e.to_string())
            };
            let mut keywords = required_words(&parse(false).or_else(|_| parse(true))?);
            keywords.retain(|words| shortest(words) >= WORD_BYTES);
            keywords.sort_by_key(|words| (std::cmp::Reverse(shortest(words)), words.len()));
            keywords.truncate(WORDS_AT_ONCE);
            // A key without a distinctive form is searched only in texts that name its service; no expression runs on every
            // text.
            if keywords.is_empty() {
                let names = array(detector, "keywords")?.iter().filter_map(Value::as_str);
                keywords = vec![names.map(str::to_ascii_lowercase).collect()];
                if shortest(&keywords[0]) < WORD_BYTES {
                    continue;
                }
            }
            // If the secret is a URL, its host may well be example.com.
            let lists = allow.iter().copied().chain((!regex.contains("://")).then_some(placeholders));
            self.rules.push(json!({
                "id": detector["id"],
                "pattern": regex,
                "group": pattern["group"].as_u64().unwrap_or_default(),
                "keywords": keywords,
                "min_len": SECRET_BYTES,
                "entropy": detector["entropy_floor"].as_array().cloned().unwrap_or_default(),
                "allow": lists.collect::<Vec<_>>(),
            }));
        }
        Ok(())
    }

    fn list(&mut self, list: Value) -> usize {
        self.lists.iter().position(|known| *known == list).unwrap_or_else(|| {
            self.lists.push(list);
            self.lists.len() - 1
        })
    }
}

fn array<'a>(value: &'a Value, key: &str) -> BuildResult<&'a Vec<Value>> {
    value[key].as_array().ok_or_else(|| format!("a rule has no list of {key}: {value}").into())
}

/// Sets of words: each match of an expression has at least one word of each set, in upper or lower case.
fn required_words(hir: &Hir) -> Vec<BTreeSet<String>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Literal(_) | HirKind::Class(_) => {
            exact(hir).map(|word| BTreeSet::from([word])).into_iter().collect()
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
        HirKind::Repetition(repetition) => required_words(&repetition.sub),
        HirKind::Capture(capture) => required_words(&capture.sub),
        HirKind::Alternation(ways) => {
            let longest = |way| required_words(way).into_iter().max_by_key(shortest);
            let ways: Option<Vec<_>> = ways.iter().map(longest).collect();
            ways.map(|ways| ways.into_iter().flatten().collect()).into_iter().collect()
        }
        HirKind::Concat(parts) => {
            let mut sets = Vec::new();
            let mut run = String::new();
            for part in parts {
                if let Some(text) = exact(part) {
                    run.push_str(&text);
                    continue;
                }
                sets.push(BTreeSet::from([std::mem::take(&mut run)]));
                sets.extend(required_words(part));
            }
            sets.push(BTreeSet::from([run]));
            sets.retain(|words| shortest(words) > 0);
            sets
        }
    }
}

/// The one text that a part matches, in lower case.
fn exact(hir: &Hir) -> Option<String> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(std::str::from_utf8(&literal.0).ok()?.to_ascii_lowercase()),
        HirKind::Class(Class::Bytes(class)) => {
            let mut letters = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let letter = letters.next()?.to_ascii_lowercase();
            let same = letter.is_ascii() && letters.all(|other| other.to_ascii_lowercase() == letter);
            same.then(|| char::from(letter).to_string())
        }
        HirKind::Capture(capture) => exact(&capture.sub),
        _ => None,
    }
}

fn shortest(words: &BTreeSet<String>) -> usize {
    words.iter().map(String::len).min().unwrap_or_default()
}
