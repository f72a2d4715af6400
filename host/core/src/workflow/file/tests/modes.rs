//! Modes and their budgets, in the workflow file and in Org files (A1, A10).

use std::collections::BTreeMap;

use super::{refused, with};
use crate::workflow::file::{WorkflowError, parse, parse_with};
use crate::workflow::{AgentKind, AgentSource, Permission, Workflow};

/// Reads a workflow with these files in its folder.
fn beside(text: &str, files: &[(&str, &str)]) -> Result<Workflow, WorkflowError> {
    let files: BTreeMap<String, &str> =
        files.iter().map(|(path, text)| (format!("/home/ada/{path}"), *text)).collect();
    let mut read = |path: &str| {
        files.get(path).map(|text| (*text).to_owned()).ok_or_else(|| "it is not there".to_owned())
    };
    parse_with(text, "w.toml", "/home/ada", &mut read)
}

fn turns(workflow: &Workflow) -> Vec<(&str, u32)> {
    workflow.turns.iter().map(|(role, turns)| (role.as_str(), *turns)).collect()
}

const ORG: &str = "\
#+TITLE: Swarm
:PROPERTIES:
:MAX_CONTINUATIONS: 2
:END:

* Budgets
  :PROPERTIES:
  :MAX_TURNS_EXECUTOR: 50
  :max_turns_reviewer_deep: 18
  :MAX_TURNS_REVIEWER: —
  :END:
";

#[test]
fn only_the_mode_of_the_workflow_takes_effect() {
    // A1
    let modes = "[modes.swarm]\nmax_continuations = 2\n[modes.swarm.turns]\nexecutor = 40\n\
                 [modes.eco]\nmax_continuations = 1\n[modes.eco.turns]\nexecutor-lite = 9";
    let of = |mode: &str| parse(&with(&format!("mode = \"{mode}\"\n{modes}"), ""), "w.toml", "/").unwrap();
    assert_eq!((turns(&of("swarm")), of("swarm").limits.continuations), (vec![("executor", 40)], 2));
    assert_eq!((turns(&of("eco")), of("eco").limits.continuations), (vec![("executor-lite", 9)], 1));
    assert_eq!((turns(&of("standard")), of("standard").limits.continuations), (vec![], 3));
}

#[test]
fn a_role_is_another_one_in_another_mode() {
    let top = |mode: &str| {
        format!(
            "mode = \"{mode}\"\n[roles.executor]\nscript = \"play.toml\"\nmax_turns = 30\nenv = [\"A\"]\n\
             [modes.swarm.roles.executor]\nagent = \"claude\"\nmodel = \"big\"\nenv = [\"B\"]\npermission = \"full\"\n\
             [modes.thorough.roles.executor]\nmax_turns = 60\n[modes.swarm.roles.explorer]\nmodel = \"small\""
        )
    };
    let role = |mode: &str| {
        let workflow = parse(&with(&top(mode), ""), "w.toml", "/").unwrap();
        workflow.roles[&"executor".into()].clone()
    };
    let swarm = role("swarm");
    assert_eq!(
        (&swarm.agent, swarm.model.as_deref(), swarm.set_by),
        (&AgentKind::Claude, Some("big"), AgentSource::Role)
    );
    // The script was for the rehearsal; turns and variables go over.
    assert_eq!((swarm.script, swarm.max_turns, swarm.permission), (None, Some(30), Permission::Full));
    assert_eq!(swarm.env, ["A", "B"]);
    let thorough = role("thorough");
    assert_eq!((thorough.script.as_deref(), thorough.max_turns), (Some("/play.toml"), Some(60)));
    let standard = role("standard");
    assert_eq!((standard.agent, standard.max_turns), (AgentKind::Rehearsal, Some(30)));
}

#[test]
fn every_mode_is_checked_whichever_is_active() {
    let top = "[modes.swarm.turns]\nexecuter = 4\nexecutor = 0\n[modes.eco.roles.nobody]\nmodel = \"x\"\n\
               [modes.eco.roles.executor]\nagent = \"codex\"\nscript = \"x\"\nenv = [\"A=1\"]\n[modes.slow]\nmax_continuations = 1";
    // Two steps: mistakes that the schema covers are refused first.
    insta::assert_snapshot!(refused(&with(top, "")));
    let top = top.replace("executor = 0", "executor = 5").replace("[modes.slow]", "[modes.turbo]");
    insta::assert_snapshot!(refused(&with(&top, "")));
}

