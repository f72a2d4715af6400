//! The same as one page. How a page looks, and that it needs nothing else, is `render/html_page.rs`.

use baton_lab::replay::{FirstDivergence, WarningOutcome};
use maud::{Markup, html};

use super::{PolicyReplayReport, RUNS_SHOWN, alarm, counts, happened, line, mean_turns, share};
use crate::render::candidate_trial::occasion;
use crate::render::decision::said;
use crate::render::html_page;

impl PolicyReplayReport<'_> {
    /// One page.
    pub(crate) fn html(&self) -> String {
        let title = self.title();
        let body = html! {
            h1 { (html_page::clean(&title)) }
            div.verdict {
                @let sentences = self.warnings().into_iter().chain(self.sums(&self.whose()).sentences());
                @for (index, sentence) in sentences.enumerate() { p.result[index == 0] { (sentence) "." } }
            }
            (self.warnings_section())
            (self.functions_section())
            (self.runs_section())
            (self.departures_section())
            (self.contexts_section())
            (self.differences_section())
            @if let Some(more) = self.beyond() { p.muted { (more) } }
            p.muted {
                "component " code { (self.policy.component) } ", settings " code { (self.policy.settings) }
                @if let Some(compared) = self.replayed.compared {
                    "; instances were kept, and " (compared) " answers compared with those of fresh instances"
                }
            }
        };
        html_page::page(&title, body)
    }

    fn warnings_section(&self) -> Markup {
        let rows = self
            .replayed
            .candidate
            .iter()
            .flat_map(|candidate| [("then", &self.replayed.recorded), (self.policy.name, candidate)]);
        html! {
            @if self.replayed.candidate.is_some() {
                h2 { "Warnings, compared with what then happened" }
                (table(&[text(""), number("hits"), number("misses"), number("false alarms"), number("quiet"), number("censored"),
                         text("warned of, of those used up"), text("false, of those not used up"), number("turns ahead")], html! {
                    @for (name, sums) in rows {
                        tr {
                            th { (name) }
                            @for count in [sums.hits, sums.misses, sums.false_alarms, sums.quiet, sums.censored] {
                                td.n { (count) }
                            }
                            td { (share(&sums.recall())) }
                            td { (share(&sums.false_alarm_rate())) }
                            td.n { (mean_turns(sums)) }
                        }
                    }
                }))
            }
        }
    }

    fn functions_section(&self) -> Markup {
        html! {
            h2 { "Decisions" }
            (table(&[text(""), number("asked"), number("same"), number("other words"), number("otherwise"), number("abstained"), number("failed"),
                     number("off course")], html! {
                @for (name, function) in self.sums("").tallies() {
                    @let (on, off) = (function.on_course, function.off_course);
                    tr {
                        th { (name) }
                        @for count in [on.asked(), on.same, on.reason_differs, on.differs, on.abstained, on.faults, off.asked()] {
                            td.n { (count) }
                        }
                    }
                }
            }))
        }
    }

    fn runs_section(&self) -> Markup {
        let runs = &self.replayed.runs;
        html! {
            @if runs.len() > 1 {
                h2 { "Runs" }
                (table(&[text(""), number("questions"), number("on course"), number("otherwise"), number("off course"),
                         number("hits"), number("misses"), number("false alarms")], html! {
                    @for run in runs.iter().take(RUNS_SHOWN) {
                        tr {
                            th { (run.run) }
                            @for count in counts(run) { td.n { (count) } }
                        }
                    }
                }))
                @if runs.len() > RUNS_SHOWN { p.muted { "and " (runs.len() - RUNS_SHOWN) " more" } }
            }
        }
    }

    fn departures_section(&self) -> Markup {
        html! {
            @if !self.replayed.departures.is_empty() {
                h2 { "First divergence of each phase" }
                p.muted { "What was asked after it in the phase is off course: it is shown, and counted nowhere." }
                (table(&[text("run"), text("phase"), number("entry"), text("asked"), text("reason then"), text(self.policy.name)], html! {
                    @for (run, FirstDivergence { phase, seq, function, recorded, candidate }) in &self.replayed.departures {
                        tr {
                            td { (run) } td { (phase) } td.n { (seq) } td { (function) }
                            td { (line(recorded)) } td { (line(candidate)) }
                        }
                    }
                }))
            }
        }
    }

    fn contexts_section(&self) -> Markup {
        let contexts =
            || self.replayed.contexts.iter().filter_map(|(run, one)| Some((run, one, one.candidate?)));
        html! {
            @if contexts().next().is_some() {
                h2 { "Contexts" }
                (table(&[text("run"), text("session"), text("phase"), number("context"), text("what happened"), text("then"),
                         text(self.policy.name)], html! {
                    @for (run, context, said) in contexts() {
                        tr {
                            td { (run) } td { (context.id.session) } td { (context.phase) }
                            td.n { (context.id.context) }
                            td { (happened(context)) }
                            td { span class=(class(&context.recorded)) { (alarm(&context.recorded)) } }
                            td {
                                span class=(class(&said)) { (alarm(&said)) } @if context.off_course { span.muted { " (off course)" } }
                            }
                        }
                    }
                }))
            }
        }
    }

    fn differences_section(&self) -> Markup {
        html! {
            @if !self.replayed.differences.is_empty() {
                h2 { "Decided differently" }
                (table(&[text("run"), number("entry"), text("phase"), text("asked"), text("decided then"), text(self.policy.name)], html! {
                    @for (run, one) in &self.replayed.differences {
                        tr {
                            td { (run) } td.n { (one.seq) }
                            td { @match &one.phase { Some(phase) => (phase), None => "-" } }
                            td {
                                (one.question.query.function())
                                @if let Some(occasion) = occasion(&one.question) { br; (occasion) }
                                @if one.off_course { br; span.muted { "off course" } }
                            }
                            @for (answer, other) in [(&one.recorded, &one.candidate), (&one.candidate, &one.recorded)] {
                                @let (decision, reason) = said(answer, other.as_ref().ok());
                                td { (decision) br; span.muted { (reason) } }
                            }
                        }
                    }
                }))
            }
        }
    }
}

/// The heading of a column, and whether it stands over numbers.
type ColumnHeading<'a> = (&'a str, bool);

fn text(heading: &str) -> ColumnHeading<'_> {
    (heading, false)
}

fn number(heading: &str) -> ColumnHeading<'_> {
    (heading, true)
}

fn table(headings: &[ColumnHeading<'_>], rows: Markup) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { @for (heading, is_number) in headings { th.n[*is_number] { (heading) } } } }
                tbody { (rows) }
            }
        }
    }
}

fn class(alarm: &WarningOutcome) -> &'static str {
    match alarm {
        WarningOutcome::Hit { .. } => "word long good",
        WarningOutcome::Miss | WarningOutcome::FalseAlarm { .. } => "word long bad",
        WarningOutcome::Quiet | WarningOutcome::Censored { .. } => "muted",
    }
}
