//! Why a session follows another one.

/// Why a new session follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SuccessorReason {
    /// Continuation k of n (A7).
    Continuation,
    /// The session failed; counted apart.
    Retry,
    /// The session was lost with the host, or left by itself after its work: not counted.
    Uncounted,
    /// Its parts: the phase is split.
    Parts,
    /// None: the phase is over, and its handoff is for the phases after it.
    Over,
}
