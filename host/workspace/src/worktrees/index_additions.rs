//! Files of a tree that are taken into an index of git.

use std::path::Path;

use baton_core::visible::visible_name;

use super::WorktreeError;
use super::git::{GitRunner, path};

/// Git's message about a name that it accepts in no index (`verify_path` in git's `read-cache.c`): `.git` in other letters,
/// `git~1`, a link as `.gitmodules`.
const PASSED_OVER: &str = "Ignoring path ";

/// Adds current files to an index, or removes missing ones from it. `git add` would look for changes within a submodule by a
/// call of git in it, which runs commands of the configuration there; this does not, even if a path changes in the meantime.
pub(super) async fn add_files(
    git: &GitRunner,
    names: impl IntoIterator<Item = &[u8]>,
) -> Result<(), WorktreeError> {
    let (gone, names): (Vec<&[u8]>, Vec<&[u8]>) =
        names.into_iter().partition(|name| is_behind_link(git.top(), &path(name)));
    let update = |how: &[&str], names: Vec<&[u8]>| {
        let names: Vec<u8> = names.into_iter().flat_map(|name| [name, b"\0"].concat()).collect();
        (!names.is_empty())
            .then(|| git.call(&["update-index"]).and_all(how).and_all(["-z", "--stdin"]).input(names))
    };
    // Git would check these through the link, and refuse them.
    if let Some(call) = update(&["--force-remove"], gone) {
        call.done().await?;
    }
    let Some(call) = update(&["--add", "--remove", "--replace"], names) else { return Ok(()) };
    let ended = call.ended().await?;
    // Git passes over them, and ends as if it had taken them.
    if let Some(name) = ended.complaint.lines().find_map(|line| line.strip_prefix(PASSED_OVER)) {
        return Err(WorktreeError::RefusedName { path: visible_name(name).into_owned() });
    }
    if ended.code == Some(0) { Ok(()) } else { Err(call.failed(ended)) }
}

/// Whether a link is in the place of a folder above a path.
fn is_behind_link(top: &Path, path: &Path) -> bool {
    let above = path.ancestors().skip(1).filter(|above| above.components().next().is_some());
    above.into_iter().any(|above| top.join(above).symlink_metadata().is_ok_and(|meta| meta.is_symlink()))
}
