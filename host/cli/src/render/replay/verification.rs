//! Whether recorded runs replay to the letter, for people and programs.

use baton_lab::replay::VerificationSummary;
use baton_lab::{ChangedDecision, LabError, PolicyReplayResult};
use baton_runtime::core::RunId;
use serde_json::{Value, json};

use crate::render::candidate_trial::{answer_or_abstention, totals::counted};
use crate::render::decision::{SENTENCE_CHARS, answered, clean};
use crate::render::json_record;
use crate::render::terminal_style::{TerminalStyle, Tone};

/// Runs that were verified.
pub(crate) struct VerifiedRuns {
    /// The runs, each with its result, or the reason why it cannot be read.
    pub(crate) runs: Vec<(RunId, Result<VerificationSummary, LabError>)>,
}

impl VerifiedRuns {
    /// Every run came out the same, and nothing of it was left out.
    pub(crate) fn is_complete(&self) -> bool {
        self.runs.iter().all(|(_, verified)| verified.as_ref().is_ok_and(VerificationSummary::is_complete))
    }

    /// A paragraph a run, and the sum where there are several.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let mut text = String::new();
        for (run, verified) in &self.runs {
            let (tone, sentences) = match verified {
                Ok(verified) => (tone(verified), in_words(verified)),
                Err(error) => (Tone::Bad, vec![format!("cannot be replayed: {error}")]),
            };
            let first = look.paint(tone, &format!("run {run}"));
            text.push_str(&format!("{first} {}\n", look.wrap(&sentences.join("; "), 2)));
            let changed = verified.iter().flat_map(|verified| &verified.decisions.changed);
            for one in changed {
                text.push_str(&format!("  {}\n", look.wrap(&changed_in_words(one), 4)));
            }
        }
        if self.runs.len() > 1 {
            text.push_str(&format!("{}\n", look.wrap(&self.sum_in_words(), 0)));
        }
        text
    }

    fn sum(&self) -> PolicyReplayResult {
        let mut sum = PolicyReplayResult::default();
        for verified in self.runs.iter().flat_map(|(_, verified)| verified) {
            sum.add(verified.decisions.clone());
        }
        sum
    }

    fn sum_in_words(&self) -> String {
        let exact = self
            .runs
            .iter()
            .filter(|(_, found)| found.as_ref().is_ok_and(VerificationSummary::is_exact))
            .count();
        let PolicyReplayResult { same, differences, unavailable, .. } = self.sum();
        let mut said = format!(
            "{exact} of {} replay exactly: {} made again, {differences} came out differently",
            counted(self.runs.len() as u64, "run"),
            counted(same + differences, "decision"),
        );
        if unavailable > 0 {
            said.push_str(&format!(", {unavailable} could not be made again"));
        }
        said
    }

    /// One document.
    pub(crate) fn json(&self) -> Value {
        let mut document = self.head();
        document["runs"] = self.runs.iter().map(record_of).collect();
        document
    }

    /// The sums, then each run.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let of_run = |run| {
            let mut line = record_of(run);
            line["schema"] = json_record::SCHEMA.into();
            line["record"] = "replay-verify-run".into();
            line
        };
        std::iter::once(self.head()).chain(self.runs.iter().map(of_run)).collect()
    }

    fn head(&self) -> Value {
        let mut document = counts(&self.sum());
        document["schema"] = json_record::SCHEMA.into();
        document["record"] = "replay-verify".into();
        document["complete"] = self.is_complete().into();
        document
    }
}

fn tone(verified: &VerificationSummary) -> Tone {
    match (verified.is_complete(), verified.is_exact()) {
        (true, _) => Tone::Good,
        (false, true) => Tone::Warn,
        (false, false) => Tone::Bad,
    }
}

