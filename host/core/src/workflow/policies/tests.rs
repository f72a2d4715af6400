//! The precedence of layers, and how settings are laid over each other (M4).

use super::*;

fn choice(component: Option<&str>, settings: &[(&str, i64)], layer: ConfigLayer) -> PolicyChoice {
    PolicyChoice {
        component: component.map(str::to_owned),
        settings: settings
            .iter()
            .map(|(key, n)| ((*key).to_owned(), SettingValue::Integer(*n).into()))
            .collect(),
        from: ConfigSource { layer, ..ConfigSource::default() },
        ..PolicyChoice::default()
    }
}

/// The settings of a candidate whose policy has these keys.
fn laid(candidate: &ResolvedChoice, has: &[&str]) -> EffectiveSettings {
    candidate.laid(|key, _| has.contains(&key))
}

fn names(found: &[ResolvedChoice]) -> Vec<(&str, ConfigLayer)> {
    found.iter().map(|candidate| (candidate.component.as_str(), candidate.from.layer)).collect()
}

#[test]
fn the_closest_layer_is_asked_first_and_the_built_in_one_last() {
    // M4
    let split = PolicyLayer {
        all: Some(choice(Some("all.wasm"), &[], ConfigLayer::Workspace)),
        by_capability: [(Capability::Splitting, choice(Some("split.wasm"), &[], ConfigLayer::Workspace))]
            .into(),
    };
    let user =
        PolicyLayer { all: Some(choice(Some("user.wasm"), &[], ConfigLayer::User)), ..Default::default() };
    let phase =
        PolicyLayer { all: Some(choice(Some("own.wasm"), &[], ConfigLayer::Phase)), ..Default::default() };
    let policies = Policies {
        layers: vec![user, split],
        phases: [(PhaseId::new("build"), phase)].into(),
        ..Policies::default()
    };
    let run = policies.candidates(&PolicyScope::Run, None, Capability::Splitting);
    assert_eq!(
        names(&run),
        [
            ("split.wasm", ConfigLayer::Workspace),
            ("all.wasm", ConfigLayer::Workspace),
            ("user.wasm", ConfigLayer::User),
            (BUILTIN, ConfigLayer::BuiltIn),
        ]
    );
    assert!(run[0].explicit && !run[1].explicit);
    let build = PolicyScope::Phase { phase: PhaseId::new("build") };
    assert_eq!(
        names(&policies.candidates(&build, None, Capability::Handoff))[0],
        ("own.wasm", ConfigLayer::Phase)
    );
    assert_eq!(policies.scopes().collect::<Vec<_>>(), [PolicyScope::Run, build]);
    assert_eq!(policies.references(), ["all.wasm", "own.wasm", "split.wasm", "user.wasm"]);
}

#[test]
fn settings_without_a_component_are_laid_over_what_is_chosen_below() {
    // M4
    let user = PolicyLayer {
        all: Some(choice(Some("user.wasm"), &[("a", 1), ("b", 1)], ConfigLayer::User)),
        ..Default::default()
    };
    let workflow =
        PolicyLayer { all: Some(choice(None, &[("b", 2)], ConfigLayer::Workflow)), ..Default::default() };
    let policies = Policies { layers: vec![user, workflow], ..Policies::default() };
    let found = policies.candidates(&PolicyScope::Run, None, Capability::Handoff);
    let EffectiveSettings { settings, set_by } = laid(&found[0], &["a", "b"]);
    let set: Vec<_> = settings.into_iter().collect();
    let number = |n| GivenSetting::from(SettingValue::Integer(n));
    assert_eq!(set, [("a".to_owned(), number(1)), ("b".to_owned(), number(2))]);
    let layers: Vec<_> = set_by.values().map(|from| from.layer).collect();
    assert_eq!(layers, [ConfigLayer::User, ConfigLayer::Workflow]);
    assert_eq!(laid(&found[1], &["b"]).settings, [("b".to_owned(), number(2))].into());
    let own = laid(&found[0], &["a"]).settings;
    assert_eq!(own["b"], number(1), "what a policy does not have is for another one of the chain");
    assert!(laid(&found[1], &["a"]).settings.is_empty(), "what stands beside a component is for it alone");
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
    let found = policies.candidates(&PolicyScope::Run, None, Capability::Handoff);
    let set = laid(&found[0], &["phrases"]).settings;
    let Some(GivenSetting::Edit(both)) = set.get("phrases") else { panic!("{found:?}") };
    let list: Vec<String> = ["a", "b"].map(str::to_owned).into();
    assert_eq!(both.apply(&list), ["b", "y", "z"]);
    assert_eq!(both.missing(&list).count(), 0, "x was the farther layer's own");
}

