//! A session with signals, built up line by line, and what the policy says of it.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion, Quota, QuotaCause};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};

use crate::judged::{Judged, Verdict};

/// A session with signals, built up line by line.
pub(crate) struct Scene {
    window: String,
    observation: Observation,
}

impl Scene {
    pub(crate) fn new(occasion: Occasion) -> Self {
        let mut observation = sample::exhaustion_observation(0);
        match occasion {
            Occasion::PromptEnded => {}
            Occasion::SessionEnded => observation.session.state = SessionState::Ended,
            _ => observation.session.state = SessionState::Working,
        }
        observation.occasion = occasion;
        Self { window: String::new(), observation }
    }

    pub(crate) fn signal(mut self, channel: Channel, code: &str, text: &str) -> Self {
        let start = self.window.len() as u32;
        self.window.push_str(text);
        let seq = self.observation.signals.last().map_or(40, |signal| signal.seq + 1);
        let text = Span { start, end: self.window.len() as u32 };
        self.observation.signals.push(Signal { seq, text, ..sample::signal(channel, code, 0) });
        self
    }

    pub(crate) fn event(self, code: &str) -> Self {
        self.signal(Channel::AgentEvent, code, "")
    }

    pub(crate) fn last(mut self, change: impl FnOnce(&mut Signal)) -> Self {
        change(self.observation.signals.last_mut().unwrap());
        self
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Observation)) -> Self {
        change(&mut self.observation);
        self
    }

    pub(crate) fn exit(self, code: Option<i32>, signal: Option<i32>, by_host: bool) -> Self {
        self.with(|o| o.session.exit = Some(Exit { code, signal, by_host }))
    }

    pub(crate) fn assess(self) -> Judged {
        let mut host = MockHost::with_settings_of::<Resilience>(&[]);
        let window = host.add_text(self.window);
        crate::judged::judge(&host, Observation { window, ..self.observation })
    }
}

pub(crate) fn quota(cause: QuotaCause, resets_at_ms: Option<u64>) -> Verdict {
    Verdict::Quota(Quota { cause, resets_at_ms })
}
