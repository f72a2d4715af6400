//! Drawings of a comparison: effects with their intervals, the interval as units came, who got how many, and what is missing.
//!
//! They are drawn with the page's own templates and not with a plotting library: a handful of lines and rectangles that take
//! their colours from the page's style (so that one drawing reads in light and in dark), with a title and a description for
//! those who do not see them, and with a word beside every colour. A plotting library writes its colours into each shape.

use baton_lab::compare::{
    ArmSummary, BetterDirection, Comparison, Effect, Metric, MetricScale, SequencePoint,
};
use maud::{Markup, PreEscaped, html};

use super::super::html_page::{COLOURS, DRAWINGS, clean};
use super::number_format;

/// Width of every drawing; the page scales it.
pub(super) const WIDTH: f64 = 860.0;
const ROW: f64 = 30.0;
/// The left and right edge of a forest's plot; names are before it, numbers after it.
const PLOT: (f64, f64) = (290.0, 610.0);
/// Effects beyond this are drawn at the edge, with an arrow; the number next to it is exact.
const SHARE_MOST: f64 = 1.0;

/// A drawing.
pub(super) struct Figure {
    pub(super) title: String,
    /// The same in words, for those who do not see it.
    pub(super) described: String,
    pub(super) height: f64,
    pub(super) body: Markup,
}

impl Figure {
    /// In a page, which has the styles.
    pub(super) fn markup(&self) -> Markup {
        html! {
            figure {
                svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(view_box(self.height)) {
                    title { (clean(&self.title)) }
                    desc { (clean(&self.described)) }
                    (self.body)
                }
                figcaption { (clean(&self.title)) }
            }
        }
    }
}

fn view_box(height: f64) -> String {
    format!("0 0 {WIDTH:.0} {height:.0}")
}

/// A file of its own: these lines, then these drawings one below the other.
pub(super) fn alone(title: &str, lines: &[(String, &str)], figures: &[Figure]) -> String {
    const MARGIN: f64 = 24.0;
    let mut y = MARGIN;
    let mut body = Vec::new();
    for (line, class) in lines {
        y += if *class == "large" { 24.0 } else { 20.0 };
        body.push(html! { text x=(at(MARGIN)) y=(at(y)) class=(*class) { (clean(line)) } });
    }
    for figure in figures {
        y += 40.0;
        body.push(html! { text x=(at(MARGIN)) y=(at(y)) class="strong" { (clean(&figure.title)) } });
        y += 8.0;
        let place = format!("translate({} {})", at(MARGIN), at(y));
        body.push(html! { g transform=(place) { (figure.body) } });
        y += figure.height;
    }
    let (width, height) = (WIDTH + 2.0 * MARGIN, y + MARGIN);
    let described: Vec<&str> = figures.iter().map(|figure| figure.described.as_str()).collect();
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="img" width=(at(width)) height=(at(height))
            viewBox=(format!("0 0 {width:.0} {height:.0}")) {
            title { (clean(title)) }
            desc { (clean(&described.join(" "))) }
            style { (PreEscaped(COLOURS)) (PreEscaped(DRAWINGS)) }
            rect class="back" width="100%" height="100%" {}
            @for one in &body { (one) }
        }
    }
    .into_string()
        + "\n"
}

/// A place in a drawing: a tenth of a unit is finer than visible.
fn at(value: f64) -> String {
    format!("{value:.1}")
}

