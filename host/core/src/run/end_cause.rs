//! Why a session or a prompt ended, or a person is asked, for two readers: a person reads what was judged, and an agent what the host
//! knows. A policy's reason reaches no prompt and no handoff: it may be a stranger's.

use crate::decision::Verdict;

use super::text_format::{cut, one_line};

/// Why the newest session or prompt of a phase ended. Empty before the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EndCause {
    user_text: String,
    agent_text: String,
}

impl EndCause {
    /// In the host's own words, or those of a person.
    pub(super) fn from_host(words: impl Into<String>) -> Self {
        let words = words.into();
        Self { user_text: words.clone(), agent_text: words }
    }

    /// Judged by a policy, for this reason. `known` is what the host itself says of it.
    pub(super) fn from_policy(reason: &str, known: impl Into<String>) -> Self {
        Self { user_text: reason.to_owned(), agent_text: known.into() }
    }

    /// What a person said to a question, and the question.
    pub(super) fn answered(question: &Self, message: &str) -> Self {
        let told = |question: &str| format!("a person answers: {message} (the question was: {question})");
        Self { user_text: told(&question.user_text), agent_text: told(&question.agent_text) }
    }

    /// The same, and more of the host's own words.
    pub(super) fn and(mut self, words: &str) -> Self {
        self.user_text.push_str(words);
        self.agent_text.push_str(words);
        self
    }

    /// The same, and what only a person reads: it has words of an agent in it.
    pub(super) fn with_user_detail(mut self, words: &str) -> Self {
        self.user_text.push_str(words);
        self
    }

    /// Each of the two, cut to this number of bytes.
    pub(super) fn cut(mut self, bytes: usize) -> Self {
        cut(&mut self.user_text, bytes);
        cut(&mut self.agent_text, bytes);
        self
    }

    pub(super) fn user_text(&self) -> &str {
        &self.user_text
    }

    pub(super) fn agent_text(&self) -> &str {
        &self.agent_text
    }
}

impl From<String> for EndCause {
    fn from(words: String) -> Self {
        Self::from_host(words)
    }
}

/// The words of a policy that is not Baton's, as a person reads them.
pub(super) fn quote_policy(policy: &str, says: &str, words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    format!("The policy {policy} {says}: {:?}", one_line(words))
}

/// What a verdict says of a session, in the host's words.
pub(super) fn in_words(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "it was ended",
        Verdict::Answered => "its answer left objectives open",
        Verdict::HandedOff => "it handed over",
        Verdict::Exhausted => "its context window is used up",
        Verdict::Quota { .. } => "a limit of its provider was reached",
        Verdict::TurnLimit => "its turns are used up",
        Verdict::BudgetLimit => "its budget is used up",
        Verdict::Truncated => "its answer was cut off or is empty",
        Verdict::Stalled => "nothing was heard of it for too long",
        Verdict::Interrupted => "it was interrupted",
        Verdict::Unauthenticated => "it was not logged in",
        Verdict::NeedsInput => "it asked a person something",
        Verdict::Refused => "the model or its provider declined the work",
        Verdict::Failed => "it failed",
    }
}
