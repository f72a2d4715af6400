//! What holds for every run: replay, recovery from any prefix, and no answer that becomes an action unchecked.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::test_run::{ScriptedTurn, TestRun, workflow, wrong_answer};
use crate::action::{Action, RunOutcome};
use crate::decision::{SplitAction, SubPhase, WorkStyle};
use crate::ids::ObjectiveId;
use crate::input::{Input, JournaledInput, PauseAnswer};
use crate::observation::Capability;
use crate::progress::ProgressEvent;
use crate::run::Run;
use crate::view::RunStatus;

fn does() -> impl Strategy<Value = ScriptedTurn> {
    prop_oneof![
        4 => (100u64..900).prop_map(ScriptedTurn::Finish),
        2 => Just(ScriptedTurn::Exhaust),
        1 => Just(ScriptedTurn::Quota(None)),
        1 => Just(ScriptedTurn::Quota(Some(1))),
        1 => Just(ScriptedTurn::Nothing),
        1 => Just(ScriptedTurn::Die),
        1 => Just(ScriptedTurn::Hang),
    ]
}

fn world(script: Vec<ScriptedTurn>, verdicts: Vec<bool>) -> TestRun {
    let mut flow = workflow(&[("1", &["a", "b", "c"]), ("2", &["d", "e"])]);
    flow.phases[1].depends_on = vec!["1".into()];
    flow.phases[1].verify = Some("check".into());
    // Some prompts have large parts, and every second context is full enough to keep them out.
    for (phase, objective) in [(0, 1), (0, 2), (1, 1)] {
        flow.phases[phase].objectives[objective].description = "Do it well.\n".repeat(500);
    }
    let mut world = TestRun::new(flow);
    world.offload_from = 400;
    world.findings = "expected 4, found 5\n".repeat(200);
    world.script = script.into();
    world.verdicts = verdicts.into();
    world
}

