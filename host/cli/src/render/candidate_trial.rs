//! The results of a policy's trial, for people and programs. The lab makes the comparison.

pub(super) mod totals;

use std::collections::BTreeSet;

use baton_lab::{DecisionDifference, TrialResult, golden};
use baton_runtime::core::decision::{Decision, Fault, Provenance};
use baton_runtime::core::decision_diff::DecisionMatch;
use baton_runtime::core::observation::{Capability, PolicyRequest};
use baton_runtime::core::{Digest, RunId};
use baton_runtime::engine::{ConfiguredPolicy, PolicyAnswer};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::decision::{answered, said};
use super::json_record;
use super::terminal_style::{TerminalStyle, Tone};
use totals::FunctionTotals;

/// Spaces between two columns.
const GAP: u16 = 2;

/// Who was tried.
pub(crate) struct TrialSubject<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Its component.
    pub(crate) component: &'a Digest,
    /// Its canonical settings.
    pub(crate) settings: &'a Digest,
    /// The decisions that it can be asked about.
    pub(crate) decides: &'a [Capability],
}

impl<'a> TrialSubject<'a> {
    pub(crate) fn of(policy: &'a ConfiguredPolicy) -> Self {
        let settings = policy.settings_digest();
        let policy = policy.policy();
        Self { name: policy.name(), component: policy.digest(), settings, decides: policy.decides() }
    }

    pub(super) fn json(&self) -> Value {
        let Self { name, component, settings, decides } = self;
        json!({ "name": name, "component": component, "settings": settings, "decides": decides })
    }
}

/// A trial on a run.
pub(crate) struct RunTrialReport<'a> {
    /// Which.
    pub(crate) run: &'a RunId,
    /// Who was asked.
    pub(crate) policy: TrialSubject<'a>,
    /// The decisions that it was asked about.
    pub(crate) decides: &'a BTreeSet<Capability>,
    /// The results.
    pub(crate) tried: &'a TrialResult,
}

impl RunTrialReport<'_> {
    /// In words first, then in numbers, then one by one.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let mut text = self.sums(&format!("run {}", self.run)).text(look);
        if let Some(unknown) = self.unknown() {
            text.push_str(&format!("\n{}\n", look.wrap(&unknown, 0)));
        }
        let differences = &self.tried.differences;
        if !differences.is_empty() {
            text.push_str(&format!("\n{}\n", one_by_one(look, self.policy.name, differences)));
        }
        if self.tried.differences_beyond > 0 {
            let beyond = self.tried.differences_beyond;
            let more = format!("… and {beyond} more; `--differences N` shows the first N");
            text.push_str(&format!("{}\n", look.paint(Tone::Dim, &more)));
        }
        text
    }

    /// That the answers of those behind it are not known, if its own component, set otherwise, gave them.
    fn unknown(&self) -> Option<String> {
        let count = self.own_abstentions();
        let were = if count == 1 { "was" } else { "were" };
        (count > 0).then(|| {
            format!(
                "Of the questions that it abstained from, {count} {were} decided in the run by {} itself, with the \
                 settings of that run: how the next policy would decide them is not known",
                self.policy.name
            )
        })
    }

    /// Questions from which it abstained, and which its own component had decided.
    fn own_abstentions(&self) -> u64 {
        self.tried.abstained_from.get(self.policy.component).copied().unwrap_or_default()
    }

    fn sums<'s>(&'s self, whose: &'s str) -> FunctionTotals<'s> {
        FunctionTotals {
            name: self.policy.name,
            can: self.policy.decides,
            whose,
            decides: self.decides,
            functions: &self.tried.functions,
        }
    }

    /// One document.
    pub(crate) fn json(&self) -> Value {
        let differences: Vec<Value> = self.tried.differences.iter().map(difference).collect();
        let mut document = self.head();
        document["differences"] = differences.into();
        document
    }

    /// The counts, then each difference.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Value> {
        let differences = self.tried.differences.iter().map(|one| {
            let mut line = difference(one);
            line["schema"] = json_record::SCHEMA.into();
            line["record"] = "policy-try-difference".into();
            line
        });
        std::iter::once(self.head()).chain(differences)
    }

    fn head(&self) -> Value {
        json!({
            "schema": json_record::SCHEMA,
            "record": "policy-try",
            "run": self.run,
            "policy": self.policy.json(),
            "functions": self.sums("").json(),
            "abstained_from_its_own": self.own_abstentions(),
            "differences_beyond": self.tried.differences_beyond,
        })
    }
}

/// A trial on one question.
pub(crate) struct QuestionTrialReport<'a> {
    /// The question.
    pub(crate) question: &'a PolicyRequest,
    /// Who was asked.
    pub(crate) policy: TrialSubject<'a>,
    /// Its answer.
    pub(crate) candidate: &'a PolicyAnswer,
    /// The fuel that the answer took.
    pub(crate) fuel: u64,
    /// The answer without it.
    pub(crate) current: &'a Result<Decision, Fault>,
    /// By whom.
    pub(crate) label: &'a Provenance,
}

