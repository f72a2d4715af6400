//! `baton simulate` as somebody uses it: the same seeds give the same document, a kept run is a journal like any other, a model is
//! fitted from such journals, and what is wrong in a model or an arm is told with its place.

use crate::support::TestWorkspace;
use serde_json::Value;

const TWO: [&str; 2] = ["--arms", "early=builtin:resilience,late=builtin:resilience"];

fn simulated(stage: &TestWorkspace, arguments: &[&str]) -> String {
    stage.baton(&[&["simulate", "quickstart.toml"], arguments].concat()).expect(0).stdout
}

// M5
#[test]
fn the_same_seeds_give_the_same_document() {
    let stage = TestWorkspace::quickstart();
    let arms = [TWO.as_slice(), &["--set", "early.compact-percent=50", "--runs", "30"]].concat();
    let document =
        |seed: &str| simulated(&stage, &[&arms[..], &["--format", "json", "--seed", seed]].concat());
    let (first, again, other) = (document("1"), document("1"), document("31"));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let read: Value = serde_json::from_str(&first).unwrap();
    assert!(read["schema"].is_number(), "{first}");

    let lines = simulated(&stage, &[&arms[..], &["--format", "jsonl"]].concat());
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record["schema"] == read["schema"]), "{lines}");
    let runs = records.iter().filter(|record| record["record"] == "simulated-run").count();
    assert_eq!(runs, 60, "{lines}");
}

// M5
#[test]
fn a_kept_run_is_a_journal_and_a_model_is_fitted_from_it() {
    let stage = TestWorkspace::quickstart();
    let kept = |seed: usize| simulated(&stage, &["--keep", &seed.to_string(), "--journal", "kept"]);
    let told: Vec<String> = (1..=8).map(kept).collect();
    assert!(told.iter().all(|line| line.contains("baton report sim-")), "{told:?}");
    let twice = stage.baton(&["simulate", "quickstart.toml", "--keep", "3", "--journal", "kept"]);
    twice.expect(2).says(&["has a run sim-3 already", "--journal"]);

    let place = ["--workspace", "kept/workflow", "--state-dir", "kept/state"];
    let verified = stage.baton(&[&["replay", "--verify", "--all"], &place[..]].concat()).expect(0).stdout;
    for seed in 1..=8 {
        assert!(verified.contains(&format!("run sim-{seed} replays exactly")), "{verified}");
    }

    let runs: Vec<String> = (1..=8).map(|seed| format!("sim-{seed}")).collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let to = ["--out", "mine.toml", "--format", "json"];
    let fit = stage.baton(&[&["simulate", "fit"], &runs[..], &place[..], &to].concat()).expect(0);
    let record: serde_json::Value = serde_json::from_str(&fit.stdout).unwrap();
    assert_eq!((&record["record"], &record["runs"]), (&"simulation-fit".into(), &8.into()));
    let fitted = std::fs::read_to_string(stage.path("mine.toml")).unwrap();
    let number = |text: &str, key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        lines.next().unwrap_or_else(|| panic!("no {key} in:\n{text}")).parse::<f64>().unwrap()
    };
    // These are some hundred turns of the world whose numbers are found again: more than a fifth off would be another world.
    let truth = stage.baton(&["simulate", "model"]).expect(0).stdout;
    for key in ["turn_tokens", "turn_spread", "tool_tokens", "tool_spread", "turn_seconds"] {
        let (found, true_one) = (number(&fitted, key), number(&truth, key));
        assert!((0.8..1.25).contains(&(found / true_one)), "{key}: {found} of {true_one}");
        assert_ne!(found, true_one, "{key} is the default, not what was found");
    }
    assert_ne!(
        simulated(&stage, &["--runs", "20", "--model", "mine.toml"]),
        simulated(&stage, &["--runs", "20"])
    );
}

#[test]
fn the_printed_model_is_the_one_that_holds_without_a_file() {
    let stage = TestWorkspace::quickstart();
    let model = stage.baton(&["simulate", "model"]).expect(0).stdout;
    stage.write("all.toml", model);
    assert_eq!(
        simulated(&stage, &["--runs", "20", "--model", "all.toml"]),
        simulated(&stage, &["--runs", "20"])
    );
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let stage = TestWorkspace::quickstart();
    let wrong = |code: i32, arguments: &[&str], parts: &[&str]| {
        let all = [&["simulate", "quickstart.toml", "--runs", "5"], arguments].concat();
        let ended = stage.baton(&all).expect(code).says(parts);
        assert_eq!(ended.stdout, "");
    };
    let bad = |arguments: &[&str], parts: &[&str]| wrong(2, arguments, parts);
    stage.write("key.toml", "[context]\nturn_tokens = 900\nturn_token = 900\n");
    bad(&["--model", "key.toml"], &["key.toml:3", "turn_token", "turn_tokens"]);
    stage.write("section.toml", "\n[agent]\nwindow = 3\n");
    bad(&["--model", "section.toml"], &["section.toml:2", "no section `agent`", "context"]);
    stage.write("bound.toml", "[context]\nturn_tokens = -4\n");
    bad(&["--model", "bound.toml"], &["bound.toml:2", "turn_tokens", "-4"]);
    stage.write("share.toml", "[context]\nsays = 1.5\n");
    bad(&["--model", "share.toml"], &["share.toml:2", "says", "1.5"]);
    bad(&["--model", "nowhere.toml"], &["nowhere.toml"]);
    bad(&[TWO[0], TWO[1], "--set", "nobody.compact-percent=50"], &["there is no arm nobody", "early, late"]);
    wrong(3, &[TWO[0], TWO[1], "--set", "early.compact-percnt=50"], &["did you mean `compact-percent`"]);
    bad(&["--arms", "a=builtin:resilience,a=builtin:resilience"], &["two arms are called a"]);
    bad(&["--arms", "nothing.wasm"], &["nothing.wasm"]);
    bad(&["--format", "html"], &["compares arms", "--arms"]);
}

