//! Who decides where, other policies put in place on the way, and the breaker (M3).

use super::test_run::{TestRun, label, workflow};
use crate::action::Action;
use crate::decision::{
    AbstentionRecord, Decision, DecisionSource, Fault, FaultRecord, OffloadingDecision, Provenance,
};
use crate::ids::{Digest, RequestId};
use crate::input::{Input, JournaledInput, PolicyBinding, PolicyChangeCause};
use crate::observation::{Capability, ContextItem, ContextItemKind};
use crate::progress::ProgressEvent;
use crate::run::Run;
use crate::run::phase_list::PhaseIndex;
use crate::workflow::{PolicyScope, Workflow};

const ASKED: Capability = Capability::Offloading;

fn bind(policy: &str, scope: PolicyScope) -> PolicyBinding {
    PolicyBinding {
        capability: ASKED,
        policy: policy.to_owned(),
        component: Digest::of(policy),
        settings: Digest::of("{}"),
        scope,
        wants: Default::default(),
        grants: Default::default(),
        from: Default::default(),
        then: Vec::new(),
    }
}

fn in_phase(phase: &str) -> PolicyScope {
    PolicyScope::Phase { phase: phase.into() }
}

/// A run with these bindings, whose only session works.
fn at_work(workflow: Workflow, begins_with: &[PolicyBinding]) -> TestRun {
    let mut world = TestRun::new(workflow);
    let Some(Input::Started { bindings, .. }) = world.queue.front_mut() else { panic!("it starts") };
    *bindings = begins_with.to_vec();
    while !world.notices.iter().any(|notice| matches!(notice, ProgressEvent::Prompted { .. })) {
        assert!(world.step(), "a session begins");
    }
    world
}

fn apply(world: &mut TestRun, input: Input) -> Vec<Action> {
    let stamped = JournaledInput { seq: world.run.seq().next(), at: world.now, input };
    world.run.apply(&stamped).unwrap().into_iter().map(|intent| intent.action).collect()
}

/// Makes it ask something.
fn ask(world: &mut TestRun, n: usize) -> (RequestId, PolicyScope) {
    let session = world.run.live_sessions()[0].clone();
    let item = ContextItem { id: format!("result-{n}"), kind: ContextItemKind::ToolResult, tokens: 25_000 };
    match apply(world, Input::ToolResultOffered { session, item }).as_slice() {
        [Action::RequestDecision { request_id, scope, .. }] => (*request_id, scope.clone()),
        other => panic!("{other:?}"),
    }
}

fn by(policy: &str, faulty: &[&str]) -> Provenance {
    let record = |policy: &&str| FaultRecord {
        by: DecisionSource::Configured,
        policy: (*policy).to_owned(),
        component: Digest::of(*policy),
        fault: Fault::Trap { message: "unreachable".into() },
        settings: None,
        fuel: None,
        artifacts: Default::default(),
        nested: Vec::new(),
    };
    Provenance {
        by: if faulty.is_empty() { DecisionSource::Configured } else { DecisionSource::BuiltIn },
        policy: policy.to_owned(),
        component: Some(Digest::of(policy)),
        faults: faulty.iter().map(record).collect(),
        ..label(ASKED)
    }
}

fn answer(world: &mut TestRun, n: usize, label: Provenance) -> Vec<Action> {
    let (request_id, _) = ask(world, n);
    let kept = OffloadingDecision { items: Vec::new(), reason: "small".into() };
    apply(
        world,
        Input::Decided { request_id, result: Ok(Decision::Offloading(kept)), label: Box::new(label) },
    )
}

fn deciding(world: &TestRun) -> Vec<&str> {
    world.run.bindings().map(|binding| binding.policy.as_str()).collect()
}

fn taken_back(actions: &[Action]) -> bool {
    actions
        .iter()
        .any(|action| matches!(action, Action::Notify(ProgressEvent::PolicyTakenBack { faults: 3, .. })))
}

