//! `baton policy check`: checks a component against the contract. Shows its requests to the host, asks it generated questions
//! and reports the rules that its answers break. It does not rate decisions; `try` compares them.

mod golden;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use baton_lab::conformance::{self, ConformancePlan, ConformanceReport, FunctionReport, RuleReport};
use baton_runtime::core::Digest;
use baton_runtime::core::grants::RequestedGrants;
use baton_runtime::core::workflow::GivenSetting;
use baton_runtime::engine::{ArtifactSource, ComponentGrants, ComponentInterface};
use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::json;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::policies::{NamedComponent, refused};
use crate::registries::RegistryArgs;
use crate::render::question_progress::QuestionProgress;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::render::{json_record, text_format};
use crate::{policies, stdio};

use super::try_policy::setting;
use golden::GoldenReplay;

/// Check a policy against the contract with generated questions
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy check careful.wasm
  baton policy check careful.wasm --questions 100           while you work on it
  baton policy check careful.wasm --save broken.json        saves the question that broke each rule
  baton policy check careful.wasm --set max-parts=2         with a changed setting
  baton policy check careful.wasm --golden golden           also with the decisions kept there
  baton policy check careful.wasm --golden golden --update  updates them
  baton policy check careful.wasm --format json

A policy that passes keeps the contract; whether it decides well is shown by `baton policy try`.")]
pub(crate) struct PolicyCheckArgs {
    /// A component, a policy that is part of the host, or a file of rules as `rules:FILE`
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    policy: String,
    /// Number of questions to ask
    #[arg(long, value_name = "N", default_value_t = conformance::QUESTIONS,
          value_parser = clap::value_parser!(u64).range(1..))]
    questions: u64,
    /// Seed of the questions: the same seed gives the same questions
    #[arg(long, value_name = "N", default_value_t = ConformancePlan::default().seed)]
    seed: u64,
    /// Write the questions that broke a rule to this file, as JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    save: Option<PathBuf>,
    /// Also compare with the golden decisions (*.json) in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    golden: Option<PathBuf>,
    /// Create missing and update changed golden files
    #[arg(long, requires = "golden")]
    update: bool,
    /// A setting of the policy; a list as JSON
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting, conflicts_with = "golden")]
    settings: Vec<(String, GivenSetting)>,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// The results for a component.
#[derive(Serialize)]
struct PolicyCheckResult {
    #[serde(rename = "policy")]
    name: String,
    bytes: usize,
    decides: Vec<&'static str>,
    #[serde(flatten)]
    outline: ComponentInterface,
    #[serde(skip_serializing_if = "RequestedGrants::is_empty")]
    wants: RequestedGrants,
    settings: usize,
    /// Those of a file of rules that it was asked with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    rules: BTreeMap<String, GivenSetting>,
    /// Those of the command line that it was asked with.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    set: BTreeMap<String, GivenSetting>,
    fit: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    golden: Option<GoldenReplay>,
    #[serde(rename = "conformance")]
    report: ConformanceReport,
}

