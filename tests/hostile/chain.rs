//! What stands behind a policy that fails, what a policy is granted, and which settings it takes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use baton_core::decision::{Decision, DecisionSource, Fault, RecoveryAction, SplitAction, Verdict};
use baton_core::observation::{
    AssessTrigger, Capability, PolicyQuery, PolicyRequest, RecoveryObservation, ReviewObservation,
    SplitTrigger, SplittingObservation,
};
use baton_core::workflow::{PolicyScope, SettingValue, SplitTime};
use baton_core::{Digest, TextBlob};
use baton_engine::{
    ArtifactSource, BUILTIN_NAME, Chain, ComponentGrants, ConfiguredPolicy, DecisionLimits, Engine,
    HOST_FALLBACK_NAME, Router, RouterError, SettingsError, builtin_bytes, validate_answer,
};

use crate::hostile::guests::{ANSWER, DECISION, GuestBuilder, REASON};
use crate::hostile::{configured, engine, message, questions, refused};

const PLAN: &str = "there is a plan";

struct SingleArtifact;

impl ArtifactSource for SingleArtifact {
    fn list(&self) -> Vec<(String, Digest)> {
        vec![("plan.md".to_owned(), Digest::of(PLAN))]
    }

    fn read(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        (*digest == Digest::of(PLAN)).then(|| Arc::from(PLAN.as_bytes()))
    }
}

/// Reads the artifact whose name it is given, and answers with what it read, or with nothing.
fn reader(name: &str) -> GuestBuilder {
    let (at, size) = (DECISION, name.len());
    GuestBuilder::deciding(&format!(
        "(call $read (i32.const 1024) (i32.const {size}) (i64.const 6) (i32.const 100) (i32.const {at}))
         (if (i32.eqz (i32.load8_u (i32.const {at}))) (then
            (i32.store (i32.const {}) (i32.load (i32.const {})))
            (i32.store (i32.const {}) (i32.load (i32.const {})))))
         (i64.store (i32.const {at}) (i64.const 0))
         (i32.const {ANSWER})",
        REASON,
        at + 4,
        REASON + 4,
        at + 8
    ))
    .import("artifacts", "read")
    .data(1024, name)
}

#[test]
fn artifacts_are_read_only_where_granted() {
    let error = refused(&reader("plan.md"));
    assert!(error.contains("imports `baton:policy/artifacts@0.1.0`, which was not granted to it"), "{error}");

    let engine = engine();
    let grants = ComponentGrants { artifacts: Some(Arc::new(SingleArtifact)), ..ComponentGrants::default() };
    let reason = |name: &str| {
        let policy = engine.load_granted("reader", &reader(name).build(), grants.clone()).expect("it loads");
        let policy = policy.configure(&BTreeMap::new()).expect("it has no settings");
        policy
            .evaluate(&questions::compaction())
            .result
            .expect("no fault")
            .expect("it decides")
            .reason()
            .to_owned()
    };
    assert_eq!(reason("plan.md"), "is a plan");
    assert_eq!(reason("secrets"), "");
}

/// An artifact of a megabyte, and how often it was read.
#[derive(Default)]
struct LargeArtifact(AtomicU32);

impl LargeArtifact {
    const BYTES: usize = 1 << 20;
}

impl ArtifactSource for LargeArtifact {
    fn list(&self) -> Vec<(String, Digest)> {
        vec![("plan.md".to_owned(), Digest::of(PLAN))]
    }

    fn read(&self, _: &Digest) -> Option<Arc<[u8]>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(Arc::from("x".repeat(Self::BYTES).as_bytes()))
    }
}

