//! Runs of the built binary, replayed: with whoever decided in them, after swaps, with grants and artifacts, and after a fault;
//! and with another policy. A journal that somebody changed is found out.

use std::fs;

use crate::guests::{ANSWER, DECISION, GuestBuilder};
use crate::support::{CommandOutput, TestWorkspace, until};
use serde_json::Value;

fn replay(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage.baton(&[["replay"].as_slice(), arguments, &place].concat())
}

fn json(ended: &CommandOutput) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// Two phases; what the verification of the first leaves is an artifact, and it waits where it is told to.
fn job(policies: &str, verify: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    stage.write(
        "job.toml",
        format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nscript = \"script.toml\"\n{policies}\n\
             [[phases]]\nid = \"one\"\nverify = \"{verify}\"\n\
             objectives = [{{ id = \"a\", description = \"Do it.\" }}]\n\
             [[phases]]\nid = \"two\"\ndepends_on = [\"one\"]\n\
             objectives = [{{ id = \"b\", description = \"Do it.\" }}, {{ id = \"c\", description = \"Do it.\" }}]\n"
        ),
    );
    let steps = "{ say = \"The work is done, as it was asked for.\" }";
    stage.write("script.toml", format!("window_tokens = 100000\n[objectives.\"*\"]\nsteps = [{steps}]\n"));
    stage
}

/// Reads an artifact, keeps, and says the first bytes of it as its reason.
fn reader(name: &str) -> Vec<u8> {
    let (at, size) = (DECISION, name.len());
    let body = format!(
        "(call $read (i32.const 1024) (i32.const {size}) (i64.const 0) (i32.const 100) (i32.const {at}))
         (if (i32.eqz (i32.load8_u (i32.const {at}))) (then
            (i32.store (i32.const {}) (i32.load (i32.const {})))
            (i32.store (i32.const {}) (i32.load (i32.const {})))))
         (i64.store (i32.const {at}) (i64.const 0))
         (i32.const {ANSWER})",
        at + 12,
        at + 4,
        at + 16,
        at + 8
    );
    GuestBuilder::deciding(&body).import("artifacts", "read").data(1024, name).build()
}

fn verified(stage: &TestWorkspace) -> Value {
    let found = json(&replay(stage, &["--all", "--verify", "--format", "json"]).expect(0));
    assert_eq!((&found["schema"], &found["complete"]), (&1.into(), &true.into()), "{found}");
    assert_eq!((&found["differences"], &found["unavailable"]), (&0.into(), &0.into()), "{found}");
    found
}

/// Changes bodies of the journal behind Baton's back.
fn tamper(stage: &TestWorkspace, from: &str, to: &str) -> usize {
    let journal = rusqlite::Connection::open(stage.state().journal()).unwrap();
    journal.execute_batch("DROP TRIGGER entry_is_never_changed").unwrap();
    let changed = journal
        .execute(
            "UPDATE entry SET body = replace(body, ?1, ?2) WHERE seq = (SELECT min(seq) FROM entry WHERE instr(body, ?1) > 0)",
            (from, to),
        )
        .unwrap();
    journal
        .execute_batch(
            "CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry
             BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
        )
        .unwrap();
    changed
}

#[test]
fn a_run_replays_to_the_letter_and_another_policy_leaves_its_course() {
    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    let found = verified(&stage);
    assert!(found["same"].as_u64().unwrap() > 20, "{found}");
    let told = replay(&stage, &["--verify"]).expect(0).stdout;
    assert!(told.contains("replays exactly") && told.contains("to the byte and the unit of fuel"), "{told}");

    let run = stage.story().view.run.to_string();
    let eager = ["--policy", "builtin:resilience", "--set", "max-objectives=1", &run, "--format", "json"];
    let eager = json(&replay(&stage, &eager).expect(0));
    let first = &eager["departures"][0];
    assert_eq!((&first["run"], &first["function"]), (&run.clone().into(), &"splitting.decide".into()));
    assert_ne!(first["recorded_reason"], first["candidate_reason"]);
    let contexts = eager["contexts"].as_array().unwrap();
    assert!(contexts.iter().any(|context| context["fate"] == "exhausted"), "{eager}");
    assert!(contexts.iter().all(|context| context["candidate"]["class"].is_string()), "{eager}");
    assert_eq!(
        eager["warnings"]["recorded"], eager["warnings"]["candidate"],
        "it warns as the run's own does"
    );

    // A component of its own, in each of the formats.
    stage.write("never.wasm", GuestBuilder::good("There is always <room>.").build());
    let text = replay(&stage, &["--all", "--policy", "never.wasm"]).expect(0).stdout;
    assert!(text.contains("There is always <room>.") && text.contains("FIRST DIVERGENCE"), "{text}");
    let folder = stage.workspace.display().to_string();
    let lines = replay(&stage, &[&folder, "--policy", "never.wasm", "--format", "jsonl"]).expect(0).stdout;
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record["schema"] == 1));
    assert_eq!((&records[0]["record"], &records[1]["record"]), (&"replay".into(), &"replay-run".into()));
    let page = replay(&stage, &["2*", "--policy", "never.wasm", "--format", "html"]).expect(0).stdout;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("There is always &lt;room&gt;."), "{page}");
    for outside in ["http:", "https:", "<script", "<link"] {
        assert!(!page.contains(outside), "the page needs {outside}");
    }
}

