//! What a policy may do about a session that could go no further, and about a prompt whose objectives are not done.

use super::fake_policy::REASON;
use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::decision::{
    Assessment, CompletionDecision, Decision, Evidence, RecoveryAction, RecoveryDecision, Verdict,
};
use crate::facts::SignalSource;
use crate::ids::{Digest, Seq};
use crate::input::{AgentReport, Input, PauseAnswer, ReportedHandoff, SplitGroupReport};
use crate::observation::{AssessTrigger, ObjectiveStatus, PolicyQuery, SplitTrigger};
use crate::progress::ProgressEvent;
use crate::run::judgment::Judgment;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase_list::PhaseIndex;
use crate::run::step::PhaseStep;
use crate::view::RunStatus;
use crate::workflow::{AgentKind, Role};

/// A world of one phase whose policy answers this after such a verdict.
fn world(verdict: Verdict, action: RecoveryAction, script: &[ScriptedTurn]) -> TestRun {
    let mut flow = workflow(&[("1", &["a", "b"])]);
    flow.roles.insert("senior".into(), Role { window_tokens: Some(1000), ..Role::of(AgentKind::Claude) });
    let mut world = TestRun::new(flow);
    world.recovery = Some((verdict, action));
    world.script = script.to_vec().into();
    world
}

fn roles(world: &TestRun) -> Vec<String> {
    let spawned = world.actions.iter().filter_map(|action| match action {
        Action::Spawn(spec) => Some(spec.role.to_string()),
        _ => None,
    });
    spawned.collect()
}

// A6
#[test]
fn another_role_continues_an_exhausted_session() {
    let senior = RecoveryAction::OtherRole { role: "senior".into() };
    let mut world = world(Verdict::Exhausted, senior, &[ScriptedTurn::Finish(300), ScriptedTurn::Exhaust]);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(roles(&world), ["executor", "senior"]);
    let retries =
        world.notices.iter().filter(|notice| matches!(notice, ProgressEvent::Retrying { .. })).count();
    assert_eq!(retries, 0, "it is a continuation, and no retry");
}

// B4
#[test]
fn a_person_is_asked_instead_of_waiting_for_a_provider() {
    let ask = RecoveryAction::AskPerson { question: "Buy more?".into() };
    let mut world = world(
        Verdict::Quota { cause: crate::decision::QuotaCause::Rate, resets_at_ms: None },
        ask,
        &[ScriptedTurn::Quota(None)],
    );
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert_eq!(view.questions[0].text, "The policy test asks: \"Buy more?\"");
    assert!(
        !view.questions[0].choices.contains(&PauseAnswer::Accept),
        "nobody can say that the work is done"
    );
}

// A11
#[test]
fn what_an_agent_asks_is_answered_before_its_work_is_accepted() {
    let ask = || RecoveryAction::AskPerson { question: "CSV or JSON?".into() };
    for (verdict, first) in
        [(Verdict::NeedsInput, PauseAnswer::Retry), (Verdict::Truncated, PauseAnswer::Accept)]
    {
        let mut world = world(Verdict::Healthy, ask(), &[ScriptedTurn::Hang]);
        while world.run.phases.is_empty()
            || world.run.session(PhaseIndex::at(0)).is_none_or(|s| s.prompts == 0)
        {
            assert!(world.step());
        }
        let session = world.run.session_mut(PhaseIndex::at(0)).unwrap();
        session.answer_bytes = 20;
        let assessment =
            Assessment { verdict, evidence: Vec::new(), warning: None, reason: "it asks".into() };
        world.run.apply_verdict(
            PhaseIndex::at(0),
            AssessTrigger::PromptEnded,
            &[ObjectiveIndex::at(0)],
            &assessment,
        );
        let PhaseStep::DecidingRecovery { judgment, .. } = world.run.phases[PhaseIndex::at(0)].step.clone()
        else {
            panic!()
        };
        world.run.apply_recovery(PhaseIndex::at(0), &[ObjectiveIndex::at(0)], &judgment, &ask());
        world.go();
        let question = &world.run.view(world.now).unwrap().questions[0];
        assert_eq!(question.choices[0], first, "{question:?}");
        assert!(question.choices.contains(&PauseAnswer::Accept));
    }
}

// A8
#[test]
fn a_question_about_what_sessions_ended_by_names_the_policy_that_said_so() {
    let asked = |judged_by: Option<&str>| {
        let mut world = world(Verdict::Exhausted, RecoveryAction::HandOff, &[ScriptedTurn::Hang]);
        while world.run.phases.is_empty() {
            assert!(world.step());
        }
        world.run.phases[PhaseIndex::at(0)].assessment.judged_by = judged_by.map(str::to_owned);
        let asked = world.run.question_about_ending(
            PhaseIndex::at(0),
            SplitTrigger::OutOfContinuations,
            "Two sessions used up their windows.",
        );
        asked.user_text().to_owned()
    };
    assert_eq!(asked(None), "Two sessions used up their windows.");
    assert!(
        asked(Some("false.wasm")).ends_with("(The policy false.wasm judged how its last session ended.)")
    );
}

