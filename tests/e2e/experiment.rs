//! Live experiments with real hosts and rehearsal agents (M5): a run draws its arm once, keeps it whatever becomes of the host, and what
//! it draws is what the arm was when the experiment began. Guardrails stop enrolment, never work.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::enrolled::PlannedRunOutcome;
use crate::support::{CommandOutput, TestWorkspace};
use baton_lab::experiment::{ExperimentStore, assign};
use baton_runtime::core::experiment::Assignment;
use baton_runtime::core::input::PolicyBinding;
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::{ConfigLayer, PolicyScope};
use baton_runtime::core::{Digest, Input, RunId};
use baton_runtime::engine::builtin_bytes;
use baton_runtime::store::{Journal, JournalEntry, StateDir};

const WORKS: &str =
    r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;

/// The built-in policy under another digest: a section that nobody reads is added to it.
fn marked(mark: &str) -> Vec<u8> {
    let name = b"mark";
    let size = u8::try_from(1 + name.len() + mark.len()).unwrap();
    [builtin_bytes(), &[0, size, 4], name, mark.as_bytes()].concat()
}

/// A stage whose state is its own: an experiment takes every run of its state directory, also those of other tests.
struct ExperimentFixture {
    stage: TestWorkspace,
}

impl ExperimentFixture {
    fn new() -> Self {
        let stage = TestWorkspace::job(&[("a", WORKS)], "");
        stage.write("mine.wasm", marked("mine"));
        Self { stage }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(arguments).current_dir(self.stage.path("")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.stage.path("")).env("NO_COLOR", "1");
        if arguments[0] == "run" {
            // Each run has its work before it: a file that is there already is no change of this run.
            let _ = std::fs::remove_file(self.stage.workspace.join("a.txt"));
        }
        if !["experiment"].contains(&arguments[0]) {
            command.arg("--workspace").arg(&self.stage.workspace);
        }
        command
    }

    #[track_caller]
    fn baton(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().unwrap().into()
    }

    fn root(&self) -> std::path::PathBuf {
        self.stage.path(".local/state/baton")
    }

    fn start(&self) -> CommandOutput {
        self.baton(&["experiment", "start", "mark", "--control", "resilience", "--arm", "mine=mine.wasm:50"])
    }

    fn journal(&self) -> Journal {
        Journal::open_read_only(&StateDir::open(&self.root(), &self.stage.workspace).unwrap()).unwrap()
    }

