//! What is Baton's own in a tree, and the programs of its roles: nobody inside changes what another one runs or is told.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use baton_runtime::core::workflow::SandboxLevel;

use super::beyond_mounts::split;
use super::can;
use crate::support::TestWorkspace;

/// A job of one objective in the workspace, whose agent is the shell script `ag.sh` there, with lines of the job.
fn job(script: &str, lines: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:sh ag.sh\"\nsandbox = \"strict\"\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n[[phases]]\nid = \"first\"\n\
         objectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n{lines}"
    );
    fs::write(stage.workspace.join("job.toml"), job).unwrap();
    let script = format!("cat > /dev/null\n{script}\necho a > a.txt; echo 'Done: a'\n");
    fs::write(stage.workspace.join("ag.sh"), script).unwrap();
    stage
}

#[test]
fn the_programs_of_all_roles_and_the_lock_of_policies_stay_as_they_are() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "echo 'echo evil > b.txt' > other.sh; echo 'echo evil > b.txt' > .claude/tools/run.sh\n\
                  touch .claude/tools/new.sh; echo x > baton.lock; echo free > free.sh";
    let other = "[[phases]]\nid = \"second\"\nrole = \"second\"\ndepends_on = [\"first\"]\n\
                 objectives = [{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }]\n\
                 [roles.second]\nagent = \"process:sh .claude/tools/run.sh other.sh\"\nsandbox = \"strict\"\n";
    let stage = job(script, other);
    fs::create_dir_all(stage.workspace.join(".claude/tools")).unwrap();
    fs::write(stage.workspace.join(".claude/tools/run.sh"), "sh \"$1\"\n").unwrap();
    let honest = "cat > /dev/null; echo honest > b.txt; echo 'Done: b'\n";
    fs::write(stage.workspace.join("other.sh"), honest).unwrap();
    stage.make_repository();
    let ended = stage.baton(&["run", "work/job.toml"]).expect(0);
    ended.says(&["/other.sh: its sandbox", "baton.lock (it is called baton.lock.from-agent now)"]);
    assert_eq!((stage.read("b.txt").as_str(), stage.read("other.sh").as_str()), ("honest\n", honest));
    assert!(
        !stage.workspace.join(".claude/tools/new.sh").exists(),
        "what is read-only has no writable folder in it"
    );
    assert_eq!(stage.read("free.sh"), "free\n");
}

#[test]
fn programs_of_roles_in_another_folder_and_what_comes_before_them_stay_as_they_are() {
    // N6: the agent of a confined role wrote what an unconfined role started by `cd`, or what `make` prefers to its Makefile.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let rewrite = "echo 'echo evil > b.txt' > t/b.sh";
    let prefer = "printf 'agent:\\n\\t@echo evil > b.txt\\n' > GNUmakefile";
    for (command, script) in
        [("sh -c 'cd t && sh b.sh'", rewrite), ("env -C t sh b.sh", rewrite), ("make -s agent", prefer)]
    {
        let other = format!(
            "[[phases]]\nid = \"second\"\nrole = \"second\"\ndepends_on = [\"first\"]\n\
             objectives = [{{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }}]\n\
             [roles.second]\nagent = \"process:{command}\"\n"
        );
        let stage = job(script, &other);
        fs::create_dir(stage.workspace.join("t")).unwrap();
        let honest = "cat > /dev/null; echo honest > \"$(dirname \"$0\")/../b.txt\"; echo 'Done: b'\n";
        fs::write(stage.workspace.join("t/b.sh"), honest).unwrap();
        fs::write(stage.workspace.join("Makefile"), "agent:\n\t@sh t/b.sh\n").unwrap();
        stage.make_repository();
        stage.baton(&["run", "work/job.toml"]).expect(0);
        assert_eq!(stage.read("b.txt"), "honest\n", "{command}");
        let is_made = |name: &str| stage.workspace.join(name).exists();
        match command.starts_with("make") {
            true => assert!(!is_made("GNUmakefile") && is_made("GNUmakefile.from-agent")),
            false => assert_eq!(stage.read("t/b.sh"), honest, "{command}"),
        }
    }
}

/// A second phase, whose agent has no sandbox.
fn free_phase(command: &str) -> String {
    format!(
        "[[phases]]\nid = \"second\"\nrole = \"second\"\ndepends_on = [\"first\"]\n\
         objectives = [{{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }}]\n\
         [roles.second]\nagent = \"process:{command}\"\n"
    )
}

