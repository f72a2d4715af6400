//! Bounds how much of an agent's stream becomes events, so that no agent can fill the journal or the disk by printing.
//!
//! An agent may send a burst of events as it likes. Beyond the burst, text is joined, the newest fill of the window counts, bills are
//! added up, and what else an agent only mentions is counted and left out. Nothing is left out without an
//! [`AgentEvent::Omitted`] that says how much. What the run waits for (the end of a prompt, a compaction, an error) is never left
//! out: there, the agent waits.

use std::time::Duration;

use baton_core::SessionId;
use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES, SignalSource, TokenUsage};
use baton_streams::{cut, cut_tail};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::launch::DriverEvent;

/// Events that a session may send at once: minutes of ordinary work.
const BURST: u32 = 500;
/// Events a second beyond the burst.
const EVENTS_PER_SECOND: u32 = 10;
/// Bytes that a session may send at once.
const BURST_BYTES: u32 = 2 * 1024 * 1024;
/// Bytes a second beyond that.
const BYTES_PER_SECOND: u32 = 24 * 1024;
/// Steps that a session may take at once. Beyond them it waits.
const BURST_STEPS: u32 = 200;
/// Steps a second beyond the burst.
const STEPS_PER_SECOND: u32 = 5;
/// Text that is held back is cut to its last part of this size. Core keeps less of it.
const HELD_BYTES: usize = 64 * 1024;
/// At least this much of the due text is released, even without budget: the length that core keeps of an answer.
const RELEASED_BYTES_MIN: usize = 4 * 1024;
/// How often it is said that something was left out.
const OMISSION_REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// Time in which a flood may end before anything is said of it.
const OMISSION_REPORT_DELAY: Duration = Duration::from_secs(1);
/// Events that wait to be taken in.
const QUEUE_LEN: usize = 64;
/// Additional bytes of a control character in the journal's JSON.
const ESCAPED_BYTES: usize = 5;

/// An amount that grows with time up to its burst. It may be overdrawn.
#[derive(Debug)]
struct TokenBucket {
    tokens: f64,
    burst: f64,
    a_second: f64,
    updated_at: Instant,
}

impl TokenBucket {
    fn new(burst: u32, a_second: u32, now: Instant) -> Self {
        Self { tokens: burst.into(), burst: burst.into(), a_second: a_second.into(), updated_at: now }
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.updated_at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.a_second).min(self.burst);
        self.updated_at = now;
    }

    /// When there is at least this much.
    fn has_at(&self, amount: f64) -> Instant {
        self.updated_at + Duration::from_secs_f64(((amount - self.tokens) / self.a_second).max(0.0))
    }
}

/// The budget of a session, and its held-back events.
#[derive(Debug)]
struct EventThrottle {
    events: TokenBucket,
    bytes: TokenBucket,
    steps: TokenBucket,
    text: String,
    occupancy: Option<AgentEvent>,
    bill: TokenUsage,
    omitted_events: u64,
    omitted_text: u64,
    /// When the next word about it is due.
    word: Instant,
}

impl EventThrottle {
    fn new(now: Instant) -> Self {
        Self {
            events: TokenBucket::new(BURST, EVENTS_PER_SECOND, now),
            bytes: TokenBucket::new(BURST_BYTES, BYTES_PER_SECOND, now),
            steps: TokenBucket::new(BURST_STEPS, STEPS_PER_SECOND, now),
            text: String::new(),
            occupancy: None,
            bill: TokenUsage::default(),
            omitted_events: 0,
            omitted_text: 0,
            word: now,
        }
    }

    /// Takes an event; appends the events to be sent to `out`. Returns the time before which the session must not continue.
    fn take(&mut self, mut event: AgentEvent, now: Instant, out: &mut Vec<AgentEvent>) -> Option<Instant> {
        for allowance in [&mut self.events, &mut self.bytes, &mut self.steps] {
            allowance.refill(now);
        }
        if is_step(&event) {
            // In the order in which they came.
            self.release_held(out);
            shorten(&mut event);
            // Of terminal text the decoder bounds how much there can be.
            let is_free =
                matches!(&event, AgentEvent::Signal(signal) if signal.channel == SignalSource::Terminal);
            out.push(event);
            if is_free {
                return None;
            }
            self.steps.tokens -= 1.0;
            return (self.steps.tokens < 0.0).then(|| self.steps.has_at(0.0));
        }
        self.release(now, out);
        let bytes = weight(&event);
        if !self.has_held() && self.events.tokens >= 1.0 && self.bytes.tokens >= bytes as f64 {
            self.events.tokens -= 1.0;
            self.bytes.tokens -= bytes as f64;
            out.push(event);
        } else {
            self.hold(event, now);
        }
        None
    }