#[test]
fn settings_for_all_leave_alone_what_was_named_for_one_decision() {
    // M4
    let split = choice(Some("split.wasm"), &[], ConfigLayer::User);
    let user = PolicyLayer { all: None, by_capability: [(Capability::Splitting, split)].into() };
    let workflow =
        PolicyLayer { all: Some(choice(None, &[("b", 2)], ConfigLayer::Workflow)), ..Default::default() };
    let one = choice(None, &[("c", 3)], ConfigLayer::Phase);
    let phase = PolicyLayer { all: None, by_capability: [(Capability::Splitting, one)].into() };
    let policies = Policies {
        layers: vec![user, workflow],
        phases: [(PhaseId::new("build"), phase)].into(),
        ..Policies::default()
    };
    let set = |scope: &PolicyScope| -> Vec<Vec<String>> {
        let found = policies.candidates(scope, None, Capability::Splitting);
        let keys = |candidate| laid(&candidate, &["b", "c"]).settings.into_keys().collect();
        found.into_iter().map(keys).collect()
    };
    assert_eq!(set(&PolicyScope::Run), [vec![], vec!["b".to_owned()]]);
    assert_eq!(set(&PolicyScope::Phase { phase: PhaseId::new("build") }), [vec!["c"], vec!["b", "c"]]);
}

#[test]
fn what_holds_once_for_a_run_is_the_closest_word() {
    // M4
    let mut policies = Policies::default();
    let shadow = Some(vec![choice(Some("next.wasm"), &[], ConfigLayer::User)]);
    let user = PolicyLayerFile { shadow, watch: Some(true), breaker: Some(5), ..Default::default() };
    let workspace = PolicyLayerFile { breaker: Some(0), ..Default::default() };
    let workflow = PolicyLayerFile { watch: Some(false), ..Default::default() };
    policies.lay([user.clone(), workspace, workflow]);
    assert_eq!((policies.shadow.len(), policies.watch, policies.breaker), (1, false, 0));
    assert!(policies.layers.is_empty(), "a file that names nobody is no layer");
    policies.lay([PolicyLayerFile { shadow: Some(Vec::new()), ..Default::default() }]);
    assert!(policies.shadow.is_empty(), "none is a word as well");
    let moved = |line| {
        let mut said = user.clone();
        said.shadow.iter_mut().flatten().for_each(|choice| choice.from.line = line);
        let mut policies = Policies::default();
        policies.lay([said]);
        policies
    };
    assert_ne!(moved(1), moved(2));
    assert_eq!(moved(1).without_sources(), moved(2).without_sources());
}

#[test]
fn a_list_is_asked_in_its_order_before_what_is_farther_away() {
    // M4
    let user = PolicyLayer { all: Some(choice(None, &[("a", 1)], ConfigLayer::User)), ..Default::default() };
    let mut split = choice(Some("team.wasm"), &[("b", 2)], ConfigLayer::Workflow);
    split.then = vec![
        choice(Some("rules.wasm"), &[("c", 3)], ConfigLayer::Workflow),
        choice(Some(BUILTIN), &[], ConfigLayer::Workflow),
    ];
    let workflow = PolicyLayer {
        all: Some(choice(Some("other.wasm"), &[], ConfigLayer::Workflow)),
        by_capability: [(Capability::Splitting, split)].into(),
    };
    let policies = Policies { layers: vec![user, workflow], ..Policies::default() };
    let found = policies.candidates(&PolicyScope::Run, None, Capability::Splitting);
    let names: Vec<&str> = found.iter().map(|candidate| candidate.component.as_str()).collect();
    assert_eq!(names, ["team.wasm", "rules.wasm", BUILTIN, "other.wasm", BUILTIN]);
    let set: Vec<Vec<String>> =
        found.iter().map(|candidate| laid(candidate, &["a"]).settings.into_keys().collect()).collect();
    // The user's settings for the built-in policy hold for it both in the list and after it.
    assert_eq!(set, [vec!["b"], vec!["c"], vec!["a"], vec![], vec!["a"]]);
    assert_eq!(laid(&found[2], &["a"]).set_by["a"].layer, ConfigLayer::User);
    assert_eq!(policies.references(), [BUILTIN, "other.wasm", "rules.wasm", "team.wasm"]);
}