/// The effects of one candidate on all comparable metrics: shares of control, and points.
pub(super) fn forest(of: &Comparison, candidate: usize) -> Figure {
    let name = of.arms.get(candidate + 1).map_or("", |arm| arm.name.as_str());
    let rows: Vec<(&Metric, &Effect)> = of
        .metrics
        .iter()
        .filter_map(|metric| Some((metric, metric.effects.get(candidate)?)))
        .filter(|(metric, effect)| {
            effect.relative.is_some()
                || (metric.scale == MetricScale::Proportion && effect.absolute.is_some())
        })
        .collect();
    let ends = rows.iter().filter_map(|(_, effect)| effect.shown());
    let most = ends.fold(0.05_f64, |most, shown| most.max(shown.lower.abs()).max(shown.upper.abs()));
    let limit = nice(most.min(SHARE_MOST));
    let x = |value: f64| {
        let middle = f64::midpoint(PLOT.0, PLOT.1);
        middle + (value / limit).clamp(-1.0, 1.0) * (PLOT.1 - PLOT.0) / 2.0
    };
    let bottom = 22.0 + ROW * rows.len() as f64;
    let described = rows.iter().map(|(metric, effect)| {
        let (value, interval) = number_format::effect(metric, effect);
        format!("{}: {value} ({interval}), {}.", metric.name, judged(of, metric, effect).0)
    });
    let body = html! {
        @for tick in [-limit, -limit / 2.0, 0.0, limit / 2.0, limit] {
            line class=(if tick == 0.0 { "zero" } else { "axis" }) x1=(at(x(tick))) x2=(at(x(tick))) y1="8" y2=(at(bottom)) {}
            text class="small" text-anchor="middle" x=(at(x(tick))) y=(at(bottom + 16.0)) { (percent_tick(tick)) }
        }
        @for (index, (metric, effect)) in rows.iter().enumerate() {
            @if let Some(shown) = effect.shown() {
                @let y = 26.0 + ROW * index as f64;
                @let (word, class) = judged(of, metric, effect);
                @let (value, interval) = number_format::effect(metric, effect);
                text x="0" y=(at(y + 4.0)) { (clean(&metric.name)) }
                line class={ "bar " (class) } x1=(at(x(shown.lower))) x2=(at(x(shown.upper))) y1=(at(y)) y2=(at(y)) {}
                @for (end, side) in [(shown.lower, -1.0), (shown.upper, 1.0)] {
                    @if end.abs() > limit && end * side > 0.0 {
                        path class={ "dot " (class) } d=(arrow(x(end), y, side)) {}
                    } @else {
                        line class={ "bar " (class) } x1=(at(x(end))) x2=(at(x(end))) y1=(at(y - 4.0)) y2=(at(y + 4.0)) {}
                    }
                }
                @if shown.value.abs() <= limit { circle class={ "dot " (class) } cx=(at(x(shown.value))) cy=(at(y)) r="4.5" {} }
                text x=(at(PLOT.1 + 14.0)) y=(at(y + 4.0)) {
                    tspan class="strong" { (value) }
                    " (" (interval) ") "
                    tspan class="small" { (word) }
                }
            }
        }
    };
    Figure {
        title: format!("Effect of {name} on each outcome, with its {}", number_format::interval_name(of)),
        described: described.collect::<Vec<_>>().join(" "),
        height: bottom + 24.0,
        body,
    }
}

/// Where an interval continues beyond the edge.
fn arrow(x: f64, y: f64, side: f64) -> String {
    format!("M{} {}l{} 5l0 -10z", at(x + side * 5.0), at(y), at(-side * 8.0))
}

/// Whether an effect is good, in a word and in a class.
fn judged(of: &Comparison, metric: &Metric, effect: &Effect) -> (&'static str, &'static str) {
    let Some(shown) = effect.shown() else { return ("too early", "") };
    let holds = shown.excludes_zero() && effect.p_adjusted.or(effect.p).is_some_and(|p| p <= of.alpha);
    match (holds, metric.better, shown.value > 0.0) {
        (false, ..) => ("open", ""),
        (true, BetterDirection::Neither, _) => ("differs", ""),
        (true, BetterDirection::Up, true) | (true, BetterDirection::Down, false) => ("better", "good"),
        (true, BetterDirection::Up, false) | (true, BetterDirection::Down, true) => ("worse", "bad"),
    }
}

/// The interval of one effect as units came.
pub(super) fn path(of: &Comparison, metric: &Metric, effect: &Effect) -> Option<Figure> {
    const LEFT: f64 = 64.0;
    const RIGHT: f64 = WIDTH - 16.0;
    const TOP: f64 = 10.0;
    const BOTTOM: f64 = 190.0;
    let (first, last) = (effect.path.first()?, effect.path.last()?);
    if effect.path.len() < 2 {
        return None;
    }
    // The first intervals are as wide as they please; the scale is that of the later ones.
    let later = effect.path.iter().filter(|point| point.n >= last.n / 4);
    let (least, most) = later
        .fold((0.0_f64, 1e-9_f64), |(least, most), point| (least.min(point.lower), most.max(point.upper)));
    let step = nice((most - least) / 4.0);
    let (low, high) = ((least / step).floor(), (most / step).ceil());
    let ticks: Vec<f64> = (low as i32..=high as i32).map(|tick| f64::from(tick) * step).collect();
    let (low, high) = (low * step, high * step);
    let (from, to) = (first.n as f64, (last.n as f64).max(first.n as f64 + 1.0));
    let x = |n: u64| LEFT + (n as f64 - from) / (to - from) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - (value.clamp(low, high) - low) / (high - low) * (BOTTOM - TOP);
    let place = |point: &SequencePoint, value: f64| format!("{},{}", at(x(point.n)), at(y(value)));
    let upper = effect.path.iter().map(|point| place(point, point.upper));
    let lower = effect.path.iter().rev().map(|point| place(point, point.lower));
    let band: Vec<String> = upper.chain(lower).collect();
    let curve: Vec<String> = effect.path.iter().map(|point| place(point, point.value)).collect();
    let is_share = effect.relative.is_some() || metric.scale == MetricScale::Proportion;
    let tick_words = |tick: f64| if is_share { percent_tick(tick) } else { format!("{tick:+.2}") };
    let body = html! {
        polygon class="band" points=(band.join(" ")) {}
        @for tick in ticks {
            line class=(if tick == 0.0 { "zero" } else { "axis" }) x1=(at(LEFT)) x2=(at(RIGHT)) y1=(at(y(tick))) y2=(at(y(tick))) {}
            text class="small" text-anchor="end" x=(at(LEFT - 8.0)) y=(at(y(tick) + 4.0)) { (tick_words(tick)) }
        }
        polyline class="curve" points=(curve.join(" ")) {}
        text class="small" x=(at(LEFT)) y=(at(BOTTOM + 20.0)) { (first.n) " " (of.design.unit()) "s" }
        text class="small" text-anchor="end" x=(at(RIGHT)) y=(at(BOTTOM + 20.0)) { (last.n) " " (of.design.unit()) "s" }
    };
    let (value, interval) = number_format::effect(metric, effect);
    Some(Figure {
        title: format!(
            "{}: effect of {} as {}s came, with its {}",
            metric.name,
            effect.arm,
            of.design.unit(),
            number_format::interval_name(of)
        ),
        described: format!(
            "From {} to {} {}s; it ends at {value} ({interval}).",
            first.n,
            last.n,
            of.design.unit()
        ),
        height: BOTTOM + 30.0,
        body,
    })
}

