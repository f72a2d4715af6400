//! The results of another policy on recorded runs, for people and programs. The lab makes the comparison.

mod html;
mod tables;
mod verification;

use std::collections::BTreeSet;

use baton_lab::DecisionDifference;
use baton_lab::replay::{
    BinomialRate, Censoring, ContextOutcome, ContextWarnings, FirstDivergence, ReplayResult,
    RunReplaySummary, WarningOutcome, WarningStats,
};
use baton_runtime::core::RunId;
use baton_runtime::core::observation::Capability;
use serde_json::{Value, json};

use super::candidate_trial::totals::{FunctionTotals, counted};
use super::candidate_trial::{TrialSubject, difference, one_by_one};
use super::terminal_style::{TerminalStyle, Tone};
use super::{json_record, text_format};

pub(crate) use verification::VerifiedRuns;

/// A policy on recorded runs.
pub(crate) struct PolicyReplayReport<'a> {
    /// Who was asked.
    pub(crate) policy: TrialSubject<'a>,
    /// The decisions that were compared.
    pub(crate) decides: &'a BTreeSet<Capability>,
    /// The results.
    pub(crate) replayed: &'a ReplayResult,
}

impl PolicyReplayReport<'_> {
    /// In words first, then in numbers, then one by one.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let mut text = format!("{}\n", look.paint(Tone::Strong, &self.title()));
        for sentence in self.warnings() {
            text.push_str(&format!("{}\n", look.wrap(&sentence, 0)));
        }
        text.push_str(&self.sums(&self.whose()).text(look));
        for part in [self.alarms_table(look), self.runs_table(look), self.departures_table(look)] {
            text.extend(part.map(|part| format!("\n{part}\n")));
        }
        text.extend(self.contexts_table(look).map(|part| format!("\n{part}\n")));
        for (run, differences) in self.by_run() {
            let heading = match self.replayed.runs.len() {
                1 => "DECIDED DIFFERENTLY".to_owned(),
                _ => format!("DECIDED DIFFERENTLY in run {run}"),
            };
            let table = one_by_one(look, self.policy.name, differences);
            text.push_str(&format!("\n{}\n{table}\n", look.paint(Tone::Strong, &heading)));
        }
        if let Some(more) = self.beyond() {
            text.push_str(&format!("\n{}\n", look.paint(Tone::Dim, &more)));
        }
        text
    }

    /// "my-split on 3 runs, 412 questions".
    fn title(&self) -> String {
        let ReplayResult { runs, questions, .. } = self.replayed;
        let on = match runs.as_slice() {
            [one] => format!("run {}", one.run),
            runs => counted(runs.len() as u64, "run"),
        };
        format!("{} on {on}, {}", self.policy.name, counted(*questions, "question"))
    }

    fn whose(&self) -> String {
        match self.replayed.runs.as_slice() {
            [one] => format!("run {}", one.run),
            _ => "these runs".to_owned(),
        }
    }

    fn sums<'s>(&'s self, whose: &'s str) -> FunctionTotals<'s> {
        let (name, can) = (self.policy.name, self.policy.decides);
        FunctionTotals { name, can, whose, decides: self.decides, functions: &self.replayed.functions }
    }

    /// The policy as the subject of a warning: if it left questions to its fallback, the warnings are of both.
    fn warner(&self) -> String {
        let name = self.policy.name;
        let assess = Capability::Exhaustion.name();
        let mut asked =
            self.replayed.functions.iter().filter(|(function, _)| function.split('.').next() == Some(assess));
        match asked.any(|(_, function)| function.on_course.abstained + function.off_course.abstained > 0) {
            true => format!("the run with {name} first (which left questions to the next policy)"),
            false => name.to_owned(),
        }
    }

    /// The quality of the warnings, in words.
    fn warnings(&self) -> Vec<String> {
        let ReplayResult { recorded, candidate, off_course_contexts, remembers, .. } = self.replayed;
        let mut said = Vec::new();
        if let Some(candidate) = candidate {
            let name = self.warner();
            if candidate.hits + candidate.misses == 0 {
                said.push("No context was used up, so no warning could have been in time".to_owned());
            } else {
                said.push(format!(
                    "Used up: {}; {name} would have warned before {}{}; the recorded policy warned before {}{}",
                    counted(candidate.hits + candidate.misses, "context"),
                    share(&candidate.recall()),
                    lead_text(candidate),
                    recorded.hits,
                    lead_text(recorded),
                ));
            }
            if candidate.false_alarms + candidate.quiet > 0 {
                said.push(format!(
                    "Not used up: {}; {name} would have warned needlessly in {}; the recorded policy in {}",
                    counted(candidate.false_alarms + candidate.quiet, "context"),
                    share(&candidate.false_alarm_rate()),
                    recorded.false_alarms,
                ));
            }
            if candidate.censored > 0 {
                let (all, warned) = (candidate.censored, candidate.censored_warned);
                said.push(format!(
                    "Cut short, so unknown: {}; {name} would have warned in {warned}",
                    counted(all, "context")
                ));
            }
            if *off_course_contexts > 0 {
                let (all, name) = (counted(*off_course_contexts, "context"), self.policy.name);
                said.push(format!(
                    "In {all} {name} would have left the course of the run earlier: its warnings there fit the \
                     recorded events, which would have been different with {name}"
                ));
            }
        }
        if remembers.is_some() {
            said.push(
                "Its instances could not be kept, because its answers change then. Each question had a fresh one"
                    .to_owned(),
            );
        }
        said
    }

    fn by_run(&self) -> Vec<(&RunId, Vec<&DecisionDifference>)> {
        let mut by_run: Vec<(&RunId, Vec<&DecisionDifference>)> = Vec::new();
        for (run, difference) in &self.replayed.differences {
            match by_run.last_mut() {
                Some((last, differences)) if *last == run => differences.push(difference),
                _ => by_run.push((run, vec![difference])),
            }
        }
        by_run
    }

    fn beyond(&self) -> Option<String> {
        let ReplayResult { differences_beyond, departures_beyond, contexts_beyond, .. } = self.replayed;
        let beyond = [
            (*differences_beyond, "more difference"),
            (*departures_beyond, "more first divergence"),
            (*contexts_beyond, "more context"),
        ];
        let beyond: Vec<String> = beyond
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| counted(count, what))
            .collect();
        (!beyond.is_empty())
            .then(|| format!("… and {}; `--show N` shows the first N of each", beyond.join(", ")))
    }

    /// One document.
    pub(crate) fn json(&self) -> Value {
        let mut document = self.head();
        let of = |record: Vec<Value>| Value::from(record);
        document["runs"] = of(self.replayed.runs.iter().map(run).collect());
        document["departures"] = of(self.departures().collect());
        document["contexts"] = of(self.contexts().collect());
        document["differences"] = of(self.differences().collect());
        document
    }

    /// The sums, then each run, first divergence, context and difference.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let kinds = [
            ("replay-run", self.replayed.runs.iter().map(run).collect::<Vec<_>>()),
            ("replay-departure", self.departures().collect()),
            ("replay-context", self.contexts().collect()),
            ("replay-difference", self.differences().collect()),
        ];
        let mut lines = vec![self.head()];
        for (kind, records) in kinds {
            lines.extend(records.into_iter().map(|mut line| {
                line["schema"] = json_record::SCHEMA.into();
                line["record"] = kind.into();
                line
            }));
        }
        lines
    }

    fn departures(&self) -> impl Iterator<Item = Value> {
        self.replayed.departures.iter().map(|(run, departure)| {
            let FirstDivergence { phase, seq, function, recorded, candidate } = departure;
            json!({
                "run": run, "phase": phase, "seq": seq, "function": function,
                "recorded_reason": recorded, "candidate_reason": candidate,
            })
        })
    }

    fn contexts(&self) -> impl Iterator<Item = Value> {
        self.replayed.contexts.iter().map(|(run, context)| {
            let mut record = json!(context);
            record["run"] = json!(run);
            record
        })
    }

    fn differences(&self) -> impl Iterator<Item = Value> {
        self.replayed.differences.iter().map(|(run, one)| {
            let mut record = difference(one);
            record["run"] = json!(run);
            record
        })
    }

    fn head(&self) -> Value {
        let replayed = self.replayed;
        json!({
            "schema": json_record::SCHEMA,
            "record": "replay",
            "policy": self.policy.json(),
            "questions": replayed.questions,
            "functions": self.sums("").json(),
            "warnings": {
                "recorded": alarms(&replayed.recorded),
                "candidate": replayed.candidate.as_ref().map(alarms),
                "off_course_contexts": replayed.off_course_contexts,
            },
            "differences_beyond": replayed.differences_beyond,
            "departures_beyond": replayed.departures_beyond,
            "contexts_beyond": replayed.contexts_beyond,
            "kept_instances_compared": replayed.compared,
        })
    }
}