    /// Appends the held-back events that are due.
    fn release(&mut self, now: Instant, out: &mut Vec<AgentEvent>) {
        for allowance in [&mut self.events, &mut self.bytes] {
            allowance.refill(now);
        }
        if self.has_held() && self.events.tokens >= 1.0 {
            self.release_held(out);
        }
        if self.has_omitted() && now >= self.word {
            self.push_omission(now, out);
        }
    }

    /// When there is something to release.
    fn due(&self) -> Option<Instant> {
        let held = self.has_held().then(|| self.events.has_at(1.0));
        let word = self.has_omitted().then_some(self.word);
        held.into_iter().chain(word).min()
    }

    /// The session is over.
    fn end(&mut self, now: Instant, out: &mut Vec<AgentEvent>) {
        self.release_held(out);
        if self.has_omitted() {
            self.push_omission(now, out);
        }
    }

    fn has_held(&self) -> bool {
        !self.text.is_empty() || self.occupancy.is_some() || self.bill != TokenUsage::default()
    }

    fn hold(&mut self, event: AgentEvent, now: Instant) {
        match event {
            AgentEvent::Text { text } => {
                self.text.push_str(&text);
                // Cut now and then, not at every line.
                if self.text.len() > 2 * HELD_BYTES {
                    self.keep_tail(HELD_BYTES, now);
                }
            }
            AgentEvent::Occupancy { .. } => self.occupancy = Some(event),
            AgentEvent::Billing(bill) => self.bill.add(&bill),
            other => {
                if let AgentEvent::Turn { billed, .. } = &other {
                    self.bill.add(billed);
                }
                // What is said behind it is another message.
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.omit(1, 0, now);
            }
        }
    }

    /// Keeps the last bytes of the text that is held.
    fn keep_tail(&mut self, bytes: usize, now: Instant) {
        let tail = cut_tail(&self.text, bytes).to_owned();
        if tail.len() < self.text.len() {
            self.omit(0, self.text.len() - tail.len(), now);
            self.text = tail;
        }
    }

    fn has_omitted(&self) -> bool {
        self.omitted_events > 0 || self.omitted_text > 0
    }

    fn omit(&mut self, events: u64, text_bytes: usize, now: Instant) {
        if !self.has_omitted() {
            self.word = self.word.max(now + OMISSION_REPORT_DELAY);
        }
        self.omitted_events = self.omitted_events.saturating_add(events);
        self.omitted_text = self.omitted_text.saturating_add(text_bytes as u64);
    }

    fn push_omission(&mut self, now: Instant, out: &mut Vec<AgentEvent>) {
        self.word = now + OMISSION_REPORT_INTERVAL;
        let (events, text_bytes) =
            (std::mem::take(&mut self.omitted_events), std::mem::take(&mut self.omitted_text));
        out.push(AgentEvent::Omitted { events, text_bytes });
    }

    fn release_held(&mut self, out: &mut Vec<AgentEvent>) {
        let before = out.len();
        if !self.text.is_empty() {
            let room = (self.bytes.tokens.max(0.0) as usize).clamp(RELEASED_BYTES_MIN, HELD_BYTES);
            self.keep_tail(room, self.bytes.updated_at);
            let text = std::mem::take(&mut self.text);
            self.bytes.tokens -= text_weight(&text) as f64;
            out.push(AgentEvent::Text { text });
        }
        out.extend(self.occupancy.take());
        let bill = std::mem::take(&mut self.bill);
        if bill != TokenUsage::default() {
            out.push(AgentEvent::Billing(bill));
        }
        self.events.tokens -= (out.len() - before) as f64;
    }
}

