//! Definitions and arms, without a host.

use std::os::unix::fs::PermissionsExt as _;

use baton_core::observation::Capability;
use baton_core::workflow::{ConfigLayer, PolicyChoice, PolicyLayer, PolicyScope};
use baton_core::{Digest, UnixMs, Workflow};

use super::assignment::{layer, not_given, strip_arms};
use super::*;

fn spec(given: &str) -> ArmSpec {
    ArmSpec::named(given).unwrap()
}

fn definition() -> ExperimentDefinition {
    let arm = |name: &str| ExperimentArm {
        name: name.into(),
        reference: format!("{name}.wasm"),
        policy: name.to_owned(),
        component: Digest::of(name),
        weight: 0.5,
        settings: Default::default(),
        grants: Default::default(),
        unchecked: false,
    };
    ExperimentDefinition {
        schema: 1,
        name: "split-v2".into(),
        seed: "split-v2".to_owned(),
        hash_version: 2,
        unit: UnitKind::Run,
        versions: vec![ExperimentVersion {
            version: 1,
            started_at: UnixMs(1),
            state: VersionState::Running,
            coverage: 1.0,
            decides: vec![Capability::Splitting, Capability::Handoff],
            arms: vec![arm("control"), arm("eager")],
            only: RunTargeting::default(),
            analysis: AnalysisPlan::default(),
        }],
    }
}

fn work<'a>(workflow: &'a Workflow, unit: &'a str) -> AssignmentContext<'a> {
    AssignmentContext { workflow, workspace: std::path::Path::new("/w"), fresh_unit: unit, inherited: &[] }
}

// M5
#[test]
fn a_number_after_the_last_colon_is_a_weight() {
    for (given, reference, weight) in [
        ("a=eager.wasm", "eager.wasm", None),
        ("a=eager.wasm:50", "eager.wasm", Some(50.0)),
        ("a=resilience", "builtin:resilience", None),
        ("a=resilience:12.5", "builtin:resilience", Some(12.5)),
        ("a=builtin:resilience", "builtin:resilience", None),
        ("a=rules:house.toml:50", "rules:house.toml", Some(50.0)),
        ("a=oci://host:5000/acme/p:50", "oci://host:5000/acme/p:50", None),
        ("a=oci://host:5000/acme/p@sha256:ab:50", "oci://host:5000/acme/p@sha256:ab", Some(50.0)),
        ("a=oci://host:5000/acme/p:50:50", "oci://host:5000/acme/p:50", Some(50.0)),
        ("a=oci://host/p:v1", "oci://host/p:v1", None),
        ("a=x.wasm@sha256:1111111111", "x.wasm@sha256:1111111111", None),
    ] {
        let spec = spec(given);
        assert_eq!((spec.reference.as_str(), spec.weight), (reference, weight), "{given}");
    }
    for wrong in ["eager.wasm", "a=", "a=:50", "a b=c.wasm", "a=c.wasm:0", "=c.wasm"] {
        assert!(ArmSpec::named(wrong).is_err(), "{wrong}");
    }
}

// M5
#[test]
fn arms_without_a_weight_share_what_the_others_leave() {
    let of = |given: &[&str]| shares(&given.iter().map(|given| spec(given)).collect::<Vec<_>>());
    assert_eq!(of(&["a=x", "b=y"]).unwrap(), [0.5, 0.5]);
    assert_eq!(of(&["a=x", "b=y:50"]).unwrap(), [0.5, 0.5]);
    assert_eq!(of(&["a=x", "b=y:20"]).unwrap(), [0.8, 0.2]);
    assert_eq!(of(&["a=x", "b=y:20", "c=z"]).unwrap(), [0.4, 0.2, 0.4]);
    assert_eq!(of(&["a=x:3", "b=y:1"]).unwrap(), [0.75, 0.25]);
    assert!(of(&["a=x", "b=y:100"]).unwrap_err().contains("leaves nothing"));
}

// M5
#[test]
fn a_definition_is_private_whole_and_strict() {
    let folder = tempfile::tempdir().unwrap();
    let experiments = ExperimentStore::below(folder.path());
    assert!(experiments.all().is_empty());
    let held = experiments.hold().unwrap();
    experiments.write(&definition(), &held).unwrap();
    assert_eq!(experiments.read("split-v2").unwrap(), definition());
    let path = experiments.folder("split-v2").join("experiment.json");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"seed\"", "\"sed\""),
        ("\"schema\": 1", "\"schema\": 2"),
        ("\"hash_version\": 2", "\"hash_version\": 3"),
        ("\"weight\": 0.5", "\"weight\": 0.7"),
        ("\"coverage\": 1.0", "\"coverage\": 1.5"),
        ("\"version\": 1", "\"version\": 2"),
        ("\"name\": \"split-v2\"", "\"name\": \"other\""),
        ("\"unit\": \"run\"", "\"unit\": \"run\", \"more\": 1"),
        ("\"is\": \"running\"", "\"is\": \"asleep\""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&path, changed).unwrap();
        let error = experiments.read("split-v2").unwrap_err();
        assert!(matches!(error, ExperimentError::Broken { .. }), "{to}: {error}");
    }
    assert!(matches!(experiments.read("none"), Err(ExperimentError::UnknownExperiment { .. })));
    assert!(matches!(experiments.read("../x"), Err(ExperimentError::Refused(_))));
}

// M5
#[test]
fn a_component_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let experiments = ExperimentStore::below(folder.path());
    let name = definition().name;
    let digest = experiments.keep(&name, b"\0asm", &experiments.hold().unwrap()).unwrap();
    assert_eq!(experiments.component(&name, &digest).unwrap(), b"\0asm");
    let path = experiments.folder(name.as_str()).join("components").join(digest.hex());
    std::fs::write(path, b"other").unwrap();
    assert!(matches!(experiments.component(&name, &digest), Err(ExperimentError::Broken { .. })));
}