// A4
#[test]
fn words_that_another_policy_says_were_said_and_were_not_have_no_other_speaker() {
    let shown = |text: &str, channel: SignalSource, by: Option<&str>| {
        let ask = || RecoveryAction::AskPerson { question: "What now?".into() };
        let mut world = world(Verdict::Healthy, ask(), &[ScriptedTurn::Hang]);
        while world.run.phases.is_empty()
            || world.run.session(PhaseIndex::at(0)).is_none_or(|s| s.prompts == 0)
        {
            assert!(world.step());
        }
        world.run.session_mut(PhaseIndex::at(0)).unwrap().answer_tail =
            "The build is broken, so I stop.".into();
        let evidence = vec![Evidence { channel, seq: Some(Seq(7)), text: text.into() }];
        let assessment =
            Assessment { verdict: Verdict::Failed, evidence, warning: None, reason: "so".into() };
        let judgment = Judgment::of(&assessment, by.map(str::to_owned));
        world.run.apply_recovery(PhaseIndex::at(0), &[ObjectiveIndex::at(0)], &judgment, &ask());
        world.go();
        let seq_of = |notice: &ProgressEvent| match notice {
            ProgressEvent::Stopped { evidence, .. } => Some(evidence[0].seq),
            _ => None,
        };
        world.notices.iter().find_map(seq_of).unwrap()
    };
    let other = Some("falsy.wasm");
    assert_eq!(shown("so I stop", SignalSource::AgentText, other), Some(Seq(7)));
    assert_eq!(shown("usage limit reached", SignalSource::AgentText, other), None);
    assert_eq!(shown("so I stop", SignalSource::ProviderError, other), None);
    assert_eq!(shown("usage limit reached", SignalSource::ProviderError, None), Some(Seq(7)), "Baton's own");
}

// A8
#[test]
fn a_session_that_failed_may_be_handed_off_and_that_is_a_continuation() {
    let mut world =
        world(Verdict::Failed, RecoveryAction::HandOff, &[ScriptedTurn::Finish(300), ScriptedTurn::Die]);
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let retries =
        world.notices.iter().filter(|notice| matches!(notice, ProgressEvent::Retrying { .. })).count();
    assert_eq!(retries, 0);
}

/// What prompts and documents are made of, as a policy is asked for them.
fn asked_for_agents(world: &TestRun) -> Vec<String> {
    let asked = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Prompting(_) | PolicyQuery::Handoff(_) => {
                Some(serde_json::to_string(request).unwrap())
            }
            _ => None,
        },
        _ => None,
    });
    asked.collect()
}

// B6: a reason may be a stranger's, and is for people.
#[test]
fn the_reason_of_a_policy_reaches_no_prompt_and_no_handoff() {
    for (verdict, action, init_script, known) in [
        (
            Verdict::Exhausted,
            RecoveryAction::HandOff,
            vec![ScriptedTurn::Finish(300), ScriptedTurn::Exhaust],
            "its context window is used up",
        ),
        (
            Verdict::Failed,
            RecoveryAction::HandOff,
            vec![ScriptedTurn::Finish(300), ScriptedTurn::Die],
            "it failed",
        ),
        (
            Verdict::Failed,
            RecoveryAction::Retry,
            vec![ScriptedTurn::Finish(300), ScriptedTurn::Die],
            "it failed",
        ),
    ] {
        let mut world = world(verdict, action, &init_script);
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done));
        let asked = asked_for_agents(&world);
        assert!(asked.iter().any(|question| question.contains(known)), "{asked:#?}");
        assert!(!asked.iter().any(|question| question.contains(REASON)), "{asked:#?}");
    }
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    world.unfinished.set(1);
    world.recovery = Some((Verdict::Answered, RecoveryAction::Nudge));
    world.go();
    let asked = asked_for_agents(&world);
    assert!(asked.iter().any(|question| question.contains("nothing shows that what is open is done")));
    assert!(!asked.iter().any(|question| question.contains(REASON)), "{asked:#?}");
}

