//! How other commands reach a run: they ask its host, or do the same in its journal where no host works.
//!
//! | file | what |
//! |---|---|
//! | `message.rs` | what can be asked, and the replies |
//! | `server.rs`, `requester.rs` | the listening side, and who asks |
//! | `client.rs` | the asking side |
//! | `offline_answer.rs` | an answer to a question of a run that no host works on |

pub(crate) mod client;
pub(crate) mod message;
pub(crate) mod offline_answer;
pub(crate) mod requester;
pub(crate) mod server;
mod socket_path;

use std::path::Path;

use client::{ask, connect, is_silent};
use message::{ControlMessage, ControlReply};

use crate::config::HostConfig;
use crate::error::RuntimeError;
use crate::policies::policy_swap::{self, OfflineChange, PolicyChange, PolicyUseRequest};
use crate::query;

/// Asks the host that holds the workspace. Where there is none, `Status` reads the journal, `Answer` writes to it (then
/// `resume` goes on with the answer), and `Stop` is an error.
///
/// # Errors
/// [`RuntimeError::NoHost`], [`RuntimeError::Refused`], and those of reading and writing the journal.
pub async fn control(config: &HostConfig, message: ControlMessage) -> Result<ControlReply, RuntimeError> {
    let state = query::find_state(config)?;
    if let Some(stream) = connect(&state.control_socket()).await? {
        match (ask(stream, &state.control_socket(), &message).await, &message) {
            // It is leaving, or has just begun: its journal says where the run stands.
            (Err(RuntimeError::Refused(_)), ControlMessage::Status) => {
                let view = Box::new(query::view_of(config, None)?);
                return Ok(ControlReply::View { view, live: true });
            }
            (Err(error), ControlMessage::Status) if is_silent(&error) => {
                let view = Box::new(query::view_of(config, None)?);
                return Ok(ControlReply::Silent { view, why: error.to_string() });
            }
            (answer, _) => return answer,
        }
    }
    match message {
        ControlMessage::Call { .. } | ControlMessage::Offer { .. } => {
            Err(RuntimeError::NoHost { workspace: config.workspace.clone(), what: "report to" })
        }
        ControlMessage::Status => {
            let view = Box::new(query::view_of(config, None)?);
            Ok(ControlReply::View { view, live: false })
        }
        ControlMessage::Stop => {
            Err(RuntimeError::NoHost { workspace: config.workspace.clone(), what: "stop" })
        }
        ControlMessage::UsePolicy(wanted) => {
            policy_swap::change_offline(config, OfflineChange::Use(*wanted)).await.map(ControlReply::Changed)
        }
        ControlMessage::RollBackPolicy { run, scope, decides } => {
            let change = OfflineChange::RollBack { run, scope, decides };
            policy_swap::change_offline(config, change).await.map(ControlReply::Changed)
        }
        ControlMessage::Answer { run, question, choice, message } => {
            let view = Box::new(offline_answer::answer(config, run, question, choice, message).await?);
            Ok(ControlReply::View { view, live: false })
        }
    }
}

/// Puts a policy in place of others, in a live run or in one that nobody works on now. `bytes` is its component; absent for the
/// one that stands behind every other. It decides from the next question on; what is being decided meanwhile is decided as before.
///
/// # Errors
/// [`RuntimeError::Refused`] where the component, its settings, the scope or the run is refused; then nothing has changed.
/// [`RuntimeError::State`] where it cannot be handed over, and what [`control`](crate::control()) says.
pub async fn use_policy(
    config: &HostConfig,
    mut wanted: PolicyUseRequest,
    bytes: Option<&[u8]>,
) -> Result<PolicyChange, RuntimeError> {
    let state = query::find_state(config)?;
    let handed = match bytes {
        Some(bytes) => Some(write_component(state.path(), bytes)?),
        None => None,
    };
    wanted.file = handed.as_ref().map(|file| file.path().to_owned());
    match control(config, ControlMessage::UsePolicy(Box::new(wanted))).await? {
        ControlReply::Changed(change) => Ok(change),
        ControlReply::PolicyRefused { policy, why } => Err(RuntimeError::PolicyRefused { policy, why }),
        ControlReply::Refused { why } => Err(RuntimeError::Refused(why)),
        _ => Err(RuntimeError::Refused("the host answered something else; is it an older one?".to_owned())),
    }
}

/// The bytes that the person looked at, where the host finds them and nobody else writes: what lies at the path that was named
/// may change at any time. Gone when the host has answered.
fn write_component(folder: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, RuntimeError> {
    use std::io::Write as _;
    let write = || {
        let mut file = tempfile::Builder::new().prefix("policy-").suffix(".wasm").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.flush()?;
        Ok(file)
    };
    write().map_err(|source: std::io::Error| RuntimeError::State {
        what: "cannot hand a policy over",
        dir: folder.to_owned(),
        source: source.into(),
    })
}
