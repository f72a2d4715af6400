//! What becomes of a file: read, held, written, refused.

use super::*;
use crate::prelude::*;
use crate::{Ask, sample};

struct Calm;

impl Compaction for Calm {
    fn decide(host: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
        Some(compaction::Decision::new(compaction::Action::Keep, host.text("words")))
    }
}

impl Settings for Calm {
    fn schema() -> Vec<settings::Setting> {
        vec![schema::text("words", "there is room", "What it says.")]
    }
}

// As `export_policy!` does it, which names this crate by its name.
impl Policy for Calm {
    fn answer(host: &impl Host, ask: Ask) -> Option<Answer> {
        crate::by::compaction::<Calm>(host, ask).ok()
    }

    fn schema() -> Vec<settings::Setting> {
        <Calm as Settings>::schema()
    }
}

/// A folder of this test alone, gone behind it.
struct Folder(PathBuf);

impl Folder {
    fn of(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("baton-golden-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn case() -> Case {
    Case::new(Ask::Compaction(sample::compaction_observation()))
}

#[test]
fn a_file_gets_its_decision_stands_and_tells_of_another_one() {
    let folder = Folder::of("replay");
    let file = folder.0.join("calm.json");
    // As `baton policy try --sample` prints it, with what the host alone knows.
    let mut question: Value = serde_json::from_str(&to_text(&case(), None)).unwrap();
    question.as_object_mut().unwrap().remove("schema");
    std::fs::write(&file, question.to_string()).unwrap();
    let wrong = replay::<Calm>(&file, false).unwrap_err();
    assert!(wrong.contains("has no decision yet; the policy decides\n{"), "{wrong}");
    replay::<Calm>(&file, true).unwrap();
    replay::<Calm>(&file, false).unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, to_text(&case(), Some(&case().answer::<Calm>())));

    std::fs::write(&file, written.replace("there is room", "there was room")).unwrap();
    let wrong = replay::<Calm>(&file, false).unwrap_err();
    let place = "decision.answer.reason was \"there was room\", and is \"there is room\"";
    assert!(wrong.contains(place) && wrong.contains("BATON_UPDATE_GOLDEN=1"), "{wrong}");
}

#[test]
fn a_file_that_the_policy_cannot_be_asked_any_more_is_named_with_what_to_do() {
    let folder = Folder::of("stale");
    let good = folder.0.join("calm.json");
    std::fs::write(&good, to_text(&case(), Some(&case().answer::<Calm>()))).unwrap();
    let file = folder.0.join("stale.json");
    let old = case().with_setting("loud", SettingValue::Flag(true));
    std::fs::write(&file, to_text(&old, None)).unwrap();
    for update in [false, true] {
        let wrong = replay::<Calm>(&file, update).unwrap_err();
        let named = format!("{}: the host would refuse these settings: ", file.display());
        assert!(wrong.starts_with(&named) && wrong.contains("loud"), "{wrong}");
        let then =
            "Edit the question in that file, or delete the file; then BATON_UPDATE_GOLDEN=1 cargo test";
        assert!(wrong.ends_with(then), "{wrong}");
    }
    std::fs::write(&file, to_text(&Case::new(Ask::Review(sample::review_observation(0))), None)).unwrap();
    let wrong = replay::<Calm>(&file, false).unwrap_err();
    assert!(wrong.contains("stale.json: the policy is asked `review`, and does not export"), "{wrong}");
    let wrong = held::<Calm>(&good, &old, false).unwrap_err();
    assert!(wrong.contains("calm.json, the question of this test: the host would refuse"), "{wrong}");
}

#[test]
fn a_question_of_a_test_is_held_to_its_file() {
    let folder = Folder::of("held");
    let file = folder.0.join("golden/calm.json");
    assert!(held::<Calm>(&file, &case(), false).unwrap_err().contains("has no decision yet"));
    held::<Calm>(&file, &case(), true).unwrap();
    held::<Calm>(&file, &case(), false).unwrap();
    let other = case().with_setting("words", SettingValue::Text("no".into()));
    assert!(held::<Calm>(&file, &other, false).unwrap_err().contains("another question"));
    held::<Calm>(&file, &other, true).unwrap();
    held::<Calm>(&file, &other, false).unwrap();
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let good: Value = serde_json::from_str(&to_text(&case(), Some(&case().answer::<Calm>()))).unwrap();
    let wrong = |path: &str, value: Value| {
        let mut document = good.clone();
        *document.pointer_mut(path).unwrap() = value;
        from_text(&document.to_string()).unwrap_err()
    };
    let action = "/decision/answer/action";
    for (path, value, said) in [
        ("/schema", json!(2), "schema: 2 is not known"),
        (
            "/ask/observation/session/state",
            json!("asleep"),
            "ask.observation.session.state: `asleep` is none of ",
        ),
        (
            "/ask/observation/session/turns",
            json!(-1),
            "ask.observation.session.turns: expected a whole number",
        ),
        (
            "/ask/observation/session/recent/1",
            json!({}),
            "ask.observation.session.recent.1.ordinal: is missing",
        ),
        (action, json!({ "action": "keep", "items": [] }), "decision.answer.action.items: is unknown"),
        (action, json!({ "action": "ask" }), "decision.answer.action.action: `ask` is none of "),
    ] {
        let told = wrong(path, value);
        assert!(told.starts_with(said), "{told}");
    }
}
