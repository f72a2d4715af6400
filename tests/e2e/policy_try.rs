//! A candidate on a run of the built binary: what it would have decided otherwise, and one question of it asked again.

use crate::guests::GuestBuilder;
use crate::support::{CommandOutput, TestWorkspace};
use serde_json::Value;

/// `baton policy try` where the stage keeps its runs.
fn attempt(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage.baton(&[["policy", "try"].as_slice(), arguments, &place].concat())
}

fn json(ended: &CommandOutput) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

/// What a tally of every function comes to.
fn sum(document: &Value, course: &str, what: &str) -> u64 {
    let functions = document["functions"].as_array().unwrap();
    functions.iter().map(|function| function[course][what].as_u64().unwrap()).sum()
}

// M3
#[test]
fn a_candidate_is_held_against_a_run_and_asked_one_question_again() {
    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);

    // Who decided then decides the same now.
    let same = json(&attempt(&stage, &["builtin:resilience", "--format", "json"]).expect(0));
    let asked = sum(&same, "on_course", "asked");
    assert!(asked > 20, "{same}");
    assert_eq!(sum(&same, "on_course", "same"), asked);
    assert_eq!(same["differences"], Value::Array(Vec::new()));

    // Another threshold leaves the course where it first splits.
    let run = stage.story().view.run.to_string();
    let eager = ["builtin:resilience", "--set", "max-objectives=1", "--on", &run, "--format", "json"];
    let eager = json(&attempt(&stage, &eager).expect(0));
    assert!(sum(&eager, "on_course", "differs") >= 1 && sum(&eager, "off_course", "asked") > 1, "{eager}");
    let first = &eager["differences"][0];
    assert_eq!((&first["function"], &first["off_course"]), (&"splitting.decide".into(), &false.into()));
    assert_eq!(first["candidate"]["answer"]["action"]["action"], "split");

    // The question that a difference carries is taken as it is, and answered as it was.
    stage.write("observation.json", first["question"].to_string());
    let again =
        ["builtin:resilience", "--set", "max-objectives=1", "--on", "observation.json", "--format", "json"];
    let again = json(&attempt(&stage, &again).expect(0));
    assert_eq!((&again["candidate"], &again["current"]), (&first["candidate"], &first["recorded"]));
    assert_eq!(again["outcome"], "differs");

    // A component that decides one thing is asked that alone; the rest is counted.
    stage.write("never.wasm", GuestBuilder::good("There is always room.").build());
    let never = attempt(&stage, &["never.wasm"]).expect(0);
    assert!(never.stdout.starts_with("never would have decided 1 of "), "{}", never.stdout);
    assert!(never.stdout.contains("Not for it to decide: "), "{}", never.stdout);
    assert!(never.stdout.contains("There is always room."), "{}", never.stdout);
    let lines = attempt(&stage, &["never.wasm", "--format", "jsonl"]).expect(0).stdout;
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record["schema"] == 1));
    assert_eq!(records[1]["record"], "policy-try-difference");
}

#[test]
fn every_sample_is_taken_and_what_cannot_be_tried_is_said() {
    let stage = TestWorkspace::new();
    stage.write("never.wasm", GuestBuilder::good("There is always room.").build());
    for function in ["assess", "compaction", "split", "budget", "brief", "compose", "review"] {
        let sample = attempt(&stage, &["--sample", function]).expect(0).stdout;
        stage.write("observation.json", &sample);
        let on = ["builtin:resilience", "--on", "observation.json"];
        let told = attempt(&stage, &on).expect(0).stdout;
        assert!(told.contains("decides as the built-in policy does"), "{told}");
        // A question may be changed, and what is not understood is not passed over.
        stage.write("wrong.json", sample.replacen("\"attributes\"", "\"attribute\"", 1));
        let wrong = attempt(&stage, &["builtin:resilience", "--on", "wrong.json"]).expect(2);
        wrong.says(&["wrong.json: ask.observation", "attribute"]);
    }
    let functions = [
        ("exhaustion", "assess"),
        ("completion", "complete"),
        ("recovery", "recover"),
        ("offloading", "offload"),
        ("compaction", "compaction"),
        ("budgeting", "budget"),
        ("prompting", "brief"),
        ("handoff", "compose"),
        ("splitting", "split"),
    ];
    for (decision, function) in functions {
        let sample = |name: &str| attempt(&stage, &["--sample", name]).expect(0).stdout;
        assert_eq!(sample(decision), sample(function), "{decision}");
    }
    stage.write("observation.json", attempt(&stage, &["--sample", "splitting"]).expect(0).stdout);
    attempt(&stage, &["never.wasm", "--on", "observation.json"])
        .expect(2)
        .says(&["observation.json asks splitting.decide", "never is asked about compaction"]);
    attempt(&stage, &["never.wasm", "--decides", "splitting,handoff"])
        .expect(2)
        .says(&["never does not decide splitting, handoff: it decides compaction"]);
    attempt(&stage, &["never.wasm"]).expect(2).says(&["baton run"]);
    attempt(&stage, &["builtin:resilience", "--set", "max-objective=1"])
        .expect(3)
        .says(&["max-objective", "max-objectives"]);
    attempt(&stage, &[]).expect(2).says(&["<FILE>"]);
}
