//! The verdict in plain English: which situation calls for which advice, and how it is said. The only place that decides what a
//! reader is told to do; pure, and tested situation by situation.

use super::{Advice, Interval, Verdict};

/// So many times the units there are, and what is asked for is another experiment, not more of this one.
const OUT_OF_REACH: u64 = 10;

/// Everything that the verdict on one candidate rests on.
pub(super) struct Situation<'a> {
    pub(super) control: &'a str,
    pub(super) candidate: &'a str,
    /// "run", "pair", "task".
    pub(super) unit: &'a str,
    /// "CS", "CI".
    pub(super) interval: &'a str,
    /// 95.
    pub(super) percent: f64,
    /// More units may simply be added.
    pub(super) any_time: bool,
    /// Runs of all arms.
    pub(super) runs: u64,
    /// Why no number can be read.
    pub(super) broken: Option<String>,
    /// Guardrails that the candidate breaks.
    pub(super) alarms: Vec<String>,
    /// Where outcomes are missing unevenly.
    pub(super) attrition: Option<String>,
    pub(super) objectives: Question,
    pub(super) tokens: Question,
    /// Settled secondary outcomes.
    pub(super) also: Vec<String>,
}

/// A primary outcome.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// There is no answer.
    NotYet { why: String },
    /// Nobody measures it.
    NotMeasured,
    /// Share of control by which the candidate differs.
    Known { shown: Interval, is_settled: bool, margin: f64, more: Option<u64> },
}

/// Where a primary outcome stands, from the side of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Better,
    Worse,
    /// Any difference is within the margin.
    Same,
    /// It may be better, and is not worse by more than the margin.
    NotWorse,
    Open,
}

impl Question {
    fn shown(&self) -> Option<Interval> {
        match self {
            Question::NotYet { .. } | Question::NotMeasured => None,
            Question::Known { shown, .. } => Some(*shown),
        }
    }

    fn more(&self) -> Option<u64> {
        match self {
            Question::NotYet { .. } | Question::NotMeasured => None,
            Question::Known { more, .. } => *more,
        }
    }

    fn stands(&self, more_is_better: bool) -> Option<Stands> {
        let (shown, is_settled, margin) = match self {
            Question::NotYet { .. } => return None,
            // What nobody knows speaks neither for nor against.
            Question::NotMeasured => return Some(Stands::Same),
            Question::Known { shown, is_settled, margin, .. } => (shown, is_settled, margin),
        };
        let (least, most) =
            if more_is_better { (shown.lower, shown.upper) } else { (-shown.upper, -shown.lower) };
        Some(match () {
            () if least > -margin && most < *margin => Stands::Same,
            () if *is_settled && least > 0.0 => Stands::Better,
            () if *is_settled && most < 0.0 => Stands::Worse,
            () if least > -margin => Stands::NotWorse,
            () => Stands::Open,
        })
    }
}

/// Where there is nobody to compare with.
pub(super) fn no_candidate(control: Option<&str>) -> Vec<String> {
    let first = match control {
        None => "There are no arms, so there is nothing to compare.".to_owned(),
        Some(control) => format!("{control} is the only arm, so there is nothing to compare it with."),
    };
    vec![first, "Start the experiment again with a second arm.".to_owned()]
}

/// What to do, and why.
pub(super) fn say(of: &Situation<'_>) -> Verdict {
    let (decision, more_units, mut words) = advise(of);
    if decision != Advice::StopBroken && decision != Advice::KeepRunning && !of.also.is_empty() {
        words.push(format!("Settled as well, for {}: {}.", of.candidate, of.also.join("; ")));
    }
    Verdict { arm: Some(of.candidate.to_owned()), decision, words, more_units }
}

type Said = (Advice, Option<u64>, Vec<String>);

