//! The default policy against real texts of exhaustion, quota, rate limits and truncation, and healthy texts that look
//! like them (A4, B4). Each text is judged alone: it is what decides, with no outcome or occupancy to help.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion, Verdict};
use baton_sdk::types::{Channel, SessionState};
use baton_sdk::{Exhaustion, MockHost, sample};

/// Collected from bug reports, documentation and sources; each row names its own.
const CORPUS: &str = include_str!("../../../tests/fixtures/policies/exhaustion-corpus.jsonl");
/// Other wordings of the same, from memory of other vendors and of people's work.
const WORDINGS: &str = include_str!("../../../tests/fixtures/policies/wordings.jsonl");

struct Row {
    kind: String,
    channel: Channel,
    text: String,
    code: String,
}

fn rows(corpus: &str) -> Vec<Row> {
    let row = |line: &str| {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
        let channel = match json["channel"].as_str().unwrap() {
            "agent_event" => Channel::AgentEvent,
            "api_error" => Channel::ProviderError,
            "agent_text" => Channel::AgentText,
            "log" => Channel::Terminal,
            "tool_output" => Channel::ToolOutput,
            other => panic!("unknown channel {other}"),
        };
        // A row that names a field is the value of that field: a code.
        let code = if json["field"].is_string() { field("text") } else { field("code") };
        Row { kind: field("kind"), channel, text: field("text"), code }
    };
    corpus.lines().map(row).collect()
}

/// One signal at the end of a prompt, with an answer that is as long as the text.
fn judge(row: &Row, channel: Channel, occasion: Occasion, with_code: bool) -> Verdict {
    let mut host = MockHost::with_settings_of::<Resilience>(&[]);
    let window = host.add_text(row.text.clone());
    let code = if with_code { row.code.as_str() } else { "" };
    let mut observation = Observation {
        occasion,
        signals: vec![sample::signal(channel, code, row.text.len() as u32)],
        ..sample::exhaustion_observation(window)
    };
    if occasion == Occasion::SessionEnded {
        observation.session.state = SessionState::Ended;
    }
    Resilience::assess(&host, observation).verdict
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "healthy",
        Verdict::Completed => "completed",
        Verdict::Exhausted => "exhausted",
        Verdict::Quota(_) => "quota",
        Verdict::TurnLimit => "turn-limit",
        Verdict::Truncated => "truncated",
        _ => "other",
    }
}

/// Rows of a kind that do not get one of the expected verdicts.
fn wrong(corpus: &str, kind: &str, expected: &[&str], with_code: bool) -> (usize, Vec<String>) {
    let rows: Vec<Row> = rows(corpus).into_iter().filter(|row| row.kind == kind).collect();
    let judged = |row: &Row| {
        let verdict = judge(row, row.channel, Occasion::PromptEnded, with_code);
        let said = name(&verdict);
        (!expected.contains(&said)).then(|| format!("{said}: {:?} {}", row.channel, row.text))
    };
    (rows.len(), rows.iter().filter_map(judged).collect())
}

#[test]
fn exhaustion_is_recognised() {
    // A4: at least 95 % of them, with the code where there is one and by the text alone.
    for with_code in [true, false] {
        let (count, missed) = wrong(CORPUS, "exhausted", &["exhausted"], with_code);
        let recall = (count - missed.len()) as f64 / count as f64;
        println!("exhausted, codes {with_code}: {}/{count}", count - missed.len());
        assert!(recall >= 0.95, "{recall:.3} of {count}; missed:\n{}", missed.join("\n"));
    }
}

#[test]
fn quota_and_rate_limits_are_neither_exhaustion_nor_anything_else() {
    // B4
    for kind in ["quota", "rate_limit"] {
        for with_code in [true, false] {
            let (count, missed) = wrong(CORPUS, kind, &["quota"], with_code);
            println!("{kind}, codes {with_code}: {}/{count}", count - missed.len());
            assert!(missed.is_empty(), "{} of {count}:\n{}", missed.len(), missed.join("\n"));
        }
    }
}

#[test]
fn what_was_cut_off_is_recognised() {
    // A4
    let (count, missed) = wrong(CORPUS, "truncated", &["truncated", "turn-limit"], true);
    println!("truncated: {}/{count}", count - missed.len());
    assert!(missed.is_empty(), "{} of {count}:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn healthy_texts_raise_no_alarm() {
    // A4: no false alarm at all, neither in the channel they came from nor as the agent's own words.
    let (count, alarms) = wrong(CORPUS, "healthy_false_positive", &["healthy", "completed"], true);
    println!("healthy: {}/{count}", count - alarms.len());
    assert!(alarms.is_empty(), "{} of {count}:\n{}", alarms.len(), alarms.join("\n"));
    for row in rows(CORPUS).iter().filter(|row| row.kind == "healthy_false_positive") {
        let verdict = judge(row, Channel::AgentText, Occasion::PromptEnded, false);
        assert_eq!(name(&verdict), "completed", "{}", row.text);
    }
}

#[test]
fn what_a_tool_printed_is_never_evidence() {
    // A4: every text of the corpus, on every occasion.
    for row in rows(CORPUS) {
        for occasion in [Occasion::Signal, Occasion::PromptEnded, Occasion::Heartbeat, Occasion::Turn] {
            let verdict = judge(&row, Channel::ToolOutput, occasion, true);
            assert!(matches!(verdict, Verdict::Healthy | Verdict::Completed), "{verdict:?}: {}", row.text);
        }
        let ended = judge(&row, Channel::ToolOutput, Occasion::SessionEnded, true);
        assert!(matches!(ended, Verdict::Failed), "{ended:?}: {}", row.text);
    }
}

#[test]
fn an_essay_about_errors_raises_no_alarm() {
    // A4: the same errors, talked about in an answer instead of ending it.
    for row in rows(CORPUS).iter().filter(|row| !row.text.contains('\n')) {
        for essay in [
            format!("I looked at the log. It says `{}`, so I added a retry to client.rs.", row.text),
            format!("The error \"{}\" is handled in src/errors.rs and covered by tests.", row.text),
            format!(
                "> {}\n\nThat is quoted from the issue. I changed the parser accordingly and it works.",
                row.text
            ),
            format!("- {}: handled\n- everything else: done", row.text),
        ] {
            let essay =
                Row { text: essay, code: String::new(), kind: String::new(), channel: Channel::AgentText };
            let verdict = judge(&essay, Channel::AgentText, Occasion::PromptEnded, false);
            assert_eq!(name(&verdict), "completed", "{}", essay.text);
        }
    }
}

#[test]
fn other_wordings_are_recognised_too() {
    // A4, B4
    let kinds = [
        ("exhausted", "exhausted"),
        ("quota", "quota"),
        ("rate_limit", "quota"),
        ("healthy_false_positive", "completed"),
    ];
    for (kind, expected) in kinds {
        let (count, missed) = wrong(WORDINGS, kind, &[expected], true);
        println!("wordings, {kind}: {}/{count}", count - missed.len());
        assert!(missed.is_empty(), "{} of {count}:\n{}", missed.len(), missed.join("\n"));
    }
}
