//! What a policy sees of one session: its state, and its signals with their texts; and what stands in their place where
//! nothing is known. Nothing is judged here.

use crate::decision::Evidence;
use crate::facts::SignalSource;
use crate::ids::{PhaseId, Seq};
use crate::observation::{
    BudgetView, OriginView, PhaseView, ProgressView, SessionState, SessionView, SignalView, TextSpan, said,
};
use crate::time::UnixMs;
use crate::workflow::Mode;

use super::session::{Session, TimedSignal};
use super::text_format::counted;

/// A session of which nothing has been heard.
pub(super) fn unknown_session_view(agent: &str, role: &str, state: SessionState) -> SessionView {
    SessionView {
        agent: agent.to_owned(),
        role: role.to_owned(),
        state,
        capabilities: Default::default(),
        occupancy: Default::default(),
        continuation: 0,
        prompts: 0,
        turns: 0,
        max_turns: None,
        compactions: 0,
        turns_since_compaction: None,
        billed_input_tokens: 0,
        billed_output_tokens: 0,
        idle_ms: 0,
        active_ms: 0,
        exit: None,
        recent: Vec::new(),
    }
}

/// What stands for the phase of an agent that works in no run: it is unknown what it is to do.
pub(super) fn placeholder_phase_view(id: &str) -> PhaseView {
    PhaseView {
        id: PhaseId::new(id),
        title: String::new(),
        mode: Mode::default().name().to_owned(),
        depth: 0,
        budget: BudgetView::default(),
        progress: ProgressView { open: 1, ..ProgressView::default() },
        expects_files: false,
        accept: None,
        check: None,
        check_passed: None,
        depends_on: 0,
        origin: OriginView::default(),
        complex: false,
        iteration: None,
        tree: None,
    }
}

impl Session {
    /// What a policy sees of it.
    pub(super) fn view(&self, now: UnixMs, active_ms: u64) -> SessionView {
        SessionView {
            agent: self.agent.name().to_owned(),
            role: self.role.to_string(),
            state: self.state,
            capabilities: self.capabilities,
            occupancy: self.occupancy(now),
            continuation: self.continuation,
            prompts: self.prompts,
            turns: self.turns,
            max_turns: counted(self.max_turns),
            compactions: self.compactions,
            turns_since_compaction: self.turns_since_compaction(),
            billed_input_tokens: self.billed.input_tokens,
            billed_output_tokens: self.billed.output_tokens,
            idle_ms: now.since(self.last_event_at).0,
            active_ms,
            exit: self.exit,
            recent: self.recent.iter().copied().collect(),
        }
    }

    /// Whether the words of a piece of evidence are those of the signal that it names, or of the agent's last answer.
    pub(super) fn has_said(&self, evidence: &Evidence) -> bool {
        let words = evidence.text.trim();
        let in_answer = evidence.channel == SignalSource::AgentText && self.answer_tail.contains(words);
        let mut signals = self.signals.iter().filter(|noticed| Some(noticed.seq) == evidence.seq);
        let in_signal = signals.any(|TimedSignal { signal, .. }| {
            signal.channel == evidence.channel && (signal.text.contains(words) || signal.code == words)
        });
        !words.is_empty() && (in_answer || in_signal)
    }

    /// The signals with their texts, one after the other; first the tail of the answer, as what the agent wrote.
    pub(super) fn signals(&self, seq: Seq, now: UnixMs) -> (Vec<SignalView>, String) {
        let mut window = String::new();
        let mut views = Vec::new();
        let mut put = |text: &str| {
            let start = window.len() as u32;
            window.push_str(text);
            TextSpan { start, end: window.len() as u32 }
        };
        if !self.answer_tail.is_empty() {
            views.push(SignalView {
                seq,
                channel: SignalSource::AgentText,
                age_ms: now.since(self.last_event_at).0,
                prompt: self.prompts,
                code: None,
                status: None,
                resets_at_ms: None,
                retrying: false,
                text: put(&self.answer_tail),
            });
        }
        for noticed in &self.signals {
            views.push(SignalView {
                seq: noticed.seq,
                channel: noticed.signal.channel,
                age_ms: now.since(noticed.at).0,
                prompt: noticed.prompt,
                code: said(&noticed.signal.code),
                status: noticed.signal.status,
                resets_at_ms: noticed.signal.resets_at,
                retrying: noticed.signal.retrying,
                text: put(&noticed.signal.text),
            });
        }
        (views, window)
    }
}