#[test]
fn what_settings_of_agents_name_stays_as_it_is() {
    // N6: a confined agent wrote the hook that the settings of the next one, without a sandbox, have it run.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "for name in hook server free; do echo 'echo evil > b.txt' > tools/$name.sh; done; echo x > .mcp.json";
    let stage = job(script, "");
    // Stands for an agent that runs the hooks of the folder.
    let like = "cat > /dev/null\neval \"$(sed 's/.*\"command\": \"\\([^\"]*\\)\".*/\\1/' .claude/settings.json)\"\necho 'Done: b'\n";
    let like = stage.write("like.sh", like).display().to_string();
    let job = stage.read("job.toml") + &free_phase(&format!("sh {like}"));
    fs::write(stage.workspace.join("job.toml"), job).unwrap();
    let honest = "echo honest > b.txt\n";
    let server = r#"{"mcpServers": {"x": {"command": "sh", "args": ["server.sh"], "cwd": "tools"}}}"#;
    for folder in ["tools", ".claude"] {
        fs::create_dir(stage.workspace.join(folder)).unwrap();
    }
    for (name, text) in [
        ("tools/hook.sh", honest),
        ("tools/server.sh", honest),
        ("tools/free.sh", honest),
        (".mcp.json", server),
        (
            ".claude/settings.json",
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh ./tools/hook.sh"}]}]}}"#,
        ),
    ] {
        fs::write(stage.workspace.join(name), text).unwrap();
    }
    stage.make_repository();
    stage.baton(&["run", "work/job.toml"]).expect(0);
    for name in ["b.txt", "tools/hook.sh", "tools/server.sh"] {
        assert!(stage.read(name).contains("honest"), "{name}: {}", stage.read(name));
    }
    assert_eq!(stage.read(".mcp.json"), server);
    assert!(stage.read("tools/free.sh").contains("evil"), "what no settings name is the work");
}

#[test]
fn packages_of_the_tree_do_not_take_the_place_of_the_agent_that_a_runner_starts() {
    // N6: `npx` started what a confined agent had put into `node_modules`, without a sandbox.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "mkdir -p node_modules/.bin node_modules/other\n\
                  echo '{\"name\": \"@acme/agent\", \"bin\": {\"run\": \"x\"}}' > node_modules/other/package.json\n\
                  printf '#!/bin/sh\\ncat > /dev/null; echo evil > b.txt; echo \"Done: b\"\\n' > node_modules/.bin/run\n\
                  chmod +x node_modules/.bin/run";
    let stage = job(script, &free_phase("npx -y @acme/agent"));
    // As the real one does: what is in the folder comes first, by whatever name.
    let npx = "#!/bin/sh\nif [ -x node_modules/.bin/run ]; then exec node_modules/.bin/run; fi\n\
               cat > /dev/null; echo honest > b.txt; echo 'Done: b'\n";
    fs::create_dir(stage.path("bin")).unwrap();
    let npx = stage.write("bin/npx", npx);
    fs::set_permissions(npx, fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([stage.path("bin")].into_iter().chain(std::env::split_paths(&rest)));
    stage.make_repository();
    stage.baton_with(&["run", "work/job.toml"], "PATH", path.unwrap().to_str().unwrap()).expect(0);
    assert_eq!(stage.read("b.txt"), "honest\n");
    let is_made = |name: &str| stage.workspace.join(name).exists();
    assert!(!is_made("node_modules") && is_made("node_modules.from-agent"));
}

#[test]
fn an_agent_writes_what_its_own_run_has_in_batons_folder_and_nothing_of_another_one() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let report = r#"{"report": "decision-record", "decision": "by hand", "rationale": "it is short"}"#;
    let script = format!(
        "inbox=$(dirname .baton/*/inbox/README.md)\n\
         for file in init.sh inbox/forged.json; do echo evil >> .baton/20200101-000000/$file; done\n\
         touch .baton/new; mv .baton .away; mv .baton/20200101-000000 .baton/gone\n\
         echo '{report}' > $inbox/.one; mv $inbox/.one $inbox/one.json\n\
         n=0; until ls $inbox/taken/*one* > /dev/null 2>&1 || [ $n = 600 ]; do sleep 0.1; n=$((n + 1)); done\n\
         ls $inbox/taken > taken"
    );
    let stage = job(&script, "");
    let other = stage.workspace.join(".baton/20200101-000000");
    fs::create_dir_all(other.join("inbox")).unwrap();
    fs::write(other.join("init.sh"), "true\n").unwrap();
    stage.baton(&["run", "work/job.toml"]).expect(0).says(&["/init.sh: its sandbox"]);
    assert_eq!(fs::read_to_string(other.join("init.sh")).unwrap(), "true\n");
    assert_eq!(fs::read_dir(other.join("inbox")).unwrap().count(), 0);
    assert!(!stage.workspace.join(".baton/new").exists() && !stage.workspace.join(".away").exists());
    assert!(stage.read("taken").contains("one"), "{}", stage.read("taken"));
}

