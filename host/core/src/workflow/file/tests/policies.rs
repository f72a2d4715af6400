//! `[policies]` of workflows, roles, phases, users and workspaces (M4, M6): the accepted settings, and the messages of refused
//! ones.

use super::{refused, with};
use crate::grants::Grants;
use crate::ids::{PhaseId, RoleName};
use crate::observation::Capability;
use crate::workflow::file::{parse, parse_policies_file, read};
use crate::workflow::{BUILTIN, ConfigLayer, PolicyChoice, PolicyScope, ResolvedChoice};

/// No file is there.
fn nothing(_: &str) -> Result<String, String> {
    Err("there is no such file".to_owned())
}

/// The error of the file of another layer.
fn refused_of(layer: ConfigLayer, text: &str) -> String {
    parse_policies_file(text, "layer.toml", "/home/ada", layer, &mut nothing)
        .expect_err("is refused")
        .to_string()
}

fn place(choice: &PolicyChoice) -> (ConfigLayer, &str, u32) {
    (choice.from.layer, choice.from.file.as_str(), choice.from.line)
}

#[test]
fn every_choice_knows_where_it_was_written() {
    // M4, M6
    let top = "[roles.executor]\nmax_turns = 9\n[roles.executor.policies]\nall = \"role.wasm\"\n\
               [policies]\nshadow = [\"next.wasm\", { component = \"other.wasm\", settings = { a = 1 } }]\n\
               watch = true\nbreaker = 5\ncompaction = \"oci://registry.example/team/compact:1\"\n\
               [policies.handoff]\ncomponent = \"own.wasm\"\n\
               grants = { artifacts = [\"reports/*\"], fuel = 80000000, memory_mib = 128 }\n\
               [policies.settings]\ncompact_at_percent = 75";
    let end = "[phases.policies]\nsplitting = { settings = { b = 2 } }\n[[phases]]\nid = \"short\"\n\
               policies = { all = \"builtin:resilience\" }\nobjectives = [{ id = \"o\", description = \"Do.\" }]";
    let policies = parse(&with(top, end), "w.toml", "/home/ada").unwrap().policies;

    let layer = &policies.layers[0];
    let all = layer.all.as_ref().unwrap();
    assert_eq!((all.component.as_deref(), place(all)), (None, (ConfigLayer::Workflow, "w.toml", 15)));
    let compaction = &layer.by_capability[&Capability::Compaction];
    assert_eq!(compaction.component.as_deref(), Some("oci://registry.example/team/compact:1"));
    assert_eq!(place(compaction).2, 11);
    let handoff = &layer.by_capability[&Capability::Handoff];
    assert_eq!((handoff.component.as_deref(), place(handoff).2), (Some("/home/ada/own.wasm"), 12));
    let grants =
        Grants { artifacts: vec!["reports/*".into()], fuel: Some(80_000_000), memory_mib: Some(128) };
    assert_eq!(handoff.grants, grants);

    let role = policies.roles[&RoleName::from("executor")].all.as_ref().unwrap();
    assert_eq!(
        (role.component.as_deref(), place(role)),
        (Some("/home/ada/role.wasm"), (ConfigLayer::Role, "w.toml", 6))
    );
    let build = &policies.phases[&PhaseId::from("build")].by_capability[&Capability::Splitting];
    assert_eq!((build.component.as_deref(), place(build)), (None, (ConfigLayer::Phase, "w.toml", 23)));
    let short = policies.phases[&PhaseId::from("short")].all.as_ref().unwrap();
    assert_eq!(
        (short.component.as_deref(), place(short)),
        (Some(BUILTIN), (ConfigLayer::Phase, "w.toml", 26))
    );

    assert_eq!((policies.watch, policies.breaker), (true, 5));
    let shadows: Vec<_> = policies.shadow.iter().map(|one| one.component.as_deref().unwrap()).collect();
    assert_eq!(shadows, ["/home/ada/next.wasm", "/home/ada/other.wasm"]);
    assert_eq!((policies.shadow[1].settings.len(), place(&policies.shadow[1]).2), (1, 8));

    // The phase lays its settings over the choice of its role.
    let scope = PolicyScope::Phase { phase: PhaseId::from("build") };
    let found = policies.candidates(&scope, Some(&RoleName::from("executor")), Capability::Splitting);
    assert_eq!(found[0].component, "/home/ada/role.wasm");
    assert_eq!(found[0].laid(|_, _| true).set_by["b"].layer, ConfigLayer::Phase);
}

