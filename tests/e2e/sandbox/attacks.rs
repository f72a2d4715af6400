//! Sets the scene for `attacks.py`, and holds what came of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};
use std::thread;

use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::workflow::SandboxLevel;
use serde_json::{Value, json};

use super::can;
use crate::support::{TestWorkspace, until};

const ATTACKS: &str = include_str!("attacks.py");
/// What every listener answers.
const SECRET: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nthe secret\n";

/// Each attack, and a piece of what has to be told of it. `PORT` and the like stand for what the fixture has.
const EXPECTED_REPORTS: &[(&str, &str)] = &[
    ("read_key_in_home", "read HOME/.ssh/id_rsa"),
    ("read_by_whole_path", "read OUT/secret-1"),
    ("read_by_dots", "read OUT/secret-2"),
    ("read_through_link", "read TREE/link-3"),
    ("read_through_linked_folder", "read TREE/link-4/secret-4"),
    ("read_through_own_root", "read OUT/secret-5"),
    ("read_through_root_of_parent", "read OUT/secret-6"),
    ("read_through_root_of_another", "read /proc/VICTIM/root"),
    ("read_environment_of_another", "read /proc/VICTIM/environ"),
    ("read_memory_of_another", "read /proc/VICTIM/mem"),
    ("read_after_hard_link", "write OUT/secret-8"),
    ("read_journal", "read STATE/journal.sqlite"),
    ("read_tree_of_another_session", "read STATE/trees/other/secret-9"),
    ("list_folder", "read OUT/folder"),
    ("read_with_exchanged_link", "read TREE/turn"),
    ("write_by_whole_path", "write OUT/canary-1"),
    ("write_through_link", "write TREE/link-w2"),
    ("make_file_through_linked_folder", "write TREE/link-w3/made-3"),
    ("make_folder", "write OUT/made-4"),
    ("remove_file", "write OUT/doomed-5"),
    ("move_file", "write OUT/doomed-6"),
    ("move_file_out", "write OUT/moved-7"),
    ("change_mode", "write OUT/canary-8"),
    ("cut_file", "write OUT/canary-9"),
    ("make_link", "write OUT/made-10"),
    ("write_git_config", "write TREE/.git/config"),
    ("write_hook", "write TREE/.git/hooks/post-checkout"),
    ("write_git_config_through_own_folder", "write /proc/self/cwd/.git/config"),
    ("link_git_config", "write TREE/.git/config"),
    ("write_attributes", "write TREE/.git/info/attributes"),
    ("exchange_repository", "write TREE/.git"),
    ("write_workspace_settings", "write TREE/baton.toml"),
    ("write_workflow", "write TREE/job.toml"),
    ("remove_policy", "write TREE/rules.toml"),
    ("write_agent_settings", "write TREE/.claude/settings.json"),
    ("exchange_agent_settings", "write TREE/.claude"),
    ("write_servers_of_agents", "write TREE/.mcp.json"),
    ("connect_to_loopback", "connect to 127.0.0.1:TCP "),
    ("connect_to_loopback_by_another_address", "connect to 127.0.0.3:ANY "),
    ("connect_to_loopback_v6", "connect to [::1]:SIX "),
    ("send_datagram", "connect to 127.0.0.1:UDP "),
    ("ask_for_a_name", "connect to 127.0.0.1:UDPANY "),
    ("proxy_to_loopback", "connect to 127.0.0.1:TCP:"),
    ("proxy_to_a_name_of_loopback", "connect to localhost:TCP (the name leads to"),
    ("proxy_to_a_number", "connect to 2130706433:TCP"),
    ("proxy_to_a_short_address", "connect to 127.1:TCP"),
    ("proxy_to_a_mapped_address", "connect to ::ffff:127.0.0.1:TCP"),
    ("proxy_by_plain_http", "connect to 127.0.0.2:ANY"),
    ("proxy_by_redirect", "connect to 127.0.0.5:ANY"),
    ("connect_to_socket_file", "connect to the socket OUT/socket"),
    ("connect_to_abstract_socket", "connect to the socket @"),
    ("connect_to_host", "read STATE"),
    ("signal_another", "do something to process VICTIM"),
    ("open_another", "do something to process VICTIM"),
    ("trace_another", "do something to process VICTIM"),
    ("enter_namespace_of_another", "read /proc/VICTIM/ns/uts"),
];

/// What is given, in a home of the session's own: outside nothing comes of it, which is held below.
const PRIVATE_HOME_ATTACKS: &[&str] = &["write_startup_file"];

/// What only root can do even without a sandbox.
const OF_ROOT: &[&str] = &["trace_another", "enter_namespace_of_another"];