// B6
#[test]
fn a_person_who_only_says_again_passes_no_reason_of_a_policy_on() {
    for message in [None, Some("keep the tests".to_owned())] {
        let mut world = world(
            Verdict::Exhausted,
            RecoveryAction::OtherRole { role: "nobody".into() },
            &[ScriptedTurn::Finish(300), ScriptedTurn::Exhaust],
        );
        world.go();
        let question = world.run.user_questions.keys().next().copied().expect("a person is asked");
        world.put(Input::Answered { question, choice: PauseAnswer::Retry, message: message.clone() });
        world.go();
        let asked = asked_for_agents(&world);
        assert!(!asked.iter().any(|question| question.contains(REASON)), "{asked:#?}");
        let said = message.as_deref().unwrap_or("has it tried again");
        assert!(asked.iter().any(|question| question.contains(said)), "{asked:#?}");
    }
}

// B6: the built-in policy asks about what another one judged, and its question has that one's words in it.
#[test]
fn a_question_about_what_another_policy_judged_passes_its_words_on_to_no_agent() {
    let ask = || RecoveryAction::AskPerson { question: format!("The agent asks: {REASON}") };
    let mut world = world(Verdict::Healthy, ask(), &[ScriptedTurn::Hang]);
    while world.run.phases.is_empty() || world.run.session(PhaseIndex::at(0)).is_none_or(|s| s.prompts == 0) {
        assert!(world.step());
    }
    let assessment = Assessment {
        verdict: Verdict::NeedsInput,
        evidence: Vec::new(),
        warning: None,
        reason: REASON.into(),
    };
    world.run.answering_policy = Some("odd".to_owned());
    world.run.apply_verdict(
        PhaseIndex::at(0),
        AssessTrigger::PromptEnded,
        &[ObjectiveIndex::at(0)],
        &assessment,
    );
    world.run.answering_policy = None;
    let PhaseStep::DecidingRecovery { judgment, .. } = world.run.phases[PhaseIndex::at(0)].step.clone()
    else {
        panic!()
    };
    world.run.apply_recovery(PhaseIndex::at(0), &[ObjectiveIndex::at(0)], &judgment, &ask());
    world.go();
    let (question, shown) = world.run.user_questions.iter().next().expect("a person is asked");
    let shown = shown.cause.user_text();
    assert!(shown.ends_with("(The policy odd judged it so.)"), "{shown:?}");
    let answer =
        Input::Answered { question: *question, choice: PauseAnswer::Retry, message: Some("CSV".into()) };
    world.put(answer);
    world.go();
    let asked = asked_for_agents(&world);
    assert!(asked.iter().any(|question| question.contains("a policy asked a person something")));
    assert!(!asked.iter().any(|question| question.contains(REASON)), "{asked:#?}");
}

// A11
#[test]
fn what_a_policy_does_not_call_done_is_asked_about_again() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    world.unfinished.set(1);
    world.recovery = Some((Verdict::Answered, RecoveryAction::Nudge));
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let prompts =
        world.notices.iter().filter(|notice| matches!(notice, ProgressEvent::Prompted { .. })).count();
    assert_eq!(prompts, 3, "the first of two objectives was prompted for twice");
}

// A11
#[test]
fn a_prompt_that_is_partly_done_says_what_each_part_lacks() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
    while world.run.live_sessions().is_empty() {
        assert!(world.step());
    }
    let missing = "out/b.txt".to_owned();
    world.run.phases[PhaseIndex::at(0)].objectives[ObjectiveIndex::at(1)].spec.files = vec![missing.clone()];
    world.run.phases[PhaseIndex::at(0)].measurements.facts.missing = vec![missing];
    let done = ["a", "b"].map(Into::into).to_vec();
    let decision = CompletionDecision { done, evidence: Vec::new(), reason: "c is open".into() };
    let answered = Assessment {
        verdict: Verdict::Answered,
        evidence: Vec::new(),
        warning: None,
        reason: "it answered".into(),
    };
    world.run.apply_completion(
        PhaseIndex::at(0),
        AssessTrigger::PromptEnded,
        &[ObjectiveIndex::at(0), ObjectiveIndex::at(1), ObjectiveIndex::at(2)],
        answered,
        &decision,
    );
    let PhaseStep::DecidingRecovery { focus, judgment, .. } = &world.run.phases[PhaseIndex::at(0)].step
    else {
        panic!("it is asked how to go on: {:?}", world.run.phases[PhaseIndex::at(0)].step)
    };
    assert_eq!(*focus, [1, 2].map(ObjectiveIndex::at), "what has its evidence is done, and nothing else");
    let reason = &judgment.completion.as_ref().unwrap().reason;
    assert_eq!(reason, "c is open; objective b: out/b.txt is missing");
}

