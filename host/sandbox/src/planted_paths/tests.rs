//! Files that appear in a tree are removed, in each way in which they can appear.

use std::os::unix::fs::symlink;

use super::*;

fn planted(paths: impl IntoIterator<Item = PathBuf>) -> WatchedPaths {
    WatchedPaths { planted: paths.into_iter().collect(), ..WatchedPaths::default() }
}

#[test]
fn what_appears_is_renamed_and_what_was_there_stays() {
    // N6
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let (tree, boundary) = (root.join("tree"), root.join("session/inside"));
    fs::create_dir_all(&boundary).unwrap();
    fs::create_dir_all(tree.join(".claude")).unwrap();
    fs::write(tree.join(".mcp.json"), "mine").unwrap();
    let paths = [".mcp.json", ".claude/settings.json", "baton.toml", ".codex/config.toml"].map(PathBuf::from);
    let planted = PlantedRecord::watch([(tree.as_path(), planted(paths))]);
    planted.note(&boundary).unwrap();
    assert_eq!(planted.sweep(&RemainingPaths::default()), []);
    fs::write(tree.join(".claude/settings.json"), "1").unwrap();
    fs::write(tree.join(".claude/settings.json.from-agent"), "0").unwrap();
    fs::write(tree.join("baton.toml"), "2").unwrap();
    // A link above a watched path is one that other programs follow: it is removed, and its target is not touched.
    fs::create_dir(root.join("outside")).unwrap();
    fs::write(root.join("outside/config.toml"), "theirs").unwrap();
    std::os::unix::fs::symlink(root.join("outside"), tree.join(".codex")).unwrap();
    // As the next host does after the first has died.
    let swept: Vec<_> =
        clear(&boundary, &RemainingPaths::default()).into_iter().map(|refusal| refusal.target).collect();
    assert_eq!(swept.len(), 3, "{swept:?}");
    assert!(swept[0].ends_with(".codex (it is called .codex.from-agent now)"), "{swept:?}");
    assert!(swept[1].ends_with("settings.json (it is called settings.json.from-agent-1 now)"), "{swept:?}");
    assert_eq!(fs::read_to_string(tree.join("baton.toml.from-agent")).unwrap(), "2");
    assert_eq!(fs::read_to_string(tree.join(".mcp.json")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(root.join("outside/config.toml")).unwrap(), "theirs");
    assert!(!boundary.exists() && clear(&boundary, &RemainingPaths::default()).is_empty());
}

#[test]
fn a_link_that_is_exchanged_leads_where_it_led() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap();
    fs::create_dir(tree.join("tools")).unwrap();
    for name in [".claude", ".codex", ".gemini"] {
        std::os::unix::fs::symlink("tools", tree.join(name)).unwrap();
    }
    let planted = PlantedPaths::watch(&tree, planted([".claude", ".codex", ".gemini"].map(PathBuf::from)));
    fs::remove_file(tree.join(".claude")).unwrap();
    fs::create_dir(tree.join(".claude")).unwrap();
    fs::remove_file(tree.join(".codex")).unwrap();
    assert_eq!(planted.sweep(&RemainingPaths::default()).len(), 2);
    for name in [".claude", ".codex", ".gemini"] {
        assert_eq!(fs::read_link(tree.join(name)).unwrap(), Path::new("tools"), "{name}");
    }
    assert!(tree.join(".claude.from-agent").is_dir());
    assert_eq!(planted.sweep(&RemainingPaths::default()), []);
}

#[test]
fn a_folder_above_a_path_is_not_exchanged_for_another_one() {
    // N6: a link of the agent's in the place of `.github`, and a folder of its own in the place of a link of the user's.
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap();
    fs::create_dir(tree.join("editor")).unwrap();
    std::os::unix::fs::symlink("editor", tree.join(".vscode")).unwrap();
    let watched = [".github/hooks/a.json", ".vscode/mcp.json"].map(PathBuf::from).to_vec();
    let planted = PlantedPaths::watch(&tree, planted(watched));
    fs::create_dir_all(tree.join("gh/hooks")).unwrap();
    fs::write(tree.join("gh/hooks/a.json"), "{}").unwrap();
    std::os::unix::fs::symlink("gh", tree.join(".github")).unwrap();
    fs::remove_file(tree.join(".vscode")).unwrap();
    fs::create_dir(tree.join(".vscode")).unwrap();
    fs::write(tree.join(".vscode/mcp.json"), "{}").unwrap();
    let swept = planted.sweep(&RemainingPaths::default());
    assert_eq!(swept.len(), 3, "the two, and the file in the folder that was in the way: {swept:?}");
    assert!(tree.join(".github").symlink_metadata().is_err());
    assert_eq!(fs::read_link(tree.join(".vscode")).unwrap(), Path::new("editor"));
    assert_eq!(planted.sweep(&RemainingPaths::default()), []);
}

