//! Requests that fail before the model sees them: limits, quotas, overload. Knows no wire format.

use std::time::{SystemTime, UNIX_EPOCH};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ErrorReason {
    RateLimited,
    Overloaded,
    /// The quota is used up until this time, in seconds of the Unix clock.
    QuotaUntil(u64),
    CreditSpent,
    Unauthorized,
    UnknownModel,
    TooLong {
        tokens: u64,
        max: u64,
    },
    NoJson,
    NoSuchPath(String),
}

/// Requests that fail. Only main requests count: a title or a suggestion does not.
#[derive(Clone, Debug)]
pub struct ScriptedFailure {
    pub(crate) refusal: ErrorReason,
    times: u32,
    after: u32,
    pub(crate) retry_after_s: Option<u32>,
    pub(crate) in_stream: bool,
}

impl ScriptedFailure {
    fn new(refusal: ErrorReason, times: u32) -> Self {
        Self { refusal, times, after: 0, retry_after_s: None, in_stream: false }
    }

    /// Says this many times that too many requests were sent: 429.
    pub fn rate_limited(times: u32) -> Self {
        Self::new(ErrorReason::RateLimited, times)
    }

    /// Says this many times that the service is overloaded: 529 by the Messages API, 503 by the Responses API.
    pub fn overloaded(times: u32) -> Self {
        Self::new(ErrorReason::Overloaded, times)
    }

    /// Says that the quota is used up until this time of the Unix clock, and answers again from then on.
    pub fn quota_until(resets_at_s: u64) -> Self {
        Self::new(ErrorReason::QuotaUntil(resets_at_s), u32::MAX)
    }

    /// Says this many times that there is no money left.
    pub fn credit_spent(times: u32) -> Self {
        Self::new(ErrorReason::CreditSpent, times)
    }

    /// Says this many times that the key is not accepted: 401.
    pub fn unauthorized(times: u32) -> Self {
        Self::new(ErrorReason::Unauthorized, times)
    }

    /// Says each time that there is no such model: 404.
    pub fn unknown_model() -> Self {
        Self::new(ErrorReason::UnknownModel, u32::MAX)
    }

    /// Not before this many main requests.
    #[must_use]
    pub fn after(mut self, requests: u32) -> Self {
        self.after = requests;
        self
    }

    /// Sends a `retry-after` header.
    #[must_use]
    pub fn retry_after_s(mut self, seconds: u32) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Fails within a stream that began well, instead of by the status of the response.
    #[must_use]
    pub fn in_stream(mut self) -> Self {
        self.in_stream = true;
        self
    }

    /// Whether the main request of this number meets the failure, which was `used` so often before.
    pub(crate) fn meets(&self, number: u32, used: u32) -> bool {
        let over = match self.refusal {
            ErrorReason::QuotaUntil(resets_at_s) => now_s() >= resets_at_s,
            _ => false,
        };
        number > self.after && used < self.times && !over
    }
}

/// The Unix clock.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
