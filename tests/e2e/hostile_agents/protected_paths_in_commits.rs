//! Agents that have the host write what a sandbox does not let them write: by commits of files that were never in their tree.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use baton_runtime::core::workflow::SandboxLevel;

use crate::sandbox::can;
use crate::support::TestWorkspace;

/// Two parts in trees of their own; the agent of the first plants what `plant` does.
fn parts(plant: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\ngoal = \"Show what happens.\"\nreview_parts = false\n\
        [roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = \"strict\"\n\
        [limits]\nretries = 0\nbackoff = \"0s\"\n[policies]\nsettings = { max-objectives = 1 }\n\
        [[phases]]\nid = \"20\"\nsplit = \"ahead\"\n\
        objectives = [{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }, { id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }]\n";
    stage.write("job.toml", job);
    let script = format!(
        "#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in\n*'Write a.txt'*)\n{plant}\necho a > a.txt; echo 'Done: a' ;;\nesac\n\
         case \"$prompt\" in *'Write b.txt'*) echo b > b.txt; echo 'Done: b' ;; esac\n"
    );
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(stage.workspace.join(".claude")).unwrap();
    fs::write(stage.workspace.join(".claude/settings.json"), "{}").unwrap();
    stage.make_repository();
    stage
}

// N6
#[test]
fn a_file_that_was_only_ever_in_an_index_is_not_landed() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    for flag in ["--skip-worktree", "--assume-unchanged"] {
        for commit in ["", "git -c user.name=x -c user.email=x commit -qm mine"] {
            let stage = parts(&format!(
                "blob=$(echo '{{\"hooks\": {{}}}}' | git hash-object -w --stdin)\n\
                 for file in .mcp.json .claude/settings.local.json .claude/settings.json; do\n\
                 git update-index --add --cacheinfo 100644,$blob,$file; git update-index {flag} $file; done\n\
                 {commit}\ngit update-index {flag} .mcp.json .claude/settings.local.json .claude/settings.json"
            ));
            stage.baton(&["run", "job.toml"]).expect(0);
            let read = |name: &str| fs::read_to_string(stage.workspace.join(name)).ok();
            assert_eq!(read("a.txt").as_deref(), Some("a\n"), "{flag} {commit}");
            assert_eq!(
                (read(".mcp.json"), read(".claude/settings.local.json")),
                (None, None),
                "{flag} {commit}"
            );
            assert_eq!(read(".claude/settings.json").as_deref(), Some("{}"), "{flag} {commit}");
            let committed = stage.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
            assert!(!committed.contains(".mcp.json"), "{committed}");
        }
    }
}