#[test]
fn after_three_faults_in_a_row_the_one_behind_decides_again() {
    // M3
    let bindings = [bind("built-in", PolicyScope::Run), bind("mine", PolicyScope::Run)];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    assert_eq!(deciding(&world), ["mine"]);
    let course = [
        by("built-in", &["mine"]),
        by("built-in", &["mine"]),
        by("mine", &[]),
        by("built-in", &["mine"]),
        by("built-in", &["mine"]),
    ];
    for (n, label) in course.into_iter().enumerate() {
        assert!(!taken_back(&answer(&mut world, n, label)), "two in a row are not three");
    }
    assert_eq!(deciding(&world), ["mine"]);
    assert!(taken_back(&answer(&mut world, 5, by("built-in", &["mine"]))));
    assert_eq!(deciding(&world), ["built-in"]);
    for n in 6..12 {
        assert!(!taken_back(&answer(&mut world, n, by("native", &["built-in"]))), "nothing is behind it");
    }
}

#[test]
fn the_breaker_can_be_set_and_turned_off() {
    // M3
    for (breaker, faults) in [(1, Some(1)), (5, Some(5)), (0, None)] {
        let mut workflow = workflow(&[("1", &["a", "b"])]);
        workflow.policies.breaker = breaker;
        let mut world =
            at_work(workflow, &[bind("built-in", PolicyScope::Run), bind("mine", PolicyScope::Run)]);
        let broke = (1..=10).find(|n| {
            answer(&mut world, *n, by("built-in", &["mine"]));
            deciding(&world) == ["built-in"]
        });
        assert_eq!(broke, faults);
    }
}

#[test]
fn faults_of_one_that_was_replaced_are_not_its_successors() {
    // M3
    let mut world = at_work(
        workflow(&[("1", &["a", "b"])]),
        &[bind("built-in", PolicyScope::Run), bind("old", PolicyScope::Run)],
    );
    answer(&mut world, 1, by("built-in", &["old"]));
    answer(&mut world, 2, by("built-in", &["old"]));
    let (under_way, _) = ask(&mut world, 3);
    let change = change_to(bind("new", PolicyScope::Run));
    let told = apply(&mut world, change);
    assert!(
        matches!(&told[..], [Action::Notify(ProgressEvent::PolicyChanged { was, .. })] if *was == ["old"]),
        "{told:?}"
    );
    let fault = by("built-in", &["old"]);
    apply(
        &mut world,
        Input::Decided {
            request_id: under_way,
            result: Err(Fault::Trap { message: "late".into() }),
            label: Box::new(fault),
        },
    );
    answer(&mut world, 4, by("built-in", &["new"]));
    answer(&mut world, 5, by("built-in", &["new"]));
    assert_eq!(deciding(&world), ["new"]);
    let view = world.run.binding_views().next().unwrap();
    assert_eq!((view.faults_in_row, view.replaced.len()), (2, 2), "what the run began with can come back");
}

#[test]
fn a_question_goes_to_the_narrowest_scope() {
    // M4
    let role = PolicyScope::Role { role: "executor".into() };
    let cases = [
        (vec![bind("run", PolicyScope::Run)], PolicyScope::Run),
        (vec![bind("run", PolicyScope::Run), bind("role", role.clone())], role.clone()),
        (
            vec![bind("phase", in_phase("1")), bind("run", PolicyScope::Run), bind("role", role)],
            in_phase("1"),
        ),
        (vec![bind("run", PolicyScope::Run), bind("other", in_phase("2"))], PolicyScope::Run),
    ];
    for (bindings, scope) in cases {
        let mut world = at_work(workflow(&[("1", &["a", "b"]), ("2", &["c"])]), &bindings);
        assert_eq!(ask(&mut world, 0).1, scope);
    }
}

