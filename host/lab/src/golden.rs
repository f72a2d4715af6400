//! Golden decisions: a question in a hand-written file, with the decision of a policy on it. The SDK writes and checks them
//! natively (`baton_sdk::golden`); here they are put to a component, in whatever language it was written. A file without a
//! decision is a question alone. An unknown field in a file is an error, and no file is opened here.

use std::collections::BTreeMap;
use std::sync::Arc;

use baton_core::decision::{Decision, Fault};
use baton_core::observation::{PolicyQuery, PolicyRequest, QueryFacts, TextId};
use baton_core::workflow::GivenSetting;
use baton_core::{Digest, TextBlob};
use baton_engine::{ArtifactSource, CompiledPolicy};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::json_error_message;

/// The version of the format that is read and written.
pub const SCHEMA: u32 = 1;

/// What such a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct GoldenCase {
    /// What is asked.
    pub question: PolicyRequest,
    /// Settings that differ from the policy's defaults.
    pub settings: BTreeMap<String, GivenSetting>,
    /// What the policy may read, by name.
    pub artifacts: BTreeMap<String, String>,
    /// What was decided, `None` within for an abstention; absent if no decision was recorded yet.
    pub decision: Option<Option<Decision>>,
    /// The file's JSON, unchanged.
    document: Value,
}

/// How an answer compares with the golden one.
#[derive(Clone, Debug, PartialEq)]
pub enum GoldenResult {
    /// It is the same, to the letter.
    Matches,
    /// It is another one, or the first.
    Differs {
        /// Every field in which the two differ, in words; empty if the file has no decision.
        places: Vec<String>,
        /// The answer; none if the policy abstains.
        decision: Option<Decision>,
    },
    /// The policy failed to answer.
    Fault(Fault),
}

/// The file as a whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenFile {
    #[serde(default)]
    schema: Option<u32>,
    ask: Value,
    #[serde(default)]
    texts: Vec<Value>,
    #[serde(default)]
    settings: BTreeMap<String, Value>,
    #[serde(default)]
    artifacts: BTreeMap<String, String>,
    #[serde(default)]
    facts: QueryFacts,
    #[serde(default)]
    decision: Option<Value>,
}

impl GoldenCase {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A message that begins with the location, to be appended to the file's name: ":3:5: …" or ": ask.observation: …".
    pub fn parse(text: &str) -> Result<Self, String> {
        let in_line = |error: serde_json::Error| {
            format!(":{}:{}: {}", error.line(), error.column(), json_error_message(&error))
        };
        let written: GoldenFile = serde_json::from_str(text).map_err(in_line)?;
        let document: Value = serde_json::from_str(text).map_err(in_line)?;
        if let Some(other) = written.schema.filter(|schema| *schema != SCHEMA) {
            return Err(format!(": schema: {other} is not known, this baton reads {SCHEMA}"));
        }
        let setting = |(key, value): (String, Value)| match serde_json::from_value(value) {
            Ok(value) => Ok((key, value)),
            Err(_) => Err(format!(": settings.{key}: is no value of a setting")),
        };
        let question = PolicyRequest {
            query: ask(written.ask)?,
            texts: written.texts.into_iter().enumerate().map(plain_text).collect::<Result<_, _>>()?,
            facts: written.facts,
        };
        check_text_references(&question)?;
        Ok(Self {
            question,
            settings: written.settings.into_iter().map(setting).collect::<Result<_, _>>()?,
            artifacts: written.artifacts,
            decision: written.decision.map(decision).transpose()?,
            document,
        })
    }

    /// Puts the question to a policy that was granted [`GoldenCase::artifacts`].
    ///
    /// # Errors
    /// That the policy refuses the settings, by key.
    pub fn replay(&self, policy: &CompiledPolicy) -> Result<GoldenResult, String> {
        let configured = policy.configure(&self.settings).map_err(|error| error.to_string())?;
        let configured = configured.over_built_in().map_err(|error| error.to_string())?;
        Ok(match configured.evaluate(&self.question).result {
            Err(fault) => GoldenResult::Fault(fault),
            Ok(decision) if self.decision.as_ref() == Some(&decision) => GoldenResult::Matches,
            Ok(decision) => {
                let places = match &self.decision {
                    Some(golden) => {
                        differences(&written(golden.as_ref()), &written(decision.as_ref()), "decision")
                    }
                    None => Vec::new(),
                };
                GoldenResult::Differs { places, decision }
            }
        })
    }

    /// What the policy is granted for it.
    pub fn artifact_source(&self) -> Arc<dyn ArtifactSource> {
        let held =
            |(name, body): (&String, &String)| (name.clone(), Digest::of(body), Arc::from(body.as_bytes()));
        Arc::new(GoldenArtifacts(self.artifacts.iter().map(held).collect()))
    }

