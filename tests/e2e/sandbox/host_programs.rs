//! Programs that a confined agent wrote, or a folder brought, where the host might run them itself: it does so in no case, since the host has
//! all rights of the user.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// What such a program does: it notes that nothing confines it. An agent has the mark of its session.
const NOTE: &str =
    "case \"$BATON_SESSION_MARK$BATON_COMMAND\" in \"\") echo \"$0 $*\" >> \"$HOME/ran\";; esac";

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A job of two phases, one after the other; the second one has the role `other`.
fn two_phases(executor: &str, other: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\n{executor}\n[roles.other]\n{other}\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n\
         [[phases]]\nid = \"first\"\nobjectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n\
         [[phases]]\nid = \"second\"\nrole = \"other\"\ndepends_on = [\"first\"]\n\
         objectives = [{{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }}]\n"
    );
    stage.write("job.toml", job);
    stage
}

fn levels() -> impl Iterator<Item = (SandboxLevel, &'static str)> {
    let levels = [(SandboxLevel::Write, "write"), (SandboxLevel::Strict, "strict")];
    levels.into_iter().filter(|(level, _)| can(*level))
}

/// What the host ran of the agent's.
fn ran(stage: &TestWorkspace) -> String {
    fs::read_to_string(stage.path("ran")).unwrap_or_default()
}

#[test]
fn the_program_of_a_confined_role_is_not_asked_for_anything() {
    // N6: `--help` and `auth status` were asked of a program that an agent had written, and of one that a cloned folder brought.
    for (_, level) in levels() {
        let confined = format!("agent = \"claude\"\nprogram = \"{{program}}\"\nsandbox = \"{level}\"\n");
        let stage = two_phases(&confined, &confined);
        let tool = stage.workspace.join("tools/claude");
        program(&tool, &format!("{NOTE}\n. \"$(dirname \"$0\")/lib.sh\""));
        fs::write(stage.workspace.join("tools/lib.sh"), format!("{NOTE}\n")).unwrap();
        let job = fs::read_to_string(stage.path("job.toml")).unwrap();
        let named = job.replace("{program}", &tool.display().to_string());
        fs::write(stage.workspace.join("job.toml"), &named).unwrap();
        for arguments in [
            &["check", "work/job.toml"][..],
            &["agents", "work/job.toml"],
            &["run", "work/job.toml", "--dry-run"],
            &["run", "work/job.toml", "--inline"],
            &["run", "work/job.toml", "--restart", "--accept-changes", "--inline"],
        ] {
            stage.baton(arguments);
            assert_eq!(ran(&stage), "", "{level}: {arguments:?}");
        }
        // By a link elsewhere it is the same program, and so is one whose interpreter lies in the tree.
        let linked = stage.path("elsewhere/claude");
        fs::create_dir_all(linked.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&tool, &linked).unwrap();
        let script = stage.path("script/claude");
        program(&script, "");
        fs::write(&script, format!("#!{}\n", tool.display())).unwrap();
        for other in [&linked, &script] {
            let named = job.replace("{program}", &other.display().to_string());
            fs::write(stage.workspace.join("job.toml"), named).unwrap();
            stage.baton(&["check", "work/job.toml", "--workspace", stage.workspace.to_str().unwrap()]);
            assert_eq!(ran(&stage), "", "{level}: {}", other.display());
        }
        // The user's own floor confines a role that says nothing.
        let open = job.replace(&format!("sandbox = \"{level}\"\n"), "");
        let open = open.replace("{program}", &tool.display().to_string());
        fs::write(stage.workspace.join("job.toml"), open).unwrap();
        fs::create_dir_all(stage.path(".config/baton")).unwrap();
        stage.write(".config/baton/config.toml", format!("sandbox = \"{level}\"\n"));
        stage.baton(&["check", "work/job.toml"]);
        assert_eq!(ran(&stage), "", "{level}");
    }
}

