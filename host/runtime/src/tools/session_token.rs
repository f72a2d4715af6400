//! Authorises calls of the tools of a run. Each session has its own token, made when it is spawned and kept in a file that only
//! this user can read; a call with it can affect its own run only. `tool_calls.rs` handles the calls; `mcp_server.rs` passes
//! them on from another process.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::view::RunView;
use baton_core::{RunId, SessionId};
use baton_store::StateDir;
use serde::{Deserialize, Serialize};

use crate::private_file;
use crate::sessions;

/// Name of a session's file in its folder.
pub(crate) const FILE: &str = "door.json";
/// Name of the socket of a session that is confined, in the folder of its boundary.
pub(crate) const SOCKET: &str = "door.sock";
/// Version of its record.
const SCHEMA: u32 = 1;

/// Says that a call comes from this session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionToken {
    /// Of which run.
    pub run: RunId,
    /// Of which session.
    pub session: SessionId,
    /// What only that session knows.
    #[serde(rename = "token")]
    pub secret: String,
}

/// A session's file: its token, and where its host listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionFile {
    schema: u32,
    #[serde(flatten)]
    pub(crate) token: SessionToken,
    pub(crate) socket: PathBuf,
}

impl SessionFile {
    /// Reads one.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let file: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        if file.schema != SCHEMA {
            return Err(io::Error::other(format!(
                "it is of version {}, this baton reads {SCHEMA}",
                file.schema
            )));
        }
        Ok(file)
    }

    fn write(&self, folder: &Path) -> io::Result<PathBuf> {
        let path = folder.join(FILE);
        private_file::write_json(&path, self)?;
        Ok(path)
    }
}

/// The tokens of a run. Clones share them.
#[derive(Clone)]
pub(crate) struct SessionTokens {
    run: RunId,
    state: StateDir,
    tokens: Arc<Mutex<HashMap<SessionId, String>>>,
}

impl SessionTokens {
    pub(crate) fn new(run: RunId, state: StateDir) -> Self {
        Self { run, state, tokens: Arc::default() }
    }

    /// Makes the token of a session that is about to be spawned. Blocking; returns the path of its file. For a confined
    /// session, `within` is the folder of its boundary and the path of that folder inside the sandbox: a second file is written
    /// there.
    pub(crate) fn issue(
        &self,
        session: &SessionId,
        within: Option<(&Path, &Path)>,
    ) -> io::Result<(SessionToken, PathBuf)> {
        let secret = baton_agents::random_token()?;
        let token = SessionToken { run: self.run.clone(), session: session.clone(), secret: secret.clone() };
        let file = SessionFile { schema: SCHEMA, token: token.clone(), socket: self.state.control_socket() };
        let path = file.write(&sessions::folder(&self.state, &self.run, session))?;
        if let Some((folder, seen)) = within {
            SessionFile { socket: seen.join(SOCKET), ..file }.write(folder)?;
        }
        self.lock().insert(session.clone(), secret);
        Ok((token, path))
    }

    /// The session that a token speaks for, dead or alive.
    pub(crate) fn check(&self, view: &RunView, token: &SessionToken) -> Result<SessionId, String> {
        if token.run != self.run {
            return Err(format!(
                "this token is of run {}, and the host here works on run {}: a session reports to its own run only",
                token.run, self.run
            ));
        }
        let known = view.phases.iter().flat_map(|phase| &phase.sessions).find(|row| row.id == token.session);
        let Some(known) = known else {
            return Err(format!("run {} has no session {}", self.run, token.session));
        };
        match self.secret_of(&known.id) {
            Some(secret) if secret == token.secret => Ok(known.id.clone()),
            _ => Err(format!("this is not the token of session {}: nothing is taken with it", known.id)),
        }
    }

    /// What belongs to one session.
    pub(crate) fn folder(&self, session: &SessionId) -> PathBuf {
        sessions::folder(&self.state, &self.run, session)
    }

    /// From memory, or from the file that an earlier host wrote.
    fn secret_of(&self, session: &SessionId) -> Option<String> {
        if let Some(secret) = self.lock().get(session) {
            return Some(secret.clone());
        }
        let path = sessions::folder(&self.state, &self.run, session).join(FILE);
        let file = SessionFile::read(&path).ok()?;
        self.lock().insert(session.clone(), file.token.secret.clone());
        Some(file.token.secret)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
