//! The tables of a replay, for a terminal.

use baton_lab::replay::FirstDivergence;

use super::{PolicyReplayReport, RUNS_SHOWN, alarm, counts, happened, line, mean_turns, seconds};
use crate::render::candidate_trial::{bare, drawn};
use crate::render::terminal_style::TerminalStyle;
use crate::render::text_format;

impl PolicyReplayReport<'_> {
    pub(super) fn alarms_table(&self, look: &TerminalStyle) -> Option<String> {
        let candidate = self.replayed.candidate.as_ref()?;
        let mut table = bare(look);
        table.set_header([
            "WARNINGS",
            "HITS",
            "MISSES",
            "FALSE",
            "QUIET",
            "CENSORED",
            "TURNS AHEAD",
            "TOKENS AHEAD",
            "TIME AHEAD",
        ]);
        for (name, sums) in [("then", &self.replayed.recorded), (self.policy.name, candidate)] {
            let counts = [sums.hits, sums.misses, sums.false_alarms, sums.quiet, sums.censored];
            let mut row: Vec<String> = vec![name.to_owned()];
            row.extend(counts.map(|count| count.to_string()));
            let mean = |sum: u64, of: u64, say: fn(u64) -> String| match of {
                0 => "-".to_owned(),
                of => say(sum / of),
            };
            row.push(mean_turns(sums));
            row.push(mean(sums.lead_tokens, sums.hits_with_tokens, text_format::tokens));
            row.push(mean(sums.lead_ms, sums.hits, seconds));
            table.add_row(row);
        }
        Some(drawn(&mut table))
    }

    pub(super) fn runs_table(&self, look: &TerminalStyle) -> Option<String> {
        let runs = &self.replayed.runs;
        if runs.len() < 2 {
            return None;
        }
        let mut table = bare(look);
        table.set_header([
            "RUN",
            "QUESTIONS",
            "ON COURSE",
            "OTHERWISE",
            "OFF COURSE",
            "HITS",
            "MISSES",
            "FALSE",
        ]);
        for run in runs.iter().take(RUNS_SHOWN) {
            table.add_row(std::iter::once(run.run.to_string()).chain(counts(run)).collect::<Vec<_>>());
        }
        Some(drawn(&mut table))
    }

    pub(super) fn departures_table(&self, look: &TerminalStyle) -> Option<String> {
        let departures = &self.replayed.departures;
        if departures.is_empty() {
            return None;
        }
        let mut table = bare(look);
        table.set_header([
            "FIRST DIVERGENCE",
            "PHASE",
            "ASKED",
            "REASON THEN",
            &format!("REASON OF {}", self.policy.name.to_uppercase()),
        ]);
        for (run, FirstDivergence { phase, seq, function, recorded, candidate }) in departures {
            let entry = match self.replayed.runs.len() {
                1 => format!("entry {seq}"),
                _ => format!("{run}, entry {seq}"),
            };
            table.add_row([
                entry,
                phase.to_string(),
                (*function).to_owned(),
                line(recorded),
                line(candidate),
            ]);
        }
        Some(drawn(&mut table))
    }

    pub(super) fn contexts_table(&self, look: &TerminalStyle) -> Option<String> {
        let candidate = self.policy.name.to_uppercase();
        let mut table = bare(look);
        table.set_header(["SESSION", "PHASE", "CONTEXT", "WHAT HAPPENED", "THEN", &candidate]);
        let mut any = false;
        for (run, context) in &self.replayed.contexts {
            let Some(candidate_says) = &context.candidate else { continue };
            any = true;
            let session = match self.replayed.runs.len() {
                1 => context.id.session.to_string(),
                _ => format!("{run} {}", context.id.session),
            };
            let mut said = alarm(candidate_says);
            if context.off_course {
                said.push_str(" (off course)");
            }
            table.add_row([
                session,
                context.phase.to_string(),
                context.id.context.to_string(),
                happened(context),
                alarm(&context.recorded),
                said,
            ]);
        }
        any.then(|| drawn(&mut table))
    }
}