/// To the end, with a person who always says "again".
fn finish(world: &mut TestRun) {
    world.go();
    for _ in 0..200 {
        if world.run.status() != RunStatus::Paused {
            break;
        }
        world.answer(PauseAnswer::Retry);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever agents do, the run comes to rest with every objective done, or open with a question.
    #[test]
    fn every_run_ends_with_everything_done(
        script in prop::collection::vec(does(), 0..40),
        verdicts in prop::collection::vec(any::<bool>(), 0..6),
    ) {
        let mut world = world(script, verdicts);
        finish(&mut world);
        prop_assert_eq!(world.ending(), Some(RunOutcome::Done));
    }

    /// The same inputs give the same intents and the same state.
    #[test]
    fn replay_is_deterministic(script in prop::collection::vec(does(), 0..30)) {
        let mut world = world(script, vec![]);
        world.go();
        let mut again = Run::new();
        for stamped in &world.journal {
            again.apply(stamped).unwrap();
        }
        prop_assert_eq!(&again, &world.run);
    }

    /// A host that dies after any input is followed by one that finishes, and what was judged done is never
    /// prompted for again.
    #[test]
    fn every_journal_prefix_recovers(
        script in prop::collection::vec(does(), 0..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut whole = world(script.clone(), vec![]);
        whole.go();
        let mut world = world(script, vec![]);
        for _ in 0..=cut.index(whole.journal.len()) {
            world.step();
        }
        let before = world.notices.len();
        let done: BTreeSet<ObjectiveId> = done_objectives(&world.notices);
        world.crash();
        finish(&mut world);
        prop_assert_eq!(world.ending(), Some(RunOutcome::Done));
        for notice in &world.notices[before..] {
            if let ProgressEvent::Prompted { focus, kind, .. } = notice {
                // After a failed verification the last objective is looked at once more.
                let looked_at = *kind == crate::observation::PromptKind::Nudged;
                prop_assert!(looked_at || focus.iter().all(|id| !done.contains(id)), "{:?} again", focus);
            }
        }
    }

    /// An answer to a question that was answered already is stale, whatever it says.
    #[test]
    fn a_stale_answer_changes_nothing(script in prop::collection::vec(does(), 0..10), at in 0usize..60) {
        let mut world = world(script, vec![]);
        let mut answers = 0;
        while world.step() {
            let Some(JournaledInput { input: Input::Decided { request_id, result, label }, seq, at: time }) = world.journal.last()
            else { continue };
            answers += 1;
            if answers <= at {
                continue;
            }
            let input = Input::Decided { request_id: *request_id, result: result.clone(), label: label.clone() };
            let mut run = world.run.clone();
            let intents = run.apply(&JournaledInput { seq: seq.next(), at: *time, input }).unwrap();
            prop_assert!(intents.is_empty(), "{:?}", intents);
            prop_assert_eq!(run.view(*time), world.run.view(*time));
            break;
        }
    }

    /// Whatever parts a policy names, a phase is forked only where every objective is in exactly one of them.
    #[test]
    fn no_unvalidated_decision_becomes_an_action(
        parts in prop::collection::vec(prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", "x"]), 0..4), 0..5),
    ) {
        let sub_phases: Vec<SubPhase> = parts
            .iter()
            .map(|ids| SubPhase {
                title: "part".into(),
                objectives: ids.iter().map(|id| (*id).into()).collect(),
                order: WorkStyle::MiniPlan,
                max_turns: None,
            })
            .collect();
        let mut named: Vec<&str> = parts.iter().flatten().copied().collect();
        named.sort_unstable();
        let sound = named == ["a", "b", "c"] && parts.len() > 1 && parts.iter().all(|part| !part.is_empty());
        let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"]), ("2", &["d"])]));
        world.split = Some(SplitAction::Split { sub_phases });
        finish(&mut world);
        prop_assert_eq!(world.ending(), Some(RunOutcome::Done));
        let forked = world.count(|n| matches!(n, ProgressEvent::Split { phase, .. } if phase.as_str() == "1"));
        prop_assert_eq!(forked, usize::from(sound));
        prop_assert_eq!(world.worked.len(), 4);
        prop_assert!(world.worked.values().all(|times| *times == 1));
    }
}

/// The first answer of each kind is wrong: nothing is spawned, prompted or ended because of what it says.
#[test]
fn a_first_answer_of_the_wrong_kind_falls_back() {
    for capability in Capability::ALL {
        let mut world = world(vec![ScriptedTurn::Exhaust], vec![]);
        let mut spoiled = false;
        loop {
            let wanted = world.run.clone();
            if !world.step() {
                break;
            }
            let Input::Decided { request_id, label, .. } = &world.journal.last().unwrap().input else {
                continue;
            };
            if spoiled || label.capability != capability {
                continue;
            }
            spoiled = true;
            let last = world.journal.last().unwrap();
            let input = Input::Decided {
                request_id: *request_id,
                result: Ok(wrong_answer(capability)),
                label: label.clone(),
            };
            let mut run = wanted;
            let intents = run.apply(&JournaledInput { seq: last.seq, at: last.at, input }).unwrap();
            // A handoff is never given up: the host writes its own if no policy composes one, and a review that could not be given
            // refuses nothing.
            let harmful = intents.iter().find(|intent| match intent.action {
                Action::Prompt { .. } | Action::Compact { .. } => true,
                Action::WriteHandoff { .. } => {
                    !matches!(capability, Capability::Handoff | Capability::Review)
                }
                _ => false,
            });
            assert_eq!(harmful, None, "{capability}");
        }
        assert!(spoiled, "{capability} was never asked");
    }
}

fn done_objectives(notices: &[ProgressEvent]) -> BTreeSet<ObjectiveId> {
    notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::ObjectiveDone { objective, .. } => Some(objective.clone()),
            _ => None,
        })
        .collect()
}
