//! Other policies while a run goes on (M3): by command, by a file that changes, back again, and across a restart. Each run
//! stands still in a verification until the test lets it go on, so nothing here depends on time.

use std::fs;

use crate::support::{CommandOutput, TestWorkspace, until};
use baton_runtime::core::decision::{DecisionSource, Provenance};
use baton_runtime::core::input::PolicyChangeCause;
use baton_runtime::core::observation::{AssessTrigger, Capability, PolicyQuery};
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::{Action, Digest, Input};
use baton_runtime::engine::builtin_bytes;
use baton_runtime::store::{Journal, JournalEntry};

const WORKS: &str = r#"{ say = "The work is done, as it was asked for." }"#;

/// The built-in policy under another digest: a section that nobody reads is added to it.
fn marked(mark: &str) -> Vec<u8> {
    let name = b"mark";
    let size = u8::try_from(1 + name.len() + mark.len()).unwrap();
    [builtin_bytes(), &[0, size, 4], name, mark.as_bytes()].concat()
}

/// Three phases; each stands still in its verification until a file is there.
fn blocked_workspace(policies: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let phase = |id: &str, after: &str| {
        format!(
            "[[phases]]\nid = \"{id}\"\ndepends_on = [{after}]\n\
             verify = \"touch at-{id}; while [ ! -e go-{id} ]; do sleep 0.02; done\"\n\
             objectives = [{{ id = \"{id}-work\", description = \"Do it.\" }}]\n"
        )
    };
    let phases = [phase("one", ""), phase("two", "\"one\""), phase("three", "\"two\"")].concat();
    stage.write(
        "job.toml",
        format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nscript = \"script.toml\"\n{policies}\n{phases}"
        ),
    );
    stage.write("script.toml", format!("window_tokens = 100000\n[objectives.\"*\"]\nsteps = [{WORKS}]\n"));
    stage
}

fn wait_for_phase(stage: &TestWorkspace, phase: &str) {
    let file = stage.workspace.join(format!("at-{phase}"));
    until(&format!("phase {phase} is verified"), || file.exists());
}

fn release_phase(stage: &TestWorkspace, phase: &str) {
    fs::write(stage.workspace.join(format!("go-{phase}")), "").unwrap();
}

fn use_policy(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage.baton(&[&["policy", "use"], arguments, &place].concat())
}

/// Who decided, in order.
fn labels(stage: &TestWorkspace) -> Vec<Provenance> {
    let label = |input| match input {
        Input::Decided { label, .. } => Some(*label),
        _ => None,
    };
    stage.inputs().into_iter().filter_map(label).collect()
}

/// Who decided this, each once, in order.
fn deciders(stage: &TestWorkspace, capability: Capability) -> Vec<(String, Digest)> {
    let mut found: Vec<_> = labels(stage)
        .into_iter()
        .filter(|label| label.capability == capability)
        .map(|label| (label.policy, label.component.unwrap()))
        .collect();
    found.dedup();
    found
}

fn built_in() -> (String, Digest) {
    ("resilience".to_owned(), Digest::of(builtin_bytes()))
}

// M3
#[test]
fn a_policy_is_put_in_place_by_command_and_taken_back() {
    let stage = blocked_workspace("");
    let mine = marked("mine");
    stage.write("mine.wasm", &mine);
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    let used = use_policy(&stage, &["mine.wasm", "--decides", "prompting,splitting"]).expect(0);
    used.says(&["mine@", "decides prompting, splitting", "from the next decision on"]);
    release_phase(&stage, "one");
    wait_for_phase(&stage, "two");
    use_policy(&stage, &["--rollback", "--decides", "prompting"])
        .expect(0)
        .says(&["resilience@", "prompting"]);
    let again = use_policy(&stage, &["--rollback", "--decides", "compaction"]).expect(2);
    again.says(&["nothing to go back to"]);
    release_phase(&stage, "two");
    release_phase(&stage, "three");
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);

    let log = stage.baton(&["log"]).expect(0).stdout;
    for told in
        ["decides prompting, splitting from now on, instead of resilience", "instead of mine; rolled back"]
    {
        assert!(log.contains(told), "{log}");
    }

    let mine = ("mine".to_owned(), Digest::of(&mine));
    assert_eq!(deciders(&stage, Capability::Prompting), [built_in(), mine.clone(), built_in()]);
    assert_eq!(deciders(&stage, Capability::Splitting), [built_in(), mine]);
    assert_eq!(deciders(&stage, Capability::Exhaustion), [built_in()]);
    let causes: Vec<_> = stage
        .story()
        .notices
        .into_iter()
        .filter_map(|notice| match notice {
            ProgressEvent::PolicyChanged { cause, .. } => Some(cause),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [PolicyChangeCause::Command, PolicyChangeCause::Rollback]);
}

