//! What makes an objective done, and what keeps it open (A11).

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{Observation, Occasion};
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;
use baton_sdk::{MockHost, completion, exhaustion, recovery, sample};

use crate::judged::{Judged, Verdict};

use crate::scene::Scene;

/// A prompt about one objective that ended with a good answer and no changed file.
fn ended(change: impl FnOnce(&mut Observation)) -> Judged {
    let objective = Objective {
        status: ObjectiveStatus::InProgress,
        files: 0,
        ..sample::objective("parser", "Write it")
    };
    let scene = Scene::new(Occasion::PromptEnded).event("end_turn");
    scene
        .with(|o| {
            (o.objectives, o.files_changed) = (vec![objective], 0);
            change(o);
        })
        .assess()
}

/// The same of these words, in a phase that is to change files.
fn answered(words: &str, change: impl FnOnce(&mut Observation)) -> Judged {
    said(Scene::new(Occasion::PromptEnded), words, change)
}

fn said(scene: Scene, words: &str, change: impl FnOnce(&mut Observation)) -> Judged {
    let objective = sample::objective("parser", "Write it");
    let objective = Objective { status: ObjectiveStatus::InProgress, files: 0, ..objective };
    let scene = scene.signal(Channel::AgentText, "", words);
    scene
        .with(|o| {
            (o.objectives, o.phase.expects_files) = (vec![objective], true);
            change(o);
        })
        .assess()
}

fn report(status: ObjectiveStatus, note: &str) -> Option<StatusReport> {
    Some(StatusReport { status, note: note.into(), by_session: true, changed_since: None })
}

fn expects(state: FileState) -> Vec<ExpectedFile> {
    vec![ExpectedFile { path: "src/parser.sh".into(), state }]
}