/// What the quickstart says of policies.
const POLICIES: &str = "all = \"builtin:resilience\"\nsettings = { compact-percent = 70 }";

/// The quickstart with another line in place of one of its own, as a workflow of its own.
fn with(stage: &TestWorkspace, file: &str, line: &str, other: &str) {
    let text = std::fs::read_to_string(stage.path("quickstart.toml")).unwrap();
    assert!(text.contains(line), "{text}");
    stage.write(file, text.replace(line, other));
}

// M5: an arm is what is configured, with its own settings over it; each arm says what is set for it.
#[test]
fn an_arm_takes_over_what_the_workflow_sets_for_its_component() {
    let stage = TestWorkspace::quickstart();
    let arms =
        ["--arms", "control=builtin:resilience,two=builtin:resilience", "--set", "two.compact-percent=50"];
    let run = |file: &str| {
        let arguments = [&["simulate", file, "--runs", "20"], &arms[..]].concat();
        stage.baton(&arguments).expect(0).stdout
    };
    // What holds for the whole chain, what stands beside the component, and what another arm sets over it.
    with(&stage, "bare.toml", POLICIES, "settings = { compact-percent = 50 }");
    let beside = "{ component = \"builtin:resilience\", settings = { compact-percent = 50 } }";
    with(&stage, "beside.toml", POLICIES, &format!("all = {beside}"));
    for file in ["bare.toml", "beside.toml"] {
        let text = run(file);
        let who =
            "control  resilience, compact-percent = 50.0\ntwo      resilience, compact-percent = 50.0\n";
        assert!(text.contains(who), "{text}");
        assert!(text.contains("two came to the very same as control in every pair; keep control."), "{text}");
    }
    with(&stage, "other.toml", POLICIES, "settings = { compact-percent = 95 }");
    let text = run("other.toml");
    let who = "control  resilience, compact-percent = 95.0\ntwo      resilience, compact-percent = 50.0\n";
    assert!(text.contains(who) && !text.contains("the very same"), "{text}");
}

// M5: of a component with the settings of a file, and with those of an arm, the arm's alone are counted as the arm's.
#[test]
fn two_settings_of_one_component_are_two_policies_in_the_document() {
    let stage = TestWorkspace::quickstart();
    let beside = "{ component = \"builtin:resilience\", settings = { compact-percent = 95 } }";
    with(&stage, "chain.toml", POLICIES, &format!("compaction = {beside}"));
    let arguments =
        ["--arms", "early=builtin:resilience,late=builtin:resilience", "--set", "early.compact-percent=50"];
    let format = ["--runs", "20", "--format", "json"];
    let ended = stage.baton(&[&["simulate", "chain.toml"], &arguments[..], &format].concat()).expect(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    let set = |arm: usize| {
        let decides = document["arms"][arm]["decides"].as_array().unwrap();
        decides.iter().find(|one| one["decides"] == "compaction").unwrap().clone()
    };
    assert_eq!(set(0)["set"]["compact-percent"], 50.0, "{}", set(0));
    assert_eq!(set(1)["set"]["compact-percent"], 95.0, "{}", set(1));
    let mut seen = 0;
    for (arm, runs) in document["runs"].as_array().unwrap().iter().enumerate() {
        let policies =
            runs.as_array().unwrap().iter().flat_map(|run| run["measures"]["policies"].as_array().unwrap());
        for asked in policies.filter(|asked| asked["decision"] == "compaction") {
            assert_eq!(
                (&asked["settings"], &asked["arm"]),
                (&set(arm)["settings"], &Value::from("")),
                "{asked}"
            );
            seen += 1;
        }
    }
    assert!(seen > 0, "somebody was asked");
}

// M5: what an experiment would leave alone is said where it is simulated.
#[test]
fn an_arm_that_decides_where_the_workflow_chooses_itself_is_said_to() {
    let stage = TestWorkspace::quickstart();
    with(
        &stage,
        "scoped.toml",
        "[roles.executor]",
        "[roles.executor]\npolicies = { splitting = \"builtin:resilience\" }",
    );
    let scoped = std::fs::read_to_string(stage.path("scoped.toml")).unwrap();
    let arguments = ["simulate", "scoped.toml", "--runs", "5", "--arms", "one=builtin:resilience"];
    let text = stage.baton(&arguments).expect(0).stdout;
    let said = "also decides what the workflow configures itself: splitting in role executor. Real runs of this workflow are not enrolled";
    assert!(text.contains(said), "{scoped}\n{text}");
    let text = simulated(&stage, &["--runs", "5", "--arms", "one=builtin:resilience"]);
    assert!(!text.contains("the workflow configures itself"), "{text}");
}
