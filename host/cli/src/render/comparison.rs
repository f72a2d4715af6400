//! The results of a comparison of arms, for people and programs: the verdict in words first, then the numbers. Computes
//! nothing: text, JSON and the page are rendered from one [`Comparison`].

mod charts;
mod html_report;
mod number_format;

use baton_lab::compare::{Advice, CheckResult, Comparison, Effect, Metric, MetricRole, Recommendation};
use serde_json::{Value, json};

use super::candidate_trial::{bare, drawn};
use super::json_record;
use super::terminal_style::{TerminalStyle, Tone};
pub(crate) use html_report::{html, svg};

/// Characters of the widest advice, "stop: broken", and two spaces.
const ADVICE_WIDTH: usize = 14;

/// The meaning of the arms' columns.
const COLUMNS: &str = "Known runs have an outcome; in exposed runs the policy of the arm was asked something; in \
    swapped runs the policy was changed during the run. Means of tokens, cost and time are geometric.";

/// For a terminal.
pub(crate) fn text(of: &Comparison, look: &TerminalStyle) -> String {
    let mut text = format!("{}\n\n", look.paint(Tone::Strong, &headline(of)));
    text.push_str(&verdict(&of.verdict, look));
    for one in of.candidates.iter().filter(|one| one.arm != of.verdict.arm) {
        text.push_str(&format!("\n{}", verdict(one, look)));
    }
    text.push_str(&format!("\n{}\n", arms(of, look)));
    for index in 0..of.arms.len().saturating_sub(1) {
        text.push_str(&format!("\n{}\n", outcomes(of, index, look)));
    }
    text.push_str(&format!("\n{}\n", checks(of, look)));
    for note in notes(of) {
        text.push_str(&format!("\n{}", look.wrap(&note, 0)));
    }
    text.push('\n');
    text
}

/// One document.
pub(crate) fn json(of: &Comparison) -> Value {
    let mut document = json!({ "schema": json_record::SCHEMA, "record": "comparison" });
    if let (Some(document), Ok(Value::Object(comparison))) =
        (document.as_object_mut(), serde_json::to_value(of))
    {
        document.extend(comparison);
    }
    document
}

/// "split-v2: eager against control".
fn headline(of: &Comparison) -> String {
    let names: Vec<&str> = of.arms.iter().skip(1).map(|arm| arm.name.as_str()).collect();
    match (of.arms.first(), names.is_empty()) {
        (Some(control), false) => format!("{}: {} against {}", of.title, names.join(", "), control.name),
        _ => of.title.clone(),
    }
}

fn tone(advice: Advice) -> Tone {
    match advice {
        Advice::Ship | Advice::Try => Tone::Good,
        Advice::StopBroken => Tone::Bad,
        Advice::KeepControl => Tone::Strong,
        Advice::KeepRunning => Tone::Warn,
    }
}

fn checked_tone(checked: CheckResult) -> Tone {
    match checked {
        CheckResult::Ok => Tone::Good,
        CheckResult::Alarm => Tone::Bad,
        CheckResult::TooEarly | CheckResult::NotChecked => Tone::Dim,
    }
}

fn verdict(verdict: &Recommendation, look: &TerminalStyle) -> String {
    let mut text = String::new();
    for (index, sentence) in verdict.words.iter().enumerate() {
        let advice = if index == 0 { verdict.decision.name() } else { "" };
        let padded = format!("{advice:ADVICE_WIDTH$}");
        let head = if index == 0 { look.paint(tone(verdict.decision), &padded) } else { padded };
        text.push_str(&format!("{head}{}\n", look.wrap(sentence, ADVICE_WIDTH)));
    }
    text
}

fn arms(of: &Comparison, look: &TerminalStyle) -> String {
    let mut table = bare(look);
    table.set_header([
        "ARM", "POLICY", "SHARE", "ASSIGNED", "KNOWN", "NOT YET", "INVALID", "EXPOSED", "SWAPPED",
    ]);
    for arm in &of.arms {
        let policy = match &arm.component {
            Some(component) => format!("{}@{}", arm.policy, component.short()),
            None => arm.policy.clone(),
        };
        table.add_row([
            arm.name.clone(),
            policy,
            number_format::share(arm.share),
            arm.assigned.to_string(),
            arm.known.to_string(),
            arm.not_yet_known.to_string(),
            arm.invalid.len().to_string(),
            arm.exposed.map_or_else(|| "?".to_owned(), |exposed| exposed.to_string()),
            arm.swapped.to_string(),
        ]);
    }
    drawn(&mut table)
}