/// Runs in the table: a list of a thousand is for a program.
const RUNS_SHOWN: usize = 40;

/// The numbers of a run in the table, as its columns have them.
fn counts(run: &RunReplaySummary) -> Vec<String> {
    let questions = [run.questions, run.on_course, run.otherwise, run.off_course];
    // A policy that is not asked about exhaustion misses nothing.
    let alarms = match run.candidate {
        Some(alarms) => [alarms.hits, alarms.misses, alarms.false_alarms].map(Some),
        None => [None; 3],
    };
    let counts = questions.map(Some).into_iter().chain(alarms);
    counts.map(|count| count.map_or_else(|| "-".to_owned(), |count| count.to_string())).collect()
}

fn run(sums: &RunReplaySummary) -> Value {
    json!({
        "run": sums.run,
        "questions": sums.questions,
        "on_course": sums.on_course,
        "otherwise": sums.otherwise,
        "off_course": sums.off_course,
        "recorded": sums.recorded,
        "candidate": sums.candidate,
    })
}

fn alarms(sums: &WarningStats) -> Value {
    let mut record = json!(sums);
    record["warned_of"] = json!(sums.recall());
    record["false_alarm_rate"] = json!(sums.false_alarm_rate());
    record["came_true"] = json!(sums.precision());
    record
}

