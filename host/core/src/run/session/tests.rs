//! What a session makes of what its agent says.

use super::*;

fn session() -> Session {
    Session::new("s1".into(), "executor".into(), AgentKind::Rehearsal, 0, 25, None, UnixMs(0))
}

fn turn(used: u64) -> AgentEvent {
    AgentEvent::Turn {
        used_tokens: Some(used),
        billed: TokenUsage { input_tokens: used, output_tokens: 10, cost_microusd: None },
    }
}

fn read(target: &str) -> AgentEvent {
    AgentEvent::ToolCall {
        id: "t".into(),
        name: "Read".into(),
        reads: Some(target.into()),
        writes: None,
        command: None,
    }
}

#[test]
fn occupancy_is_the_last_call_never_the_bill() {
    let mut s = session();
    for (i, used) in [1000, 1500, 1200].into_iter().enumerate() {
        s.observe(Seq(i as u64 + 1), UnixMs(i as u64), &turn(used));
    }
    assert_eq!(s.used_tokens, Some(1200));
    assert_eq!(s.billed.tokens(), 3730);
}

#[test]
fn rereads_are_counted_turn_by_turn_and_forgotten_by_a_compaction() {
    // C12
    let mut s = session();
    for event in [read("a"), read("b"), read("a"), turn(1), read("a"), turn(2)] {
        s.observe(Seq(1), UnixMs(0), &event);
    }
    assert_eq!(s.recent.iter().map(|t| t.rereads).collect::<Vec<_>>(), [1, 1]);
    let compacted = AgentEvent::Compacted {
        trigger: CompactionTrigger::Asked,
        before_tokens: None,
        after_tokens: Some(1),
    };
    for event in [compacted, read("a"), turn(2)] {
        s.observe(Seq(2), UnixMs(0), &event);
    }
    assert_eq!(s.recent.back().map(|t| t.rereads), Some(0));
}

#[test]
fn a_retry_is_shown_until_the_provider_answers_or_something_else_is_done() {
    let refused = ErrorSignal {
        channel: SignalSource::AgentEvent,
        code: "authentication_failed".into(),
        status: Some(401),
        resets_at: None,
        retrying: true,
        text: "Invalid\nkey".into(),
    };
    let mut s = session();
    s.show_retry(&refused);
    assert_eq!(s.last, "retries: 401 Invalid key");
    s.observe(Seq(1), UnixMs(0), &turn(1));
    assert_eq!(s.last, "");
    s.show_retry(&ErrorSignal { status: None, ..refused });
    assert_eq!(s.last, "retries: authentication_failed Invalid key");
    s.observe(Seq(2), UnixMs(0), &read("a"));
    s.observe(Seq(3), UnixMs(0), &turn(2));
    assert_eq!(s.last, "Read a");
}

#[test]
fn refill_after_a_compaction_is_seen_once_it_is_back_where_it_was() {
    let mut s = session();
    s.observe(Seq(1), UnixMs(0), &turn(700));
    s.observe(
        Seq(2),
        UnixMs(0),
        &AgentEvent::Compacted {
            trigger: CompactionTrigger::Asked,
            before_tokens: None,
            after_tokens: Some(200),
        },
    );
    s.observe(Seq(3), UnixMs(0), &turn(400));
    assert_eq!(s.refilled_within_turns, 0);
    s.observe(Seq(4), UnixMs(0), &turn(710));
    assert_eq!(s.refilled_within_turns, 2);
}

#[test]
fn a_window_that_hardly_fills_is_no_news() {
    let mut s = session();
    let mut fill = |used: u64, window_tokens: Option<u64>| {
        let source = OccupancySource::Agent;
        let event = AgentEvent::Occupancy { used_tokens: Some(used), window_tokens, source };
        s.observe(Seq(1), UnixMs(0), &event);
        let is_news = s.occupancy_changed();
        if is_news {
            s.used_at_last_query = s.used_tokens;
        }
        is_news
    };
    assert_eq!([10, 10, 11].map(|used| fill(used, None)), [true, false, true]);
    let window = Some(100_000);
    let told = [11_000, 11_999, 12_000, 11_500, 11_001, 11_000].map(|used| fill(used, window));
    assert_eq!(told, [true, false, true, false, false, true]);
}

#[test]
fn a_message_behind_a_tool_call_begins_a_line() {
    // A11: "The notes are clear." · Write · "Done: cats" was read as one line.
    let said = |events: &[AgentEvent]| {
        let mut s = session();
        for event in events {
            s.observe(Seq(1), UnixMs(0), event);
        }
        (s.answer_tail.clone(), s.answer_bytes)
    };
    let text = |text: &str| AgentEvent::Text { text: text.into() };
    let returned = || AgentEvent::ToolOutput { id: "t".into(), bytes: 1, text: String::new(), failed: None };
    assert_eq!(
        said(&[text("The notes are clear."), read("a"), returned(), text("Done: "), text("cats")]),
        ("The notes are clear.\nDone: cats".into(), 30)
    );
    assert_eq!(said(&[text("One."), turn(1), text("Two.")]).0, "One.\nTwo.");
    assert_eq!(said(&[text("One.\n"), read("a"), text("Two.")]).0, "One.\nTwo.", "its own break is enough");
    assert_eq!(said(&[read("a"), text("Done: "), returned(), text("cats")]).0, "Done: cats", "pieces");
    let mut s = session();
    s.observe(Seq(1), UnixMs(0), &read("a"));
    s.begin_prompt(UnixMs(0));
    s.observe(Seq(1), UnixMs(0), &text("Yes"));
    assert_eq!(s.answer_tail, "Yes");
}

