//! What commands run of a workspace, in every spelling.

use baton_core::workflow::{AgentKind, RoleServer, Sandbox};

use super::*;

/// A workspace with these files, and a workflow whose roles have these agents.
fn workspace(files: &[&str], agents: &[&str]) -> (tempfile::TempDir, PathBuf, Workflow) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    for name in files {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), "").unwrap();
    }
    let mut workflow = Workflow::default();
    for (at, agent) in agents.iter().enumerate() {
        let role = Role::of(agent.parse::<AgentKind>().unwrap());
        workflow.roles.insert(format!("role-{at}").as_str().into(), role);
    }
    (place, root, workflow)
}

fn names(paths: &BTreeSet<PathBuf>, root: &Path) -> Vec<String> {
    paths.iter().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}

// N6
#[test]
fn files_that_a_command_of_any_role_names_are_found() {
    let files = ["agent.py", "other.sh", "nested.sh", "server", "tools/config.json", "README.md", "claude"];
    let agents =
        ["acp:python3 agent.py tools --config=tools/config.json", "process:sh -c 'sh nested.sh; true'"];
    let (_place, root, mut workflow) = workspace(&files, &agents);
    let command = ["./server", "missing", "/etc/passwd", "../other.sh"].map(str::to_owned).to_vec();
    let server = RoleServer { command, env: Default::default(), offload: false };
    let role = workflow.roles.entry("third".into()).or_insert_with(|| Role::of(AgentKind::Claude));
    role.mcp.insert("one".into(), server);
    role.args = vec!["other.sh".to_owned()];
    role.program = Some(root.join("claude").display().to_string());
    let found = CommandFiles::of(&workflow, &root);
    let expected = ["agent.py", "claude", "nested.sh", "other.sh", "server", "tools/config.json"];
    assert_eq!(names(&found.files, &root), expected);
    assert_eq!(found.folders, BTreeSet::new());
}