// M5
#[test]
fn an_arm_is_a_function_of_the_unit_and_anybody_can_check_it() {
    let definition = definition();
    let version = &definition.versions[0];
    let mut counts = [0_u32; 2];
    for n in 0..2_000 {
        let unit = format!("w-{n}");
        let given = assign(&definition, version, &unit).unwrap();
        assert_eq!(not_given(&definition, version, &given.assignment), None);
        counts[usize::from(given.arm.name.as_str() == "eager")] += 1;
        let mut forged = given.assignment;
        forged.propensities.insert("control".into(), 0.9);
        assert!(not_given(&definition, version, &forged).unwrap().contains("propensities"));
    }
    assert!(counts.iter().all(|count| count.abs_diff(1_000) < 120), "{counts:?}");
}

// M5
#[test]
fn whoever_begins_anew_keeps_unit_and_arm() {
    let definition = definition();
    let workflow = Workflow::default();
    let first = enrol(&definition, &work(&workflow, "unit-1"), &[]).unwrap();
    let other = (2..)
        .map(|n| format!("unit-{n}"))
        .find(|unit| assign(&definition, &definition.versions[0], unit).unwrap().arm != first.arm)
        .unwrap();
    let inherited = [first.assignment.clone()];
    let again =
        enrol(&definition, &AssignmentContext { inherited: &inherited, ..work(&workflow, &other) }, &[])
            .unwrap();
    assert_eq!((again.assignment, again.inherited), (first.assignment, true));
}

// M5
#[test]
fn a_run_that_does_not_fit_is_left_alone_whatever_arm_it_would_get() {
    let definition = definition();
    let of = |definition: &ExperimentDefinition, workflow: &Workflow, taken: &[(String, Capability)]| {
        enrol(definition, &work(workflow, "unit-1"), taken).map(|_| ()).unwrap_err()
    };
    let choice = PolicyChoice { component: Some("/mine.wasm".to_owned()), ..PolicyChoice::default() };
    let mut narrow = Workflow::default();
    let layer = PolicyLayer { all: None, by_capability: [(Capability::Handoff, choice.clone())].into() };
    narrow.policies.phases.insert("10".into(), layer);
    assert!(matches!(
        of(&definition, &narrow, &[]),
        IneligibilityReason::NarrowerChoice { capability: Capability::Handoff, .. }
    ));
    // A choice for a capability that the arms do not decide does not exclude the run.
    let mut elsewhere = Workflow::default();
    let layer = PolicyLayer { all: None, by_capability: [(Capability::Compaction, choice)].into() };
    elsewhere.policies.phases.insert("10".into(), layer);
    assert!(enrol(&definition, &work(&elsewhere, "unit-1"), &[]).is_ok());

    let taken = [("earlier".to_owned(), Capability::Splitting)];
    assert!(matches!(
        of(&definition, &Workflow::default(), &taken),
        IneligibilityReason::DecidedByOther { .. }
    ));
    let mut other = definition.clone();
    other.versions[0].only.workflow = Some("nightly".to_owned());
    assert_eq!(of(&other, &Workflow::default(), &[]), IneligibilityReason::OtherWorkflow);
    let mut stopped = definition.clone();
    stopped.versions[0].state = VersionState::Stopped { at: UnixMs(2), why: "enough".to_owned() };
    assert_eq!(of(&stopped, &Workflow::default(), &[]), IneligibilityReason::NotRunning);
}

// M5
#[test]
fn an_arm_decides_in_the_whole_run_and_can_be_taken_off_again() {
    let mut definition = definition();
    definition.versions[0].arms[1].grants.fuel = Some(80_000_000);
    let version = &definition.versions[0];
    let mut workflow = Workflow::default();
    workflow.policies.layers.push(PolicyLayer {
        all: Some(PolicyChoice { component: Some("/mine.wasm".to_owned()), ..PolicyChoice::default() }),
        ..PolicyLayer::default()
    });
    let before = workflow.clone();
    workflow.policies.layers.push(layer(&definition, version, &version.arms[1], |_| None));
    let first = |capability| workflow.policies.candidates(&PolicyScope::Run, None, capability).remove(0);
    assert_eq!(first(Capability::Splitting).from.layer, ConfigLayer::Experiment);
    assert_eq!(first(Capability::Splitting).grants.fuel, Some(80_000_000), "an arm gets what it was granted");
    assert!(first(Capability::Splitting).component.contains(&version.arms[1].component.to_string()));
    assert_eq!(first(Capability::Compaction).component, "/mine.wasm");
    assert_eq!(strip_arms(workflow), before);
}

// M5
#[test]
fn another_arm_or_weight_is_another_version() {
    let version = definition().versions.remove(0);
    assert_eq!(version.differs_from(&version), None);
    let mut other = version.clone();
    other.arms[1].component = Digest::of("other");
    assert!(other.differs_from(&version).unwrap().contains("component of eager"));
    let mut other = version.clone();
    (other.arms[0].weight, other.arms[1].weight) = (0.2, 0.8);
    assert!(other.differs_from(&version).unwrap().contains("weight of control"));
    let mut other = version.clone();
    other.arms[1].grants.fuel = Some(80_000_000);
    assert!(other.differs_from(&version).unwrap().contains("eager was granted"));
    let mut other = version.clone();
    other.analysis.alpha = 0.01;
    assert!(other.differs_from(&version).unwrap().contains("alpha"));
    // Its start and its state do not count as differences.
    let later = ExperimentVersion { version: 2, started_at: UnixMs(9), ..version.clone() };
    assert_eq!(later.differs_from(&version), None);
}