#[test]
fn a_change_is_the_same_when_the_journal_is_folded_again() {
    // M3
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &[bind("built-in", PolicyScope::Run)]);
    world.queue.push_back(Input::PolicyChanged {
        bindings: vec![bind("mine", in_phase("1"))],
        cause: PolicyChangeCause::File,
    });
    world
        .queue
        .push_back(Input::PolicyRefused { policy: "other.wasm".into(), why: "it is no component".into() });
    world.go();
    let mut again = crate::Run::new();
    for stamped in &world.journal {
        again.apply(stamped).unwrap();
    }
    assert_eq!(again, world.run);
    assert_eq!(deciding(&world), ["built-in", "mine"]);
}

#[test]
fn the_view_names_every_policy_that_decides_and_the_one_for_the_rest_last() {
    // M3
    let of =
        |capability: Capability, policy: &str| PolicyBinding { capability, ..bind(policy, PolicyScope::Run) };
    let view_of = |bindings: &[PolicyBinding]| {
        let world = at_work(workflow(&[("1", &["a"])]), bindings);
        world.run.view(world.now).unwrap().phases[0].policy.clone()
    };
    let digest = |policy: &str| Digest::of(policy).short().to_string();
    let whole = Capability::ALL.map(|capability| of(capability, "resilience"));
    assert_eq!(view_of(&whole), format!("resilience@{}", digest("resilience")));
    let mut bindings = whole.to_vec();
    bindings.push(of(Capability::Handoff, "torch"));
    assert_eq!(
        view_of(&bindings),
        format!("torch@{} (handoff), resilience@{}", digest("torch"), digest("resilience"))
    );
    assert_eq!(view_of(&[]), "");
}

/// A policy with others behind it.
fn chain(first: &str, then: &[&str]) -> PolicyBinding {
    let link = |policy: &&str| bind(policy, PolicyScope::Run).first();
    PolicyBinding { then: then.iter().map(link).collect(), ..bind(first, PolicyScope::Run) }
}

#[test]
fn faults_of_any_link_count_and_abstaining_is_no_fault() {
    // M3
    let bindings = [bind("built-in", PolicyScope::Run), chain("team", &["rules", "built-in"])];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    let fails = |policy: &str| {
        let mut label = by("built-in", &[policy]);
        label.faults[0].by = DecisionSource::Next;
        label.by = DecisionSource::Next;
        label
    };
    let abstains = |by_whom: DecisionSource| Provenance {
        by: by_whom,
        abstained: vec![AbstentionRecord {
            by: DecisionSource::Configured,
            policy: "team".into(),
            component: Digest::of("team"),
            settings: Digest::of("{}"),
            fuel: 7,
            artifacts: Default::default(),
            nested: Vec::new(),
        }],
        nested: Vec::new(),
        ..by("built-in", &[])
    };
    for n in 0..6 {
        assert!(
            !taken_back(&answer(&mut world, n, abstains(DecisionSource::Next))),
            "to abstain is its right"
        );
    }
    let decides = || Provenance { by: DecisionSource::Next, ..by("rules", &[]) };
    for (n, label) in [fails("rules"), fails("rules"), decides()].into_iter().enumerate() {
        assert!(!taken_back(&answer(&mut world, 6 + n, label)));
    }
    assert!(!taken_back(&answer(&mut world, 9, fails("rules"))));
    assert!(!taken_back(&answer(&mut world, 10, fails("rules"))));
    assert!(taken_back(&answer(&mut world, 11, fails("rules"))));
    assert_eq!(
        links(world.run.bindings().next().unwrap()),
        ["team", "built-in"],
        "the others did nothing wrong"
    );
}

/// What is said when a policy is taken back: who, for whom, and whether that one has decided before.
fn told_back(actions: &[Action]) -> (String, Vec<String>, bool) {
    let told = actions.iter().find_map(|action| match action {
        Action::Notify(ProgressEvent::PolicyTakenBack { policy, to, again, .. }) => {
            Some((policy.clone(), links(to), *again))
        }
        _ => None,
    });
    told.expect("it is taken back")
}

