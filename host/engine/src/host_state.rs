//! What one instance holds on the host's side: the texts of its question, its settings, its log, its limits. It
//! lives as long as one decision.

use std::sync::Arc;

use baton_core::observation::{PolicyRequest, QueryFacts};
use baton_core::{Digest, TextBlob};
use serde::{Deserialize, Serialize};
use wasmtime::ResourceLimiter;

use crate::grants::ComponentGrants;
use crate::layer::NextPolicies;
use crate::limits::DecisionLimits;
use crate::patterns::{PreparedSettings, folded};

/// A note of a policy, for the person who debugs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyLogLine {
    /// How loud.
    pub level: LogLevel,
    /// What, at most [`LOG_BYTES`](crate::limits::LOG_BYTES).
    pub message: String,
}

/// `log.level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// For the author.
    Debug,
    /// For the curious.
    Info,
    /// For everyone.
    Warn,
}

/// Most names listed (as `wit/imports.wit` promises).
const ARTIFACT_NAMES: usize = 256;

/// What a component can look up of a question.
#[derive(Clone, Default)]
pub(crate) struct Lookups {
    texts: Vec<TextBlob>,
    facts: QueryFacts,
}

impl From<&PolicyRequest> for Lookups {
    fn from(question: &PolicyRequest) -> Self {
        Self { texts: question.texts.clone(), facts: question.facts.clone() }
    }
}

/// The data of a store.
pub(crate) struct HostState {
    lookups: Lookups,
    /// The texts that were searched, folded: most policies search one text for several lists.
    folded: Vec<Option<Arc<[u8]>>>,
    pub(crate) settings: Arc<PreparedSettings>,
    pub(crate) grants: ComponentGrants,
    /// What it was shown of artifacts, looked up once: one decision sees one state of the world.
    pub(crate) artifacts: Option<Vec<(String, Digest)>>,
    /// The artifact that was read last, and what is in it.
    pub(crate) read: Option<(Digest, Arc<str>)>,
    pub(crate) log: PolicyLog,
    pub(crate) memory: MemoryLimit,
    pub(crate) next_policies: NextPolicies,
}

impl HostState {
    pub(crate) fn new(
        limits: &DecisionLimits,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
        grants: ComponentGrants,
        next_policies: NextPolicies,
    ) -> Self {
        Self {
            next_policies,
            folded: Vec::new(),
            lookups,
            settings,
            grants,
            artifacts: None,
            read: None,
            log: PolicyLog {
                kept_lines: limits.log_lines as usize,
                kept_bytes: limits.log_bytes as usize,
                lines: Vec::new(),
                dropped: 0,
            },
            memory: MemoryLimit { limit_bytes: limits.memory_bytes, refused: false },
        }
    }

    /// The granted artifacts as this decision sees them.
    pub(crate) fn artifacts(&mut self) -> &[(String, Digest)] {
        let Self { artifacts, grants, .. } = self;
        artifacts.get_or_insert_with(|| {
            let mut listed = grants.artifacts.as_ref().map(|source| source.list()).unwrap_or_default();
            listed.truncate(ARTIFACT_NAMES);
            listed
        })
    }

    /// What can be looked up.
    pub(crate) fn lookups(&self) -> &Lookups {
        &self.lookups
    }

    /// The facts that go with the question.
    pub(crate) fn facts(&self) -> &QueryFacts {
        &self.lookups.facts
    }

    /// The text of an id; empty for an unknown one, as the contract says.
    pub(crate) fn text(&self, id: u32) -> &str {
        self.lookups.texts.get(id as usize).and_then(TextBlob::body).unwrap_or_default()
    }

    /// The same text with its ASCII letters in lower case.
    pub(crate) fn folded(&mut self, id: u32) -> Arc<[u8]> {
        let Some(text) = self.lookups.texts.get(id as usize).and_then(TextBlob::body) else {
            return Arc::default();
        };
        self.folded.resize(self.lookups.texts.len(), None);
        let folded = self.folded[id as usize].get_or_insert_with(|| folded(text));
        Arc::clone(folded)
    }
}

/// A bounded log.
pub(crate) struct PolicyLog {
    kept_lines: usize,
    kept_bytes: usize,
    pub(crate) lines: Vec<PolicyLogLine>,
    pub(crate) dropped: u32,
}

impl PolicyLog {
    pub(crate) fn write(&mut self, level: LogLevel, message: &str) {
        if self.lines.len() >= self.kept_lines {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let end = message.floor_char_boundary(self.kept_bytes);
        self.lines.push(PolicyLogLine { level, message: message[..end].to_owned() });
    }
}

/// Refuses growth beyond the limit, and remembers that it did: most guests then trap, and the trap alone would not
/// say why.
pub(crate) struct MemoryLimit {
    limit_bytes: u64,
    pub(crate) refused: bool,
}

/// Tables hold functions; a whole Python interpreter has some 10,000.
const TABLE_ELEMENTS: usize = 20_000;

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let fits = desired as u64 <= self.limit_bytes;
        self.refused |= !fits;
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = true;
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }
}
