//! The results of a simulation, for people and programs: the comparison of its arms first, then the averages of a run. Compares
//! nothing itself.

use std::collections::BTreeMap;

use baton_lab::compare::{
    AnalysisSchedule, ArmSample, CompareOptions, Comparison, ComparisonDesign, UnfinishedHandling, compare,
};
use baton_lab::run_metrics::RunResult;
use baton_lab::simulate::{Model, SimulatedArm, SimulatedRun, SimulationBatch, SimulationEnd};
use baton_runtime::core::input::PolicyBinding;
use baton_runtime::core::workflow::{ConfigLayer, PolicyScope, SettingValue};
use serde_json::{Value, json};

use crate::render::terminal_style::{TerminalStyle, Tone};
use crate::render::{comparison, json_record, text_format};

/// A simulation that was done.
pub(crate) struct SimulationResult<'a> {
    /// Name of the workflow.
    pub(crate) workflow: &'a str,
    /// Who decided.
    pub(crate) arms: &'a [SimulatedArm],
    /// Remarks for the user about them, in whole sentences.
    pub(crate) notes: &'a [String],
    /// The first seed.
    pub(crate) first: u64,
    /// Runs of each arm that were asked for.
    pub(crate) asked: u64,
    /// The results.
    pub(crate) fleet: &'a SimulationBatch,
}