    /// What each run began with, in order.
    fn began(&self) -> Vec<(RunId, Vec<Assignment>, Vec<PolicyBinding>)> {
        let journal = self.journal();
        let began = |run: RunId| match journal.first(&run).unwrap() {
            Some(JournalEntry::Input(stamped)) => match stamped.input {
                Input::Started { assignments, bindings, .. } => (run, assignments, bindings),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        };
        journal.runs().unwrap().into_iter().map(|run| began(run.run)).collect()
    }

    /// Every component that decided in a run.
    fn deciders(&self, run: &RunId) -> BTreeSet<Digest> {
        let journal = self.journal();
        let entries = journal.read(run).unwrap().map(Result::unwrap);
        entries
            .filter_map(|entry| match entry {
                JournalEntry::Input(stamped) => match stamped.input {
                    Input::Decided { label, .. } => label.component.clone(),
                    _ => None,
                },
                JournalEntry::Intent { .. } => None,
            })
            .collect()
    }

    /// Runs that die before anything is decided, until one is in the journal.
    fn die_after_the_start(&self) -> (RunId, Assignment) {
        for commit in 1..40 {
            let mut command = self.command(&["run", "job.toml"]);
            let killed = command.env("BATON_KILL_AT", format!("commit:{commit}")).output().unwrap();
            assert_eq!(killed.status.code(), None, "{killed:?}");
            let state = StateDir::open(&self.root(), &self.stage.workspace).unwrap();
            let is_there = state.journal().exists() && self.journal().latest().unwrap().is_some();
            if is_there {
                let (run, mut assignments, _) = self.began().remove(0);
                assert!(self.deciders(&run).is_empty(), "nothing was decided yet");
                return (run, assignments.remove(0));
            }
        }
        panic!("the run never began");
    }
}

// M5
#[test]
fn a_run_draws_an_arm_and_is_decided_by_what_the_arm_was_at_the_start() {
    let lab = ExperimentFixture::new();
    let started = lab.start().expect(0);
    assert!(started.stdout.contains("mark  version 1  running"), "{}", started.stdout);
    lab.start().expect(0).says(&["running already"]);
    // What becomes of the file is no matter of the arm.
    fs::remove_file(lab.stage.path("mine.wasm")).unwrap();
    let plan = lab.baton(&["run", "job.toml", "--dry-run"]).expect(0);
    assert!(plan.stdout.contains("a run gets one of control 50 %, mine 50 %"), "{}", plan.stdout);

    let components = [("control", Digest::of(builtin_bytes())), ("mine", Digest::of(marked("mine")))];
    let mut seen = BTreeSet::new();
    // Both arms come up within twenty draws, but for one time in a million.
    for _ in 0..20 {
        lab.baton(&["run", "job.toml"]).expect(0).says(&["enrolled in experiment mark: arm "]);
        let (run, assignments, bindings) = lab.began().pop().unwrap();
        let [assignment] = assignments.as_slice() else { panic!("{assignments:?}") };
        let right = components.iter().find(|(arm, _)| *arm == assignment.arm.as_str()).unwrap();
        assert_eq!(assignment.component, right.1);
        assert_eq!(assignment.propensities.values().sum::<f64>(), 1.0);
        assert_eq!(lab.deciders(&run), [right.1.clone()].into(), "the arm decides everything, in both arms");
        for capability in Capability::ALL {
            let mut deciding = bindings
                .iter()
                .filter(|binding| binding.capability == capability && binding.scope == PolicyScope::Run);
            assert_eq!(deciding.next_back().unwrap().from.layer, ConfigLayer::Experiment);
        }
        seen.insert(right.0);
        if seen.len() == 2 {
            break;
        }
    }
    assert_eq!(seen.len(), 2, "both arms came up");
    let units: BTreeSet<String> =
        lab.began().into_iter().map(|(_, mut given, _)| given.remove(0).unit).collect();
    assert_eq!(units.len(), lab.began().len(), "each run is a unit of its own");

    let status = lab.baton(&["status"]).expect(0);
    assert!(status.stdout.contains("experiment mark: arm "), "{}", status.stdout);
    let which = lab.baton(&["policy", "which", "--run"]).expect(0);
    assert!(which.stdout.contains("experiment  mark, arm "), "{}", which.stdout);
    let report = lab.baton(&["experiment", "report", "mark", "--format", "json"]).expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let known = |arm: usize| report["arms"][arm]["known"].as_u64().unwrap();
    assert_eq!((known(0) + known(1)) as usize, lab.began().len());
    assert_eq!(report["arms"][0]["invalid"], serde_json::Value::Null);

    // Not in it, and after its end, the files of the workflow decide again.
    lab.baton(&["run", "job.toml", "--no-experiment"]).expect(0);
    assert_eq!(lab.began().pop().unwrap().1, []);
    lab.baton(&["experiment", "stop", "mark"]).expect(0);
    let ended = lab.baton(&["run", "job.toml"]).expect(0);
    assert!(!ended.stderr.contains("experiment"), "{}", ended.stderr);
    assert_eq!(lab.began().pop().unwrap().1, []);
}

// M5
#[test]
fn another_component_is_another_version() {
    let lab = ExperimentFixture::new();
    lab.start().expect(0);
    lab.stage.write("mine.wasm", marked("another"));
    lab.start().expect(2).says(&["the component of mine is", "--new-version"]);
    let unknown = lab.baton(&["experiment", "report", "none"]).expect(2);
    unknown.says(&["there is no experiment none", "there is mark"]);
    let arguments = ["experiment", "start", "mark", "--arm", "mine=mine.wasm:50", "--new-version"];
    let next = lab.baton(&arguments).expect(0);
    assert!(
        next.stdout.contains("version 2  running") && next.stdout.contains("version 1  stopped"),
        "{}",
        next.stdout
    );
    lab.baton(&["run", "job.toml"]).expect(0);
    assert_eq!(lab.began().pop().unwrap().1[0].version, 2);
    let first = lab.baton(&["experiment", "report", "mark", "--version", "1"]).expect(0);
    assert!(!first.stdout.is_empty());
    lab.stage.write("empty.wasm", "\0asm");
    lab.baton(&["experiment", "start", "other", "--arm", "bad=empty.wasm"]).expect(3);
    lab.baton(&["experiment", "start", "other", "--arm", "bad=mine.wasm:0"]).expect(2).says(&["weight 0"]);
    let alike = ["experiment", "start", "alike", "--arm", "twin=builtin:resilience"];
    lab.baton(&alike).expect(0).says(&["control and twin are the same component with the same settings"]);
    lab.baton(&["experiment", "stop", "alike"]).expect(0);
    // The same decisions in the same runs: the earlier one has them.
    let later = lab.baton(&["experiment", "start", "later", "--arm", "late=mine.wasm"]).expect(0);
    later.says(&["experiment later gets no runs that are enrolled in mark"]);
    lab.baton(&["run", "job.toml"]).expect(0).says(&["not in experiment later: experiment mark"]);
    assert_eq!(lab.began().pop().unwrap().1.len(), 1);
}

// M5
#[test]
fn whoever_dies_before_the_first_decision_keeps_the_arm_and_so_does_what_begins_anew() {
    let lab = ExperimentFixture::new();
    lab.start().expect(0);
    let (run, given) = lab.die_after_the_start();
    // The file of the arm is gone; the run is bound to what it was.
    fs::remove_file(lab.stage.path("mine.wasm")).unwrap();
    let again = lab.baton(&["run", "job.toml"]).expect(0);
    assert!(again.stderr.contains("found") && !again.stderr.contains("has changed"), "{}", again.stderr);
    assert_eq!(lab.began().len(), 1, "it went on");
    assert_eq!(lab.deciders(&run), [given.component.clone()].into());
    assert_eq!(lab.began()[0].1, [given]);
}

// M5
#[test]
fn a_run_that_is_begun_anew_inherits_unit_and_arm() {
    let lab = ExperimentFixture::new();
    lab.start().expect(0);
    let (_, given) = lab.die_after_the_start();
    for launched in [false, true] {
        let arguments: &[&str] = if launched {
            &["run", "job.toml", "--restart", "--fresh"]
        } else {
            &["run", "job.toml", "--restart"]
        };
        let mut command = lab.command(arguments);
        if !launched {
            // Dies once more, so that there is something to begin anew.
            command.env("BATON_KILL_AT", "effect-before:3");
        }
        let ended = CommandOutput::from(command.output().unwrap());
        assert!(ended.stderr.contains("set aside"), "{}", ended.stderr);
        let began = lab.began();
        let (_, assignments, _) = began.last().unwrap();
        assert_eq!(assignments.as_slice(), std::slice::from_ref(&given), "launched: {launched}");
    }
    lab.stage.expect_no_process();
    assert_eq!(lab.began().len(), 3, "the launched one was enrolled once");
    let report = lab.baton(&["experiment", "report", "mark", "--format", "json"]).expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let assigned: u64 = (0..2).map(|arm| report["arms"][arm]["assigned"].as_u64().unwrap()).sum();
    assert_eq!(assigned, 1, "one unit, however often it was begun");
}

// M5
#[test]
fn a_guardrail_stops_enrolment_and_no_work() {
    let lab = ExperimentFixture::new();
    lab.start().expect(0);
    let (run, given) = lab.die_after_the_start();
    // Sixty runs of another workspace, in which the candidate's component failed.
    let experiments = ExperimentStore::below(&lab.root());
    let definition = experiments.read("mark").unwrap();
    let other = lab.stage.path("other");
    fs::create_dir(&other).unwrap();
    let journal = Journal::open(&StateDir::open(&lab.root(), &other).unwrap()).unwrap();
    let mut place = crate::enrolled::TestStateRoot::of(lab.root(), journal);
    for n in 0..80 {
        let unit = format!("unit-{n}");
        let faults = assign(&definition, &definition.versions[0], &unit).unwrap().arm.name.as_str() == "mine";
        place.run(&definition, &unit, |_| PlannedRunOutcome { faults, ..PlannedRunOutcome::default() });
    }
    place.flush();
    lab.baton(&["experiment", "report", "mark"]).expect(4).says(&["alarm: "]);

    // The run that has begun goes on with its arm.
    lab.baton(&["run", "job.toml"]).expect(0).says(&["found"]);
    assert_eq!(lab.deciders(&run), [given.component].into());
    for _ in 0..2 {
        let ended = lab.baton(&["run", "job.toml"]).expect(0);
        ended.says(&["experiment mark enrols no more runs", "workflow's own policy"]);
        assert_eq!(lab.began().pop().unwrap().1, []);
    }
    let list = lab.baton(&["experiment", "list"]).expect(0);
    assert!(list.stdout.contains("stopped by a guardrail"), "{}", list.stdout);
}

// M5
#[test]
fn a_workflow_that_chooses_by_role_is_left_alone() {
    let lab = ExperimentFixture::new();
    lab.start().expect(0);
    let text = fs::read_to_string(lab.stage.path("job.toml")).unwrap();
    let chosen = text.replace("[limits]", "[roles.executor.policies]\nhandoff = \"mine.wasm\"\n[limits]");
    lab.stage.write("job.toml", chosen);
    let ended = lab.baton(&["run", "job.toml"]).expect(0);
    ended
        .says(&["not in experiment mark: the workflow chooses a policy for handoff in role executor itself"]);
    assert_eq!(lab.began().pop().unwrap().1, []);
}

// M5, M6: an arm that gets less fuel than it asks for would be measured by how it fails.
#[test]
fn an_arm_gets_what_it_asks_for_or_the_experiment_is_refused() {
    let lab = ExperimentFixture::new();
    let (name, wants) = (b"baton:wants", r#"{"schema":1,"fuel":80000000}"#);
    let size = u8::try_from(1 + name.len() + wants.len()).unwrap();
    let hungry = [builtin_bytes(), &[0, size, 11], name, wants.as_bytes()].concat();
    lab.stage.write("hungry.wasm", hungry);
    let start = ["experiment", "start", "far", "--arm", "far=hungry.wasm"];
    lab.baton(&start).expect(2).says(&[
        "arm far: hungry asks for fuel 80000000; granted: nothing; refused: fuel 80000000",
        "`--grant far.fuel=80000000`",
    ]);
    let granting = |grant: &str| lab.baton(&[&start[..], &["--grant", grant, "--format", "json"]].concat());
    granting("near.fuel=80000000")
        .expect(2)
        .says(&["--grant names the unknown arm near; there is control, far"]);
    let started = granting("far.fuel=80000000").expect(0);
    let started: serde_json::Value = serde_json::from_str(&started.stdout).unwrap();
    let arms = &started["definition"]["versions"][0]["arms"];
    assert_eq!(arms[1]["grants"]["fuel"], 80_000_000);
    assert_eq!(arms[0]["grants"], serde_json::Value::Null);
    let shown = lab.baton(&["experiment", "show", "far"]).expect(0);
    assert!(shown.stdout.contains("granted 80000000 fuel"), "{}", shown.stdout);
}

// M5: control is what is configured, and what an arm sets aside is said before it decides anything.
#[test]
fn an_arm_of_the_configured_component_has_its_settings_and_another_one_says_what_it_sets_aside() {
    let lab = ExperimentFixture::new();
    let text = fs::read_to_string(lab.stage.path("job.toml")).unwrap();
    let configured = "[policies]\nexhaustion = { settings = { exhausted-phrases = { add = [\"my tank is empty\"] } } }\n[limits]";
    lab.stage.write("job.toml", text.replace("[limits]", configured));
    let start = ["experiment", "start", "late", "--decides", "exhaustion", "--arm", "late=resilience"];
    lab.baton(&[&start[..], &["--set", "late.warn-percent=91"]].concat())
        .expect(0)
        .says(&["new runs of every workflow in every folder take part"]);
    lab.baton(&["run", "job.toml"]).expect(0).says(&["enrolled in experiment late: arm "]);
    let which = lab.baton(&["policy", "which", "--run", "--format", "json"]).expect(0);
    let which: serde_json::Value = serde_json::from_str(&which.stdout).unwrap();
    let binding = &which["seats"]
        .as_array()
        .unwrap()
        .iter()
        .find(|binding| binding["decision"] == "exhaustion")
        .unwrap();
    assert_eq!(binding["from"]["layer"], "experiment");
    let phrases = binding["settings"]["exhausted-phrases"]["value"].to_string();
    assert!(phrases.contains("my tank is empty") && phrases.contains("prompt is too long"), "{binding}");

    lab.baton(&["experiment", "stop", "late"]).expect(0);
    let start = ["experiment", "start", "mark", "--decides", "exhaustion", "--arm", "mine=mine.wasm"];
    lab.baton(&start).expect(0);
    let aside = "experiment mark: arm mine overrides the setting exhausted-phrases (job.toml:6)";
    lab.baton(&["check", "job.toml"]).expect(0).says(&[aside]);
    let which = lab.baton(&["policy", "which", "job.toml"]).expect(0).stdout;
    let drawn = "experiment mark: a run gets one of control 50 %, mine 50 %";
    assert!(which.contains(drawn) && which.contains(aside), "{which}");
}