pub(super) fn check(args: PolicyCheckArgs) -> anyhow::Result<CliExit> {
    let plan = ConformancePlan { seed: args.seed, questions: args.questions };
    let checked = run_check(&args, plan)?;
    if let Some(path) = &args.save {
        save(path, &checked.report)?;
    }
    let document =
        PolicyCheckRecord { schema: json_record::SCHEMA, record: "policy-check", checked: &checked };
    match args.format.format {
        OutputFormat::Text => stdio::data(&text(&checked, &terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(if checked.fit { CliExit::Done } else { CliExit::PolicyRefused })
}

#[derive(Serialize)]
struct PolicyCheckRecord<'a> {
    schema: u32,
    record: &'static str,
    #[serde(flatten)]
    checked: &'a PolicyCheckResult,
}

/// The artifacts during the check, so that a policy that reads artifacts can be asked: there are none.
pub(super) struct EmptyArtifactSource;

impl ArtifactSource for EmptyArtifactSource {
    fn list(&self) -> Vec<(String, Digest)> {
        Vec::new()
    }

    fn read(&self, _digest: &Digest) -> Option<Arc<[u8]>> {
        None
    }
}

fn run_check(args: &PolicyCheckArgs, plan: ConformancePlan) -> anyhow::Result<PolicyCheckResult> {
    let reference = args.policy.as_str();
    let named = policies::named(reference, &RegistryArgs::default())?;
    let set: BTreeMap<_, _> = args.settings.iter().cloned().collect();
    let asked_with = named.settings(&set);
    let NamedComponent { name, bytes, rules, .. } = named;
    let engine = policies::engine(&LocationArgs::default())?;
    // It gets the limits that it requests; the workflow that names it has to grant them.
    let load = |ComponentGrants { artifacts, .. }: ComponentGrants| {
        let grants = ComponentGrants { artifacts, ..ComponentGrants::for_trial(&bytes) };
        engine
            .load_granted(&name, &bytes, grants)
            .map_err(|error| anyhow::Error::new(refused(reference, &error)))
    };
    let policy = load(ComponentGrants {
        artifacts: Some(Arc::new(EmptyArtifactSource)),
        ..ComponentGrants::default()
    })?;
    let settings = policy.schema().map_err(|fault| refused(reference, &format!("it {fault}")))?.len();
    let configured = policy.configure(&asked_with).map_err(|error| refused(reference, &error))?;
    let configured = configured.over_built_in().map_err(|error| refused(reference, &error))?;
    let goldens = args.golden.as_deref().map(|folder| golden::replay(folder, args.update, &policy, load));
    let goldens = goldens.transpose()?;
    let mut asking = QuestionProgress::new(plan.questions, Some("`--questions 500`"));
    let report = conformance::check(&engine, &configured, plan, |asked| asking.at(asked));
    asking.end();
    let fit = report.passed()
        && goldens.as_ref().is_none_or(GoldenReplay::all_match)
        && unseen(&report, goldens.as_ref(), &rules).next().is_none();
    Ok(PolicyCheckResult {
        bytes: bytes.len(),
        decides: policy.decides().iter().map(|capability| capability.name()).collect(),
        outline: policy.outline().clone(),
        wants: policy.wants().clone(),
        settings,
        fit,
        golden: goldens,
        report,
        rules,
        set,
        name,
    })
}

fn save(path: &std::path::Path, report: &ConformanceReport) -> anyhow::Result<()> {
    let broken: Vec<&RuleReport> = report.broken().collect();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-counterexamples",
        "component": report.component,
        "engine": report.engine,
        "seed": report.seed,
        "broken": broken,
    });
    std::fs::write(path, json_record::pretty(&document)?)
        .with_context(|| format!("writing the questions that broke a rule to {}", path.display()))?;
    stdio::progress(&format!(
        "{} in {}",
        text_format::counted(broken.len(), "counterexample"),
        path.display()
    ));
    Ok(())
}

fn text(checked: &PolicyCheckResult, look: &TerminalStyle) -> String {
    let PolicyCheckResult { name, bytes, decides, outline, settings, report, .. } = checked;
    let name = look.paint(Tone::Strong, name);
    let mut text = format!("{}\n", verdict(checked, look));
    text.push_str(&abstained(checked, look));
    text.push('\n');
    text.push_str(&format!("{name}  {}  {}\n", report.component, text_format::bytes(*bytes as u64)));
    text.push_str(&format!("decides    {}\n", decides.join(", ")));
    let names = |needs_grant| {
        let wanted = outline.imports.iter().filter(move |import| import.needs_grant == needs_grant);
        wanted.map(|import| import.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (free, granted) = (names(false), names(true));
    let free = if free.is_empty() { "nothing" } else { &free };
    text.push_str(&format!("imports    {}\n", look.wrap(free, 11)));
    if !granted.is_empty() {
        let must = look.paint(Tone::Warn, "must be granted");
        text.push_str(&format!("           {granted}  {must}, and reads nothing here\n"));
    }
    if !checked.wants.is_empty() {
        let must = look.paint(Tone::Warn, "must be granted");
        text.push_str(&format!("asks for   {}  {must}\n", text_format::grants(&checked.wants)));
    }
    text.push_str(&format!("exports    {}\n", look.wrap(&outline.exports.join(", "), 11)));
    let settings = if *settings == 0 { "none".to_owned() } else { settings.to_string() };
    text.push_str(&format!("settings   {settings}, asked with {}\n", asked_with(checked)));
    text.push_str(&format!(
        "questions  {} of seed {}, on engine {}\n",
        report.asked,
        report.seed,
        report.engine.short()
    ));
    if let Some(golden) = &checked.golden {
        text.push_str(&golden.text(look));
    }
    text.push('\n');
    text.push_str(&rules(report, look));
    text.push('\n');
    text.push_str(&functions(report));
    text
}

/// The settings of the questions: "the values of the file, and compact-percent = 60".
fn asked_with(checked: &PolicyCheckResult) -> String {
    let values = if checked.rules.is_empty() { "their defaults" } else { "the values of the file" };
    let set: Vec<_> =
        checked.set.iter().map(|(key, value)| format!("{key} = {}", text_format::given(value))).collect();
    match set.is_empty() {
        true => values.to_owned(),
        false => format!("{values}, and {}", set.join(", ")),
    }
}

/// The functions for which neither a question nor a golden file led to a decision: the policy abstained each time. Rules
/// abstain from everything that they do not name, and generated questions have other words, phases and modes than theirs.
fn unseen<'r>(
    report: &'r ConformanceReport,
    goldens: Option<&'r GoldenReplay>,
    rules: &BTreeMap<String, GivenSetting>,
) -> impl Iterator<Item = &'r str> {
    let mute = report.mute().filter(|_| rules.is_empty()).map(|function| function.function.as_str());
    mute.filter(move |function| goldens.is_none_or(|goldens| !goldens.covers(function)))
}