// M3, M4
#[test]
fn a_policy_for_one_phase_decides_there_alone() {
    let stage = blocked_workspace("");
    stage.write("mine.wasm", marked("mine"));
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["mine.wasm", "--phase", "four"])
        .expect(2)
        .says(&["no phase four", "one, two, three"]);
    use_policy(&stage, &["mine.wasm", "--phase", "two", "--set", "stall-ms=100000"]).expect(0);
    use_policy(&stage, &["--rollback"])
        .expect(2)
        .says(&["nothing to go back to in this run", "in the phase two: --phase two"]);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let mine = ("mine".to_owned(), Digest::of(marked("mine")));
    for capability in [Capability::Prompting, Capability::Exhaustion] {
        assert_eq!(deciders(&stage, capability), [built_in(), mine.clone(), built_in()], "{capability}");
    }
}

// M3
#[test]
fn what_is_refused_changes_nothing() {
    let stage = blocked_workspace("");
    stage.write("broken.wasm", b"no component");
    stage.write("mine.wasm", marked("mine"));
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["broken.wasm"]).expect(3).says(&["not a WebAssembly component"]);
    use_policy(&stage, &["mine.wasm", "--set", "stall-ms=soon"]).expect(3).says(&["stall-ms"]);
    use_policy(&stage, &["absent.wasm"]).expect(2).says(&["absent.wasm"]);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    let ended = CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    assert!(labels(&stage).iter().all(|label| label.policy == "resilience"));
    ended.says(&["was refused"]);
}

// M3
#[test]
fn a_file_that_changes_is_swapped_in_and_a_broken_one_is_not() {
    let stage = blocked_workspace("[policies]\nall = \"mine.wasm\"\nwatch = true\n");
    stage.write("mine.wasm", marked("first"));
    let host = stage.start(&["run", "job.toml"]);
    let told = |wanted: fn(&ProgressEvent) -> bool| until("it is told", || stage.story().count(wanted) == 1);
    wait_for_phase(&stage, "one");
    stage.write("mine.wasm", marked("second"));
    told(|notice| matches!(notice, ProgressEvent::PolicyChanged { cause: PolicyChangeCause::File, .. }));
    release_phase(&stage, "one");
    wait_for_phase(&stage, "two");
    stage.write("mine.wasm", b"half a compone");
    told(|notice| matches!(notice, ProgressEvent::PolicyRefused { .. }));
    release_phase(&stage, "two");
    release_phase(&stage, "three");
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let of = |mark| ("mine".to_owned(), Digest::of(marked(mark)));
    assert_eq!(deciders(&stage, Capability::Prompting), [of("first"), of("second")]);
}

// M3
#[test]
fn watched_files_of_one_name_in_one_chain_are_refused_before_anything_starts() {
    let chained = "all = [\"a/mine.wasm\", \"b/mine.wasm\"]\n";
    let stage = blocked_workspace(&format!("[policies]\n{chained}watch = true\n"));
    let put = |stage: &TestWorkspace, folders: &[&str]| {
        for folder in folders {
            std::fs::create_dir(stage.path(folder)).unwrap();
            stage.write(&format!("{folder}/mine.wasm"), marked(folder));
        }
    };
    put(&stage, &["a", "b"]);
    let refused = stage.baton(&["run", "job.toml"]).expect(3);
    refused.says(&["b/mine.wasm", "a/mine.wasm is called mine as well", "rename one of the files"]);
    assert!(!stage.has_run());
    // Four may be named in one list; with one of the folder and the built-in one it is one too many.
    let folders = ["a", "b", "c", "d"];
    let long = folders.map(|folder| format!("\"{folder}/mine.wasm\""));
    let stage = blocked_workspace(&format!("[policies]\nall = [{}]\n", long.join(", ")));
    put(&stage, &folders);
    stage.write("work/baton.toml", "[policies]\nall = \"mine.wasm\"\n");
    stage.write("work/mine.wasm", marked("e"));
    stage.baton(&["run", "job.toml"]).expect(3).says(&["at most 5, the built-in one at its end included"]);
}

