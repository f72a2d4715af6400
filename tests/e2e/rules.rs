//! Files of rules, and settings of the policies that are part of the host: what they decide, beside which others, and what is said of a slip.

use baton_runtime::core::Input;
use baton_runtime::core::decision::{Decision, Provenance, RecoveryAction, Verdict};
use serde_json::Value;

use crate::layers::{bindings, placed, which};
use crate::support::TestWorkspace;

/// One phase whose first session stops with the words of a house rule, and whose agent then writes over the file of rules.
fn ruled() -> TestWorkspace {
    let stage = TestWorkspace::new();
    stage.write(
        "ruled.toml",
        "name = \"ruled\"\ngoal = \"Keep to the rules.\"\n[roles.executor]\nscript = \"script.toml\"\n[limits]\nbackoff = \"0s\"\n\
         [policies]\nexhaustion = [\"rules:work/house.toml\", \"builtin:resilience\"]\n[[phases]]\nid = \"one\"\n\
         objectives = [{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }]\n",
    );
    stage.write("work/baton.toml", "[policies]\nall = \"rules:house.toml\"\n");
    stage.write(
        "work/house.toml",
        "exhausted-phrases = [\"agent-text: vault is sealed\"]\nturns-by-phase = [\"o* = 7\"]\n",
    );
    stage.write(
        "script.toml",
        "window_tokens = 100000\n[objectives.a]\nsteps = [{ stop = \"The vault is sealed.\", session = \"first\" }, \
         { write = \"house.toml\", content = \"turns-by-mode = [\\\"swrm = 4\\\"]\" }, { write = \"a.txt\", content = \"done\" }]\n",
    );
    stage
}

// M4
#[test]
fn a_file_of_rules_decides_what_it_speaks_about() {
    let stage = ruled();
    let planned = which(&stage, &["ruled.toml"]);
    let told = bindings(&planned);
    assert_eq!(told[0], "run/exhaustion: rules by workflow ruled.toml:8");
    assert_eq!(told[6], "run/budgeting: rules by workspace baton.toml:2");
    assert_eq!(told[7], "run/prompting: resilience by built-in :null");
    let set = &planned["seats"][0]["settings"]["exhausted-phrases"];
    assert_eq!(set["value"][0], "agent-text: vault is sealed");

    // Rules that a closer layer names do not take the place of those of a farther one: both are asked.
    stage.write("near.toml", "turns-by-phase = [\"x* = 3\"]\n");
    let near = std::fs::read_to_string(stage.path("ruled.toml")).unwrap();
    let near = near.replacen("[policies]\n", "[policies]\nbudgeting = \"rules:near.toml\"\n", 1);
    stage.write("near-ruled.toml", near);
    let planned = which(&stage, &["near-ruled.toml"]);
    let mut budgeting = planned["seats"].as_array().unwrap().iter();
    let chain = budgeting.find(|binding| binding["decision"] == "budgeting").unwrap().to_string();
    assert!(chain.contains("near-ruled.toml") && chain.contains("baton.toml"), "{chain}");

    stage.baton(&["run", "ruled.toml"]).expect(0);
    assert!(stage.read("house.toml").contains("swrm"));
    let mut decided: Vec<(Decision, Provenance)> = Vec::new();
    for input in stage.inputs() {
        if let Input::Decided { result: Ok(decision), label, .. } = input {
            decided.push((decision, *label));
        }
    }
    let by_rules: Vec<&Decision> =
        decided.iter().filter(|(_, label)| label.policy == "rules").map(|(decision, _)| decision).collect();
    let [Decision::Budgeting(budget), Decision::Exhaustion(assessment), Decision::Recovery(recovery)] =
        by_rules.as_slice()
    else {
        panic!("{by_rules:?}")
    };
    assert_eq!(recovery.action, RecoveryAction::HandOff);
    assert_eq!((budget.max_turns, assessment.verdict), (Some(7), Verdict::Exhausted));
    let abstained = |label: &Provenance| label.abstained.iter().any(|before| before.policy == "rules");
    let next = decided.iter().filter(|(_, label)| label.policy == "resilience" && abstained(label));
    assert!(next.count() > 0, "the next of the chain decides the rest");

    assert_eq!(bindings(&which(&stage, &["--run"])), told);
    let verified = placed(&stage, &["replay", "--verify", "--format", "json"]).expect(0);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!((&verified["complete"], &verified["differences"]), (&true.into(), &0.into()), "{verified}");

    // The next run is of what the file says now; another file is tried on this one.
    let wrong = ["work/house.toml:1:18: `turns-by-mode`", "did you mean `swarm`?"];
    placed(&stage, &["check", "ruled.toml"]).expect(2).says(&wrong);
    placed(&stage, &["policy", "try", "rules:work/house.toml"]).expect(2).says(&wrong[1..]);
    stage.write("other.toml", "turns-by-mode = [\"* = 9\"]\n");
    let tried = placed(&stage, &["policy", "try", "rules:other.toml", "--decides", "budgeting"]).expect(0);
    assert!(tried.stdout.contains("9 turns"), "{}", tried.stdout);
    let inline =
        "exhaustion = { component = \"builtin:rules\", settings = { quota-phrases = [\"sealed\"] } }";
    stage.write("work/baton.toml", format!("[policies]\n{inline}\n"));
    stage.write("work/house.toml", "never-split = [\"one\"]\n");
    placed(&stage, &["check", "ruled.toml"])
        .expect(3)
        .says(&["work/baton.toml:2", "setting `quota-phrases`: \"sealed\" names no channel"]);
}