impl QuestionTrialReport<'_> {
    /// Both answers, one below the other.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let name = look.paint(Tone::Strong, self.policy.name);
        let current = look.paint(Tone::Strong, &format!("built-in {}", self.label.policy));
        let verb = match self.agreement() {
            DecisionMatch::Same => "decides as the built-in policy does",
            DecisionMatch::OtherWords => "decides as the built-in policy does, in other words",
            DecisionMatch::Differs => "decides differently from the built-in policy",
            DecisionMatch::Fault => "fails",
            DecisionMatch::Abstained => "abstains, and the built-in policy decides",
        };
        let current_answer = self.current.clone().map(Some);
        let answer = |answer: &PolicyAnswer, other: &PolicyAnswer| {
            let (decision, reason) = answered(answer, other.as_ref().ok().and_then(Option::as_ref));
            let mut text = look.wrap(&decision, 4);
            if !reason.is_empty() {
                text.push_str(&format!("\n    {}", look.paint(Tone::Dim, &look.wrap(&reason, 4))));
            }
            text
        };
        format!(
            "{}: {name} {verb}\n\n{name}\n    {}\n{current}\n    {}\n",
            self.question.query.function(),
            answer(self.candidate, &current_answer),
            answer(&current_answer, self.candidate),
        )
    }

    fn agreement(&self) -> DecisionMatch {
        DecisionMatch::of(&self.question.query, self.current, self.candidate)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "schema": json_record::SCHEMA,
            "record": "policy-try-question",
            "function": self.question.query.function(),
            "policy": self.policy.json(),
            "outcome": outcome(self.agreement()),
            "candidate": answer_or_abstention(self.candidate),
            "fuel": self.fuel,
            "current": answer(self.current),
            "current_by": { "by": self.label.by, "policy": self.label.policy, "component": self.label.component },
        })
    }
}

/// The differences as a table, both answers side by side.
pub(super) fn one_by_one<'d>(
    look: &TerminalStyle,
    name: &str,
    differences: impl IntoIterator<Item = &'d DecisionDifference>,
) -> String {
    let mut table = bare(look);
    table.set_header(["ENTRY", "PHASE", "ASKED", "DECIDED THEN", &name.to_uppercase()]);
    for one in differences {
        let phase = one.phase.as_ref().map_or("-", |phase| phase.as_str());
        let mut asked = one.question.query.function().to_owned();
        for more in [occasion(&one.question).as_deref(), one.off_course.then_some("off course")] {
            asked.push_str(&more.map(|more| format!("\n{more}")).unwrap_or_default());
        }
        let cell = |answer: &Result<Decision, Fault>, other: &Result<Decision, Fault>| {
            let (decision, reason) = said(answer, other.as_ref().ok());
            format!("{decision}\n{reason}").trim_end().to_owned()
        };
        table.add_row([
            one.seq.to_string(),
            phase.to_owned(),
            asked,
            cell(&one.recorded, &one.candidate),
            cell(&one.candidate, &one.recorded),
        ]);
    }
    drawn(&mut table)
}

pub(super) fn bare(look: &TerminalStyle) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_width(look.width);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table
}

pub(super) fn drawn(table: &mut Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// A question as a file has it: its texts are written out.
pub(crate) fn written(question: &PolicyRequest) -> Value {
    let texts: Vec<&str> = question.texts.iter().map(|text| text.body().unwrap_or_default()).collect();
    json!({ "ask": question.query, "texts": texts })
}

/// A difference for programs; its question is as `--on` takes it.
pub(super) fn difference(one: &DecisionDifference) -> Value {
    json!({
        "seq": one.seq,
        "phase": one.phase,
        "function": one.question.query.function(),
        "occasion": occasion(&one.question),
        "off_course": one.off_course,
        "recorded": answer(&one.recorded),
        "recorded_by": { "by": one.label.by, "policy": one.label.policy, "component": one.label.component },
        "candidate": answer(&one.candidate),
        "question": written(&one.question),
    })
}

/// The same of a policy that may abstain, as golden files say it.
pub(super) fn answer_or_abstention(answered: &PolicyAnswer) -> Value {
    match answered {
        Ok(decision) => golden::written(decision.as_ref()),
        Err(fault) => json!(fault),
    }
}

pub(super) fn answer(answer: &Result<Decision, Fault>) -> Value {
    match answer {
        Ok(decision) => json!(decision),
        Err(fault) => json!(fault),
    }
}

fn outcome(outcome: DecisionMatch) -> &'static str {
    match outcome {
        DecisionMatch::Same => "same",
        DecisionMatch::OtherWords => "other-words",
        DecisionMatch::Differs => "differs",
        DecisionMatch::Fault => "fault",
        DecisionMatch::Abstained => "abstained",
    }
}

/// "phase-start", "prompt-ended", "continuing": the contract's own word for why it was asked.
pub(super) fn occasion(question: &PolicyRequest) -> Option<String> {
    let ask = serde_json::to_value(&question.query).ok()?;
    let seen = &ask["observation"];
    let word = ["occasion", "kind"].into_iter().find_map(|key| seen[key].as_str());
    word.map(str::to_owned)
}
