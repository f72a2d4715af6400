//! The default policy against real texts of exhaustion, quota, rate limits and truncation, and healthy texts that look
//! like them (A4, B4). Each text is judged alone: it is what decides, with no outcome or occupancy to help.

use std::cell::RefCell;

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion, Verdict};
use baton_sdk::types::{Channel, SessionState};
use baton_sdk::{Exhaustion, MockHost, sample};

/// Collected from bug reports, documentation and sources; each row names its own.
const CORPUS: &str = include_str!("../../../tests/fixtures/policies/exhaustion-corpus.jsonl");
/// Other wordings of the same, each with its source. The rules were written beside `a` and `b`. `c` and `d` were collected
/// afterwards; when they were new, `c` scored 23 of 31 (exhausted), 23 of 25 (limits) and 28 of 32 (healthy), and `d` 5
/// of 6, 6 of 7 and 3 of 3.
const WORDINGS: &str = include_str!("../../../tests/fixtures/policies/wordings.jsonl");

thread_local! {
    /// One for all rows of a test: it is slow to make, and an assessment leaves nothing in it.
    static HOST: RefCell<MockHost> = RefCell::new(MockHost::with_settings_of::<Resilience>(&[]));
}

#[derive(Clone)]
struct Row {
    kind: String,
    channel: Channel,
    text: String,
    code: String,
    half: String,
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
        Row { kind: field("kind"), channel, text: field("text"), code, half: field("half") }
    };
    corpus.lines().map(row).collect()
}

/// One signal at the end of a prompt, with an answer that is as long as the text.
fn judge(row: &Row, channel: Channel, occasion: Occasion, with_code: bool) -> Verdict {
    let window = HOST.with_borrow_mut(|host| host.add_text(row.text.clone()));
    let code = if with_code { row.code.as_str() } else { "" };
    let mut observation = Observation {
        occasion: occasion.clone(),
        signals: vec![sample::signal(channel, code, row.text.len() as u32)],
        ..sample::exhaustion_observation(window)
    };
    if occasion == Occasion::SessionEnded {
        observation.session.state = SessionState::Ended;
    }
    HOST.with_borrow(|host| <Resilience as Exhaustion>::assess(host, observation).unwrap()).verdict
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "healthy",
        Verdict::Answered => "completed",
        Verdict::Exhausted => "exhausted",
        Verdict::Quota(_) => "quota",
        Verdict::TurnLimit => "turn-limit",
        Verdict::Truncated => "truncated",
        _ => "other",
    }
}

/// The kinds of rows, and the verdicts that each may get.
const KINDS: [(&str, &[&str]); 5] = [
    ("exhausted", &["exhausted"]),
    ("quota", &["quota"]),
    ("rate_limit", &["quota"]),
    ("truncated", &["truncated", "turn-limit"]),
    ("healthy_false_positive", &["healthy", "completed"]),
];

/// How many rows of a kind there are, and those that get none of its verdicts.
fn wrong(rows: &[Row], kind: &str, with_code: bool) -> (usize, Vec<String>) {
    let expected = KINDS.iter().find(|(name, _)| *name == kind).map(|(_, verdicts)| *verdicts).unwrap();
    let of_kind: Vec<&Row> = rows.iter().filter(|row| row.kind == kind).collect();
    let judged = |row: &&Row| {
        let verdict = judge(row, row.channel, Occasion::PromptEnded, with_code);
        let said = name(&verdict);
        (!expected.contains(&said)).then(|| format!("{said}: {:?} {}", row.channel, row.text))
    };
    (of_kind.len(), of_kind.iter().filter_map(judged).collect())
}

