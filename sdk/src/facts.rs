//! The facts that go with a question beside it, for tests: what the host knows of the phase, as its journal has it.

use crate::host::{PastCompaction, PastHandoff, PastSession, PastWait, TurnTaken};

/// The facts of a question, each newest first. Empty where nothing came before.
///
/// ```
/// use baton_sdk::{Facts, Host, MockHost, sample};
///
/// let mut host = MockHost::new();
/// host.set_facts(Facts { past_waits: vec![sample::past_wait()], ..Facts::default() });
/// assert_eq!(host.past_waits(8).len(), 1);
/// assert!(host.past_sessions(8).is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// See [`Host::past_sessions`](crate::Host::past_sessions).
    pub past_sessions: Vec<PastSession>,
    /// See [`Host::turns_taken`](crate::Host::turns_taken).
    pub turns_taken: Vec<TurnTaken>,
    /// See [`Host::past_compactions`](crate::Host::past_compactions).
    pub past_compactions: Vec<PastCompaction>,
    /// See [`Host::past_waits`](crate::Host::past_waits).
    pub past_waits: Vec<PastWait>,
    /// See [`Host::past_handoffs`](crate::Host::past_handoffs).
    pub past_handoffs: Vec<PastHandoff>,
}