// A4
#[test]
fn an_answer_about_a_stall_that_is_over_ends_nothing() {
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    world.script = [ScriptedTurn::Hang].into();
    while world.run.live_sessions().is_empty() {
        assert!(world.step());
    }
    let asked = |world: &TestRun| world.run.session(PhaseIndex::at(0))?.at_work.recovering();
    while asked(&world).is_none() {
        assert!(world.step());
    }
    let request = asked(&world).unwrap();
    // Meanwhile its prompt has ended.
    world.run.on_workspace_measured(
        PhaseIndex::at(0),
        AssessTrigger::PromptEnded,
        vec![ObjectiveIndex::at(0)],
    );
    let step = world.run.phases[PhaseIndex::at(0)].step.clone();
    let retry = RecoveryDecision { action: RecoveryAction::Retry, reason: "it stalls".into() };
    world.run.apply_answer_at_work(PhaseIndex::at(0), request, &Ok(Decision::Recovery(retry)));
    assert_eq!(world.run.phases[PhaseIndex::at(0)].step, step, "what has ended is judged first");
}

// A11
#[test]
fn a_request_to_split_after_all_is_reported_as_done_opens_what_it_names() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    while world.run.live_sessions().is_empty() {
        assert!(world.step());
    }
    let reports = ["a", "b"].map(|objective| AgentReport::ObjectiveUpdate {
        objective: objective.into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    });
    for report in reports {
        world.put(reported(report));
    }
    let group = |id: &str| SplitGroupReport { title: id.into(), objectives: vec![id.into()] };
    let groups = vec![group("a"), group("b")];
    world.put(reported(AgentReport::SplitRequest { groups, rationale: "too large".into() }));
    world.go();
    let reopened =
        world.notices.iter().filter(|notice| matches!(notice, ProgressEvent::Reopened { .. })).count();
    assert_eq!(reopened, 2);
    assert_eq!(world.ending(), Some(RunOutcome::Done), "each was worked on after that");
    assert!(["a", "b"].map(Into::into).iter().all(|id| world.worked.contains_key(id)), "{:?}", world.worked);
}

// A11, C23
#[test]
fn a_handoff_behind_a_report_of_done_opens_what_it_names_next() {
    let handed_off = |next: &str| {
        let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
        while world.run.live_sessions().is_empty() {
            assert!(world.step());
        }
        let (objective, status) = ("a".into(), ObjectiveStatus::Done);
        world.put(reported(AgentReport::ObjectiveUpdate {
            objective,
            status,
            note: "the first half".into(),
        }));
        let handoff = ReportedHandoff {
            current_state: "half of it".into(),
            immediate_next_action: next.into(),
            critical_context: Vec::new(),
            critical_files: Vec::new(),
            open: Vec::new(),
        };
        world.put(reported(AgentReport::HandoffWrite(Box::new(handoff))));
        world.go();
        let is_reopened = world.notices.iter().any(|notice| matches!(notice, ProgressEvent::Reopened { .. }));
        assert_eq!(world.ending(), Some(RunOutcome::Done), "a successor does the rest");
        (is_reopened, world.worked.contains_key(&"a".into()))
    };
    assert_eq!(handed_off("Write the second half of a."), (true, true));
    assert!(!handed_off("Write b, as a was written.").0, "what is open comes next");
    assert!(!handed_off("Write the rest.").0);
}

// A11, C23
#[test]
fn a_policy_sees_the_words_of_a_handoff_until_an_objective_is_reported_as_done() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    while world.run.live_sessions().is_empty() {
        assert!(world.step());
    }
    let seen = |world: &TestRun| {
        world
            .run
            .session_observation(PhaseIndex::at(0), AssessTrigger::PromptEnded, &[ObjectiveIndex::at(0)])
            .0
    };
    let before = seen(&world);
    assert_eq!((before.handoff_reported, before.handoff), (false, None));
    assert_eq!((before.others_open, before.phase_files_changed), (vec!["b".into()], 0));
    let tell = |world: &mut TestRun, report: AgentReport, nth: u32| {
        let digest = Digest::of(format!("{nth}"));
        world.run.on_reported(Some(&"s1".into()), &digest, &report);
    };
    let done = || AgentReport::ObjectiveUpdate {
        objective: "a".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    tell(&mut world, done(), 1);
    let long = "half of it, ".repeat(1000);
    let handoff = ReportedHandoff { current_state: long.clone(), ..ReportedHandoff::default() };
    tell(&mut world, AgentReport::HandoffWrite(Box::new(handoff)), 2);
    let behind = seen(&world);
    let words = behind.handoff.expect("it is the last word").current_state;
    assert!(behind.handoff_reported && words.len() < long.len() && long.starts_with(&words));
    // Its later word is another one.
    tell(&mut world, done(), 3);
    let again = seen(&world);
    assert_eq!((again.handoff_reported, again.handoff), (true, None));
}

/// A report of the first session.
fn reported(report: AgentReport) -> Input {
    let digest = Digest::of(format!("{report:?}"));
    Input::Reported { session: Some("s1".into()), digest, report }
}
