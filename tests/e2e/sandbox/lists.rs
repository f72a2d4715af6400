//! What the lists of a sandbox name, where agents move folders and exchange links between two starts.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// Two phases one after the other, in roles whose sandboxes these are, with what the agent of each does.
fn two_phases(executor: &str, other: &str, first: &str, second: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n\
         [roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = {{ level = \"strict\", {executor} }}\n\
         [roles.other]\nagent = \"process:./agent.sh\"\nsandbox = {{ level = \"strict\", {other} }}\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n\
         [[phases]]\nid = \"first\"\nobjectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n\
         [[phases]]\nid = \"second\"\nrole = \"other\"\ndepends_on = [\"first\"]\n\
         objectives = [{{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }}]\n"
    );
    stage.write("job.toml", job);
    let script = format!(
        "#!/bin/sh\ncase \"$(cat)\" in *'Write a.txt'*)\n{first}\necho a >> a.txt; echo 'Done: a' ;;\n\
         *)\n{second}\necho b >> b.txt; echo 'Done: b' ;; esac\n"
    );
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage
}

#[test]
fn no_list_leads_through_a_link_that_an_agent_could_make() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = two_phases(
        "write = [\"~/ext\"]",
        "read = [\"~/ext/sub\"]",
        "mv ~/ext/sub ~/ext/old; ln -s ~/keys ~/ext/sub",
        "cat ~/ext/sub/key > b.txt",
    );
    fs::create_dir_all(stage.path("ext/sub")).unwrap();
    fs::create_dir(stage.path("keys")).unwrap();
    stage.write("keys/key", "the secret");
    stage.write("ext/sub/key", "no secret\n");
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    ended.says(&["ext/sub on the way is a link that agents can exchange", "name that place itself"]);
    assert!(!stage.workspace.join("b.txt").exists());
    // It is looked at again, also by the next run.
    fs::remove_file(stage.path("ext/sub")).unwrap();
    fs::rename(stage.path("ext/old"), stage.path("ext/sub")).unwrap();
    stage.baton(&["answer", "retry"]).expect(0);
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.read("b.txt"), "no secret\nb\n");
    let ended = stage.baton(&["run", "job.toml", "--restart"]).expect(5);
    ended.says(&["ext/sub on the way is a link that agents can exchange"]);
}

