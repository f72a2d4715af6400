//! The file of a work tree that names its repository: `gitdir: ../repo/.git/worktrees/tree`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The path in such a file, unchanged; none if it is another file.
pub fn named_by(link: &[u8]) -> Option<&Path> {
    let named = link.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(Path::new(OsStr::from_bytes(named)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_a_path_of_any_bytes() {
        assert_eq!(named_by(b"gitdir: ../r/.git\n"), Some(Path::new("../r/.git")));
        let odd = b"gitdir: /a b/\xff.git\r\n";
        assert_eq!(named_by(odd).map(|path| path.as_os_str().as_bytes()), Some(&b"/a b/\xff.git"[..]));
        assert_eq!(named_by(b"[core]\n"), None);
    }
}