#[test]
fn what_an_agent_makes_hard_to_rename_is_renamed_all_the_same() {
    // N6
    use std::os::unix::fs::PermissionsExt as _;

    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap().join("tree");
    fs::create_dir_all(tree.join(".git")).unwrap();
    let planted = PlantedPaths::watch(&tree, planted([".mcp.json", ".git/commondir"].map(PathBuf::from)));
    fs::write(tree.join(".mcp.json"), "1").unwrap();
    fs::write(tree.join(".git/commondir"), "2").unwrap();
    let suffixes = std::iter::once(String::new()).chain((1..1000).map(|number| format!("-{number}")));
    for suffix in suffixes {
        fs::write(tree.join(format!(".mcp.json{SUFFIX}{suffix}")), "0").unwrap();
    }
    for folder in [tree.join(".git"), tree.clone()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
    }
    let remaining = RemainingPaths::default();
    let swept = planted.sweep(&remaining);
    assert!(swept.len() == 2 && remaining.paths().is_empty(), "{swept:?}");
    assert!(!tree.join(".mcp.json").exists() && !tree.join(".git/commondir").exists());
    assert_eq!(fs::read_to_string(tree.join(format!(".git/commondir{SUFFIX}"))).unwrap(), "2");
}

#[test]
fn what_cannot_be_taken_away_is_known_to_the_next_host() {
    // N6: as if the folder were another user's, or its file system were read-only.
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let (tree, boundary, file) =
        (root.join("tree"), root.join("session/inside"), root.join("still-there.json"));
    fs::create_dir_all(&boundary).unwrap();
    fs::create_dir_all(&tree).unwrap();
    // Every further name is too long for a file system.
    let name = "x".repeat(250);
    let planted = PlantedRecord::watch([(tree.as_path(), planted([PathBuf::from(&name)]))]);
    planted.note(&boundary).unwrap();
    fs::write(tree.join(&name), "planted").unwrap();
    let told = clear(&boundary, &RemainingPaths::kept(&file).unwrap());
    assert!(told.len() == 1 && told[0].target.contains("it is still there"), "{told:?}");
    assert_eq!(clear(&boundary, &RemainingPaths::kept(&file).unwrap()), [], "it was told once");
    assert_eq!(RemainingPaths::kept(&file).unwrap().paths(), [tree.join(&name)]);
    fs::remove_file(tree.join(&name)).unwrap();
    assert_eq!(RemainingPaths::kept(&file).unwrap().paths(), Vec::<PathBuf>::new());
    fs::write(&file, "{").unwrap();
    assert!(RemainingPaths::kept(&file).is_err());
}

#[test]
fn what_was_not_a_link_does_not_become_one() {
    // N6
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap();
    fs::create_dir(tree.join("refs")).unwrap();
    std::os::unix::fs::symlink("refs", tree.join("users")).unwrap();
    let plain = ["refs", "objects", "users"].map(PathBuf::from).to_vec();
    let planted = PlantedPaths::watch(&tree, WatchedPaths { plain, ..WatchedPaths::default() });
    fs::create_dir(tree.join("objects")).unwrap();
    assert_eq!(planted.sweep(&RemainingPaths::default()), []);
    fs::rename(tree.join("refs"), tree.join("away")).unwrap();
    std::os::unix::fs::symlink("/nowhere", tree.join("refs")).unwrap();
    assert_eq!(planted.sweep(&RemainingPaths::default()).len(), 1);
    assert!(tree.join("refs").symlink_metadata().is_err());
    assert!(tree.join("users").symlink_metadata().is_ok() && tree.join("objects").is_dir());
}

