//! The results of a candidate, function by function, in words and in numbers.

use std::collections::{BTreeMap, BTreeSet};

use baton_lab::{FunctionMatches, MatchCounts};
use baton_runtime::core::observation::Capability;
use serde_json::{Value, json};

use super::{bare, drawn};
use crate::render::terminal_style::TerminalStyle;
use crate::render::text_format;

/// The results of each function, on one run or several.
pub(in crate::render) struct FunctionTotals<'a> {
    /// Who was asked.
    pub(in crate::render) name: &'a str,
    /// The decisions that it can be asked about.
    pub(in crate::render) can: &'a [Capability],
    /// In what: "run 7".
    pub(in crate::render) whose: &'a str,
    /// The decisions that it was asked about.
    pub(in crate::render) decides: &'a BTreeSet<Capability>,
    /// By `interface.function`.
    pub(in crate::render) functions: &'a BTreeMap<&'static str, FunctionMatches>,
}

impl FunctionTotals<'_> {
    /// In words first, then in numbers.
    pub(in crate::render) fn text(&self, look: &TerminalStyle) -> String {
        let mut text = String::new();
        for sentence in self.sentences() {
            text.push_str(&look.wrap(&sentence, 0));
            text.push('\n');
        }
        if self.tallies().next().is_some() {
            text.push_str(&format!("\n{}\n", self.numbers(look)));
        }
        text
    }

    /// The most important results.
    pub(in crate::render) fn sentences(&self) -> Vec<String> {
        let decided = self.decides.iter().map(|capability| self.in_words(*capability));
        decided.chain([self.off_course(), self.not_asked()].into_iter().flatten()).collect()
    }

    /// "my-split would have decided 3 of 41 splitting questions otherwise".
    fn in_words(&self, capability: Capability) -> String {
        let name = self.name;
        let tally = self.sum(|function| function.on_course, capability);
        let asked = tally.asked();
        if asked + self.sum(|function| function.off_course, capability).asked() == 0 {
            return format!("{name} was asked nothing about {capability}: nor was anybody in {}", self.whose);
        }
        let mut said = match tally.differs {
            0 if asked == 0 => format!("{name} met no {capability} question on its course"),
            0 if tally.abstained == asked => {
                return format!("{name} would have abstained from {}", all(asked, capability));
            }
            0 if tally.faults + tally.abstained == 0 => {
                format!("{name} would have decided {} the same way", all(asked, capability))
            }
            0 if tally.faults == 0 => {
                let questions = counted(asked, &format!("{capability} question"));
                format!("{name} would have decided {} of {questions} the same way", asked - tally.abstained)
            }
            differs => format!(
                "{name} would have decided {differs} of {} differently",
                counted(asked, &format!("{capability} question"))
            ),
        };
        if tally.abstained > 0 {
            said.push_str(&format!(", and abstained from {}", tally.abstained));
        }
        if tally.faults > 0 {
            said.push_str(&format!(", and failed on {}", tally.faults));
        }
        if tally.reason_differs > 0 {
            said.push_str(&format!("; {} in other words", tally.reason_differs));
        }
        said
    }

    fn off_course(&self) -> Option<String> {
        let tally = self.sum_of_all(|function| function.off_course);
        let asked = tally.asked();
        let failed = match tally.faults {
            0 => String::new(),
            faults => format!(", and fails on {faults}"),
        };
        (asked > 0).then(|| {
            format!(
                "After an answer that would have made the host act differently, {} came; what would have followed \
                 instead is not known ({} of them it answers differently{failed})",
                counted(asked, "more question"),
                tally.differs
            )
        })
    }

    /// What it does not decide; what the command line left out needs no word.
    fn not_asked(&self) -> Option<String> {
        let mut left: Vec<String> = Vec::new();
        for capability in Capability::ALL.into_iter().filter(|one| !self.can.contains(one)) {
            let count: u64 = self.of(capability).map(|(_, function)| function.not_asked).sum();
            if count > 0 {
                left.push(counted(count, &format!("{capability} question")));
            }
        }
        (!left.is_empty()).then(|| format!("Not for it to decide: {}", left.join(", ")))
    }

    fn numbers(&self, look: &TerminalStyle) -> String {
        let mut table = bare(look);
        table.set_header([
            "DECISION",
            "ASKED",
            "SAME",
            "OTHER WORDS",
            "OTHERWISE",
            "ABSTAINED",
            "FAILED",
            "OFF COURSE",
        ]);
        for (name, function) in self.tallies() {
            let FunctionMatches { on_course: on, off_course: off, .. } = function;
            let counts =
                [on.asked(), on.same, on.reason_differs, on.differs, on.abstained, on.faults, off.asked()];
            let counts = counts.map(|count| count.to_string());
            table.add_row([&[name.to_owned()], counts.as_slice()].concat());
        }
        drawn(&mut table)
    }

    /// The functions of which anything was asked.
    pub(in crate::render) fn tallies(&self) -> impl Iterator<Item = (&'static str, &FunctionMatches)> {
        let functions = self.functions.iter().map(|(name, function)| (*name, function));
        functions.filter(|(_, function)| function.on_course.asked() + function.off_course.asked() > 0)
    }

    fn of(&self, capability: Capability) -> impl Iterator<Item = (&'static str, &FunctionMatches)> {
        let functions = self.functions.iter().map(|(name, function)| (*name, function));
        functions.filter(move |(name, _)| name.split('.').next() == Some(capability.name()))
    }

    fn sum(&self, of: impl Fn(&FunctionMatches) -> MatchCounts, capability: Capability) -> MatchCounts {
        self.of(capability).map(|(_, function)| of(function)).sum()
    }

    fn sum_of_all(&self, of: impl Fn(&FunctionMatches) -> MatchCounts) -> MatchCounts {
        self.functions.values().map(of).sum()
    }

    /// By function, for programs.
    pub(in crate::render) fn json(&self) -> Value {
        let tally = |tally: &MatchCounts| {
            json!({
                "asked": tally.asked(),
                "same": tally.same,
                "other_words": tally.reason_differs,
                "differs": tally.differs,
                "abstained": tally.abstained,
                "faults": tally.faults,
            })
        };
        let functions = self.functions.iter().map(|(name, function)| {
            json!({
                "function": name,
                "on_course": tally(&function.on_course),
                "off_course": tally(&function.off_course),
                "not_asked": function.not_asked,
            })
        });
        functions.collect()
    }
}

pub(in crate::render) fn counted(count: u64, thing: &str) -> String {
    text_format::count(u32::try_from(count).unwrap_or(u32::MAX), thing)
}

/// "the one splitting question", "all 41 splitting questions".
fn all(count: u64, capability: Capability) -> String {
    match count {
        1 => format!("the one {capability} question"),
        count => format!("all {count} {capability} questions"),
    }
}
