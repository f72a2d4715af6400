//! Agents that write programs where the host might look for its own: in a folder of `PATH` within the tree, as an activated environment of
//! Python puts there, and at the path of the host itself.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::job_of_shell;
use crate::support::TestWorkspace;

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

#[test]
fn a_credential_helper_in_the_tree_is_not_run_by_the_host() {
    // N6: `.venv/bin/docker-credential-desktop` was run with all rights of the user when a registry asked for a login.
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let reference = format!("oci://{}/acme/calm:1", registry.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in registry.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let refused = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                           Content-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(refused.as_bytes());
        }
    });
    let stage = TestWorkspace::new();
    fs::create_dir_all(stage.path(".docker")).unwrap();
    fs::write(stage.path(".docker/config.json"), r#"{"credsStore": "desktop"}"#).unwrap();
    let helper = |folder: &Path, mark: &Path| {
        fs::create_dir_all(folder).unwrap();
        let script = format!(
            "#!/bin/sh\necho \"$PATH\" > '{}'\necho '{{\"Username\": \"ada\", \"Secret\": \"s\"}}'\n",
            mark.display()
        );
        let program = folder.join("docker-credential-desktop");
        fs::write(&program, script).unwrap();
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (in_tree, own) = (stage.workspace.join(".venv/bin"), stage.path("bin"));
    let (of_tree, of_own) = (stage.path("ran-of-tree"), stage.path("ran-own"));
    helper(&in_tree, &of_tree);
    let path = |folders: &[&Path]| {
        let rest = std::env::var_os("PATH").unwrap_or_default();
        let folders = folders.iter().map(|folder| (*folder).to_owned()).chain(std::env::split_paths(&rest));
        std::env::join_paths(folders).unwrap()
    };
    let pull = |path: std::ffi::OsString| {
        let mut command = stage.command(&["policy", "pull", &reference]);
        let pulled = command.current_dir(&stage.workspace).env("PATH", path).output().unwrap();
        assert!(!pulled.status.success());
        String::from_utf8_lossy(&pulled.stderr).into_owned()
    };
    let said = pull(path(&[&in_tree]));
    assert!(said.contains("no program docker-credential-desktop"), "{said}");
    // The user's own one is, and finds nothing of the tree by a name either.
    helper(&own, &of_own);
    pull(path(&[&in_tree, &own]));
    let seen = fs::read_to_string(of_own).unwrap();
    assert!(!seen.contains(".venv") && !of_tree.exists(), "{seen}");
}
