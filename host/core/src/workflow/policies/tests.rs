//! Which layer wins, and what is laid over what (M4).

use super::*;

fn choice(component: Option<&str>, settings: &[(&str, i64)], layer: Layer) -> PolicyChoice {
    PolicyChoice {
        component: component.map(str::to_owned),
        settings: settings
            .iter()
            .map(|(key, n)| ((*key).to_owned(), SettingValue::Integer(*n).into()))
            .collect(),
        from: Origin { layer, ..Origin::default() },
        ..PolicyChoice::default()
    }
}

fn names(found: &[Candidate]) -> Vec<(&str, Layer)> {
    found.iter().map(|candidate| (candidate.component.as_str(), candidate.from.layer)).collect()
}

#[test]
fn the_closest_layer_is_asked_first_and_the_built_in_one_last() {
    // M4
    let split = PolicyLayer {
        all: Some(choice(Some("all.wasm"), &[], Layer::Workspace)),
        by_capability: [(Capability::Splitting, choice(Some("split.wasm"), &[], Layer::Workspace))].into(),
    };
    let user = PolicyLayer { all: Some(choice(Some("user.wasm"), &[], Layer::User)), ..Default::default() };
    let phase = PolicyLayer { all: Some(choice(Some("own.wasm"), &[], Layer::Phase)), ..Default::default() };
    let policies = Policies {
        layers: vec![user, split],
        phases: [(PhaseId::new("build"), phase)].into(),
        ..Policies::default()
    };
    let run = policies.candidates(&Scope::Run, None, Capability::Splitting);
    assert_eq!(
        names(&run),
        [
            ("split.wasm", Layer::Workspace),
            ("all.wasm", Layer::Workspace),
            ("user.wasm", Layer::User),
            (BUILTIN, Layer::BuiltIn),
        ]
    );
    assert!(run[0].explicit && !run[1].explicit);
    let build = Scope::Phase { phase: PhaseId::new("build") };
    assert_eq!(names(&policies.candidates(&build, None, Capability::Handoff))[0], ("own.wasm", Layer::Phase));
    assert_eq!(policies.scopes().collect::<Vec<_>>(), [Scope::Run, build]);
    assert_eq!(policies.references(), ["all.wasm", "own.wasm", "split.wasm", "user.wasm"]);
}

#[test]
fn settings_without_a_component_are_laid_over_what_is_chosen_below() {
    // M4
    let user = PolicyLayer {
        all: Some(choice(Some("user.wasm"), &[("a", 1), ("b", 1)], Layer::User)),
        ..Default::default()
    };
    let workflow =
        PolicyLayer { all: Some(choice(None, &[("b", 2)], Layer::Workflow)), ..Default::default() };
    let policies = Policies { layers: vec![user, workflow], ..Policies::default() };
    let found = policies.candidates(&Scope::Run, None, Capability::Handoff);
    let set: Vec<_> = found[0].settings.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    assert_eq!(set, [("a", SettingValue::Integer(1).into()), ("b", SettingValue::Integer(2).into())]);
    assert!(found[1].settings.is_empty(), "what stands for another component is not laid over this one");
    let layers: Vec<_> = found[0].set_by.values().map(|from| from.layer).collect();
    assert_eq!(layers, [Layer::User, Layer::Workflow]);
}

#[test]
fn an_edit_of_a_closer_layer_changes_the_list_of_a_farther_one() {
    // M4
    let edit = |add: &[&str], remove: &[&str]| {
        let list = |of: &[&str]| of.iter().map(|entry| (*entry).to_owned()).collect();
        GivenSetting::Edit(ListEdit::new(list(add), list(remove)))
    };
    let layer = |given| PolicyLayer {
        all: Some(PolicyChoice { settings: [("phrases".to_owned(), given)].into(), ..Default::default() }),
        ..Default::default()
    };
    let layers = vec![layer(edit(&["x", "y"], &["a"])), layer(edit(&["z"], &["x"]))];
    let policies = Policies { layers, ..Policies::default() };
    let found = policies.candidates(&Scope::Run, None, Capability::Handoff);
    let Some(GivenSetting::Edit(both)) = found[0].settings.get("phrases") else { panic!("{found:?}") };
    let list: Vec<String> = ["a", "b"].map(str::to_owned).into();
    assert_eq!(both.apply(&list), ["b", "y", "z"]);
    assert_eq!(both.missing(&list).count(), 0, "x was the farther layer's own");
}

