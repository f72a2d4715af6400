//! Reads the file with one question, from a folder or standard input, with a size limit. `baton_lab::golden` parses it: a
//! golden file is such a question, with its decision.

use std::io::Read as _;
use std::path::Path;

use baton_lab::golden::GoldenCase;

use crate::exit_status::UsageError;

/// No question is longer: the engine takes 8 MiB of texts at most, and the rest is small.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a file, `-` for standard input.
pub(super) fn read(file: &Path) -> Result<GoldenCase, UsageError> {
    let name = file.display();
    let mut text = String::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(FILE_BYTES_MAX + 1).read_to_string(&mut text),
        false => {
            std::fs::File::open(file).and_then(|open| open.take(FILE_BYTES_MAX + 1).read_to_string(&mut text))
        }
    };
    read.map_err(|error| UsageError(format!("cannot read {name}: {error}")))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(UsageError(format!(
            "{name} is longer than {FILE_BYTES_MAX} bytes; questions are much shorter"
        )));
    }
    GoldenCase::parse(&text).map_err(|why| {
        UsageError(format!("{name}{why}\n`baton policy try --sample split` prints a question to start from"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::SampleQuestion;
    use super::*;
    use crate::render::candidate_trial::written;
    use baton_runtime::core::observation::PolicyRequest;
    use clap::ValueEnum as _;
    use serde_json::{Value, json};

    fn parse(text: &str) -> Result<PolicyRequest, String> {
        GoldenCase::parse(text).map(|golden| golden.question)
    }

    #[test]
    fn what_is_printed_is_read() {
        for sample in SampleQuestion::value_variants() {
            let question = sample.question();
            let text = serde_json::to_string_pretty(&written(&question)).unwrap();
            assert_eq!(parse(&text).as_ref(), Ok(&question), "{sample:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let changed = |sample: SampleQuestion, change: &dyn Fn(&mut Value)| {
            let mut document = written(&sample.question());
            change(&mut document);
            parse(&document.to_string()).unwrap_err()
        };
        let split = |change: &dyn Fn(&mut Value)| changed(SampleQuestion::Split, change);
        let assess = |change: &dyn Fn(&mut Value)| changed(SampleQuestion::Assess, change);
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
            changed(SampleQuestion::Budget, &|d| d["ask"]["observation"]["phase"]["brunch"] = json!("main")),
            assess(&|d| d["texts"] = json!([])),
            assess(&|d| d["texts"] = json!([{ "digest": "sha256:0", "bytes": 3 }])),
            assess(&|d| d["texts"] = json!([3])),
        ];
        insta::assert_snapshot!("question_errors", said.join("\n"));
    }
}
