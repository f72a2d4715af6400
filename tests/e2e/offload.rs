//! A prompt into a context that is nearly full refers to what is large in it (C4): the file is in the workspace for as long
//! as its phase is open, and in the artifact store after.

use std::fs;

use crate::support::{TestWorkspace, until};
use baton_runtime::core::{Action, Run};
use baton_runtime::store::{Journal, JournalEntry};

const NAME: &str = "inputs/phase-only/objective-b.md";

/// A job whose second objective has a long description, after a first one that fills the window to so many tokens of
/// 100,000. The second one hangs until there is a file `go`.
fn job(tokens: u32, description: &str) -> TestWorkspace {
    let first = format!(
        r#"{{ think_tokens = {tokens} }}, {{ write = "a.txt", content = "done" }}, {{ say = "It is written, as it was asked for." }}"#
    );
    let second = r#"{ hang = true, unless = "go" }, { write = "b.txt", content = "done" }, { say = "It is written, as it was asked for." }"#;
    let stage = TestWorkspace::job(&[("a", &first), ("b", second)], "");
    // The agent compacts long before; here it is not asked to.
    let own = "[paths]\nfolder = \"torch\"\n[policies]\nsettings = { compact-percent = 99 }\n[[phases]]";
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap().replace("[[phases]]", own);
    let whole = format!("description = \"\"\"\n{description}\"\"\"");
    stage.write("job.toml", workflow.replace("description = \"Write b.txt.\"", &whole));
    stage
}

/// Every prompt so far, in order.
fn prompts(stage: &TestWorkspace) -> Vec<String> {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().unwrap().run;
    let (mut folded, mut prompts) = (Run::new(), Vec::new());
    for entry in journal.read(&run).unwrap() {
        let JournalEntry::Input(stamped) = entry.unwrap() else { continue };
        for intent in folded.apply(&stamped).unwrap() {
            if let Action::Prompt { text, .. } = intent.action {
                prompts.push(text.body().unwrap().to_owned());
            }
        }
    }
    prompts
}

fn description() -> String {
    let rules: String =
        (0..60).map(|n| format!("Rule {n} of the format: every line ends with a sign.\n")).collect();
    format!("Write b.txt.\n{rules}The last rule is this one.\n")
}

#[test]
fn a_large_objective_is_a_pointer_in_a_full_context_and_a_text_in_a_new_one() {
    // C4, C6
    let whole = description();
    let stage = job(88_000, &whole);
    let mut host = stage.start(&["run", "job.toml"]);
    // Before it is there, the journal may be half made.
    let kept = stage.workspace.join("torch").join(NAME);
    until("the second prompt", || kept.exists() && prompts(&stage).len() == 2);
    let second = prompts(&stage).remove(1);
    let pointer = format!("- [b] Write b.txt. In full: torch/{NAME} (");
    assert!(
        second.contains(&pointer) && second.contains("tokens, estimated; read it by ranges)"),
        "{second}"
    );
    assert!(!second.contains("Rule 1 ") && !second.contains("The last rule"), "{second}");
    assert_eq!(stage.read(&format!("torch/{NAME}")), whole.trim());

    // The next session has an empty context.
    stage.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    fs::write(stage.workspace.join("go"), "").unwrap();
    stage.baton(&["resume"]).expect(0);
    let third = prompts(&stage).remove(2);
    assert!(third.contains("Rule 1 ") && third.contains("The last rule") && !third.contains(NAME), "{third}");

    // The phase is over, and so is the need to have it at hand.
    assert!(!kept.exists());
    let loaded = stage.baton(&["artifacts", "cat", NAME]).expect(0);
    assert_eq!(loaded.stdout, whole.trim());
}

#[test]
fn with_room_in_the_context_it_is_embedded() {
    // C4
    let stage = job(50_000, &description());
    fs::write(stage.workspace.join("go"), "").unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    let second = prompts(&stage).remove(1);
    assert!(second.contains("Rule 1 ") && second.contains("The last rule"), "{second}");
    assert!(stage.artifacts().iter().all(|artifact| artifact.name != NAME));
}