#[test]
fn what_a_write_list_names_supplies_no_program_to_the_host() {
    // N6: by `write = ["~/.cargo"]`, an agent wrote `~/.cargo/bin/git`, which the host ran in the same run and ever after.
    for (_, level) in levels() {
        let confined = format!(
            "agent = \"process:./agent.sh\"\nsandbox = {{ level = \"{level}\", write = [\"~/.cargo\"] }}"
        );
        let stage = two_phases(&confined, &confined);
        let bin = stage.path(".cargo/bin");
        fs::create_dir_all(&bin).unwrap();
        let plant = format!(
            "for name in git bwrap claude; do printf '#!/bin/sh\\n%s\\nPATH=/usr/bin:/bin exec '$name' \"$@\"\\n' '{NOTE}' \
             > ~/.cargo/bin/$name; chmod +x ~/.cargo/bin/$name; done"
        );
        let agent = format!(
            "case \"$(cat)\" in *'Write a.txt'*) {plant}\necho a > a.txt; echo 'Done: a';; *) echo b > b.txt; echo 'Done: b';; esac"
        );
        program(&stage.path("agent.sh"), &agent);
        stage.make_repository();
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin.clone()).chain(std::env::split_paths(&rest)));
        let path = path.unwrap();
        let baton = |arguments: &[&str]| -> CommandOutput {
            stage.command(arguments).env("PATH", &path).output().unwrap().into()
        };
        baton(&["run", "job.toml", "--inline"]).expect(0);
        assert!(bin.join("git").is_file() && bin.join("bwrap").is_file(), "{level}: it was written");
        baton(&["diff"]).expect(0);
        baton(&["run", "job.toml", "--restart", "--accept-changes", "--inline"]).expect(0);
        assert_eq!(ran(&stage), "", "{level}");
        // Another workflow of the same user names no list, and knows of the earlier one.
        let other = stage.workspace.join("other");
        fs::create_dir(&other).unwrap();
        let state = stage.state_root();
        let place = ["--workspace", other.to_str().unwrap(), "--state-dir", state.to_str().unwrap()];
        let plain = "agent = \"process:./agent.sh\"";
        let job = fs::read_to_string(stage.path("job.toml")).unwrap().replace(&confined, plain);
        stage.write("plain.toml", job);
        let mut run = stage.command(&[]);
        run.args(["check", "plain.toml"]).args(place).env("PATH", &path);
        assert_eq!(run.output().unwrap().status.code(), Some(0));
        assert_eq!(ran(&stage), "", "{level}");
    }
}

#[test]
fn no_write_list_holds_the_settings_of_baton_and_of_git() {
    // N6: an agent wrote `~/.config/git/config`, and the host ran the filter in it.
    for (_, level) in levels() {
        for (list, held) in [
            ("~/.config", ".config/baton"),
            ("~/.config/git", ".config/git"),
            ("~/.gitconfig", ".gitconfig"),
            ("~/dot", "dot/included"),
            // Programs of filters that a shell finds, also where their settings are included on a condition.
            ("~/tools", "tools/clean.sh"),
            ("~/more", "more"),
        ] {
            let confined = format!(
                "agent = \"process:./agent.sh\"\nsandbox = {{ level = \"{level}\", write = [\"{list}\"] }}"
            );
            let stage = two_phases(&confined, &confined);
            let agent = "cat > /dev/null; echo a > a.txt; echo b > b.txt; echo 'Done: a'";
            program(&stage.path("agent.sh"), agent);
            fs::create_dir_all(stage.path(".config/other")).unwrap();
            for folder in ["tools", "more", "dot"] {
                fs::create_dir_all(stage.path(folder)).unwrap();
            }
            stage.write("tools/clean.sh", "cat\n");
            stage.write("dot/on-branch", "[filter \"more\"]\nclean = \"cd ~/more && ./clean\"\n");
            stage.write(
                ".gitconfig",
                "[include]\npath = dot/included\n[includeIf \"onbranch:other\"]\npath = dot/on-branch\n\
                 [filter \"own\"]\nclean = \"$HOME/tools/clean.sh\"\n",
            );
            let ended = stage.baton(&["run", "job.toml"]).expect(5);
            ended.says(&["`write` of the sandbox names", held, "Name the folders in it"]);
            // A folder beside them can be given.
            let job = fs::read_to_string(stage.path("job.toml")).unwrap();
            stage.write("job.toml", job.replace(list, "~/.config/other"));
            stage.baton(&["run", "job.toml", "--restart", "--accept-changes"]);
            assert!(stage.workspace.join("a.txt").exists(), "{level} {list}");
        }
    }
}

