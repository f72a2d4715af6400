//! What `baton policy which` shows, in full.

use super::*;

fn at(layer: ConfigLayer, file: &str, line: u32) -> ConfigSource {
    ConfigSource { layer, file: file.to_owned(), line }
}

fn stands(policy: &str, from: ConfigSource) -> FallbackPolicy {
    FallbackPolicy { policy: policy.to_owned(), component: Digest::of(policy), from }
}

fn decides(policy: &str, from: ConfigSource) -> DecidingPolicy {
    DecidingPolicy {
        policy: policy.to_owned(),
        component: Digest::of(policy),
        bytes: Some(338_412),
        from,
        set: Vec::new(),
        asked: RequestedGrants::default(),
        granted: Grants::default(),
        asks_next: Vec::new(),
    }
}

fn which(of: WhichSubject) -> WhichReport {
    let run = |capability, decides, replaced| EffectiveBinding {
        scope: PolicyScope::Run,
        capability,
        decides,
        then: Vec::new(),
        replaced,
        faults_in_row: 0,
    };
    let built_in = || decides("resilience", ConfigSource::default());
    let user = || at(ConfigLayer::User, "/home/ada/.config/baton/config.toml", 2);
    let mut compaction = built_in();
    compaction.set = vec![ChangedSetting {
        key: "compact-at-percent".into(),
        value: SettingValue::Integer(75),
        default: SettingValue::Integer(70),
        from: at(ConfigLayer::Workflow, "flow.toml", 9),
    }];
    let mut reader = decides("reader", at(ConfigLayer::Phase, "flow.toml", 21));
    reader.asked =
        RequestedGrants { artifacts: vec!["reports/*".into()], fuel: Some(80_000_000), memory_mib: None };
    reader.granted = Grants { artifacts: vec!["reports/*".into()], ..Grants::default() };
    let replaced = || vec![stands("resilience", ConfigSource::default())];
    let phase = PolicyScope::Phase { phase: "build".into() };
    let drawn = || "experiment late: a run gets one of control 50 %, late 50 %".to_owned();
    let experiments = if matches!(of, WhichSubject::Workflow { .. }) { vec![drawn()] } else { Vec::new() };
    WhichReport {
        of,
        files: vec![
            (ConfigLayer::User, "/home/ada/.config/baton/config.toml".into(), true),
            (ConfigLayer::Workspace, "/home/ada/app/baton.toml".into(), false),
        ],
        bindings: vec![
            run(Capability::Exhaustion, built_in(), Vec::new()),
            run(Capability::Compaction, compaction.clone(), replaced()),
            EffectiveBinding {
                then: vec![
                    decides("house-rules", user()),
                    DecidingPolicy { set: compaction.set.clone(), ..built_in() },
                ],
                ..run(Capability::Splitting, decides("eager-split", user()), replaced())
            },
            run(Capability::Handoff, built_in(), Vec::new()),
            EffectiveBinding {
                scope: phase,
                faults_in_row: 2,
                ..run(Capability::Handoff, reader, Vec::new())
            },
        ],
        shadows: vec![EffectiveBinding {
            scope: PolicyScope::Shadow { policy: "next".into() },
            ..run(
                Capability::Splitting,
                decides("next", at(ConfigLayer::Workflow, "flow.toml", 12)),
                Vec::new(),
            )
        }],
        watch: true,
        breaker: 3,
        experiments,
    }
}

#[test]
fn what_decides_is_shown_with_the_file_that_says_so() {
    // M4, M6
    let file = || WhichSubject::Workflow { name: "flow".into(), file: "flow.toml".into() };
    insta::assert_snapshot!("which", which(file()).text(&TerminalStyle::bare(100)));
    insta::assert_json_snapshot!("which_json", which(file()).json());
    let mut now = which(WhichSubject::Run { run: RunId::new("20260212-103000"), workflow: "flow".into() });
    (now.files, now.shadows, now.watch, now.breaker) = (Vec::new(), Vec::new(), false, 0);
    insta::assert_snapshot!("which_run", now.text(&TerminalStyle::bare(100)));
}

#[test]
fn of_two_pins_for_a_seat_the_later_decides() {
    // M3
    use crate::render::test_samples::binding;
    let build = || PolicyScope::Phase { phase: "build".into() };
    let bindings = [
        binding("resilience", Capability::Handoff, PolicyScope::Run),
        binding("mine", Capability::Handoff, PolicyScope::Run),
        binding("resilience", Capability::Splitting, PolicyScope::Run),
        binding("other", Capability::Handoff, build()),
    ];
    let names: Vec<_> = in_place(&bindings).into_iter().map(|binding| binding.policy.as_str()).collect();
    assert_eq!(names, ["mine", "resilience", "other"]);
}

#[test]
fn a_list_that_was_edited_is_shown_by_what_was_added_and_taken_out() {
    let texts = |list: &[&str]| SettingValue::Texts(list.iter().map(|text| (*text).to_owned()).collect());
    let default = texts(&["a", "b", "c"]);
    let found = edited(&texts(&["a", "c", "my tank is empty"]), &default);
    assert_eq!(found, Some((r#"+ "my tank is empty" - "b""#.to_owned(), 3)));
    assert_eq!(edited(&texts(&["x"]), &default), None, "another list is shown whole");
    assert_eq!(edited(&texts(&["x"]), &texts(&[])), None);
    assert_eq!(edited(&SettingValue::Integer(1), &SettingValue::Integer(2)), None);
}

#[test]
fn settings_of_a_policy_that_stands_twice_behind_another_say_which_one_is_meant() {
    // M4
    let mut which = which(WhichSubject::Everything);
    let set = which.bindings[1].decides.set.clone();
    which.bindings.retain(|binding| binding.decides.policy == "eager-split");
    let workflow = DecidingPolicy {
        set: set.clone(),
        ..decides("resilience", at(ConfigLayer::Workflow, "flow.toml", 9))
    };
    which.bindings[0].then =
        vec![workflow, DecidingPolicy { set, ..decides("resilience", ConfigSource::default()) }];
    let text = which.text(&TerminalStyle::bare(100));
    for whose in [
        "  resilience (workflow): compact-at-percent = 75",
        "  resilience (built in): compact-at-percent = 75",
    ] {
        assert!(text.contains(whose), "{text}");
    }
}