#[test]
fn budgets_are_read_from_org_files() {
    // A10
    let top = "mode = \"swarm\"\nmode_files = [\"modes/swarm.org\"]";
    let workflow = beside(&with(top, ""), &[("modes/swarm.org", ORG)]).unwrap();
    assert_eq!(turns(&workflow), [("executor", 50), ("reviewer-deep", 18)]);
    assert_eq!(workflow.limits.continuations, 2);
    // Another mode's file is read, and changes nothing.
    let workflow =
        beside(&with(&top.replace("mode = \"swarm\"", ""), ""), &[("modes/swarm.org", ORG)]).unwrap();
    assert_eq!((turns(&workflow), workflow.limits.continuations), (vec![], 3));
    // It may name its mode, for each part of it.
    let parts = "* One\n:PROPERTIES:\n:MODE: eco\n:MAX_CONTINUATIONS: 1\n:END:\n** Below\n:PROPERTIES:\n\
                 :MAX_TURNS_EXECUTOR_LITE: 7\n:END:\n* Two\n:PROPERTIES:\n:MODE: Swarm\n:MAX_TURNS_EXECUTOR: 8\n:END:\n";
    let of = |mode: &str| {
        let top = format!("mode = \"{mode}\"\nmode_files = [\"budgets.org\"]");
        beside(&with(&top, ""), &[("budgets.org", parts)]).unwrap()
    };
    assert_eq!((turns(&of("eco")), of("eco").limits.continuations), (vec![("executor-lite", 7)], 1));
    assert_eq!((turns(&of("swarm")), of("swarm").limits.continuations), (vec![("executor", 8)], 3));
    let keywords = "#+PROPERTY: MODE turbo\n#+PROPERTY: MAX_TURNS_EXPLORER 3\n";
    let top = "mode = \"turbo\"\nmode_files = [\"x.org\"]";
    assert_eq!(turns(&beside(&with(top, ""), &[("x.org", keywords)]).unwrap()), [("explorer", 3)]);
}

#[test]
fn the_workflow_file_wins_over_org_files() {
    // A10
    let read = |more: &str| {
        let top = format!("mode = \"swarm\"\nmode_files = [\"swarm.org\"]\n{more}");
        beside(&with(&top, ""), &[("swarm.org", ORG)]).unwrap()
    };
    let over = read("[modes.swarm.turns]\nexecutor = 40");
    assert_eq!(turns(&over), [("executor", 40), ("reviewer-deep", 18)]);
    assert_eq!(read("[limits]\ncontinuations = 5").limits.continuations, 5);
    assert_eq!(
        read("[limits]\ncontinuations = 5\n[modes.swarm]\nmax_continuations = 4").limits.continuations,
        4
    );
}

#[test]
fn what_is_wrong_in_an_org_file_is_named_with_its_line_and_property() {
    // A10
    let says = |org: &str, parts: &[&str]| {
        let top = "mode_files = [\"modes/swarm.org\"]";
        let error = beside(&with(top, ""), &[("modes/swarm.org", org)]).unwrap_err().to_string();
        assert!(error.starts_with("w.toml:3:15: modes/swarm.org:"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    };
    let drawer = |line: &str| format!("* A\n:PROPERTIES:\n{line}\n:END:\n");
    says(
        &drawer(":MAX_TURNS_EXECUTOR: many"),
        &["org:3: `MAX_TURNS_EXECUTOR` cannot be \"many\"", "from 1 to 10000"],
    );
    says(&drawer(":MAX_TURNS_EXECUTOR: 0"), &["from 1 to 10000"]);
    says(&drawer(":MAX_TURNS_EXECUTOR:"), &["cannot be \"\""]);
    says(&drawer(":MAX_CONTINUATIONS: 99"), &["from 0 to 20"]);
    says(&drawer(":MAX_TURNS_EXECUTER: 3"), &["`executer`, which is no role", "did you mean `executor`?"]);
    says(&drawer(":MAX_TURN_EXECUTOR: 3"), &["`MAX_TURN_EXECUTOR` is nothing that Baton reads"]);
    says(&drawer(":MAX_CONTINUATION: 3"), &["write MAX_TURNS_ and the name of a role, or MAX_CONTINUATIONS"]);
    says(
        &drawer(":MODE: swam\n:MAX_CONTINUATIONS: 3"),
        &["the mode \"swam\" of line 3", "did you mean `swarm`?"],
    );
    says(
        &drawer(":MAX_CONTINUATIONS: 3\n:MAX_CONTINUATIONS: 4"),
        &["org:4:", "is said for swarm already, in line 3"],
    );
    says("* A\n:PROPERTIES:\n:X: 1\n", &["org:2: this drawer does not end"]);
    says(":MAX_TURNS_EXECUTOR: 3\n", &["org:1:", "outside of a drawer"]);
    let refused = |top: &str, files: &[(&str, &str)]| beside(&with(top, ""), files).unwrap_err().to_string();
    assert!(refused("mode_files = [\"a.org\"]", &[]).contains("a.org: it cannot be read: it is not there"));
    assert!(refused("mode_files = [\"plain.org\"]", &[("plain.org", ORG)]).contains("eco.org, turbo.org"));
}