/// A line for each function of which no generated question got a decision. A golden file shows one decision, and no more.
fn abstained(checked: &PolicyCheckResult, look: &TerminalStyle) -> String {
    let line = |FunctionReport { function, questions, .. }: &FunctionReport| {
        let why = match checked.rules.is_empty() {
            true => format!(
                "it abstained from all {questions} generated questions of {function}: the rules say nothing of its decisions"
            ),
            false => format!(
                "no rule of the file applies to any of the {questions} generated questions of {function}, which have \
                 other words: its decisions there were not checked. `baton policy try` shows it on the questions of a run"
            ),
        };
        format!("{}: {}\n", look.paint(Tone::Warn, "warning"), look.wrap(&why, 9))
    };
    checked.report.mute().map(line).collect()
}

/// "fit to decide: splitting", or how many rules are broken, or which decisions were not seen.
fn verdict(checked: &PolicyCheckResult, look: &TerminalStyle) -> String {
    let report = &checked.report;
    if checked.fit {
        let decides = checked.decides.join(", ");
        return format!("{}: {decides}", look.paint(Tone::Good, "fit to decide"));
    }
    let (broken, applied) = (report.broken().count(), report.applied().count());
    let are = if broken == 1 { "is" } else { "are" };
    let mut why = Vec::new();
    let is_shown_unfit =
        !report.passed() || checked.golden.as_ref().is_some_and(|golden| !golden.all_match());
    if broken > 0 {
        why.push(format!("{broken} of {applied} rules {are} broken"));
    }
    let unseen: Vec<&str> = unseen(report, checked.golden.as_ref(), &checked.rules).collect();
    if !unseen.is_empty() {
        why.push(format!(
            "it abstained from every question of {}, and no golden file shows what it decides",
            unseen.join(" and ")
        ));
    }
    why.extend(checked.golden.as_ref().filter(|golden| !golden.all_match()).map(GoldenReplay::verdict));
    let head = match is_shown_unfit {
        true => look.paint(Tone::Bad, "not fit to decide"),
        false => look.paint(Tone::Warn, "not shown to be fit"),
    };
    let mut text = format!("{head}: {}", why.join(", and "));
    if report.asked < report.wanted {
        text.push_str(&format!(
            "; it failed so often that it was asked only {} of {}",
            report.asked, report.wanted
        ));
    }
    text
}

/// The rules with results, each with the cases that broke it.
fn rules(report: &ConformanceReport, look: &TerminalStyle) -> String {
    let width = report.applied().map(|rule| rule.says.len()).max().unwrap_or(0);
    let mut text = format!("{:width$}  {:>7}  {:>7}\n", "rule", "asked", "broken");
    for rule in report.applied() {
        let broken = match rule.broken {
            0 => format!("{:>7}", "-"),
            broken => look.paint(Tone::Bad, &format!("{broken:>7}")),
        };
        text.push_str(&format!("{:width$}  {:>7}  {broken}\n", rule.says, rule.asked));
        if let Some(example) = &rule.counterexample {
            let why =
                format!("{}, question {}: {}", rule.name, example.index, example.why.replace('\n', " "));
            text.push_str(&format!("    {}\n", look.wrap(&why, 4)));
            text.push_str(&format!("    {}\n", look.wrap(&format!("why it matters: {}", rule.because), 4)));
        }
    }
    for (place, rule) in report.untested().enumerate() {
        if place == 0 {
            let untested = look.paint(Tone::Warn, "not tested");
            text.push_str(&format!("\n{untested}: no answer was one that these rules judge\n"));
        }
        text.push_str(&format!("    {}\n", rule.says));
    }
    text
}