#[test]
fn a_choice_over_the_same_component_lays_its_settings_over_those_of_farther_layers() {
    // M5
    let user = PolicyLayer {
        all: Some(choice(Some("mine.wasm"), &[("a", 1)], ConfigLayer::User)),
        ..Default::default()
    };
    let bare = PolicyLayer {
        all: Some(choice(None, &[("b", 2), ("c", 2)], ConfigLayer::Workflow)),
        ..Default::default()
    };
    let mut arm = choice(Some("experiment:x/control@1"), &[("c", 3)], ConfigLayer::Experiment);
    arm.over = Some("mine.wasm".to_owned());
    let arm = PolicyLayer { all: None, by_capability: [(Capability::Splitting, arm)].into() };
    let policies = Policies { layers: vec![user, bare, arm], ..Policies::default() };
    let found = policies.candidates(&PolicyScope::Run, None, Capability::Splitting);
    assert_eq!(found[0].component, "experiment:x/control@1");
    let EffectiveSettings { settings, set_by } = laid(&found[0], &["a", "b", "c"]);
    let set: Vec<_> = settings.into_iter().zip(set_by.into_values().map(|from| from.layer)).collect();
    let number = |key: &str, n| (key.to_owned(), GivenSetting::from(SettingValue::Integer(n)));
    assert_eq!(
        set,
        [
            (number("a", 1), ConfigLayer::User),
            (number("b", 2), ConfigLayer::Workflow),
            (number("c", 3), ConfigLayer::Experiment)
        ]
    );
}

#[test]
fn settings_beside_all_reach_its_list_and_what_is_farther_away() {
    // M4
    let user = PolicyLayer {
        all: Some(choice(Some("user.wasm"), &[("a", 1)], ConfigLayer::User)),
        by_capability: [(Capability::Review, choice(Some("review.wasm"), &[], ConfigLayer::User))].into(),
    };
    let mut all = choice(Some("house.wasm"), &[("b", 2)], ConfigLayer::Workflow);
    all.then = vec![choice(Some("next.wasm"), &[], ConfigLayer::Workflow)];
    all.for_chain = Some(Box::new(choice(None, &[("a", 9), ("b", 9)], ConfigLayer::Workflow)));
    let workflow = PolicyLayer {
        all: Some(all),
        by_capability: [(Capability::Splitting, choice(Some("split.wasm"), &[], ConfigLayer::Workflow))]
            .into(),
    };
    let policies = Policies { layers: vec![user, workflow], ..Policies::default() };
    let number = |n| GivenSetting::from(SettingValue::Integer(n));
    let set = |capability| -> Vec<(String, Vec<GivenSetting>)> {
        let found = policies.candidates(&PolicyScope::Run, None, capability);
        let set = |one: &ResolvedChoice| laid(one, &["a", "b"]).settings.into_values().collect();
        found.iter().map(|one| (one.component.clone(), set(one))).collect()
    };
    let of = |component: &str, a, b| (component.to_owned(), vec![number(a), number(b)]);
    // The settings of a component in a list are closer to it.
    let for_all = [of("house.wasm", 9, 2), of("next.wasm", 9, 9), of("user.wasm", 9, 9), of(BUILTIN, 9, 9)];
    assert_eq!(set(Capability::Compaction), for_all);
    let named = |component: &str| (component.to_owned(), Vec::new());
    assert_eq!(set(Capability::Splitting), [&[named("split.wasm")], &for_all[..]].concat());
    assert_eq!(set(Capability::Review)[2], named("review.wasm"), "it was named for one decision");
    assert_eq!(policies.references(), ["house.wasm", "next.wasm", "review.wasm", "split.wasm", "user.wasm"]);
    let json = serde_json::to_string(&policies).unwrap();
    assert_eq!(serde_json::from_str::<Policies>(&json).unwrap(), policies);
}
