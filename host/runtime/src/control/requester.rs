//! Who asks for a change of a run. What an agent started may report; it may not answer questions, stop the run or choose its judge.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

use baton_agents::ProcessOrigin;
use baton_core::input::ChangeRequester;
use baton_core::{Input, RunId, SessionId};
use baton_store::StateDir;
use baton_store::secrets::mask;
use tokio::net::UnixStream;

use crate::error::RuntimeError;
use crate::private_file;

/// A longer command line is cut.
const COMMAND_BYTES: usize = 512;

/// In the place of the marks of a process that has dropped them.
const WITHOUT_MARK: &str = "below a host";

/// A process that an agent started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AgentRequester {
    /// Why it may change nothing.
    pub(crate) why: String,
    /// The session of the agent, if known.
    pub(crate) of: Option<SessionEvidence>,
}

/// How a session is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionEvidence {
    /// By the guard above the process; the mark of its folder.
    Mark(String),
    /// By its own door.
    SessionSocket(SessionId),
}

/// The process that made a connection, which may have ended and left the connection, and its number, to another one.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
enum HeldProcess {
    /// Held since then.
    Held(OwnedFd),
    /// It is gone.
    Ended,
    /// This system does not give it: its number has to do.
    Unknown,
}

impl HeldProcess {
    #[cfg(target_os = "linux")]
    fn at(stream: &UnixStream) -> Self {
        use std::os::fd::AsFd as _;

        match baton_sandbox::peer_process(stream.as_fd()) {
            Ok(Some(held)) => Self::Held(held),
            Ok(None) => Self::Unknown,
            Err(_) => Self::Ended,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn at(_stream: &UnixStream) -> Self {
        Self::Unknown
    }

    /// Whether the process still lives with this id: then no other process had the id since the connection was made.
    fn is_still(&self, pid: u32) -> bool {
        let held = match self {
            Self::Held(held) => held,
            Self::Ended => return false,
            Self::Unknown => return true,
        };
        let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", held.as_raw_fd()));
        let number = told.as_deref().unwrap_or_default().lines().find_map(|line| line.strip_prefix("Pid:"));
        // One that has ended has none.
        number.is_some_and(|number| number.trim().parse() == Ok(pid))
    }
}

/// The process at the other end of a connection; an error if it is an agent's.
pub(crate) fn at(stream: &UnixStream) -> Result<Option<ChangeRequester>, AgentRequester> {
    let Ok(peer) = stream.peer_cred() else { return Ok(None) };
    // A process in another namespace has no process id here.
    let Some(pid) = peer.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0) else {
        return Ok(None);
    };
    let caller = HeldProcess::at(stream);
    let origin = match baton_agents::process_origin(pid) {
        // The process has ended, so facts about its id may be those of a later process.
        _ if !caller.is_still(pid) => ProcessOrigin::Agent(None),
        origin => origin,
    };
    let refused = match origin {
        ProcessOrigin::NoAgent => None,
        ProcessOrigin::Agent(mark) => {
            Some(("was started by an agent (or has ended): an agent may report, and change", mark))
        }
        ProcessOrigin::Host => {
            let why = "was started by a command that Baton runs, such as a check: that may run what an agent wrote, and changes";
            Some((why, None))
        }
    };
    if let Some((why, mark)) = refused {
        let why = format!("process {pid} {why} nothing else of a run");
        return Err(AgentRequester { why, of: mark.map(SessionEvidence::Mark) });
    }
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let words = words.map(|word| String::from_utf8_lossy(word).into_owned());
    Ok(Some(ChangeRequester { uid: peer.uid(), pid, command: line(words) }))
}

/// Refuses if this process was started by an agent or by a command of a run; for runs without a host, which would check the
/// requester itself. If an agent of another run began this run, that agent may answer.
pub(crate) fn expect_no_agent(state: &StateDir, run: &RunId) -> Result<(), RuntimeError> {
    let folder = state.sessions().join(run.as_str());
    let folders = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let sessions = folders.map(|folder| baton_agents::mark_of(&folder.path()));
    let of_run: BTreeSet<String> = sessions.chain([baton_agents::mark_of(&folder)]).collect();
    let started_in = started_in(state, run);
    let refused = |by: &str| {
        Err(RuntimeError::Refused(format!(
            "this command was started by {by}: an agent may report, and change nothing else of a run"
        )))
    };
    let own = own_origin();
    if own.iter().any(|mark| of_run.contains(mark)) {
        return refused(&format!("an agent of run {run}, or by a check of it"));
    }
    if own.contains(WITHOUT_MARK) {
        return refused("a command that Baton runs, such as a check");
    }
    match own.iter().all(|mark| started_in.contains(mark)) {
        true => Ok(()),
        false => refused("an agent of another run, or by a check of one"),
    }
}

/// Refuses a request that only the user may make, if an agent or a command of a run started this process.
///
/// # Errors
/// [`RuntimeError::Refused`], with `what` in its message.
pub fn expect_person(what: &str) -> Result<(), RuntimeError> {
    match own_origin().is_empty() {
        true => Ok(()),
        false => Err(RuntimeError::Refused(format!(
            "{what} is for a person, and this command was started by an agent, or by a check of a run"
        ))),
    }
}

/// Notes the marks of the process that began a run, for the time in which no host works on it.
pub(crate) fn note_start(state: &StateDir, run: &RunId) -> std::io::Result<()> {
    private_file::write_json(&started_in_file(state, run), &own_origin())
}

/// Whether an agent or a check began a run, and this process does not descend from the same one: such a run is not the user's
/// own.
pub(crate) fn was_started_by_agent(state: &StateDir, run: &RunId) -> bool {
    !started_in(state, run).is_subset(&own_origin())
}

/// The marks that this process carries; empty for a process of the user.
fn own_origin() -> BTreeSet<String> {
    let mut marks = baton_agents::own_marks();
    if marks.is_empty() && baton_agents::descends_from_host() {
        marks.insert(WITHOUT_MARK.to_owned());
    }
    marks
}

/// The marks of the process that began the run. Empty if they were not noted: then only the user may change it.
fn started_in(state: &StateDir, run: &RunId) -> BTreeSet<String> {
    let noted = std::fs::read(started_in_file(state, run)).unwrap_or_default();
    serde_json::from_slice(&noted).unwrap_or_default()
}

fn started_in_file(state: &StateDir, run: &RunId) -> PathBuf {
    state.sessions().join(run.as_str()).join("started-in.json")
}

/// A request by this process, for a run without a host.
pub(crate) fn own_request(what: &str) -> Input {
    let words = std::env::args_os().map(OsString::into_encoded_bytes);
    let words = words.map(|word| String::from_utf8_lossy(&word).into_owned());
    let by = ChangeRequester {
        uid: rustix::process::getuid().as_raw(),
        pid: std::process::id(),
        command: line(words),
    };
    Input::ChangeRequested { what: what.to_owned(), by }
}

fn line(words: impl Iterator<Item = String>) -> String {
    let mut line = mask(&words.collect::<Vec<_>>().join(" ")).into_owned();
    line.truncate(line.floor_char_boundary(COMMAND_BYTES));
    line
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    use tokio::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_connection_is_of_no_process_once_the_one_that_made_it_has_ended() {
        // N6: another process has the connection then, and perhaps another one the number.
        let (own, _peer) = UnixStream::pair().unwrap();
        assert!(HeldProcess::at(&own).is_still(std::process::id()));
        assert!(!HeldProcess::at(&own).is_still(std::process::id() + 1));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        let script = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                      if os.fork() == 0: os.close(1); s.recv(1)\n";
        let maker = Command::new("python3").args(["-c", script]).arg(&path).stdout(Stdio::piped()).spawn();
        // Without Python there is nothing to see.
        let Ok(mut maker) = maker else { return };
        let (stream, _) = listener.accept().await.unwrap();
        let pid = maker.id();
        // Its end of the pipe is closed when both have gone on.
        maker.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        maker.wait().unwrap();
        assert!(!HeldProcess::at(&stream).is_still(pid));
        let who = at(&stream).unwrap_err();
        assert!(who.of.is_none() && who.why.contains("has ended"), "{}", who.why);
    }
}
