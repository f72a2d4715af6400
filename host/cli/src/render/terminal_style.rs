//! What a terminal can show: colour, width, the local time. Status is always a word as well; colour only helps.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use anstyle::{AnsiColor, Style};
use baton_runtime::core::UnixMs;
use jiff::Zoned;
use jiff::tz::TimeZone;

/// Width of a table that is not shown on a terminal: a file, a pipe, a log.
const DEFAULT_WIDTH: u16 = 120;
/// Lines of a terminal that does not say how many it has.
const DEFAULT_HEIGHT: u16 = 24;
/// Below this a table is no table; lines are then cut by the terminal.
const WIDTH_MIN: u16 = 40;

/// How text is drawn for one stream.
#[derive(Clone, Debug)]
pub(crate) struct TerminalStyle {
    /// Whether colour is used.
    pub(crate) colour: bool,
    /// Columns of the terminal.
    pub(crate) width: u16,
    /// Lines of the terminal.
    pub(crate) height: u16,
    /// Lines are broken at the width; a log keeps them whole.
    pub(crate) wrap: bool,
    /// The terminal cannot move its cursor (`TERM=dumb`).
    pub(crate) dumb: bool,
    /// Where the reader is.
    pub(crate) zone: TimeZone,
    /// When the reader looks.
    pub(crate) now: UnixMs,
}

/// For data.
pub(crate) fn stdout() -> TerminalStyle {
    detect(&std::io::stdout())
}

/// For progress.
pub(crate) fn stderr() -> TerminalStyle {
    detect(&std::io::stderr())
}

fn detect(stream: &(impl IsTerminal + AsFd)) -> TerminalStyle {
    let variable = |name: &str| std::env::var(name).ok();
    let terminal = stream.is_terminal();
    let size = rustix::termios::tcgetwinsize(stream).ok();
    let columns = size.map(|size| size.ws_col).filter(|columns| *columns > 0);
    let lines = size.map(|size| size.ws_row).filter(|lines| *lines > 0);
    TerminalStyle {
        colour: has_colour(stream),
        width: columns.unwrap_or(DEFAULT_WIDTH).max(WIDTH_MIN),
        height: lines.unwrap_or(DEFAULT_HEIGHT),
        wrap: terminal,
        dumb: variable("TERM").is_some_and(|term| term == "dumb"),
        zone: TimeZone::system(),
        now: now(),
    }
}

fn now() -> UnixMs {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Whether a stream is painted.
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    wants_colour(|name| std::env::var(name).ok(), stream.is_terminal())
}

/// The escape sequence at the start of a text, if it is one that [`TerminalStyle::paint`] or a table writes.
pub(crate) fn style_at(text: &str) -> Option<&str> {
    let of_paint = ["0", "1", "2", "31", "32", "33", "36"];
    let of_tables = ["38;5;1", "38;5;2", "38;5;3", "38;5;6", "38;5;8", "39"];
    let codes = [&of_paint[..], &of_tables].concat();
    let inner = text.strip_prefix("\u{1b}[")?;
    let (code, _) = inner.split_once('m')?;
    codes.contains(&code).then(|| &text[..code.len() + 3])
}

/// NO_COLOR wins over CLICOLOR_FORCE, which wins over everything that is guessed (no-color.org, bixense.com/clicolors).
fn wants_colour(variable: impl Fn(&str) -> Option<String>, terminal: bool) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    if variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") {
        return true;
    }
    terminal
        && variable("TERM").is_none_or(|term| term != "dumb")
        && variable("CLICOLOR").is_none_or(|value| value != "0")
}

impl TerminalStyle {
    /// Without anything that depends on a terminal: for tests.
    #[cfg(test)]
    pub(crate) fn bare(width: u16) -> TerminalStyle {
        // 2026-02-12, 10:30:20 UTC.
        let now = UnixMs(1_770_892_220_000);
        let zone = TimeZone::UTC;
        TerminalStyle { colour: false, width, height: DEFAULT_HEIGHT, wrap: false, dumb: false, zone, now }
    }

    /// "12:03:07" where the reader is.
    pub(crate) fn clock(&self, at: UnixMs) -> String {
        self.zoned(at).map_or("--:--:--".to_owned(), |at| at.strftime("%H:%M:%S").to_string())
    }