#[test]
fn a_link_among_packs_is_removed_and_objects_are_not_looked_at() {
    // N6: `git multi-pack-index write` writes through a link in the place of its file.
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap();
    for folder in ["pack", "info/commit-graphs", "0f"] {
        fs::create_dir_all(tree.join(".git/objects").join(folder)).unwrap();
    }
    // As in the repository of a workspace of which the tree is a copy.
    let watched = WatchedPaths { link_free: vec![".git/objects".into()], ..WatchedPaths::default() };
    let planted = PlantedPaths::watch(&tree, watched);
    let links = ["pack/multi-pack-index", "info/commit-graphs/x", "0f/object"];
    let links = links.map(|name| tree.join(".git/objects").join(name));
    links.iter().for_each(|link| symlink("/nowhere", link).unwrap());
    assert_eq!(planted.sweep(&RemainingPaths::default()).len(), 2);
    assert_eq!(links.map(|link| link.is_symlink()), [false, false, true]);
}

#[test]
fn a_link_below_a_folder_without_links_is_removed() {
    // N6: `git commit` writes its message through a link in the place of `.git/COMMIT_EDITMSG`, and a reflog is appended to.
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().canonicalize().unwrap();
    for folder in ["logs/refs", "objects/ab", "objects/info"] {
        fs::create_dir_all(tree.join(".git").join(folder)).unwrap();
    }
    fs::write(tree.join("victim"), "mine").unwrap();
    symlink("../victim", tree.join(".git/of-the-user")).unwrap();
    let link_free = vec![PathBuf::from(".git")];
    let planted = PlantedPaths::watch(&tree, WatchedPaths { link_free, ..planted([".git/HEAD".into()]) });
    for name in ["COMMIT_EDITMSG", "logs/refs/stash", "HEAD", "objects/pack", "objects/info/packs"] {
        symlink(tree.join("victim"), tree.join(".git").join(name)).unwrap();
    }
    symlink(&tree, tree.join(".git/logs/tree")).unwrap();
    symlink("victim", tree.join("link")).unwrap();
    let swept = planted.sweep(&RemainingPaths::default());
    assert_eq!(swept.len(), 6, "{swept:?}");
    let said = format!("COMMIT_EDITMSG (it was a link to {}, and is removed)", tree.join("victim").display());
    assert!(swept.iter().any(|swept| swept.target.ends_with(&said)), "{swept:?}");
    let left = links_below(&tree, Path::new("."));
    let left: Vec<_> = left.iter().map(|path| path.strip_prefix(".").unwrap()).collect();
    assert_eq!(left, [".git/of-the-user", "link"].map(Path::new));
    assert_eq!(planted.sweep(&RemainingPaths::default()), []);
}

#[test]
fn what_a_session_has_planted_is_new_to_one_that_begins_beside_it() {
    // N6: the second one took it for an earlier file, and left its own.
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir_all(tree.join(".git")).unwrap();
    let watched = || WatchedPaths {
        planted: vec![".mcp.json".into(), ".cursor/mcp.json".into()],
        plain: Vec::new(),
        link_free: vec![".git".into()],
    };
    let open = |name: &str| {
        let record = PlantedRecord::watch([(tree.as_path(), watched())]);
        record.note(&place.path().join(name)).unwrap();
        record
    };
    let plant = || {
        fs::write(tree.join(".mcp.json"), "{}").unwrap();
        symlink("/elsewhere", tree.join(".cursor")).unwrap();
        symlink("/elsewhere", tree.join(".git/MERGE_MSG")).unwrap();
    };
    let is_clean = || {
        [".mcp.json", ".cursor", ".git/MERGE_MSG"]
            .iter()
            .all(|path| tree.join(path).symlink_metadata().is_err())
    };
    let remaining = RemainingPaths::default();
    let first = open("a");
    plant();
    let second = open("b");
    assert_eq!(second.sweep(&remaining), [], "the first one is at work");
    first.sweep(&remaining);
    first.forget(&place.path().join("a"));
    assert!(is_clean());
    plant();
    assert_eq!(second.sweep(&remaining).len(), 3);
    second.forget(&place.path().join("b"));
    assert!(is_clean() && remaining.paths().is_empty());

    // Files from a time without an open boundary are the user's.
    plant();
    let third = open("c");
    third.sweep(&remaining);
    third.forget(&place.path().join("c"));
    assert!(!is_clean());
}