#[test]
fn the_files_of_user_and_workspace_lie_beneath_the_workflow() {
    // M4
    let user = "[policies]\nall = \"mine.wasm\"\nbreaker = 7\n[trust]\nanything = { goes = [\"here\"] }";
    let user = parse_policies_file(
        user,
        "/home/ada/.config/baton/config.toml",
        "/home/ada/.config/baton",
        ConfigLayer::User,
        &mut nothing,
    );
    let workspace = "[policies.splitting]\ncomponent = \"tools/split.wasm\"\nsettings = { parts = 3 }";
    let workspace =
        parse_policies_file(workspace, "/w/baton.toml", "/w", ConfigLayer::Workspace, &mut nothing);
    let top = "[policies]\nsplitting = { settings = { parts = 4 } }";
    let reading = read(&with(top, ""), "w.toml", "/home/ada", &mut |_| Err(String::new())).unwrap();
    let policies = reading.over([user.unwrap(), workspace.unwrap()]).policies;
    assert_eq!(policies.breaker, 7);
    let found = policies.candidates(&PolicyScope::Run, None, Capability::Splitting);
    let found: Vec<_> =
        found.iter().map(|one| (one.component.as_str(), one.from.layer, one.from.line)).collect();
    assert_eq!(
        found,
        [
            ("/w/tools/split.wasm", ConfigLayer::Workspace, 1),
            ("/home/ada/.config/baton/mine.wasm", ConfigLayer::User, 2),
            (BUILTIN, ConfigLayer::BuiltIn, 0)
        ]
    );
    let split = &policies.candidates(&PolicyScope::Run, None, Capability::Splitting)[0];
    assert_eq!(split.laid(|_, _| true).set_by["parts"].file, "w.toml");
}

#[test]
fn an_empty_file_says_nothing() {
    let said =
        parse_policies_file("# later\n", "baton.toml", "/w", ConfigLayer::Workspace, &mut nothing).unwrap();
    assert_eq!(said, crate::workflow::PolicyLayerFile::default());
    parse_policies_file(
        "[policies]\nwatch = false",
        "baton.toml",
        "/w",
        ConfigLayer::Workspace,
        &mut nothing,
    )
    .unwrap();
}

#[test]
fn what_is_wrong_in_policies_is_named_with_its_line() {
    // M4, M6: first the mistakes that the schema covers, then the others.
    let top = "[policies]\nspliting = \"a.wasm\"\nbreaker = -1\nwatch = \"yes\"\nshadow = \"a.wasm\"\n\
               compaction = { component = \"a.wasm\", grant = { fuel = 1 } }\n\
               [policies.handoff]\ncomponent = \"a.wasm\"\n\
               grants = { fuel = 500_000_000, memory_mib = 300, artifacts = [\"\"], network = true }";
    let end = "[phases.policies]\nshadow = [\"a.wasm\"]\nhandof = \"a.wasm\"";
    insta::assert_snapshot!("policies_held_to_the_schema", refused(&with(top, end)));
    let top = "[roles.executor.policies]\nall = { }\nexhaustion = { grants = { fuel = 1 } }\n\
               [modes.eco.roles.executor]\npolicies = { all = \"a.wasm\" }\n\
               [policies]\nall = \"https://example.org/a.wasm\"\nhandoff = \"oci://registry.example\"\n\
               splitting = \"builtin:resilence\"\nshadow = [{ settings = { a = 1 } }, \"oci://host/a b:1\"]";
    let end = "[phases.policies]\nall = { settings = { a = 1 } }\nsettings = { a = 1 }";
    insta::assert_snapshot!("policies_checked", refused(&with(top, end)));
}

