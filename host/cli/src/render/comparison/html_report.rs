//! A comparison as a page and as a picture. Its words and numbers are those of the text; its drawings are in `charts`.

use baton_lab::compare::{Advice, CheckResult, Comparison, MetricRole, Recommendation};
use maud::{Markup, html};

use super::super::html_page::{clean, page};
use super::{ComparisonRow, charts, check_rows, headline, notes, number_format, role};

/// Letters that fit in a line of the picture.
const LINE_LETTERS: usize = 104;

/// One self-contained page.
pub(crate) fn html(of: &Comparison) -> String {
    let candidates = 0..of.arms.len().saturating_sub(1);
    let body = html! {
        h1 { (clean(&headline(of))) }
        (verdict(&of.verdict))
        @for one in of.candidates.iter().filter(|one| one.arm != of.verdict.arm) { (verdict(one)) }
        @for index in candidates {
            h2 { "Outcomes of " (clean(&of.arms[index + 1].name)) }
            (charts::forest(of, index).markup())
            (outcomes(of, index))
            @for metric in of.metrics.iter().filter(|metric| metric.role == MetricRole::Primary) {
                @if let Some(figure) = metric.effects.get(index).and_then(|effect| charts::path(of, metric, effect)) {
                    (figure.markup())
                }
            }
        }
        h2 { "Arms" }
        (arms(of))
        (charts::allocation(of).markup())
        (charts::attrition(of).markup())
        h2 { "Checks" }
        (checks(of))
        h2 { "How it was done" }
        @for note in notes(of) { p { (clean(&note)) } }
    };
    page(&headline(of), body)
}

/// The verdict, the effects and the first path as one standalone picture.
pub(crate) fn svg(of: &Comparison) -> String {
    let candidate =
        of.arms.iter().skip(1).position(|arm| Some(&arm.name) == of.verdict.arm.as_ref()).unwrap_or(0);
    let mut lines = vec![(format!("{}: {}", headline(of), of.verdict.decision.name()), "large")];
    for sentence in &of.verdict.words {
        lines.extend(broken(sentence).into_iter().map(|line| (line, "")));
    }
    let mut figures = Vec::new();
    if of.arms.len() > 1 {
        figures.push(charts::forest(of, candidate));
        let primary = of.metrics.iter().filter(|metric| metric.role == MetricRole::Primary);
        let paths = primary.filter_map(|metric| charts::path(of, metric, metric.effects.get(candidate)?));
        figures.extend(paths.take(1));
    }
    charts::alone(&headline(of), &lines, &figures)
}

/// A drawing does not break its lines itself.
fn broken(sentence: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > LINE_LETTERS {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn class(advice: Advice) -> &'static str {
    match advice {
        Advice::Ship | Advice::Try => "good",
        Advice::StopBroken => "bad",
        Advice::KeepRunning => "warn",
        Advice::KeepControl => "",
    }
}

fn verdict(verdict: &Recommendation) -> Markup {
    html! {
        section class={ "verdict " (class(verdict.decision)) } {
            p { span class={ "word " (class(verdict.decision)) } { (verdict.decision.name()) } }
            @for (index, sentence) in verdict.words.iter().enumerate() { p.result[index == 0] { (clean(sentence)) } }
        }
    }
}

fn outcomes(of: &Comparison, candidate: usize) -> Markup {
    let (control, arm) = (&of.arms[0], &of.arms[candidate + 1]);
    html! {
        div class="wide" { table {
            thead { tr {
                th { "Outcome" } th { "Role" } th { "Unit" } th class="n" { (clean(&control.name)) } th class="n" { (clean(&arm.name)) }
                th class="n" { "Effect" } th { (number_format::interval_name(of)) } th class="n" { "p" }
            } }
            tbody {
                @for metric in &of.metrics {
                    @if let Some(row) = ComparisonRow::of(of, metric, candidate) {
                        tr {
                            td { (clean(&metric.name)) } td { (role(metric.role)) } td { (clean(&row.unit)) }
                            td class="n" { (clean(&row.control)) } td class="n" { (clean(&row.candidate)) }
                            td class="n" { (row.effect) } td class=[row.is_answered.then_some("w")] { (clean(&row.interval)) } td class="n" { (row.p) }
                        }
                    }
                }
            }
        } }
    }
}

fn arms(of: &Comparison) -> Markup {
    html! {
        div class="wide" { table {
            thead { tr {
                th { "Arm" } th { "Policy" } th { "Component" } th class="n" { "Share" } th class="n" { "Assigned" }
                th class="n" { "Known" } th class="n" { "Not yet" } th class="n" { "Invalid" } th class="n" { "Exposed" }
                th class="n" { "Swapped" }
            } }
            tbody {
                @for arm in &of.arms {
                    tr {
                        td { (clean(&arm.name)) } td { (clean(&arm.policy)) }
                        td { @if let Some(component) = &arm.component { code { (component.short()) } } @else { "?" } }
                        td class="n" { (number_format::share(arm.share)) } td class="n" { (arm.assigned) }
                        td class="n" { (arm.known) } td class="n" { (arm.not_yet_known) }
                        td class="n" { (arm.invalid.len()) }
                        td class="n" { @if let Some(exposed) = arm.exposed { (exposed) } @else { "?" } }
                        td class="n" { (arm.swapped) }
                    }
                }
            }
        } }
        @for arm in &of.arms {
            @if let Some(component) = &arm.component {
                p class="muted" { (clean(&arm.name)) ": " code { (component) } }
            }
        }
    }
}

fn checks(of: &Comparison) -> Markup {
    let class = |checked: CheckResult| match checked {
        CheckResult::Ok => "good",
        CheckResult::Alarm => "bad",
        CheckResult::TooEarly | CheckResult::NotChecked => "",
    };
    html! {
        div class="wide" { table { tbody {
            @for (name, checked, words) in check_rows(of) {
                tr {
                    th { (clean(&name)) }
                    td { span class={ "word " (class(checked)) } { (checked.name()) } }
                    td { (clean(&words)) }
                }
            }
        } } }
    }
}