// N6
#[test]
fn what_an_interpreter_runs_by_another_name_is_found() {
    let files = [
        "agentd/__main__.py",
        "agentd/lib/x.py",
        "agentd/__pycache__/x.pyc",
        "pack/__init__.py",
        "app/package.json",
        "one.py",
        "two.mjs",
        "Makefile",
        "package.json",
        "src/__main__.py",
        "src/index.js",
    ];
    let of = |agent: &str| {
        let (_place, root, workflow) = workspace(&files, &[agent]);
        let found = CommandFiles::of(&workflow, &root);
        let (files, folders) = (names(&found.files, &root), names(&found.folders, &root));
        (files, folders, names(&found.all(), &root))
    };
    let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let all = texts(&["agentd/__main__.py", "agentd/lib/x.py"]);
    assert_eq!(of("process:python3 agentd"), (Vec::new(), texts(&["agentd"]), all));
    assert_eq!(of("process:sh -c 'cat | python3.12 -u ./agentd'").1, ["agentd"]);
    assert_eq!(of("acp:python3 -m pack.main src").1, ["pack"]);
    assert_eq!(of("process:python3 -m one").0, ["one.py"]);
    assert_eq!(of("process:node ./two").0, ["two.mjs"]);
    assert_eq!(of("process:node app").1, ["app"]);
    assert_eq!(of("process:node .").0, ["package.json"]);
    assert_eq!(of("process:make -s agent").0, ["Makefile"]);
    // N6: in another folder, and what is preferred to what is there.
    assert_eq!(of("process:sh -c 'cd agentd && sh lib/x.py'").0, ["agentd/lib/x.py"]);
    assert_eq!(of("process:env -C agentd/lib sh x.py").0, ["agentd/lib/x.py"]);
    assert_eq!(of("process:node --cwd=app/../src ./index").0, ["src/index.js"]);
    assert_eq!(of("process:npm --prefix app run agent").0, ["app/package.json", "package.json"]);
    for starter in ["ionice -c3", "flock /tmp/lock", "taskset 1", "prlimit --nofile=9", "strace -f"] {
        assert_eq!(of(&format!("process:{starter} make agent")).0, ["Makefile"], "{starter}");
    }
    // N6: a value in the word of its option, and behind several of them.
    for command in
        ["make -f one.py", "make -fone.py", "make -sfone.py", "gmake --file=one.py", "java @one.py"]
    {
        assert!(of(&format!("process:{command}")).0.contains(&"one.py".to_owned()), "{command}");
    }
    for command in ["env -Cagentd/lib sh x.py", "make -sC agentd/lib -fx.py", "make -sCagentd/lib -fx.py"] {
        assert!(of(&format!("process:{command}")).0.contains(&"agentd/lib/x.py".to_owned()), "{command}");
    }
    let absent = |agent: &str| {
        let (_place, root, workflow) = workspace(&files, &[agent]);
        let found = CommandFiles::of(&workflow, &root);
        assert!(found.absent.iter().all(|file| found.kept().any(|kept| Path::new(&kept) == file)));
        names(&found.absent, &root)
    };
    assert_eq!(
        absent("process:make -C app"),
        ["GNUmakefile", "app/GNUmakefile", "app/Makefile", "app/makefile", "makefile"]
    );
    // N6: runners that search the folders above, by all names of their files.
    for (command, above, here) in [
        ("task agent", "Taskfile.dist.yml", "agentd/taskfile.yml"),
        ("just agent", "JustFile", "agentd/.justfile"),
        ("rake agent", "Rakefile.rb", "agentd/rakefile"),
        ("mise run agent", ".config/mise.toml", "agentd/.mise.toml"),
    ] {
        let agent = format!("process:env -C agentd {command}");
        let (_place, root, workflow) = workspace(&[above, "agentd/x"], &[&agent]);
        let found = CommandFiles::of(&workflow, &root);
        assert_eq!(names(&found.files, &root), [above], "{command}");
        assert!(names(&found.absent, &root).contains(&here.to_owned()), "{command}");
    }
    for before in ["one", "one/__main__.py", "one.so"] {
        assert!(absent("process:python3 -m one").contains(&before.to_owned()), "{before}");
    }
    assert!(absent("process:node ./two").contains(&"two".to_owned()));
    assert_eq!(absent("process:sh tools/new.sh out.txt"), ["tools/new.sh"]);
    assert_eq!(absent("process:tool --out report.md"), [""; 0]);
    // What a program works on is the work.
    for agent in ["process:python3 one.py src", "process:tool --dir src make", "process:tool two"] {
        assert_eq!(of(agent).1, [] as [&str; 0], "{agent}");
        assert!(!of(agent).0.iter().any(|file| file == "Makefile" || file == "two.mjs"), "{agent}");
    }
}

