//! Writing to the standard streams without a panic when a reader goes away: stdout is data, stderr is progress.

use std::io::{self, Write as _};

/// Writes data. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn data(text: &str) -> anyhow::Result<()> {
    bytes(text.as_bytes())
}

/// Writes data as it is.
pub(crate) fn bytes(data: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("writing to standard output"))
        }
        _ => Ok(()),
    }
}

/// Writes a line of progress. Where stderr is gone there is nobody to tell.
pub(crate) fn progress(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Says what went wrong.
pub(crate) fn complain(error: &anyhow::Error) {
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

/// Rings the terminal's bell.
pub(crate) fn bell() {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(b"\x07").and_then(|()| stderr.flush());
}