/// "4 (67 %, 95 % interval 30 to 90)".
fn share(rate: &BinomialRate) -> String {
    let percent = |share: f64| (share * 100.0).round();
    let (from, to) = rate.interval;
    match rate.share {
        None => rate.of.to_string(),
        Some(share) => {
            format!("{} ({} %, 95 % interval {} to {})", rate.of, percent(share), percent(from), percent(to))
        }
    }
}

/// ", 5.2 turns ahead".
fn lead_text(sums: &WarningStats) -> String {
    if sums.hits == 0 { String::new() } else { format!(", {} turns ahead on average", mean_turns(sums)) }
}

fn mean_turns(sums: &WarningStats) -> String {
    match sums.hits {
        0 => "-".to_owned(),
        hits => format!("{:.1}", sums.lead_turns as f64 / hits as f64),
    }
}

fn seconds(ms: u64) -> String {
    match ms / 1_000 {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

fn happened(context: &ContextWarnings) -> String {
    let what = match context.outcome {
        ContextOutcome::Exhausted => "used up",
        ContextOutcome::Ended => "ended",
        ContextOutcome::Censored { because } => censored(because),
    };
    format!("{what} after {}", text_format::count(context.turns, "turn"))
}

fn censored(because: Censoring) -> &'static str {
    match because {
        Censoring::Compacted => "compacted",
        Censoring::HandedOff => "handed over before",
        Censoring::Split => "split before",
        Censoring::Capped => "turns or money used up before",
        Censoring::Interrupted => "interrupted",
        Censoring::Quota => "stopped by a provider's limit",
        Censoring::Stopped => "stopped by a person",
        Censoring::HostLost => "lost with its host",
        Censoring::OnlyWords => "used up, by a policy's judgement only",
        Censoring::EndOfRecord => "still at work",
    }
}

fn alarm(alarm: &WarningOutcome) -> String {
    match alarm {
        WarningOutcome::Hit { lead } => {
            let tokens = lead
                .tokens
                .map(|tokens| format!(", {} tokens", text_format::tokens(tokens)))
                .unwrap_or_default();
            format!("hit: {}{tokens}, {} ahead", text_format::count(lead.turns, "turn"), seconds(lead.ms))
        }
        WarningOutcome::Miss => "miss".to_owned(),
        WarningOutcome::FalseAlarm { .. } => "false alarm".to_owned(),
        WarningOutcome::Quiet => "quiet".to_owned(),
        WarningOutcome::Censored { warned: true } => "warned; censored".to_owned(),
        WarningOutcome::Censored { warned: false } => "censored".to_owned(),
    }
}

/// One line of a policy's text.
fn line(text: &str) -> String {
    super::decision::clean(text, super::decision::SENTENCE_CHARS)
}

#[cfg(test)]
mod tests;
