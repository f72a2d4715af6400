//! Who asks for a change of a run. What an agent started may report; it may not answer questions, stop the run or choose its judge.

use std::ffi::OsString;

use baton_core::Input;
use baton_core::input::Asker;
use baton_store::secrets::mask;
use tokio::net::UnixStream;

/// A longer command line is cut.
const COMMAND_BYTES: usize = 512;

/// Whoever is at the other end of a connection. The error says why it may change nothing.
pub(crate) fn at(stream: &UnixStream) -> Result<Option<Asker>, String> {
    let Ok(peer) = stream.peer_cred() else { return Ok(None) };
    // Of a process in another namespace there is no number.
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
        return Ok(None);
    };
    if baton_agents::is_of_a_session(pid) {
        return Err(format!(
            "process {pid} was started by an agent (or has ended): an agent may report, and change nothing else of a run"
        ));
    }
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    Ok(Some(Asker { uid: peer.uid(), pid, command: line(words) }))
}

/// This process, where no host works on the run.
pub(crate) fn own(what: &str) -> Input {
    let words = std::env::args_os().map(OsString::into_encoded_bytes);
    let words = words.map(|word| String::from_utf8_lossy(&word).into_owned());
    let by = Asker { uid: rustix::process::getuid().as_raw(), pid: std::process::id(), command: line(words) };
    Input::Asked { what: what.to_owned(), by }
}

fn line(words: impl Iterator<Item = String>) -> String {
    let mut line = mask(&words.collect::<Vec<_>>().join(" ")).into_owned();
    line.truncate(line.floor_char_boundary(COMMAND_BYTES));
    line
}