// M3, D8
#[test]
fn a_watched_file_that_was_rolled_back_is_not_taken_again_by_the_next_host() {
    let stage = blocked_workspace("[policies]\nall = \"mine.wasm\"\nwatch = true\n");
    stage.write("mine.wasm", marked("first"));
    let mut host = stage.start(&["run", "job.toml"]);
    let by_file = |notice: &ProgressEvent| {
        matches!(notice, ProgressEvent::PolicyChanged { cause: PolicyChangeCause::File, .. })
    };
    wait_for_phase(&stage, "one");
    stage.write("mine.wasm", marked("second"));
    until("it is put in place", || stage.story().count(by_file) == 1);
    use_policy(&stage, &["--rollback"]).expect(0);
    host.kill().unwrap();
    host.wait().unwrap();
    let resumed = stage.start(&["resume"]);
    // The file is looked at once a second, and taken when it has stayed as it was for one look.
    std::thread::sleep(std::time::Duration::from_secs(3));
    ["one", "two", "three"].iter().for_each(|phase| release_phase(&stage, phase));
    CommandOutput::from(resumed.wait_with_output().unwrap()).expect(0);
    assert_eq!(stage.story().count(by_file), 1, "the person's word holds");
    let last = deciders(&stage, Capability::Prompting).pop().unwrap();
    assert_eq!(last, ("mine".to_owned(), Digest::of(marked("first"))));
}

// M3, M6
#[test]
fn what_a_policy_is_refused_is_printed_with_the_flag_that_grants_it() {
    let stage = blocked_workspace("");
    let (name, wants) = (b"baton:wants", r#"{"schema":1,"fuel":80000000}"#);
    let size = u8::try_from(1 + name.len() + wants.len()).unwrap();
    stage.write("hungry.wasm", [builtin_bytes(), &[0, size, 11], name, wants.as_bytes()].concat());
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    let refused = use_policy(&stage, &["hungry.wasm", "--decides", "compaction"]).expect(0);
    refused.says(&[
        "hungry asks for fuel 80000000; granted: nothing; refused: fuel 80000000.",
        "`--grant fuel=80000000`",
        "from the next decision on",
    ]);
    let granted =
        use_policy(&stage, &["hungry.wasm", "--decides", "compaction", "--grant", "fuel=80000000"]).expect(0);
    assert!(!granted.stderr.contains("refused"), "{}", granted.stderr);
    ["one", "two", "three"].iter().for_each(|phase| release_phase(&stage, phase));
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
}

// M3, D8
#[test]
fn it_is_still_in_place_after_the_host_was_killed() {
    let stage = blocked_workspace("");
    stage.write("mine.wasm", marked("mine"));
    let mut host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["mine.wasm"]).expect(0);
    // Nothing but the journal has it any more.
    fs::remove_file(stage.path("mine.wasm")).unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    stage.write("other.wasm", marked("other"));
    let offline =
        use_policy(&stage, &["other.wasm", "--decides", "compaction", "--phase", "three"]).expect(0);
    offline.says(&["no host is running it", "baton resume"]);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    stage.baton(&["resume"]).expect(0);
    let mine = ("mine".to_owned(), Digest::of(marked("mine")));
    assert_eq!(deciders(&stage, Capability::Prompting), [built_in(), mine]);
    let decided = deciders(&stage, Capability::Compaction);
    assert!(decided.iter().all(|(policy, _)| policy != "resilience"), "{decided:?}");
}

