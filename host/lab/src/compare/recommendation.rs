//! The verdict in plain English: which situation calls for which advice, and its wording. The only module that decides the
//! advice to the reader; pure, and tested situation by situation.

use super::number_format::{amount, counted, digits, factor, number, round_up, times};
use super::{Advice, ConfidenceInterval, Recommendation};
use crate::run_metrics::CompletionBasis;

/// If an answer takes more than this multiple of the units so far, the advice is another experiment, not more units of this
/// one.
const OUT_OF_REACH: u64 = 10;

/// Everything that the verdict on one candidate rests on.
pub(super) struct RecommendationInput<'a> {
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
    /// Every run came to the very same as its partner of control.
    pub(super) identical: bool,
    /// Guardrails that the candidate breaks.
    pub(super) alarms: Vec<String>,
    /// Where outcomes are missing unevenly.
    pub(super) attrition: Option<String>,
    /// Runs that wait for the user, if they are enough to change the verdict.
    pub(super) waiting: Option<String>,
    pub(super) objectives: PrimaryOutcome,
    pub(super) tokens: PrimaryOutcome,
    /// Settled secondary outcomes.
    pub(super) also: SecondaryFindings,
    /// What objectives count.
    pub(super) completion: CompletionBasis,
}

/// Settled secondary outcomes, in a few words each.
#[derive(Clone, Debug, Default)]
pub(super) struct SecondaryFindings {
    /// All that got worse.
    pub(super) worse: Vec<String>,
    /// The first of the others.
    pub(super) others: Vec<String>,
    /// How many of the others are not named.
    pub(super) cut: usize,
}

/// A primary outcome.
#[derive(Clone, Debug)]
pub(super) enum PrimaryOutcome {
    /// There is no estimate yet.
    NotYet { why: String },
    /// No run has a value for it.
    NotMeasured,
    /// There is no estimate, and more units like these would not give one. With the means of control and the candidate.
    Inconclusive { why: String, means: Option<(f64, f64)> },
    /// Share of control by which the candidate differs. If control's mean is 0, or too small to divide by, the difference
    /// itself, with control's mean in `of_little`.
    Estimated {
        shown: ConfidenceInterval,
        of_little: Option<f64>,
        is_settled: bool,
        margin: f64,
        more: Option<u64>,
    },
}

/// The conclusion on a primary outcome, from the candidate's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutcomeConclusion {
    Better,
    Worse,
    /// Any difference is within the margin.
    Same,
    /// It may be better, and is not worse by more than the margin.
    NotWorse,
    Open,
    /// More units like these would not allow a conclusion.
    Unjudged,
}

impl PrimaryOutcome {
    fn shown(&self) -> Option<ConfidenceInterval> {
        match self {
            PrimaryOutcome::NotYet { .. }
            | PrimaryOutcome::NotMeasured
            | PrimaryOutcome::Inconclusive { .. } => None,
            PrimaryOutcome::Estimated { shown, .. } => Some(*shown),
        }
    }

    fn more(&self) -> Option<u64> {
        match self {
            PrimaryOutcome::NotYet { .. }
            | PrimaryOutcome::NotMeasured
            | PrimaryOutcome::Inconclusive { .. } => None,
            PrimaryOutcome::Estimated { more, .. } => *more,
        }
    }

    fn conclusion(&self, more_is_better: bool) -> Option<OutcomeConclusion> {
        let (shown, is_settled, margin) = match self {
            PrimaryOutcome::NotYet { .. } => return None,
            // An outcome that was not measured counts neither for the candidate nor against it.
            PrimaryOutcome::NotMeasured => return Some(OutcomeConclusion::Same),
            PrimaryOutcome::Inconclusive { .. } => return Some(OutcomeConclusion::Unjudged),
            PrimaryOutcome::Estimated { shown, is_settled, margin, .. } => (shown, is_settled, margin),
        };
        let (least, most) =
            if more_is_better { (shown.lower, shown.upper) } else { (-shown.upper, -shown.lower) };
        Some(match () {
            () if least > -margin && most < *margin => OutcomeConclusion::Same,
            () if *is_settled && least > 0.0 => OutcomeConclusion::Better,
            () if *is_settled && most < 0.0 => OutcomeConclusion::Worse,
            () if least > -margin => OutcomeConclusion::NotWorse,
            () => OutcomeConclusion::Open,
        })
    }
}

