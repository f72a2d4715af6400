//! Agents that may edit files, and edit what others run: the settings of agents, of Baton and of git.

use std::fs;
use std::path::Path;

use crate::support::{Stage, until};

/// What an agent plants, and what is there of it before.
const STEPS: &str = r#"{ write = ".claude/settings.json", content = "{\"hooks\":{}}" },
 { write = ".mcp.json", content = "{}" }, { write = "baton.toml", content = "[policies]" },
 { write = ".git/hooks/pre-commit", content = "touch evil" }, { write = "a.txt", content = "done" }"#;

fn job(permission: &str) -> Stage {
    let stage = Stage::job(&[("a", STEPS)], "retries = 1");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let role = format!("script = \"script.toml\"\npermission = \"{permission}\"");
    stage.write("job.toml", workflow.replace("script = \"script.toml\"", &role));
    fs::write(stage.workspace.join(".mcp.json"), "mine").unwrap();
    stage.make_repository();
    stage
}

#[test]
fn what_an_agent_at_edit_makes_of_settings_is_put_back() {
    // N6
    let stage = job("edit");
    stage.baton(&["run", "job.toml"]).expect(0);
    let is_there = |path: &str| stage.workspace.join(path).exists();
    for planted in [".claude", "baton.toml", ".git/hooks/pre-commit"] {
        assert!(!is_there(planted), "{planted}");
        assert!(is_there(&format!("{planted}.from-agent")), "{planted}: nothing is lost");
    }
    assert_eq!(stage.read(".mcp.json"), "mine");
    assert_eq!((stage.read(".mcp.json.from-agent"), stage.read("a.txt")), ("{}\n".into(), "done\n".into()));
    let log = stage.baton(&["log"]).expect(0).stdout;
    assert!(log.contains(".mcp.json (it is called .mcp.json.from-agent now)"), "{log}");
    // What may edit everything keeps what it wrote.
    let stage = job("full");
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!((stage.read(".mcp.json"), stage.read("baton.toml")), ("{}\n".into(), "[policies]\n".into()));
}

#[test]
fn settings_are_put_back_where_the_host_died() {
    // N6
    let stage = job("edit");
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write(
        "script.toml",
        script.replace("{ write = \"a.txt\"", "{ hang = true, unless = \"go\" }, { write = \"a.txt\""),
    );
    let mut host = stage.start(&["run", "job.toml"]);
    let hook = stage.workspace.join(".git/hooks/pre-commit");
    until("the agent has planted", || Path::exists(&hook));
    host.kill().unwrap();
    host.wait().unwrap();
    fs::write(stage.workspace.join("go"), "").unwrap();
    stage.baton(&["resume"]).expect(0);
    assert!(!hook.exists() && !stage.workspace.join("baton.toml").exists());
    assert_eq!((stage.read(".mcp.json"), stage.read("a.txt")), ("mine".into(), "done\n".into()));
}