fn in_words(verified: &VerificationSummary) -> Vec<String> {
    let PolicyReplayResult {
        same,
        differences,
        host_fallback,
        watchdog,
        faults_same,
        abstentions_same,
        fuel_not_compared,
        unavailable,
        ..
    } = &verified.decisions;
    let mut said = vec![match (verified.is_complete(), verified.is_exact()) {
        (true, _) => "replays exactly".to_owned(),
        (false, true) => "replays exactly as far as it can be replayed here".to_owned(),
        (false, false) => "does NOT replay as it was recorded".to_owned(),
    }];
    said.push(match &verified.refold {
        Ok((inputs, intents)) => {
            format!("{} folded to the same {}", counted(*inputs, "input"), counted(*intents, "intent"))
        }
        Err(divergence) => format!("core differs: {divergence}"),
    });
    said.push(match (*differences, *fuel_not_compared) {
        (0, 0) => {
            format!("{} made again, the same to the byte and the unit of fuel", counted(*same, "decision"))
        }
        (0, _) => format!("{} made again, the same to the byte", counted(*same, "decision")),
        (n, _) => format!("{} made again the same, {n} differently", counted(*same, "decision")),
    });
    let more = [
        (*faults_same, "of a component that was asked before came out the same", "fault"),
        (*abstentions_same, "of a component that was asked before came out the same", "abstention"),
        (*watchdog, "by the watchdog taken as recorded: the host's doing", "end"),
        (*host_fallback, "by no component", "decision"),
        (*fuel_not_compared, "given under another engine, so that fuel was not compared", "answer"),
    ];
    said.extend(
        more.iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, thing)| format!("{} {what}", counted(*count, thing))),
    );
    if *unavailable > 0 {
        let because = verified.decisions.unavailable_because.as_deref().unwrap_or_default();
        said.push(format!(
            "{} could not be made again: {}",
            counted(*unavailable, "decision"),
            clean(because, SENTENCE_CHARS)
        ));
    }
    said
}

fn changed_in_words(one: &ChangedDecision) -> String {
    let who = one.earlier.as_ref().unwrap_or(&one.label.policy);
    let recorded = answered(&one.recorded, None).0;
    let now = match &one.replayed {
        Err(why) => why.clone(),
        Ok(replayed) => {
            let (decision, reason) = answered(replayed, one.recorded.as_ref().ok().and_then(Option::as_ref));
            match (one.is_fuel_only(), one.replayed_fuel) {
                (true, Some(fuel)) => format!("the same, for {fuel} fuel instead of {}", one.label.fuel),
                _ => format!("{decision} ({reason})"),
            }
        }
    };
    clean(
        &format!("entry {}, {} by {who}: then {recorded}; now {now}", one.seq, one.function),
        2 * SENTENCE_CHARS,
    )
}

fn counts(decisions: &PolicyReplayResult) -> Value {
    json!({
        "same": decisions.same,
        "differences": decisions.differences,
        "faults_same": decisions.faults_same,
        "abstentions_same": decisions.abstentions_same,
        "watchdog": decisions.watchdog,
        "native": decisions.host_fallback,
        "fuel_not_compared": decisions.fuel_not_compared,
        "unavailable": decisions.unavailable,
        "unavailable_because": decisions.unavailable_because,
    })
}

fn record_of((run, verified): &(RunId, Result<VerificationSummary, LabError>)) -> Value {
    match verified {
        Err(error) => json!({ "run": run, "complete": false, "error": error.to_string() }),
        Ok(verified) => {
            let mut record = counts(&verified.decisions);
            record["run"] = json!(run);
            record["complete"] = verified.is_complete().into();
            record["refold"] = match &verified.refold {
                Ok((inputs, intents)) => json!({ "same": true, "inputs": inputs, "intents": intents }),
                Err(divergence) => {
                    json!({ "same": false, "seq": divergence.seq(), "why": divergence.to_string() })
                }
            };
            record["changed"] = verified.decisions.changed.iter().map(changed).collect();
            record
        }
    }
}

fn changed(one: &ChangedDecision) -> Value {
    json!({
        "seq": one.seq,
        "request": one.request,
        "function": one.function,
        "label": one.label,
        "earlier": one.earlier,
        "recorded": answer_or_abstention(&one.recorded),
        "replayed": one.replayed.as_ref().ok().map(answer_or_abstention),
        "impossible": one.replayed.as_ref().err(),
        "replayed_fuel": one.replayed_fuel,
    })
}
