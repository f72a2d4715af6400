//! Verification, reviews, loops, limits and notifications of a workflow file.

use super::{refused, with};
use crate::workflow::file::parse;
use crate::workflow::{SplitTime, Workflow};

fn read(text: &str) -> Workflow {
    parse(text, "w.toml", "/home/ada").unwrap_or_else(|error| panic!("{error}"))
}

/// A phase with one objective.
fn phase(id: &str, more: &str) -> String {
    format!(
        "[[phases]]\nid = \"{id}\"\n{more}\nobjectives = [{{ id = \"o-{id}\", description = \"Do.\" }}]\n"
    )
}

#[test]
fn objectives_are_verified_and_phases_reviewed() {
    // D3
    let more = [
        phase("a", "review = \"reviewer\""),
        phase("b", "review = { role = \"reviewer-deep\", score = 80 }"),
    ];
    let workflow = read(&with("", &format!("verify = \"sh tests/parser.sh\"\n{}", more.concat())));
    assert_eq!(workflow.phases[0].objectives[0].verify.as_deref(), Some("sh tests/parser.sh"));
    let reviews: Vec<Option<(&str, u32)>> = workflow
        .phases
        .iter()
        .map(|phase| phase.review.as_ref().map(|review| (review.role.as_str(), review.score)))
        .collect();
    assert_eq!(reviews, [None, Some(("reviewer", 70)), Some(("reviewer-deep", 80))]);
    assert!(workflow.roles.contains_key(&"reviewer-deep".into()), "the role comes into being");
    assert!(
        refused(&with("", &phase("a", "review = \"reviwer\"")))
            .contains("`review` names `reviwer`, which is no role")
    );
    let table = refused(&with("", &phase("a", "review = { role = \"reviewer\", score = 101, sore = 1 }")));
    assert!(table.contains("from 1 to 100") && table.contains("unknown key `sore`"), "{table}");
    assert!(refused(&with("", &phase("a", "review = 3"))).contains("it must be text or a table"));
}

#[test]
fn when_a_phase_may_be_split_and_whether_its_parts_are_reviewed_is_said_in_the_file() {
    // D2 D12
    let workflow = read(&with(
        "",
        &["ahead", "during", "never"].map(|time| phase(time, &format!("split = \"{time}\""))).concat(),
    ));
    let times: Vec<SplitTime> = workflow.phases.iter().map(|phase| phase.split).collect();
    assert_eq!(times, [SplitTime::During, SplitTime::Ahead, SplitTime::During, SplitTime::Never]);
    assert_eq!(workflow.review_parts, Some(true), "parts are reviewed unless the file says otherwise");
    assert_eq!(read(&with("review_parts = false", "")).review_parts, Some(false));
    let message = refused(&with("", &phase("a", "split = \"first\"")));
    assert!(message.contains("`split` in phase `a` cannot be \"first\""), "{message}");
    let plain = serde_json::to_value(&workflow.phases[0]).unwrap();
    assert!(plain.get("split").is_none(), "journals of before read the same");
}

#[test]
fn a_loop_leads_back_to_an_earlier_phase_and_is_decided_by_something() {
    // B10
    let looped = |from: &str, more: &str| {
        [
            phase("plan", ""),
            phase("execute", ""),
            phase("check", &format!("repeat = {{ from = \"{from}\", at_most = 5 }}\n{more}")),
        ]
        .concat()
    };
    let workflow = read(&with("", &looped("plan", "verify = \"true\"")));
    let repeat = workflow.phases[3].repeat.as_ref().unwrap();
    assert_eq!((repeat.from.as_str(), repeat.at_most), ("plan", 5));
    read(&with("", &looped("plan", "review = \"reviewer\"")));
    let says = |text: &str, part: &str| {
        let message = refused(&with("", text));
        assert!(message.contains(part), "{part:?} is not in: {message}");
    };
    says(&looped("plan", ""), "nothing says when it is good enough");
    says(&looped("paln", "verify = \"true\""), "repeats from `paln`, which is no phase");
    says(&looped("paln", "verify = \"true\""), "did you mean `plan`?");
    says(&looped("check", "verify = \"true\""), "which does not stand before it");
    says(&looped("plan", "verify = \"true\"").replace("= 5", "= 51"), "from 1 to 50");
}

