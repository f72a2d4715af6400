//! The smallest workflow, and the forms in which people write values.

use super::*;
use crate::workflow::Workflow;

fn read(text: &str) -> Workflow {
    parse(text, "plans/move.toml", "/home/ada").unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_smallest_workflow_names_everything_by_itself() {
    let text = "[[phases]]\ntitle = \"Move the parser\"\ndo = [\"Create crates/parser\", \"Port its tests\"]\n\
                verify = \"cargo test\"\n[[phases]]\ndo = \"Tell it in the changelog\"\ndepends_on = \"Move the parser\"\n";
    let workflow = read(text);
    assert_eq!(workflow.name, "move");
    assert_eq!(workflow.goal, "Move the parser; Tell it in the changelog");
    let ids: Vec<&str> = workflow.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["move-parser", "tell-it-in-changelog"]);
    let objectives: Vec<(&str, &str)> = workflow
        .phases
        .iter()
        .flat_map(|phase| &phase.objectives)
        .map(|one| (one.id.as_str(), one.description.as_str()))
        .collect();
    let expected = [
        ("create-crates-parser", "Create crates/parser"),
        ("port-tests", "Port its tests"),
        ("tell-it-in-changelog", "Tell it in the changelog"),
    ];
    assert_eq!(objectives, expected);
    assert_eq!(workflow.phases[0].verify.as_deref(), Some("cargo test"));
    assert_eq!(workflow.phases[1].title, "Tell it in the changelog");
    assert_eq!(workflow.phases[1].depends_on, ["move-parser".into()]);
}

#[test]
fn derived_ids_differ_from_each_other_and_from_those_that_are_said() {
    let text = "[[phases]]\ndo = [\"Fix it\", \"Fix it\", { id = \"fix-it-2\", description = \"Fix it.\" }]\n\
                [[phases]]\ntitle = \"Убрать всё\"\ndo = [\"Раз\", \"Два\"]\n[[phases]]\ntitle = \"Fix it\"\ndo = \"Fix it\"\n";
    let workflow = read(text);
    let ids: Vec<&str> = workflow.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(ids, ["fix-it", "phase-2", "fix-it-2"]);
    let objectives: Vec<&str> =
        workflow.phases.iter().flat_map(|phase| &phase.objectives).map(|one| one.id.as_str()).collect();
    assert_eq!(objectives, ["fix-it", "fix-it-3", "fix-it-2", "phase-2-1", "phase-2-2", "fix-it-4"]);
    assert_eq!(read(text), workflow, "a run that goes on is known by its ids");
}

#[test]
fn a_derived_id_ends_in_no_word_that_waits_for_another_and_keeps_the_parts_of_a_path() {
    for (description, id) in [
        ("Append forty lines to the log", "append-forty-lines"),
        ("Write a list of all the files in it", "write-list-of-all-files"),
        ("Write src/a.txt", "write-src-a-txt"),
        ("Write a.txt and b.txt", "write-a-txt-and-b-txt"),
        ("Move a file", "move-file"),
        ("Look into", "look"),
        ("To and from", "to-and-from"),
    ] {
        let workflow = read(&format!("[[phases]]\ndo = \"{description}\"\n"));
        assert_eq!(workflow.phases[0].objectives[0].id.as_str(), id, "{description}");
    }
}

#[test]
fn one_thing_is_as_good_as_a_list_of_one() {
    let text = "setup = \"npm ci\"\n[limits]\nwall_time = 7200\nheartbeat = 30\n[[phases]]\nid = \"a\"\n\
                verify = [\"cargo fmt --check\", \"cargo test || cat log; false\"]\nwall_time = 90\n\
                do = { description = \"Write it\", files = \"src/a.rs\", verify = [\"test -s src/a.rs\"] }\n";
    let workflow = read(text);
    assert_eq!(workflow.setup, ["npm ci"]);
    assert_eq!(workflow.limits.wall_time, Some(DurationMs::from_mins(120)));
    assert_eq!(workflow.limits.heartbeat, DurationMs::from_secs(30));
    let phase = &workflow.phases[0];
    assert_eq!(phase.verify.as_deref(), Some("cargo fmt --check && (\ncargo test || cat log; false\n)"));
    assert_eq!(phase.wall_time, Some(DurationMs::from_secs(90)));
    assert_eq!(phase.objectives[0].files, ["src/a.rs"]);
    assert_eq!(phase.objectives[0].verify.as_deref(), Some("test -s src/a.rs"));
}

#[test]
fn natural_mistakes_are_answered_with_the_form_that_works() {
    insta::assert_snapshot!(refused("steps = [\"a\"]\nprompt = \"Do it.\"\n"));
    let text = "[[phases]]\nname = \"Move\"\nprompt = \"Move it.\"\n[[phases]]\ntitle = \"Empty\"\n[[phases]]\n\
                do = [\"a\"]\nobjectives = [\"b\"]\n[[phases]]\ndo = [{ name = \"x\", prompt = \"y\" }, 3]\n\
                check = \"make\"\n[limits]\ntimeout = 3\nwall_time = -1\n";
    insta::assert_snapshot!(refused(text));
    insta::assert_snapshot!(refused("[[phases]]\ndo = []\nverify = []\n[[phases]]\ndo = [\"\", \"b\"]\n"));
    insta::assert_snapshot!(refused(
        "[[phases]]\ntitle = \"Empty\"\n[[phases]]\ndo = [\"a\"]\nobjectives = [\"b\"]\n"
    ));
    let twice = "[[phases]]\ntitle = \"A\"\ndo = \"b\"\n[[phases]]\ntitle = \"A\"\ndo = \"c\"\n[[phases]]\ndo = \"d\"\n\
                 depends_on = \"A\"\n";
    insta::assert_snapshot!(refused(twice));
}

#[test]
fn phases_go_one_after_the_other_unless_the_file_says_what_they_wait_for() {
    let waits = |text: &str| -> Vec<Vec<String>> {
        let of =
            |phase: &crate::workflow::PhaseSpec| phase.depends_on.iter().map(ToString::to_string).collect();
        read(text).phases.iter().map(of).collect()
    };
    let three = |top: &str, second: &str, third: &str| {
        format!(
            "{top}\n[[phases]]\nid = \"a\"\ndo = \"A\"\n[[phases]]\nid = \"b\"\ndo = \"B\"\n{second}\n\
             [[phases]]\nid = \"c\"\ndo = \"C\"\n{third}\n"
        )
    };
    let (none, chain): ([&[&str]; 3], [&[&str]; 3]) = ([&[], &[], &[]], [&[], &["a"], &["b"]]);
    let last: [&[&str]; 3] = [&[], &[], &["a"]];
    assert_eq!(waits(&three("", "", "")), chain);
    assert_eq!(waits(&three("[limits]\nparallel = 1", "", "")), chain);
    assert_eq!(waits(&three("[limits]\nparallel = 2", "", "")), none, "it wants them at a time");
    assert_eq!(waits(&three("", "depends_on = []", "")), none);
    assert_eq!(waits(&three("", "", "depends_on = \"a\"")), last);
}
