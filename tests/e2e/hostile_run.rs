//! Whole runs on which hostile policies decide: every decision falls back, the label says so, and the work gets done. And a
//! run whose policy tells all that it knows, to show how far that gets.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::guests::GuestBuilder;
use crate::support::TestWorkspace;
use baton_runtime::core::Input;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::decision::{Decision, DecisionSource, Provenance};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::view::RunStatus;

/// Each capability, and its world.
const CAPABILITIES: [(Capability, &str); 7] = [
    (Capability::Exhaustion, "exhaustion-policy"),
    (Capability::Compaction, "compaction-policy"),
    (Capability::Splitting, "splitting-policy"),
    (Capability::Budgeting, "budgeting-policy"),
    (Capability::Prompting, "prompting-policy"),
    (Capability::Handoff, "handoff-policy"),
    (Capability::Review, "review-policy"),
];

/// What each function does instead of answering, and the fault that comes of it.
const ATTACKS: [(&str, &str, &str); 6] = [
    ("loops", "(loop $again (br $again)) unreachable", "OutOfFuel"),
    ("traps", "unreachable", "Trap"),
    (
        "grows",
        "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable",
        "OutOfMemory",
    ),
    ("lies", "(i32.const 0x7ffffff0)", "Invalid"),
    ("recurses", "(call $recurse) unreachable", "Trap"),
    (
        "floods",
        "(loop $again (call $write (i32.const 2) (i32.const 0) (i32.const 9)) (br $again)) unreachable",
        "OutOfFuel",
    ),
];

fn attacker(world: &'static str, capability: Capability, body: &str) -> Vec<u8> {
    let guest = GuestBuilder::new(world).import("log", "write").item("(func $recurse (call $recurse))");
    guest.body(capability.function(), body).build()
}

/// The quickstart with these lines in the place of its policies.
fn stage_with(policies: &str) -> TestWorkspace {
    let stage = TestWorkspace::quickstart();
    let workflow = fs::read_to_string(stage.path("quickstart.toml")).unwrap();
    let usual = "all = \"builtin:resilience\"\nsettings = { compact-percent = 70 }\n";
    assert!(workflow.contains(usual));
    stage.write("quickstart.toml", workflow.replace(usual, policies));
    stage
}

/// Every decision of the newest run, with its label.
fn decided(stage: &TestWorkspace) -> Vec<(Decision, Provenance)> {
    let decided = |input| match input {
        Input::Decided { result, label, .. } => Some((result.expect("somebody decides"), *label)),
        _ => None,
    };
    stage.inputs().into_iter().filter_map(decided).collect()
}

/// Gives each capability the attacker that follows by so many, and runs the quickstart to its end.
fn run_with_attackers(turn: usize) {
    let attack = |place: usize| ATTACKS[(place + turn) % ATTACKS.len()];
    let policies: String = (0..)
        .zip(CAPABILITIES)
        .map(|(place, (capability, _))| {
            format!("{} = \"{}-{}.wasm\"\n", capability.name(), capability.name(), attack(place).0)
        })
        .collect();
    let stage = stage_with(&policies);
    for (place, (capability, world)) in CAPABILITIES.into_iter().enumerate() {
        let (name, body, _) = attack(place);
        stage.write(&format!("{}-{name}.wasm", capability.name()), attacker(world, capability, body));
    }
    stage.baton(&["run", "quickstart.toml"]).expect(0);

    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done));
    assert_eq!(story.done().len(), 8, "everything is done, as without them");
    let labels: Vec<_> = decided(&stage).into_iter().map(|(_, label)| label).collect();
    let mut met: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for label in &labels {
        assert_ne!(label.by, DecisionSource::HostFallback, "a component decides: {label:?}");
        for record in &label.faults {
            assert!(record.policy.starts_with(label.capability.name()), "{record:?}");
            let kind = format!("{:?}", record.fault);
            let kind = kind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
            met.entry(label.capability.name()).or_default().insert(kind);
            assert_eq!(label.policy, "resilience", "the one behind it decided");
        }
    }
    for (place, (capability, _)) in CAPABILITIES.into_iter().enumerate() {
        let faults = met.get(capability.name()).cloned().unwrap_or_default();
        assert_eq!(faults, BTreeSet::from([attack(place).2.to_owned()]), "{}: {labels:?}", capability.name());
    }
}

