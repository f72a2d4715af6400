//! Days, times of day and zones: what they are in words, and when they come next. Proleptic Gregorian, no leap seconds.

use super::words::Word;

pub(super) const SECOND_MS: u64 = 1_000;
pub(super) const MINUTE_MS: u64 = 60 * SECOND_MS;
pub(super) const HOUR_MS: u64 = 60 * MINUTE_MS;
pub(super) const DAY_MS: u64 = 24 * HOUR_MS;
pub(super) const YEAR_MS: u64 = 366 * DAY_MS;
pub(super) const CENTURY_MS: u64 = 100 * YEAR_MS;

/// The end of the year 9999, after which dates are written otherwise.
const LAST_MS: u64 = 253_402_300_799_999;
/// Zones are at most this far from UTC.
const ZONE_MINUTES: i32 = 14 * 60;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// The first of January 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["thu", "fri", "sat", "sun", "mon", "tue", "wed"];

/// What the full names of months and days add to their first three letters.
const NAME_ENDINGS: [&str; 19] = [
    "uary", "ruary", "ch", "il", "e", "y", "ust", "tember", "t", "ober", "ember", "day", "sday", "rsday",
    "nesday", "urday", "r", "s", "rs",
];

/// A year, a month from 1 and a day from 1.
pub(super) type Date = (u64, u64, u64);

/// A day as a text names it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Day {
    Tomorrow,
    /// Days after a Thursday.
    Weekday(u64),
    /// A month and a day, and the year where it is given.
    Of(Option<u64>, u64, u64),
}

/// "2026-10-07".
pub(super) fn iso_date<'w, 's>(words: &'w [Word<'s>]) -> Option<(Date, &'w [Word<'s>])> {
    match words {
        [
            Word::Number { whole: year, digits: 4, .. },
            Word::Mark('-'),
            Word::Number { whole: month, .. },
            Word::Mark('-'),
            Word::Number { whole: day, .. },
            rest @ ..,
        ] => Some(((*year, *month, *day), rest)),
        _ => None,
    }
}

/// "oct 7th, 2026", "7 oct 2026", "wed, 07 oct 2026", "monday", "tomorrow", "midnight".
pub(super) fn day<'w, 's>(words: &'w [Word<'s>]) -> Option<(Day, &'w [Word<'s>])> {
    let (first, rest) = words.split_first()?;
    match first {
        Word::Name("tomorrow" | "midnight") => Some((Day::Tomorrow, rest)),
        Word::Name(name) => {
            if let Some(month) = index(&MONTHS, name) {
                let (day, rest) = number(rest, 2)?;
                let (year, rest) = year(rest);
                return Some((Day::Of(year, month + 1, day), rest));
            }
            let weekday = index(&WEEKDAYS, name)?;
            let dated = rest.strip_prefix(&[Word::Mark(',')]).unwrap_or(rest);
            match day(dated) {
                Some((Day::Of(year, month, day), rest)) => Some((Day::Of(year, month, day), rest)),
                _ => Some((Day::Weekday(weekday), rest)),
            }
        }
        Word::Number { .. } => {
            let (day, rest) = number(words, 2)?;
            let (Word::Name(name), rest) = rest.split_first()? else {
                return None;
            };
            let month = index(&MONTHS, name)? + 1;
            let (year, rest) = year(rest);
            Some((Day::Of(year, month, day), rest))
        }
        Word::Mark(_) => None,
    }
}

/// The place of a name by its first three letters.
fn index(names: &[&str], name: &str) -> Option<u64> {
    let whole = |short: &str| {
        let ending = name.strip_prefix(short);
        ending.is_some_and(|ending| ending.is_empty() || NAME_ENDINGS.contains(&ending))
    };
    names.iter().position(|short| whole(short)).map(|place| place as u64)
}

/// A number of at most so many digits, and what may hang on it: "7th".
fn number<'w, 's>(words: &'w [Word<'s>], most_digits: usize) -> Option<(u64, &'w [Word<'s>])> {
    match words {
        [Word::Number { whole, digits, .. }, Word::Name("st" | "nd" | "rd" | "th"), rest @ ..]
        | [Word::Number { whole, digits, .. }, rest @ ..]
            if *digits <= most_digits =>
        {
            Some((*whole, rest))
        }
        _ => None,
    }
}

fn year<'w, 's>(words: &'w [Word<'s>]) -> (Option<u64>, &'w [Word<'s>]) {
    let rest = words.strip_prefix(&[Word::Mark(',')]).unwrap_or(words);
    match rest {
        [Word::Number { whole, digits: 4, .. }, rest @ ..] => (Some(*whole), rest),
        _ => (None, words),
    }
}

