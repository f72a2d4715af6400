//! Writing to the standard streams without a panic when a reader goes away: stdout is data, stderr is progress. What others wrote is made
//! visible here, so that a terminal shows it and does not obey it.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use baton_runtime::core::visible::visible;

use crate::render::terminal_style;

/// Writes a text. A reader that has seen enough (`| head`) is not a failure.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    write(cleaned(text, terminal_style::has_colour(&io::stdout())).as_bytes())
}

/// Writes data as it is to a file or a pipe; a terminal gets what it can show of it.
pub(crate) fn bytes(data: &[u8]) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        return self::data(&String::from_utf8_lossy(data));
    }
    write(data)
}

/// The text without anything that a terminal obeys, but for the colours that [`terminal_style`] paints.
pub(crate) fn cleaned(text: &str, has_colour: bool) -> Cow<'_, str> {
    if !has_colour {
        return visible(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let styled = terminal_style::style_at(&rest[at..]);
        shown.push_str(&visible(&rest[..at]));
        shown.push_str(&match styled {
            Some(style) => Cow::Borrowed(style),
            None => visible("\u{1b}"),
        });
        rest = &rest[at + styled.map_or(1, str::len)..];
    }
    shown.push_str(&visible(rest));
    Cow::Owned(shown)
}

fn write(data: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("writing to standard output"))
        }
        _ => Ok(()),
    }
}

/// Writes a line of progress. Errors are ignored: if stderr is gone, there is no other place for them.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", cleaned(line, terminal_style::has_colour(&io::stderr())));
}

/// Says what went wrong.
pub(crate) fn print_error(error: &anyhow::Error) {
    // Many errors quote their cause already: what was said once is not said again.
    let mut said = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    progress(&format!("baton: {said}"));
}

/// Puts a text in the place of this number of last rows, including the one of the cursor. Errors are ignored, as the terminal is gone then.
pub(crate) fn redraw(rows: usize, text: &str) {
    let up = if rows > 1 { format!("\u{1b}[{}A", rows - 1) } else { String::new() };
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(format!("\r{up}\u{1b}[J{text}").as_bytes()).and_then(|()| stderr.flush());
}

/// Rings the terminal's bell.
pub(crate) fn bell() {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(b"\x07").and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_colours_of_our_own_and_nothing_else() {
        let look = terminal_style::TerminalStyle { colour: true, ..terminal_style::TerminalStyle::bare(80) };
        let painted = look.paint(terminal_style::Tone::Bad, "x");
        assert_eq!(cleaned(&painted, true), painted);
        assert!(!cleaned(&painted, false).contains('\u{1b}'));
        let evil = "\u{1b}]52;c;UFdO\u{7} \u{1b}[2J \u{1b}[8mhidden \u{9b}2J";
        for has_colour in [false, true] {
            assert_eq!(cleaned(evil, has_colour), "␛]52;c;UFdO␇ ␛[2J ␛[8mhidden <U+009B>2J");
        }
    }
}