    /// The text of the file with this decision; the question stays as it was written.
    pub fn with_decision(&self, decision: Option<&Decision>) -> String {
        let mut document = self.document.clone();
        document["schema"] = json!(SCHEMA);
        document["decision"] = written(decision);
        format!("{:#}\n", sorted(document))
    }
}

/// Artifacts of a file.
struct GoldenArtifacts(Vec<(String, Digest, Arc<[u8]>)>);

impl ArtifactSource for GoldenArtifacts {
    fn list(&self) -> Vec<(String, Digest)> {
        self.0.iter().map(|(name, digest, _)| (name.clone(), digest.clone())).collect()
    }

    fn read(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.0.iter().find(|(_, held, _)| held == digest).map(|(_, _, body)| Arc::clone(body))
    }
}

fn ask(ask: Value) -> Result<PolicyQuery, String> {
    let Value::Object(mut fields) = ask else {
        return Err(": ask: expected an object with function and observation".to_owned());
    };
    let function = fields.remove("function").ok_or(": ask.function: is missing")?;
    let observation = fields.remove("observation").ok_or(": ask.observation: is missing")?;
    if let Some(unknown) = fields.keys().next() {
        return Err(format!(": ask.{unknown}: is unknown; a question has function and observation"));
    }
    // The function comes first: only then is the observation deserialised directly, so that its unknown fields are found.
    let ask = json!({ "function": function, "observation": observation });
    let (ask, unknown): (PolicyQuery, _) = strict(ask, "ask")?;
    match unknown.as_slice() {
        [] => Ok(ask),
        [only] => Err(format!(": ask.{only}: is unknown to {}", ask.function())),
        many => Err(format!(": ask.{}: are unknown to {}", many.join(", ask."), ask.function())),
    }
}

/// The function name that stands for an abstention in a file.
const ABSTAINED: &str = "abstained";

fn decision(decision: Value) -> Result<Option<Decision>, String> {
    if decision == written(None) {
        return Ok(None);
    }
    strict(decision, "decision").map(|(read, _)| Some(read))
}

/// A decision as JSON of a file; none is written as an abstention.
pub fn written(decision: Option<&Decision>) -> Value {
    decision.map_or_else(|| json!({ "function": ABSTAINED }), |decision| json!(decision))
}

/// Reads a value, and collects the unknown fields.
fn strict<T: DeserializeOwned>(value: Value, at: &str) -> Result<(T, Vec<String>), String> {
    let mut unknown = Vec::new();
    let mut ignored = |path: serde_ignored::Path<'_>| unknown.push(plain(&path.to_string()));
    let fields = serde_ignored::Deserializer::new(value, &mut ignored);
    let read = serde_path_to_error::deserialize(fields)
        .map_err(|error| format!(": {at}.{}: {}", plain(&error.path().to_string()), error.inner()))?;
    Ok((read, unknown))
}

/// A path without the steps that only the types have.
fn plain(path: &str) -> String {
    path.split('.').filter(|step| *step != "?").collect::<Vec<_>>().join(".")
}

fn plain_text((place, text): (usize, Value)) -> Result<TextBlob, String> {
    match text {
        Value::String(body) => Ok(TextBlob::new(body)),
        Value::Object(fields) if fields.contains_key("digest") => Err(format!(
            ": texts.{place}: is a reference into a journal, which has no text here; write the text itself, in quotes"
        )),
        _ => Err(format!(": texts.{place}: expected a text in quotes")),
    }
}

/// A policy that reads a text which is not there fails, and it would not be its fault.
fn check_text_references(question: &PolicyRequest) -> Result<(), String> {
    let named: Vec<(&str, TextId)> = match &question.query {
        PolicyQuery::Exhaustion(seen) => vec![("window", seen.window)],
        PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen) => {
            let quoted = [("last_output", seen.last_output), ("findings", seen.findings)];
            quoted.into_iter().filter_map(|(field, text)| Some((field, text?))).collect()
        }
        PolicyQuery::Completion(seen) => vec![("session.window", seen.session.window)],
        PolicyQuery::Recovery(seen) => vec![("session.window", seen.session.window)],
        PolicyQuery::Review(seen) => vec![("document", seen.document)],
        PolicyQuery::Compaction(_)
        | PolicyQuery::Offloading(_)
        | PolicyQuery::Splitting(_)
        | PolicyQuery::Budgeting(_) => Vec::new(),
    };
    let count = question.texts.len();
    match named.into_iter().find(|(_, id)| id.0 as usize >= count) {
        None => Ok(()),
        Some((field, id)) => Err(format!(
            ": ask.observation.{field}: names text {}, counted from 0, and texts has {count}",
            id.0
        )),
    }
}

/// What two documents do not share, each with its place.
fn differences(golden: &Value, decided: &Value, at: &str) -> Vec<String> {
    match (golden, decided) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
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

/// Sorts keys alphabetically, as the SDK writes them, independent of the order of the map.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().collect();
            Value::Object(fields.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        plain => plain,
    }
}
