//! Points in time for people to read. The contract has them in ms since the Unix epoch.
//!
//! ```
//! assert_eq!(baton_sdk::time::utc(0), "1970-01-01T00:00:00Z");
//! ```

/// RFC 3339 in UTC with whole seconds.
///
/// The calendar is the proleptic Gregorian one, by the algorithm `civil_from_days` of Howard Hinnant's "chrono-Compatible
/// Low-Level Date Algorithms".
///
/// ```
/// assert_eq!(baton_sdk::time::utc(1_770_892_200_000), "2026-02-12T10:30:00Z");
/// ```
pub fn utc(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000;
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Years begin in March here, so that the day that some of them have more is their last.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::utc;

    proptest! {
        #[test]
        fn a_point_in_time_reads_as_jiff_writes_it(seconds in 0_u64..253_402_207_200) {
            let at = jiff::Timestamp::from_second(seconds as i64).expect("before the year 10,000");
            prop_assert_eq!(utc(seconds * 1_000 + 999), at.to_string());
        }
    }

    #[test]
    fn no_point_in_time_is_too_far() {
        assert!(utc(u64::MAX).ends_with('Z'));
        assert_eq!(utc(951_782_400_000), "2000-02-29T00:00:00Z");
    }
}