/// Whether the run may wait for this, or judges by it.
fn is_step(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Text { .. }
        | AgentEvent::ToolCall { .. }
        | AgentEvent::ToolOutput { .. }
        | AgentEvent::Turn { .. }
        | AgentEvent::Occupancy { .. }
        | AgentEvent::Billing(_)
        | AgentEvent::Omitted { .. }
        | AgentEvent::Unknown { .. } => false,
        AgentEvent::Signal(signal) => signal.channel != SignalSource::ToolOutput,
        AgentEvent::Ready { .. }
        | AgentEvent::Capabilities(_)
        | AgentEvent::Compacting
        | AgentEvent::Compacted { .. }
        | AgentEvent::CompactionFailed { .. }
        | AgentEvent::ApprovalRequested { .. }
        | AgentEvent::ApprovalResolved { .. }
        | AgentEvent::Refused(_)
        | AgentEvent::PromptEnded { .. } => true,
    }
}

/// A step is never left out, so that its words are bounded.
fn shorten(event: &mut AgentEvent) {
    let words = match event {
        AgentEvent::CompactionFailed { text } => text,
        AgentEvent::ApprovalRequested { title } => title,
        AgentEvent::PromptEnded { stop_reason, .. } => stop_reason,
        AgentEvent::Signal(signal) => &mut signal.code,
        _ => return,
    };
    words.truncate(cut(words, SIGNAL_TEXT_BYTES).len());
}

/// About as many bytes as it takes in the journal.
fn weight(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text { text } => text_weight(text),
        AgentEvent::ToolOutput { id, text, .. } => id.len() + text_weight(text),
        AgentEvent::ToolCall { id, name, reads, writes, command } => {
            let more = [reads, writes, command].into_iter().flatten().map(String::len).sum::<usize>();
            id.len() + name.len() + more
        }
        AgentEvent::Unknown { kind } => kind.len(),
        _ => 0,
    }
}

fn text_weight(text: &str) -> usize {
    text.len() + ESCAPED_BYTES * text.bytes().filter(u8::is_ascii_control).count()
}

/// Starts the way of a session's events to the host. An agent that is being ended is not made to wait.
pub(crate) fn start(
    session: SessionId,
    to: mpsc::Sender<(SessionId, DriverEvent)>,
    closing: watch::Receiver<bool>,
) -> mpsc::Sender<DriverEvent> {
    let (events, taken) = mpsc::channel(QUEUE_LEN);
    tokio::spawn(run(session, taken, to, closing));
    events
}

async fn run(
    session: SessionId,
    mut events: mpsc::Receiver<DriverEvent>,
    to: mpsc::Sender<(SessionId, DriverEvent)>,
    mut closing: watch::Receiver<bool>,
) {
    let mut flow = EventThrottle::new(Instant::now());
    let mut out = Vec::new();
    loop {
        let due = flow.due();
        let event = tokio::select! {
            event = events.recv() => event,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                flow.release(Instant::now(), &mut out);
                send(&session, &mut out, &to).await;
                continue;
            }
        };
        match event {
            Some(DriverEvent::Event(event)) => {
                let wait = flow.take(event, Instant::now(), &mut out);
                send(&session, &mut out, &to).await;
                if let Some(until) = wait {
                    tokio::select! {
                        () = sleep_until(until) => {}
                        _ = closing.wait_for(|closing| *closing) => {}
                    }
                }
            }
            Some(exited @ DriverEvent::Exited(_)) => {
                flow.end(Instant::now(), &mut out);
                send(&session, &mut out, &to).await;
                let _ = to.send((session.clone(), exited)).await;
            }
            None => return,
        }
    }
}