/// The figures of one set of rows, with the code where there is one and by the text alone.
fn figures(set: &str, rows: &[Row]) {
    let mut failed = Vec::new();
    for (kind, _) in KINDS {
        for with_code in [true, false] {
            let (count, wrong) = wrong(rows, kind, with_code);
            if count == 0 {
                continue;
            }
            let right = count - wrong.len();
            println!("{set}, {kind}, codes {with_code}: {right}/{count}");
            let enough = match kind {
                // A4: at least 95 % of them.
                "exhausted" | "truncated" => right * 100 >= count * 95,
                // A4, B4: no false alarm in the given rows; one in a hundred others, which were made to deceive.
                "healthy_false_positive" if set != "given" => wrong.len() * 100 <= count.max(100),
                _ => wrong.is_empty(),
            };
            if !enough {
                failed.push(format!("{kind}, codes {with_code}: {right}/{count}\n{}", wrong.join("\n")));
            }
        }
    }
    assert!(failed.is_empty(), "{set}\n{}", failed.join("\n"));
}

#[test]
fn the_given_rows_are_told_apart() {
    // A4, B4
    figures("given", &rows(CORPUS));
}

#[test]
fn other_wordings_are_told_apart_too() {
    // A4, B4
    for half in ["a", "b", "c", "d"] {
        let rows: Vec<Row> = rows(WORDINGS).into_iter().filter(|row| row.half == half).collect();
        assert!(rows.len() > 10, "half {half} has {} rows", rows.len());
        figures(half, &rows);
    }
}

#[test]
fn limits_are_never_called_exhaustion() {
    // B4: nor does exhaustion pass for a limit.
    for row in rows(CORPUS).iter().chain(&rows(WORDINGS)) {
        let forbidden = match row.kind.as_str() {
            "quota" | "rate_limit" => "exhausted",
            "exhausted" => "quota",
            _ => continue,
        };
        for channel in [Channel::AgentEvent, Channel::ProviderError, Channel::AgentText, Channel::Terminal] {
            let verdict = judge(row, channel, Occasion::PromptEnded, true);
            assert_ne!(name(&verdict), forbidden, "{channel:?} {}", row.text);
        }
    }
}

#[test]
fn healthy_texts_raise_no_alarm_as_the_agents_own_words() {
    // A4
    for row in rows(CORPUS).iter().filter(|row| row.kind == "healthy_false_positive") {
        let verdict = judge(row, Channel::AgentText, Occasion::PromptEnded, false);
        assert_eq!(name(&verdict), "completed", "{}", row.text);
    }
}

#[test]
fn what_a_tool_printed_is_never_evidence() {
    // A4: every text, on every occasion.
    for row in rows(CORPUS).into_iter().chain(rows(WORDINGS)) {
        for occasion in [Occasion::Signal, Occasion::PromptEnded, Occasion::Heartbeat, Occasion::Turn] {
            let verdict = judge(&row, Channel::ToolOutput, occasion, true);
            assert!(matches!(verdict, Verdict::Healthy | Verdict::Answered), "{verdict:?}: {}", row.text);
        }
        let ended = judge(&row, Channel::ToolOutput, Occasion::SessionEnded, true);
        assert!(matches!(ended, Verdict::Failed), "{ended:?}: {}", row.text);
    }
}

#[test]
fn an_essay_about_errors_raises_no_alarm() {
    // A4: the same errors, talked about in an answer instead of ending it.
    for row in rows(CORPUS).iter().chain(&rows(WORDINGS)).filter(|row| !row.text.contains('\n')) {
        for essay in [
            format!("I looked at the log. It says `{}`, so I added a retry to client.rs.", row.text),
            format!("The error \"{}\" is handled in src/errors.rs and covered by tests.", row.text),
            format!(
                "> {}\n\nThat is quoted from the issue. I changed the parser accordingly and it works.",
                row.text
            ),
            format!("- {}: handled\n- everything else: done", row.text),
        ] {
            let essay = Row { text: essay, code: String::new(), channel: Channel::AgentText, ..row.clone() };
            let verdict = judge(&essay, Channel::AgentText, Occasion::PromptEnded, false);
            assert_eq!(name(&verdict), "completed", "{}", essay.text);
        }
    }
}
