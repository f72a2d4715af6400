//! Who decides what is layered (M4): a user, a workspace, a workflow, a role and a phase each choose a policy, and what `baton
//! policy which` says is what the journal of a run says. One mistake in a layer names its file and line.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::{CommandOutput, TestWorkspace};
use baton_runtime::core::decision::DecisionSource;
use baton_runtime::core::{Action, Input};
use baton_runtime::store::{Journal, JournalEntry};
use serde_json::Value;

/// Three phases one after the other; the last is of a role of its own.
const WORKFLOW: &str = r#"name = "layered"
goal = "Show who decides."
[roles.executor]
script = "script.toml"
permission = "full"
[roles.writer]
script = "script.toml"
[roles.writer.policies]
prompting = { component = "role.wasm", settings = { compact-percent = 63 } }
[limits]
backoff = "0s"
[policies]
prompting = { component = "flow.wasm", settings = { compact-percent = 62 } }
splitting = { settings = { max-objectives = 9 } }
[[phases]]
id = "one"
objectives = [{ id = "a", description = "Write a.txt.", files = ["a.txt"] }]
[[phases]]
id = "two"
depends_on = ["one"]
objectives = [{ id = "b", description = "Write b.txt.", files = ["b.txt"] }]
[phases.policies]
exhaustion = { component = "phase.wasm", settings = { compact-percent = 64 } }
[[phases]]
id = "three"
depends_on = ["two"]
role = "writer"
objectives = [{ id = "c", description = "Write c.txt.", files = ["c.txt"] }]
[phases.policies]
prompting = { component = "flow.wasm", settings = { compact-percent = 62 } }
"#;

const USER: &str = "[policies]\nall = { component = \"mine.wasm\", settings = { compact-percent = 61 } }\nbreaker = 5\nshadow = [\"mine.wasm\"]\n";
const WORKSPACE: &str = "# of the team\n[policies.splitting]\ncomponent = \"team.wasm\"\nsettings = { max-objectives = 7, max-files = 9 }\n";

/// A stage where every layer chooses another policy: the same component under many names, with other settings.
fn stage() -> TestWorkspace {
    let stage = TestWorkspace::new();
    let component = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/resilience.wasm");
    fs::create_dir_all(stage.path(".config/baton")).unwrap();
    for place in [".config/baton/mine.wasm", "work/team.wasm", "flow.wasm", "role.wasm", "phase.wasm"] {
        fs::copy(&component, stage.path(place)).unwrap();
    }
    stage.write(".config/baton/config.toml", USER);
    stage.write("work/baton.toml", WORKSPACE);
    stage.write("layered.toml", WORKFLOW);
    let step = |name: &str| {
        format!(
            "[objectives.{name}]\nsteps = [{{ write = \"{name}.txt\", content = \"done\" }}, \
             {{ write = \"baton.toml\", content = \"[policies]\\nall = 3\" }}, {{ say = \"It is written.\" }}]\n"
        )
    };
    stage.write("script.toml", format!("window_tokens = 100000\n{}", ["a", "b", "c"].map(step).concat()));
    stage
}

/// A command of `baton` that does not get its place by itself here.
pub(crate) fn placed(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    stage.baton(&[arguments, &["--workspace", &workspace, "--state-dir", &state]].concat())
}

