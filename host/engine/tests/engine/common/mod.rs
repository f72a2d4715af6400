//! The committed questions, and as many agents as a bench or test wants.

#![allow(dead_code, unreachable_pub)] // Each binary uses its part, and none of it is for others.

use std::collections::BTreeMap;
use std::path::Path;

use baton_core::TextBlob;
use baton_core::observation::{PolicyQuery, PolicyRequest};
use baton_engine::{BUILTIN_NAME, ConfiguredPolicy, Engine, EngineConfig, builtin_bytes};
use serde::Deserialize;

/// A question of `tests/fixtures/engine`.
pub fn question(name: &str) -> PolicyRequest {
    #[derive(Deserialize)]
    struct Fixture {
        ask: PolicyQuery,
        texts: Vec<String>,
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/engine");
    let json = std::fs::read(folder.join(format!("{name}.json"))).expect("the fixture can be read");
    let Fixture { ask, texts } = serde_json::from_slice(&json).expect("the fixture is a question");
    PolicyRequest::new(ask, texts.into_iter().map(TextBlob::new).collect())
}

/// The same situation with `count` agents: each has its own text, turns and clock, in its own memory.
pub fn agents(name: &str, count: u32) -> Vec<PolicyRequest> {
    let template = question(name);
    (0..count).map(|agent| of_agent(&template, agent)).collect()
}

fn of_agent(template: &PolicyRequest, agent: u32) -> PolicyRequest {
    let mut question = template.clone();
    let session = match &mut question.query {
        PolicyQuery::Exhaustion(seen) => &mut seen.session,
        PolicyQuery::Prompting(seen) => &mut seen.session,
        other => panic!("no fixture of {}", other.function()),
    };
    session.idle_ms += u64::from(agent);
    session.turns += agent % 7;
    for text in &mut question.texts {
        // As many bytes as before, so that the spans of the signals fit.
        let body =
            text.body().unwrap_or_default().replace("12 seconds", &format!("{:02} seconds", agent % 90 + 10));
        *text = TextBlob::new(body);
    }
    question
}

/// An engine that caches compiled components in the target folder: compiling takes a second in a debug build.
pub fn engine() -> Engine {
    engine_for(4)
}

/// The same, for this many decisions at a time.
pub fn engine_for(decisions_in_flight: u32) -> Engine {
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot"));
    Engine::new(EngineConfig { cache_dir, decisions_in_flight, ..EngineConfig::default() })
        .expect("an engine")
}

/// The default policy with its defaults.
pub fn built_in(engine: &Engine) -> ConfiguredPolicy {
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).expect("the built-in policy loads");
    policy.configure(&BTreeMap::new()).expect("its defaults are good")
}
