//! Agents that write programs where the host might look for its own: in a folder of `PATH` within the tree, as an activated environment of
//! Python puts there, and at the path of the host itself.

use std::fs;

use super::job_of_shell;

/// Programs that the host runs itself.
const OF_HOST: [&str; 4] = ["git", "sh", "bwrap", "node"];

#[test]
fn what_an_agent_writes_into_a_folder_of_path_is_not_run_by_the_host() {
    // N6: `.venv/bin/git` was run some 35 times, outside of any sandbox.
    for role in ["", "sandbox = \"write\"", "sandbox = \"strict\""] {
        let is_strict = role.contains("strict");
        if is_strict && std::env::var_os("BATON_TEST_SANDBOX").is_none() {
            eprintln!("SKIPPED: BATON_TEST_SANDBOX is not set, so a strict sandbox is not tried");
            continue;
        }
        let names = OF_HOST.join(" ");
        // Agents and checks may run them: those have a mark in their environment.
        let script = format!(
            "for name in {names}; do printf '#!/bin/sh\\ncase \"$BATON_SESSION_MARK$BATON_COMMAND\" in \"\") echo \"$0 $*\" >> \"%s/ran\";; esac\\nPATH=/usr/bin:/bin exec %s \"$@\"\\n' \
             \"$PWD\" \"$name\" > .venv/bin/$name; chmod +x .venv/bin/$name; done\necho done > a.txt\necho 'Done: a'"
        );
        let stage = job_of_shell(&script, role);
        stage.make_repository();
        let folder = stage.workspace.join(".venv/bin");
        fs::create_dir_all(&folder).unwrap();
        let path = std::env::join_paths(
            std::iter::once(folder.clone())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let path = path.unwrap().into_string().unwrap();
        stage.baton_with(&["run", "job.toml"], "PATH", &path).expect(0);
        assert!(folder.join("git").exists(), "it was written: {role}");
        // A host that starts behind it looks everywhere once more.
        stage.baton_with(&["run", "job.toml", "--restart"], "PATH", &path).expect(0);
        stage.baton_with(&["diff"], "PATH", &path).expect(0);
        let looks = stage.command(&["agents"]).current_dir(&stage.workspace).env("PATH", &path).output();
        crate::support::CommandOutput::from(looks.unwrap()).expect(0);
        let ran = fs::read_to_string(stage.workspace.join("ran")).unwrap_or_default();
        assert!(ran.is_empty(), "{role}: the host ran {ran}");
    }
}
