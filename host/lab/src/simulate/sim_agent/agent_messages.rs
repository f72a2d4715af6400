//! What agents and providers print in trouble. The wordings are those of recordings (`tests/fixtures/streams`) and of the corpus
//! of error texts (`tests/fixtures/policies`), so that a policy reads here what it reads live.

use baton_core::facts::{AgentEvent, ErrorSignal, SignalSource};
use baton_core::workflow::AgentKind;
use baton_core::{ObjectiveId, UnixMs};

use crate::simulate::quota::QuotaOutage;

/// Whose wording it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorStyle {
    Claude,
    Codex,
    Acp,
}

impl ErrorStyle {
    pub(super) fn of(agent: &AgentKind) -> Self {
        match agent {
            AgentKind::Claude => ErrorStyle::Claude,
            AgentKind::Codex => ErrorStyle::Codex,
            AgentKind::Rehearsal | AgentKind::Acp { .. } | AgentKind::Process { .. } => ErrorStyle::Acp,
        }
    }

    /// The window is full: what is said, and the reason with which the prompt ends.
    pub(super) fn exhausted(self, used: u64, window: u64) -> (Vec<AgentEvent>, &'static str) {
        match self {
            ErrorStyle::Claude => (vec![said("Prompt is too long")], "prompt_too_long"),
            ErrorStyle::Codex => {
                let text = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.";
                (vec![signal(SignalSource::AgentEvent, "contextWindowExceeded", None, text)], "failed")
            }
            ErrorStyle::Acp => {
                let text = format!("Prompt is too long: {} tokens > {window} maximum", used.max(window + 1));
                (vec![signal(SignalSource::ProviderError, "invalid_request", None, &text)], "error")
            }
        }
    }

    /// The same by an agent that has no other way to say it.
    pub(super) fn exhausted_text(self) -> AgentEvent {
        said(match self {
            ErrorStyle::Claude => "Context limit reached · /compact or /clear to continue",
            ErrorStyle::Codex | ErrorStyle::Acp => {
                "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
            }
        })
    }
}

/// A provider refuses, as its agent passes it on.
pub(super) fn limited(limit: QuotaOutage, now: UnixMs) -> Vec<AgentEvent> {
    let (text, resets_at) = match limit.said {
        true => (format!("usage limit reached|{}", limit.until.0.div_ceil(1000)), Some(limit.until.max(now))),
        false => (
            "API Error: Request rejected (429) · This request would exceed your organization's rate limit"
                .to_owned(),
            None,
        ),
    };
    let event = signal(SignalSource::ProviderError, "rate_limit", Some(429), &text);
    vec![match event {
        AgentEvent::Signal(signal) => AgentEvent::Signal(ErrorSignal { resets_at, ..signal }),
        other => other,
    }]
}

pub(super) fn server_error() -> AgentEvent {
    signal(SignalSource::ProviderError, "api_error", Some(500), "API Error: 500 Internal server error")
}

/// What a process leaves on its stderr when it breaks.
pub(super) fn crash_output() -> AgentEvent {
    signal(
        SignalSource::Terminal,
        "",
        None,
        "Error: socket hang up\n    at connResetException (node:internal/errors:720:14)",
    )
}

pub(super) fn prompt_ended(reason: &str, is_error: bool) -> AgentEvent {
    AgentEvent::PromptEnded { stop_reason: reason.to_owned(), is_error }
}

/// What a session has to say of one objective.
pub(super) fn on_objective(objective: &ObjectiveId, admits: bool) -> String {
    match admits {
        true => format!("I did not finish {objective}: it is more than I could settle here. "),
        false => format!("{objective} is written and in place. "),
    }
}

/// The answer to a prompt, long enough to be one.
pub(super) fn answer(said: &str) -> String {
    format!("{said}That is what changed in this step, and nothing else was touched.")
}

/// The line that every prompt asks for at the end of an answer.
pub(super) fn last_line(focus: &[ObjectiveId], admitted: &[ObjectiveId]) -> String {
    let names = |ids: &[ObjectiveId]| ids.iter().map(ObjectiveId::as_str).collect::<Vec<_>>().join(", ");
    match (focus, admitted) {
        ([], _) => String::new(),
        (done, []) => format!("\n\nDone: {}", names(done)),
        (_, open) => format!("\n\nNot done: {}", names(open)),
    }
}

pub(super) fn tool_output(bytes: usize) -> String {
    "fn value(&self) -> u32 { self.value }\n".chars().cycle().take(bytes).collect()
}

fn said(text: &str) -> AgentEvent {
    AgentEvent::Text { text: text.to_owned() }
}

fn signal(channel: SignalSource, code: &str, status: Option<u16>, text: &str) -> AgentEvent {
    let (code, text) = (code.to_owned(), text.to_owned());
    AgentEvent::Signal(ErrorSignal { channel, code, status, resets_at: None, retrying: false, text })
}
