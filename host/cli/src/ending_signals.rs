//! Signals by which the user or the system ends this program.

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, SIGTERM, and the end of the terminal. One that was to be ignored when this program began (`nohup baton run`) is ignored.
pub(crate) struct EndingSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
}

impl EndingSignals {
    pub(crate) fn listen() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("listening for signals");
        // To listen would end that it is ignored.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = ends_on_hangup(&status).then(|| listen(SignalKind::hangup())).transpose()?;
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup,
        })
    }

    pub(crate) async fn next(&mut self) {
        let Self { interrupt, terminate, hangup } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            () = hung_up => {}
        }
    }
}

/// From the kernel's status of this process: a mask in which the lowest bit stands for SIGHUP. False if that is not known.
fn ends_on_hangup(status: &str) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hangup_that_was_to_be_ignored_ends_nothing() {
        assert!(ends_on_hangup("Name:\tbaton\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"));
        assert!(!ends_on_hangup("SigIgn:\t0000000000001001\n"));
        assert!(!ends_on_hangup(""));
    }
}