/// The outcomes of one candidate next to control's.
fn outcomes(of: &Comparison, candidate: usize, look: &TerminalStyle) -> String {
    let (control, arm) = (&of.arms[0], &of.arms[candidate + 1]);
    let mut table = bare(look);
    table.set_header([
        "OUTCOME".to_owned(),
        "UNIT".to_owned(),
        control.name.to_uppercase(),
        arm.name.to_uppercase(),
        "EFFECT".to_owned(),
        number_format::interval_name(of).to_uppercase(),
        "P".to_owned(),
    ]);
    for metric in &of.metrics {
        let Some(row) = ComparisonRow::of(of, metric, candidate) else { continue };
        let name = format!("{} ({})", metric.name, role(metric.role));
        table.add_row([name, row.unit, row.control, row.candidate, row.effect, row.interval, row.p]);
    }
    drawn(&mut table)
}

/// A line of numbers, as text and page have it.
struct ComparisonRow {
    unit: String,
    control: String,
    candidate: String,
    effect: String,
    interval: String,
    /// There is an interval, and not words in its place.
    is_answered: bool,
    p: String,
}

impl ComparisonRow {
    fn of(of: &Comparison, metric: &Metric, candidate: usize) -> Option<ComparisonRow> {
        let effect: &Effect = metric.effects.get(candidate)?;
        let mean = |index: usize| {
            metric.arms.get(index).map(|value| number_format::mean(metric, value)).unwrap_or_default()
        };
        let (said, interval) = number_format::effect(metric, effect);
        // If the verdict already explains why there is no answer, the lines do not repeat it.
        let why = effect.cannot_judge.as_ref().or(effect.not_yet.as_ref());
        let is_told = why.is_some_and(|why| of.verdict.words.iter().any(|words| words.contains(why)));
        let interval = match (is_told, &effect.cannot_judge) {
            (false, _) => interval,
            (true, Some(_)) => "cannot be judged".to_owned(),
            (true, None) => "too early".to_owned(),
        };
        Some(ComparisonRow {
            unit: metric.unit.clone(),
            control: mean(0),
            candidate: mean(candidate + 1),
            effect: said,
            interval,
            is_answered: effect.shown().is_some(),
            p: effect.p_adjusted.or(effect.p).map_or_else(|| "-".to_owned(), number_format::level),
        })
    }
}

fn role(role: MetricRole) -> &'static str {
    match role {
        MetricRole::Primary => "primary",
        MetricRole::Secondary => "secondary",
        MetricRole::Guardrail => "guardrail",
    }
}

/// A check in a line: its subject, its result, in words.
fn check_rows(of: &Comparison) -> Vec<(String, CheckResult, String)> {
    let several = of.arms.len() > 2;
    let mut rows = vec![
        ("Shares of the arms".to_owned(), of.allocation.checked, number_format::allocation(of)),
        ("Missing outcomes".to_owned(), of.attrition.checked, of.attrition.words.clone()),
    ];
    for one in &of.guardrails {
        let name = if several { format!("Guardrail, {}", one.arm) } else { "Guardrail".to_owned() };
        rows.push((name, one.checked, one.words.clone()));
    }
    rows
}

fn checks(of: &Comparison, look: &TerminalStyle) -> String {
    let rows = check_rows(of);
    let width = rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0) + 2;
    let lines = rows.into_iter().map(|(name, checked, words)| {
        let word = format!("{:13}", checked.name());
        format!("{name:width$}{}{}", look.paint(checked_tone(checked), &word), look.wrap(&words, width + 13))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The method, and further notes for the reader.
fn notes(of: &Comparison) -> Vec<String> {
    let mut notes = vec![number_format::method(of), COLUMNS.to_owned()];
    notes.extend(of.pairings.iter().map(|pairing| number_format::pairing(of, pairing)));
    for arm in &of.arms {
        notes.extend(
            arm.invalid
                .iter()
                .take(number_format::INVALID_SHOWN)
                .map(|one| format!("{} of {} has no outcome: {}", one.unit, arm.name, one.reason)),
        );
        let beyond = arm.invalid.len().saturating_sub(number_format::INVALID_SHOWN);
        if beyond > 0 {
            notes.push(format!("… and {beyond} more of {}; `--format json` has them all", arm.name));
        }
    }
    notes.extend(of.notes.iter().cloned());
    notes
}

#[cfg(test)]
mod test_samples;
#[cfg(test)]
mod tests;
