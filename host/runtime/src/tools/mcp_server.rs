//! `baton mcp`: serves the tools on stdin and stdout of a separate process, and passes each call to the host over its control
//! socket. It waits, within bounds, for a host that restarts and a socket that breaks: the call is sent again under the same
//! key, and counts once. Keeps no state.

use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_inbox::{ToolBackend, ToolCall, ToolReply, ToolRequest};
use tokio::time::Instant;

use crate::config::HostConfig;
use crate::control::client::{connect, exchange};
use crate::control::message::CALL_BYTES;
use crate::control::message::{ControlMessage, ControlReply};
use crate::error::RuntimeError;
use crate::query;
use crate::tools::session_token::{SessionFile, SessionToken};

/// How long a host is waited for that is not there: a restart takes a few seconds, and clients wait a minute for a tool.
const RECONNECT: Duration = Duration::from_secs(20);
/// The same for a call that only reads, or if there is no run for which a host could come back: a late answer is worth little.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);
/// One exchange; the host answers when it is on disk.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two tries.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// For whom the tools are served.
#[derive(Clone, Debug)]
pub enum McpClient {
    /// The agent of one session, by the file that its host wrote for it.
    Session(PathBuf),
    /// The user, who works with the live run of this workspace.
    Person(HostConfig),
}

/// Serves the tools on stdin and stdout until the client hangs up.
///
/// # Errors
/// [`RuntimeError::Session`] if the session's file cannot be read, [`RuntimeError::Mcp`] if the client does not speak the
/// protocol. A missing host is an answer to a call, not an error.
pub async fn mcp(client: McpClient) -> Result<(), RuntimeError> {
    let bridge = match client {
        McpClient::Session(path) => {
            let file = SessionFile::read(&path).map_err(|source| RuntimeError::Session { path, source })?;
            ToolServer { token: Some(file.token), place: HostAddress::Socket(file.socket) }
        }
        McpClient::Person(config) => ToolServer { token: None, place: HostAddress::Workspace(config) },
    };
    baton_inbox::serve_stdio(bridge).await.map_err(|error| RuntimeError::Mcp(error.into()))
}

/// How the socket of the host is found.
enum HostAddress {
    Socket(PathBuf),
    /// Looked up with each call, since the first run of a workspace may come later than its client.
    Workspace(HostConfig),
}

impl HostAddress {
    fn socket(&self) -> Result<PathBuf, RuntimeError> {
        match self {
            HostAddress::Socket(path) => Ok(path.clone()),
            HostAddress::Workspace(config) => Ok(query::find_state(config)?.control_socket()),
        }
    }

    /// Whether a host may come back. The agent of a session has a run that is not over, or it would not be there.
    async fn host_expectation(&self) -> HostExpectation {
        let HostAddress::Workspace(config) = self else { return HostExpectation::Resume };
        let config = config.clone();
        match tokio::task::spawn_blocking(move || query::unfinished(&config)).await {
            Ok(Ok(None)) => HostExpectation::None,
            // An unreadable journal may still hold a run, so a host may come back.
            _ => HostExpectation::Resume,
        }
    }
}

/// Whether a host that is away may come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostExpectation {
    /// `baton resume` has something to take up.
    Resume,
    /// Every run of the workspace is over.
    None,
}

struct ToolServer {
    token: Option<SessionToken>,
    place: HostAddress,
}

