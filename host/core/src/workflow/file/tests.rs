//! Invalid workflow files, one per test, and valid ones. Each message is compared in full, as people read it.

mod forms;
mod modes;
mod phases;
mod policies;
mod rules;

use super::*;
use crate::time::DurationMs;
use crate::workflow::{AgentKind, GivenSetting, ListEdit, Mode, Permission, SettingValue, WorkspaceChoice};

/// The smallest workflow, with more keys at the top level and more lines at the end.
fn with(top: &str, end: &str) -> String {
    format!(
        "name = \"demo\"\ngoal = \"Show.\"\n{top}\n[[phases]]\nid = \"build\"\n[[phases.objectives]]\n\
         id = \"parser\"\ndescription = \"Write it.\"\n{end}\n"
    )
}

fn refused(text: &str) -> String {
    parse(text, "w.toml", "/home/ada").expect_err("is refused").to_string()
}

#[test]
fn paths_between_backticks_of_a_sentence_are_its_files() {
    // A2: as for the box of a plan.
    let text = "[[phases]]\ntitle = \"A\"\ndo = [\"Write `src/b.txt` like `a.rs`\", \"Test\"]\n";
    let workflow = parse(text, "w.toml", "/home/ada").unwrap();
    let files: Vec<&[String]> =
        workflow.phases[0].objectives.iter().map(|one| one.files.as_slice()).collect();
    assert_eq!(files, [&["src/b.txt".to_owned()][..], &[]]);
}

#[test]
fn the_smallest_workflow_gets_the_defaults() {
    let workflow = parse(&with("", ""), "w.toml", "/home/ada").unwrap();
    assert_eq!(workflow.mode, Mode::Standard);
    assert_eq!(workflow.limits, crate::workflow::RunLimits::default());
    assert_eq!(workflow.policies, crate::workflow::Policies::default());
    assert_eq!(workflow.workspace, None);
    let role = &workflow.roles[&"executor".into()];
    assert_eq!((&role.agent, role.permission), (&AgentKind::Rehearsal, Permission::Edit));
    let phase = &workflow.phases[0];
    assert_eq!((phase.title.as_str(), phase.role.as_str()), ("build", "executor"));
}

#[test]
fn every_key_arrives_in_the_model() {
    let text = r#"
name = "whole"
goal = "Everything at once."
mode = "thorough"
agent = "claude"
workspace = "scratch"
review_parts = false
commit = "objective"
commit_branch = "work/{run}"

[roles.executor]
model = "a-model"
permission = "full"
window_tokens = 200_000
max_turns = 40
env = ["MY_TOKEN"]
program = "bin/claude"
args = ["--verbose"]

[roles.reviewer]
agent = "acp:bin/agent 'two words'"

[roles.typist]
agent = "process:typist"
pty = true
prompt = "argument"

[roles.rehearser]
agent = "rehearsal"
script = "scripts/play.toml"

[limits]
wall_time = "30m"
tokens = 2_000_000
cost_usd = 2.5
continuations = 5
retries = 1
nudges = 0
verifications = 4
parallel = 1
split_depth = 0
split_fan_out = 6
heartbeat = "100ms"
backoff = "0s"

[policies]
all = "builtin:resilience"
settings = { compact_at_percent = 75, phrases = ["full"], strict = true, share = 0.5, tone = "dry" }
exhaustion = { component = "mine.wasm", settings = { patience = 3 } }

[[phases]]
id = "survey"
objectives = [{ id = "inventory", description = " Look. ", files = ["notes/inventory.md"] }]

[[phases]]
id = "build"
title = "Build it"
depends_on = ["survey"]
role = "rehearser"
verify = "sh tests/run.sh"
complex = true
split = "ahead"
wall_time = "90s"
tokens = 1000
cost_usd = 1
continuations = 0
[[phases.objectives]]
id = "parser"
description = "Write it."

[[phases]]
id = "look"
role = "reviewer"
agent = "codex"
objectives = [{ id = "review", description = "Review it." }]
"#;
    insta::assert_json_snapshot!(parse(text, "w.toml", "/home/ada").unwrap());
}