/// A policy that reads one byte at a time makes the host read no more than it pays for.
#[test]
fn an_artifact_is_read_once_and_paid_for_as_a_whole() {
    let engine = engine();
    let source = Arc::new(LargeArtifact::default());
    let grants = ComponentGrants { artifacts: Some(source.clone()), ..ComponentGrants::default() };
    let nibbles = GuestBuilder::deciding(
        "(local $times i32)
         (loop $again
            (call $read (i32.const 1024) (i32.const 7) (i64.const 9) (i32.const 1) (i32.const 64))
            (global.set $heap (i32.const 65536))
            (br_if $again (i32.lt_u (local.tee $times (i32.add (local.get $times) (i32.const 1))) (i32.const 500))))
         (i64.store (i32.const 64) (i64.const 0)) (i32.const 60)",
    )
    .import("artifacts", "read")
    .data(1024, "plan.md");
    let policy = engine.load_granted("nibbles", &nibbles.build(), grants).expect("it loads");
    let policy = policy.configure(&BTreeMap::new()).expect("it has no settings");
    let evaluation = policy.evaluate(&questions::compaction());
    assert!(evaluation.result.is_ok(), "{:?}", evaluation.result);
    assert_eq!(source.0.load(Ordering::Relaxed), 1);
    assert!(evaluation.fuel > LargeArtifact::BYTES as u64, "{}", evaluation.fuel);
}

/// Every component of the chain fails: the host answers by itself, keeps what is, and asks a person where it cannot.
#[test]
fn when_every_policy_fails_the_work_goes_on() {
    let engine = engine();
    let settings =
        "(i32.store (i32.const 64) (i32.const 0)) (i32.store (i32.const 68) (i32.const 0)) (i32.const 64)";
    let broken = GuestBuilder::new("policy").body("schema", settings);
    let broken = configured(&engine, "broken", &broken);
    let router = Router::with_built_in(&engine, BTreeMap::new(), broken).expect("a router");
    for question in questions::all() {
        let (result, label) = router.decide(&question);
        let decision = result.expect("somebody decides");
        assert!(decision.reason().starts_with("No policy answered: "), "{}", decision.reason());
        assert_eq!(
            (label.by, label.policy.as_str(), &label.component),
            (DecisionSource::HostFallback, HOST_FALLBACK_NAME, &None)
        );
        assert_eq!(label.faults.len(), 1, "the same component is not asked twice");
        if let Decision::Prompting(brief) = decision {
            assert!(brief.prompt.contains("## Your objective\n- [b] Do what b says\n"), "{}", brief.prompt);
            assert_eq!(brief.prompt.matches('[').count(), 1, "only what is in focus stands in brackets");
            assert!(brief.prompt.contains("\nReport to: .baton/r1/inbox\n"));
            assert!(brief.prompt.contains("\n- already modified: src/a.rs\n"));
        }
    }
    let (result, _) = router.decide(&questions::exhaustion(AssessTrigger::SessionEnded));
    let Ok(Decision::Exhaustion(assessment)) = result else { panic!("{result:?}") };
    assert_eq!(assessment.verdict, Verdict::Failed);
    let PolicyQuery::Exhaustion(session) = questions::exhaustion(AssessTrigger::SessionEnded).query else {
        panic!("it is that")
    };
    let observation =
        RecoveryObservation { session: *session, assessment, completion: None, other_roles: None };
    let question = PolicyRequest::new(PolicyQuery::Recovery(Box::new(observation)), vec![TextBlob::new("")]);
    let (result, _) = router.decide(&question);
    let Ok(Decision::Recovery(recovery)) = result else { panic!("{result:?}") };
    assert!(matches!(recovery.action, RecoveryAction::AskPerson { .. }));
}

fn built_in_of(engine: &Engine) -> ConfiguredPolicy {
    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).expect("it loads");
    policy.configure(&BTreeMap::new()).expect("its defaults are good")
}