/// A time of day in ms: "3pm", "3:45 pm", "15:45", "15:45:30.123".
pub(super) fn clock_time<'w, 's>(words: &'w [Word<'s>]) -> Option<(u64, &'w [Word<'s>])> {
    let (hour, mut rest) = number(words, 2)?;
    let mut parts = [0, 0];
    let mut found = 0;
    while let [Word::Mark(':'), Word::Number { whole, digits: 2, .. }, after @ ..] = rest {
        if found == parts.len() || *whole > 59 {
            return None;
        }
        parts[found] = *whole;
        found += 1;
        rest = after;
    }
    let half = match rest.first() {
        Some(Word::Name("am" | "a")) => Some(0),
        Some(Word::Name("pm" | "p")) => Some(12),
        _ => None,
    };
    let hour = match half {
        Some(half) if (1..=12).contains(&hour) => hour % 12 + half,
        None if found > 0 && hour < 24 => hour,
        _ => return None,
    };
    let rest = if half.is_some() { &rest[1..] } else { rest };
    Some((hour * HOUR_MS + parts[0] * MINUTE_MS + parts[1] * SECOND_MS, rest))
}

/// Zones that people name by letters, and that mean one thing only, in hours ahead of UTC.
const LETTERS: [(&str, i32); 14] = [
    ("pst", -8),
    ("pdt", -7),
    ("mst", -7),
    ("mdt", -6),
    ("cdt", -5),
    ("est", -5),
    ("edt", -4),
    ("bst", 1),
    ("cet", 1),
    ("cest", 2),
    ("eet", 2),
    ("eest", 3),
    ("jst", 9),
    ("kst", 9),
];

/// Minutes ahead of UTC where the words say so: "utc", "(gmt)", "z", "pst", "+02:00", "utc-5". A zone by its place is
/// that of whoever is told, since agents print the time of the machine that they run on; so it is none here.
pub(super) fn zone(words: &[Word<'_>]) -> Option<i32> {
    let words = words.strip_prefix(&[Word::Mark('(')]).unwrap_or(words);
    let (utc, words) = match words {
        [Word::Name("utc" | "gmt" | "z"), rest @ ..] => (true, rest),
        _ => (false, words),
    };
    let by_letters = match words {
        [Word::Name(letters), ..] => LETTERS.iter().find(|(name, _)| name == letters),
        _ => None,
    };
    if let Some((_, hours)) = by_letters {
        return Some(hours * 60);
    }
    let offset = match words {
        [Word::Mark(sign @ ('+' | '-')), Word::Number { whole, digits, .. }, rest @ ..] => {
            let minutes = match (digits, rest) {
                (1..=2, [Word::Mark(':'), Word::Number { whole: minutes, digits: 2, .. }, ..]) => {
                    whole * 60 + minutes
                }
                (1..=2, _) => whole * 60,
                (4, _) => whole / 100 * 60 + whole % 100,
                _ => return utc.then_some(0),
            };
            Some(if *sign == '-' { -(minutes as i32) } else { minutes as i32 })
        }
        _ => None,
    };
    offset.filter(|minutes| minutes.abs() <= ZONE_MINUTES).or(utc.then_some(0))
}

/// When a time of a day comes next after `from_ms`, both in ms since the epoch.
pub(super) fn next(day: Option<Day>, of_day: u64, zone_minutes: i32, from_ms: u64) -> Option<u64> {
    if from_ms > LAST_MS {
        return None;
    }
    let zone_ms = i64::from(zone_minutes.clamp(-ZONE_MINUTES, ZONE_MINUTES)) * MINUTE_MS as i64;
    let local = from_ms.checked_add_signed(zone_ms)?;
    let today = local / DAY_MS;
    let at = |days: u64| days.checked_mul(DAY_MS).and_then(|ms| ms.checked_add(of_day));
    let later = |days: u64, step: u64| {
        let at_day = at(days)?;
        if at_day > local { Some(at_day) } else { at(days.checked_add(step)?) }
    };
    let next = match day {
        None => later(today, 1)?,
        Some(Day::Tomorrow) => at(today.checked_add(1)?)?,
        Some(Day::Weekday(weekday)) => later(today.checked_add((weekday + 7 - today % 7) % 7)?, 7)?,
        Some(Day::Of(Some(year), month, day)) => midnight_of((year, month, day))? + of_day,
        Some(Day::Of(None, month, day)) => {
            let year = year_of(today);
            let this_year = midnight_of((year, month, day)).map(|ms| ms + of_day).filter(|at| *at > local);
            this_year.or_else(|| Some(midnight_of((year + 1, month, day))? + of_day))?
        }
    };
    next.checked_add_signed(-zone_ms)
}

/// The year of a day since the epoch.
fn year_of(days: u64) -> u64 {
    let estimate = 1970 + days / 366;
    let begins_after = |year: &u64| days_before((*year, 1, 1)) > days;
    (estimate..).find(|year| begins_after(&(year + 1))).unwrap_or(estimate)
}

/// The first ms of a date; `None` where there is no such date, or not in this age.
pub(super) fn midnight_of(date: Date) -> Option<u64> {
    let (year, month, day) = date;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    let exists = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=length).contains(&day);
    exists.then(|| days_before(date) * DAY_MS)
}

/// Days from the epoch to a date from 1970 on, by the usual count of years that begin in March.
fn days_before((year, month, day): Date) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}
