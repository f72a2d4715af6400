//! What the conformance kit says of real components: the built-in policy is fit, and each hostile one is found out by the
//! rule that it breaks.

use std::collections::BTreeMap;
use std::path::Path;

use crate::guests::{ANSWER, DECISION, GuestBuilder};
use baton_engine::{BUILTIN_NAME, DecisionLimits, Engine, EngineConfig, builtin_bytes};
use baton_lab::conformance::{ConformancePlan, ConformanceReport, check};

/// Few, since the engine is not optimised here; `baton policy check` asks ten thousand.
const FEW: ConformancePlan = ConformancePlan { seed: 1, questions: 210 };
/// Among fewer questions those that cost the built-in policy most were not found.
const MANY: ConformancePlan = ConformancePlan { seed: 1, questions: 2_500 };

fn checked(bytes: &[u8], limits: DecisionLimits, plan: ConformancePlan) -> ConformanceReport {
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot-conformance"));
    let engine =
        Engine::new(EngineConfig { cache_dir, limits, ..EngineConfig::default() }).expect("an engine");
    let policy = engine.load(BUILTIN_NAME, bytes).expect("it loads");
    let policy = policy.configure(&BTreeMap::new()).expect("its defaults are good");
    let policy = policy.over_built_in().expect("a layer has what it asks next");
    let report = check(&engine, &policy, plan, |_| ());
    assert_eq!((&report.component, &report.engine), (policy.policy().digest(), engine.digest()));
    report
}

fn broken(guest: &GuestBuilder) -> Vec<String> {
    // Little fuel makes the endless ones quick.
    let limits = DecisionLimits { fuel: 1_000_000, memory_bytes: 8 << 20, ..DecisionLimits::default() };
    checked(&guest.build(), limits, FEW).broken().map(|rule| rule.name.clone()).collect()
}

#[test]
fn the_built_in_policy_is_fit() {
    let report = checked(builtin_bytes(), DecisionLimits::default(), MANY);
    assert!(report.passed(), "{:#?}", report.broken().collect::<Vec<_>>());
    assert_eq!(report.functions.len(), 10);
}

// M4: the example policies pass the check. `rules` decides nothing until the user writes rules.
#[test]
fn the_reference_policies_are_fit() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let mut checked_names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "wasm") || name == BUILTIN_NAME {
            continue;
        }
        let report = checked(&std::fs::read(&path).unwrap(), DecisionLimits::default(), MANY);
        assert!(report.passed(), "{name}: {:#?}", report.broken().collect::<Vec<_>>());
        let mute: Vec<_> = report.mute().map(|function| &function.function).collect();
        assert!(mute.is_empty() || name == "rules", "{name} abstains from {mute:?}");
        checked_names.push(name);
    }
    assert!(checked_names.len() > 5, "{checked_names:?}");
}

#[test]
fn a_guest_that_keeps_still_is_fit() {
    assert!(broken(&GuestBuilder::good("there is room")).is_empty());
}

#[test]
fn a_guest_that_traps_is_found_out() {
    assert_eq!(broken(&GuestBuilder::deciding("unreachable")), ["no-trap"]);
}

#[test]
fn guests_that_take_too_much_are_found_out() {
    assert_eq!(broken(&GuestBuilder::deciding("(loop $again (br $again)) unreachable")), ["within-limits"]);
    let eats = "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable";
    assert_eq!(broken(&GuestBuilder::deciding(eats)), ["within-limits"]);
}

#[test]
fn guests_whose_answers_are_of_no_use_are_found_out() {
    assert_eq!(broken(&GuestBuilder::new("compaction-policy").answering(5_000)), ["under-caps"]);
    let no_action = format!("(i32.store (i32.const {DECISION}) (i32.const 99)) (i32.const {ANSWER})");
    assert_eq!(broken(&GuestBuilder::deciding(&no_action)), ["well-formed"]);
    assert_eq!(broken(&GuestBuilder::good("")), ["gives-reason"]);
}

#[test]
fn a_guest_that_offloads_what_nobody_offered_is_found_out() {
    // A list of one item, which is called "no", and the reason "no". The item lies at 2048: its address and its length.
    let offloads = format!(
        "(i32.store (i32.const 2048) (i32.const 1024))
         (i32.store (i32.const 2052) (i32.const 2))
         (i32.store (i32.const {DECISION}) (i32.const 2048))
         (i32.store (i32.const {}) (i32.const 1))
         (i32.store (i32.const {}) (i32.const 1024))
         (i32.store (i32.const {}) (i32.const 2))
         (i32.const {ANSWER})",
        DECISION + 4,
        DECISION + 8,
        DECISION + 12
    );
    let guest = GuestBuilder::new("offloading-policy").body("decide", &offloads).data(1024, "no");
    assert_eq!(broken(&guest), ["makes-sense"]);
}