#[test]
fn settings_for_all_leave_alone_what_was_named_for_one_decision() {
    // M4
    let split = choice(Some("split.wasm"), &[], Layer::User);
    let user = PolicyLayer { all: None, by_capability: [(Capability::Splitting, split)].into() };
    let workflow =
        PolicyLayer { all: Some(choice(None, &[("b", 2)], Layer::Workflow)), ..Default::default() };
    let one = choice(None, &[("c", 3)], Layer::Phase);
    let phase = PolicyLayer { all: None, by_capability: [(Capability::Splitting, one)].into() };
    let policies = Policies {
        layers: vec![user, workflow],
        phases: [(PhaseId::new("build"), phase)].into(),
        ..Policies::default()
    };
    let set = |scope: &Scope| -> Vec<Vec<String>> {
        let found = policies.candidates(scope, None, Capability::Splitting);
        found.into_iter().map(|candidate| candidate.settings.into_keys().collect()).collect()
    };
    assert_eq!(set(&Scope::Run), [vec![], vec!["b".to_owned()]]);
    assert_eq!(set(&Scope::Phase { phase: PhaseId::new("build") }), [["c"], ["b"]]);
}

#[test]
fn what_holds_once_for_a_run_is_the_closest_word() {
    // M4
    let mut policies = Policies::default();
    let shadow = Some(vec![choice(Some("next.wasm"), &[], Layer::User)]);
    let user = PoliciesSaid { shadow, watch: Some(true), breaker: Some(5), ..Default::default() };
    let workspace = PoliciesSaid { breaker: Some(0), ..Default::default() };
    let workflow = PoliciesSaid { watch: Some(false), ..Default::default() };
    policies.lay([user.clone(), workspace, workflow]);
    assert_eq!((policies.shadow.len(), policies.watch, policies.breaker), (1, false, 0));
    assert!(policies.layers.is_empty(), "a file that names nobody is no layer");
    policies.lay([PoliciesSaid { shadow: Some(Vec::new()), ..Default::default() }]);
    assert!(policies.shadow.is_empty(), "none is a word as well");
    let moved = |line| {
        let mut said = user.clone();
        said.shadow.iter_mut().flatten().for_each(|choice| choice.from.line = line);
        let mut policies = Policies::default();
        policies.lay([said]);
        policies
    };
    assert_ne!(moved(1), moved(2));
    assert_eq!(moved(1).without_places(), moved(2).without_places());
}

#[test]
fn a_list_is_asked_in_its_order_before_what_is_farther_away() {
    // M4
    let user = PolicyLayer { all: Some(choice(None, &[("a", 1)], Layer::User)), ..Default::default() };
    let mut split = choice(Some("team.wasm"), &[("b", 2)], Layer::Workflow);
    split.then = vec![
        choice(Some("rules.wasm"), &[("c", 3)], Layer::Workflow),
        choice(Some(BUILTIN), &[], Layer::Workflow),
    ];
    let workflow = PolicyLayer {
        all: Some(choice(Some("other.wasm"), &[], Layer::Workflow)),
        by_capability: [(Capability::Splitting, split)].into(),
    };
    let policies = Policies { layers: vec![user, workflow], ..Policies::default() };
    let found = policies.candidates(&Scope::Run, None, Capability::Splitting);
    let names: Vec<&str> = found.iter().map(|candidate| candidate.component.as_str()).collect();
    assert_eq!(names, ["team.wasm", "rules.wasm", BUILTIN, "other.wasm", BUILTIN]);
    let set: Vec<Vec<&str>> =
        found.iter().map(|candidate| candidate.settings.keys().map(String::as_str).collect()).collect();
    // What the user set for the built-in policy stays set for it, in the list as behind it.
    assert_eq!(set, [vec!["b"], vec!["c"], vec!["a"], vec![], vec!["a"]]);
    assert_eq!(found[2].set_by["a"].layer, Layer::User);
    assert_eq!(policies.references(), [BUILTIN, "other.wasm", "rules.wasm", "team.wasm"]);
}
