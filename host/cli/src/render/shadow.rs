//! The decisions of a run's shadow policies, for people and programs. The comparison was made when they were asked.

use std::collections::BTreeMap;

use baton_lab::MatchCounts;
use baton_runtime::core::decision::{Decision, Fault};
use baton_runtime::core::{Digest, RunId};
use baton_runtime::{ShadowAnswer, ShadowReport};
use serde_json::{Value, json};

use super::candidate_trial::{bare, drawn};
use super::decision::said;
use super::terminal_style::{TerminalStyle, Tone};
use super::{json_record, text_format};

/// The shadows of a run.
pub(crate) struct ShadowResults<'a> {
    /// Which run.
    pub(crate) run: &'a RunId,
    /// Their answers.
    pub(crate) story: &'a ShadowReport,
    /// Differences that are shown.
    pub(crate) differences: usize,
}

/// A shadow, and a function that it was asked.
type ShadowTallyKey<'a> = (&'a str, &'a Digest, &'a Digest, &'a str);

impl ShadowResults<'_> {
    fn tallies(&self) -> BTreeMap<ShadowTallyKey<'_>, (MatchCounts, u64)> {
        let mut tallies: BTreeMap<ShadowTallyKey<'_>, (MatchCounts, u64)> = BTreeMap::new();
        for answer in &self.story.answers {
            let place =
                (answer.policy.as_str(), &answer.component, &answer.settings, answer.function.as_str());
            let (tally, most) = tallies.entry(place).or_default();
            tally.count(answer.agreement);
            *most = (*most).max(answer.fuel);
        }
        tallies
    }

    fn differing(&self) -> impl Iterator<Item = &ShadowAnswer> {
        self.story.answers.iter().filter(|answer| answer.agreement.is_otherwise())
    }

    /// Name and digest of a shadow; the digest of its settings too, where another shadow differs from it only in them.
    fn name(&self, policy: &str, component: &Digest, settings: &Digest) -> String {
        let is_twin = |answer: &ShadowAnswer| {
            answer.policy == policy && answer.component == *component && answer.settings != *settings
        };
        let name = format!("{policy}@{}", component.short());
        match self.story.answers.iter().any(is_twin) {
            true => format!("{name} with settings {}", settings.short()),
            false => name,
        }
    }

    /// How many of its questions each shadow would have decided otherwise, and on how many it failed.
    fn headline(&self) -> String {
        let mut shadows: BTreeMap<(&str, &Digest, &Digest), MatchCounts> = BTreeMap::new();
        for answer in &self.story.answers {
            let shadow = (answer.policy.as_str(), &answer.component, &answer.settings);
            shadows.entry(shadow).or_default().count(answer.agreement);
        }
        let is_alone = shadows.len() == 1;
        let questions = |n: u64| text_format::count(u32::try_from(n).unwrap_or(u32::MAX), "question");
        let mut text = String::new();
        for ((policy, component, settings), tally) in shadows {
            let of = questions(tally.asked());
            text.push_str(&match is_alone {
                true => format!(
                    "{} of {of} would have been decided differently in run {}\n",
                    tally.differs, self.run
                ),
                false => {
                    let shadow = self.name(policy, component, settings);
                    format!(
                        "{shadow} would have decided {} of {of} differently in run {}\n",
                        tally.differs, self.run
                    )
                }
            });
            if tally.faults > 0 {
                let failed = questions(tally.faults);
                text.push_str(&format!(
                    "in {failed} the shadow failed: the next policy would have been asked\n"
                ));
            }
        }
        text
    }

    /// In words first, then in numbers, then one by one.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let asked = self.story.answers.len();
        if asked == 0 && self.story.left_out == 0 {
            return format!("run {} has no answers of shadows\n", self.run);
        }
        let shown = self.differing().count();
        let mut text = self.headline();
        if self.story.left_out > 0 {
            let left = self.story.left_out;
            text.push_str(&format!("{left} were left out: the shadows had used up their share of a core\n"));
        }
        let mut table = bare(look);
        table.set_header([
            "SHADOW",
            "ASKED",
            "QUESTIONS",
            "SAME",
            "OTHER WORDS",
            "OTHERWISE",
            "ABSTAINED",
            "FAILED",
            "MOST FUEL",
        ]);
        for ((policy, component, settings, function), (tally, most)) in self.tallies() {
            table.add_row([
                self.name(policy, component, settings),
                function.to_owned(),
                tally.asked().to_string(),
                tally.same.to_string(),
                tally.reason_differs.to_string(),
                tally.differs.to_string(),
                tally.abstained.to_string(),
                tally.faults.to_string(),
                most.to_string(),
            ]);
        }
        text.push_str(&format!("\n{}\n", drawn(&mut table)));
        if shown > 0 && self.differences > 0 {
            text.push_str(&format!("\n{}\n", self.answer_table(look)));
        }
        if let Some(beyond) = shown.checked_sub(self.differences).filter(|beyond| *beyond > 0) {
            let more = format!("… and {beyond} more; `--differences N` shows the first N");
            text.push_str(&format!("{}\n", look.paint(Tone::Dim, &more)));
        }
        text
    }

    fn answer_table(&self, look: &TerminalStyle) -> String {
        let mut table = bare(look);
        table.set_header(["QUESTION", "ASKED", "DECIDED", "SHADOW", "WOULD DECIDE"]);
        for answer in self.differing().take(self.differences) {
            let cell = |one: &Option<Result<Decision, Fault>>, other: &Option<Result<Decision, Fault>>| {
                let other = other.as_ref().and_then(|other| other.as_ref().ok());
                let words = one.as_ref().map(|one| said(one, other));
                words.map(|(decision, reason)| format!("{decision}\n{reason}").trim_end().to_owned())
            };
            table.add_row([
                answer.request.to_string(),
                answer.function.clone(),
                cell(&answer.counted, &answer.shadow).unwrap_or_default(),
                answer.policy.clone(),
                cell(&answer.shadow, &answer.counted).unwrap_or_default(),
            ]);
        }
        drawn(&mut table)
    }

    /// Everything in one record.
    pub(crate) fn json(&self) -> Value {
        let tallies =
            self.tallies().into_iter().map(|((policy, component, settings, function), (tally, most))| {
                json!({
                    "policy": policy,
                    "component": component,
                    "settings": settings,
                    "function": function,
                    "same": tally.same,
                    "other_words": tally.reason_differs,
                    "differs": tally.differs,
                    "abstained": tally.abstained,
                    "faults": tally.faults,
                    "most_fuel": most,
                })
            });
        json!({
            "schema": json_record::SCHEMA,
            "record": "policy-shadow",
            "run": self.run,
            "shadows": tallies.collect::<Vec<_>>(),
            "left_out": self.story.left_out,
            "differences": self.differing().take(self.differences).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::SHADOW_SCHEMA;
    use baton_runtime::core::RequestId;
    use baton_runtime::core::decision::{CompactionAction, CompactionDecision};
    use baton_runtime::core::decision_diff::DecisionMatch;

    fn answer(n: u64, agreement: DecisionMatch) -> ShadowAnswer {
        let decided = |action, reason: &str| {
            Ok(Decision::Compaction(CompactionDecision { action, reason: reason.to_owned() }))
        };
        let differs = agreement.is_otherwise();
        let shadow = match agreement {
            DecisionMatch::Fault => Err(Fault::OutOfFuel { limit: 20_000_000 }),
            _ => decided(CompactionAction::HandOff, "the window is half full"),
        };
        ShadowAnswer {
            schema: SHADOW_SCHEMA,
            request: RequestId(n),
            function: "compaction.decide".to_owned(),
            policy: "early".to_owned(),
            component: Digest::of("early"),
            settings: Digest::of("{}"),
            agreement,
            fuel: 1000 * n,
            counted: differs.then(|| decided(CompactionAction::Keep, "there is room")),
            shadow: differs.then_some(shadow),
        }
    }

    #[test]
    fn shadows_are_told_in_words_in_numbers_and_one_by_one() {
        // M3
        let answers = vec![
            answer(3, DecisionMatch::Same),
            answer(4, DecisionMatch::Differs),
            answer(9, DecisionMatch::Fault),
            answer(11, DecisionMatch::OtherWords),
            answer(12, DecisionMatch::Differs),
        ];
        let story = ShadowReport { answers, left_out: 2 };
        let run = RunId::new("20260212-103000");
        let shadows = ShadowResults { run: &run, story: &story, differences: 2 };
        insta::assert_snapshot!("shadows", shadows.text(&TerminalStyle::bare(110)));
        insta::assert_snapshot!("shadows_json", json_record::pretty(&shadows.json()).unwrap());

        // Each of two shadows was asked the same questions: their answers are not added up.
        let other = |n| ShadowAnswer { policy: "late".to_owned(), ..answer(n, DecisionMatch::Same) };
        let answers =
            vec![answer(3, DecisionMatch::Differs), answer(4, DecisionMatch::Same), other(3), other(4)];
        let two = ShadowReport { answers, left_out: 0 };
        let text = ShadowResults { run: &run, story: &two, differences: 2 }.text(&TerminalStyle::bare(110));
        assert!(text.contains(" would have decided 1 of 2 questions differently"), "{text}");
        assert!(text.contains(" would have decided 0 of 2 questions differently"), "{text}");

        // One policy with two settings is two shadows.
        let with = |n| ShadowAnswer { settings: Digest::of("{1}"), ..answer(n, DecisionMatch::Same) };
        let two = ShadowReport { answers: vec![answer(3, DecisionMatch::Differs), with(3)], left_out: 0 };
        let text = ShadowResults { run: &run, story: &two, differences: 2 }.text(&TerminalStyle::bare(110));
        let named = format!("with settings {} would have decided 0 of 1", Digest::of("{1}").short());
        assert!(text.contains(&named), "{text}");

        let none = ShadowReport::default();
        let none = ShadowResults { run: &run, story: &none, differences: 2 };
        assert_eq!(none.text(&TerminalStyle::bare(80)), "run 20260212-103000 has no answers of shadows\n");
    }
}