#[test]
fn no_list_of_a_cloned_folder_leads_out_of_what_the_user_lists() {
    // N6: by a link of its own repository, or of another one, the `baton.toml` of a clone gave an agent the user's keys.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let folders =
        ["keys", ".config/baton", "projects/clone/sub", "projects/clone/.git", "projects/other/real"];
    for folder in folders {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    stage.write("keys/key", "the secret");
    let user = "[sandbox]\nlevel = \"strict\"\nread = [\"~/projects\"]\nwrite = [\"~/projects\"]\n";
    stage.write(".config/baton/config.toml", user);
    symlink("../../keys", stage.path("projects/clone/keys")).unwrap();
    symlink("../../keys", stage.path("projects/other/keys")).unwrap();
    let tried = |list: &str, listed: &str| -> CommandOutput {
        let folder = stage.path("projects/clone/sub");
        fs::write(folder.join("baton.toml"), format!("[sandbox]\n{list} = [\"{listed}\"]\n")).unwrap();
        let mut command = stage.command(&["sandbox", "try", "--", "cat", &format!("{listed}/key")]);
        let command = command.current_dir(folder).env("XDG_CONFIG_HOME", stage.path(".config"));
        command.output().unwrap().into()
    };
    let path = |name: &str| stage.path(name).display().to_string();
    for list in ["read", "write"] {
        // As the user's file writes it.
        tried(list, "~/projects/clone/keys").expect(1).says(&["is a link that agents can exchange"]);
        // With the list of the user, agents can exchange this one, too.
        tried(list, "~/projects/other/keys").expect(1).says(&["projects/other/keys"]);
    }
    stage.write("projects/other/real/key", "no secret\n");
    stage.write(".config/baton/config.toml", user.replace("~/projects", &path("projects/other")));
    let ended = tried("read", &path("projects/other/real")).expect(0);
    assert!(ended.stdout.contains("no secret"), "{}", ended.stdout);
}

#[test]
fn no_list_leads_through_a_link_that_an_agent_of_another_run_left() {
    // N6: in what is read of a project, an agent of that project's run left a link to the user's keys.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.path(name).display().to_string();
    for folder in ["keys", "a/data", "b", "ext/sub", "state"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    fs::set_permissions(stage.path("state"), fs::Permissions::from_mode(0o700)).unwrap();
    stage.write("keys/key", "the secret");
    let (a, b, ext, state) = (at("a"), at("b"), at("ext"), at("state"));
    let (data, sub) = (at("a/data"), at("ext/sub"));
    let tried = |tree: &str, more: &[&str], script: &str| -> CommandOutput {
        let place = ["sandbox", "try", "--level", "strict", "--workspace", tree];
        stage.baton(&[&place[..], more, &["--", "sh", "-c", script]].concat())
    };
    // In another state folder than the one of the second command.
    let script = "rmdir data ../ext/sub; ln -s ../keys data; ln -s ../keys ../ext/sub";
    tried(&a, &["--state-dir", &state, "--write", &ext], script).expect(0);
    assert!(stage.path("a/data").is_symlink() && stage.path("ext/sub").is_symlink());
    for listed in [["--read", &data], ["--write", &data], ["--read", &sub], ["--write", &sub]] {
        let ended = tried(&b, &listed, "cat ../a/data/key ../ext/sub/key");
        ended.expect(1).says(&["is a link that agents can exchange"]);
    }
    // Links elsewhere are the user's.
    symlink("keys", stage.path("own")).unwrap();
    let ended = tried(&b, &["--read", &at("own")], "cat ../own/key").expect(0);
    assert!(ended.stdout.contains("the secret"), "{}", ended.stdout);
}

#[test]
fn the_usual_state_folder_is_hidden_while_another_one_is_in_use() {
    // N6: with `--state-dir`, agents read and wrote the journals of all other runs.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    fs::create_dir_all(stage.path(".local/state/baton")).unwrap();
    stage.write(".local/state/baton/journal", "the secret");
    let (root, list) = (stage.workspace.display().to_string(), stage.path(".local").display().to_string());
    let state = stage.state_root().display().to_string();
    let tried = |level: &str, flag: &str| -> CommandOutput {
        let place = ["sandbox", "try", "--level", level, "--workspace", &root, "--state-dir", &state];
        let script = format!("cat {list}/state/baton/*; true");
        stage.baton(&[&place[..], &[flag, &list, "--", "sh", "-c", &script]].concat())
    };
    for level in ["write", "strict"] {
        tried(level, "--write").expect(1).says(&["has Baton's own folder", ".local/state/baton in it"]);
    }
    let ended = tried("strict", "--read").expect(0);
    assert!(!ended.stdout.contains("the secret"), "{}", ended.stdout);
}

#[test]
fn no_list_leads_by_a_link_of_the_user_to_what_is_guarded() {
    // N6: all that is laid over the tree and over the state folder lies at their own paths.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let above = stage.workspace.parent().unwrap().canonicalize().unwrap();
    // Where no agent writes.
    let links = tempfile::tempdir().unwrap();
    let links = links.path().canonicalize().unwrap();
    symlink(&above, links.join("linked")).unwrap();
    symlink(stage.state_root(), links.join("state-link")).unwrap();
    fs::write(stage.workspace.join(".env"), "the secret").unwrap();
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let hide = format!("{root}/.env");
    for (list, link) in [("--read", "linked"), ("--write", "linked"), ("--read", "state-link")] {
        let link = links.join(link).display().to_string();
        let arguments =
            ["sandbox", "try", "--workspace", &root, "--state-dir", &state, "--hide", &hide, list, &link];
        let ended = stage.baton(&[&arguments[..], &["--", "true"]].concat()).expect(1);
        match list {
            // The usual state folder lies there as well.
            "--write" => ended.says(&["has Baton's own folder"]),
            _ => ended.says(&["which leads to", "name that place itself"]),
        };
    }
    // The place itself can be named, and what is hidden stays so.
    let above = above.display().to_string();
    let arguments =
        ["sandbox", "try", "--workspace", &root, "--state-dir", &state, "--hide", &hide, "--read", &above];
    let ended = stage.baton(&[&arguments[..], &["--", "sh", "-c", "cat .env; true"]].concat()).expect(0);
    assert!(!ended.stdout.contains("the secret"), "{}", ended.stdout);
}

#[test]
fn no_list_shows_by_a_bind_mount_what_is_guarded() {
    // N6: what is laid over the state folder and the tree does not lie over another mount of them. Mounts need rights over the machine.
    let probed =
        std::process::Command::new("unshare").args(["-m", "--propagation", "private", "true"]).status();
    if !can(SandboxLevel::Strict) || !probed.is_ok_and(|status| status.success()) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.path(name).display().to_string();
    for folder in ["mounts/in", "mounts/free", "secrets", ".config/baton"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let (list, mounted, hidden) = (at("mounts"), at("mounts/in"), at("secrets"));
    let program = stage.command(&[]).get_program().to_owned();
    let programs = Path::new(&program).parent().unwrap().display().to_string();
    let tried = |level: &str, list: &[&str], of: &str| -> CommandOutput {
        let place = ["sandbox", "try", "--level", level, "--workspace", &root, "--state-dir", &state];
        let command = stage.command(&[&place[..], &["--hide", &hidden], list, &["--", "true"]].concat());
        let mut beside = stage.program_beside(&command, "unshare");
        let script = "mount --bind \"$1\" \"$2\" || exit 77; shift 2; exec \"$@\"";
        beside.args(["-m", "--propagation", "private", "sh", "-c", script, "sh", of, &mounted]);
        beside.arg(command.get_program()).args(command.get_args()).output().unwrap().into()
    };
    for (level, flag, of) in [
        ("strict", "--read", &state),
        ("strict", "--write", &state),
        ("strict", "--write", &root),
        ("strict", "--read", &hidden),
        ("write", "--write", &state),
        // Settings of Baton and of git, and the program of Baton.
        ("strict", "--write", &at(".config")),
        ("write", "--write", &at(".config")),
        ("strict", "--write", &programs),
        ("write", "--write", &programs),
    ] {
        for named in [&list, &mounted] {
            let ended = tried(level, &[flag, named], of);
            if ended.code == Some(77) {
                return;
            }
            ended.expect(1).says(&["which leads to", "/mounts/in", "guarded"]);
        }
    }
    // Any other mount is a folder as others are.
    tried("strict", &["--write", &list], &at("mounts/free")).expect(0);
}

#[test]
fn what_is_hidden_in_what_can_be_written_is_moved_by_nobody() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let lists =
        "read = [\"~/given\"], write = [\"~/ext\"], hide = [\"~/ext/dir/secret\", \"~/given/secret\"]";
    let stage = two_phases(
        lists,
        lists,
        "mv ~/ext/dir ~/ext/dir2; echo mine > ~/ext/dir/mine; cat ~/ext/dir/secret > a.txt",
        "cat ~/ext/*/secret ~/given/secret ~/given/open > b.txt",
    );
    fs::create_dir_all(stage.path("ext/dir")).unwrap();
    fs::create_dir(stage.path("store")).unwrap();
    stage.write("ext/dir/secret", "the secret");
    stage.write("store/secret", "the secret");
    stage.write("store/open", "open\n");
    // A link of the user's, where no agent writes.
    symlink("store", stage.path("given")).unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!((stage.read("a.txt").as_str(), stage.read("b.txt").as_str()), ("a\n", "open\nb\n"));
    assert_eq!(fs::read_to_string(stage.path("ext/dir/secret")).unwrap(), "the secret");
    assert_eq!(fs::read_to_string(stage.path("ext/dir/mine")).unwrap(), "mine\n");
}

#[test]
fn what_is_hidden_by_a_link_is_hidden_from_the_next_run_as_well() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    // The links are gone at the end of a session that hides nothing, too.
    let stage = two_phases(
        "hide = [\".env\", \"cfg/secret\"]",
        "hide = []",
        "cat conf/env real/secret > a.txt; date +%N >> a.txt; rm .env cfg",
        "rm -f .env cfg; true",
    );
    let at = |name: &str| stage.workspace.join(name);
    for (folder, file) in [("conf", "conf/env"), ("real", "real/secret")] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(file), "the secret").unwrap();
    }
    symlink("conf/env", at(".env")).unwrap();
    symlink("real", at("cfg")).unwrap();
    for arguments in [&["run", "job.toml"][..], &["run", "job.toml", "--restart"]] {
        stage
            .baton(arguments)
            .expect(0)
            .says(&["/.env (it leads to conf/env again)", "/cfg (it leads to real again)"]);
        assert!(!stage.read("a.txt").contains("the secret"), "{}", stage.read("a.txt"));
    }
}
