//! The table of attacks: what a stranger's component does, and what comes of it. Each is loaded and asked in one and the same
//! engine; none of them ends the host, each ends as an error or a fault that names the policy and the cause, the next in the
//! chain decides and its label says so, and the neighbours of the policy notice nothing. What the components are is in the
//! modules below.

mod asked;
mod called;
mod loaded;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use baton_core::decision::{Decision, DecisionSource, FaultRecord};
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::PolicyScope;
use baton_engine::{BUILTIN_NAME, CompiledPolicy, ConfiguredPolicy, Engine, Router, builtin_bytes};

use crate::hostile::guests::GuestBuilder;
use crate::hostile::{configured, engine, questions, still_answers};

/// Longer than this, and an error is no longer read.
const ERROR_BYTES: usize = 2000;

/// What somebody tries, and how that ends.
pub(crate) struct PolicyAttack {
    name: &'static str,
    component: Vec<u8>,
    end: AttackOutcome,
}

/// How an attack ends. The kind is the variant of the error or fault, the words are in its text.
enum AttackOutcome {
    /// It is not loaded.
    Refused { kind: &'static str, words: String },
    /// It is loaded, and cannot be configured.
    NotConfigured { kind: &'static str, words: String },
    /// It faults each time it is asked.
    Faults { kind: &'static str, words: String },
    /// It answers like any other, and what it tried came to nothing.
    NoEffect,
}

fn attack(name: &'static str, component: Vec<u8>, end: AttackOutcome) -> PolicyAttack {
    PolicyAttack { name, component, end }
}

fn refused(name: &'static str, guest: &GuestBuilder, kind: &'static str, words: &str) -> PolicyAttack {
    refused_bytes(name, guest.build(), kind, words)
}

fn refused_bytes(name: &'static str, component: Vec<u8>, kind: &'static str, words: &str) -> PolicyAttack {
    attack(name, component, AttackOutcome::Refused { kind, words: words.to_owned() })
}

fn not_configured(name: &'static str, guest: &GuestBuilder, kind: &'static str, words: &str) -> PolicyAttack {
    attack(name, guest.build(), AttackOutcome::NotConfigured { kind, words: words.to_owned() })
}

fn faults(name: &'static str, guest: &GuestBuilder, kind: &'static str, words: &str) -> PolicyAttack {
    attack(name, guest.build(), AttackOutcome::Faults { kind, words: words.to_owned() })
}

fn without_effect(name: &'static str, guest: &GuestBuilder) -> PolicyAttack {
    in_vain_bytes(name, guest.build())
}

fn in_vain_bytes(name: &'static str, component: Vec<u8>) -> PolicyAttack {
    attack(name, component, AttackOutcome::NoEffect)
}

/// Every attack of the table.
fn attacks() -> Vec<PolicyAttack> {
    let mut attacks = asked::attacks();
    attacks.extend(called::attacks());
    attacks.extend(settings::attacks());
    attacks.extend(loaded::attacks());
    attacks
}

/// The name of a variant.
fn kind(error: &impl Debug) -> String {
    format!("{error:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// That an error is of this kind, says these words and whose policy it is about, and can be shown.
#[track_caller]
fn says(error: &(impl Debug + ToString), policy: &str, expected: &str, words: &str) {
    let text = error.to_string();
    assert_eq!(kind(error), expected, "{text}");
    assert!(text.starts_with(&format!("policy {policy}: ")), "{text}");
    assert!(text.contains(words), "{words:?} is not in: {text}");
    can_be_shown(&text);
}

#[track_caller]
fn can_be_shown(text: &str) {
    assert!(text.len() <= ERROR_BYTES, "{} bytes: {}", text.len(), &text[..text.floor_char_boundary(200)]);
    assert!(!text.contains(char::is_control), "{text:?}");
}

/// Engine and policies that stay the same through every attack.
struct AttackHarness {
    engine: Engine,
    built_in: ConfiguredPolicy,
    good: ConfiguredPolicy,
}

impl AttackHarness {
    fn new() -> Self {
        let engine = engine();
        let built_in = engine.load(BUILTIN_NAME, builtin_bytes()).expect("it loads");
        let built_in = built_in.configure(&BTreeMap::new()).expect("its defaults are good");
        let good = configured(&engine, "good", &GuestBuilder::good("there is room"));
        Self { engine, built_in, good }
    }

    fn router(&self, first: ConfiguredPolicy) -> Router {
        let first = BTreeMap::from([(first.policy().decides()[0], first.into())]);
        Router::with_built_in(&self.engine, first, self.built_in.clone()).expect("a router")
    }

    fn meet(&self, attack: &PolicyAttack) {
        match (&attack.end, self.engine.load(attack.name, &attack.component)) {
            (AttackOutcome::Refused { kind, words }, Err(error)) => says(&error, attack.name, kind, words),
            (AttackOutcome::Refused { .. }, Ok(_)) => panic!("it was loaded"),
            (_, Err(error)) => panic!("{error}"),
            (end, Ok(policy)) => self.meet_loaded(attack, end, &policy),
        }
        still_answers(&self.engine);
    }

    fn meet_loaded(&self, attack: &PolicyAttack, end: &AttackOutcome, policy: &CompiledPolicy) {
        match (end, policy.configure(&BTreeMap::new())) {
            (AttackOutcome::NotConfigured { kind, words }, Err(error)) => {
                says(&error, attack.name, kind, words)
            }
            (AttackOutcome::NotConfigured { .. }, Ok(_)) => panic!("it was configured"),
            (_, Err(error)) => panic!("{error}"),
            (AttackOutcome::Faults { kind, words }, Ok(bad)) => {
                self.meet_faulty(attack.name, bad, kind, words)
            }
            (_, Ok(harmless)) => {
                let (result, label) = self.router(harmless).decide(&questions::compaction());
                assert!(matches!(result, Ok(Decision::Compaction(_))), "{result:?}");
                assert_eq!((label.by, label.policy.as_str()), (DecisionSource::Configured, attack.name));
                assert_eq!(label.faults, []);
            }
        }
    }

    fn meet_faulty(&self, name: &str, bad: ConfiguredPolicy, expected: &str, words: &str) {
        let asked = bad.policy().decides()[0];
        let of_it = |question: &PolicyRequest| question.query.capability() == asked;
        let question = questions::all().into_iter().find(of_it).expect("there is one of each");
        let evaluation = bad.evaluate(&question);
        let fault = evaluation.result.clone().expect_err("it faults");
        assert_eq!(kind(&fault), expected, "{fault}");
        assert!(fault.to_string().contains(words), "{words:?} is not in: {fault}");
        can_be_shown(&fault.to_string());
        assert_eq!(bad.evaluate(&question), evaluation, "the same again, to the unit of fuel");
        let record = FaultRecord {
            nested: Vec::new(),
            by: DecisionSource::Configured,
            policy: name.to_owned(),
            component: bad.policy().digest().clone(),
            fault,
            settings: Some(bad.settings_digest().clone()),
            fuel: Some(evaluation.fuel),
            artifacts: Default::default(),
        };

        // Nobody has decided yet: the built-in one does.
        let router = self.router(bad.clone());
        let (result, label) = router.decide(&question);
        assert!(result.is_ok(), "{result:?}");
        assert_eq!((label.by, label.policy.as_str()), (DecisionSource::BuiltIn, BUILTIN_NAME));
        assert_eq!(label.component.as_ref(), Some(self.built_in.policy().digest()));
        assert_eq!(label.settings.as_ref(), Some(self.built_in.settings_digest()));
        assert_eq!(&label.engine, self.engine.digest());
        assert_eq!(label.faults, std::slice::from_ref(&record));

        if asked != Capability::Compaction {
            return;
        }
        // Somebody has: that one does.
        let configure =
            |policy: ConfiguredPolicy| router.configure(PolicyScope::Run, Capability::Compaction, policy);
        configure(self.good.clone()).expect("it decides compaction");
        assert_eq!(router.decide(&question).1.by, DecisionSource::Configured);
        configure(bad).expect("it decides compaction");
        let (_, label) = router.decide(&question);
        assert_eq!((label.by, label.policy.as_str()), (DecisionSource::LastGood, "good"));
        assert_eq!(label.component.as_ref(), Some(self.good.policy().digest()));
        assert_eq!(label.faults, [record]);
    }
}

// M4, M6
#[test]
fn every_attack_ends_as_it_should_and_the_neighbours_notice_nothing() {
    let stage = AttackHarness::new();
    let attacks = attacks();
    let meet = |attack: &&PolicyAttack| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.meet(attack))).is_err()
    };
    let failed: Vec<_> = attacks.iter().filter(meet).map(|attack| attack.name).collect();
    assert!(failed.is_empty(), "{} of {} attacks ended otherwise: {failed:?}", failed.len(), attacks.len());
    assert!(stage.engine.peak_instances() <= 4, "{}", stage.engine.peak_instances());
    assert_eq!(stage.engine.live_instances(), 0, "no instance is left behind");
}

#[test]
fn every_attack_has_a_name_of_its_own() {
    let attacks = attacks();
    let names: BTreeSet<_> = attacks.iter().map(|attack| attack.name).collect();
    assert_eq!(names.len(), attacks.len());
    assert!(attacks.len() >= 20);
}

/// A well-formed component in which some bits have changed, thousands of ways: what becomes of each is all the same, as long as
/// the host lives and its limits hold.
#[test]
fn components_with_changed_bits_do_no_harm() {
    let engine = engine();
    let good = GuestBuilder::good("ok").import("text", "slice").build();
    let mut state = 1u32;
    let mut chance = || {
        // Any full period will do.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as usize >> 8
    };
    let mut ended = BTreeMap::new();
    for _ in 0..600 {
        let mut changed = good.clone();
        for _ in 0..1 + chance() % 3 {
            let at = 8 + chance() % (good.len() - 8);
            changed[at] ^= 1 << (chance() % 8);
        }
        let end = match engine.load("changed", &changed).map(|policy| policy.configure(&BTreeMap::new())) {
            Err(error) => {
                can_be_shown(&error.to_string());
                kind(&error)
            }
            Ok(Err(error)) => kind(&error),
            Ok(Ok(changed)) => match changed.evaluate(&questions::compaction()).result {
                Ok(_) => "Answered".to_owned(),
                Err(fault) => kind(&fault),
            },
        };
        *ended.entry(end).or_insert(0) += 1;
    }
    assert!(ended.len() > 2, "changes that change something: {ended:?}");
    still_answers(&engine);
}