fn advise(of: &Situation<'_>) -> Said {
    let Situation { control, candidate, .. } = of;
    if let Some(why) = &of.broken {
        let words = vec![
            format!("Do not read the numbers: {}", lower_first(why, control, candidate)),
            "Stop the experiment, and find out whether runs get lost or are assigned wrongly before you start it again."
                .to_owned(),
        ];
        return (Advice::StopBroken, None, words);
    }
    if of.runs == 0 {
        let words = vec![
            "There are no runs yet, so there is nothing to say.".to_owned(),
            format!("Start work with `baton run`; it is given to {control} or {candidate} by itself."),
        ];
        return (Advice::KeepRunning, None, words);
    }
    if !of.alarms.is_empty() {
        let mut words = vec![format!("{candidate} does harm; keep {control}.")];
        words.extend(of.alarms.iter().cloned());
        words.push(format!(
            "Give {candidate} no new work until the cause is found; what it has begun may go on."
        ));
        return (Advice::KeepControl, None, words);
    }
    if let Some(why) = &of.attrition {
        let words = vec![
            format!("Do not decide yet: {}", lower_first(why, control, candidate)),
            "Look at those runs first (`baton status`): if they stopped because of their arm, the numbers flatter it; then go on."
                .to_owned(),
        ];
        return (Advice::KeepRunning, None, words);
    }
    let (Some(work), Some(price)) = (of.objectives.stands(true), of.tokens.stands(false)) else {
        return too_early(of);
    };
    let result = result(of, work);
    let settled = |decision: Advice, then: &str, next: String| {
        (decision, None, vec![format!("{result}; {then}."), next])
    };
    let (better, ship, next, stop) = if of.any_time {
        let next =
            format!("Make the policy of {candidate} the one of your workflows, and stop the experiment.");
        (Advice::Ship, "ship it", next, "Stop the experiment: more runs would not change this.".to_owned())
    } else {
        let next = format!("Make {candidate} an arm of an experiment next (`baton experiment start`).");
        let stop = "More runs would not change this: try another candidate.".to_owned();
        (Advice::Try, "try it on real work", next, stop)
    };
    let times = of.tokens.shown().map(|shown| times(shown.value)).unwrap_or_default();
    match (work, price) {
        (Stands::Better, Stands::Worse) => settled(
            better,
            &format!("{ship} if that is worth {times} the tokens, else keep {control}"),
            "More work for more tokens is yours to weigh: more runs would not settle it.".to_owned(),
        ),
        (Stands::Better, Stands::Open) => unsettled(of, &result, &of.tokens, "what it costs"),
        (Stands::Better, _) => settled(better, ship, next),
        (Stands::Worse, Stands::Better) => settled(
            Advice::KeepControl,
            &format!("keep {control}"),
            "It saves tokens by finishing less. Ship it only where unfinished work does not matter."
                .to_owned(),
        ),
        (Stands::Worse, _) => settled(Advice::KeepControl, &format!("keep {control}"), stop),
        (Stands::Same | Stands::NotWorse, Stands::Better) => settled(better, ship, next),
        (Stands::Same, Stands::Worse) => settled(Advice::KeepControl, &format!("keep {control}"), stop),
        (Stands::Same, Stands::Same) => settled(
            Advice::KeepControl,
            &format!("keep {control}: there is no difference that matters"),
            format!(
                "More runs would not change this. If you like {candidate} for another reason, nothing here speaks against it."
            ),
        ),
        (Stands::Same, _) => unsettled(of, &result, &of.tokens, "what it costs"),
        (Stands::NotWorse | Stands::Open, _) => {
            unsettled(of, &result, &of.objectives, "how much it finishes")
        }
    }
}

fn too_early(of: &Situation<'_>) -> Said {
    let why = [&of.objectives, &of.tokens].into_iter().find_map(|question| match question {
        Question::NotYet { why } => Some(why.as_str()),
        Question::Known { .. } | Question::NotMeasured => None,
    });
    let next = if of.any_time {
        "Keep running, and look again when more of them are done."
    } else {
        "Run more of them, and compare again."
    };
    let words =
        vec![format!("Too early to say: {}.", why.unwrap_or("there is no outcome yet")), next.to_owned()];
    (Advice::KeepRunning, None, words)
}

