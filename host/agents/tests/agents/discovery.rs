//! What `baton agents` is made of: which agents are there, and what can be said of them without starting a session.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use baton_agents::{CapabilitySource, DiscoveredAgent, survey};
use baton_core::workflow::{AgentKind, Role};

use crate::kit::{AgentTestDir, run};

fn named<'a>(found: &'a [DiscoveredAgent], agent: &str) -> &'a DiscoveredAgent {
    found.iter().find(|one| String::from(one.agent.clone()) == agent).unwrap()
}

pub(crate) fn agents_are_found_with_their_versions_or_with_how_to_get_them() {
    run(async {
        let place = AgentTestDir::new();
        let folder = place.workspace();
        for (name, body) in [
            ("claude", "echo \"2.1.330 (Claude Code)$ANTHROPIC_API_KEY\"; sleep 600 & "),
            ("codex", "yes | head -c 1000000; exec sleep 600"),
            ("opencode", "[ \"$1\" = --version ] && echo 1.18.33"),
            ("mine", "touch was-run"),
        ] {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\ncd '{}'\n{body}\n", folder.display())).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = std::env::join_paths([folder.clone(), "/usr/bin".into(), "/bin".into()]).unwrap();
        let configured = [Role::of("process:mine --fast".parse().unwrap())];
        let found = survey(Some(&path), Path::new("/bin/baton"), &configured).await;

        let claude = named(&found, "claude");
        assert_eq!(claude.program, Some(folder.join("claude")));
        assert_eq!(claude.version.as_deref(), Some("2.1.330 (Claude Code)"));
        assert!(claude.capabilities.compacts && claude.capabilities.caps_turns);
        // A flood, and an agent that does not end: no version, and no waiting.
        assert_eq!(named(&found, "codex").version, None);
        let opencode = named(&found, "acp:opencode acp");
        assert_eq!(
            (opencode.version.as_deref(), opencode.known_by),
            (Some("1.18.33"), CapabilitySource::Observed)
        );
        let absent = named(&found, "acp:gemini --acp");
        assert_eq!(absent.program, None);
        assert!(absent.advice.as_ref().unwrap().contains("@google/gemini-cli"));
        assert!(named(&found, "rehearsal").program.is_some());
        // What is configured comes first, and is not run to look at it.
        assert_eq!(found[0].agent, "process:mine --fast".parse::<AgentKind>().unwrap());
        assert!(!folder.join("was-run").exists());
        // Nothing is left of what was asked.
        place.wait_until_nothing_is_left();
    });
}

pub(crate) fn a_program_that_a_folder_brought_is_not_asked_for_its_version() {
    // N6
    run(async {
        let place = AgentTestDir::new();
        let folder = place.workspace().canonicalize().unwrap();
        let program = folder.join("claude");
        let script = format!("#!/bin/sh\ntouch '{}'\necho 2.1.330\n", folder.join("was-run").display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::ffi::OsStr::new("/usr/bin:/bin");
        let role = Role { program: Some(program.display().to_string()), ..Role::of(AgentKind::Claude) };
        let configured = [role];
        let asked = async || {
            let found = survey(Some(path), Path::new("/bin/baton"), &configured).await;
            assert_eq!(found[0].program, Some(program.clone()));
            (found[0].version.clone(), fs::remove_file(folder.join("was-run")).is_ok())
        };
        assert_eq!(asked().await, (Some("2.1.330".to_owned()), true));
        baton_sandbox::exclude_writable(&folder);
        assert_eq!(asked().await, (None, false));
        place.wait_until_nothing_is_left();
    });
}