#[test]
fn a_program_at_the_place_of_baton_is_not_run_for_an_unconfined_role() {
    // N6: the relay of a `process:` agent was started by the path of Baton, where an agent at `write` had put its own program.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = two_phases(
        "agent = \"process:./agent.sh\"\nsandbox = \"write\"",
        "agent = \"process:./second.sh\"\npty = true",
    );
    fs::create_dir_all(stage.workspace.join("bin")).unwrap();
    let own = stage.copy_of_baton("work/bin/baton");
    let own_path = own.display();
    program(
        &stage.path("agent.sh"),
        &format!(
            "cat > /dev/null; mv {own_path} {own_path}-old\n\
             printf '#!/bin/sh\\ntouch \"$HOME/ran\"\\n' > {own_path}; chmod +x {own_path}; echo a > a.txt; echo 'Done: a'"
        ),
    );
    program(&stage.path("second.sh"), "cat > /dev/null; echo b > b.txt; echo 'Done: b'");
    let same = stage.command(&["run", "job.toml", "--inline"]);
    let ended = stage.program_beside(&same, &own).args(same.get_args()).output().unwrap();
    CommandOutput::from(ended).expect(0);
    assert!(stage.workspace.join("bin/baton-old").exists() && stage.workspace.join("b.txt").exists());
    assert!(!stage.path("ran").exists(), "what an agent wrote was run outside of its sandbox");
}

#[test]
fn compiled_modules_that_an_agent_left_are_not_run_outside_of_a_sandbox() {
    // N6: Python took them from `__pycache__`, which is not compared, in the place of the module that a command names.
    let confined = levels().map(|(_, level)| format!("\nsandbox = \"{level}\""));
    for sandbox in std::iter::once(String::new()).chain(confined) {
        let stage = two_phases(
            &format!("agent = \"process:./agent.sh\"{sandbox}"),
            "agent = \"process:/usr/bin/python3 -m one\"",
        );
        if sandbox.is_empty() {
            // Nothing confines a check in this case.
            let job = fs::read_to_string(stage.path("job.toml")).unwrap();
            let check = "role = \"other\"\nverify = \"/usr/bin/python3 -m one check\"\n";
            stage.write("job.toml", job.replace("role = \"other\"\n", check));
        }
        let honest = "import sys\nif sys.argv[1:] == []:\n    sys.stdin.read()\n    open('b.txt', 'w').write('honest')\n    \
                      print('Done: b')\n";
        fs::write(stage.workspace.join("one.py"), honest).unwrap();
        let plant = "import os, py_compile, sys\n\
                     open('evil.py', 'w').write(\"open('evil', 'w')\")\n\
                     cache = f'__pycache__/one.{sys.implementation.cache_tag}.pyc'\n\
                     py_compile.compile('evil.py', cache, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\n\
                     os.remove('evil.py')\n";
        program(
            &stage.path("agent.sh"),
            &format!(
                "cat > /dev/null\n/usr/bin/python3 - <<'END'\n{plant}END\necho a > a.txt; echo 'Done: a'"
            ),
        );
        stage.make_repository();
        stage.baton(&["run", "job.toml", "--inline"]).expect(0);
        assert_eq!(stage.read("b.txt"), "honest", "{sandbox}");
        assert!(!stage.workspace.join("evil").exists(), "{sandbox}");
        // What was planted works.
        let mut python = std::process::Command::new("/usr/bin/python3");
        python.args(["-m", "one"]).current_dir(&stage.workspace).env_remove("PYTHONPYCACHEPREFIX");
        assert!(python.status().unwrap().success() && stage.workspace.join("evil").exists(), "{sandbox}");
    }
}