// N6: `npx` ran what an agent had put into the place of a package, or a package of that name in another folder.
#[test]
fn what_runners_of_packages_prefer_is_found() {
    let files = ["node_modules/@zed/agent/package.json", "node_modules/.bin/zagent", "package.json", "t/x"];
    let of = |agents: &[&str], strict: &[&str]| {
        let (_place, root, mut workflow) = workspace(&files, agents);
        fs::write(root.join(files[0]), r#"{"bin": {"zagent": "a.js", "../x": "b.js", "new": "c.js"}}"#)
            .unwrap();
        for name in strict {
            workflow.roles.get_mut(&(*name).into()).unwrap().sandbox = Sandbox::of(SandboxLevel::Strict);
        }
        let found = CommandFiles::of(&workflow, &root);
        [&found.files, &found.folders, &found.absent].map(|paths| names(paths, &root))
    };
    let [found, folders, absent] = of(&["process:npx -y @zed/agent@1.2"], &[]);
    assert_eq!(found, ["node_modules/.bin/zagent", "package.json"]);
    assert_eq!(folders, ["node_modules/@zed/agent"]);
    let expected = [".npmrc", "agent", "@zed/agent", "new"].map(|name| match name {
        ".npmrc" => name.to_owned(),
        command => format!("node_modules/.bin/{command}"),
    });
    assert!(expected.iter().all(|path| absent.contains(path)), "{absent:?}");
    assert!(!absent.iter().any(|path| path.ends_with(".bin/../x")), "{absent:?}");
    for command in ["npm exec -- @zed/agent", "sh -c 'cd t && bunx @zed/agent'", "timeout 9 pnpm @zed/agent"]
    {
        assert_eq!(of(&[&format!("process:{command}")], &[])[1], folders, "{command}");
    }
    assert!(of(&["process:sh -c 'cd t; npx other'"], &[])[2].contains(&"t/node_modules/other".to_owned()));
    let [_, _, absent] = of(&["process:uv run agent"], &[]);
    assert!([".venv/bin/agent", "pyproject.toml"].iter().all(|path| absent.contains(&(*path).to_owned())));
    // What only one role may do, another one that is confined does not choose.
    let both = ["process:npx -y @zed/agent", "process:sh x.sh"];
    assert_eq!(of(&both, &["role-1"])[1], ["node_modules", "node_modules/.bin"]);
    assert_eq!(of(&both, &["role-0", "role-1"])[1], folders);
}

// N6: an agent wrote the hooks that the settings of the next one name.
#[test]
fn what_settings_of_agents_name_is_found() {
    let files = ["tools/hook.sh", "tools/server.js", "Makefile", "README.md"];
    let (_place, root, workflow) = workspace(&files, &["process:true"]);
    fs::create_dir(root.join(".claude")).unwrap();
    let hook = r#"{"hooks": {"Stop": [{"hooks": [{"command": "sh \"$CLAUDE_PROJECT_DIR\"/tools/hook.sh; make"}]}]}}"#;
    fs::write(root.join(".claude/settings.json"), hook).unwrap();
    let server = r#"{"mcpServers": {"x": {"command": "node", "args": ["server"], "cwd": "tools"}}}"#;
    fs::write(root.join(".mcp.json"), server).unwrap();
    let found = CommandFiles::of(&workflow, &root);
    assert_eq!(names(&found.files, &root), ["Makefile", "tools/hook.sh", "tools/server.js"]);
    let named = CommandFiles::of_settings(&root);
    let named: BTreeSet<PathBuf> = named.named().map(Path::to_owned).collect();
    assert_eq!(names(&named, &root), ["tools/hook.sh", "tools/server.js"]);
}

// N6: a confined agent chose what the next one ran, where the command named the file in another spelling.
#[test]
fn every_spelling_of_a_file_names_it() {
    let files = ["tools/b.sh", "my tools/b.sh", "tools/b.py", "tools/c.py", "lib/b.py", "b.sh", "src/x.c"];
    let of = |command: &[&str]| {
        let (place, root, mut workflow) = workspace(&files, &["process:true"]);
        let home = root.parent().unwrap().to_str().unwrap().to_owned();
        let name = root.file_name().unwrap().to_str().unwrap();
        let command = command.iter().map(|word| word.replace("PLACE", name)).collect();
        let role = workflow.roles.values_mut().next().unwrap();
        role.mcp.insert("one".into(), RoleServer { command, env: Default::default(), offload: false });
        let found = CommandFiles::of_roles(&workflow, &root, Some(&home));
        drop(place);
        [&found.files, &found.folders, &found.absent].map(|paths| names(paths, &root))
    };
    for (line, file) in [
        ("sh $PWD/tools/b.sh", "tools/b.sh"),
        ("sh ~/PLACE/tools/b.sh", "tools/b.sh"),
        ("sh \"$HOME/PLACE/tools/b.sh\"", "tools/b.sh"),
        ("sh ${HOME}/PLACE/tools/b.sh", "tools/b.sh"),
        ("sh $(git rev-parse --show-toplevel)/tools/b.sh", "tools/b.sh"),
        ("sh \"$(dirname \"$(git rev-parse --git-dir)\")/tools/b.sh\"", "tools/b.sh"),
        ("sh ${X:-tools}/b.sh", "tools/b.sh"),
        ("sh \"my tools/b.sh\"", "my tools/b.sh"),
        ("sh my\\ tools/b.sh", "my tools/b.sh"),
        ("cd 'my tools' && sh b.sh", "my tools/b.sh"),
        ("sh tools\\/b.sh", "tools/b.sh"),
        ("sh to\"ols\"/b.sh", "tools/b.sh"),
        ("sh $'tools/\\x62.sh'", "tools/b.sh"),
        ("{tools/b.sh}", "tools/b.sh"),
        ("sh tools/{b,c}.sh", "tools/b.sh"),
        ("F=b; sh tools/$F.sh", "tools/b.sh"),
        ("sh -c 'sh \"to\"ols/b.sh'", "tools/b.sh"),
        ("sh *.sh", "b.sh"),
        ("python3 -um tools.b", "tools/b.py"),
        ("python3 -Imtools.b", "tools/b.py"),
        ("python3 -c 'import sys, tools.b as b'", "tools/b.py"),
        ("python3 -uc 'from tools import c as d, b; b'", "tools/b.py"),
    ] {
        assert!(of(&["sh", "-c", line])[0].contains(&file.to_owned()), "{line}");
    }
    for line in [
        "sh tools/*.sh",
        "bash -x ./tools/?.sh",
        "sh tools/$1.sh",
        ". tools/[ab].sh",
        "for f in tools/*.sh; do sh $f; done",
        "for f in tools/*; do \"$f\"; done",
        "ls tools/*.sh | xargs -n1 sh",
        "ls tools | xargs sh",
        "find tools -name b.sh -exec sh {} \\;",
        "find tools -type f | while read f; do sh -e \"$f\"; done",
        "cat tools/*.sh | sh",
        "run-parts --regex . tools",
        "PATH=tools:$PATH b.sh",
        "PATH=$PATH:$PWD/tools b.sh",
    ] {
        assert_eq!(of(&["sh", "-c", line])[1], ["tools"], "{line}");
    }
    assert_eq!(of(&["find", "tools", "-name", "b.sh", "-exec", "sh", "{}", ";"])[1], ["tools"]);
    assert_eq!(of(&["env", "PATH=tools:/usr/bin:/bin", "b.sh"])[1], ["tools"]);
    let [found, folders, _] = of(&["env", "PYTHONPATH=lib", "python3", "-m", "b"]);
    assert_eq!((found, folders), (vec!["lib/b.py".to_owned()], Vec::new()), "modules are the work");
    assert!(of(&["env", "PATH=bin:/bin", "x"])[2].contains(&"bin".to_owned()));
    assert!(of(&["sh", "-c", "sh new/*.sh"])[2].contains(&"new".to_owned()));
    assert_eq!(of(&["python3", "-um", "tools.b"])[0], ["tools/b.py"]);
    assert_eq!(of(&["~/PLACE/tools/b.sh"])[0], ["tools/b.sh"]);
    // What a program works on is the work.
    for line in [
        "cat src/*.c | tool",
        "eslint 'src/**/*.c'",
        "find src -name '*.c' | xargs tool --write",
        "find src -name '*.c' -exec tool {} +",
        "python3 tools/b.py src/*.c",
        "for f in src/*.c; do tool $f; done",
        "PATH=$PWD:$PATH b.sh",
        "sh -c 'ls src'",
    ] {
        assert_eq!(of(&["sh", "-c", line])[1], [""; 0], "{line}");
    }
}

// N6
#[test]
fn settings_of_agents_name_files_in_every_spelling() {
    let (_place, root, workflow) = workspace(&["my tools/hook.sh", "tools/hook.sh"], &["process:true"]);
    let home = root.parent().unwrap().to_str().unwrap();
    let of_home = format!("sh ~/{}/tools/hook.sh", root.file_name().unwrap().to_str().unwrap());
    for (command, file) in [
        (of_home.as_str(), "tools/hook.sh"),
        ("\"$CLAUDE_PROJECT_DIR/my tools/hook.sh\"", "my tools/hook.sh"),
        ("bash \"$(dirname \"$(git rev-parse --git-dir)\")/tools/hook.sh\"", "tools/hook.sh"),
    ] {
        let settings = serde_json::json!({ "hooks": { "Stop": [{ "hooks": [{ "command": command }] }] } });
        fs::create_dir_all(root.join(".claude")).unwrap();
        fs::write(root.join(".claude/settings.json"), settings.to_string()).unwrap();
        let found = CommandFiles::of_roles(&workflow, &root, Some(home));
        assert!(names(&found.files, &root).contains(&file.to_owned()), "{command}");
    }
}
