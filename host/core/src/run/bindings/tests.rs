//! Which policy is bound after faults, switches and steps back.

use super::*;
use crate::decision::Fault;

fn binding(policy: &str) -> PolicyBinding {
    PolicyBinding {
        capability: Capability::Splitting,
        policy: policy.to_owned(),
        component: Digest::of(policy),
        settings: Digest::of("{}"),
        scope: PolicyScope::Run,
        wants: Default::default(),
        grants: Default::default(),
        from: Default::default(),
        then: Vec::new(),
    }
}

fn replaced(table: &BindingTable) -> Vec<&str> {
    let binding_state = &table.by_scope[&(PolicyScope::Run, Capability::Splitting)];
    binding_state.replaced.iter().map(|replaced| replaced.binding.policy.as_str()).collect()
}

#[test]
fn a_policy_that_answers_at_every_turn_and_fails_at_every_end_is_counted_as_failing() {
    // M3
    let mut table = BindingTable::from_bindings(&[binding("a")], &Workflow::default());
    let binding_state = table.by_scope.get_mut(&(PolicyScope::Run, Capability::Splitting)).unwrap();
    let label = |failed: bool| {
        let fault = FaultRecord {
            by: DecisionSource::Configured,
            policy: "a".to_owned(),
            component: Digest::of("a"),
            settings: None,
            fault: Fault::OutOfFuel { limit: 1 },
            fuel: None,
            artifacts: BTreeMap::new(),
            nested: Vec::new(),
        };
        Provenance {
            by: if failed { DecisionSource::BuiltIn } else { DecisionSource::Configured },
            capability: Capability::Splitting,
            policy: "a".to_owned(),
            component: (!failed).then(|| Digest::of("a")),
            settings: None,
            engine: Digest::of("engine"),
            fuel: 1,
            duration_us: 1,
            artifacts: BTreeMap::new(),
            faults: if failed { vec![fault] } else { Vec::new() },
            abstained: Vec::new(),
            nested: Vec::new(),
        }
    };
    let mut broke =
        |failed, is_at_work| binding_state.count(&label(failed), is_at_work, 3).map(|(times, _)| times);
    for _ in 0..2 {
        assert_eq!(broke(false, true), None);
        assert_eq!(broke(true, false), None);
    }
    assert_eq!(broke(false, true), None);
    assert_eq!(broke(true, false), Some(3));
    // A decision of the same kind sets the count of that kind back.
    assert_eq!(broke(false, false), None);
    assert_eq!(broke(true, true), None);
    assert_eq!(broke(true, false), None);
    assert_eq!(broke(true, true), Some(3), "three in a row of whatever kind");
}

#[test]
fn every_step_of_a_person_stands_behind_and_the_first_one_stays() {
    // M3
    let workflow = Workflow::default();
    let mut table = BindingTable::from_bindings(&[binding("built-in"), binding("a")], &workflow);
    let back = |table: &BindingTable| {
        table.back(&PolicyScope::Run, Capability::Splitting, &workflow).map(|binding| binding.policy)
    };
    assert_eq!(replaced(&table), ["built-in"]);
    assert_eq!(back(&table), None, "nobody put it in place");
    for policy in ["b", "c", "b"] {
        table.put(&binding(policy), &workflow);
    }
    assert_eq!(replaced(&table), ["built-in", "a", "b", "c"]);
    for policy in ["c", "b", "a"] {
        assert_eq!(back(&table).as_deref(), Some(policy));
        table.roll_back(&binding(policy), &workflow);
    }
    assert_eq!(back(&table), None);
    for n in 0..20 {
        table.put(&binding(&n.to_string()), &workflow);
    }
    assert_eq!(replaced(&table), ["built-in", "a", "13", "14", "15", "16", "17", "18"]);
}
