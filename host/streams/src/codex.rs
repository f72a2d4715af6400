//! Codex: the stream of `codex exec --json`, and that of `codex app-server`. This file has the common parts of their errors.

mod account_limit;
mod app_server;
mod exec;
mod refusals;
mod rpc;
mod tools;

use baton_core::facts::{ErrorSignal, SignalSource};
use baton_core::time::UnixMs;
use serde::de::MapAccess;

use crate::signal::{provider_error, signal};
use crate::wire::{BoundedMap, Count, Flag, LenientValue, Text, wire};

pub use app_server::CodexAppServerDecoder;
pub use exec::CodexExecDecoder;
pub(crate) use refusals::refusal;

wire! {
    /// An error, as `codex app-server` and codex-acp report it.
    struct CodexError<'a> {
        message: Text<'a> = "message",
        info: CodexErrorInfo<'a> = "codexErrorInfo",
        details: Text<'a> = "additionalDetails",
        will_retry: Flag = "willRetry",
    }

    /// The fields that some names of errors have.
    struct CodexErrorFields {
        status: Count = "httpStatusCode",
    }
}

/// The name of an error: a text, or an object of that one name with a status in it.
#[derive(Debug, Default)]
pub(crate) struct CodexErrorInfo<'a> {
    name: Text<'a>,
    status: Count,
}

impl<'de> LenientValue<'de> for CodexErrorInfo<'de> {
    fn borrowed(&mut self, text: &'de str) {
        self.name.borrowed(text);
    }

    fn text(&mut self, text: &str) {
        self.name.text(text);
    }

    fn map<A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error> {
        let mut named = BoundedMap::<'de, CodexErrorFields>::default();
        named.map(entries)?;
        if let Some((name, fields)) = named.0.into_iter().next() {
            *self = Self { name, status: fields.status };
        }
        Ok(())
    }
}

impl CodexErrorInfo<'_> {
    /// The name, if there is a meaningful one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.nonempty().filter(|name| *name != "other")
    }

    /// The HTTP status that led to it.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status.status()
    }
}

impl CodexError<'_> {
    /// An error with a name is the agent's own judgment; one without is the message of its provider. If a limit of the account
    /// has been reached, `resets_at` is when that limit ends.
    pub(crate) fn signal(&self, resets_at: Option<UnixMs>) -> ErrorSignal {
        let said = format!("{} {}", self.message.str(), self.details.str());
        let told = match self.info.name() {
            Some(name) => signal(SignalSource::AgentEvent, name, self.info.status(), said.trim()),
            None => provider_error(self.info.status(), said.trim()),
        };
        let resets_at = resets_at.filter(|_| self.info.name() == Some(USAGE_LIMIT)).or(told.resets_at);
        ErrorSignal { retrying: self.will_retry.is_true(), resets_at, ..told }
    }
}

/// The name of the error that a limit of the account makes.
const USAGE_LIMIT: &str = "usageLimitExceeded";