/// What a run came to: every decision between two prompts, and where each phase stands. How often it is asked while an agent
/// works depends on the time that answers take.
fn course(stage: &TestWorkspace) -> (Vec<String>, Vec<String>) {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().unwrap().run;
    let (mut at_work, mut decided) = (Vec::new(), Vec::new());
    for entry in journal.read(&run).unwrap() {
        match entry.unwrap() {
            JournalEntry::Intent { intent, .. } => {
                if let Action::RequestDecision { request_id, request, .. } = intent.action
                    && matches!(&request.query, PolicyQuery::Exhaustion(seen) if seen.occasion != AssessTrigger::PromptEnded)
                {
                    at_work.push(request_id);
                }
            }
            JournalEntry::Input(stamped) => {
                if let Input::Decided { request_id, label, .. } = stamped.input
                    && !at_work.contains(&request_id)
                {
                    let Provenance { capability, policy, component, fuel, faults, .. } = *label;
                    // What a prompt says of times takes as much fuel as it has digits.
                    let fuel = (capability != Capability::Prompting).then_some(fuel);
                    decided.push(format!("{capability} {policy} {component:?} {fuel:?} {faults:?}"));
                }
            }
        }
    }
    let view = stage.story().view;
    let phases = view.phases.iter().map(|phase| {
        // When it was, differs from run to run.
        let objectives = phase.objectives.iter().map(|row| (&row.id, row.status, row.done_by, &row.by));
        format!("{} {:?} {:?}", phase.id, phase.status, objectives.collect::<Vec<_>>())
    });
    (decided, phases.collect())
}

// M3
#[test]
fn a_shadow_changes_nothing_whatever_it_does() {
    let run = |shadow: &str| {
        let stage = blocked_workspace(&format!("[policies]\n{shadow}\n"));
        let attacks = [
            ("loops", "(loop $again (br $again)) unreachable"),
            ("traps", "unreachable"),
            (
                "grows",
                "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable",
            ),
            ("lies", "(i32.const 0x7ffffff0)"),
        ];
        for (name, body) in attacks {
            let guest = crate::guests::GuestBuilder::new("prompting-policy").body("compose", body);
            stage.write(&format!("{name}.wasm"), guest.build());
        }
        for phase in ["one", "two", "three"] {
            release_phase(&stage, phase);
        }
        stage.baton(&["run", "job.toml"]).expect(0);
        stage
    };
    let alone = run("");
    let watched = run("shadow = [\"loops.wasm\", \"traps.wasm\", \"grows.wasm\", \"lies.wasm\", \
                       { component = \"builtin:resilience\", settings = { max-objectives = 2 } }]");
    assert_eq!(course(&alone), course(&watched));

    let place = [
        "--workspace",
        watched.workspace.to_str().unwrap(),
        "--state-dir",
        watched.state_root().to_str().unwrap(),
    ]
    .map(str::to_owned);
    let place: Vec<&str> = place.iter().map(String::as_str).collect();
    let report = watched.baton(&[&["policy", "shadow", "--format", "json"], &place[..]].concat()).expect(0);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let shadows = report["shadows"].as_array().unwrap();
    let briefs = |policy: &str, count: &str| {
        let of = |shadow: &&serde_json::Value| {
            shadow["policy"] == policy && shadow["function"] == "prompting.compose"
        };
        shadows.iter().find(of).map_or(0, |shadow| shadow[count].as_u64().unwrap())
    };
    // What they were not asked for want of a core is counted: on a machine without a free one, all of it may be.
    let left_out = report["left_out"].as_u64().unwrap();
    let asked = |policy| briefs(policy, "faults") + briefs(policy, "same") + briefs(policy, "differs");
    assert!(asked("traps") + left_out > 0, "{report:#}");
    assert_eq!(asked("traps"), briefs("traps", "faults"), "{report:#}");
    assert_eq!(asked("resilience"), briefs("resilience", "same"), "{report:#}");
    assert!(watched.processes().is_empty());
}

