//! Formats the numbers of a verdict for people, independent of the metric.

use super::ConfidenceInterval;

/// "1.3×", from the share by which it is more.
pub(super) fn times(share: f64) -> String {
    format!("{}×", factor(1.0 + share))
}

pub(super) fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 9.5 => format!("{ratio:.0}"),
        ratio if (0.85..1.15).contains(&ratio) || ratio < 0.095 => format!("{ratio:.2}"),
        ratio => format!("{ratio:.1}"),
    }
}

/// "+12 %", "−3 %", "+0.4 %".
pub(super) fn percent_change(share: f64) -> String {
    let hundred = 100.0 * share;
    let digits = usize::from(hundred.abs() < 1.0);
    let sign = if hundred > 0.0 { "+" } else { "" };
    format!("{sign}{} %", number(hundred, digits))
}

/// "+0.24", "−3.1".
pub(super) fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", number(value, if value.abs() < 1.0 { 2 } else { 1 }))
}

/// Hundredths of a share: "−3", "0.4".
pub(super) fn points(share: f64) -> String {
    let hundred = 100.0 * share;
    number(hundred, usize::from(hundred.abs() < 1.0))
}

/// Digits after the point: one if an end or the width of the interval is below 1, else none.
pub(super) fn digits(of: &ConfidenceInterval) -> usize {
    let least =
        [of.lower.abs(), of.upper.abs(), of.upper - of.lower].into_iter().fold(f64::INFINITY, f64::min);
    usize::from(least < 1.0)
}

/// With a real minus, and none before a zero.
pub(super) fn number(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// Rounds up to two significant digits; an estimate of missing units is not more precise than that.
pub(super) fn round_up(n: u64) -> u64 {
    let mut step = 1;
    while n / step >= 100 {
        step *= 10;
    }
    n.div_ceil(step) * step
}

/// "0", "4.5", "57,412".
pub(super) fn amount(of: f64) -> String {
    if of > 0.0 && of < 100.0 { number(of, 1) } else { grouped(of.round() as u64) }
}

/// "1 more run", "4,000 more runs".
pub(super) fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", grouped(n), if n == 1 { "" } else { "s" })
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