    /// "2026-02-12 10:30" where the reader is.
    pub(crate) fn day_and_time(&self, at: UnixMs) -> String {
        self.zoned(at).map_or("-".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M").to_string())
    }

    /// "12:03:07" on the day of `now`; "2026-02-15 12:03 (in 3 days)" on another one.
    pub(crate) fn moment(&self, at: UnixMs, now: UnixMs) -> String {
        let days = match (self.zoned(at), self.zoned(now)) {
            (Some(at), Some(now)) => (at.date() - now.date()).get_days(),
            _ => 0,
        };
        match days {
            0 => self.clock(at),
            1 => format!("{} (tomorrow)", self.day_and_time(at)),
            days if days > 1 => format!("{} (in {days} days)", self.day_and_time(at)),
            _ => self.day_and_time(at),
        }
    }

    /// The same in fewer characters: "12:03:07", "02-15 12:03".
    pub(crate) fn short_moment(&self, at: UnixMs) -> String {
        match (self.zoned(at), self.zoned(self.now)) {
            (Some(then), Some(now)) if then.date() != now.date() => then.strftime("%m-%d %H:%M").to_string(),
            _ => self.clock(at),
        }
    }

    fn zoned(&self, at: UnixMs) -> Option<Zoned> {
        let at = i64::try_from(at.0).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok())?;
        Some(at.to_zoned(self.zone.clone()))
    }

    /// Draws a text in a tone.
    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour || tone == Tone::Plain {
            return text.to_owned();
        }
        let style = tone.style();
        format!("{style}{text}{style:#}")
    }

    /// Breaks a text at the width of the terminal, with an indent for every line but the first. Escapes are not
    /// expected in it. Words that are longer than a line stay whole, since paths are copied.
    pub(crate) fn wrap(&self, text: &str, indent: usize) -> String {
        let room = usize::from(self.width).saturating_sub(indent);
        // With less room than this every line would be one word.
        if !self.wrap || room < 24 {
            return text.to_owned();
        }
        let mut wrapped = String::new();
        let mut used = 0;
        for word in text.split(' ') {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > room {
                wrapped.push('\n');
                wrapped.extend(std::iter::repeat_n(' ', indent));
                used = 0;
            } else if used > 0 {
                wrapped.push(' ');
                used += 1;
            }
            wrapped.push_str(word);
            used += length;
        }
        wrapped
    }
}

/// What a colour is to say; the word beside it says it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing special.
    Plain,
    /// Of less interest.
    Dim,
    /// Of more interest.
    Strong,
    /// Went well.
    Good,
    /// Worth a look.
    Warn,
    /// Went wrong.
    Bad,
    /// A change of hands.
    Handoff,
}

impl Tone {
    /// [`style_at`] knows each of these.
    fn style(self) -> Style {
        match self {
            Tone::Plain => Style::new(),
            Tone::Dim => Style::new().dimmed(),
            Tone::Strong => Style::new().bold(),
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Warn => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Handoff => AnsiColor::Cyan.on_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_the_conventions() {
        let asks = |set: &[(&str, &str)], terminal| {
            wants_colour(
                |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()),
                terminal,
            )
        };
        assert!(asks(&[], true));
        assert!(!asks(&[], false));
        assert!(!asks(&[("NO_COLOR", "1")], true));
        assert!(asks(&[("NO_COLOR", "")], true));
        assert!(asks(&[("CLICOLOR_FORCE", "1")], false));
        assert!(!asks(&[("CLICOLOR_FORCE", "0")], false));
        assert!(!asks(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true));
        assert!(!asks(&[("TERM", "dumb")], true));
        assert!(!asks(&[("CLICOLOR", "0")], true));
    }

    #[test]
    fn a_moment_on_another_day_has_a_date() {
        let look = TerminalStyle::bare(80);
        let later = |hours: u64| UnixMs(look.now.0 + hours * 3_600_000);
        assert_eq!(look.moment(later(1), look.now), "11:30:20");
        assert_eq!(look.moment(later(14), look.now), "2026-02-13 00:30 (tomorrow)");
        assert_eq!(look.moment(later(72), look.now), "2026-02-15 10:30 (in 3 days)");
        assert_eq!(
            (look.short_moment(later(1)), look.short_moment(later(72))),
            ("11:30:20".into(), "02-15 10:30".into())
        );
    }

    #[test]
    fn lines_are_broken_for_a_terminal_only() {
        let text = "a sentence that is longer than the narrow terminal it is shown on";
        assert_eq!(TerminalStyle::bare(40).wrap(text, 4), text);
        let wrapped = TerminalStyle { wrap: true, ..TerminalStyle::bare(40) }.wrap(text, 4);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 40), "{wrapped}");
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("    ")), "{wrapped}");
        assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>().join(" "), text);
    }
}