#[test]
fn a_check_reports_nothing_in_the_name_of_an_agent() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    for folder in ["", "[paths]\nfolder = \"notes/{run}\"\n"] {
        let stage = job("", folder);
        let report = r#"{"report": "decision-record", "decision": "FORGED", "rationale": "by the check"}"#;
        let check = format!(
            "for inbox in .baton/*/inbox notes/*/inbox; do [ -d \"$inbox\" ] || continue; echo seen >> seen\n\
             echo '{report}' > \"$inbox/forged.json\" && echo out >> out; done; true"
        );
        fs::write(stage.workspace.join("check.sh"), check).unwrap();
        let text =
            stage.read("job.toml").replace("id = \"first\"\n", "id = \"first\"\nverify = \"sh check.sh\"\n");
        fs::write(stage.workspace.join("job.toml"), text).unwrap();
        stage.baton(&["run", "work/job.toml"]).expect(0);
        assert!(stage.workspace.join("seen").exists() && !stage.workspace.join("out").exists(), "{folder}");
        let log = stage.baton(&["log"]).expect(0).stdout;
        assert!(!log.contains("FORGED"), "{log}");
    }
}

#[test]
fn a_part_sees_nothing_of_the_workspace_by_a_list_that_names_a_folder_above() {
    // N6: what is hidden was read there, and what stays as it is was changed.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let root = stage.workspace.canonicalize().unwrap();
    let (root, above) = (root.display().to_string(), root.parent().unwrap().display().to_string());
    for (name, text) in [(".env", "the secret"), (".mcp.json", "{}\n"), (".gitignore", ".env\nmodules\n")] {
        fs::write(stage.workspace.join(name), text).unwrap();
    }
    fs::create_dir(stage.workspace.join("modules")).unwrap();
    fs::write(stage.workspace.join("modules/one"), "").unwrap();
    let parts = format!(
        "cat {root}/modules/one || exit 9\n! cat {root}/.env || exit 9\n! cat {root}/.mcp.json || exit 9\necho evil > {root}/.mcp.json"
    );
    split(&stage, "strict", "depends_on = [\"first\"]\n", "", &parts);
    let lists = format!(
        "sandbox = {{ level = \"strict\", read = [\"{root}/modules\"], write = [\"{above}\"], hide = [\".env\"] }}"
    );
    let job = fs::read_to_string(stage.path("job.toml")).unwrap().replace("sandbox = \"strict\"", &lists);
    stage.write("job.toml", job);
    // A list holds no settings of the user's git.
    let home = tempfile::tempdir().unwrap();
    stage.baton_with(&["run", "job.toml"], "HOME", home.path().to_str().unwrap()).expect(0);
    assert_eq!(stage.read(".mcp.json"), "{}\n");
    for part in ["b", "c", "d", "e", "f", "g"] {
        assert_eq!(stage.read(&format!("{part}.txt")).trim(), part);
    }
}

#[test]
fn a_part_leaves_nothing_in_the_repository_that_git_believes() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let parts = "own=$(cut -d' ' -f2 .git); info=${own%/.git/*}/.git/objects/info\n\
                 echo x > $info/commit-graph; echo x > $info/http-alternates; mkdir -p $info/commit-graphs; touch $info/commit-graphs/x";
    split(&stage, "strict", "depends_on = [\"first\"]\n", "", parts);
    let info = stage.workspace.join(".git/objects/info");
    let ended = stage.baton(&["run", "job.toml", "--inline"]).expect(0);
    ended.says(&["commit-graph (it is called commit-graph.from-agent", "http-alternates (it is called"]);
    for name in ["commit-graph", "commit-graphs", "http-alternates", "alternates"] {
        assert!(!info.join(name).exists(), "{name}");
    }
    assert_eq!(stage.read("b.txt"), "b\n");
}

#[test]
fn a_server_of_the_tree_is_named_by_a_path_from_there() {
    // N6: a session failed whose role named one.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::job(&[("a", "{ write = \"a.txt\", content = \"a\" }")], "retries = 0");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let role = "script = \"script.toml\"\nsandbox = \"strict\"\n[roles.executor.mcp.one]\ncommand = [\"bin/server\"]";
    stage.write("job.toml", workflow.replace("script = \"script.toml\"", role));
    fs::create_dir(stage.workspace.join("bin")).unwrap();
    let server = stage.workspace.join("bin/server");
    fs::write(&server, "#!/bin/sh\n").unwrap();
    fs::set_permissions(server, fs::Permissions::from_mode(0o755)).unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
}