/// A label of a policy behind the first, after these faults of the whole chain.
fn next(policy: &str, faulty: &[(&str, DecisionSource)]) -> Provenance {
    let names: Vec<&str> = faulty.iter().map(|(policy, _)| *policy).collect();
    let mut label = Provenance { by: DecisionSource::Next, ..by(policy, &names) };
    for (record, (_, by)) in label.faults.iter_mut().zip(faulty) {
        record.by = *by;
    }
    label
}

#[test]
fn a_policy_that_keeps_failing_leaves_the_rest_of_its_list_in_place() {
    // M3, M4
    let bindings = [bind("built-in", PolicyScope::Run), chain("bad", &["growth", "built-in"])];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    let fault = ("bad", DecisionSource::Configured);
    assert!(!taken_back(&answer(&mut world, 0, next("growth", &[fault]))));
    assert!(!taken_back(&answer(&mut world, 1, next("growth", &[fault]))));
    let told = answer(&mut world, 2, next("growth", &[fault]));
    assert_eq!(told_back(&told), ("bad".into(), vec!["growth".into(), "built-in".into()], true));
    let view = world.run.binding_views().next().unwrap();
    assert_eq!(links(view.binding), ["growth", "built-in"]);
    assert_eq!(
        (view.last_known_good, view.replaced.len()),
        (None, 1),
        "after a fault the rest of the list is asked"
    );
    // The next one that fails is taken out as well; what is left is what the run has of its own.
    let fault = ("growth", DecisionSource::Configured);
    answer(&mut world, 3, next("built-in", &[fault]));
    answer(&mut world, 4, next("built-in", &[fault]));
    let told = answer(&mut world, 5, by("built-in", &["growth"]));
    assert_eq!(told_back(&told), ("growth".into(), vec!["built-in".into()], true));
    assert_eq!(world.run.binding_views().next().unwrap().replaced.len(), 0);
}

#[test]
fn what_takes_over_decides_again_only_if_it_has_decided() {
    // M3
    let bindings = [bind("built-in", PolicyScope::Run), chain("bad", &["growth", "built-in"])];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    let both = [("bad", DecisionSource::Configured), ("growth", DecisionSource::Next)];
    answer(&mut world, 0, next("built-in", &both));
    answer(&mut world, 1, next("built-in", &both));
    let told = answer(&mut world, 2, next("built-in", &both));
    assert_eq!(told_back(&told), ("bad".into(), vec!["growth".into(), "built-in".into()], false));
}

#[test]
fn one_in_the_middle_that_fails_is_the_one_that_is_named() {
    // M3: rules stands first and abstains; its later answers are its own.
    let bindings = [bind("built-in", PolicyScope::Run), chain("rules", &["bad", "built-in"])];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    let fault = ("bad", DecisionSource::Next);
    answer(&mut world, 0, next("built-in", &[fault]));
    answer(&mut world, 1, next("built-in", &[fault]));
    let told = answer(&mut world, 2, next("built-in", &[fault]));
    assert_eq!(told_back(&told), ("bad".into(), vec!["rules".into(), "built-in".into()], false));
    assert_eq!(deciding(&world), ["rules"]);

    // A switch is not taken back for what stands behind it, and what it replaced loses the failing one as well.
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &[bind("built-in", PolicyScope::Run)]);
    for policy in ["house", "rules"] {
        let put = world.run.with_previous_chain(bind(policy, PolicyScope::Run), PolicyChangeCause::Command);
        apply(&mut world, change_to(put));
    }
    let fault = ("house", DecisionSource::Next);
    (0..3).for_each(|n| drop(answer(&mut world, n, next("built-in", &[fault]))));
    let view = world.run.binding_views().next().unwrap();
    assert_eq!(links(view.binding), ["rules", "built-in"]);
    assert!(step_back(&mut world.run, PolicyScope::Run));
    assert_eq!(deciding(&world), ["built-in"]);
}

