//! Bind mounts: further paths by which a place is reached without a link. A mount over a place does not cover those.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A mount: a folder of a file system, and its mount point.
#[derive(Debug)]
struct Mount {
    /// The file system.
    device: Vec<u8>,
    /// The folder in it.
    root: PathBuf,
    /// The mount point.
    at: PathBuf,
}

/// The mounts that this process sees.
#[derive(Debug)]
pub(crate) struct Mounts(Vec<Mount>);

impl Mounts {
    /// The mounts that the system reports; none if it reports none.
    pub(crate) fn look() -> Self {
        Self::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// Reads lines such as `36 35 98:0 /root /at rw - ext4 /dev/sda1 rw`.
    fn parse(text: &[u8]) -> Self {
        let mounts = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = fields.next()?.to_owned();
            Some(Mount { device, root: path(fields.next()?), at: path(fields.next()?) })
        });
        Self(mounts.collect())
    }

    /// The file system of a path without links, and the path in it.
    fn place(&self, path: &Path) -> Option<(&[u8], PathBuf)> {
        let around = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        // Of two at the same place, the later one covers the other.
        let mount = around.max_by_key(|mount| mount.at.components().count())?;
        Some((&mount.device, mount.root.join(path.strip_prefix(&mount.at).ok()?)))
    }

    /// The place within a listed path that shows a guarded place, a part of it or a folder above it, if it differs from the
    /// guarded path. Both are without links.
    pub(crate) fn alias(&self, listed: &Path, guarded: &Path) -> Option<PathBuf> {
        let (device, own) = self.place(guarded)?;
        let itself = self.place(listed).filter(|(of, _)| *of == device);
        let itself = itself.map(|(_, root)| (listed.to_owned(), root));
        let below = self.0.iter().filter(|mount| mount.device == device && mount.at.starts_with(listed));
        let below = below.map(|mount| (mount.at.clone(), mount.root.clone()));
        itself.into_iter().chain(below).find_map(|(at, root)| {
            let (shown, real) = match (own.strip_prefix(&root), root.strip_prefix(&own)) {
                (Ok(rest), _) => (at.join(rest), guarded.to_owned()),
                (_, Ok(rest)) => (at, guarded.join(rest)),
                _ => return None,
            };
            // Another mount may cover it.
            (shown != real && is_same(&shown, &real)).then_some(shown)
        })
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// A path as the kernel writes it: a space, a tab, a line feed and a backslash are written as a backslash and three digits.
fn path(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.first_chunk::<3>().filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_place_is_found_behind_a_mount() {
        // N6: a bind mount in a `write` list gave agents the state folder. Links stand for the mounts here.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("state/run")).unwrap();
        fs::create_dir_all(root.join("list/own dir")).unwrap();
        for (to, name) in
            [("state", "list/own dir/in"), ("state/run", "part"), (".", "all"), ("list", "other")]
        {
            symlink(root.join(to), root.join(name)).unwrap();
        }
        let at = |name: &str| root.join(name);
        let shown = root.display();
        let text = format!(
            "1 0 8:1 / / rw - ext4 /dev/a rw\n\
             2 1 8:1 {shown}/state {shown}/list/own\\040dir/in rw shared:1 - ext4 /dev/a rw\n\
             3 1 8:1 {shown}/state/run {shown}/part rw - ext4 /dev/a rw\n\
             4 1 8:1 {shown} {shown}/all rw - ext4 /dev/a rw\n\
             5 1 8:2 {shown}/state {shown}/other rw - ext4 /dev/b rw\nodd\n"
        );
        let mounts = Mounts::parse(text.as_bytes());
        for (listed, seen) in [
            ("list", Some("list/own dir/in")),
            ("list/own dir/in", Some("list/own dir/in")),
            ("part", Some("part")),
            ("all", Some("all/state")),
            ("all/state/run", Some("all/state/run")),
            ("state", None),
            ("state/run", None),
            ("other", None),
            ("elsewhere", None),
        ] {
            assert_eq!(mounts.alias(&at(listed), &at("state")), seen.map(at), "{listed}");
        }
        assert_eq!(Mounts::parse(b"").alias(&at("list"), &at("state")), None);
    }
}