pub(crate) fn which(stage: &TestWorkspace, arguments: &[&str]) -> Value {
    let ended = placed(stage, &[&["policy", "which"], arguments, &["--format", "json"]].concat()).expect(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// "phase two/exhaustion: phase by layered.toml:23", in order.
pub(crate) fn bindings(which: &Value) -> Vec<String> {
    let bindings = which["seats"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    bindings
        .map(|binding| {
            let scope = [&binding["scope"], &binding["role"], &binding["phase"]].map(text).join(" ");
            let file = text(&binding["from"]["file"]);
            let file = file.rsplit('/').next().unwrap_or_default();
            let (policy, layer) = (text(&binding["policy"]), text(&binding["from"]["layer"]));
            let scope = scope.split_whitespace().collect::<Vec<_>>().join(" ");
            format!(
                "{scope}/{}: {policy} by {layer} {file}:{}",
                text(&binding["decision"]),
                binding["from"]["line"]
            )
        })
        .collect()
}

/// Who answered, and how it was chosen: "phase two/exhaustion: phase". Everything that was asked is in it.
fn answered(stage: &TestWorkspace) -> BTreeSet<String> {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().unwrap().run;
    let entries: Vec<JournalEntry> = journal.read(&run).unwrap().map(Result::unwrap).collect();
    let mut found = BTreeSet::new();
    for entry in &entries {
        let JournalEntry::Intent { intent, .. } = entry else { continue };
        let Action::RequestDecision { request_id, scope, .. } = &intent.action else { continue };
        let label = entries.iter().find_map(|entry| match entry {
            JournalEntry::Input(stamped) => match &stamped.input {
                Input::Decided { request_id: to, label, .. } if to == request_id => Some(label),
                _ => None,
            },
            JournalEntry::Intent { .. } => None,
        });
        let label = label.expect("every question is answered");
        assert_eq!(label.by, DecisionSource::Configured, "{label:?}");
        let scope: Vec<String> = serde_json::to_value(scope)
            .unwrap()
            .as_object()
            .unwrap()
            .values()
            .map(|value| value.as_str().unwrap().to_owned())
            .rev()
            .collect();
        let mut scope = scope;
        scope.sort_by_key(|word| !["run", "role", "phase"].contains(&word.as_str()));
        found.insert(format!("{}/{}: {}", scope.join(" "), label.capability, label.policy));
    }
    found
}

// M4
#[test]
fn each_layer_decides_what_it_says_and_the_journal_says_the_same() {
    let stage = stage();
    let planned = which(&stage, &["layered.toml"]);
    let told = bindings(&planned);
    assert_eq!(
        told,
        [
            "run/exhaustion: mine by user config.toml:2",
            "run/completion: mine by user config.toml:2",
            "run/recovery: mine by user config.toml:2",
            "run/compaction: mine by user config.toml:2",
            "run/offloading: mine by user config.toml:2",
            "run/splitting: team by workspace baton.toml:2",
            "run/budgeting: mine by user config.toml:2",
            "run/prompting: flow by workflow layered.toml:13",
            "run/handoff: mine by user config.toml:2",
            "run/review: mine by user config.toml:2",
            "role writer/prompting: role by role layered.toml:9",
            "phase two/exhaustion: phase by phase layered.toml:23",
            "phase three/prompting: flow by phase layered.toml:30",
        ]
    );
    let splitting = &planned["seats"][5];
    let set = &splitting["settings"];
    assert_eq!((&set["max-objectives"]["value"], &set["max-files"]["value"]), (&9.into(), &9.into()));
    let by = |key: &str| set[key]["from"]["layer"].as_str().unwrap().to_owned();
    assert_eq!((by("max-objectives"), by("max-files")), ("workflow".to_owned(), "workspace".to_owned()));
    assert_eq!(splitting["behind"][0]["policy"], "resilience");
    assert_eq!((&planned["breaker"], &planned["watch"]), (&5.into(), &false.into()));
    let shadow = &planned["shadows"][0];
    assert_eq!((&shadow["shadow"], &shadow["from"]["line"]), (&"mine".into(), &4.into()));

    // Its agents write a `baton.toml` that nobody could read: what was read at the start is frozen with the run.
    stage.baton(&["run", "layered.toml"]).expect(0);
    assert!(stage.read("baton.toml").contains("all = 3"));
    let asked = answered(&stage);
    for binding in &told {
        let said = binding.split(" by ").next().unwrap();
        // Nothing fills a window here, nobody fails and nobody hands over, so nobody is asked about that; and the one phase of the
        // role decides for itself.
        let unasked = ["recovery", "compaction", "offloading", "handoff", "review"];
        let never = unasked.iter().any(|one| said.contains(one)) || said.starts_with("role ");
        assert!(never || asked.contains(said), "{said} is not in {asked:?}");
    }
    let by_binding: BTreeSet<&str> =
        told.iter().map(|binding| binding.split(" by ").next().unwrap()).collect();
    assert!(asked.iter().all(|one| by_binding.contains(one.as_str())), "{asked:?}");

    let now = which(&stage, &["--run"]);
    assert_eq!(bindings(&now), told);
    assert_eq!(now["seats"][5]["settings"], splitting["settings"]);
    assert_eq!(now["run"], stage.story().view.run.as_str());

    // The next run is of what the files say now.
    placed(&stage, &["policy", "which", "layered.toml"])
        .expect(2)
        .says(&["work/baton.toml:2:7: `all` in [policies]"]);
    stage.baton(&["run", "layered.toml"]).expect(2).says(&["work/baton.toml:2:7: `all` in [policies]"]);
}

// M4
#[test]
fn one_scope_is_shown_with_what_it_takes_over_from_wider_ones() {
    let stage = stage();
    let of = |arguments: &[&str]| bindings(&which(&stage, &[&["layered.toml"], arguments].concat()));
    assert_eq!(
        of(&["--phase", "two"]),
        [
            "run/completion: mine by user config.toml:2",
            "run/recovery: mine by user config.toml:2",
            "run/compaction: mine by user config.toml:2",
            "run/offloading: mine by user config.toml:2",
            "run/splitting: team by workspace baton.toml:2",
            "run/budgeting: mine by user config.toml:2",
            "run/prompting: flow by workflow layered.toml:13",
            "run/handoff: mine by user config.toml:2",
            "run/review: mine by user config.toml:2",
            "phase two/exhaustion: phase by phase layered.toml:23",
        ]
    );
    assert!(
        of(&["--role", "writer"]).contains(&"role writer/prompting: role by role layered.toml:9".to_owned())
    );
    assert_eq!(
        of(&["--phase", "three"]).last().unwrap(),
        "phase three/prompting: flow by phase layered.toml:30"
    );
    placed(&stage, &["policy", "which", "layered.toml", "--phase", "tow"])
        .expect(2)
        .says(&["unknown phase tow; one of: one, two, three"]);
    placed(&stage, &["policy", "which", "--phase", "two"]).expect(2).says(&["name its file"]);

    // Without a workflow it is what user and workspace say.
    let everything = bindings(&which(&stage, &[]));
    assert_eq!(everything[8], "run/handoff: mine by user config.toml:2");
    let text = placed(&stage, &["policy", "which"]).expect(0).stdout;
    assert!(text.contains("config.toml:2") && text.contains("by default"), "{text}");
}

// M4
#[test]
fn a_mistake_in_a_layer_names_its_file_and_line() {
    let check = |file: &str, text: &str, code: i32, parts: &[&str]| {
        let stage = stage();
        stage.write(file, text);
        placed(&stage, &["check", "layered.toml"]).expect(code).says(parts);
        placed(&stage, &["policy", "which", "layered.toml"]).expect(code).says(parts);
        stage.baton(&["run", "layered.toml"]).expect(code).says(parts);
        assert!(!stage.has_run(), "nothing was begun");
    };
    let user = ".config/baton/config.toml";
    check(
        user,
        "[policies]\nal = \"mine.wasm\"",
        2,
        &["config.toml:2:1: unknown key `al`", "did you mean `all`?"],
    );
    check(user, "\n\nthis is not TOML", 2, &[".config/baton/config.toml:3:"]);
    check(user, "[policies]\nall = \"absent.wasm\"", 2, &["config.toml:2", ".config/baton/absent.wasm"]);
    check(
        user,
        "[policies]\nall = { component = \"mine.wasm\", settings = { compact-at-percnt = 3 } }",
        3,
        &["config.toml:2", "compact-at-percnt"],
    );
    check(
        "work/baton.toml",
        "[policies]\nsplitting = { settings = { max-files = \"many\" } }",
        3,
        &["setting `max-files`"],
    );
    check("work/team.wasm", "no component", 3, &["work/baton.toml:2", "team.wasm"]);
    // M6: whoever brings a folder grants nothing, and is not trusted for it.
    let grants = "[policies.handoff]\ncomponent = \"team.wasm\"\ngrants = { artifacts = [\"*\"] }";
    check("work/baton.toml", grants, 2, &["work/baton.toml:1:1: `grants`", "whoever brings a policy"]);
    check(
        "work/baton.toml",
        "[trust]\nunsigned = \"allow\"",
        2,
        &["work/baton.toml:1:1: [trust]", "config.toml"],
    );
}

// M4
#[test]
fn each_layer_is_locked_beside_its_file() {
    let stage = stage();
    placed(&stage, &["policy", "lock", "layered.toml"]).expect(0).says(&[
        "work/baton.lock",
        "config",
        "pinned 3",
    ]);
    for lock in ["work/baton.lock", ".config/baton/baton.lock", "baton.lock"] {
        assert!(fs::read_to_string(stage.path(lock)).unwrap().contains("sha256:"), "{lock}");
    }
    placed(&stage, &["check", "layered.toml"]).expect(0);
    let mut other = fs::read(stage.path("work/team.wasm")).unwrap();
    other.push(0);
    stage.write("work/team.wasm", other);
    placed(&stage, &["check", "layered.toml"]).expect(3).says(&[
        "work/baton.toml:2: ",
        "\"team.wasm\"",
        "baton.lock pins",
    ]);
}

// M3, M4
#[test]
fn a_command_is_closer_than_every_file() {
    let stage = stage();
    let short = WORKFLOW.replace("files = [\"a.txt\"]", "files = [\"a.txt\"], verify = \"false\"");
    stage.write("layered.toml", short.replace("[limits]", "[limits]\nverifications = 0\nretries = 0"));
    stage.baton(&["run", "layered.toml"]).expect(5);
    let own = ["policy", "use", "role.wasm", "--decides", "splitting", "--set", "compact-percent=66"];
    placed(&stage, &own).expect(0);
    let splitting = || which(&stage, &["--run"])["seats"][5].clone();
    let now = splitting();
    assert_eq!((&now["policy"], &now["from"]["layer"]), (&"role".into(), &"command".into()));
    assert_eq!(now["settings"]["compact-percent"]["from"]["layer"], "command");
    let replaced: Vec<&Value> =
        now["behind"].as_array().unwrap().iter().map(|replaced| &replaced["from"]["layer"]).collect();
    assert_eq!(replaced, ["workspace", "built-in"]);
    placed(&stage, &["policy", "use", "--rollback", "--decides", "splitting"]).expect(0);
    assert_eq!(splitting()["from"]["layer"], "workspace");
}

// M6
#[test]
fn a_slip_in_whom_a_user_believes_is_told_before_anything_starts() {
    let stage = stage();
    for (trust, why) in [
        ("unsigned = \"never\"", "never"),
        ("unsignd = \"refuse\"", "unsignd"),
        ("[[trust.rule]]\nfrom = \"a/*\"\nkeys = [\"absent.pub\"]", "absent.pub"),
    ] {
        stage.write(".config/baton/config.toml", format!("[trust]\n{trust}\n"));
        let refused = placed(&stage, &["check", "layered.toml"]);
        assert!(matches!(refused.code, Some(2 | 3)), "{refused:?}");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        stage.baton(&["run", "layered.toml"]).says(&[why]);
        assert!(!stage.has_run());
    }
}

/// One phase with two objectives, whose prompts come from a layer.
const LAYERED: &str = r#"name = "ruled"
goal = "Show a layer."
[roles.executor]
script = "script.toml"
[policies]
settings = { max-objectives = 9 }
prompting = { layer = "house-rules.wasm", over = "builtin:resilience", settings = { rules = ["No TODO comments."] } }
[[phases]]
id = "one"
objectives = [{ id = "a", description = "Write a.txt.", files = ["a.txt"] }, { id = "b", description = "Write b.txt.", files = ["b.txt"] }]
"#;

fn layered(workflow: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let component = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/house-rules.wasm");
    fs::copy(&component, stage.path("house-rules.wasm")).unwrap();
    stage.write("ruled.toml", workflow);
    let step = |name: &str| {
        format!("[objectives.{name}]\nsteps = [{{ write = \"{name}.txt\", content = \"done\" }}]\n")
    };
    stage.write("script.toml", format!("window_tokens = 100000\n{}", ["a", "b"].map(step).concat()));
    stage
}

// M4, M6: a layer sees the prompt of the built-in policy and adds a section; the run is replayed to the byte and the unit of fuel.
#[test]
fn a_layer_adds_to_every_first_prompt_and_replays() {
    let stage = layered(LAYERED);
    stage.baton(&["run", "ruled.toml"]).expect(0);
    let story = stage.story();
    let told = stage.state().sessions().join(story.view.run.as_str()).join("s1/stdin.jsonl");
    let told = fs::read_to_string(told).unwrap();
    let section = r"## House rules\n- No TODO comments.\n\n## Reporting";
    assert_eq!(told.matches(section).count(), 1, "once a session: {told}");
    assert!(told.contains("## Your objective"), "and behind it stands the built-in policy: {told}");

    let inputs = stage.inputs();
    let labels = inputs.iter().filter_map(|input| match input {
        Input::Decided { label, .. } if label.policy == "house-rules" => Some(label),
        _ => None,
    });
    let nested: Vec<&str> =
        labels.flat_map(|label| label.nested.iter().map(|link| link.policy.as_str())).collect();
    assert_eq!(nested, ["resilience", "resilience"]);

    let verified = placed(&stage, &["replay", "--verify"]).expect(0).stdout;
    assert!(verified.contains("the same to the byte and the unit of fuel"), "{verified}");
    let which = placed(&stage, &["policy", "which", "ruled.toml"]).expect(0).stdout;
    assert!(which.contains("house-rules@"), "{which}");
}

// Bad input: what is named as a layer has to be one, and a chain has an end.
#[test]
fn a_layer_that_is_none_is_refused_before_anything_starts() {
    let resilience = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies/manager.wasm");
    for (from, to, said) in [
        (
            "prompting = { layer = \"house-rules.wasm\"",
            "splitting = { layer = \"manager.wasm\"",
            "it is not a layer for splitting",
        ),
        (
            "layer = \"house-rules.wasm\", ",
            "component = \"house-rules.wasm\", ",
            "has `over` without a `layer`",
        ),
        (
            "layer = \"house-rules.wasm\", ",
            "layer = \"a.wasm\", component = \"house-rules.wasm\", ",
            "names a `layer` and a `component`",
        ),
        (
            "over = \"builtin:resilience\"",
            "over = [\"a.wasm\", \"b.wasm\", \"c.wasm\", \"d.wasm\"]",
            "names 5 policies one behind the other",
        ),
    ] {
        let stage = layered(
            &LAYERED.replace(from, to).replace(", settings = { rules = [\"No TODO comments.\"] }", ""),
        );
        fs::copy(&resilience, stage.path("manager.wasm")).unwrap();
        let ended = stage.baton(&["run", "ruled.toml"]);
        assert_ne!(ended.code, Some(0), "{said}");
        assert!(ended.stderr.contains(said), "no {said:?} in {}", ended.stderr);
        assert!(!stage.workspace.join("a.txt").exists());
    }
}
