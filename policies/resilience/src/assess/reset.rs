//! When a limit resets, as a text says it: a duration, a time of day, a date, or a count of seconds since the epoch.
//! Plain arithmetic; the only clock is the time at which the text was said.

mod calendar;
mod words;

use calendar::{CENTURY_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, YEAR_MS, midnight_of};
use words::{Word, words};

/// Behind one of these stands when it resets.
const CUES: [&str; 16] = [
    "reset",
    "resetat",
    "resetsat",
    "try again",
    "tryagain",
    "retry",
    "regain access",
    "available again",
    "available at",
    "available in",
    "please wait",
    "wait for",
    "wait until",
    "limit reached|",
    "limit until",
    "reached until",
];
/// So many cues of a text are looked at.
const MOST_CUES: usize = 32;
/// The time stands in so many bytes behind its cue.
const TIME_BYTES: usize = 96;
/// Words that may stand between a cue and the time.
const FILLERS: [&str; 24] = [
    "s",
    "at",
    "on",
    "in",
    "after",
    "is",
    "will",
    "be",
    "for",
    "about",
    "approximately",
    "until",
    "again",
    "access",
    "your",
    "it",
    "limit",
    "quota",
    "time",
    "delay",
    "tokens",
    "requests",
    "timestamp",
    "date",
];
/// So many of them.
const MOST_FILLERS: usize = 5;
/// Headers and fields behind which a number without a unit is one of seconds, unless they name another unit.
const SECONDS_CUES: [&str; 3] = ["retry-after", "retry_after", "retryafter"];

/// What a text is read against.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// When it was said, in ms since the epoch.
    pub(crate) said_ms: u64,
    /// When it is read.
    pub(crate) now_ms: u64,
    /// Minutes by which the reader's time zone is ahead of UTC.
    pub(crate) utc_offset_minutes: i32,
}

/// When the limit resets that a text is about, in ms since the epoch; `None` where it does not say so, or where what it
/// says is over, or is a wait of more than a year, or a date of another century.
///
/// A moment that the text gives in full (an epoch, an ISO date) is passed on although it is over: the limit was reset
/// then. A time of day is the next such time.
pub(crate) fn reset_ms(text: &str, clock: Clock) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let cues = CUES.iter().flat_map(|cue| lower.match_indices(cue));
    let mut starts: Vec<(usize, usize)> = cues.map(|(at, cue)| (at, at + cue.len())).collect();
    // Where two cues begin at one place, the longer one is meant.
    starts.sort_unstable_by_key(|(cue, start)| (*cue, usize::MAX - start));
    starts.dedup_by_key(|(cue, _)| *cue);
    starts.into_iter().take(MOST_CUES).find_map(|(cue, start)| {
        let end = lower.floor_char_boundary(start + TIME_BYTES);
        let seconds = SECONDS_CUES.iter().any(|field| lower[cue..].starts_with(field));
        time_in(&words(&lower[start..end]), seconds.then_some(SECOND_MS), clock)
    })
}

