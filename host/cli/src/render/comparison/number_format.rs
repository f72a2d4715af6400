//! Numbers of a comparison as people read them, with their units. Text and page use the same ones.

use baton_lab::compare::{
    AnalysisSchedule, ArmValue, Comparison, ConfidenceInterval, Effect, Metric, MetricScale, PairingGain,
};

/// Units without an outcome that are shown one by one.
pub(super) const INVALID_SHOWN: usize = 5;

/// With a real minus, and none before a zero.
pub(super) fn fixed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

fn signed(value: f64, digits: usize) -> String {
    let text = fixed(value, digits);
    let is_positive = value > 0.0 && text.chars().any(|c| matches!(c, '1'..='9'));
    if is_positive { format!("+{text}") } else { text }
}

/// "50 %".
pub(super) fn share(of: f64) -> String {
    format!("{} %", trimmed(100.0 * of))
}

/// A mean with the digits that it needs: "4.12", "12.3", "122k".
fn amount(value: f64) -> String {
    match value.abs() {
        0.0..10.0 => fixed(value, 2),
        10.0..1_000.0 => fixed(value, 1),
        1_000.0..100_000.0 => format!("{}k", fixed(value / 1e3, 1)),
        100_000.0..1_000_000.0 => format!("{}k", fixed(value / 1e3, 0)),
        1_000_000.0..1e12 => format!("{}M", fixed(value / 1e6, 1)),
        _ => format!("{value:.2e}"),
    }
}

pub(super) fn trimmed(value: f64) -> String {
    let text = fixed(value, 1);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The mean of an arm, whose unit stands beside it: "4.12", "44 %".
pub(super) fn mean(metric: &Metric, value: &ArmValue) -> String {
    match (value.mean, metric.scale) {
        (None, _) => "-".to_owned(),
        (Some(mean), MetricScale::Proportion) => share(mean),
        (Some(mean), _) => amount(mean),
    }
}

/// Whether an effect is shown in per cent of control, in points, or in the metric's own unit.
fn unit<'a>(metric: &'a Metric, effect: &Effect) -> (f64, &'a str) {
    match (effect.relative.is_some(), metric.scale) {
        (true, _) => (100.0, "%"),
        (false, MetricScale::Proportion) => (100.0, "points"),
        (false, _) => (1.0, &metric.unit),
    }
}

/// The effect, and its interval: ("+6 %", "1 to 11 %"); or the reason why there is none.
pub(super) fn effect(metric: &Metric, of: &Effect) -> (String, String) {
    let Some(shown) = of.shown() else {
        let cannot = of.cannot_judge.as_ref().map(|why| format!("cannot be judged: {why}"));
        return ("-".to_owned(), cannot.or_else(|| of.not_yet.clone()).unwrap_or_default());
    };
    let (factor, unit) = unit(metric, of);
    let shown = shown.map(|end| end * factor);
    let digits = digits(&shown);
    let said = format!("{} {unit}", signed(shown.value, digits));
    (said, format!("{} to {} {unit}", fixed(shown.lower, digits), fixed(shown.upper, digits)))
}

/// Enough to tell the ends apart, and no more.
fn digits(of: &ConfidenceInterval) -> usize {
    match of.upper - of.lower {
        width if width < 0.5 => 2,
        width if width < 5.0 => 1,
        _ => 0,
    }
}

/// A level: "0.031", "below 0.001".
pub(super) fn level(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { format!("{p:.3}") }
}

/// "95 % CS".
pub(super) fn interval_name(of: &Comparison) -> String {
    format!("{} % {}", trimmed(100.0 * (1.0 - of.alpha)), of.looks.interval())
}

/// Who got how many, of how many expected.
pub(super) fn allocation(of: &Comparison) -> String {
    let allocation = &of.allocation;
    let each = of.arms.iter().zip(allocation.observed.iter().zip(&allocation.expected));
    let each: Vec<String> = each
        .map(|(arm, (got, expected))| format!("{} {got} of {} expected", arm.name, trimmed(*expected)))
        .collect();
    let evidence = allocation
        .chi_square_p
        .zip(allocation.ln_e_value)
        .map(|(p, ln_e)| format!("; χ² p {}, ln e {}", level(p), fixed(ln_e, 2)));
    format!("{} ({}{})", allocation.words, each.join(", "), evidence.unwrap_or_default())
}

/// How the comparison was done, in a sentence.
pub(super) fn method(of: &Comparison) -> String {
    let name = interval_name(of);
    let alpha = trimmed(100.0 * of.alpha);
    match of.looks {
        AnalysisSchedule::AnyTime => format!(
            "Design: {}. {name} is a confidence sequence: it holds however often you look. If there is no \
             difference, one is reported at most {alpha} % of the time; p is adjusted for all outcomes of a role (Holm), so an outcome can be open \
             though its interval leaves out 0.",
            of.design.name()
        ),
        AnalysisSchedule::Once => format!(
            "Design: {}. {name} is a confidence interval for one look at a number of units that was fixed beforehand; p is adjusted \
             for all outcomes of a role (Holm), so an outcome can be open though its interval leaves out 0.",
            of.design.name()
        ),
    }
}

/// The gain of pairing.
pub(super) fn pairing(of: &Comparison, pairing: &PairingGain) -> String {
    let name = of
        .metrics
        .iter()
        .find(|metric| metric.id == pairing.metric)
        .map_or("", |metric| metric.name.as_str());
    let correlation =
        pairing.correlation.map_or_else(|| "not known".to_owned(), |correlation| fixed(correlation, 2));
    let control = of.arms.first().map_or("", |arm| arm.name.as_str());
    let saved = match pairing.saving {
        saving if saving >= 0.0 => format!("removes {} % of the variance", trimmed(100.0 * saving)),
        harm => format!("adds {} % of variance", trimmed(-100.0 * harm)),
    };
    format!(
        "Pairing of {} and {control}, {name}: {} pairs, correlation {correlation}; it {saved}.",
        pairing.arm, pairing.pairs
    )
}
