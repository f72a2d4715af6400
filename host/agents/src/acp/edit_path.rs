//! Where a path leads that an agent would write, move or delete: whether that is within the work. Changes nothing.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::session_boundary::is_command_setting;

/// No path that a program can open at once is longer.
const PATH_BYTES: usize = 4096;
/// What a tool that moves or deletes may expand, or a shell below it: `rm -r *` is more than a file that has this name.
const SHELL_CHARS: &str = "*?[]{}~$`\\'\"!<>|&;()#%";

/// Whether an edit of this path is of something in the work, by its name and by what it leads to; not of the work tree itself. With
/// `removes`, as for a move, the path is one that no tool could expand. The agent may exchange a link a moment later: only a sandbox holds that.
pub(super) fn is_inside(path: &str, workspace: &Path, removes: bool) -> bool {
    let is_expanded = |path: &str| {
        path.chars().any(char::is_control)
            || path.starts_with(['$', '%'])
            || ["$(", "${", "`"].iter().any(|expanded| path.contains(expanded))
            || removes && path.contains(|c| SHELL_CHARS.contains(c))
    };
    // Some tools take off the spaces around a path.
    [path, path.trim()].iter().all(|path| !is_expanded(path) && is_of_work(Path::new(path), workspace))
}

fn is_of_work(path: &Path, workspace: &Path) -> bool {
    let is_work = |within: &Path| {
        within.components().any(|part| part != Component::CurDir)
            && !within.components().any(|part| is_foreign_dot_name(part.as_os_str().as_encoded_bytes()))
            && !is_command_setting(in_inbox(within).unwrap_or(within))
    };
    let named = if path.is_relative() { Some(path) } else { path.strip_prefix(workspace).ok() };
    named.is_some_and(is_work) && real_path(path, workspace).is_some_and(|within| is_work(&within))
}

/// A hidden name in other letters may be that of settings in a file system without capitals.
fn is_foreign_dot_name(name: &[u8]) -> bool {
    name.starts_with(b".") && !name.is_ascii()
}