#[test]
fn what_is_kept_stays_bounded() {
    let mut s = session();
    let long = "ä".repeat(1000);
    for i in 0..200 {
        let signal = ErrorSignal {
            channel: SignalSource::Terminal,
            code: String::new(),
            status: None,
            resets_at: None,
            retrying: false,
            text: long.clone(),
        };
        s.observe(Seq(i), UnixMs(i), &AgentEvent::Signal(signal));
        s.observe(Seq(i), UnixMs(i), &AgentEvent::Text { text: long.clone() });
        s.observe(Seq(i), UnixMs(i), &turn(i));
    }
    assert!(s.signals.iter().map(|n| n.signal.text.len()).sum::<usize>() <= SIGNAL_WINDOW_BYTES);
    assert!(s.answer_tail.len() <= ANSWER_TAIL_BYTES);
    assert_eq!(s.recent.len(), RECENT_TURNS);
}

#[test]
fn what_a_prompt_took_that_was_cut_off_is_not_known_whole() {
    // The first prompt had a price, and the second one was cut off: the sum looked like the whole.
    let ended = ProcessExit { code: None, signal: Some(9), by_host: true };
    let answered = AgentEvent::PromptEnded { stop_reason: "completed".into(), is_error: false };
    let price =
        AgentEvent::Billing(TokenUsage { input_tokens: 0, output_tokens: 5, cost_microusd: Some(110_000) });
    let mut s = session();
    s.begin_prompt(UnixMs(1));
    for event in [turn(1000), turn(1500)] {
        s.observe(Seq(1), UnixMs(1), &event);
    }
    assert_eq!(s.unpriced_tokens, 2520, "its price comes with the end of its prompt");
    for event in [price, answered] {
        s.observe(Seq(1), UnixMs(1), &event);
    }
    assert_eq!((s.unpriced_tokens, s.cut_prompts), (0, 0));
    let mut whole = s.clone();
    whole.end(ended, "");
    assert_eq!((whole.unpriced_tokens, whole.cut_prompts), (0, 0));
    s.begin_prompt(UnixMs(2));
    s.observe(Seq(2), UnixMs(2), &turn(2000));
    s.end(ended, "");
    assert_eq!((s.unpriced_tokens, s.cut_prompts), (2010, 1));
    // One that could not begin took nothing.
    let mut never = session();
    never.begin_prompt(UnixMs(1));
    never.end(ProcessExit { by_host: false, ..ended }, "");
    assert_eq!(never.cut_prompts, 0);
}

#[test]
fn a_prompt_that_ended_early_took_at_least_what_its_agent_named() {
    let of = |events: &[AgentEvent], stop_reason: &str, is_error| {
        let mut s = session();
        s.begin_prompt(UnixMs(1));
        let ended = AgentEvent::PromptEnded { stop_reason: stop_reason.into(), is_error };
        events.iter().chain([&ended]).for_each(|event| s.observe(Seq(1), UnixMs(1), event));
        s.cut_prompts
    };
    let billed = |tokens, cost| {
        AgentEvent::Billing(TokenUsage { input_tokens: tokens, output_tokens: 0, cost_microusd: cost })
    };
    let said = AgentEvent::Text { text: "I look at it".into() };
    let unbilled = AgentEvent::Turn { used_tokens: None, billed: TokenUsage::default() };
    // ACP: a price comes while it works, tokens with an answer alone.
    let work = [said.clone(), billed(0, Some(90_000)), unbilled];
    assert_eq!(of(&work, "-32603", true), 1);
    assert_eq!(of(&work, "cancelled", false), 1);
    assert_eq!(of(&[work.as_slice(), &[billed(27_376, None)]].concat(), "cancelled", false), 0);
    assert_eq!(of(&work, "end_turn", false), 0, "some agents never name tokens");
    // Codex names what each call took, and not the one that was broken off.
    assert_eq!(of(&[turn(1000), said.clone()], "interrupted", false), 1);
    assert_eq!(of(&[], "interrupted", false), 1);
    assert_eq!(of(&[turn(1000), said.clone()], "failed", true), 0, "a call that was refused took nothing");
    assert_eq!(of(&[], "failed", true), 0);
    // Claude Code names the rest with its end.
    assert_eq!(of(&[turn(1000), said, billed(5, Some(110_000))], "interrupted", true), 0);
}