#[test]
fn a_policy_that_fails_on_all_that_it_does_not_abstain_from_is_taken_back() {
    // M3
    let mut workflow = workflow(&[("1", &["a", "b"])]);
    workflow.policies.breaker = 3;
    let bindings = [bind("built-in", PolicyScope::Run), chain("bad", &["built-in"])];
    let mut world = at_work(workflow, &bindings);
    let abstains = || Provenance {
        by: DecisionSource::Next,
        abstained: vec![AbstentionRecord {
            by: DecisionSource::Configured,
            policy: "bad".into(),
            component: Digest::of("bad"),
            settings: Digest::of("{}"),
            fuel: 7,
            artifacts: Default::default(),
            nested: Vec::new(),
        }],
        ..by("built-in", &[])
    };
    let fails = || Provenance { by: DecisionSource::Next, ..by("built-in", &["bad"]) };
    for (n, label) in [fails(), abstains(), fails(), abstains()].into_iter().enumerate() {
        assert!(!taken_back(&answer(&mut world, n, label)));
    }
    assert_eq!(world.run.binding_views().next().unwrap().faults_in_row, 2);
    assert!(taken_back(&answer(&mut world, 4, fails())));
    assert_eq!(deciding(&world), ["built-in"]);

    let failures = world.run.view(world.now).unwrap().policy_failures;
    let [row] = failures.as_slice() else { panic!("{failures:?}") };
    assert_eq!((row.policy.as_str(), row.failed, row.answered), ("bad", 3, 0));
    assert_eq!(row.instead, ["built-in"]);
}

#[test]
fn the_view_says_who_decided_even_if_it_decides_no_more() {
    // M3
    let bindings = [bind("built-in", PolicyScope::Run), chain("bad", &["built-in"])];
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &bindings);
    let decided = |world: &TestRun| -> Vec<(String, u32)> {
        let rows = world.run.view(world.now).unwrap().policy_decisions;
        rows.into_iter().map(|row| (row.policy, row.decided[&ASKED])).collect()
    };
    let before = decided(&world);
    answer(&mut world, 0, by("bad", &[]));
    answer(&mut world, 1, by("bad", &[]));
    (2..5)
        .for_each(|n| drop(answer(&mut world, n, next("built-in", &[("bad", DecisionSource::Configured)]))));
    assert_eq!(deciding(&world), ["built-in"]);
    let now = decided(&world);
    assert!(before.is_empty(), "nobody was asked yet");
    assert_eq!(now, [("bad".to_owned(), 2), ("built-in".to_owned(), 3)]);
}

#[test]
fn what_is_put_in_place_keeps_the_chain_behind_it() {
    // M3, M4: what it abstains from is decided as before.
    let run = run_of(&[chain("team", &["rules", "built-in"])]);
    let put = |binding: PolicyBinding| links(&run.with_previous_chain(binding, PolicyChangeCause::Command));
    assert_eq!(put(bind("mine", PolicyScope::Run)), ["mine", "team", "rules", "built-in"]);
    assert_eq!(put(bind("mine", in_phase("1"))), ["mine", "team", "rules", "built-in"]);
    // Another build, or other settings, of one that decides takes its place.
    let newer = |policy| PolicyBinding { component: Digest::of("newer"), ..bind(policy, PolicyScope::Run) };
    assert_eq!(put(newer("team")), ["team", "rules", "built-in"]);
    let set = PolicyBinding { settings: Digest::of("other"), ..bind("built-in", PolicyScope::Run) };
    assert_eq!(put(set), ["built-in", "team", "rules"]);
    // A file that changed takes its own place, not that of another one.
    let changed = run.with_previous_chain(newer("rules"), PolicyChangeCause::File);
    assert_eq!(links(&changed), ["team", "rules", "built-in"]);
    assert_eq!(changed.then[0].component, Digest::of("newer"));
    // Where a chain grows too long, the last of all stays.
    let long = run_of(&[chain("a", &["b", "c", "d", "built-in"])]);
    let longer = long.with_previous_chain(bind("mine", PolicyScope::Run), PolicyChangeCause::Command);
    assert_eq!(links(&longer), ["mine", "a", "b", "c", "built-in"]);
}