/// M4: each is asked only where all before it abstained, and what they did is on the label.
#[test]
fn those_who_abstain_are_passed_over_in_order() {
    let engine = engine();
    let mute = |name: &str| configured(&engine, name, &GuestBuilder::abstaining().data(2048, name));
    let good = |name: &str| configured(&engine, name, &GuestBuilder::good(name));
    let bad = |name: &str| configured(&engine, name, &GuestBuilder::deciding("unreachable"));
    let router = |first, then| {
        let chain = BTreeMap::from([(Capability::Compaction, Chain::new(first, then))]);
        Router::with_built_in(&engine, chain, built_in_of(&engine)).expect("a router")
    };
    let of = |router: &Router| {
        let (result, label) = router.decide(&questions::compaction());
        result.expect("somebody decides");
        let abstained: Vec<_> =
            label.abstained.into_iter().map(|record| (record.by, record.policy)).collect();
        let faults: Vec<_> = label.faults.into_iter().map(|record| (record.by, record.policy)).collect();
        ((label.by, label.policy), abstained, faults)
    };
    use DecisionSource::{BuiltIn, LastGood, Next};
    let first = DecisionSource::Configured;
    let named = |by, policy: &str| (by, policy.to_owned());

    let third = router(mute("one"), vec![mute("two"), good("three"), good("four")]);
    assert_eq!(of(&third), (named(Next, "three"), vec![named(first, "one"), named(Next, "two")], vec![]));
    let nobody = router(mute("one"), vec![mute("two")]);
    assert_eq!(
        of(&nobody),
        (named(BuiltIn, BUILTIN_NAME), vec![named(first, "one"), named(Next, "two")], vec![])
    );
    let failing = router(mute("one"), vec![bad("two"), good("three")]);
    assert_eq!(of(&failing), (named(Next, "three"), vec![named(first, "one")], vec![named(Next, "two")]));

    // After a fault the chain that was good before is asked first, whole.
    let chain = Chain::new(bad("bad"), vec![good("rest")]);
    third.configure(PolicyScope::Run, Capability::Compaction, chain).expect("it decides compaction");
    assert_eq!(
        of(&third),
        (
            named(LastGood, "three"),
            vec![named(LastGood, "one"), named(LastGood, "two")],
            vec![named(first, "bad")]
        )
    );

    // Where everybody abstains, the built-in one included, the host goes on by itself.
    let mute_built_in = BTreeMap::from([(Capability::Compaction, mute("one").into())]);
    let policy = GuestBuilder::new("policy")
        .body("schema", "(i32.const 0)")
        .body("decide", &format!("(i32.store8 (i32.const {ANSWER}) (i32.const 0)) (i32.const {ANSWER})"));
    let router = Router::with_built_in(&engine, mute_built_in, configured(&engine, "mute", &policy))
        .expect("a router");
    let (_, label) = router.decide(&questions::compaction());
    assert_eq!((label.by, label.abstained.len(), label.faults.len()), (DecisionSource::HostFallback, 2, 0));
}

/// Answers a question about a split with parts of these objectives, whatever it is asked. No text or place has a byte of 128 or more.
fn splitter(parts: &[&[&str]]) -> GuestBuilder {
    let (reason, parts_at, lists_at, texts_at) = (1024, 2048, 3072, 4096);
    let word = |number: usize| -> String { (number as u32).to_le_bytes().map(char::from).iter().collect() };
    let (mut records, mut lists, mut texts) = (String::new(), String::new(), String::new());
    for part in parts {
        // Title, objectives, order, turns.
        records += &[word(reason), word(4), word(lists_at + lists.len()), word(part.len())].concat();
        records += &[word(0), word(0), word(0)].concat();
        for id in *part {
            lists += &[word(texts_at + texts.len()), word(id.len())].concat();
            texts += id;
        }
    }
    let store = |at: u32, number: usize| format!("(i32.store (i32.const {at}) (i32.const {number}))");
    let decide = [
        store(DECISION, 1),
        store(DECISION + 4, parts_at),
        store(DECISION + 8, parts.len()),
        store(DECISION + 12, reason),
        store(DECISION + 16, 4),
        format!("(i32.const {ANSWER})"),
    ];
    GuestBuilder::new("splitting-policy")
        .body("decide", &decide.concat())
        .data(reason as u32, "because")
        .data(parts_at as u32, &records)
        .data(lists_at as u32, &lists)
        .data(texts_at as u32, &texts)
}