#[test]
fn an_answer_alone_is_not_enough_where_changes_are_expected() {
    let first = ended(|_| ());
    assert_eq!((first.verdict, &first.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(first.reason.contains("parser"), "{}", first.reason);
    // It was asked once, and there is still nothing to show: a person decides.
    let again = ended(|o| o.nudges = 1);
    assert!(matches!(again.recovery, Action::AskPerson(_)), "{:?}", again.recovery);
    // A role that may only read answers questions.
    assert_eq!(ended(|o| o.phase.expects_files = false).verdict, Verdict::Completed);
    // Changed files, and a check that follows, are evidence.
    assert_eq!(ended(|o| o.files_changed = 1).verdict, Verdict::Completed);
    assert_eq!(ended(|o| o.phase.check = Some("cargo test".into())).verdict, Verdict::Completed);
    assert_eq!(ended(|o| o.objectives[0].check = Some("cargo test".into())).verdict, Verdict::Completed);
}

#[test]
fn a_workflow_says_how_much_is_enough() {
    assert_eq!(ended(|o| o.phase.accept = Some(Basis::Answer)).verdict, Verdict::Completed);
    let reported = |o: &mut Observation| {
        o.phase.accept = Some(Basis::Reported);
        o.files_changed = 3;
    };
    let asked = ended(reported);
    assert_eq!((asked.verdict, asked.recovery), (Verdict::Unfinished, Action::Nudge));
    assert!(asked.reason.contains("not reported as done"), "{}", asked.reason);
    let done = ended(|o| {
        reported(o);
        o.objectives[0].reported = report(ObjectiveStatus::Done, "");
        o.objectives[0].status = ObjectiveStatus::Done;
    });
    assert_eq!(done.verdict, Verdict::Completed);
}

#[test]
fn a_report_that_another_policy_takes_back_is_asked_about_in_its_words() {
    let mut session = sample::exhaustion_observation(0);
    let objective = Objective {
        status: ObjectiveStatus::InProgress,
        reported: report(ObjectiveStatus::Done, "all done"),
        ..sample::objective("parser", "Write it")
    };
    (session.objectives, session.nudges, session.files_changed) = (vec![objective], 1, 4);
    session.phase.budget.retries_used = session.phase.budget.retries;
    let assessment = exhaustion::Assessment {
        verdict: exhaustion::Verdict::Answered,
        evidence: Vec::new(),
        warning: None,
        reason: "the prompt was answered".into(),
    };
    let completion = completion::Decision {
        done: vec![],
        evidence: vec![],
        reason: "parser has no changelog entry".into(),
    };
    let observation =
        recovery::Observation { session, assessment, completion: Some(completion), other_roles: Vec::new() };
    let host = MockHost::with_settings_of::<Resilience>(&[]);
    let decision = <Resilience as Recovery>::decide(&host, observation).unwrap();
    let Action::AskPerson(question) = decision.action else { panic!("{decision:?}") };
    assert_eq!(question, "As it was judged: \"parser has no changelog entry\". Is the work done?");
}

#[test]
fn an_expected_change_that_did_not_come_wins_over_everything() {
    for (state, words) in [(FileState::Missing, "is missing"), (FileState::Unchanged, "has not changed")] {
        let seen = |nudges, retries_used| {
            ended(|o| {
                o.objectives[0].expected_files = expects(state);
                o.objectives[0].reported = report(ObjectiveStatus::Done, "all done");
                (o.files_changed, o.nudges, o.phase.budget.retries_used) = (4, nudges, retries_used);
            })
        };
        let first = seen(0, 0);
        assert_eq!((first.verdict, &first.recovery), (Verdict::Unfinished, &Action::Nudge));
        assert!(first.reason.contains("src/parser.sh") && first.reason.contains(words), "{}", first.reason);
        assert_eq!(seen(1, 0).recovery, Action::Retry);
        assert!(
            matches!(seen(1, 1).recovery, Action::AskPerson(question) if question.starts_with("Objective parser: src/parser.sh"))
        );
    }
    // What was written again as it was may have been touched, or be right: its agent is asked, and a check or a report says which.
    let rewritten = |change: fn(&mut Observation)| {
        ended(|o| {
            o.objectives[0].expected_files = expects(FileState::Rewritten);
            change(o);
        })
    };
    let unasked = rewritten(|o| o.phase.check = Some("true".into()));
    assert_eq!((unasked.verdict, &unasked.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(
        unasked.reason.contains("src/parser.sh has the content that it had before"),
        "{}",
        unasked.reason
    );
    assert_eq!(rewritten(|o| o.nudges = 1).verdict, Verdict::Unfinished);
    let reported = rewritten(|o| {
        o.objectives[0].reported = report(ObjectiveStatus::Done, "it is right as it is");
        o.objectives[0].status = ObjectiveStatus::Done;
    });
    assert_eq!(reported.verdict, Verdict::Completed);
    let changed = ended(|o| {
        o.objectives[0].expected_files = expects(FileState::Changed);
        o.files_changed = 1;
    });
    assert_eq!(changed.verdict, Verdict::Completed);
    // Who finds it done by a session that was lost has little to say, and a check says the rest.
    let found_done = |check: &str| {
        ended(|o| {
            o.objectives[0].expected_files = expects(FileState::Changed);
            (o.answer_bytes, o.phase.check, o.nudges) =
                (22, Some(check.to_owned()).filter(|check| !check.is_empty()), 1);
        })
    };
    assert_eq!(found_done("test -s src/parser.sh").verdict, Verdict::Completed);
    assert_eq!(found_done("").verdict, Verdict::Truncated);
    // What an earlier session changed shows nothing of this one, which only answered.
    let idle = ended(|o| o.objectives[0].expected_files = expects(FileState::Changed));
    assert_eq!((idle.verdict, idle.recovery), (Verdict::Unfinished, Action::Nudge));
}

#[test]
fn a_check_shows_nothing_of_a_phase_in_which_no_file_changed() {
    // A11: it may have passed before. The agent is asked once, then a person is, unless the workflow takes a check for done.
    let idle = |nudges, accept| {
        answered("Done: parser", |o| {
            (o.files_changed, o.phase_files_changed, o.nudges) = (0, 0, nudges);
            (o.phase.check, o.phase.accept, o.phase.progress.done) = (Some("make test".into()), accept, 0);
            o.phase.budget.retries_used = o.phase.budget.retries;
        })
    };
    assert_eq!((idle(0, None).verdict, idle(0, None).recovery), (Verdict::Unfinished, Action::Nudge));
    let Action::AskPerson(question) = idle(1, None).recovery else { panic!("{:?}", idle(1, None)) };
    assert!(question.contains("its check may have passed before; its check is `make test`"), "{question}");
    assert_eq!(idle(0, Some(Basis::Checked)).verdict, Verdict::Completed);
    // What was seen before the work is told; a check that failed then shows what came since.
    let seen = |passed| {
        answered("Done: parser", |o| {
            (o.files_changed, o.phase_files_changed, o.nudges) = (0, 0, 1);
            (o.phase.check, o.phase.check_passed) = (Some("make test".into()), Some(passed));
            (o.phase.progress.done, o.phase.budget.retries_used) = (0, o.phase.budget.retries);
        })
    };
    let Action::AskPerson(question) = seen(true).recovery else { panic!("{:?}", seen(true)) };
    assert!(question.contains("no file changed, and its check passed without that"), "{question}");
    assert_eq!(seen(false).verdict, Verdict::Completed);
}

#[test]
fn a_call_that_was_refused_is_asked_about_once() {
    // A11
    let refused = |nudges: u32, check: Option<&str>| {
        let scene = Scene::new(Occasion::PromptEnded)
            .signal(Channel::ToolOutput, "permission-refused", "Bash make test")
            .last(|signal| signal.prompt = 1);
        said(scene, "The tests pass.\n\nDone: parser", |o| {
            (o.session.prompts, o.files_changed, o.nudges) = (1, 1, nudges);
            o.phase.check = check.map(Into::into);
        })
    };
    let asked = refused(0, None);
    assert_eq!((asked.verdict, &asked.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(asked.reason.contains("not allowed to run `Bash make test`"), "{}", asked.reason);
    assert_eq!(refused(1, None).verdict, Verdict::Completed);
    assert_eq!(refused(0, Some("make test")).verdict, Verdict::Completed);
}

#[test]
fn who_was_kept_from_the_work_is_asked_about_and_not_followed() {
    // A8, A11: three sessions with the same permissions were refused the same call.
    let kept = |files_changed: u32| {
        let scene = Scene::new(Occasion::PromptEnded)
            .signal(Channel::ToolOutput, "permission-refused", "Bash make release")
            .last(|signal| signal.prompt = 1);
        said(scene, "I was not allowed to run it, so there is no release.", |o| {
            (o.session.prompts, o.files_changed, o.nudges) = (2, files_changed, 1);
        })
    };
    let Action::AskPerson(question) = kept(0).recovery else { panic!("{:?}", kept(0)) };
    assert!(question.contains("not allowed to run `Bash make release`"), "{question}");
    assert_eq!(kept(2).recovery, Action::Retry, "it did some of the work");
}

#[test]
fn what_an_agent_reports_against_itself_is_believed() {
    let half = ended(|o| {
        o.objectives[0].reported = report(ObjectiveStatus::InProgress, "3 of 5 cases done");
        o.files_changed = 2;
    });
    assert_eq!((half.verdict, &half.recovery), (Verdict::Unfinished, &Action::Nudge));
    assert!(half.reason.contains("3 of 5 cases done"), "{}", half.reason);
    let failed = |retries_used| {
        ended(|o| {
            o.objectives[0].reported = report(ObjectiveStatus::Failed, "this cannot be done");
            (o.files_changed, o.phase.budget.retries_used) = (2, retries_used);
        })
    };
    assert_eq!((failed(0).verdict, failed(0).recovery), (Verdict::Failed, Action::Retry));
    assert!(
        matches!(failed(1).recovery, Action::AskPerson(question) if question.contains("this cannot be done"))
    );
    // What an earlier session left open is what this one was for.
    let taken_up = ended(|o| {
        let by_another =
            report(ObjectiveStatus::Failed, "").map(|said| StatusReport { by_session: false, ..said });
        (o.objectives[0].reported, o.files_changed) = (by_another, 2);
    });
    assert_eq!(taken_up.verdict, Verdict::Completed);
}

#[test]
fn a_handoff_ends_the_session() {
    // C23
    let handed = ended(|o| {
        o.objectives[0].reported = report(ObjectiveStatus::InProgress, "3 of 5");
        (o.handoff_reported, o.files_changed) = (true, 2);
    });
    assert_eq!((handed.verdict, handed.recovery), (Verdict::HandedOff, Action::HandOff));
    let gone = Scene::new(Occasion::SessionEnded).exit(Some(0), None, false);
    assert_eq!(gone.with(|o| o.handoff_reported = true).assess().verdict, Verdict::HandedOff);
    // Where everything is reported as done, a handoff says otherwise: the agent is asked once which of them holds. Then its report does.
    let done = |nudges| {
        ended(|o| {
            o.objectives[0].status = ObjectiveStatus::Done;
            (o.handoff_reported, o.phase.progress.open, o.nudges) = (true, 0, nudges);
        })
    };
    assert_eq!((done(0).verdict, done(0).recovery), (Verdict::Unfinished, Action::Nudge));
    assert_eq!(done(1).verdict, Verdict::Completed);
}

#[test]
fn a_recorded_session_of_unknown_work_is_judged_by_its_answer() {
    assert_eq!(ended(|o| o.objectives.clear()).verdict, Verdict::Completed);
}
