//! Golden decisions: files that hold a question and what the policy decides on it, so that a change of judgment is a diff that
//! somebody reads. A file is a question as `baton policy try --on` takes it, with the decision beside it; the same file is
//! replayed by `baton policy check --golden` against the component, in whatever language that was written.
//!
//! ```json
//! {
//!   "schema": 1,
//!   "settings": { "objectives-at-most": 2 },
//!   "ask": { "function": "review", "observation": { "document": 0, "…": "…" } },
//!   "texts": ["# Handoff\n"],
//!   "artifacts": { "reports/lint": "clean" },
//!   "decision": { "function": "review", "answer": { "score": 100, "…": "…" } }
//! }
//! ```
//!
//! `settings` are those that differ from the defaults; `settings`, `texts` and `artifacts` may be left out. A file without a
//! decision gets one when the tests run with `BATON_UPDATE_GOLDEN=1`; files whose decision changed are then written anew.
//!
//! ```no_run
//! # use baton_sdk::prelude::*;
//! # struct MySplit;
//! # impl Settings for MySplit { fn schema() -> Vec<settings::Setting> { Vec::new() } }
//! # export_policy!(MySplit: settings);
//! // In tests/golden.rs, inside a #[test]:
//! baton_sdk::golden::check::<MySplit>("golden");
//! ```

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::json::{Fields, Json, Wrong};
use crate::{Answer, Case, Facts, Policy};

/// The version of the format that this SDK reads and writes.
///
/// ```
/// assert_eq!(baton_sdk::golden::SCHEMA, 1);
/// ```
pub const SCHEMA: u32 = 1;

/// Set to anything but nothing and `0`, it makes the tests write what they would have complained of.
///
/// ```
/// assert_eq!(baton_sdk::golden::UPDATE, "BATON_UPDATE_GOLDEN");
/// ```
pub const UPDATE: &str = "BATON_UPDATE_GOLDEN";