/// Everything outside that somebody inside may be after.
struct SandboxFixture {
    stage: TestWorkspace,
    victim: Child,
    places: BTreeMap<&'static str, String>,
}

impl Drop for SandboxFixture {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Answers everybody who comes, as long as the test lives.
fn serve(mut accept: impl FnMut() -> Option<Box<dyn ReadWrite>> + Send + 'static, answer: Vec<u8>) {
    thread::spawn(move || {
        while let Some(mut connection) = accept() {
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(&answer);
        }
    });
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn tcp(address: &str, answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(address).unwrap();
    let port = listener.local_addr().unwrap().port();
    serve(move || Some(Box::new(listener.accept().ok()?.0)), answer);
    port
}

fn unix(listener: UnixListener) {
    serve(move || Some(Box::new(listener.accept().ok()?.0)), SECRET.to_vec());
}

fn udp(address: &str) -> u16 {
    let socket = UdpSocket::bind(address).unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 1024]) {
            let _ = socket.send_to(SECRET, from);
        }
    });
    port
}

fn fixture(sandbox: &str) -> SandboxFixture {
    let stage = TestWorkspace::new();
    let (home, outside) = (stage.path("home"), stage.path("outside"));
    for folder in [home.join(".ssh"), home.join(".config/baton"), outside.join("folder")] {
        fs::create_dir_all(folder).unwrap();
    }
    let put = |path: std::path::PathBuf, text: &str| fs::write(path, text).unwrap();
    put(home.join(".ssh/id_rsa"), "the secret");
    put(home.join(".bashrc"), "");
    for n in 1..=10 {
        put(outside.join(format!("secret-{n}")), "the secret");
        put(outside.join(format!("canary-{n}")), "as it was\n");
        put(outside.join(format!("doomed-{n}")), "as it was\n");
    }
    put(outside.join("folder/file"), "");
    // A tree with everything in it that others run or are judged by.
    let tree = stage.workspace.canonicalize().unwrap();
    fs::create_dir(tree.join(".claude")).unwrap();
    for (name, text) in [
        (".claude/settings.json", "{}\n"),
        (".mcp.json", "{}\n"),
        ("baton.toml", ""),
        ("rules.toml", "objectives-at-most = 9\n"),
        ("job.toml", ""),
        ("attacks.py", ATTACKS),
        (".gitignore", "*\n"),
    ] {
        put(tree.join(name), text);
    }
    stage.make_repository();
    fs::write(tree.join(".git/info/attributes"), "").unwrap();

    let state = stage.state().path().to_owned();
    let other = state.join("trees/other");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&other).unwrap();
    put(other.join("secret-9"), "the secret");

    let any = tcp("0.0.0.0:0", SECRET.to_vec());
    let redirect = format!("HTTP/1.0 302 Found\r\nLocation: http://127.0.0.5:{any}/\r\n\r\n");
    let abstract_name = format!("baton-attacks-{}-{sandbox}", std::process::id());
    unix(UnixListener::bind(outside.join("socket")).unwrap());
    unix(UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name).unwrap()).unwrap());
    let (port, allowed) = (tcp("127.0.0.1:0", SECRET.to_vec()), tcp("127.0.0.1:0", redirect.into_bytes()));
    let (six, datagrams, datagrams_any) =
        (tcp("[::1]:0", SECRET.to_vec()), udp("127.0.0.1:0"), udp("0.0.0.0:0"));
    let config = format!("[sandbox]\nnetwork = [\"localhost:{port}\", \"127.0.0.1:{allowed}\"]\n");
    put(home.join(".config/baton/config.toml"), &config);

    let mut victim = Command::new("sh");
    victim.args(["-c", "trap '' USR1; while :; do sleep 1; done"]).env("VICTIM", "the secret");
    let victim = victim.stdin(Stdio::null()).process_group_of_its_own().spawn().unwrap();
    let told = json!({
        "outside": outside, "state": state, "journal": state.join("journal.sqlite"), "control": state.join("control.sock"),
        "victim": victim.id(), "tcp": port, "tcp_any": any, "tcp6": six, "udp": datagrams, "udp_any": datagrams_any,
        "allowed": allowed, "abstract": abstract_name,
    });
    put(tree.join("scene.json"), &told.to_string());
    let job = format!(
        "name = \"job\"\ngoal = \"Get out.\"\n[roles.executor]\nagent = \"process:/usr/bin/python3 attacks.py\"\nsandbox = \"{sandbox}\"\n\
         [limits]\nretries = 0\n[policies]\nshadow = [\"rules:rules.toml\"]\n[[phases]]\nid = \"only\"\n[[phases.objectives]]\n\
         id = \"a\"\ndescription = \"Write a.txt.\"\nfiles = [\"a.txt\"]\n"
    );
    put(tree.join("job.toml"), &job);
    let place = |path: &std::path::Path| path.canonicalize().unwrap().display().to_string();
    let places = BTreeMap::from([
        ("UDPANY", datagrams_any.to_string()),
        ("VICTIM", victim.id().to_string()),
        ("STATE", place(&state)),
        ("HOME", place(&home)),
        ("TREE", place(&tree)),
        ("ANY", any.to_string()),
        ("OUT", place(&outside)),
        ("SIX", six.to_string()),
        ("TCP", port.to_string()),
        ("UDP", datagrams.to_string()),
    ]);
    SandboxFixture { stage, victim, places }
}

