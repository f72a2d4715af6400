//! Layers: policies that ask the next one of their chain. What stands behind them answers as it would alone; what they
//! do to it is bounded, labelled and told.

use std::collections::BTreeMap;

use baton_core::decision::{Decision, DecisionSource, Fault, LinkOutcome, Provenance};
use baton_core::observation::Capability;
use baton_engine::{BUILTIN_NAME, Chain, ConfiguredPolicy, Engine, Router, builtin_bytes};

use crate::hostile::guests::{ANSWER, GuestBuilder};
use crate::hostile::{configured, engine, message, questions, refused};

/// Asks the next policy, and does this before it gives back what that answered.
fn layer(before_answer: &str) -> GuestBuilder {
    GuestBuilder::new("compaction-layer").import("compaction", "decide").body(
        "compaction.decide",
        &format!("(call $decide (local.get 0) (i32.const {ANSWER})) {before_answer} (i32.const {ANSWER})"),
    )
}

/// Answers as the next policy does.
fn through() -> GuestBuilder {
    layer("")
}

fn router(engine: &Engine, first: ConfiguredPolicy, then: Vec<ConfiguredPolicy>) -> Router {
    let built_in = engine.load(BUILTIN_NAME, builtin_bytes()).expect("it loads");
    let built_in = built_in.configure(&BTreeMap::new()).expect("its defaults are good");
    let chain = BTreeMap::from([(Capability::Compaction, Chain::new(first, then))]);
    Router::with_built_in(engine, chain, built_in).expect("a router")
}

fn asked(router: &Router) -> (Decision, Provenance) {
    let (result, label) = router.decide(&questions::compaction());
    (result.expect("a policy decides"), label)
}

/// Who answered behind a layer, and what came of it, in order.
fn nested(label: &Provenance) -> Vec<(u32, &str, &'static str)> {
    let outcome = |outcome: &LinkOutcome| match outcome {
        LinkOutcome::Answered => "answered",
        LinkOutcome::Abstained => "abstained",
        LinkOutcome::Failed { .. } => "failed",
    };
    label.nested.iter().map(|link| (link.place, link.policy.as_str(), outcome(&link.outcome))).collect()
}

/// M4: the import is the next policy of the chain, with its own digest, settings and fuel on the label.
#[test]
fn a_layer_gets_the_answer_of_the_next_policy() {
    let engine = engine();
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let alone = last.evaluate(&questions::compaction());
    let router = router(&engine, configured(&engine, "layer", &through()), vec![last.clone()]);
    let (decision, label) = asked(&router);
    assert_eq!(decision.reason(), "there is room");
    assert_eq!((label.by, label.policy.as_str()), (DecisionSource::Configured, "layer"));
    assert_eq!(nested(&label), [(1, "last", "answered")]);
    assert_eq!(label.nested[0].fuel, alone.fuel, "it costs what it costs alone");
    assert_eq!(&label.nested[0].component, last.policy().digest());
    assert!(label.fuel < alone.fuel + 200_000, "its own fuel is the layer's: {}", label.fuel);
}

/// M4: at the end of the chain stands the built-in policy; without any, a layer gets nothing.
#[test]
fn the_built_in_policy_stands_behind_the_last_layer() {
    let engine = engine();
    let layer = configured(&engine, "layer", &through());
    let (built_in, _) =
        Router::new(&engine, BTreeMap::new()).expect("a router").decide(&questions::compaction());
    let (decision, label) = asked(&router(&engine, layer.clone(), vec![]));
    assert_eq!(Ok(decision), built_in);
    assert_eq!(nested(&label), [(1, BUILTIN_NAME, "answered")]);
    assert_eq!(layer.evaluate(&questions::compaction()).result, Ok(None), "nothing is behind it");
    let over = layer.over_built_in().expect("it loads").evaluate(&questions::compaction());
    assert_eq!(over.result, built_in.map(Some));
}

/// M4, M3: neither a fault nor an abstention behind a layer reaches it, and both are on the label.
#[test]
fn a_layer_never_sees_a_fault() {
    let engine = engine();
    let bad = configured(&engine, "bad", &GuestBuilder::deciding("unreachable"));
    let mute = configured(&engine, "mute", &GuestBuilder::abstaining());
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let layer = configured(&engine, "layer", &through());
    let router = router(&engine, layer, vec![bad, mute, last]);
    let (decision, label) = asked(&router);
    assert_eq!((decision.reason(), label.policy.as_str()), ("there is room", "layer"));
    assert_eq!(nested(&label), [(1, "bad", "failed"), (2, "mute", "abstained"), (3, "last", "answered")]);
    let LinkOutcome::Failed { fault } = &label.nested[0].outcome else { panic!("{:?}", label.nested) };
    assert!(message(fault.clone()).contains("unreachable"));
    assert!(label.faults.is_empty(), "the layer did not fail");
}