/// Puts every question of the folder's `*.json` to the policy, and compares. The folder is the test's, so a path relative to
/// the crate is enough.
///
/// # Panics
/// With every file whose decision is another one, cannot be read, or has none yet; with [`UPDATE`] set they are written
/// instead, and only what cannot be read is told. A folder without any golden file is a mistake.
///
/// ```
/// # use baton_sdk::prelude::*;
/// # struct Calm;
/// # impl Compaction for Calm {
/// #     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
/// #         Some(compaction::Decision::new(compaction::Action::Keep, "there is always room"))
/// #     }
/// # }
/// # export_policy!(Calm: compaction);
/// use baton_sdk::{Ask, Case, golden, sample};
///
/// # let folder = std::env::temp_dir().join(format!("baton-golden-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let case = Case::new(Ask::Compaction(sample::compaction_observation()));
/// std::fs::write(folder.join("calm.json"), golden::to_text(&case, Some(&case.answer::<Calm>()))).unwrap();
/// golden::check::<Calm>(&folder);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// ```
#[track_caller]
pub fn check<P: Policy>(folder: impl AsRef<Path>) {
    let folder = folder.as_ref();
    let files = files(folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    assert!(!files.is_empty(), "there is no golden file (*.json) in {}", folder.display());
    let complaints: Vec<String> =
        files.iter().filter_map(|file| replay::<P>(file, updates()).err()).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Holds one question, asked from code, to its golden file; the file is made where the tests update.
///
/// # Panics
/// Where the file holds another question or another decision, or is not there.
///
/// ```no_run
/// # use baton_sdk::prelude::*;
/// # struct MySplit;
/// # impl Settings for MySplit { fn schema() -> Vec<settings::Setting> { Vec::new() } }
/// # export_policy!(MySplit: settings);
/// use baton_sdk::{Ask, Case, golden, sample};
///
/// let case = Case::new(Ask::Split(sample::splitting_observation()));
/// golden::check_case::<MySplit>("golden/splitting-two-objectives.json", &case);
/// ```
#[track_caller]
pub fn check_case<P: Policy>(file: impl AsRef<Path>, case: &Case) {
    if let Err(complaint) = held::<P>(file.as_ref(), case, updates()) {
        panic!("{complaint}");
    }
}

/// The text of a golden file, in the one form in which it is written.
///
/// ```
/// use baton_sdk::{Ask, Case, golden, sample};
///
/// let case = Case::new(Ask::Review(sample::review_observation(0))).with_text("# Handoff");
/// let text = golden::to_text(&case, None);
/// assert!(text.contains("\"schema\": 1") && text.contains("# Handoff"));
/// assert_eq!(golden::from_text(&text), Ok((case, None)));
/// ```
pub fn to_text(case: &Case, decision: Option<&Answer>) -> String {
    let mut fields = Map::new();
    fields.insert("schema".to_owned(), json!(SCHEMA));
    fields.insert("ask".to_owned(), case.ask.write());
    if !case.texts.is_empty() {
        fields.insert("texts".to_owned(), case.texts.write());
    }
    if !case.settings.is_empty() {
        fields.insert("settings".to_owned(), case.settings.write());
    }
    if !case.artifacts.is_empty() {
        fields.insert("artifacts".to_owned(), case.artifacts.write());
    }
    if case.facts != Facts::default() {
        fields.insert("facts".to_owned(), write_facts(&case.facts));
    }
    if let Some(decision) = decision {
        fields.insert("decision".to_owned(), decision.write());
    }
    pretty(Value::Object(fields))
}

/// What a golden file says: the question, and the decision where it has one.
///
/// # Errors
/// What is wrong, and where in the document.
///
/// ```
/// use baton_sdk::golden;
///
/// let wrong = golden::from_text(r#"{ "schema": 1, "ask": { "function": "divide" } }"#).unwrap_err();
/// assert!(wrong.starts_with("ask.function: `divide` is none of assess, "), "{wrong}");
/// ```
pub fn from_text(text: &str) -> Result<(Case, Option<Answer>), String> {
    document(text).and_then(|document| read(document).map_err(|wrong| wrong.to_string()))
}

fn document(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn read(document: Value) -> Result<(Case, Option<Answer>), Wrong> {
    let mut fields = Fields::of(document)?;
    let schema = fields.take::<Option<u32>>("schema")?;
    if let Some(other) = schema.filter(|schema| *schema != SCHEMA) {
        return Err(Wrong::new(format!("{other} is not known, this SDK reads {SCHEMA}")).inside("schema"));
    }
    let facts = match fields.take::<Option<Value>>("facts")? {
        Some(facts) => read_facts(facts).map_err(|wrong| wrong.inside("facts"))?,
        None => Facts::default(),
    };
    let case = Case {
        ask: fields.take("ask")?,
        texts: fields.take_or_default("texts")?,
        settings: fields.take_or_default("settings")?,
        artifacts: fields.take_or_default("artifacts")?,
        facts,
    };
    let decision = fields.take("decision")?;
    fields.finish().map(|()| (case, decision))
}

fn write_facts(facts: &Facts) -> Value {
    let lists = [
        ("past_sessions", facts.past_sessions.write()),
        ("turns_taken", facts.turns_taken.write()),
        ("past_compactions", facts.past_compactions.write()),
        ("past_waits", facts.past_waits.write()),
        ("past_handoffs", facts.past_handoffs.write()),
    ];
    let known = lists.into_iter().filter(|(_, list)| list.as_array().is_some_and(|list| !list.is_empty()));
    Value::Object(known.map(|(name, list)| (name.to_owned(), list)).collect())
}

fn read_facts(facts: Value) -> Result<Facts, Wrong> {
    let mut fields = Fields::of(facts)?;
    let facts = Facts {
        past_sessions: fields.take_or_default("past_sessions")?,
        turns_taken: fields.take_or_default("turns_taken")?,
        past_compactions: fields.take_or_default("past_compactions")?,
        past_waits: fields.take_or_default("past_waits")?,
        past_handoffs: fields.take_or_default("past_handoffs")?,
    };
    fields.finish().map(|()| facts)
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn updates() -> bool {
    std::env::var_os(UPDATE).is_some_and(|set| !set.is_empty() && set != "0")
}

/// One file, with the question that it holds.
fn replay<P: Policy>(file: &Path, update: bool) -> Result<(), String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let mut document = document(&text).map_err(|error| format!("{name}: {error}"))?;
    let (case, golden) = read(document.clone()).map_err(|wrong| format!("{name}: {wrong}"))?;
    let decided = case.try_answer::<P>().map_err(|problem| {
        format!("{name}: {problem}\nEdit the question in that file, or delete the file; then {UPDATE}=1 cargo test")
    })?;
    if is_same(golden.as_ref(), &decided) {
        return Ok(());
    }
    if !update {
        return Err(complaint(file, golden.as_ref(), &decided));
    }
    // The question stays as it was written: it may say more than this SDK knows.
    document["schema"] = json!(SCHEMA);
    document["decision"] = decided.write();
    write(file, &pretty(document))
}

/// One file, with the question of a test.
fn held<P: Policy>(file: &Path, case: &Case, update: bool) -> Result<(), String> {
    let name = file.display();
    let decided =
        case.try_answer::<P>().map_err(|problem| format!("{name}, the question of this test: {problem}"))?;
    let text = to_text(case, Some(&decided));
    // What is put to the component is what stands in the file, so it has to be the same question.
    match from_text(&text) {
        Ok((again, _)) if again == *case => {}
        Ok(_) => return Err(format!("{name}: this question does not come back from a file as it was")),
        Err(wrong) => return Err(format!("{name}: this question cannot stand in a file: {wrong}")),
    }
    let (there, golden) = match std::fs::read_to_string(file) {
        Ok(there) => {
            let (case, golden) = from_text(&there).map_err(|wrong| format!("{name}: {wrong}"))?;
            (Some(case), golden)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (None, None),
        Err(error) => return Err(format!("cannot read {name}: {error}")),
    };
    if there.as_ref() == Some(case) && is_same(golden.as_ref(), &decided) {
        return Ok(());
    }
    match (update, there) {
        (true, _) => write(file, &text),
        (false, Some(there)) if there != *case => Err(format!(
            "{name} holds another question than this test puts; {UPDATE}=1 cargo test writes it anew"
        )),
        (false, _) => Err(complaint(file, golden.as_ref(), &decided)),
    }
}

/// Of a prompt or document a file keeps what the host writes, not the sections.
fn is_same(golden: Option<&Answer>, decided: &Answer) -> bool {
    golden.is_some_and(|golden| golden.write() == decided.write())
}

fn complaint(file: &Path, golden: Option<&Answer>, decided: &Answer) -> String {
    let name = file.display();
    let what = match golden {
        None => format!("has no decision yet; the policy decides\n{}", pretty(decided.write()).trim_end()),
        Some(golden) => differences(&golden.write(), &decided.write(), "decision").join("\n"),
    };
    format!("{name}: {what}\nWhere that is meant, {UPDATE}=1 cargo test writes it")
}

/// What two documents do not share, each with its place.
fn differences(golden: &Value, decided: &Value, at: &str) -> Vec<String> {
    match (golden, decided) {
        (Value::Object(one), Value::Object(other)) => {
            let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
            keys.sort();
            keys.dedup();
            let value = |map: &Map<String, Value>, key: &String| map.get(key).cloned().unwrap_or_default();
            let each = |key| differences(&value(one, key), &value(other, key), &format!("{at}.{key}"));
            keys.into_iter().flat_map(each).collect()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let each = |(place, (one, other)): (usize, _)| differences(one, other, &format!("{at}.{place}"));
            one.iter().zip(other).enumerate().flat_map(each).collect()
        }
        (one, other) if one == other => Vec::new(),
        (one, other) => vec![format!("{at} was {one}, and is {other}")],
    }
}

/// Keys in the order of the alphabet, whatever the map keeps them in, so that a file is written the same everywhere.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|one, other| one.0.cmp(&other.0));
            Value::Object(fields.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        plain => plain,
    }
}

fn pretty(value: Value) -> String {
    format!("{:#}\n", sorted(value))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests;
