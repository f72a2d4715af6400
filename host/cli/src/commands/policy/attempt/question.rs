//! One question in a file, as a person writes it: as the journal keeps it, with its texts written out. Nothing in it is
//! passed over in silence.

use std::io::Read as _;
use std::path::Path;

use baton_runtime::core::Text;
use baton_runtime::core::observation::{Ask, Question, TextId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::Usage;

/// No question is longer: the engine takes 8 MiB of texts at most, and what is around them is lean.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The file as a whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ask: Value,
    #[serde(default)]
    texts: Vec<Value>,
}

/// Reads a file, `-` for standard input.
pub(super) fn read(file: &Path) -> Result<Question, Usage> {
    let name = file.display();
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text),
        false => {
            std::fs::File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
        }
    };
    read.map_err(|error| Usage(format!("cannot read {name}: {error}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Usage(format!(
            "{name} is longer than {FILE_BYTES_MAX} bytes; a question is far shorter"
        )));
    }
    parse(&text).map_err(|why| {
        Usage(format!("{name}{why}\n`baton policy try --sample split` prints a question to start from"))
    })
}

/// What is wrong begins with where it is: ":3:5: …" or ": ask.observation.phase: …".
fn parse(text: &str) -> Result<Question, String> {
    let Written { ask, texts } = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or_default();
        format!(":{}:{}: {what}", error.line(), error.column())
    })?;
    let question = Question {
        ask: parse_ask(ask)?,
        texts: texts.into_iter().enumerate().map(parse_text).collect::<Result<_, _>>()?,
    };
    names_its_texts(&question)?;
    Ok(question)
}

fn parse_ask(ask: Value) -> Result<Ask, String> {
    let Value::Object(mut fields) = ask else {
        return Err(": ask: expected an object with function and observation".to_owned());
    };
    let function = fields.remove("function").ok_or(": ask.function: is missing")?;
    let observation = fields.remove("observation").ok_or(": ask.observation: is missing")?;
    if let Some(unknown) = fields.keys().next() {
        return Err(format!(": ask.{unknown}: is unknown; a question has function and observation"));
    }
    // The function comes first, since only then is the observation read as it comes, and what is unknown in it seen.
    let ask = json!({ "function": function, "observation": observation });
    let mut unknown = Vec::new();
    let mut ignored = |path: serde_ignored::Path<'_>| unknown.push(plain(&path.to_string()));
    let fields = serde_ignored::Deserializer::new(ask, &mut ignored);
    let ask: Ask = serde_path_to_error::deserialize(fields)
        .map_err(|error| format!(": ask.{}: {}", plain(&error.path().to_string()), error.inner()))?;
    match unknown.as_slice() {
        [] => Ok(ask),
        [only] => Err(format!(": ask.{only}: is unknown to {}", ask.function())),
        many => Err(format!(": ask.{}: are unknown to {}", many.join(", ask."), ask.function())),
    }
}

/// A path without the steps that only the types have.
fn plain(path: &str) -> String {
    path.split('.').filter(|step| *step != "?").collect::<Vec<_>>().join(".")
}

fn parse_text((place, text): (usize, Value)) -> Result<Text, String> {
    match text {
        Value::String(body) => Ok(Text::new(body)),
        Value::Object(fields) if fields.contains_key("digest") => Err(format!(
            ": texts.{place}: is a reference into a journal, which has no text here; write the text itself, in quotes"
        )),
        _ => Err(format!(": texts.{place}: expected a text in quotes")),
    }
}

/// A policy that reads a text which is not there fails, and it would not be its fault.
fn names_its_texts(question: &Question) -> Result<(), String> {
    let named: Vec<(&str, TextId)> = match &question.ask {
        Ask::Assess(seen) => vec![("window", seen.window)],
        Ask::Brief(seen) | Ask::Compose(seen) => {
            vec![("last_output", seen.last_output), ("findings", seen.findings)]
        }
        Ask::Review(seen) => vec![("document", seen.document)],
        Ask::Compaction(_) | Ask::Split(_) | Ask::Budget(..) => Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::*;
    use crate::render::trial::written;
    use clap::ValueEnum as _;

    #[test]
    fn what_is_printed_is_read() {
        for sample in Sample::value_variants() {
            let question = sample.question();
            let text = serde_json::to_string_pretty(&written(&question)).unwrap();
            assert_eq!(parse(&text).as_ref(), Ok(&question), "{sample:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let changed = |sample: Sample, change: &dyn Fn(&mut Value)| {
            let mut document = written(&sample.question());
            change(&mut document);
            parse(&document.to_string()).unwrap_err()
        };
        let split = |change: &dyn Fn(&mut Value)| changed(Sample::Split, change);
        let assess = |change: &dyn Fn(&mut Value)| changed(Sample::Assess, change);
        let said = [
            parse("{").unwrap_err(),
            parse("{\n \"aks\": 1}").unwrap_err(),
            split(&|d| d["ask"]["function"] = json!("divide")),
            split(&|d| d["ask"]["seen"] = json!(1)),
            split(&|d| d["ask"]["observation"]["phase"]["titel"] = json!("x")),
            split(&|d| d["ask"]["observation"]["objectives"][1]["state"] = json!("open")),
            split(&|d| d["ask"]["observation"]["objectives"][1]["status"] = json!("opened")),
            split(&|d| d["ask"]["observation"]["phase"]["budget"]["turns"] = json!("many")),
            split(&|d| {
                d["ask"]["observation"].as_object_mut().unwrap().remove("occasion");
            }),
            changed(Sample::Budget, &|d| d["ask"]["observation"][0]["git"]["brunch"] = json!("main")),
            assess(&|d| d["texts"] = json!([])),
            assess(&|d| d["texts"] = json!([{ "digest": "sha256:0", "bytes": 3 }])),
            assess(&|d| d["texts"] = json!([3])),
        ];
        insta::assert_snapshot!("question_errors", said.join("\n"));
    }
}