// C15
#[test]
fn templates_of_paths_are_refused_with_their_line_and_what_to_write() {
    let refused = |line: &str| refused(&with(&format!("[paths]\n{line}"), ""));
    let says = |line: &str, parts: &[&str]| {
        let message = refused(line);
        assert!(message.starts_with("w.toml:4:"), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
    };
    says("folder = \"specs/{rum}\"", &["there is no {rum}", "did you mean `run`?"]);
    says("folder = \"/srv/x\"", &["`folder` in [paths]", "absolute"]);
    says("folder = \"../x\"", &["`..`", "the workspace"]);
    says("folder = \".git/x\"", &["belongs to git"]);
    says("folder = \".\"", &["empty part or a `.`"]);
    says("folder = \"specs/{phase}\"", &["{phase} has no value there", "{run}, {workflow}, {slug}"]);
    says("handoff = \"handoffs/{timestamp}.md\"", &["two phases would write to the same file", "{phase}"]);
    says("results = \"results.md\"", &["two phases", "{phase}"]);
    says("handoff = \"h/{phase\"", &["a brace stands alone"]);
    says("index = \"progress.json\"", &["`progress.json`, which Baton fills itself"]);
    says("index = \"inbox/x.md\"", &["`inbox`, which Baton fills itself"]);
    says("summary = \"../{phase}.md\"", &["`..`", "the task folder"]);
    says(
        "summary = \"phases/phase-{phase}-results.md\"",
        &["`results` in [paths] is the same file as `summary`"],
    );
    says("handoff = \"a\\tb-{phase}\"", &["no file name should have"]);
    says("fodler = \"x\"", &["unknown key `fodler`", "did you mean `folder`?"]);
}

#[test]
fn paths_and_setup_arrive_and_the_default_says_nothing() {
    let top =
        "setup = [\"npm ci\"]\n[paths]\nfolder = \"specs/{slug}\"\nhandoff = \"h/{phase}-{ordinal}.md\"";
    let workflow = parse(&with(top, ""), "w.toml", "/home/ada").unwrap();
    assert_eq!(workflow.setup, ["npm ci"]);
    assert_eq!(workflow.paths.folder, "specs/{slug}");
    assert_eq!(workflow.paths.handoff, "h/{phase}-{ordinal}.md");
    assert_eq!(workflow.paths.index, "index.md");
    let plain = serde_json::to_value(parse(&with("", ""), "w.toml", "/home/ada").unwrap()).unwrap();
    assert!(plain.get("paths").is_none() && plain.get("setup").is_none(), "journals of before read the same");
}

#[test]
fn an_agent_says_where_it_is_named() {
    let found = parse(&with("", ""), "w.toml", "/").unwrap().with_detected_agent(&AgentKind::Claude);
    assert_eq!(
        found.agent_origin(&found.phases[0]),
        "Baton, which chose claude because it is installed; `--agent NAME` takes another"
    );
    assert_eq!(
        found.agent_choice(&found.phases[0]),
        "Baton chose claude because it is installed; `--agent NAME` takes another."
    );
    let place = |top: &str, phase: usize| {
        let workflow = parse(&with(top, "[[phases]]\nid = \"two\"\nagent = \"codex\"\nobjectives = [{ id = \"x\", description = \"x\" }]"), "w.toml", "/").unwrap();
        let named = workflow.agent_origin(&workflow.phases[phase]);
        let changed = workflow.with_agent("acp:other".parse().unwrap());
        assert_eq!(changed.agent_origin(&changed.phases[phase]), "`--agent` on the command line");
        named
    };
    assert_eq!(place("agent = \"claude\"", 0), "`agent` at the top level of the workflow");
    assert_eq!(place("[roles.executor]\nagent = \"claude\"", 0), "`agent` in [roles.executor]");
    assert_eq!(place("", 1), "`agent` of phase `two`");
    assert!(place("", 0).contains("default"));
}

#[test]
fn another_agent_takes_every_role_and_leaves_what_was_meant_for_the_first() {
    let top = "[roles.executor]\nscript = \"play.toml\"\nwindow_tokens = 8000\nenv = [\"MY_TOKEN\"]";
    let workflow = parse(&with(top, ""), "w.toml", "/home/ada").unwrap();
    let same = workflow.clone().with_agent(AgentKind::Rehearsal);
    assert_eq!(same, workflow);
    let other = workflow.with_agent(AgentKind::Claude);
    let role = &other.roles[&"executor".into()];
    assert_eq!(role.agent, AgentKind::Claude);
    assert_eq!((&role.script, role.window_tokens), (&None, None));
    assert_eq!(role.env, ["MY_TOKEN"]);
}

#[test]
fn a_phase_may_have_an_agent_of_its_own() {
    let top = "agent = \"claude\"\n[roles.executor]\nmodel = \"opus\"\npermission = \"full\"";
    let phase = "[[phases]]\nid = \"again\"\nagent = \"process:bin/again\"\n\
                 objectives = [{ id = \"o\", description = \"Do.\" }]";
    let workflow = parse(&with(top, phase), "w.toml", "/home/ada").unwrap();
    let role = |phase: usize| workflow.role_of(&workflow.phases[phase]).into_owned();
    assert_eq!((role(0).agent, role(0).model.as_deref()), (AgentKind::Claude, Some("opus")));
    assert_eq!(String::from(role(1).agent), "process:/home/ada/bin/again");
    assert_eq!((role(1).model, role(1).permission), (None, Permission::Full));
    // `--agent` wins over the phase as well.
    let codex = workflow.clone().with_agent(AgentKind::Codex);
    assert_eq!(codex.role_of(&codex.phases[1]).agent, AgentKind::Codex);
}

#[test]
fn agents_that_do_not_exist_and_keys_that_an_agent_does_not_know_are_refused() {
    let top = "agent = \"acp:\"\n[roles.a]\nagent = \"process:sh -c 'x\"\n[roles.b]\nagent = \"cladue\"\n\
               [roles.c]\nagent = \"codex\"\npty = true\nprompt = \"argument\"\nscript = \"x\"\n\
               [roles.d]\nagent = \"process:x\"\nmodel = \"m\"\nprogram = \"y\"\n\
               [roles.e]\nagent = \"rehearsal\"\nargs = [\"z\"]\nprogram = \"y\"\n\
               [roles.f]\nagent = \"process:x\"\nprompt = \"stdout\"";
    // Two steps: a word that the schema knows to be wrong is refused first.
    insta::assert_snapshot!(refused(&with(top, "")));
    let phase =
        "[[phases]]\nid = \"x\"\nagent = \"gemini\"\nobjectives = [{ id = \"o\", description = \"Do.\" }]";
    insta::assert_snapshot!(refused(&with(&top.replace("stdout", "stdin"), phase)));
}

#[test]
fn a_role_names_mcp_servers_whose_large_results_stay_out_of_the_context() {
    // C3
    let servers = "[roles.executor.mcp.files]\ncommand = [\"npx\", \"-y\", \"server\", \".\"]\nenv = { A = \"1\" }\n\
                   [roles.executor.mcp.plain]\ncommand = [\"./server\"]\noffload = false";
    let workflow = parse(&with("agent = \"claude\"", servers), "w.toml", "/home/ada").unwrap();
    let role = &workflow.roles[&"executor".into()];
    let files = &role.mcp["files"];
    assert_eq!((files.command.len(), files.env["A"].as_str(), files.offload), (4, "1", true));
    assert!(!role.mcp["plain"].offload);
    let server = |name: &str, command: &str| {
        refused(&with("agent = \"codex\"", &format!("[roles.executor.mcp.{name}]\ncommand = {command}")))
    };
    assert!(server("baton", "[\"x\"]").contains("the name of Baton's own tools"));
    assert!(server("files", "[\"\"]").contains("has no command"));
    assert!(server("files", "[]").contains("command"));
    let program = with("agent = \"process:sh x\"", "[roles.executor.mcp.files]\ncommand = [\"x\"]");
    assert!(refused(&program).contains("`mcp` in [roles.executor] has no meaning for the agent"));
}

#[test]
fn a_workspace_may_be_a_folder_beside_the_file() {
    let workflow = parse(&with("workspace = \"site\"", ""), "w.toml", "/home/ada").unwrap();
    assert_eq!(workflow.workspace, Some(WorkspaceChoice::Folder("/home/ada/site".to_owned())));
}

#[test]
fn settings_keep_their_kinds() {
    let top = "[policies.settings]\na = true\nb = 3\nc = 0.5\nd = \"x\"\ne = [\"y\"]\nf = { add = [\"z\"] }";
    let workflow = parse(&with(top, ""), "w.toml", "/home/ada").unwrap();
    let values: Vec<&GivenSetting> =
        workflow.policies.layers[0].all.as_ref().unwrap().settings.values().collect();
    let expected = [
        SettingValue::Flag(true).into(),
        SettingValue::Integer(3).into(),
        SettingValue::Number(0.5).into(),
        SettingValue::Text("x".into()).into(),
        SettingValue::Texts(vec!["y".into()]).into(),
        GivenSetting::Edit(ListEdit::new(vec!["z".into()], Vec::new())),
    ];
    assert_eq!(values, expected.iter().collect::<Vec<&GivenSetting>>());
    let wrong = refused(&with("[policies.settings]\nf = { ad = [\"z\"] }", ""));
    assert!(wrong.contains("unknown key `ad` in [policies.settings.f]"), "{wrong}");
}

#[test]
fn limits_in_words_become_numbers() {
    let top = "[limits]\nwall_time = \"2h\"\ncost_usd = 5";
    let workflow = parse(&with(top, ""), "w.toml", "/").unwrap();
    assert_eq!(workflow.limits.wall_time, Some(DurationMs::from_mins(120)));
    assert_eq!(workflow.limits.cost_microusd, Some(5_000_000));
}

/// Bad input: broken TOML.
#[test]
fn broken_toml_is_refused_with_its_places() {
    insta::assert_snapshot!(refused("name = \"a\ngoal = b\n[[phases]\n"));
    insta::assert_snapshot!(refused(""));
}

#[test]
fn unknown_keys_are_refused_together_with_what_was_meant() {
    let top = "agnet = \"claude\"\n[limits]\nwalltime = \"3m\"\n[roles.executor]\ncolour = \"red\"";
    insta::assert_snapshot!(refused(&with(top, "fiels = [\"a\"]\n[[phases]]\nid = \"x\"\nverfy = \"true\"")));
}

#[test]
fn wrong_types_and_bounds_are_refused_in_plain_words() {
    let top = "mode = \"fast\"\nagent = \"codx\"\n[limits]\ntokens = \"many\"\nparallel = 40\ncost_usd = nan\n\
               continuations = -1\nretries = 99999999999999999999\nwall_time = 1979-05-27\n[policies]\nall = 3\n\
               settings = { a = { b = 1 } }";
    insta::assert_snapshot!(refused(&with(top, "files = \"src/a.sh\"")));
}

#[test]
fn missing_and_empty_things_are_named() {
    insta::assert_snapshot!(refused("name = \"\"\n[[phases]]\nid = \"a\"\nobjectives = []\n[[phases]]\n"));
    insta::assert_snapshot!(refused("name = \"a\"\ngoal = \"  \"\nphases = []\n"));
}

#[test]
fn a_name_that_is_nearly_right_is_said_to_be_meant_and_not_to_be_missing() {
    let near = refused("name = \"a\"\n[[phase]]\nid = \"a\"\ndo = [\"x\"]\n");
    assert!(near.contains("did you mean `phases`?") && !near.contains("is missing"), "{near}");
    let cost = refused(&with("[limits]\ncost = 10", ""));
    assert!(cost.contains("did you mean `cost_usd`?"), "{cost}");
}

/// Bad input: an unknown phase in `depends_on`.
#[test]
fn a_dependency_that_is_no_phase_is_refused() {
    let text = with(
        "",
        "[[phases]]\nid = \"test\"\ndepends_on = [\"biuld\"]\n\
                         objectives = [{ id = \"run\", description = \"Run.\" }]",
    );
    insta::assert_snapshot!(refused(&text));
}

/// Bad input: a cycle.
#[test]
fn phases_that_wait_for_each_other_are_named_in_order() {
    let phase = |id: &str, on: &str| {
        format!(
            "[[phases]]\nid = \"{id}\"\ndepends_on = [\"{on}\"]\nobjectives = [{{ id = \"o-{id}\", description = \"Do.\" }}]\n"
        )
    };
    let three =
        ["a", "b", "c"].into_iter().zip(["c", "a", "b"]).map(|(id, on)| phase(id, on)).collect::<String>();
    insta::assert_snapshot!(refused(&with("", &three)));
    insta::assert_snapshot!(refused(&with("", &phase("alone", "alone"))));
}

#[test]
fn ids_are_unique_and_plain() {
    let end = "[[phases]]\nid = \"build\"\nobjectives = [{ id = \"parser\", description = \"Again.\" }]\n\
               [[phases]]\nid = \"a b\"\nobjectives = [{ id = \"../x\", description = \"Out.\" }]";
    insta::assert_snapshot!(refused(&with("", end)));
}

#[test]
fn roles_files_policies_and_variables_are_checked() {
    let top = "agent = \"claude\"\n[roles.executor]\nscript = \"x.toml\"\nenv = [\"A=1\"]\n[limits]\nbackoff = \"1h\"\n\
               heartbeat = \"often\"\n[policies]\nall = { component = \"builtin:resilence\" }\nsettings = { a = 1 }\n\
               handoff = \"ftp://registry.example/policy\"";
    let end = "files = [\"../secrets\", \"/etc/passwd\", \"src/a.sh\"]\n[[phases]]\nid = \"x\"\nrole = \"reviwer\"\n\
               objectives = [{ id = \"o\", description = \"Do.\" }]";
    insta::assert_snapshot!(refused(&with(top, end)));
}

#[test]
fn a_hundred_mistakes_are_told_in_twenty() {
    let top: String = (0..100).map(|n| format!("strange{n} = 1\n")).collect();
    let error = parse(&with(&top, ""), "w.toml", "/").unwrap_err();
    assert_eq!((error.problems.len(), error.beyond), (20, 80));
    assert_eq!((error.problems[0].line, error.problems[0].column), (3, 1));
    assert!(error.to_string().ends_with("and 80 more"));
}

#[test]
fn a_file_that_cannot_be_a_workflow_is_not_even_read() {
    let text = "#".repeat(FILE_BYTES_MAX + 1);
    assert!(refused(&text).contains("is this the right file?"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[a-z\\[\\]=\"\\.\\n {},0-9é#-]{0,200}") {
        let _ = parse(&text, "w.toml", "/");
        let _ = parse(&with(&text, &text), "w.toml", "/");
        let _ = parse_policies_file(&text, "baton.toml", "/", crate::workflow::ConfigLayer::Workspace, &mut |_| Err(String::new()));
    }
}

#[test]
fn a_branch_for_commits_is_one_and_has_a_use() {
    let said = |top: &str| refused(&with(top, ""));
    let message = said("commit = \"phase\"\ncommit_branch = \"baton/{run}\"");
    assert!(message.contains("branches of work trees") && message.contains("\"work/{run}\""), "{message}");
    assert!(said("commit = \"phase\"\ncommit_branch = \"a b\"").contains("is no name of a branch"));
    assert!(said("commit_branch = \"work\"").contains("add commit = \"phase\""));
    assert!(said("commit = \"always\"").contains("phase"));
}