/// The question that is open, and what it would take.
fn unsettled(of: &Situation<'_>, result: &str, open: &Question, what: &str) -> Said {
    let Situation { control, candidate, unit, .. } = of;
    let more = open.more();
    let out_of_reach = more.is_none_or(|more| more > of.runs.max(1).saturating_mul(OUT_OF_REACH));
    let count = more.map(|more| counted(round_up(more), &format!("more {unit}")));
    let mut words = match (count, out_of_reach, of.any_time) {
        (Some(count), false, true) => vec![format!("{result}; keep running, {count} would settle it.")],
        (Some(count), false, false) => {
            vec![format!("{result}; not settled: {count}, fixed beforehand, would settle it.")]
        }
        (count, _, _) => {
            let count = count.unwrap_or_else(|| format!("more {unit}s than anyone has"));
            vec![
                format!("{result}; it would take {count} to settle."),
                format!(
                    "If that is too many, keep {control}: the difference is too small to be found this way."
                ),
            ]
        }
    };
    if !out_of_reach {
        words.push(format!(
            "Open is {what}; do not choose between {control} and {candidate} by these numbers yet."
        ));
    }
    (Advice::KeepRunning, more, words)
}

/// "eager finishes 6 % more objectives (95 % CS 1 to 11), at 1.3× tokens".
fn result(of: &Situation<'_>, work: Stands) -> String {
    let Situation { control, candidate, interval, percent, .. } = of;
    let Some(objectives) = of.objectives.shown() else { return String::new() };
    let hundred = |share: f64| 100.0 * share;
    let ends = objectives.map(hundred);
    let digits = digits(&ends);
    let (value, lower, upper) =
        (number(ends.value, digits), number(ends.lower, digits), number(ends.upper, digits));
    let so_far = if matches!(work, Stands::Better | Stands::Worse | Stands::Same) { "" } else { " so far" };
    let size = number(ends.value.abs(), digits);
    let much = match () {
        () if value == number(0.0, digits) => format!("as many objectives as {control}"),
        () if ends.value > 0.0 => format!("{size} % more objectives"),
        () => format!("{size} % fewer objectives"),
    };
    // Of fewer objectives, the ends are said as they are: how many per cent more, below 0 then.
    let range = format!("{percent:.0} % {interval} {lower} to {upper}");
    let range = if value == number(0.0, digits) { format!("{range} %") } else { range };
    let price = match of.tokens.shown() {
        None => "tokens not known".to_owned(),
        Some(tokens) if tokens.lower == tokens.upper && tokens.value == 0.0 => {
            "at the same tokens".to_owned()
        }
        Some(tokens) => {
            let ratio = tokens.map(|share| 1.0 + share);
            format!("at {} tokens ({} to {})", times(tokens.value), factor(ratio.lower), factor(ratio.upper))
        }
    };
    format!("{candidate} finishes {much}{so_far} ({range}), {price}")
}

/// "1.3×", from the share by which it is more.
fn times(share: f64) -> String {
    format!("{}×", factor(1.0 + share))
}

fn factor(ratio: f64) -> String {
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

/// A digit after the point where the numbers would else say nothing.
fn digits(of: &Interval) -> usize {
    let least =
        [of.lower.abs(), of.upper.abs(), of.upper - of.lower].into_iter().fold(f64::INFINITY, f64::min);
    usize::from(least < 1.0)
}

/// With a real minus, and none before a zero.
fn number(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !is_zero { format!("−{text}") } else { text }
}

/// Two digits are more than anybody can promise.
fn round_up(n: u64) -> u64 {
    let mut step = 1;
    while n / step >= 100 {
        step *= 10;
    }
    n.div_ceil(step) * step
}

/// "1 more run", "4,000 more runs".
fn counted(n: u64, thing: &str) -> String {
    let digits = n.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped} {thing}{}", if n == 1 { "" } else { "s" })
}

/// In the middle of a sentence, unless it begins with a name.
fn lower_first(sentence: &str, control: &str, candidate: &str) -> String {
    if sentence.starts_with(control) || sentence.starts_with(candidate) {
        return sentence.to_owned();
    }
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