/// One line of the table: what it is called, its mean over runs, and whether a comparison tells of it already.
type SimulationMetric = (&'static str, fn(&SimulatedRun) -> f64, fn(f64) -> String, bool);

/// The shown values of each arm, as means of a run.
const LINES: [SimulationMetric; 12] = [
    ("objectives checked", |run| f64::from(run.measures.completed), two_digits, true),
    ("objectives claimed only", |run| f64::from(run.measures.claimed), two_digits, true),
    ("right in the workspace", |run| f64::from(run.right), two_digits, false),
    ("tokens", |run| run.measures.tokens as f64, thousands, true),
    ("active time", |run| run.measures.active_ms as f64, time, true),
    ("waits for providers", |run| run.measures.quota_wait_ms as f64, time, false),
    ("turns", |run| f64::from(run.measures.turns), two_digits, false),
    ("sessions", |run| f64::from(run.measures.sessions), two_digits, false),
    ("handoffs", |run| f64::from(run.measures.handoffs), two_digits, true),
    ("compactions", |run| f64::from(run.measures.compactions), two_digits, false),
    ("exhaustions", |run| f64::from(run.measures.exhaustions), two_digits, true),
    ("exhaustions missed", |run| f64::from(run.measures.missed), two_digits, true),
];

impl SimulationResult<'_> {
    /// For people: a column an arm.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let runs = self.fleet.arms.first().map_or(0, Vec::len);
        let mut text = format!(
            "{} simulated: {runs} runs of each arm, seeds {} to {}\n\n",
            self.workflow,
            self.first,
            self.first + (runs as u64).saturating_sub(1)
        );
        if self.fleet.stopped {
            text.push_str(&format!(
                "interrupted: {runs} of {} runs of each arm are included\n\n",
                self.asked
            ));
        }
        text.push_str(&self.policy_lines(look));
        for note in self.notes {
            text.push_str(&format!("{}\n\n", look.wrap(note, 0)));
        }
        if let Some(of) = self.comparison() {
            text.push_str(&format!("{}\n", comparison::text(&of, look)));
        }
        let mut rows: Vec<Vec<String>> = vec![
            std::iter::once("a run, on average".to_owned())
                .chain(self.arms.iter().map(|arm| arm.name.clone()))
                .collect(),
        ];
        rows.push(self.row("runs done", |of| {
            format!("{} of {}", count(of, |run| run.measures.standing == RunResult::Done), of.len())
        }));
        let is_compared = self.arms.len() > 1;
        for (name, value, shown, _) in LINES.into_iter().filter(|line| !(line.3 && is_compared)) {
            rows.push(self.row(name, |of| shown(mean(of, value))));
        }
        let bound = |run: &SimulatedRun| !matches!(run.ends, SimulationEnd::Over | SimulationEnd::Waiting);
        rows.push(self.row("met a bound", |of| count(of, bound).to_string()));
        text.push_str(&table(&rows, look));
        text.push_str(
            "\nResults hold for the model: `baton simulate model` shows which parameters are assumptions.\n",
        );
        text
    }

    /// The policy of each arm with what is set for it otherwise than by default, a line each; nothing where no arm is named.
    fn policy_lines(&self, look: &TerminalStyle) -> String {
        let named = self.arms.iter().filter(|arm| of_arm(arm).next().is_some());
        let width = named.clone().map(|arm| arm.name.chars().count()).max().unwrap_or(0) + 2;
        let mut lines: String =
            named.map(|arm| format!("{:width$}{}\n", arm.name, look.wrap(&policy_of(arm), width))).collect();
        if !lines.is_empty() {
            lines.push('\n');
        }
        lines
    }

    /// The first arm is control; none if there is no other arm.
    pub(crate) fn comparison(&self) -> Option<Comparison> {
        let samples: Vec<ArmSample> =
            self.arms.iter().zip(&self.fleet.arms).map(|(arm, runs)| sample(arm, runs)).collect();
        let options = CompareOptions {
            title: format!("{}, simulated", self.workflow),
            // Every arm met the same seeds, and their number was fixed beforehand.
            design: ComparisonDesign::PairedBySeed,
            looks: if self.fleet.stopped { AnalysisSchedule::AnyTime } else { AnalysisSchedule::Once },
            // A run that met a bound, or waits for an answer that never comes, counts as it is.
            unfinished: UnfinishedHandling::AsTheyStand,
            randomised: false,
            ..CompareOptions::default()
        };
        (samples.len() > 1).then(|| compare(&samples, &options))
    }

    /// A page of the comparison; none if there is nothing to compare.
    pub(crate) fn html(&self) -> Option<String> {
        self.comparison().map(|of| comparison::html(&of))
    }

    /// The same as one picture.
    pub(crate) fn svg(&self) -> Option<String> {
        self.comparison().map(|of| comparison::svg(&of))
    }

    fn row(&self, name: &str, cell: impl Fn(&[SimulatedRun]) -> String) -> Vec<String> {
        std::iter::once(name.to_owned()).chain(self.fleet.arms.iter().map(|of| cell(of))).collect()
    }

    /// One document, with every run.
    pub(crate) fn json(&self, model: &Model) -> anyhow::Result<Value> {
        let mut document = self.head(model);
        let arms = self.fleet.arms.iter().map(serde_json::to_value).collect::<Result<Vec<_>, _>>()?;
        document["runs"] = arms.into();
        if let Some(of) = self.comparison() {
            document["comparison"] = comparison::json(&of);
        }
        Ok(document)
    }

    /// What was simulated, then a line a run.
    pub(crate) fn lines<'s>(
        &'s self,
        model: &Model,
    ) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Value>> + 's> {
        let runs = self
            .arms
            .iter()
            .zip(&self.fleet.arms)
            .flat_map(|(arm, runs)| runs.iter().map(move |run| (arm, run)));
        let lines = runs.map(|(arm, run)| {
            let mut line = serde_json::to_value(run)?;
            line["schema"] = json_record::SCHEMA.into();
            line["record"] = "simulated-run".into();
            line["arm"] = arm.name.clone().into();
            Ok(line)
        });
        Ok(std::iter::once(Ok(self.head(model))).chain(lines))
    }

    fn head(&self, model: &Model) -> Value {
        let arms: Vec<Value> =
            self.arms.iter().zip(&self.fleet.arms).map(|(arm, runs)| summary(arm, runs)).collect();
        json!({
            "schema": json_record::SCHEMA,
            "record": "simulation",
            "workflow": self.workflow,
            "first_seed": self.first,
            "runs_asked": self.asked,
            "interrupted": self.fleet.stopped,
            "arms": arms,
            "notes": self.notes,
            "model": numbers(model),
        })
    }
}

/// Every number of a model by its key.
pub(crate) fn numbers(model: &Model) -> serde_json::Map<String, Value> {
    Model::PARAMS.iter().map(|param| (param.key.to_owned(), model.get(param.key).into())).collect()
}