/// The number of units of each arm, next to the intended one.
pub(super) fn allocation(of: &Comparison) -> Figure {
    let (observed, expected) = (&of.allocation.observed, &of.allocation.expected);
    let most = observed.iter().map(|n| *n as f64).chain(expected.iter().copied()).fold(1.0, f64::max);
    let x = |n: f64| n / most * (PLOT.1 - PLOT.0);
    let words = |arm: &ArmSummary, index: usize| {
        let expected = expected.get(index).copied().unwrap_or_default();
        format!(
            "{} of {} expected, {}",
            observed.get(index).copied().unwrap_or_default(),
            number_format::trimmed(expected),
            number_format::share(arm.share)
        )
    };
    let body = html! {
        @for (index, arm) in of.arms.iter().enumerate() {
            @let y = 8.0 + ROW * index as f64;
            @let got = observed.get(index).copied().unwrap_or_default() as f64;
            @let to_get = PLOT.0 + x(expected.get(index).copied().unwrap_or_default());
            text x="0" y=(at(y + 13.0)) { (clean(&arm.name)) }
            rect class="full" x=(at(PLOT.0)) y=(at(y)) width=(at(x(got))) height="18" {}
            line class="expected" x1=(at(to_get)) x2=(at(to_get)) y1=(at(y - 4.0)) y2=(at(y + 22.0)) {}
            text x=(at(PLOT.1 + 14.0)) y=(at(y + 13.0)) { (words(arm, index)) }
        }
    };
    let described =
        of.arms.iter().enumerate().map(|(index, arm)| format!("{}: {}.", arm.name, words(arm, index)));
    Figure {
        title: "Units of each arm; the dashed line is its planned number".to_owned(),
        described: described.collect::<Vec<_>>().join(" "),
        height: 12.0 + ROW * of.arms.len() as f64,
        body,
    }
}

/// The outcomes of the units of each arm.
pub(super) fn attrition(of: &Comparison) -> Figure {
    let words = |arm: &ArmSummary| {
        format!("{} known, {} not yet, {} invalid", arm.known, arm.not_yet_known, arm.invalid.len())
    };
    let body = html! {
        @for (index, arm) in of.arms.iter().enumerate() {
            @let y = 8.0 + ROW * index as f64;
            @let whole = (PLOT.1 - PLOT.0) / arm.assigned.max(1) as f64;
            @let (known, rest, lost) = (whole * arm.known as f64, whole * arm.not_yet_known as f64, whole * arm.invalid.len() as f64);
            text x="0" y=(at(y + 13.0)) { (clean(&arm.name)) }
            rect class="full" x=(at(PLOT.0)) y=(at(y)) width=(at(known)) height="18" {}
            rect class="rest" x=(at(PLOT.0 + known)) y=(at(y)) width=(at(rest)) height="18" {}
            rect class="lost" x=(at(PLOT.0 + known + rest)) y=(at(y)) width=(at(lost)) height="18" {}
            text x=(at(PLOT.1 + 14.0)) y=(at(y + 13.0)) { (words(arm)) }
        }
    };
    let described = of.arms.iter().map(|arm| format!("{}: {}.", arm.name, words(arm)));
    Figure {
        title: "Outcomes of each arm: known, not yet known, invalid, from left to right".to_owned(),
        described: described.collect::<Vec<_>>().join(" "),
        height: 12.0 + ROW * of.arms.len() as f64,
        body,
    }
}

/// 1, 2 or 5 times a power of ten, at least as large.
fn nice(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value * 0.999).unwrap_or(value)
}

fn percent_tick(share: f64) -> String {
    let hundred = 100.0 * share;
    let sign = if hundred > 0.0 { "+" } else { "" };
    format!("{sign}{} %", number_format::fixed(hundred, usize::from(hundred.abs() < 5.0 && hundred != 0.0)))
}