/// A person puts this in place.
fn change_to(binding: PolicyBinding) -> Input {
    Input::PolicyChanged { bindings: vec![binding], cause: PolicyChangeCause::Command }
}

fn links(binding: &PolicyBinding) -> Vec<String> {
    binding.links().map(|link| link.policy).collect()
}

fn run_of(bindings: &[PolicyBinding]) -> Run {
    let mut run = Run::new();
    run.workflow = workflow(&[("1", &["a"])]);
    run.apply_binding_changes(bindings, PolicyChangeCause::Command);
    run
}

#[test]
fn what_was_rolled_back_comes_back_in_no_narrower_scope() {
    // M3
    let mut run = run_of(&[bind("resilience", PolicyScope::Run)]);
    let put = |run: &mut Run, binding: PolicyBinding| {
        let binding = run.with_previous_chain(binding, PolicyChangeCause::Command);
        run.apply_binding_changes(&[binding], PolicyChangeCause::Command);
    };
    put(&mut run, bind("house", PolicyScope::Run));
    put(&mut run, bind("trapper", in_phase("1")));
    let view = |run: &Run| {
        let view = run.binding_views().find(|view| view.binding.scope == in_phase("1")).unwrap();
        (links(view.binding), view.replaced.into_iter().map(links).collect::<Vec<_>>())
    };
    let (decides, replaced) = view(&run);
    assert_eq!(decides, ["trapper", "house", "resilience"]);
    assert_eq!(replaced, [["house", "resilience"]]);
    run.apply_binding_changes(&[bind("resilience", PolicyScope::Run)], PolicyChangeCause::Rollback);
    let (decides, replaced) = view(&run);
    assert_eq!(decides, ["trapper", "resilience"]);
    assert_eq!(replaced, [["resilience"]]);
}

#[test]
fn the_breaker_goes_back_one_step_whether_that_one_was_asked_or_not() {
    // M3
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &[bind("built-in", PolicyScope::Run)]);
    for policy in ["good", "bad"] {
        let put = world.run.with_previous_chain(bind(policy, PolicyScope::Run), PolicyChangeCause::Command);
        apply(&mut world, change_to(put));
    }
    (1..=3).for_each(|n| drop(answer(&mut world, n, by("good", &["bad"]))));
    assert_eq!(deciding(&world), ["good"]);
    // A late fault of the same component with other settings is none of this one.
    let mut late = by("built-in", &["good"]);
    late.faults[0].settings = Some(Digest::of("others"));
    answer(&mut world, 4, late);
    assert_eq!(world.run.binding_views().next().unwrap().faults_in_row, 0);
    assert!(step_back(&mut world.run, PolicyScope::Run));
    assert_eq!(deciding(&world), ["built-in"]);
}

#[test]
fn what_decides_already_is_no_step_and_stays_chosen_by_whom_it_was() {
    // M3
    let from =
        crate::workflow::ConfigSource { layer: crate::workflow::ConfigLayer::Workflow, ..Default::default() };
    let mut world = at_work(
        workflow(&[("1", &["a", "b"])]),
        &[PolicyBinding { from: from.clone(), ..bind("own", PolicyScope::Run) }],
    );
    let told = apply(&mut world, change_to(bind("own", PolicyScope::Run)));
    assert_eq!(told, []);
    assert_eq!(world.run.binding_views().next().unwrap().binding.from, from);
    assert!(!step_back(&mut world.run, PolicyScope::Run));
    // In a phase it is a step of its own: what decides there differs from what decides in the run now.
    let told = apply(&mut world, change_to(bind("own", in_phase("1"))));
    assert!(matches!(&told[..], [Action::Notify(ProgressEvent::PolicyChanged { .. })]), "{told:?}");
}

/// Takes one step back, as a person does.
fn step_back(run: &mut Run, scope: PolicyScope) -> bool {
    let back = run.step_back(&scope, ASKED);
    let is_back = back.is_some();
    run.apply_binding_changes(&Vec::from_iter(back), PolicyChangeCause::Rollback);
    is_back
}

