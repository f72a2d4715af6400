//! How other commands reach a run: they ask its host, or do the same in its journal if no host works on it.
//!
//! | file | what |
//! |---|---|
//! | `message.rs` | the requests and the replies |
//! | `server.rs`, `requester.rs` | the listening side, and the identity of the requester |
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

/// Asks the host that holds the workspace. Without a host, `Status` reads the journal, `Answer` writes to it (`resume` then
/// continues with the answer), and `Stop` is an error.
///
/// # Errors
/// [`RuntimeError::NoHost`], [`RuntimeError::Refused`], and those of reading and writing the journal.
pub async fn control(config: &HostConfig, message: ControlMessage) -> Result<ControlReply, RuntimeError> {
    let state = query::find_state(config)?;
    if let Some(stream) = connect(&state.control_socket()).await? {
        match (ask(stream, &state.control_socket(), &message).await, &message) {
            // The host is ending or has just started: the journal has the state of the run.
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

/// Switches a run to a policy, whether a host works on it or not. `bytes` is its component; absent for the built-in policy. It
/// decides from the next question on; open questions are still decided by the old policy.
///
/// # Errors
/// [`RuntimeError::Refused`] if the component, its settings, the scope or the run is refused; then nothing has changed.
/// [`RuntimeError::State`] if the component cannot be handed over, and the errors of [`control`](crate::control()).
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

/// Writes the bytes that the user has checked into a private file for the host: the file at the given path may change at any
/// time. It is deleted when the host has answered.
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