/// Where a path leads, from the workspace; nothing where that is outside of it or cannot be told, or where the path is one of a shell or an
/// address.
pub(crate) fn real_path(path: &Path, workspace: &Path) -> Option<PathBuf> {
    let begins = path.components().next().map(Component::as_os_str).unwrap_or_default().as_encoded_bytes();
    let is_shorthand = begins.starts_with(b"~") || begins.ends_with(b":");
    if is_shorthand || path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    // Without what stands twice or for nothing in it, as programs shorten it.
    let path: PathBuf = workspace.join(path).components().collect();
    if path.as_os_str().len() > PATH_BYTES {
        return None;
    }
    // What is not there yet will be made below what is.
    for there in path.ancestors() {
        match there.canonicalize() {
            Ok(real) => {
                let whole = real.join(path.strip_prefix(there).ok()?);
                let root = workspace.canonicalize();
                return whole.strip_prefix(root.as_deref().unwrap_or(workspace)).ok().map(Path::to_owned);
            }
            // A link without a target would be written through.
            Err(error) if is_missing(&error) && !there.is_symlink() => {}
            Err(_) => return None,
        }
    }
    None
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What of a path is below the inbox of a run, to which an agent without tools reports by files.
fn in_inbox(path: &Path) -> Option<&Path> {
    let mut parts = path.strip_prefix(".baton").ok()?.components();
    let (Some(Component::Normal(_)), Some(inbox)) = (parts.next(), parts.next()) else { return None };
    (inbox.as_os_str() == "inbox").then_some(parts.as_path()).filter(|file| !file.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_inside_where_it_makes_nobody_run_a_command() {
        // N6
        let root = Path::new("/w/work");
        let work = [".github/workflows/hooks", ".vscode/settings.json", "hooks/.github", ".hgignore"];
        let plain = [
            "a.txt",
            "/w/work/src/a.rs",
            "src/.gitignore",
            ".gitattributes",
            ".github/x.yml",
            "app/[id]/page.tsx",
            "app/$id.tsx",
        ];
        for inside in plain.into_iter().chain(work) {
            assert!(is_inside(inside, root, false), "{inside}");
        }
        let settings = [
            ".git",
            ".git/config",
            "sub/.git/hooks/x",
            ".GIT/config",
            "/w/work/.git",
            ".baton/r1/x",
            ".baton/inbox/x",
            ".baton/r1/inbox",
            "sub/.baton/r1/inbox/x",
        ];
        let of_agents =
            [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", "a/.mcp.json"];
        let nested = [
            ".github/hooks",
            ".GitHub/Hooks/a.json",
            "a/.vscode/mcp.json",
            ".hg/hgrc",
            "/w/work/.windsurf/hooks.json",
        ];
        let outside = [
            "../a",
            "/w/work/../x",
            "/w/workshop/a",
            "/etc/passwd",
            "~/.bashrc",
            "~root/x",
            "file:///etc/passwd",
            "https://example.org/a",
            "$HOME/.bashrc",
            "%HOME%/x",
            "a/${X}",
            "a/$(touch x)",
            "a/`touch x`",
            "a\0b",
            "a\n/etc/passwd",
            " /etc/passwd",
            ".cur\u{17f}or/mcp.json",
            ".",
            "./",
            " ",
            "",
            "/w/work",
            "/w/work/./",
            "/w",
        ];
        for path in settings.iter().chain(&of_agents).chain(&nested).chain(&outside) {
            assert!(!is_inside(path, root, false), "{path}");
        }
    }

    #[test]
    fn an_edit_through_a_link_is_of_what_it_leads_to() {
        // N6
        use std::os::unix::fs::symlink;

        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        for folder in [".git/hooks", "src", "d"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("work", place.path().join("alias")).unwrap();
        for (to, name) in [
            ("..", "home"),
            (".git", "lnk"),
            ("../.git", "d/g"),
            ("src", "sources"),
            ("/nowhere/x", "dangling"),
            ("../.git/description", "d/file"),
        ] {
            symlink(to, root.join(name)).unwrap();
        }
        for inside in ["sources/a.rs", "sources/new/b.rs", "src/a.rs", "d/x"] {
            assert!(is_inside(inside, &root, false), "{inside}");
            assert!(is_inside(root.join(inside).to_str().unwrap(), &root, false), "{inside}");
        }
        for outside in
            ["home/.bashrc", "lnk/config", "d/g/hooks/pre-commit", "dangling", "d/file", "home/new/a"]
        {
            assert!(!is_inside(outside, &root, false), "{outside}");
            assert!(!is_inside(root.join(outside).to_str().unwrap(), &root, false), "{outside}");
        }
        // A workspace that is reached by a link is itself.
        let alias = place.path().join("alias");
        let of_alias = |path: &str| is_inside(alias.join(path).to_str().unwrap(), &alias, false);
        assert!(of_alias("src/a.rs") && is_inside("a.rs", &alias, false) && !of_alias("lnk/config"));
    }

    #[test]
    fn a_long_path_is_of_what_it_leads_to() {
        // N6: the system does not open it as it is, and a program that shortens it opens what a link in it leads to.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::os::unix::fs::symlink("../..", root.join("a/up")).unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        std::os::unix::fs::symlink("../..", root.join("space ")).unwrap();
        let long = |between: &str, end: &str| format!("a/{}{end}", between.repeat(PATH_BYTES));
        for outside in
            [long("./", "up/x"), long("/", "up/x"), long("b/", "x"), "b".repeat(300), "loop/x".to_owned()]
        {
            assert!(!is_inside(&outside, &root, false), "{outside}");
        }
        assert!(!is_inside("space ", &root, false), "a link whose name ends in a space");
        assert!(is_inside(&long("./", "x"), &root, false));
    }

    #[test]
    fn what_is_moved_or_deleted_lies_in_the_work_and_is_named_as_it_is() {
        // N6: `rm -r *`, and the work tree itself by another name.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        std::fs::create_dir_all(root.join("src/.git")).unwrap();
        std::os::unix::fs::symlink("..", root.join("src/up")).unwrap();
        std::os::unix::fs::symlink(&root, root.join("here")).unwrap();
        for inside in ["src", "src/a.rs", "src/", "./src", "a b.txt", "node_modules/@x/y-1.2+3"] {
            assert!(is_inside(inside, &root, true), "{inside}");
            assert!(is_inside(root.join(inside).to_str().unwrap(), &root, true), "{inside}");
        }
        let itself =
            [".", "./", "", "./.", "here", "here/", "src/up", "here/here", "src/..", "src/../../work"];
        let patterns = [
            "*",
            "src/*",
            "?rc",
            "[s]rc",
            "{src,here}",
            "~",
            "src/~",
            "$HOME",
            "a/$PWD",
            "src\\x",
            "'src'",
            "src;x",
            "src\n",
            "a|b",
        ];
        for outside in itself.iter().chain(&patterns).chain(&[
            "..",
            ".git",
            "src/.git",
            ".baton",
            "here/.git",
            ".claude",
        ]) {
            assert!(!is_inside(outside, &root, true), "{outside}");
            assert!(!is_inside(root.join(outside).to_str().unwrap(), &root, true), "{outside}");
        }
    }
}
