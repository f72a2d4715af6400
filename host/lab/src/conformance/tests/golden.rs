//! One format, two readers: whatever the host can ask and a policy can answer goes through a golden file in the SDK's hands and
//! comes back.

use baton_core::observation::Capability;
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, builtin_bytes};
use baton_sdk::golden::{from_text, to_text};
use baton_sdk::prelude::*;
use baton_sdk::{Ask, Case, sample};
use serde_json::{Value, json};

use super::super::rules::RULES;
use super::{MANY, questions};
use crate::golden::{GoldenCase, GoldenResult};

/// A question as the host writes it.
fn written(question: &baton_core::observation::PolicyRequest) -> Value {
    let texts: Vec<&str> = question.texts.iter().map(|text| text.body().unwrap_or_default()).collect();
    json!({ "ask": question.query, "texts": texts, "facts": question.facts })
}

#[test]
fn host_and_sdk_read_and_write_the_same_files() {
    // M4
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).unwrap();
    assert_eq!(policy.decides().len(), Capability::ALL.len());
    for question in questions(11, MANY) {
        let asked = GoldenCase::parse(&written(&question).to_string()).unwrap();
        assert_eq!(asked.question, question);
        let replayed = asked.replay(&policy).unwrap();
        let GoldenResult::Differs { places, decision } = replayed else {
            panic!(
                "a file without a decision has none to stand, and the built-in policy answers: {replayed:?}"
            )
        };
        assert!(places.is_empty());

        // What the host writes is what the SDK reads, and what that writes is read by both.
        let text = asked.with_decision(decision.as_ref());
        let (case, answer) = from_text(&text).unwrap_or_else(|wrong| panic!("{wrong}: {text}"));
        let again = to_text(&case, answer.as_ref());
        assert_eq!(from_text(&again), Ok((case, answer)));
        let golden = GoldenCase::parse(&again).unwrap_or_else(|wrong| panic!("{wrong}: {again}"));
        assert_eq!(golden.decision.as_ref(), Some(&decision));
        // And the policy cannot tell the two questions apart.
        assert_eq!(golden.replay(&policy).unwrap(), GoldenResult::Matches, "{again}");
    }
}

#[test]
fn the_rules_of_the_sdk_are_those_of_the_check() {
    for rule in baton_sdk::rules::RULES {
        let here = RULES.iter().find(|here| here.name == rule.name);
        assert_eq!(here.map(|here| here.says), Some(rule.says), "{}", rule.name);
    }
    use baton_engine::limits::{ANSWER_ITEMS, ANSWER_TEXT_BYTES, EVIDENCE_BYTES, REASON_BYTES};
    use baton_sdk::caps;
    assert_eq!((caps::TEXT_BYTES, caps::REASON_BYTES), (ANSWER_TEXT_BYTES, REASON_BYTES));
    assert_eq!((caps::ITEMS, caps::EVIDENCE_BYTES), (ANSWER_ITEMS, EVIDENCE_BYTES));
}

/// Asks a person this character.
struct AskPersonPolicy;

std::thread_local! {
    static ASKED: std::cell::Cell<char> = const { std::cell::Cell::new('?') };
}

impl Recovery for AskPersonPolicy {
    fn decide(_: &impl Host, _: recovery::Observation) -> Option<recovery::Decision> {
        Some(recovery::Decision::new(recovery::Action::AskPerson(ASKED.get().to_string()), "it asks"))
    }
}

export_policy!(AskPersonPolicy: recovery);

#[test]
fn host_and_sdk_agree_which_characters_say_something() {
    let case = Case::new(Ask::Recover(sample::recovery_observation(0)));
    let kinds = ('\0'..='\u{ffff}').chain('\u{e0000}'..='\u{e0fff}');
    for c in kinds {
        ASKED.set(c);
        let is_blank = baton_sdk::rules::broken::<AskPersonPolicy>(&case)
            .iter()
            .any(|how| how.contains("asks a person nothing"));
        assert_eq!(is_blank, !baton_core::visible::has_visible_text(c.encode_utf8(&mut [0; 4])), "{c:?}");
    }
}

#[test]
fn another_decision_is_told_by_its_place() {
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).unwrap();
    let question = questions(11, 2).nth(1).unwrap();
    let mut document = written(&question);
    document["decision"] = json!({ "function": "compaction", "answer": { "action": { "action": "keep" }, "reason": "because" } });
    let golden = GoldenCase::parse(&document.to_string()).unwrap();
    let GoldenResult::Differs { places, decision } = golden.replay(&policy).unwrap() else {
        panic!("it differs")
    };
    assert!(
        places.iter().any(|place| place.starts_with("decision.answer.reason was \"because\"")),
        "{places:?}"
    );
    let stands = GoldenCase::parse(&golden.with_decision(decision.as_ref())).unwrap();
    assert_eq!(stands.replay(&policy), Ok(GoldenResult::Matches));

    document["settings"] = json!({ "no-such-setting": 1 });
    let refused = GoldenCase::parse(&document.to_string()).unwrap().replay(&policy).unwrap_err();
    assert!(refused.contains("no-such-setting"), "{refused}");
    for (field, value, wrong) in [
        ("schema", json!(2), ": schema: 2 is not known"),
        ("settings", json!({ "a": null }), ": settings.a: is no value"),
        ("decision", json!({ "function": "compaction", "answer": {} }), ": decision.answer"),
        ("because", json!(1), "unknown field `because`"),
    ] {
        let mut document = document.clone();
        document[field] = value;
        let said = GoldenCase::parse(&document.to_string()).unwrap_err();
        assert!(said.contains(wrong), "{said}");
    }
}
