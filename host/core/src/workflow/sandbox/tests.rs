//! Levels, lists and floors.

use super::*;

fn target(text: &str) -> NetworkTarget {
    text.parse().unwrap()
}

#[test]
fn a_target_is_a_name_or_an_address_with_a_port() {
    // N6
    for (text, read) in [
        ("GitHub.com", "github.com:443"),
        ("*.github.com:22", "*.github.com:22"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("[::1]:8080", "[::1]:8080"),
        ("::1", "[::1]:443"),
        ("localhost:1", "localhost:1"),
    ] {
        assert_eq!(target(text).to_string(), read);
        assert_eq!(target(read), target(text));
    }
    for bad in [
        "",
        "*",
        "*.",
        "a b",
        "https://x.y",
        "x.y/z",
        "x:0",
        "x:65536",
        "x:",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1",
        "a..b",
        "x@y.z",
    ] {
        assert!(bad.parse::<NetworkTarget>().is_err(), "{bad}");
    }
}

#[test]
fn a_target_allows_what_it_names() {
    for (rule, host, port, allowed) in [
        ("github.com", "GITHUB.com.", 443, true),
        ("github.com", "github.com", 80, false),
        ("github.com", "a.github.com", 443, false),
        ("github.com", "github.com.evil.org", 443, false),
        ("*.github.com", "a.b.github.com", 443, true),
        ("*.github.com", "github.com", 443, false),
        ("*.github.com", "evilgithub.com", 443, false),
        ("127.0.0.1:80", "127.0.0.1", 80, true),
        ("127.0.0.1:80", "localhost", 80, false),
        ("[::1]:80", "[0:0:0:0:0:0:0:1]", 80, true),
    ] {
        assert_eq!(target(rule).allows(host, port), allowed, "{rule} {host}");
    }
}

#[test]
fn only_addresses_of_the_open_internet_are_public() {
    for private in [
        "0.0.0.0",
        "10.1.2.3",
        "127.0.0.1",
        "127.255.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.9.9",
        "192.168.1.1",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "3fff::1",
        "100::1",
    ] {
        assert!(!is_public(private.parse().unwrap()), "{private}");
    }
    for public in
        ["1.1.1.1", "140.82.121.4", "172.32.0.1", "2606:4700::1111", "2a00:1450::1", "::ffff:1.1.1.1"]
    {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
}

#[test]
fn a_workflow_tightens_a_floor_and_never_loosens_it() {
    let claude = AgentKind::Claude;
    let asks = |network: &[&str], write: &[&str]| Sandbox {
        level: SandboxLevel::Write,
        network: Some(network.iter().map(|text| target(text)).collect()),
        write: Some(write.iter().map(|path| (*path).to_owned()).collect()),
        hide: vec!["secrets".to_owned()],
        ..Sandbox::default()
    };
    let held = |own: Sandbox, floor: &Sandbox| own.held_to(floor, "[roles.x]", Some(&claude));
    // Without a floor it may ask for anything but a private address.
    let off = Sandbox::default();
    assert!(held(asks(&["evil.org"], &["~/x"]), &off).is_ok());
    assert!(matches!(held(asks(&["127.0.0.1:1"], &[]), &off), Err(SandboxError::Private { .. })));
    // A floor that has only a level allows the targets that the agent needs.
    let strict = Sandbox::of(SandboxLevel::Strict);
    let joined = held(asks(&["api.anthropic.com"], &[]), &strict).unwrap();
    assert_eq!((joined.level, joined.hide.len()), (SandboxLevel::Strict, 1));
    assert!(matches!(held(asks(&["evil.org"], &[]), &strict), Err(SandboxError::Network { .. })));
    assert!(matches!(held(asks(&[], &["~/x"]), &strict), Err(SandboxError::Path { .. })));
    let wide = asks(&["*.org", "127.0.0.1:1"], &["~/x"]);
    assert!(held(asks(&["evil.org", "127.0.0.1:1"], &["~/x/y"]), &wide).is_ok());
    assert!(held(asks(&["*.evil.org"], &["~/xy"]), &wide).is_err());
    let silent = held(Sandbox::default(), &wide).unwrap();
    assert_eq!(silent, Sandbox { protect: Vec::new(), ..wide });
}

#[test]
fn commands_may_do_what_every_confined_role_may() {
    let mut workflow = Workflow::default();
    let role = |network: &[&str]| super::super::Role {
        sandbox: Sandbox {
            level: SandboxLevel::Strict,
            network: Some(network.iter().map(|text| target(text)).collect()),
            ..Sandbox::default()
        },
        ..super::super::Role::of(AgentKind::Claude)
    };
    assert_eq!(workflow.command_sandbox(), Sandbox::default());
    workflow.roles.insert("a".into(), role(&["a.org", "b.org"]));
    workflow.roles.insert("b".into(), role(&["b.org", "c.org"]));
    workflow.roles.insert("c".into(), super::super::Role::of(AgentKind::Codex));
    let common = workflow.command_sandbox();
    assert_eq!((common.level, common.network), (SandboxLevel::Strict, Some(vec![target("b.org")])));
}

#[test]
fn the_list_of_another_file_keeps_what_the_user_listed() {
    // N6: a link could lead an entry of a folder's or workflow's list out of the user's list.
    let listed = |path: &str| Some(vec![path.to_owned()]);
    let of = |path: &str| Sandbox { read: listed(path), write: listed(path), ..Sandbox::default() };
    let within = |sandbox: &Sandbox| (sandbox.read_within.clone(), sandbox.write_within.clone());
    let user = Sandbox { level: SandboxLevel::Strict, ..of("~/projects") };
    let folder = of("~/projects/a").of_folder_over(&user, "/w/baton.toml").unwrap();
    assert_eq!(within(&folder), (listed("~/projects"), listed("~/projects")));
    // The folder's list is a floor of workflows, and the user's list limits the targets of both.
    for workflow in [of("~/projects/a/b"), Sandbox::default()] {
        assert_eq!(within(&workflow.held_to(&folder, "", None).unwrap()), within(&folder));
    }
    assert_eq!(within(&of("~/projects/a").held_to(&user, "", None).unwrap()), within(&folder));
    // The user's own list, and that of a workflow if the user has none, are not limited.
    assert_eq!(within(&Sandbox::default().held_to(&user, "", None).unwrap()), (None, None));
    assert_eq!(within(&of("~/x").held_to(&Sandbox::default(), "", None).unwrap()), (None, None));
}

#[test]
fn a_folder_never_widens_what_the_user_lists() {
    // N6: with `--sandbox strict`, the `baton.toml` of a cloned folder gave an agent the user's keys and any network.
    let of_folder = |network: &[&str], write: &[&str], read: &[&str]| {
        let paths = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        Sandbox {
            network: Some(network.iter().map(|text| target(text)).collect()),
            write: Some(paths(write)),
            read: Some(paths(read)),
            hide: vec!["secrets".to_owned()],
            ..Sandbox::of(SandboxLevel::Write)
        }
    };
    for level in [SandboxLevel::Off, SandboxLevel::Write, SandboxLevel::Strict] {
        let bare = Sandbox::of(level);
        let over = |folder: Sandbox, user: &Sandbox| folder.of_folder_over(user, "/w/baton.toml");
        let asks = [of_folder(&["*.com"], &[], &[]), of_folder(&["api.anthropic.com"], &[], &[])];
        for asks in asks {
            let error = over(asks, &bare).unwrap_err();
            assert!(matches!(error, SandboxError::Network { .. }), "{error}");
        }
        for asks in [of_folder(&[], &["~/.bashrc"], &[]), of_folder(&[], &[], &["~/.ssh"])] {
            let error = over(asks, &bare).unwrap_err().to_string();
            let says = ["/w/baton.toml asks to ", "your own config.toml does not allow", "in [sandbox]"];
            assert!(says.iter().all(|part| error.contains(part)), "{error}");
        }
        let private = over(of_folder(&["127.0.0.1:1"], &[], &[]), &bare);
        assert!(matches!(private, Err(SandboxError::Private { .. })));
        // It can raise the level, hide more, and take away.
        let tightened = over(of_folder(&[], &[], &[]), &bare).unwrap();
        assert_eq!((tightened.level, tightened.hide.len()), (level.max(SandboxLevel::Write), 1));
        assert_eq!(tightened.network, Some(Vec::new()));
        // Omitted settings stay as the user has them.
        assert_eq!(over(Sandbox::default(), &bare).unwrap(), bare);
        let user = Sandbox { level, ..of_folder(&["*.com"], &["~/w"], &["~/.cargo"]) };
        let part = over(of_folder(&["a.com"], &["~/w/x"], &["~/.cargo/registry"]), &user).unwrap();
        assert_eq!((part.network, part.write), (Some(vec![target("a.com")]), Some(vec!["~/w/x".to_owned()])));
        let beyond = [(&["a.org"][..], &[][..], &[][..]), (&[], &["~"], &[]), (&[], &[], &["~/.cargos"])];
        for (network, write, read) in beyond {
            assert!(over(of_folder(network, write, read), &user).is_err());
        }
    }
}