// M4, M6
#[test]
fn a_run_completes_whoever_attacks_each_of_its_decisions() {
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || (half..ATTACKS.len()).step_by(2).for_each(run_with_attackers));
        }
    });
}

/// Looks like a key of AWS; put together here, so that none lies in the repository.
fn key() -> String {
    ["AKIA", "Q3J7XWZ2LMNB4VTR"].concat()
}

/// A policy that writes what it is given into every text of its decisions about handoffs, and accepts them itself.
fn leaking(said: &str) -> Vec<u8> {
    let (at, bytes) = (1024, said.len());
    let texts = |places: &[u32]| -> String {
        let place = |to: &u32| {
            format!(
                "(i32.store (i32.const {to}) (i32.const {at})) (i32.store (i32.const {}) (i32.const {bytes}))",
                to + 4
            )
        };
        places.iter().map(place).collect()
    };
    // A list of one text, which is what is said.
    let list = |to: u32| {
        format!(
            "{} (i32.store (i32.const {to}) (i32.const 8192)) (i32.store (i32.const {}) (i32.const 1))",
            texts(&[8192]),
            to + 4
        )
    };
    // One section, called "leak", of one block of markdown.
    let page = |to: u32| {
        let stores = [(to, 8300), (to + 4, 1), (8300, 900), (8304, 4), (8320, 8400), (8324, 1)];
        let stores = stores.map(|(to, what)| format!("(i32.store (i32.const {to}) (i32.const {what}))"));
        stores.concat() + &texts(&[8404])
    };
    let review = "(i32.store (i32.const 64) (i32.const 100)) (i32.store8 (i32.const 77) (i32.const 1))";
    GuestBuilder::new("policy")
        .data(900, "leak")
        .data(at, said)
        .body("settings.schema", "(i32.const 0)")
        .body("prompting.compose", &format!("{} {} {} (i32.const 60)", page(64), texts(&[80]), list(72)))
        .body(
            "handoff.compose",
            &format!("{} {} {} {} (i32.const 60)", page(64), page(72), texts(&[92]), list(84)),
        )
        .body("review.assess", &format!("{review} {} (i32.const 60)", texts(&[80])))
        .build()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

/// What it says gets as far as a decision does: into the document for the next session, with the secret taken out of it.
// M6, C8
#[test]
fn a_secret_in_a_decision_does_not_leave_the_journal() {
    let key = key();
    let steps = r#"{ read = "one", tokens = 60000, unless = "note.txt" }, { write = "note.txt", content = "half" },
        { read = "two", tokens = 60000, unless = "note.txt" }, { write = "a.txt", content = "done" },
        { say = "Done: a" }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write(
        "job.toml",
        workflow.replace("[[phases]]", "[policies]\nprompting = \"leaks.wasm\"\nhandoff = \"leaks.wasm\"\nreview = \"leaks.wasm\"\n[[phases]]"),
    );
    stage.write(
        "leaks.wasm",
        leaking(&format!("## Your objective\n\n- [a] Log in with {key} and write a.txt.\n")),
    );
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(!ended.stdout.contains(&key) && !ended.stderr.contains(&key), "{}", ended.stderr);
    let told: Vec<_> = decided(&stage).into_iter().filter(|(_, label)| label.policy == "leaks").collect();
    let functions: HashSet<_> = told.iter().map(|(decision, _)| std::mem::discriminant(decision)).collect();
    assert_eq!(functions.len(), 3, "it briefed, composed and reviewed: {told:?}");

    let mut left = Vec::new();
    files(&stage.workspace, &mut left);
    files(&stage.state().sessions(), &mut left);
    let texts: Vec<_> =
        left.iter().map(|path| (path, fs::read_to_string(path).unwrap_or_default())).collect();
    assert!(
        texts.iter().any(|(_, text)| text.contains("Log in with [secret: aws-access-token]")),
        "it was masked"
    );
    for (path, text) in texts {
        assert!(!text.contains(&key), "{}", path.display());
    }
    for command in [&["report"][..], &["status"], &["artifacts", "ls"]] {
        let shown = stage.baton(command);
        assert!(!shown.stdout.contains(&key) && !shown.stderr.contains(&key), "{command:?}");
    }
}