/// Advice if there is no candidate to compare with control.
pub(super) fn no_candidate(control: Option<&str>) -> Vec<String> {
    let first = match control {
        None => "There are no arms, so there is nothing to compare.".to_owned(),
        Some(control) => format!("{control} is the only arm, so there is nothing to compare it with."),
    };
    vec![first, "Start the experiment again with a second arm.".to_owned()]
}

/// What to do, and why.
pub(super) fn recommend(of: &RecommendationInput<'_>) -> Recommendation {
    let (decision, more_units, mut words) = advice_text(of);
    let rests_on_outcomes =
        decision != Advice::StopBroken && of.runs > 0 && of.alarms.is_empty() && !of.identical;
    if rests_on_outcomes {
        words.extend(unjudged(of));
    }
    let SecondaryFindings { worse, others, cut } = &of.also;
    if decision != Advice::StopBroken && !worse.is_empty() {
        let weigh = match decision {
            Advice::Ship => " Weigh that before you ship it.",
            Advice::Try => " Weigh that before you try it.",
            Advice::StopBroken | Advice::KeepControl | Advice::KeepRunning => "",
        };
        let harm = format!("Settled against {}: {}.{weigh}", of.candidate, worse.join("; "));
        words.insert(words.len().min(1 + of.alarms.len()), harm);
    }
    if decision != Advice::StopBroken && !others.is_empty() {
        let more = if *cut == 0 { String::new() } else { format!("; and {cut} more") };
        words.push(format!("Settled as well, for {}: {}{more}.", of.candidate, others.join("; ")));
    }
    if rests_on_outcomes && of.objectives.shown().is_some() {
        words.extend(claimed(of.completion).map(str::to_owned));
    }
    Recommendation { arm: Some(of.candidate.to_owned()), decision, words, more_units }
}

/// Says that the objectives rest on agents' claims, if they do.
fn claimed(completion: CompletionBasis) -> Option<&'static str> {
    match completion {
        CompletionBasis::Checked => None,
        CompletionBasis::Claimed => {
            Some("No objective of these runs has a check: they count as agents claim them.")
        }
        CompletionBasis::Mixed => Some("Runs of workflows without a check count as agents claim them."),
    }
}

type AdviceText = (Advice, Option<u64>, Vec<String>);

fn advice_text(of: &RecommendationInput<'_>) -> AdviceText {
    let RecommendationInput { control, candidate, .. } = of;
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
    if of.identical {
        let words = vec![
            format!("{candidate} came to the very same as {control} in every {}; keep {control}.", of.unit),
            format!(
                "Nothing that the policy of {candidate} decided changed a run. Look whether it is set otherwise than {control}, and \
                 whether it is asked where it decides otherwise (`baton policy try`): more of the same would show nothing."
            ),
        ];
        return (Advice::KeepControl, None, words);
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
    if let Some(waiting) = &of.waiting {
        let words = vec![
            format!("Do not decide yet: {waiting}."),
            "A run that waits counts in no number below, so the arms look better than they are. Answer these runs first \
             (`baton runs`, `baton answer RUN`), and read the report again."
                .to_owned(),
        ];
        return (Advice::KeepRunning, None, words);
    }
    let (Some(work), Some(price)) = (of.objectives.conclusion(true), of.tokens.conclusion(false)) else {
        return too_early(of);
    };
    if work == OutcomeConclusion::Unjudged {
        let words = vec![
            format!("Nothing can be said of what {candidate} finishes; keep {control}."),
            "Look at the runs first (`baton report`): work that comes to the same every time compares nothing."
                .to_owned(),
        ];
        return (Advice::KeepControl, None, words);
    }
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
        (OutcomeConclusion::Better, OutcomeConclusion::Worse) => settled(
            better,
            &format!("{ship} if that is worth {times} the tokens, else keep {control}"),
            "More work for more tokens is yours to weigh: more runs would not settle it.".to_owned(),
        ),
        (OutcomeConclusion::Better, OutcomeConclusion::Open) => unsettled(of, &result, OpenOutcome::Tokens),
        (OutcomeConclusion::Better, OutcomeConclusion::Unjudged) => {
            settled(better, &format!("{ship} if its tokens suit you, else keep {control}"), next)
        }
        (OutcomeConclusion::Same, OutcomeConclusion::Unjudged) => settled(
            Advice::KeepControl,
            &format!("keep {control}: there is no difference that matters in what it finishes"),
            stop,
        ),
        (OutcomeConclusion::Better, _) => settled(better, ship, next),
        (OutcomeConclusion::Worse, OutcomeConclusion::Better) => settled(
            Advice::KeepControl,
            &format!("keep {control}"),
            "It saves tokens by finishing less. Ship it only where unfinished work does not matter."
                .to_owned(),
        ),
        (OutcomeConclusion::Worse, _) => settled(Advice::KeepControl, &format!("keep {control}"), stop),
        (OutcomeConclusion::Same | OutcomeConclusion::NotWorse, OutcomeConclusion::Better) => {
            settled(better, ship, next)
        }
        (OutcomeConclusion::Same, OutcomeConclusion::Worse) => {
            settled(Advice::KeepControl, &format!("keep {control}"), stop)
        }
        (OutcomeConclusion::Same, OutcomeConclusion::Same) => settled(
            Advice::KeepControl,
            &format!("keep {control}: there is no difference that matters"),
            format!(
                "More runs would not change this. If you like {candidate} for another reason, nothing here speaks against it."
            ),
        ),
        (OutcomeConclusion::Same, _) => unsettled(of, &result, OpenOutcome::Tokens),
        (OutcomeConclusion::NotWorse | OutcomeConclusion::Open | OutcomeConclusion::Unjudged, _) => {
            unsettled(of, &result, OpenOutcome::Objectives)
        }
    }
}

