//! How far a check is: a bar on a terminal, elsewhere a line from time to time.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::stdio;

/// Time between two lines if there is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(15);
/// From this time on it is worth saying how fewer questions are put.
const LONG: Duration = Duration::from_secs(180);

/// Shows how many questions were put.
pub(crate) struct QuestionProgress {
    bar: Option<ProgressBar>,
    questions: u64,
    begun: Instant,
    last_line_at: Instant,
    /// The flag for fewer questions, until it was shown.
    fewer_hint: Option<&'static str>,
}

impl QuestionProgress {
    /// `fewer_hint` is the flag for fewer questions, if there is one.
    pub(crate) fn new(questions: u64, fewer_hint: Option<&'static str>) -> Self {
        let now = Instant::now();
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} questions, {eta} left");
            let bar = ProgressBar::new(questions);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { bar, questions, begun: now, last_line_at: now, fewer_hint }
    }

    /// Shows the number of asked questions.
    pub(crate) fn at(&mut self, asked: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(asked);
        }
        let Some(left) = left(self.begun.elapsed(), asked, self.questions) else { return };
        if left > LONG
            && let Some(flag) = self.fewer_hint.take()
        {
            self.say(&format!("{} for {} questions; {flag} asks fewer", about(left), self.questions));
        }
        if self.bar.is_none() && self.last_line_at.elapsed() >= LINE_INTERVAL {
            self.last_line_at = Instant::now();
            self.say(&format!("{asked} of {} questions, {} left", self.questions, about(left)));
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| stdio::progress(text)),
            None => stdio::progress(text),
        }
    }

    /// Takes the bar away.
    pub(crate) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// "about 12 min".
fn about(time: Duration) -> String {
    match time.as_secs() {
        0..60 => "less than a minute".to_owned(),
        seconds => format!("about {} min", seconds.div_ceil(60)),
    }
}

/// The time that the rest takes at the same speed.
fn left(elapsed: Duration, asked: u64, questions: u64) -> Option<Duration> {
    let rest = questions.saturating_sub(asked);
    let each = elapsed.checked_div(u32::try_from(asked).ok()?)?;
    Some(each.saturating_mul(u32::try_from(rest).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_told_from_what_was_done() {
        assert_eq!(left(Duration::from_secs(10), 0, 100), None);
        assert_eq!(left(Duration::from_secs(10), 10, 100), Some(Duration::from_secs(90)));
        assert_eq!(left(Duration::from_secs(10), 100, 100), Some(Duration::ZERO));
        assert_eq!(about(Duration::from_secs(59)), "less than a minute");
        assert_eq!(about(Duration::from_secs(61)), "about 2 min");
    }
}