trait ProcessGroupExt {
    fn process_group_of_its_own(&mut self) -> &mut Self;
}

impl ProcessGroupExt for Command {
    fn process_group_of_its_own(&mut self) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(self, 0)
    }
}

impl SandboxFixture {
    /// What came of each attack.
    fn play(&self) -> BTreeMap<String, Value> {
        let job = self.stage.workspace.join("job.toml");
        let mut command = self.stage.command(&["run", job.to_str().unwrap()]);
        command.env("HOME", self.stage.path("home"));
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let results = fs::read_to_string(self.stage.workspace.join("results.json"));
        serde_json::from_str(&results.unwrap_or_else(|_| panic!("{said}"))).unwrap()
    }

    fn filled(&self, needle: &str) -> String {
        // The longest name first: one is a part of another.
        let mut names: Vec<_> = self.places.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(needle.to_owned(), |needle, (name, value)| needle.replace(name, value))
    }
}

#[test]
fn nobody_gets_out_and_each_try_is_told() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let fixture = fixture("strict");
    let results = fixture.play();
    let expected: Vec<&str> = EXPECTED_REPORTS.iter().map(|(name, _)| *name).collect();
    assert!(
        expected.len() >= 40 && expected.len() + PRIVATE_HOME_ATTACKS.len() == results.len(),
        "{results:#?}"
    );
    let got = |(name, result): &(&String, &Value)| {
        **result == Value::Bool(true) && !PRIVATE_HOME_ATTACKS.contains(&name.as_str())
    };
    let out: Vec<_> = results.iter().filter(got).collect();
    assert_eq!(out, [], "these got out");

    let refusals = fixture.stage.story().notices.into_iter().filter_map(|notice| match notice {
        ProgressEvent::Refused { refusal, .. } => Some(format!("{refusal} :")),
        _ => None,
    });
    let refusals: Vec<String> = refusals.collect();
    let unseen: Vec<_> = EXPECTED_REPORTS
        .iter()
        .map(|(name, needle)| (name, fixture.filled(needle)))
        .filter(|(_, needle)| {
            let needle = needle.trim_end_matches(':');
            !refusals.iter().any(|refusal| refusal.contains(needle))
        })
        .map(|(name, needle)| (name, needle, &results[*name]))
        .collect();
    assert_eq!(unseen, [], "these were not told, among {refusals:#?}");

    // Nothing has changed outside, either.
    let outside = fixture.stage.path("outside");
    for n in 1..=10 {
        for name in ["canary", "doomed"] {
            let path = outside.join(format!("{name}-{n}"));
            assert_eq!(fs::read_to_string(&path).unwrap(), "as it was\n", "{}", path.display());
        }
        assert_ne!(
            fs::metadata(outside.join(format!("canary-{n}"))).unwrap().permissions().mode() & 0o777,
            0o777
        );
    }
    assert_eq!(fs::read_dir(&outside).unwrap().flatten().count(), 32);
    assert_eq!(fs::read_to_string(fixture.stage.path("home/.bashrc")).unwrap(), "");
    assert!(!fixture.stage.workspace.join(".git/hooks/post-checkout").exists());
    fixture.stage.expect_no_process();
}

#[test]
fn without_a_sandbox_the_same_tries_get_out() {
    let fixture = fixture("off");
    let results = fixture.play();
    let is_root = rustix::process::getuid().is_root();
    let held: Vec<_> = results
        .iter()
        .filter(|(name, result)| {
            **result != Value::Bool(true) && (is_root || !OF_ROOT.contains(&name.as_str()))
        })
        .collect();
    assert_eq!(held, [], "these did not get out");
    let refused = fixture.stage.story().count(|notice| matches!(notice, ProgressEvent::Refused { .. }));
    assert_eq!(refused, 0);
    until("the victim lives", || fixture.stage.workspace.join("a.txt").exists());
}