// M4: a list of the built-in policy is edited, not replaced.
#[test]
fn a_list_of_the_built_in_policy_is_edited() {
    let stage = TestWorkspace::new();
    let workflow = |edit: &str| {
        format!(
            "name = \"edited\"\ngoal = \"Keep to the list.\"\n[policies]\nsettings = {{ exhausted-phrases = {edit} }}\n\
             [roles.executor]\nscript = \"script.toml\"\n[limits]\nbackoff = \"0s\"\n[[phases]]\nid = \"one\"\n\
             objectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n"
        )
    };
    stage.write(
        "script.toml",
        "window_tokens = 100000\n[objectives.a]\nsteps = [{ stop = \"Kontext voll.\", session = \"first\" }, \
         { write = \"a.txt\", content = \"done\" }]\n",
    );
    stage.write("edited.toml", workflow("{ add = [\"kontext voll\"], remove = [\"TODO\"] }"));
    placed(&stage, &["check", "edited.toml"])
        .expect(3)
        .says(&["edited.toml:4", "\"TODO\" is not in the list, so it cannot be taken out"]);

    stage.write("edited.toml", workflow("{ add = [\"kontext voll\"], remove = [\"context is full\"] }"));
    let planned = which(&stage, &["edited.toml"]);
    let phrases = planned["seats"][0]["settings"]["exhausted-phrases"]["value"].to_string();
    assert!(phrases.contains("kontext voll") && phrases.contains("prompt is too long"), "{phrases}");
    assert!(!phrases.contains("context is full"), "{phrases}");

    let exhausted = || {
        stage.inputs().into_iter().any(|input| {
            let Input::Decided { result: Ok(Decision::Exhaustion(answer)), .. } = input else { return false };
            answer.verdict == Verdict::Exhausted
        })
    };
    stage.baton(&["run", "edited.toml"]).expect(0);
    assert!(exhausted());
    let verified = placed(&stage, &["replay", "--verify", "--format", "json"]).expect(0);
    let verified: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!((&verified["complete"], &verified["differences"]), (&true.into(), &0.into()), "{verified}");

    std::fs::remove_file(stage.workspace.join("a.txt")).unwrap();
    stage.write("edited.toml", workflow("{ remove = [\"context is full\"] }"));
    stage.baton(&["run", "edited.toml", "--restart"]).expect(0);
    assert!(!exhausted(), "the words are nobody's without the list");
}

// M4: what a workflow sets without a component is for those of the chain that have it, whatever the folder puts before them.
#[test]
fn settings_without_a_component_are_for_the_policy_that_has_them() {
    let stage = ruled();
    let workflow = |settings: &str| {
        let text = format!("name = \"ruled\"\ngoal = \"Keep to the rules.\"\n[policies]\n{settings}\n");
        let phase =
            "[[phases]]\nid = \"one\"\nobjectives = [{ id = \"a\", description = \"Write a.txt.\" }]\n";
        stage.write("ruled.toml", format!("{text}[roles.executor]\nscript = \"script.toml\"\n{phase}"));
    };
    stage.write("work/house.toml", "compact-percent = [\"* = 55\"]\n");
    let (alone, list) = ("\"rules:house.toml\"", "[\"rules:house.toml\", \"builtin:resilience\"]");
    for (all, is_beside) in [(alone, true), (list, true), (alone, false), (list, false)] {
        let all = format!("all = {all}\n");
        let (folder, beside) = if is_beside {
            ("", all.replace("rules:", "rules:work/"))
        } else {
            (all.as_str(), String::new())
        };
        stage.write("work/baton.toml", format!("[policies]\n{folder}"));
        workflow(&format!(
            "{beside}settings = {{ max-objectives = 4, compact-percent = 60 }}\n\
             review = {{ settings = {{ placeholder-phrases = {{ add = [\"xyzzy\"] }} }} }}"
        ));
        placed(&stage, &["check", "ruled.toml"]).expect(0);
        let planned = which(&stage, &["ruled.toml"]);
        let binding = |decision: &str| {
            let bindings = planned["seats"].as_array().unwrap().iter();
            bindings.into_iter().find(|binding| binding["decision"] == decision).unwrap().clone()
        };
        let compaction = binding("compaction");
        let rule = &compaction["settings"]["compact-percent"];
        assert_eq!(rule["value"][0], "* = 55", "{compaction}");
        assert!(rule["from"]["file"].as_str().unwrap().ends_with("work/house.toml"), "{compaction}");
        let next = &compaction["where_it_abstains"][0];
        assert_eq!(next["settings"]["compact-percent"]["value"], 60.0, "{compaction}");
        assert_eq!(next["settings"]["max-objectives"]["value"], 4, "{compaction}");
        let review = binding("review")["settings"]["placeholder-phrases"]["value"].to_string();
        assert!(review.contains("xyzzy"), "{review}");
    }
    workflow("settings = { max-objectivs = 4 }");
    placed(&stage, &["check", "ruled.toml"]).expect(3).says(&[
        "ruled.toml:4",
        "policy rules: setting `max-objectivs`: there is no such setting",
        "policy resilience: setting `max-objectivs`: there is no such setting; did you mean `max-objectives`?",
        "all = { component = ",
    ]);
}
