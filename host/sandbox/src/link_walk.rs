//! The target of a path, with the links on the way. An agent can replace links in any place that it can write, so the path of a
//! list is resolved through none of those.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;

/// A path that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkWalk {
    /// The links on the way, each by a path without links above it.
    pub links: Vec<PathBuf>,
    /// The same, each followed by the rest of the path.
    pub behind: Vec<PathBuf>,
    /// The target. Missing parts are taken literally.
    pub real: PathBuf,
}

impl LinkWalk {
    /// Follows an absolute path.
    pub fn of(path: &Path) -> Self {
        let mut walk = Self { links: Vec::new(), behind: Vec::new(), real: PathBuf::from("/") };
        let mut left: VecDeque<OsString> = VecDeque::new();
        prepend(&mut left, path);
        while let Some(part) = left.pop_front() {
            if part == ".." {
                walk.real.pop();
                continue;
            }
            let at = walk.real.join(&part);
            match fs::read_link(&at) {
                Ok(to) if walk.links.len() < LINKS_MAX => {
                    walk.behind.push(left.iter().fold(at.clone(), |path, part| path.join(part)));
                    if to.is_absolute() {
                        walk.real = PathBuf::from("/");
                    }
                    prepend(&mut left, &to);
                    walk.links.push(at);
                }
                Ok(_) | Err(_) => walk.real = at,
            }
        }
        walk
    }
}

fn prepend(left: &mut VecDeque<OsString>, path: &Path) {
    for part in path.components().rev() {
        if matches!(part, Component::Normal(_) | Component::ParentDir) {
            left.push_front(part.as_os_str().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_link_on_the_way_is_found_by_its_own_place() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("real/deep")).unwrap();
        fs::write(root.join("real/deep/key"), "").unwrap();
        symlink("real", root.join("first")).unwrap();
        symlink(root.join("first/deep"), root.join("second")).unwrap();
        symlink("../second/key", root.join("real/third")).unwrap();
        let walk = LinkWalk::of(&root.join("first/./third"));
        let links = ["first", "real/third", "second", "first"].map(|link| root.join(link));
        let behind =
            ["first/third", "real/third", "second/key", "first/deep/key"].map(|path| root.join(path));
        let expected =
            LinkWalk { links: links.to_vec(), behind: behind.to_vec(), real: root.join("real/deep/key") };
        assert_eq!(walk, expected);
        assert_eq!(walk.real, root.join("first/third").canonicalize().unwrap());
        let absent = LinkWalk::of(&root.join("first/no/such"));
        assert_eq!(absent.real, root.join("real/no/such"));
        symlink("ring", root.join("ring")).unwrap();
        assert_eq!(LinkWalk::of(&root.join("ring")).real, root.join("ring"));
    }
}