/// D2, M3: what no run can follow is a fault of who said it, and the next policy is asked.
#[test]
fn an_answer_that_no_run_can_follow_is_a_fault_and_the_next_one_decides() {
    let engine = engine();
    let of = |name: &str, parts: &[&[&str]]| configured(&engine, name, &splitter(parts));
    let (leaves_out, whole) = (of("bad", &[&["a"], &["c"]]), of("good", &[&["a"], &["b"]]));
    let router = |first: &ConfiguredPolicy| {
        let chain = Chain::new(first.clone(), vec![whole.clone()]);
        let chain = BTreeMap::from([(Capability::Splitting, chain)]);
        Router::with_built_in(&engine, chain, built_in_of(&engine)).expect("a router")
    };
    let asked = |wish, occasion| {
        let seen = SplittingObservation { wish, occasion, ..questions::splitting() };
        PolicyRequest::new(PolicyQuery::Splitting(Box::new(seen)), Vec::new())
    };
    let question = asked(SplitTime::During, SplitTrigger::PhaseStart);
    let (result, label) = router(&leaves_out).decide(&question);
    let Ok(Decision::Splitting(split)) = &result else { panic!("{result:?}") };
    assert!(matches!(&split.action, SplitAction::Split { sub_phases } if sub_phases.len() == 2), "{split:?}");
    assert_eq!((label.by, label.policy.as_str()), (DecisionSource::Next, "good"));
    let fault = Fault::Refused { message: "c is no open objective of phase 20".to_owned() };
    assert_eq!((label.faults.len(), &label.faults[0].fault), (1, &fault));
    // Asked alone, as a replay does, it gives the same answer, which is refused again.
    let answer = leaves_out.evaluate(&question).result;
    assert_eq!(validate_answer(&question, answer), Err(fault));

    // A phase that its workflow leaves whole is split by no policy, unless its agent asks.
    let never = |occasion| router(&whole).decide(&asked(SplitTime::Never, occasion));
    let (result, label) = never(SplitTrigger::Boundary);
    let Ok(Decision::Splitting(split)) = &result else { panic!("{result:?}") };
    assert_eq!((&split.action, label.by), (&SplitAction::Keep, DecisionSource::BuiltIn));
    let why = format!("{}", label.faults[0].fault);
    assert_eq!(why, "gave an answer that was refused: the workflow says split = \"never\" for phase 20");
    assert_eq!(never(SplitTrigger::Requested).1.by, DecisionSource::Configured);
}

/// M3, M4: after a fault the rest of a list is asked in its order, as the list is, also if it has decided before.
#[test]
fn a_list_that_nobody_put_in_place_is_asked_in_its_order_after_a_fault() {
    let engine = engine();
    let good = |name: &str| configured(&engine, name, &GuestBuilder::good(name));
    let bad = configured(&engine, "bad", &GuestBuilder::deciding("unreachable"));
    let chain = Chain::new(bad, vec![good("growth"), good("last")]);
    let chain = BTreeMap::from([(Capability::Compaction, chain)]);
    let router = Router::with_built_in(&engine, chain, built_in_of(&engine)).expect("a router");
    let (scope, asked) = (PolicyScope::Run, Capability::Compaction);
    let decides = || {
        let label = router.decide(&questions::compaction()).1;
        (label.by, label.policy)
    };
    assert_eq!(decides(), (DecisionSource::Next, "growth".to_owned()));
    // Another one that stands behind is asked first, until the chain stands alone again.
    router.set_fallback(&scope, asked, good("before")).expect("it decides compaction");
    assert_eq!(decides(), (DecisionSource::LastGood, "before".to_owned()));
    router.clear_fallback(&scope, asked);
    assert_eq!(decides(), (DecisionSource::Next, "growth".to_owned()));
    // What decided before is the very same list.
    router.set_fallback(&scope, asked, router.configured(&scope, asked)).expect("it decides compaction");
    assert_eq!(decides(), (DecisionSource::Next, "growth".to_owned()));
}