/// M4: a layer that abstains after it asked leaves the question to the chain; one that fails is passed over.
#[test]
fn the_chain_goes_on_behind_a_layer() {
    let engine = engine();
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let abstains = layer(&format!("(i32.store8 (i32.const {ANSWER}) (i32.const 0))"));
    let with = |name, guest: &GuestBuilder| {
        let first = configured(&engine, name, guest);
        asked(&router(&engine, first, vec![last.clone()])).1
    };
    let label = with("abstains", &abstains);
    assert_eq!((label.by, label.policy.as_str(), label.abstained.len()), (DecisionSource::Next, "last", 1));
    assert_eq!(label.abstained[0].nested.len(), 1);
    let label = with("fails", &layer("unreachable"));
    assert_eq!((label.by, label.policy.as_str(), label.faults.len()), (DecisionSource::Next, "last", 1));
    assert_eq!(label.faults[0].nested.len(), 1);
}

/// Hostile: it asks the next policy for ever, and hides that it failed.
#[test]
fn a_layer_that_asks_for_ever_ends() {
    let engine = engine();
    let endless = GuestBuilder::new("compaction-layer").import("compaction", "decide").body(
        "compaction.decide",
        &format!("(loop $again (call $decide (local.get 0) (i32.const {ANSWER})) (br $again)) unreachable"),
    );
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let (_, label) = asked(&router(&engine, configured(&engine, "endless", &endless), vec![last]));
    assert_eq!((label.by, label.policy.as_str()), (DecisionSource::Next, "last"));
    assert_eq!(label.faults[0].nested.len(), 4, "four calls are answered");
    let told = message(label.faults[0].fault.clone());
    assert_eq!(told, "asked the next policy more than 4 times");

    // Each layer asks four times: without a bound of the whole decision there would be 64 evaluations of the last one.
    let again = format!("(call $decide (local.get 0) (i32.const {ANSWER}))").repeat(3);
    let four = |name: &str| configured(&engine, name, &layer(&again).data(2048, name));
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let (_, label) = asked(&router(&engine, four("a"), vec![four("b"), four("c"), last]));
    let nested = label.faults.iter().map(|fault| fault.nested.len()).max();
    assert!(nested.is_some_and(|evaluations| evaluations <= 16), "{nested:?}");
    assert!(matches!(&label.faults[0].fault, Fault::Trap { message } if message.contains("16 evaluations")));
    assert_eq!(engine.live_instances(), 0, "no instance is left behind");
}

/// Hostile: each layer uses most of its stack before it asks the next, on the small stack of a thread.
#[test]
fn the_stack_is_enough_for_a_chain() {
    let engine = engine();
    let deep = || {
        GuestBuilder::new("compaction-layer")
            .import("compaction", "decide")
            .item(&format!(
                "(func $deep (param i32 i32)
                    (if (i32.eqz (local.get 1))
                        (then (call $decide (local.get 0) (i32.const {ANSWER})))
                        (else (call $deep (local.get 0) (i32.sub (local.get 1) (i32.const 1))))))"
            ))
            .body(
                "compaction.decide",
                &format!("(call $deep (local.get 0) (i32.const 5000)) (i32.const {ANSWER})"),
            )
    };
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let named = |name: &str| configured(&engine, name, &deep().data(4096, name));
    let chain = router(&engine, named("a"), vec![named("b"), named("c"), last]);
    let label = std::thread::scope(|scope| scope.spawn(|| asked(&chain).1).join().expect("the host lives"));
    assert_eq!((label.policy.as_str(), label.nested.len()), ("a", 3));
}

/// M6: a chain of layers has one place for all of its instances, so that chains at full concurrency do not wait for each
/// other.
#[test]
fn many_chains_of_layers_at_a_time_do_not_wait_for_each_other() {
    let engine = engine();
    let named = |name: &str| configured(&engine, name, &through().data(2048, name));
    let last = configured(&engine, "last", &GuestBuilder::good("there is room"));
    let router = router(&engine, named("one"), vec![named("two"), named("three"), last]);
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let (_, label) = asked(&router);
                    assert_eq!((label.policy.as_str(), label.nested.len()), ("one", 3));
                }
            });
        }
    });
    assert_eq!(engine.live_instances(), 0, "no instance is left behind");
}

/// Bad input: it asks what it does not answer, or asks it in other words than the contract's.
#[test]
fn a_component_that_asks_another_question_is_refused() {
    let other = GuestBuilder::good("there is room")
        .contract("export compaction;\n}", "export compaction;\n    import splitting;\n}")
        .import("splitting", "decide");
    let error = refused(&other);
    assert!(
        error.contains("splitting") && error.contains("a layer exports the interface that it imports"),
        "{error}"
    );
}