#[test]
fn what_a_workspace_may_not_say_is_refused_with_the_reason() {
    // M6: agents write in the workspace, and anyone may have made it.
    let text = "[policies]\nwatch = true\nhandoff = { component = \"a.wasm\", grants = { artifacts = [\"*\"] } }\n\
                [trust]\nkeys = []";
    insta::assert_snapshot!("policies_of_a_workspace", refused_of(ConfigLayer::Workspace, text));
    parse_policies_file(text, "config.toml", "/home/ada", ConfigLayer::User, &mut nothing).unwrap();
}

#[test]
fn a_mistake_in_the_file_of_a_layer_names_file_and_line() {
    // M4
    let text = "[polices]\nall = \"a.wasm\"\n";
    insta::assert_snapshot!("layer_unknown_table", refused_of(ConfigLayer::User, text));
    assert!(
        refused_of(ConfigLayer::User, "[policies]\nall = 3")
            .starts_with("layer.toml:2:7: `all` in [policies]")
    );
    assert!(refused_of(ConfigLayer::Workspace, "[policies").starts_with("layer.toml:1:"));
    let long = "#".repeat(super::FILE_BYTES_MAX + 1);
    assert!(refused_of(ConfigLayer::Workspace, &long).contains("a configuration may have"));
}

#[test]
fn a_list_of_policies_is_read_in_its_order() {
    // M4
    let top = "[policies]\nsplitting = [\"team.wasm\", { component = \"rules.wasm\", settings = { a = 1 } }, \"builtin:resilience\"]";
    let policies = parse(&with(top, ""), "w.toml", "/home/ada").unwrap().policies;
    let splitting = &policies.layers[0].by_capability[&Capability::Splitting];
    let named: Vec<_> = splitting.links().map(|link| link.component.as_deref().unwrap()).collect();
    assert_eq!(named, ["/home/ada/team.wasm", "/home/ada/rules.wasm", BUILTIN]);
    assert!(
        splitting.links().all(|link| place(link) == (ConfigLayer::Workflow, "w.toml", place(splitting).2))
    );
    assert_eq!(splitting.then[0].settings.len(), 1);
}

#[test]
fn a_list_that_is_no_chain_is_refused() {
    // M4
    let refusals = [
        "[policies]\nsplitting = []",
        "[policies]\nsplitting = [\"a.wasm\", \"b.wasm\", \"c.wasm\", \"d.wasm\", \"e.wasm\"]",
        "[policies]\nsplitting = [\"a.wasm\", { settings = { a = 1 } }]",
        "[policies]\nsplitting = [\"a.wasm\", \"a.wasm\"]",
        "[policies]\nshadow = [[\"a.wasm\", \"b.wasm\"]]",
        "[policies]\nall = { settings = { a = 1 } }\nsettings = { a = 1 }",
        "[policies]\nsplitting = [7]",
    ];
    let told = refusals.map(|top| refused(&with(top, "")));
    insta::assert_snapshot!("lists_that_are_no_chains", told.join("\n---\n"));
}

#[test]
fn settings_beside_all_are_read_apart_from_those_of_its_component() {
    // M4
    for (all, own) in [
        ("\"house.wasm\"", 0),
        ("[\"house.wasm\", \"builtin:resilience\"]", 0),
        ("{ component = \"house.wasm\", settings = { b = 2 } }", 1),
    ] {
        let top = format!("[policies]\nall = {all}\nsettings = {{ a = 1 }}");
        let policies = parse(&with(&top, ""), "w.toml", "/home/ada").unwrap().policies;
        let all = policies.layers[0].all.as_ref().unwrap();
        let for_chain = all.for_chain.as_deref().unwrap();
        assert_eq!((all.settings.len(), for_chain.settings.len()), (own, 1));
        assert_eq!(place(for_chain).2, place(all).2 + 1);
        let settings = |found: &ResolvedChoice| found.laid(|_, _| true).settings.len();
        let found = policies.candidates(&PolicyScope::Run, None, Capability::Compaction);
        assert_eq!(
            found.iter().map(settings).collect::<Vec<_>>(),
            [vec![1 + own], vec![1; found.len() - 1]].concat()
        );
    }
}