impl ToolBackend for ToolServer {
    async fn call(&self, request: ToolRequest) -> ToolReply {
        let ToolRequest { key, call } = request;
        let only_reads = only_reads(&call);
        let word = if only_reads { "answered" } else { "recorded" };
        let not = |why: String| ToolReply::refused(format!("not {word}: {why}"));
        let message = ControlMessage::Call { token: self.token.clone(), key, call: Box::new(call) };
        let line = match serde_json::to_vec(&message) {
            Ok(mut line) if line.len() < CALL_BYTES => {
                line.push(b'\n');
                line
            }
            Ok(line) => {
                return not(format!(
                    "the call has {} bytes, at most {CALL_BYTES}: write it to a file and give its path",
                    line.len()
                ));
            }
            Err(error) => return not(error.to_string()),
        };
        let socket = match self.place.socket() {
            Ok(socket) => socket,
            Err(error) => return not(error.to_string()),
        };
        let begun = Instant::now();
        // Checked once, and only if needed: no host comes back to a workspace without unfinished work.
        let mut hope = None;
        loop {
            let why = match attempt(&socket, &line).await {
                Ok(ControlReply::Called(answer)) => return answer,
                Ok(ControlReply::Refused { why }) => return not(why),
                Ok(ControlReply::Ending) => "its host is ending".to_owned(),
                Ok(_) => return not("unexpected reply from the host".to_owned()),
                Err(why) => why,
            };
            let hope = match hope {
                Some(hope) => hope,
                None => *hope.insert(self.place.host_expectation().await),
            };
            let wait = retry_time(hope, only_reads);
            if begun.elapsed() >= wait {
                return not(format!(
                    "{why}, and none came back within {} s{}",
                    wait.as_secs(),
                    advice(hope, only_reads)
                ));
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

/// Nothing is lost where such a call is not answered.
fn only_reads(call: &ToolCall) -> bool {
    match call {
        ToolCall::ContextStatus(_) | ToolCall::ArtifactList(_) | ToolCall::ArtifactLoad(_) => true,
        ToolCall::ObjectiveUpdate(_)
        | ToolCall::DecisionRecord(_)
        | ToolCall::AttemptRecord(_)
        | ToolCall::GotchaRecord(_)
        | ToolCall::PatternRecord(_)
        | ToolCall::HandoffWrite(_)
        | ToolCall::SplitRequest(_)
        | ToolCall::ReviewSubmit(_)
        | ToolCall::ArtifactSave(_) => false,
    }
}

/// How long a host that is away is waited for.
fn retry_time(hope: HostExpectation, only_reads: bool) -> Duration {
    if only_reads || hope == HostExpectation::None { SHORT_TIMEOUT } else { RECONNECT }
}

/// What there is to do about a host that is away.
fn advice(hope: HostExpectation, only_reads: bool) -> &'static str {
    match (hope, only_reads) {
        (HostExpectation::None, _) => "; no run is unfinished here: `baton run` starts one",
        (HostExpectation::Resume, true) => {
            "; go on working, and ask again later: `baton resume` starts a host"
        }
        (HostExpectation::Resume, false) => {
            "; what was reported before is kept. Go on working, and report this again later: `baton resume` starts a \
             host"
        }
    }
}

/// One try. The error says why there is no answer; it is then unknown whether the host has taken the call, so the next try uses
/// the same key.
async fn attempt(socket: &Path, line: &[u8]) -> Result<ControlReply, String> {
    let mut stream = match connect(socket).await {
        Ok(Some(stream)) => stream,
        Ok(None) => return Err("no host works on this run just now".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    match tokio::time::timeout(EXCHANGE_TIMEOUT, exchange(&mut stream, line)).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(error)) => Err(format!("the connection to the host broke ({error})")),
        Err(_) => Err("the host does not answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use baton_core::RunId;
    use baton_inbox::{ContextStatus, GotchaRecord};
    use baton_store::JournalOptions;

    use super::*;
    use crate::config::RoleOverrides;
    use crate::test_support::{TestFixture as Stage, started};

    fn person(stage: &Stage) -> ToolServer {
        let place = HostAddress::Workspace(HostConfig {
            workspace: stage.workspace.clone(),
            state_root: stage.workspace.parent().unwrap().join("state"),
            own_exe: PathBuf::new(),
            environment: Default::default(),
            overrides: RoleOverrides::default(),
        });
        ToolServer { token: None, place }
    }

    fn gotcha() -> ToolCall {
        ToolCall::GotchaRecord(GotchaRecord { gotcha: "tabs".to_owned() })
    }

    fn status() -> ToolCall {
        ToolCall::ContextStatus(ContextStatus {})
    }

    #[tokio::test]
    async fn where_nothing_is_left_to_do_nobody_is_waited_for_long() {
        let stage = Stage::new(JournalOptions::default());
        let bridge = person(&stage);
        assert_eq!(bridge.place.host_expectation().await, HostExpectation::None);
        assert_eq!(
            (retry_time(HostExpectation::None, false), retry_time(HostExpectation::None, true)),
            (SHORT_TIMEOUT, SHORT_TIMEOUT)
        );
        let answer = bridge.call(ToolRequest { key: None, call: status() }).await;
        let expected = "not answered: no host works on this run just now, and none came back within 2 s; no run is \
                        unfinished here: `baton run` starts one";
        assert_eq!((answer.is_error, answer.text.as_str()), (true, expected));
    }

    #[tokio::test]
    async fn a_report_waits_for_the_host_of_an_unfinished_run_and_a_question_does_not() {
        let stage = Stage::new(JournalOptions::default());
        let run = RunId::new("r1");
        let mut recorder = stage.recorder(&run);
        recorder.record(started(&run)).unwrap();
        recorder.commit().await.unwrap();
        let hope = person(&stage).place.host_expectation().await;
        assert_eq!(hope, HostExpectation::Resume);
        assert_eq!(retry_time(hope, only_reads(&gotcha())), RECONNECT);
        assert_eq!(retry_time(hope, only_reads(&status())), SHORT_TIMEOUT);
        assert!(advice(hope, false).contains("what was reported before is kept"));
        assert!(advice(hope, true).contains("ask again later: `baton resume`"));
    }
}