/// The first time in some words, with nothing but fillers before it.
fn time_in(words: &[Word<'_>], bare_unit_ms: Option<u64>, clock: Clock) -> Option<u64> {
    let mut bare_unit_ms = bare_unit_ms;
    let mut fillers = 0;
    for (place, word) in words.iter().enumerate() {
        let rest = &words[place..];
        if let Some(at) = moment(rest).filter(|at| at.saturating_sub(clock.now_ms) <= CENTURY_MS) {
            return Some(at);
        }
        if let Some(ms) = duration(rest, bare_unit_ms) {
            let at = clock.said_ms.saturating_add(ms);
            return (at > clock.now_ms && at - clock.now_ms <= YEAR_MS).then_some(at);
        }
        if let Some(at) = time_of_day(rest, clock) {
            return (at > clock.now_ms && at - clock.now_ms <= CENTURY_MS).then_some(at);
        }
        match word {
            Word::Name("ms") => bare_unit_ms = Some(1),
            Word::Name(name) if name.ends_with("seconds") => bare_unit_ms = Some(SECOND_MS),
            Word::Name(name) if FILLERS.contains(name) && fillers < MOST_FILLERS => fillers += 1,
            Word::Mark(_) => {}
            _ => return None,
        }
    }
    None
}

/// A moment that needs no clock: "1762952400", "2026-07-01T00:00:00Z", "Oct 7th, 2026 3:04 PM UTC".
fn moment(words: &[Word<'_>]) -> Option<u64> {
    if let Some(Word::Number { whole, digits, .. }) = words.first() {
        match digits {
            10 => return Some(whole * SECOND_MS),
            13 => return Some(*whole),
            _ => {}
        }
    }
    let (date, rest) = calendar::iso_date(words)?;
    let (of_day, rest) = calendar::clock_time(after_marks(rest, &["t", "at"])).unwrap_or((0, rest));
    let zone = calendar::zone(rest).unwrap_or(0);
    Some((midnight_of(date)? + of_day).saturating_add_signed(-(i64::from(zone) * MINUTE_MS as i64)))
}

/// "20s", "2 days 3 hours 5 minutes", "1m12.345s", "834ms"; in a field also "30".
fn duration(words: &[Word<'_>], bare_unit_ms: Option<u64>) -> Option<u64> {
    let mut total: Option<u64> = None;
    let mut words = words;
    while let Some(Word::Number { whole, thousandths, .. }) = words.first() {
        let unit_ms = match words.get(1) {
            Some(Word::Name(name)) => unit_ms(name),
            _ => None,
        };
        let Some(unit_ms) = unit_ms else {
            break;
        };
        let part = whole.checked_mul(unit_ms)?.checked_add(thousandths * unit_ms / 1000)?;
        total = Some(total.unwrap_or(0).checked_add(part)?);
        words = after_marks(&words[2..], &["and"]);
    }
    match (words.first(), bare_unit_ms) {
        (Some(Word::Number { whole, thousandths, .. }), Some(unit_ms)) if total.is_none() => {
            whole.checked_mul(unit_ms)?.checked_add(thousandths * unit_ms / 1000)
        }
        _ => total,
    }
}

fn unit_ms(name: &str) -> Option<u64> {
    match name {
        "ms" | "msec" | "millisecond" | "milliseconds" => Some(1),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(SECOND_MS),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(MINUTE_MS),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(HOUR_MS),
        "d" | "day" | "days" => Some(DAY_MS),
        "w" | "week" | "weeks" => Some(7 * DAY_MS),
        _ => None,
    }
}

/// "3:45pm", "15:45 (UTC)", "Oct 7 at 3pm", "Mon 12:00am", "tomorrow", "midnight".
fn time_of_day(words: &[Word<'_>], clock: Clock) -> Option<u64> {
    let (day, rest) = calendar::day(words).map_or((None, words), |(day, rest)| (Some(day), rest));
    let rest = after_marks(rest, &["at"]);
    let (of_day, rest) = match calendar::clock_time(rest) {
        Some(time) => time,
        None => (0, day.map(|_| rest)?),
    };
    let zone = calendar::zone(rest).unwrap_or(clock.utc_offset_minutes);
    let next_after = |from_ms| calendar::next(day, of_day, zone, from_ms);
    // Without seconds, a time is meant until its minute is over: said within it, it is about now and not about tomorrow.
    let minute_began = clock.said_ms - clock.said_ms % MINUTE_MS;
    let is_now =
        of_day.is_multiple_of(MINUTE_MS) && next_after(minute_began.checked_sub(1)?) == Some(minute_began);
    if is_now { Some(minute_began + MINUTE_MS) } else { next_after(clock.said_ms) }
}

fn after_marks<'w, 's>(words: &'w [Word<'s>], names: &[&str]) -> &'w [Word<'s>] {
    let skipped = words.iter().take_while(|word| match word {
        Word::Mark(mark) => matches!(mark, ',' | '|' | '·'),
        Word::Name(name) => names.contains(name),
        Word::Number { .. } => false,
    });
    &words[skipped.count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-06-01 12:00 UTC, a Monday; the clock on the wall shows 14:00.
    const CLOCK: Clock =
        Clock { said_ms: 1_780_315_200_000, now_ms: 1_780_315_200_000, utc_offset_minutes: 120 };

    fn minutes(text: &str) -> Option<i64> {
        reset_ms(text, CLOCK).map(|at| (at as i64 - CLOCK.now_ms as i64) / MINUTE_MS as i64)
    }

    #[test]
    fn durations() {
        let ms = |text| reset_ms(text, CLOCK).map(|at| at - CLOCK.now_ms);
        assert_eq!(ms("Please try again in 1m12.345s."), Some(72_345));
        assert_eq!(ms("Please try again in 834ms. Visit"), Some(834));
        assert_eq!(ms("retry after 20s"), Some(20_000));
        assert_eq!(ms("Please retry after 60 seconds."), Some(60_000));
        assert_eq!(ms("Please wait 45 minutes before trying again."), Some(45 * 60_000));
        assert_eq!(ms("retry-after: 30"), Some(30_000));
        assert_eq!(ms("{\"retry_after\":1.5}"), Some(1_500));
        assert_eq!(ms("\"retryDelay\":\"32s\""), Some(32_000));
        assert_eq!(ms("\"retryDelay\": \"37.881s\""), Some(37_881));
        assert_eq!(ms("x-ratelimit-reset-tokens: 6m0s"), Some(360_000));
        assert_eq!(minutes("try again in 2 days 3 hours 5 minutes"), Some((2 * 24 + 3) * 60 + 5));
        assert_eq!(minutes("Your quota will reset after 19h14m47s."), Some(19 * 60 + 14));
        assert_eq!(minutes("Try again in ~179 min."), Some(179));
        assert_eq!(ms("{\"resets_in_seconds\":90}"), Some(90_000));
        assert_eq!(ms("retry-after-ms: 1500"), Some(1_500));
        assert_eq!(ms("retry 3 of 10"), None);
        assert_eq!(ms("try again in 99999999999999 weeks"), None);
        assert_eq!(ms("try again in 3 years"), None);
    }

    #[test]
    fn times_of_day_are_the_next_such_time() {
        assert_eq!(minutes("resets 3:45pm"), Some(105));
        assert_eq!(minutes("resets at 15:45"), Some(105));
        assert_eq!(minutes("resets at 15:45 (UTC)"), Some(225));
        assert_eq!(minutes("resets 3pm (Europe/Stockholm)"), Some(60));
        assert_eq!(minutes("try again at 1:59 PM."), Some(24 * 60 - 1));
        assert_eq!(minutes("resets at 10:00 -05:00"), Some(180));
        assert_eq!(minutes("resets 5am PST"), Some(60));
        assert_eq!(minutes("usage limit reached until 15:45"), Some(105));
        assert_eq!(minutes("You have hit your usage limit until 15:45."), Some(105));
        assert_eq!(minutes("resets at midnight"), Some(10 * 60));
        assert_eq!(minutes("resets 12am"), Some(10 * 60));
        assert_eq!(minutes("resets at 25:00"), None);
        assert_eq!(minutes("resets soon"), None);
    }

    #[test]
    fn a_time_of_day_that_is_now_is_over_with_its_minute() {
        let said_ms = CLOCK.said_ms + 20_000;
        let clock = Clock { said_ms, now_ms: said_ms, ..CLOCK };
        let ms = |text| reset_ms(text, clock).map(|at| at - said_ms);
        assert_eq!(ms("try again at 2:00 PM."), Some(40_000));
        assert_eq!(ms("try again at 1:59 PM."), Some(24 * 3_600_000 - 80_000));
        assert_eq!(ms("resets Jun 1 at 2pm"), Some(40_000));
    }

    #[test]
    fn dates() {
        let day = 24 * 60;
        assert_eq!(minutes("resets Jun 3 at 2pm"), Some(2 * day));
        assert_eq!(minutes("resets Jun 3, 2pm"), Some(2 * day));
        assert_eq!(minutes("Try again at Jun 3rd, 2026 2:00 PM."), Some(2 * day));
        assert_eq!(minutes("try again at 3 Jun 2026 12:00:00 GMT"), Some(2 * day));
        assert_eq!(minutes("retry-after: Wed, 03 Jun 2026 12:00:00 GMT"), Some(2 * day));
        assert_eq!(minutes("resets Mon 1:59pm"), Some(7 * day - 1));
        assert_eq!(minutes("resets Tue 2:00pm"), Some(day));
        assert_eq!(minutes("Try again on Tuesday."), Some(10 * 60));
        assert_eq!(minutes("Please try again tomorrow."), Some(10 * 60));
        assert_eq!(minutes("You will regain access on 2026-06-03 at 12:00 UTC."), Some(2 * day));
        assert_eq!(minutes("(daily; resets 2026-06-03 12:00 UTC)"), Some(2 * day));
        assert_eq!(minutes("\"resetsAt\":\"2026-06-03T14:00:00+02:00\""), Some(2 * day));
        assert_eq!(minutes("resets May 3 at 2pm"), Some(336 * day));
        assert_eq!(minutes("try again at Jan 1st, 2100 12:00 AM."), Some(38702040));
        assert_eq!(minutes("resets Feb 31"), None);
    }

    #[test]
    fn epochs() {
        let at = |text| reset_ms(text, CLOCK);
        assert_eq!(at("Claude AI usage limit reached|1762952400"), Some(1_762_952_400_000));
        assert_eq!(at("limit reached|1780318800123."), Some(1_780_318_800_123));
        assert_eq!(at("{\"resetsAt\":1780318800}"), Some(1_780_318_800_000));
        assert_eq!(at("x-ratelimit-reset: 1780318800"), Some(1_780_318_800_000));
        assert_eq!(at("limit reached|99999999999999999999999"), None);
        assert_eq!(at("limit reached|9999999999"), None);
        assert_eq!(at("request id 1780318800"), None);
    }

    #[test]
    fn what_was_said_a_while_ago_counts_from_then() {
        let clock = Clock { said_ms: CLOCK.now_ms - 30_000, ..CLOCK };
        assert_eq!(reset_ms("retry after 40s", clock), Some(CLOCK.now_ms + 10_000));
        assert_eq!(reset_ms("retry after 20s", clock), None);
    }

    mod any_text {
        use super::*;
        use proptest::prelude::*;
        use proptest::{collection::vec, sample::select};

        fn text() -> impl Strategy<Value = String> {
            let pieces = [
                "resets ",
                "try again in ",
                "retry-after: ",
                "at ",
                "on ",
                "3",
                "45",
                "12",
                "2026",
                ":",
                "-",
                "+",
                "T",
                "Z",
                "pm",
                " ",
                "am",
                "oct ",
                "feb ",
                "mon ",
                "utc",
                "(",
                ")",
                ".",
                ",",
                "|",
                "1780318800",
                "days",
                "h",
                "m",
                "99999999999999999999",
                "é",
                "漢",
                "tomorrow",
                "midnight",
                "\"",
                "31",
                "00",
            ];
            prop_oneof![
                vec(select(pieces.to_vec()), 0..24).prop_map(|pieces| pieces.concat()),
                any::<String>()
            ]
        }

        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4096) })]

            #[test]
            fn never_panics_and_ends_within_a_century(
                text in text(), said_ms in any::<u64>(), now_ms in any::<u64>(), utc_offset_minutes in any::<i32>(),
            ) {
                let clock = Clock { said_ms, now_ms, utc_offset_minutes };
                if let Some(at) = reset_ms(&text, clock) {
                    prop_assert!(at.saturating_sub(now_ms) <= CENTURY_MS);
                }
                let clock = Clock { said_ms: CLOCK.now_ms - said_ms % DAY_MS, ..CLOCK };
                let full = text.contains("1780318800") || text.contains("2026") || text.len() > 200;
                if let Some(at) = reset_ms(&text, clock).filter(|_| !full && text.is_ascii()) {
                    let digits = text.bytes().filter(u8::is_ascii_digit).count();
                    prop_assert!(digits >= 10 || at > CLOCK.now_ms, "{text}: {at}");
                }
            }
        }
    }
}