// M3
#[test]
fn a_rollback_takes_back_what_was_put_in_place_and_nothing_else() {
    let stage = blocked_workspace(
        "[policies]\nprompting = { component = \"own.wasm\", settings = { listed-files = 9 } }\n",
    );
    stage.write("own.wasm", marked("own"));
    stage.write("mine.wasm", marked("mine"));
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["--rollback"]).expect(2).says(&["nothing was put in place"]);
    // Twice in a row, before the first of them has decided anything: each is a step.
    use_policy(&stage, &["mine.wasm", "--decides", "prompting"]).expect(0);
    use_policy(&stage, &["builtin:resilience", "--decides", "prompting"]).expect(0);
    use_policy(&stage, &["--rollback"]).expect(0).says(&["mine@", "decides prompting in run"]);
    use_policy(&stage, &["--rollback"]).expect(0).says(&["own@", "decides prompting in run"]);
    use_policy(&stage, &["--rollback"]).expect(2).says(&["nothing was put in place"]);
    // Which of two switches is meant is for a person to say.
    use_policy(&stage, &["mine.wasm", "--decides", "splitting"]).expect(0);
    use_policy(&stage, &["own.wasm", "--decides", "review"]).expect(0);
    use_policy(&stage, &["--rollback"]).expect(2).says(&[
        "2 switches are in place, name one of them",
        "`--decides splitting` takes back mine@",
        "`--decides review` takes back own@",
    ]);
    use_policy(&stage, &["--rollback", "--decides", "review"]).expect(0);
    use_policy(&stage, &["--rollback"]).expect(0).says(&["decides splitting in run"]);
    use_policy(&stage, &["mine.wasm", "--phase", "three"]).expect(0);
    use_policy(&stage, &["--rollback", "--phase", "three", "--decides", "prompting"]).expect(0).says(&[
        "own@",
        "in phase three",
        "as in the rest of the run",
    ]);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let of = |name: &str| (name.to_owned(), Digest::of(marked(name)));
    assert_eq!(deciders(&stage, Capability::Prompting), [of("own")]);
    assert_eq!(deciders(&stage, Capability::Exhaustion), [built_in(), of("mine")]);
}

// M3, M4
#[test]
fn what_a_policy_abstains_from_is_decided_as_before() {
    let stage = blocked_workspace(
        "[policies]\nsettings = { listed-files = 9 }\nprompting = [\"quiet.wasm\", \"builtin:resilience\"]\n",
    );
    stage.write("quiet.wasm", quiet());
    stage.write("mine.wasm", marked("mine"));
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["mine.wasm", "--decides", "prompting"]).expect(0);
    release_phase(&stage, "one");
    wait_for_phase(&stage, "two");
    use_policy(&stage, &["quiet.wasm", "--decides", "prompting"]).expect(0);
    for phase in ["two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let prompts: Vec<Provenance> =
        labels(&stage).into_iter().filter(|label| label.capability == Capability::Prompting).collect();
    let course: Vec<(DecisionSource, &str, usize)> =
        prompts.iter().map(|label| (label.by, label.policy.as_str(), label.abstained.len())).collect();
    assert_eq!(course.first(), Some(&(DecisionSource::Next, "resilience", 1)), "{course:?}");
    assert!(course.contains(&(DecisionSource::Configured, "mine", 0)), "{course:?}");
    assert_eq!(
        course.last(),
        Some(&(DecisionSource::Next, "mine", 1)),
        "whoever decided until then: {course:?}"
    );
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let verify = ["replay", "--verify", "--workspace", &workspace, "--state-dir", &state];
    let verified = stage.baton(&verify).expect(0).stdout;
    assert!(
        verified.contains("replays exactly") && verified.contains("abstentions of a component"),
        "{verified}"
    );
}

/// The value that decides somewhere in the run.
fn set(stage: &TestWorkspace, decision: &str, setting: &str) -> serde_json::Value {
    binding_setting(stage, decision, setting)["value"].clone()
}

/// What `policy which` says of a setting of whoever decides something.
fn binding_setting(stage: &TestWorkspace, decision: &str, setting: &str) -> serde_json::Value {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let which =
        ["policy", "which", "--run", "--format", "json", "--workspace", &workspace, "--state-dir", &state];
    let which: serde_json::Value = serde_json::from_str(&stage.baton(&which).expect(0).stdout).unwrap();
    let bindings = which["seats"].as_array().unwrap();
    let found = bindings.iter().find(|found| found["decision"] == decision).expect("who decides it");
    found["settings"][setting].clone()
}

