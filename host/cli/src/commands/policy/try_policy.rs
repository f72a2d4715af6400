//! `baton policy try`: compares a candidate's decisions with the recorded ones. Starts no agent, and changes nothing.
//! `render/candidate_trial.rs` renders it.

mod question;
mod sample;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use baton_lab::{candidate, try_candidate};
use baton_runtime::core::RunId;
use baton_runtime::core::observation::{Capability, PolicyRequest};
use baton_runtime::core::workflow::{GivenSetting, SettingValue};
use baton_runtime::engine::{ConfiguredPolicy, Engine, Router};
use baton_runtime::journal_of;
use clap::{Args, ValueHint};

use super::new::CapabilityArg;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::candidate_trial::{QuestionTrialReport, RunTrialReport, TrialSubject, written};
use crate::render::{json_record, terminal_style, text_format};
use crate::{policies, stdio};

use sample::SampleQuestion;

/// Compare a policy's decisions with those recorded in a run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy try my-split.wasm                            on the newest run of this folder
  baton policy try my-split.wasm --on 20260212-103000       on this one
  baton policy try builtin:resilience --set max-objectives=2
  baton policy try --sample split > observation.json        a question to start from
  baton policy try my-split.wasm --on observation.json      compared with the built-in policy

The policy gets every question that the run asked. An answer differs if the host would have acted differently after \
it, or would have warned when it did not. A different reason does not count, nor does a field that the host ignores \
there, such as the recovery of a healthy session: that is the same in other words. After an answer that would have \
made the host act differently in a phase, the rest of that phase would have taken another course: it is not known \
what would have followed, and later questions of the phase are counted separately. Exits with 0 whatever the policy \
decides.

A question of a run, to change and ask again:
  baton policy try my-split.wasm --format json | jq '.differences[0].question' > observation.json")]
pub(crate) struct PolicyTryArgs {
    /// A component, a policy that is part of the host, or rules:FILE
    #[arg(value_name = "FILE", required_unless_present = "sample", value_hint = ValueHint::FilePath)]
    policy: Option<String>,
    /// What to try it on: a run, or a file with one question, `-` for standard input [default: the newest run]
    #[arg(long, value_name = "RUN|observation.json", value_hint = ValueHint::FilePath)]
    on: Option<String>,
    /// Only questions about this decision
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<CapabilityArg>,
    /// A setting of the policy; a list as JSON
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, GivenSetting)>,
    /// Differences to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(..=1000))]
    differences: u16,
    /// Print a question that --on takes, and try nothing
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["policy", "on", "decides", "settings"])]
    sample: Option<SampleQuestion>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn attempt(args: PolicyTryArgs) -> anyhow::Result<CliExit> {
    if let Some(sample) = args.sample {
        stdio::data(&json_record::pretty(&written(&sample.question()))?)?;
        return Ok(CliExit::Done);
    }
    let reference = args.policy.as_deref().unwrap_or_default();
    let asked = match args.on.as_deref().filter(|on| is_file(on)) {
        Some(file) => Some((Path::new(file), question::read(Path::new(file))?)),
        None => None,
    };
    // A golden file has the settings of its question; those on the command line take precedence.
    let mut settings = asked.as_ref().map(|(_, golden)| golden.settings.clone()).unwrap_or_default();
    settings.extend(args.settings.iter().cloned());
    let engine = policies::engine(&args.location)?;
    let policy = policies::configured(&engine, reference, &settings, &args.location)?;
    let decides = asked_about(&policy, &args.decides)?;
    match asked {
        Some((file, golden)) => try_on_question(&args, &engine, &policy, &decides, file, &golden.question),
        None => try_on_run(&args, &policy, &decides, args.on.as_deref().map(RunId::new).as_ref()),
    }
}

fn try_on_run(
    args: &PolicyTryArgs,
    policy: &ConfiguredPolicy,
    decides: &BTreeSet<Capability>,
    run: Option<&RunId>,
) -> anyhow::Result<CliExit> {
    let location = RunLocation::for_reading(&args.location, run)?;
    let (journal, run) = journal_of(&location.config, run)?;
    let kept = usize::from(args.differences);
    let tried = try_candidate(&journal, &run, decides.iter().copied(), kept, candidate(policy))?;
    let found = RunTrialReport { run: &run, policy: TrialSubject::of(policy), decides, tried: &tried };
    match args.format.format {
        OutputFormat::Text => stdio::data(&found.text(&terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&found.json())?)?,
        OutputFormat::Jsonl => found.lines().try_for_each(|line| stdio::data(&json_record::line(&line)?))?,
    }
    Ok(CliExit::Done)
}

fn try_on_question(
    args: &PolicyTryArgs,
    engine: &Engine,
    policy: &ConfiguredPolicy,
    decides: &BTreeSet<Capability>,
    file: &Path,
    question: &PolicyRequest,
) -> anyhow::Result<CliExit> {
    let asked = question.query.capability();
    if !decides.contains(&asked) {
        let (file, name) = (file.display(), policy.policy().name());
        let why =
            format!("{file} asks {}, and {name} is asked about {}", question.query.function(), list(decides));
        return Err(UsageError(why).into());
    }
    let built_in = Router::new(engine, BTreeMap::new()).context("loading the built-in policy")?;
    let (current, label) = built_in.decide(question);
    let candidate = policy.evaluate(question);
    let found = QuestionTrialReport {
        question,
        policy: TrialSubject::of(policy),
        candidate: &candidate.result,
        fuel: candidate.fuel,
        current: &current,
        label: &label,
    };
    match args.format.format {
        OutputFormat::Text => stdio::data(&found.text(&terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&found.json())?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&found.json())?)?,
    }
    Ok(CliExit::Done)
}

/// The decisions to ask a policy about: its own, limited to the named ones, if any.
pub(crate) fn asked_about(
    policy: &ConfiguredPolicy,
    named: &[CapabilityArg],
) -> anyhow::Result<BTreeSet<Capability>> {
    let can = policy.policy().decides();
    let named: BTreeSet<Capability> = named.iter().map(|decides| decides.capability()).collect();
    let both: BTreeSet<Capability> =
        can.iter().copied().filter(|one| named.is_empty() || named.contains(one)).collect();
    if both.is_empty() {
        let (name, can) = (policy.policy().name(), text_format::list(can));
        let why = format!("{name} does not decide {}: it decides {can}", list(&named));
        return Err(UsageError(why).into());
    }
    Ok(both)
}

fn list(of: &BTreeSet<Capability>) -> String {
    text_format::list(&of.iter().collect::<Vec<_>>())
}

/// A run has no ending, and no folder, in its name.
fn is_file(on: &str) -> bool {
    on == "-" || on.ends_with(".json") || on.contains('/') || Path::new(on).is_file()
}

/// `key=value`: a value that is not JSON is a text; `{"add": [...], "remove": [...]}` edits a list.
pub(crate) fn setting(given: &str) -> Result<(String, GivenSetting), String> {
    let (key, value) = given.split_once('=').ok_or("expected KEY=VALUE, like max-objectives=2")?;
    let value = match serde_json::from_str(value) {
        Ok(value) => value,
        Err(error) if value.starts_with('{') => return Err(format!("the edit of `{key}`: {error}")),
        Err(_) => SettingValue::Text(value.to_owned()).into(),
    };
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests;
