//! What every agent goes through. Each scenario ends with the work done and no process left.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use baton_runtime::core::UnixMs;
use baton_runtime::core::observation::PromptKind;
use baton_runtime::core::progress::ProgressEvent;
use baton_simulator::{AnswerKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::json;

use crate::agent::{RealAgent, ResetPrecision};
use crate::fixture::{MESSAGE_SCALE, OBJECTIVES, RealAgentFixture, RealAgentRun, asked, count, filler};
use crate::support::until;

/// Seconds until the quota resets, at first and where the agent was too slow to meet it.
const RESETS_IN_S: [u64; 2] = [12, 45];

/// Every objective in turn, with so many pages.
pub(crate) fn script(fixture: &RealAgentFixture<'_>, pages: [usize; 3]) -> ModelScript {
    OBJECTIVES.iter().zip(pages).fold(ModelScript::new(), |script, (objective, pages)| {
        script.on(format!("- [{objective}]"), fixture.turns(objective, pages))
    })
}

pub(crate) fn success(agent: &RealAgent) {
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let simulator = Simulator::start(script(&fixture, [0; 3])).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    run.expect_sessions(1, 0);
    assert_eq!((run.stops(), run.waits()), (Vec::new(), Vec::new()), "{:#?}", run.key_events());
    // N6: what Codex would note for good of any folder that it may write in.
    let settings = fixture.settings_of_codex();
    assert!(!settings.contains("trust_level"), "{settings}");
}

/// The agent reports by Baton's own tools, whatever its role may do, and nobody is asked.
pub(crate) fn tools(agent: &RealAgent, permission: &str) {
    // C7, C19
    let Some(fixture) = RealAgentFixture::of_reports(agent, permission) else { return };
    let script = OBJECTIVES.iter().enumerate().fold(ModelScript::new(), |script, (at, objective)| {
        let call = |tool: &str, arguments| ModelTurn::mcp("baton", tool, arguments);
        let mut turns = vec![
            call("objective_update", json!({ "objective": format!("no-{objective}"), "status": "done" })),
            call(
                "decision_record",
                json!({ "decision": format!("about {objective}"), "rationale": "because" }),
            ),
            call("artifact_save", json!({ "name": format!("notes/{objective}.md"), "content": "# Kept" })),
            call("context_status", json!({})),
            call("objective_update", json!({ "objective": objective, "status": "done" })),
            ModelTurn::say(format!(
                "{objective} is done: it was to be reported, and it is, by the tools that are there for it."
            )),
        ];
        if agent.searches && at == 0 {
            let tools = ["objective_update", "decision_record", "artifact_save", "context_status"];
            turns.insert(0, ModelTurn::find("baton", &tools));
        }
        script.on(format!("- [{objective}]"), turns)
    });
    let simulator = Simulator::start(script).unwrap();
    let run = fixture.run(&simulator);

    let requests = simulator.requests();
    let called = |name: &str| {
        let is_it =
            |answered: &AnswerKind| matches!(answered, AnswerKind::Called(called) if called.ends_with(name));
        requests.iter().filter(|request| is_it(&request.answered)).count()
    };
    assert_eq!(called("objective_update"), 2 * OBJECTIVES.len(), "{:#?}", asked(&simulator));
    let found = called("ToolSearch") + called("tool_search");
    assert_eq!(found, usize::from(agent.searches), "{:#?}", asked(&simulator));
    // By the tools, since it is known which session reported; and what was wrong was refused.
    let session = run.phase().sessions[0].id.clone();
    assert!(run.reports.iter().all(|(from, _)| from.as_ref() == Some(&session)), "{:#?}", run.reports);
    assert_eq!(run.reports.len(), 3 * OBJECTIVES.len(), "{:#?}", run.reports);
    assert_eq!(run.story.done().len(), OBJECTIVES.len(), "{:#?}", run.key_events());
    let done: Vec<_> = OBJECTIVES.iter().map(|id| ((*id).to_owned(), "done".to_owned())).collect();
    assert_eq!(fixture.progress(), done);
    let status = fixture.stage.baton(&["status"]).expect(0).stdout;
    assert!(status.contains(&format!("{0}/{0}", OBJECTIVES.len())), "{status}");
    for objective in OBJECTIVES {
        let name = format!("notes/{objective}.md");
        assert!(fixture.stage.artifacts().iter().any(|artifact| artifact.name == name));
    }
    run.expect_sessions(1, 0);
    assert_eq!((run.stops(), fixture.left(&run.groups)), (Vec::new(), Vec::new()), "{:#?}", run.key_events());
}

/// Out of context in the middle of the second objective, by the provider's own words.
pub(crate) fn exhaustion(agent: &RealAgent) {
    // A4, A5, A6, A7
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let script = script(&fixture, [2, 3, 0])
        .message_scale(MESSAGE_SCALE)
        .max_prompt_tokens(agent.narrow_window_tokens);
    let simulator = Simulator::start(script).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    assert_eq!(fixture.stage.read("beta-page-3.txt"), filler());

    let requests = simulator.requests();
    let too_long = requests.iter().find(|request| request.answered == AnswerKind::TooLong);
    assert!(
        too_long.is_some_and(|request| request.prompt.contains("- [beta]") && request.results > 0),
        "{:#?}",
        asked(&simulator)
    );
    let stops = run.stops();
    assert!(
        matches!(stops.as_slice(), [(verdict, said)] if verdict == "exhausted" && !said.is_empty()),
        "{stops:?}"
    );

    // The second was another process, and was told what the first left.
    run.expect_sessions(2, 1);
    let phase = run.phase();
    let sessions = &phase.sessions;
    let by: Vec<_> = phase.objectives.iter().filter_map(|objective| objective.by.as_ref()).collect();
    assert_eq!(by, [&sessions[0].id, &sessions[1].id, &sessions[1].id]);
    assert!(fixture.stage.workspace.join(&phase.handoffs[0].path).is_file());
    let continued = requests.iter().rfind(|request| request.prompt.contains("- [beta]")).unwrap();
    assert!(continued.prompt.contains("- done: alpha"), "{}", continued.prompt);
}

/// Refused once for the rate of its requests, the agent tries again by itself.
pub(crate) fn rate_limit(agent: &RealAgent) {
    // B6, B8
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let failure = ScriptedFailure::rate_limited(1).retry_after_s(1).after(1);
    let simulator = Simulator::start(script(&fixture, [0; 3]).failing(failure)).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    assert_eq!(count(&simulator, &AnswerKind::Failed(429)), 1, "{:#?}", asked(&simulator));
    run.expect_sessions(1, 0);
    assert_eq!(run.stops(), [], "{:#?}", run.key_events());
    // Where the agent says that it waits, the wait ended as well.
    assert_eq!(
        run.waits().len(),
        run.story.count(|notice| matches!(notice, ProgressEvent::QuotaOver { .. }))
    );
}

/// Refused for a quota, the agent gives up and is asked again when the quota has reset.
pub(crate) fn quota(agent: &RealAgent) {
    // B4, B5, B6
    for resets_in_s in RESETS_IN_S {
        let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
        let resets_at_s = match agent.reset_precision {
            // Told without seconds, only a whole minute is told as it is.
            ResetPrecision::Minute => (now_s() + resets_in_s).next_multiple_of(60),
            ResetPrecision::Nothing | ResetPrecision::Second => now_s() + resets_in_s,
        };
        let failure = ScriptedFailure::quota_until(resets_at_s).after(1);
        let simulator = Simulator::start(script(&fixture, [0; 3]).failing(failure)).unwrap();
        let run = fixture.run(&simulator);
        fixture.expect_done(&run);
        if count(&simulator, &AnswerKind::Failed(429)) > 0 {
            return waited(agent, &run, resets_at_s);
        }
    }
    panic!("the agent was never fast enough to meet the quota");
}

fn waited(agent: &RealAgent, run: &RealAgentRun, resets_at_s: u64) {
    run.expect_sessions(1, 0);
    let expected = (agent.reset_precision != ResetPrecision::Nothing).then_some(UnixMs(resets_at_s * 1000));
    let waits = run.waits();
    assert!(!waits.is_empty() && waits.iter().all(|until| *until == expected), "{waits:?}, {expected:?}");
    assert_eq!(run.stops(), [], "{:#?}", run.key_events());
    // A wait is told again when the agent gives up: with when it is tried again.
    let begun = |notice: &ProgressEvent| match notice {
        ProgressEvent::QuotaWait { since, .. } => Some(*since),
        _ => None,
    };
    let begun: BTreeSet<UnixMs> = run.story.notices.iter().filter_map(begun).collect();
    let over = run.story.count(|notice| matches!(notice, ProgressEvent::QuotaOver { .. }));
    assert_eq!(begun.len(), over, "{:#?}", run.key_events());
}

/// The policy wants room before the second objective; the agent makes it and goes on.
pub(crate) fn compaction(agent: &RealAgent) {
    // B1, B3
    let threshold = format!("compact-percent = {}", agent.compact_percent);
    let Some(fixture) = RealAgentFixture::of(agent, &threshold) else { return };
    let simulator = Simulator::start(script(&fixture, [2, 0, 0]).message_scale(MESSAGE_SCALE)).unwrap();
    let run = fixture.run(&simulator);
    fixture.expect_done(&run);
    let happened = |what: fn(&ProgressEvent) -> bool| run.story.count(what);
    assert_eq!(
        (
            happened(|notice| matches!(notice, ProgressEvent::Compacted { asked: true, .. })),
            happened(|notice| matches!(notice, ProgressEvent::Prompted { kind: PromptKind::ReOriented, .. })),
            count(&simulator, &AnswerKind::Summarised)
        ),
        (1, 1, 1),
        "{:#?}\n{:#?}",
        asked(&simulator),
        run.key_events()
    );
    run.expect_sessions(1, 0);

    // The pages are out of the context.
    let size = |objective: &str| {
        let objective = format!("- [{objective}]");
        let requests = simulator.requests();
        let mut sizes = requests
            .iter()
            .filter(|request| request.prompt.contains(&objective) && request.answered == AnswerKind::Said)
            .map(|request| request.prompt_tokens);
        sizes.next().unwrap()
    };
    assert!(size("beta") < size("alpha"), "{:#?}", asked(&simulator));
}

/// The model hangs in the middle of the second objective, once; the first has so many pages.
pub(crate) fn hanging_once(fixture: &RealAgentFixture<'_>, pages: usize) -> ModelScript {
    let hung = Arc::new(AtomicBool::new(false));
    let mut beta = fixture.turns("beta", 0);
    beta.insert(
        1,
        ModelTurn::computed(move |_| match hung.swap(true, Ordering::SeqCst) {
            false => ModelTurn::hang(),
            true => ModelTurn::say("It was written before."),
        }),
    );
    ModelScript::new()
        .on("- [alpha]", fixture.turns("alpha", pages))
        .on("- [beta]", beta)
        .on("- [gamma]", fixture.turns("gamma", 0))
}

/// The host is killed while the agent works; the agent dies with it, and another host finishes.
pub(crate) fn kill(agent: &RealAgent) {
    let Some(fixture) = RealAgentFixture::of(agent, "") else { return };
    let simulator = Simulator::start(hanging_once(&fixture, 0)).unwrap();
    let host = fixture.start(&["run", "relay.toml"], &simulator);
    until("the model hangs", || count(&simulator, &AnswerKind::Hung) > 0);
    host.kill();
    let groups = RealAgentRun::read(&fixture.stage).groups;
    until("the agent is gone", || fixture.left(&groups).is_empty());

    let run = fixture.baton(&["resume"], &simulator);
    fixture.expect_done(&run);
    run.expect_sessions(2, 0);
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