/// M6: each link gives its place back before the next is asked, so that chains do not wait for each other.
#[test]
fn many_chains_at_a_time_do_not_wait_for_each_other() {
    let engine = engine();
    let mute = |name: &str| configured(&engine, name, &GuestBuilder::abstaining().data(2048, name));
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let chain = Chain::new(mute("one"), vec![mute("two"), mute("three"), last.clone()]);
    let router = Router::with_built_in(
        &engine,
        BTreeMap::from([(Capability::Compaction, chain)]),
        built_in_of(&engine),
    )
    .expect("a router");
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let (_, label) = router.decide(&questions::compaction());
                assert_eq!((label.policy.as_str(), label.abstained.len()), ("last", 3));
            });
        }
    });
    assert_eq!(engine.live_instances(), 0, "no instance is left behind");
}

#[test]
fn a_question_without_its_text_is_a_fault_and_no_policy_is_asked() {
    let engine = engine();
    let router = Router::new(&engine, BTreeMap::new()).expect("a router");
    let mut question = questions::exhaustion(AssessTrigger::Turn);
    question.texts[0] = serde_json::from_str(&serde_json::to_string(&question.texts[0]).unwrap()).unwrap();
    let (result, label) = router.decide(&question);
    assert!(message(result.expect_err("nobody can answer")).contains("its text 0 is not at hand"));
    assert_eq!((label.by, label.faults.len()), (DecisionSource::HostFallback, 0));

    question.texts[0] = TextBlob::new("x".repeat(DecisionLimits::default().input_bytes as usize + 1));
    assert!(message(router.decide(&question).0.expect_err("nobody can answer")).contains("at most 1048576"));
}

#[test]
fn a_policy_is_not_configured_for_what_it_does_not_decide() {
    let engine = engine();
    let good = configured(&engine, "good", &GuestBuilder::good("ok"));
    let wrong = BTreeMap::from([(Capability::Handoff, good.clone().into())]);
    let error = Router::new(&engine, wrong).err().expect("it is refused");
    assert!(matches!(error, RouterError::CannotDecide { .. }));
    assert_eq!(error.to_string(), "policy good cannot be configured for handoff: it decides compaction");

    let asked = PolicyRequest::new(PolicyQuery::Review(review()), vec![TextBlob::default()]);
    assert_eq!(message(good.evaluate(&asked).result.expect_err("it cannot")), "it does not export review");
}

fn review() -> Box<ReviewObservation> {
    let asks = questions::all().into_iter().map(|question| question.query);
    asks.filter_map(|query| if let PolicyQuery::Review(seen) = query { Some(seen) } else { None })
        .next()
        .expect("there is one")
}

// Bad input: settings of the wrong type. M3: settings are checked before any run starts.
#[test]
fn settings_of_the_wrong_type_are_named() {
    let engine = engine();
    let built_in = engine.load(BUILTIN_NAME, builtin_bytes()).expect("it loads");
    let number =
        built_in.schema().unwrap().iter().find(|setting| !matches!(setting.default, SettingValue::Text(_)));
    let key = number.expect("the default policy has thresholds").key.clone();
    let wrong = BTreeMap::from([
        (key.clone(), SettingValue::Text("much".to_owned()).into()),
        ("no-such-setting".to_owned(), SettingValue::Flag(true).into()),
    ]);
    let error = built_in.configure(&wrong).err().expect("they are refused");
    let mut keys: Vec<_> = error.problems().iter().map(|problem| problem.key.as_str()).collect();
    keys.sort_unstable();
    let mut expected = [key.as_str(), "no-such-setting"];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert!(error.to_string().contains(&format!("setting `{key}`: expected ")), "{error}");

    let none = configured(&engine, "good", &GuestBuilder::good("ok"));
    let error = none.policy().configure(&wrong).err().expect("they are refused");
    assert!(matches!(error, SettingsError::Refused { .. }));
    assert!(error.to_string().contains("this policy has none"));
}

#[test]
fn labels_name_the_component_by_its_bytes() {
    let bytes = GuestBuilder::good("ok").build();
    assert_eq!(engine().load("good", &bytes).expect("it loads").digest(), &Digest::of(&bytes));
}