fn too_early(of: &RecommendationInput<'_>) -> AdviceText {
    let why = [&of.objectives, &of.tokens].into_iter().find_map(|question| match question {
        PrimaryOutcome::NotYet { why } => Some(why.as_str()),
        PrimaryOutcome::Estimated { .. }
        | PrimaryOutcome::NotMeasured
        | PrimaryOutcome::Inconclusive { .. } => None,
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

/// Names each primary outcome that cannot be judged, with the means if they are known.
fn unjudged(of: &RecommendationInput<'_>) -> Vec<String> {
    let RecommendationInput { control, candidate, .. } = of;
    let outcomes = [("Objectives", "objectives", &of.objectives), ("Tokens", "tokens", &of.tokens)];
    let unjudged = outcomes.into_iter().filter_map(|(name, unit, question)| {
        let PrimaryOutcome::Inconclusive { why, means } = question else { return None };
        let means = means.map(|(a, b)| {
            format!(" ({} {unit} a run of {control}, {} of {candidate})", amount(a), amount(b))
        });
        let rest = match name {
            "Tokens" if of.objectives.shown().is_some() => "; the verdict rests on objectives alone",
            _ => "",
        };
        let means = means.unwrap_or_default();
        Some(format!(
            "{name} cannot be judged: {why}{means}. More runs of the same work would not change that{rest}."
        ))
    });
    unjudged.collect()
}

/// Which primary outcome is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenOutcome {
    Objectives,
    Tokens,
}

/// The open question, and the number of units that would settle it.
fn unsettled(of: &RecommendationInput<'_>, result: &str, open: OpenOutcome) -> AdviceText {
    let RecommendationInput { control, candidate, unit, .. } = of;
    let (open, what, other) = match open {
        OpenOutcome::Objectives => (&of.objectives, "how much it finishes", settled_tokens(of)),
        OpenOutcome::Tokens => (&of.tokens, "what it costs", settled_objectives(of)),
    };
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
                format!("{result}; it would take {count} to settle {what}."),
                other.unwrap_or_else(|| {
                    format!(
                        "If that is too many, keep {control}: the difference is too small to be found this way."
                    )
                }),
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

/// What to do with tokens that are settled, where objectives are not and never will be.
fn settled_tokens(of: &RecommendationInput<'_>) -> Option<String> {
    let RecommendationInput { control, candidate, .. } = of;
    let times = times(of.tokens.shown()?.value);
    let difference = "the difference in objectives is too small to be found this way";
    match of.tokens.conclusion(false)? {
        OutcomeConclusion::Better => {
            let fewer = -of.objectives.shown()?.lower;
            let fewer = match of.objectives {
                _ if fewer <= 0.0 => format!("no fewer objectives than {control}"),
                PrimaryOutcome::Estimated { of_little: Some(_), .. } => {
                    format!("up to {} fewer objectives a run", number(fewer, 1))
                }
                _ => format!("up to {} % fewer objectives", number(100.0 * fewer, 0)),
            };
            Some(format!(
                "Tokens are settled: {candidate} takes {times} those of {control}. If so many runs are too many, take {candidate} where it \
                 may finish {fewer}, else keep {control}: {difference}."
            ))
        }
        OutcomeConclusion::Worse => Some(format!(
            "Tokens are settled: {candidate} takes {times} those of {control}. If so many runs are too many, keep {control}: {difference}."
        )),
        OutcomeConclusion::Same
        | OutcomeConclusion::NotWorse
        | OutcomeConclusion::Open
        | OutcomeConclusion::Unjudged => None,
    }
}

/// What to do with objectives that are settled, where tokens are not and never will be.
fn settled_objectives(of: &RecommendationInput<'_>) -> Option<String> {
    let RecommendationInput { control, candidate, .. } = of;
    (of.objectives.conclusion(true)? == OutcomeConclusion::Better).then(|| {
        format!(
            "Objectives are settled: {candidate} finishes more. If so many runs are too many, take {candidate} where its tokens do not \
             matter, else keep {control}: the difference in tokens is too small to be found this way."
        )
    })
}

/// "eager finishes 6 % more objectives (95 % CS 1 to 11), at 1.3× tokens".
fn result(of: &RecommendationInput<'_>, work: OutcomeConclusion) -> String {
    let RecommendationInput { control, candidate, interval, percent, .. } = of;
    let Some(objectives) = of.objectives.shown() else { return String::new() };
    let hundred = |share: f64| 100.0 * share;
    let ends = objectives.map(hundred);
    let digits = digits(&ends);
    let (value, lower, upper) =
        (number(ends.value, digits), number(ends.lower, digits), number(ends.upper, digits));
    if let PrimaryOutcome::Estimated { of_little: Some(mean), .. } = of.objectives {
        let [value, lower, upper] = [objectives.value, objectives.lower, objectives.upper];
        let more = if value < 0.0 { "fewer" } else { "more" };
        let has = match number(mean, 1) {
            _ if mean <= 0.0 => "none".to_owned(),
            nearly if nearly == number(0.0, 1) => "hardly any".to_owned(),
            some => some,
        };
        return format!(
            "{candidate} finishes {} {more} objectives a run than {control}, which finishes {has} ({percent:.0} % {interval} \
             {} to {}), {}",
            number(value.abs(), 1),
            number(lower, 1),
            number(upper, 1),
            price_of(of)
        );
    }
    let so_far =
        if matches!(work, OutcomeConclusion::Better | OutcomeConclusion::Worse | OutcomeConclusion::Same) {
            ""
        } else {
            " so far"
        };
    let size = number(ends.value.abs(), digits);
    let much = match () {
        () if value == number(0.0, digits) => format!("as many objectives as {control}"),
        () if ends.value > 0.0 => format!("{size} % more objectives"),
        () => format!("{size} % fewer objectives"),
    };
    // Of fewer objectives, the ends are said as they are: how many per cent more, below 0 then.
    let range = format!("{percent:.0} % {interval} {lower} to {upper}");
    let range = if value == number(0.0, digits) { format!("{range} %") } else { range };
    let price = price_of(of);
    format!("{candidate} finishes {much}{so_far} ({range}), {price}")
}

/// "at 1.3× tokens (1.2 to 1.5)".
fn price_of(of: &RecommendationInput<'_>) -> String {
    match of.tokens.shown() {
        None if matches!(of.tokens, PrimaryOutcome::Inconclusive { .. }) => {
            "tokens cannot be judged".to_owned()
        }
        None => "tokens not known".to_owned(),
        Some(tokens) if tokens.lower == tokens.upper && tokens.value == 0.0 => {
            "at the same tokens".to_owned()
        }
        Some(tokens) => {
            let ratio = tokens.map(|share| 1.0 + share);
            format!("at {} tokens ({} to {})", times(tokens.value), factor(ratio.lower), factor(ratio.upper))
        }
    }
}

/// In the middle of a sentence, unless it begins with a name.
fn lower_first(sentence: &str, control: &str, candidate: &str) -> String {
    if sentence.starts_with(control) || sentence.starts_with(candidate) {
        return sentence.to_owned();
    }
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