fn sample(arm: &SimulatedArm, runs: &[SimulatedRun]) -> ArmSample {
    let chosen = of_arm(arm).last().or(arm.bindings.last());
    ArmSample {
        arm: arm.name.clone(),
        policy: chosen.map(|binding| binding.policy.clone()).unwrap_or_default(),
        component: chosen.map(|binding| binding.component.clone()),
        weight: 1.0,
        measures: runs.iter().map(|run| run.measures.clone()).collect(),
        invalid: Vec::new(),
    }
}

/// The decisions of an arm, in the whole run.
fn of_arm(arm: &SimulatedArm) -> impl Iterator<Item = &PolicyBinding> + Clone {
    arm.bindings
        .iter()
        .filter(|binding| binding.from.layer == ConfigLayer::Experiment && binding.scope == PolicyScope::Run)
}

/// The settings of a binding's policy that differ from the defaults.
fn set_of(arm: &SimulatedArm, binding: &PolicyBinding) -> BTreeMap<String, SettingValue> {
    let Some(configured) = (arm.loaded)(&binding.first()) else { return BTreeMap::new() };
    let schema = configured.policy().schema().unwrap_or_default();
    let is_default = |key: &String, value: &SettingValue| {
        schema.iter().any(|setting| setting.key == *key && setting.default == *value)
    };
    let set = configured.settings().iter().filter(|(key, value)| !is_default(key, value));
    set.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// "odd, objectives-at-most = 3"; decisions with other settings each name theirs.
fn policy_of(arm: &SimulatedArm) -> String {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for binding in of_arm(arm) {
        let set = set_of(arm, binding).into_iter();
        let set = set.map(|(key, value)| format!(", {key} = {}", text_format::given(&value.into())));
        let policy = format!("{}{}", binding.policy, set.collect::<String>());
        match said.iter_mut().find(|(known, _)| *known == policy) {
            Some((_, decides)) => decides.push(binding.capability.name()),
            None => said.push((policy, vec![binding.capability.name()])),
        }
    }
    match &said[..] {
        [(policy, _)] => policy.clone(),
        several => {
            let each = several.iter().map(|(policy, decides)| format!("{policy} ({})", decides.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    }
}

fn summary(arm: &SimulatedArm, runs: &[SimulatedRun]) -> Value {
    let means: serde_json::Map<String, Value> =
        LINES.iter().map(|(name, value, ..)| (name.replace(' ', "_"), mean(runs, *value).into())).collect();
    let ends: serde_json::Map<String, Value> = [
        SimulationEnd::Over,
        SimulationEnd::Waiting,
        SimulationEnd::TooManyInputs,
        SimulationEnd::TooLong,
        SimulationEnd::NoProgress,
    ]
    .into_iter()
    .map(|ends| (ends.name().replace(' ', "_"), count(runs, |run| run.ends == ends).into()))
    .collect();
    let bindings: Vec<Value> = of_arm(arm)
        .map(|binding| {
            json!({
                "decides": binding.capability,
                "policy": binding.policy,
                "component": binding.component,
                "settings": binding.settings,
                "set": set_of(arm, binding),
            })
        })
        .collect();
    json!({
        "name": arm.name,
        "decides": bindings,
        "runs": runs.len(),
        "done": count(runs, |run| run.measures.standing == RunResult::Done),
        "ends": ends,
        "means": means,
    })
}

fn count(runs: &[SimulatedRun], of: impl Fn(&SimulatedRun) -> bool) -> usize {
    runs.iter().filter(|run| of(run)).count()
}

fn mean(runs: &[SimulatedRun], of: impl Fn(&SimulatedRun) -> f64) -> f64 {
    if runs.is_empty() { 0.0 } else { runs.iter().map(of).sum::<f64>() / runs.len() as f64 }
}

fn two_digits(value: f64) -> String {
    format!("{value:.2}")
}

fn thousands(value: f64) -> String {
    format!("{:.0}k", value / 1000.0)
}

fn time(ms: f64) -> String {
    baton_runtime::core::DurationMs(ms as u64).to_string()
}

/// Columns of the same width; the first row is the heading.
fn table(rows: &[Vec<String>], look: &TerminalStyle) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (n, row) in rows.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(column, (cell, width))| {
                    if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        let line = cells.join("  ");
        text.push_str(&if n == 0 { look.paint(Tone::Dim, &line) } else { line });
        text.push('\n');
    }
    text
}