#[test]
fn what_somebody_changed_in_a_journal_is_found() {
    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    assert_eq!(tamper(&stage, "\"fuel\":", "\"fuel\":1"), 1);
    let told = replay(&stage, &["--verify"]).expect(1).stdout;
    assert!(told.contains("does NOT replay") && told.contains("fuel instead of 1"), "{told}");

    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    let component = "\"by\":\"configured\",\"capability\":\"splitting\",\"policy\":\"resilience\"";
    assert_eq!(tamper(&stage, component, &component.replace("resilience", "somebody")), 1);
    let found = json(&replay(&stage, &["--verify", "--format", "json"]).expect(1));
    assert!(found["runs"][0]["changed"][0]["impossible"].is_string(), "{found}");
}

#[test]
fn artifacts_are_shown_again_with_the_grants_of_then() {
    let grants = "grants = { artifacts = [\"verifications/*\"], fuel = 80000000 }";
    let policies = format!("[policies]\ncompaction = {{ component = \"reader.wasm\", {grants} }}");
    let stage = job(&policies, "echo all is well");
    stage.write("reader.wasm", reader("verifications/phase-one.log"));
    stage.baton(&["run", "job.toml"]).expect(0);
    // Neither the file nor what became of it since matters: the journal has the component.
    fs::remove_file(stage.path("reader.wasm")).unwrap();
    verified(&stage);

    // Without what it was shown, it cannot be asked again, and that is no success.
    let objects = stage.state().artifacts();
    fs::rename(&objects, objects.with_extension("away")).unwrap();
    let told = replay(&stage, &["--verify"]).expect(1).stdout;
    assert!(told.contains("could not be made again"), "{told}");
}

#[test]
fn faults_and_whoever_was_put_in_place_meanwhile_are_replayed_too() {
    let policies = "[policies]\ncompaction = \"broken.wasm\"";
    let stage = job(policies, "touch at; while [ ! -e go ]; do sleep 0.02; done");
    stage.write("broken.wasm", GuestBuilder::deciding("unreachable").build());
    stage.write("room.wasm", GuestBuilder::good("There is always room.").build());
    let host = stage.start(&["run", "job.toml"]);
    until("the first phase is verified", || stage.workspace.join("at").exists());
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage
        .baton(
            &[["policy", "use", "builtin:resilience", "--decides", "splitting"].as_slice(), &place].concat(),
        )
        .expect(0);
    fs::write(stage.workspace.join("go"), "").unwrap();
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let found = verified(&stage);
    assert!(found["faults_same"].as_u64().unwrap() >= 1, "{found}");
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let stage = TestWorkspace::new();
    replay(&stage, &["--verify"]).expect(2).says(&["baton run"]);
    replay(&stage, &[]).expect(2).says(&["--policy"]);
    replay(&stage, &["--verify", "--policy", "x.wasm"]).expect(2).says(&["cannot be used with"]);
    replay(&stage, &["--verify", "--format", "html"]).expect(2).says(&["--policy FILE"]);
    let stage = job("", "true");
    stage.baton(&["run", "job.toml"]).expect(0);
    replay(&stage, &["x*", "--verify"]).expect(2).says(&["no run matches x*"]);
    replay(&stage, &["absent", "--verify"]).expect(2).says(&["absent"]);
}