#[test]
fn loops_lie_within_each_other_or_apart() {
    // B10
    let four = |loops: [&str; 4]| {
        ["a", "b", "c", "d"]
            .into_iter()
            .zip(loops)
            .map(|(id, from)| match from {
                "" => phase(id, ""),
                from => {
                    phase(id, &format!("verify = \"true\"\nrepeat = {{ from = \"{from}\", at_most = 2 }}"))
                }
            })
            .collect::<String>()
    };
    for fine in [["", "a", "", "c"], ["", "", "b", "a"], ["", "a", "", "a"]] {
        read(&with("", &four(fine)));
    }
    for crossed in [["", "", "a", "b"], ["", "a", "b", ""]] {
        let message = refused(&with("", &four(crossed)));
        assert!(message.contains("begins within the loop of phase"), "{message}");
    }
}

#[test]
fn agents_providers_and_notifications_arrive() {
    // D9
    let top = "agent = \"claude\"\n[roles.executor]\nprovider = \"anthropic\"\n[limits]\nagents = 14\nparallel = 3\n\
               split_fan_out = 100\nproviders = { anthropic = 4, codex = 2 }\n[notify]\ncommand = \"notify-send baton\"\nbell = true";
    let workflow = read(&with(top, ""));
    let limits = workflow.limits;
    assert_eq!((limits.agents, limits.parallel, limits.split_fan_out), (14, 3, 100));
    assert_eq!(workflow.providers["anthropic"], 4);
    assert_eq!(workflow.roles[&"executor".into()].provider(), "anthropic");
    assert_eq!((workflow.notify.command.as_deref(), workflow.notify.bell), (Some("notify-send baton"), true));
    // With another agent it is another provider's quota.
    let codex = workflow.with_agent(crate::workflow::AgentKind::Codex);
    assert_eq!(codex.roles[&"executor".into()].provider(), "codex");
    let plain = serde_json::to_value(read(&with("", ""))).unwrap();
    for key in ["turns", "providers", "notify"] {
        assert!(plain.get(key).is_none(), "journals of before read the same: {key}");
    }
}

#[test]
fn limits_of_agents_and_providers_are_checked() {
    let says = |top: &str, parts: &[&str]| {
        let message = refused(&with(top, ""));
        for part in parts {
            assert!(message.contains(part), "{part:?} is not in: {message}");
        }
    };
    says("[limits]\nagents = 0", &["from 1 to 256"]);
    says("[limits]\nsplit_fan_out = 201", &["from 2 to 200"]);
    says("[limits.providers]\nclaude = 0", &["`claude` in [limits.providers] is out of bounds"]);
    says("[limits.providers]\nclade = 3", &["`clade`, which no role uses", "did you mean `claude`?"]);
    says("[roles.executor]\nprovider = \"a b\"", &["`provider` in [roles.executor] cannot be \"a b\""]);
    says("[notify]\ncommand = \"\"\nbel = true", &["is empty", "unknown key `bel`"]);
    // A role with another provider in another mode counts as well.
    read(&with("[limits.providers]\nzed = 1\n[modes.swarm.roles.executor]\nprovider = \"zed\"", ""));
}

#[test]
fn context_files_name_a_path_of_the_workspace_and_headings() {
    // A13
    let context = |value: &str| with("", &phase("a", &format!("context = [{value}]")));
    let workflow = read(&context(
        "{ file = \"docs/design.md\", sections = [\" Parser \", \"Errors\"] }, { file = \"README.md\" }",
    ));
    let read: Vec<(&str, Vec<&str>)> = workflow.phases[1]
        .context
        .iter()
        .map(|file| (file.path.as_str(), file.sections.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(read, [("docs/design.md", vec!["Parser", "Errors"]), ("README.md", vec![])]);
    let says = |value: &str, part: &str| {
        let message = refused(&context(value));
        assert!(message.contains(part), "{part:?} is not in: {message}");
    };
    says("{ file = \"../x.md\" }", "leads out with `..`");
    says("{ file = \"/x.md\" }", "absolute");
    says("{ file = \"x.md\", sections = [\" \"] }", "is empty");
    says("{ file = \"x.md\", sections = [\"a\\nb\"] }", "is not a heading");
    says("{ file = \"x.md\", section = \"a\" }", "unknown key `section`");
    says("{ sections = [\"a\"] }", "`file`");
    let many = vec!["\"s\""; 21].join(", ");
    says(&format!("{{ file = \"x.md\", sections = [{many}] }}"), "20");
}
