//! What a policy may have beyond the usual (M6): asked for, granted by name, refused otherwise, told before it is asked
//! anything, and written down with each decision that was shown some of it.

use crate::guests::{ANSWER, DECISION, GuestBuilder, REASON};
use crate::support::TestWorkspace;
use baton_runtime::core::Input;
use baton_runtime::core::decision::Provenance;
use baton_runtime::core::observation::Capability;

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
        REASON,
        at + 4,
        REASON + 4,
        at + 8
    );
    GuestBuilder::deciding(&body).import("artifacts", "read").data(1024, name).build()
}

/// The same component with a word on what it wants.
fn wanting(component: Vec<u8>, wants: &str) -> Vec<u8> {
    let name = b"baton:wants";
    let size = u8::try_from(1 + name.len() + wants.len()).unwrap();
    assert!(size < 128, "one byte tells the size");
    [&component[..], &[0, size, 11], name, wants.as_bytes()].concat()
}

/// Two phases; the verification of the first leaves an artifact, and the second is asked about its context.
fn stage(policies: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    stage.write(
        "job.toml",
        format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nscript = \"script.toml\"\n{policies}\n\
             [[phases]]\nid = \"one\"\nverify = \"echo all is well\"\n\
             objectives = [{{ id = \"a\", description = \"Do it.\" }}]\n\
             [[phases]]\nid = \"two\"\ndepends_on = [\"one\"]\n\
             objectives = [{{ id = \"b\", description = \"Do it.\" }}, {{ id = \"c\", description = \"Do it.\" }}]\n"
        ),
    );
    let steps = "{ say = \"The work is done, as it was asked for.\" }";
    stage.write("script.toml", format!("window_tokens = 100000\n[objectives.\"*\"]\nsteps = [{steps}]\n"));
    stage
}

fn labels(stage: &TestWorkspace) -> Vec<(Provenance, String)> {
    let decided = |input| match input {
        Input::Decided { label, result: Ok(decision), .. } => Some((*label, decision.reason().to_owned())),
        _ => None,
    };
    stage
        .inputs()
        .into_iter()
        .filter_map(decided)
        .filter(|(label, _)| label.capability == Capability::Compaction)
        .collect()
}

// M6
#[test]
fn an_artifact_is_read_where_it_is_granted_and_that_is_written_down() {
    let granted = "[policies]\ncompaction = { component = \"reader.wasm\", grants = { artifacts = [\"verifications/*\"] } }";
    let stage = stage(granted);
    stage.write("reader.wasm", reader("verifications/phase-one.log"));
    stage.baton(&["run", "job.toml"]).expect(0);
    let labels = labels(&stage);
    let (label, reason) = labels.last().expect("the second phase is asked");
    assert!(reason.contains("all is well"), "{reason}");
    let shown: Vec<_> = label.artifacts.keys().map(String::as_str).collect();
    assert_eq!(shown, ["verifications/phase-one.log"]);
    let saved = stage.artifacts();
    let saved = saved.iter().find(|artifact| artifact.name == shown[0]).unwrap();
    assert_eq!(label.artifacts[shown[0]], saved.digest);
}

// M6
#[test]
fn what_is_not_granted_is_refused_before_anything_begins() {
    let stage = stage("[policies]\ncompaction = \"reader.wasm\"");
    stage.write("reader.wasm", reader("verifications/phase-one.log"));
    let refused = stage.baton(&["run", "job.toml"]).expect(3);
    refused.says(&["baton:policy/artifacts@0.1.0", "not granted", "grants = { artifacts ="]);
    assert!(!stage.has_run());
}

// M6
#[test]
fn what_is_asked_for_granted_and_refused_is_told_first() {
    let grants = "grants = { artifacts = [\"verifications/*\"] }";
    let stage = stage(&format!("[policies]\ncompaction = {{ component = \"reader.wasm\", {grants} }}"));
    let wants = r#"{"schema":1,"artifacts":["verifications/*"],"fuel":80000000}"#;
    stage.write("reader.wasm", wanting(reader("verifications/phase-one.log"), wants));
    let ran = stage.baton(&["run", "job.toml"]).expect(0);
    let told = ran
        .stderr
        .find("reader asks for artifacts verifications/*; fuel 80000000; granted: artifacts verifications/*");
    let told = told.unwrap_or_else(|| panic!("{}", ran.stderr));
    assert!(ran.stderr.contains("refused: fuel 80000000"), "{}", ran.stderr);
    assert!(told < ran.stderr.find("rehearsal starts").unwrap());

    stage.write("reader.wasm", wanting(reader("x"), r#"{"schema":1,"network":true}"#));
    stage.baton(&["run", "job.toml", "--restart"]).expect(3).says(&["baton:wants", "network"]);
}