// M3, M4
#[test]
fn what_a_command_sets_is_laid_over_what_is_in_force() {
    let stage = blocked_workspace("[policies]\nsplitting = { settings = { max-objectives = 50 } }\n");
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["builtin:resilience", "--set", "compact-percent=60"])
        .expect(0)
        .says(&[", with compact-percent = 60"]);
    assert_eq!(set(&stage, "splitting", "max-objectives"), 50);
    assert_eq!(set(&stage, "compaction", "compact-percent"), 60.0);
    // Each is said to be set by whoever set it.
    let layer =
        |decision: &str, setting: &str| binding_setting(&stage, decision, setting)["from"]["layer"].clone();
    assert_eq!(
        (layer("splitting", "max-objectives"), layer("splitting", "compact-percent")),
        ("workflow".into(), "command".into())
    );
    use_policy(&stage, &["builtin:resilience", "--decides", "splitting", "--set", "max-objectives=40"])
        .expect(0);
    assert_eq!(set(&stage, "splitting", "max-objectives"), 40);
    assert_eq!(set(&stage, "splitting", "compact-percent"), 60.0);
    // A file of rules is as it is now.
    let rules = ["rules:house.toml", "--decides", "splitting"];
    stage.write("house.toml", "never-split = [\"one\"]\nobjectives-at-most = 9\n");
    use_policy(&stage, &rules).expect(0);
    assert_eq!(set(&stage, "splitting", "never-split")[0], "one");
    stage.write("house.toml", "objectives-at-most = 9\n");
    use_policy(&stage, &rules).expect(0);
    assert_eq!(set(&stage, "splitting", "never-split").as_array().map_or(0, Vec::len), 0);
    assert_eq!(set(&stage, "splitting", "objectives-at-most"), 9);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
}

// M3
#[test]
fn a_phase_with_a_policy_of_its_own_is_named_and_follows_the_run_again_after_a_rollback() {
    let stage = blocked_workspace("");
    for name in ["mine", "other"] {
        stage.write(&format!("{name}.wasm"), marked(name));
    }
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    use_policy(&stage, &["mine.wasm", "--decides", "prompting", "--phase", "two"]).expect(0);
    use_policy(&stage, &["mine.wasm", "--decides", "prompting", "--phase", "three"]).expect(0);
    use_policy(&stage, &["other.wasm", "--decides", "prompting,handoff"]).expect(0).says(&[
        "other@",
        "not in phase three, which has a policy of its own for prompting",
        "not in phase two, which has a policy of its own for prompting",
    ]);
    let again = use_policy(&stage, &["other.wasm", "--decides", "handoff"]).expect(0);
    again.says(&["other@", "decides handoff there already, with these settings: nothing has changed"]);
    use_policy(&stage, &["--rollback", "--phase", "three"]).expect(0).says(&["other@"]);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
    let of = |name: &str| (name.to_owned(), Digest::of(marked(name)));
    assert_eq!(deciders(&stage, Capability::Prompting), [built_in(), of("mine"), of("other")]);
}

// M3, M4
#[test]
fn another_build_of_a_policy_keeps_what_was_set_for_it() {
    let stage = blocked_workspace(
        "[policies]\nall = { component = \"mine.wasm\", settings = { compact-percent = 60 } }\n",
    );
    stage.write("mine.wasm", marked("first"));
    let host = stage.start(&["run", "job.toml"]);
    wait_for_phase(&stage, "one");
    stage.write("mine.wasm", marked("second"));
    use_policy(&stage, &["mine.wasm", "--set", "max-objectives=40"]).expect(0);
    assert_eq!(set(&stage, "compaction", "compact-percent"), 60.0);
    assert_eq!(set(&stage, "splitting", "max-objectives"), 40);
    // Another policy under the same name, which knows nothing of that.
    let guest = crate::guests::GuestBuilder::new("prompting-policy").body("compose", "unreachable");
    stage.write("mine.wasm", guest.build());
    use_policy(&stage, &["mine.wasm", "--decides", "prompting", "--unchecked"])
        .expect(0)
        .says(&["the new component has no setting compact-percent, max-objectives"]);
    use_policy(&stage, &["--rollback", "--decides", "prompting"]).expect(0);
    for phase in ["one", "two", "three"] {
        release_phase(&stage, phase);
    }
    CommandOutput::from(host.wait_with_output().unwrap()).expect(0);
}

/// Abstains from every prompt.
fn quiet() -> Vec<u8> {
    let body = format!("(i32.store8 (i32.const {0}) (i32.const 0)) (i32.const {0})", crate::guests::ANSWER);
    crate::guests::GuestBuilder::new("prompting-policy").body("compose", &body).build()
}