/// If the receiver is gone, the host is ending, and the stream is read only to let the agent end.
async fn send(session: &SessionId, out: &mut Vec<AgentEvent>, to: &mpsc::Sender<(SessionId, DriverEvent)>) {
    for event in out.drain(..) {
        let _ = to.send((session.clone(), DriverEvent::Event(event))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow, and the time as the test has it.
    struct ThrottleFixture {
        flow: EventThrottle,
        now: Instant,
        out: Vec<AgentEvent>,
    }

    impl ThrottleFixture {
        fn new() -> Self {
            let now = Instant::now();
            Self { flow: EventThrottle::new(now), now, out: Vec::new() }
        }

        fn take(&mut self, event: AgentEvent) -> Option<Instant> {
            self.flow.take(event, self.now, &mut self.out)
        }

        fn omitted(&self) -> (u64, u64) {
            self.out.iter().fold((0, 0), |(events, bytes), event| match event {
                AgentEvent::Omitted { events: more, text_bytes: longer } => (events + more, bytes + longer),
                _ => (events, bytes),
            })
        }

        fn said(&self) -> String {
            let text = |event: &AgentEvent| match event {
                AgentEvent::Text { text } => Some(text.clone()),
                _ => None,
            };
            self.out.iter().filter_map(text).collect()
        }
    }

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text { text: text.to_owned() }
    }

    fn call(id: u32) -> AgentEvent {
        AgentEvent::ToolCall {
            id: id.to_string(),
            name: "Read".to_owned(),
            reads: None,
            writes: None,
            command: None,
        }
    }

    fn ended() -> AgentEvent {
        AgentEvent::PromptEnded { stop_reason: "end_turn".to_owned(), is_error: false }
    }

    #[test]
    fn ordinary_work_passes_as_it_came() {
        let mut world = ThrottleFixture::new();
        let mut sent = Vec::new();
        for n in 0..1000 {
            world.now += Duration::from_millis(150);
            for event in [text(&n.to_string()), call(n)].into_iter().take(1 + n as usize % 2) {
                sent.push(event.clone());
                world.take(event);
            }
        }
        assert_eq!(world.out, sent);
    }

    #[test]
    fn a_flood_is_joined_and_its_last_words_come_before_its_end() {
        let mut world = ThrottleFixture::new();
        let mut printed = 0;
        for n in 0..300_000 {
            world.now += Duration::from_micros(100);
            let line = format!("line {n} \u{1b}[31m\n");
            printed += line.len() as u64;
            world.take(text(&line));
            if n % 100 == 0 {
                world.take(call(n));
            }
        }
        world.take(text("the end"));
        world.take(ended());
        world.flow.end(world.now, &mut world.out);
        let events = BURST + 30 * EVENTS_PER_SECOND + 10;
        assert!(world.out.len() < events as usize, "{}", world.out.len());
        let stored: usize = world.out.iter().map(weight).sum();
        let bytes = BURST_BYTES + 32 * BYTES_PER_SECOND;
        // Text that is due is given out in pieces of a least size.
        assert!(stored < bytes as usize + events as usize * 2 * RELEASED_BYTES_MIN, "{stored}");
        let said = world.said();
        assert!(said.ends_with("the end"), "the tail is kept");
        let (events, bytes) = world.omitted();
        assert!(events >= 2000 && bytes + said.len() as u64 >= printed, "{events} {bytes}");
        assert!(matches!(world.out.last(), Some(AgentEvent::Omitted { .. })));
    }

    #[test]
    fn steps_are_never_left_out_and_make_the_session_wait() {
        let mut world = ThrottleFixture::new();
        for _ in 0..BURST_STEPS {
            assert_eq!(world.take(ended()), None);
        }
        let until = world.take(ended()).expect("it waits");
        assert!(until > world.now);
        world.now = until;
        world.take(ended());
        assert_eq!(world.out.len(), BURST_STEPS as usize + 2);
        assert_eq!(world.omitted(), (0, 0));
    }

    #[test]
    fn bills_add_up_and_the_newest_fill_counts() {
        let mut world = ThrottleFixture::new();
        let bill = |n| TokenUsage { input_tokens: n, output_tokens: 1, cost_microusd: Some(2) };
        for n in 0..2000 {
            let source = baton_core::facts::OccupancySource::Agent;
            world.take(AgentEvent::Occupancy { used_tokens: Some(n), window_tokens: None, source });
            world.take(AgentEvent::Turn { used_tokens: None, billed: bill(1) });
            world.take(AgentEvent::Billing(bill(1)));
        }
        world.flow.end(world.now, &mut world.out);
        let mut billed = TokenUsage::default();
        let mut used = None;
        for event in &world.out {
            match event {
                AgentEvent::Turn { billed: more, .. } | AgentEvent::Billing(more) => billed.add(more),
                AgentEvent::Occupancy { used_tokens, .. } => used = *used_tokens,
                _ => {}
            }
        }
        assert_eq!((billed.input_tokens, billed.cost_microusd, used), (4000, Some(8000), Some(1999)));
    }

    #[test]
    fn one_enormous_text_keeps_its_end() {
        let mut world = ThrottleFixture::new();
        let long = "x".repeat(3 * BURST_BYTES as usize) + "end";
        world.take(text(&long));
        world.flow.end(world.now, &mut world.out);
        let said = world.said();
        assert!(said.len() <= HELD_BYTES && said.ends_with("end"));
        assert_eq!(world.omitted().1 as usize + said.len(), long.len());
    }
}