/// The cost of the answers, with the limits.
fn functions(report: &ConformanceReport) -> String {
    let limit = report.limits.fuel;
    let width = report.functions.iter().map(|function| function.function.len()).max().unwrap_or(0).max(8);
    let mut text = format!(
        "{:width$}  {:>9}  {:>9}  {:>12}  of {limit}\n",
        "function", "asked", "abstained", "worst fuel"
    );
    for function in &report.functions {
        let percent = text_format::percent(function.worst_fuel, limit);
        let abstained = if function.abstained == 0 { "-".to_owned() } else { function.abstained.to_string() };
        text.push_str(&format!(
            "{:width$}  {:>9}  {:>9}  {:>12}  {percent:>3}%, question {}\n",
            function.function, function.questions, abstained, function.worst_fuel, function.worst_question
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use baton_lab::conformance::{Counterexample, QuestionResult, ReportedLimits};
    use baton_runtime::core::TextBlob;
    use baton_runtime::core::observation::{PolicyQuery, PolicyRequest, ReviewObservation, TextId};
    use baton_runtime::core::workflow::SettingValue;
    use baton_runtime::engine::ImportedInterface;

    use super::*;

    fn checked(broken: u64) -> PolicyCheckResult {
        let seen = ReviewObservation {
            document: TextId(0),
            missing_files: Vec::new(),
            secrets: Vec::new(),
            commits_since: 0,
            diverged: false,
            open_objectives: Vec::new(),
            attributes: Vec::new(),
        };
        let example = Counterexample {
            index: 16,
            why: "its reason is empty".to_owned(),
            question: (&PolicyRequest::new(
                PolicyQuery::Review(Box::new(seen)),
                vec![TextBlob::from("# Handoff")],
            ))
                .into(),
            answer: QuestionResult { decision: None, fault: None, fuel: 12 },
            changed: None,
            second_answer: None,
        };
        let rule = |says: &str, asked, broken| RuleReport {
            name: says.replace(' ', "-"),
            says: says.to_owned(),
            because: "it is all that a person is shown of why".to_owned(),
            asked,
            broken,
            untested: says.ends_with("turns") && asked == 0,
            counterexample: (broken > 0).then(|| example.clone()),
        };
        let report = ConformanceReport {
            component: Digest::of("careful"),
            settings: Digest::of("settings"),
            engine: Digest::of("engine"),
            seed: 1,
            wanted: 10_000,
            asked: 10_000,
            rules: vec![
                rule("no question makes it trap", 10_000, 0),
                rule("every decision has a reason", 10_000, broken),
                rule("a larger base never gets fewer turns", 0, 0),
                rule("more tokens used never turn making room into keeping", 0, 0),
            ],
            functions: vec![FunctionReport {
                function: "review.assess".to_owned(),
                questions: 41_802,
                abstained: 0,
                worst_fuel: 1_250_000,
                worst_question: 1203,
            }],
            limits: ReportedLimits {
                fuel: 20_000_000,
                memory_bytes: 64 << 20,
                output_bytes: 128 << 10,
                watchdog_ms: 2000,
            },
        };
        let import = |name: &str, needs_grant| ImportedInterface { name: name.to_owned(), needs_grant };
        PolicyCheckResult {
            name: "careful".to_owned(),
            bytes: 61_234,
            decides: vec!["handoff"],
            outline: ComponentInterface {
                imports: vec![
                    import("baton:policy/types@0.1.0", false),
                    import("baton:policy/artifacts@0.1.0", true),
                ],
                exports: vec!["baton:policy/handoff@0.1.0".to_owned()],
            },
            wants: RequestedGrants::default(),
            settings: 0,
            rules: BTreeMap::new(),
            set: BTreeMap::new(),
            golden: None,
            fit: report.passed(),
            report,
        }
    }

    #[test]
    fn the_verdict_comes_first_and_then_what_it_rests_on() {
        insta::assert_snapshot!("policy_check_fit", text(&checked(0), &TerminalStyle::bare(100)));
        insta::assert_snapshot!("policy_check_broken", text(&checked(3), &TerminalStyle::bare(100)));
        let mut mute = checked(0);
        mute.report.functions[0].abstained = mute.report.functions[0].questions;
        mute.fit = unseen(&mute.report, None, &mute.rules).next().is_none();
        insta::assert_snapshot!("policy_check_mute", text(&mute, &TerminalStyle::bare(100)));
        // Rules apply only to named cases, so abstaining does not make them unfit.
        let rules = BTreeMap::from([("after-failed".to_owned(), SettingValue::Text("ask".into()).into())]);
        let mut of_rules = checked(0);
        of_rules.report.functions[0].abstained = of_rules.report.functions[0].questions;
        of_rules.rules = rules;
        of_rules.fit = unseen(&of_rules.report, None, &of_rules.rules).next().is_none();
        insta::assert_snapshot!("policy_check_rules", text(&of_rules, &TerminalStyle::bare(100)));
        // A golden file makes it fit, and the warning stays.
        mute.fit = true;
        let text = text(&mute, &TerminalStyle::bare(100));
        assert!(text.starts_with("fit to decide: handoff\nwarning: it abstained from all 41802"), "{text}");
    }
}