#[test]
fn a_phase_follows_the_run_again_after_the_last_step_back() {
    // M3
    let begins_with = |bindings: &[PolicyBinding]| at_work(workflow(&[("1", &["a"])]), bindings).run;
    let mut run = begins_with(&[bind("resilience", PolicyScope::Run)]);
    let put = |run: &mut Run, binding: PolicyBinding| {
        let binding = run.with_previous_chain(binding, PolicyChangeCause::Command);
        run.apply_binding_changes(&[binding], PolicyChangeCause::Command);
    };
    let decides = |run: &Run| links(run.binding_for(PhaseIndex::at(0), ASKED).unwrap());
    put(&mut run, bind("team", in_phase("1")));
    put(&mut run, bind("house", PolicyScope::Run));
    assert_eq!(decides(&run), ["team", "resilience"]);
    assert_eq!(run.narrower(&PolicyScope::Run, ASKED).collect::<Vec<_>>(), [&in_phase("1")]);
    assert!(step_back(&mut run, in_phase("1")));
    assert_eq!(decides(&run), ["house", "resilience"], "as in the run now, not as it was then");
    assert_eq!(run.narrower(&PolicyScope::Run, ASKED).count(), 0);
    put(&mut run, bind("later", PolicyScope::Run));
    assert_eq!(decides(&run), ["later", "house", "resilience"]);
    assert!(!step_back(&mut run, in_phase("1")), "nothing was put in place there");
    // What the phase has by its workflow stays its own.
    let own = PolicyBinding { scope: in_phase("1"), ..chain("own", &["house", "resilience"]) };
    let mut run = begins_with(&[bind("resilience", PolicyScope::Run), own]);
    put(&mut run, bind("house", PolicyScope::Run));
    assert!(step_back(&mut run, PolicyScope::Run));
    assert_eq!(decides(&run), ["own", "house", "resilience"]);
    put(&mut run, bind("team", in_phase("1")));
    assert!(step_back(&mut run, in_phase("1")));
    assert!(!step_back(&mut run, in_phase("1")));
    assert_eq!(decides(&run), ["own", "house", "resilience"]);
}

#[test]
fn a_phase_follows_the_run_again_where_its_policy_keeps_failing() {
    // M3
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &[bind("built-in", PolicyScope::Run)]);
    let put = world.run.with_previous_chain(bind("mine", in_phase("1")), PolicyChangeCause::Command);
    apply(&mut world, change_to(put));
    (1..=3).for_each(|n| drop(answer(&mut world, n, by("built-in", &["mine"]))));
    assert_eq!(deciding(&world), ["built-in"], "the phase has none of its own");
    assert_eq!(ask(&mut world, 4).1, PolicyScope::Run);
}

#[test]
fn a_policy_that_fails_in_the_run_is_taken_out_of_the_chain_of_a_phase() {
    // M3: who stands before it did nothing wrong, and it does not come back in the place of that one.
    let mut world = at_work(workflow(&[("1", &["a", "b"])]), &[bind("built-in", PolicyScope::Run)]);
    for put in [bind("house", PolicyScope::Run), bind("rules", in_phase("1"))] {
        let put = world.run.with_previous_chain(put, PolicyChangeCause::Command);
        apply(&mut world, change_to(put));
    }
    let fails = || {
        let mut label = by("built-in", &["house"]);
        label.faults[0].by = DecisionSource::Next;
        label.by = DecisionSource::Next;
        label
    };
    (1..=3).for_each(|n| drop(answer(&mut world, n, fails())));
    let view = world.run.binding_views().find(|view| view.binding.scope == in_phase("1")).unwrap();
    assert_eq!(links(view.binding), ["rules", "built-in"]);
    assert_eq!(
        (view.replaced.into_iter().map(links).collect::<Vec<_>>(), view.faults_in_row),
        (vec![vec!["built-in".to_owned()]], 0)
    );
}
