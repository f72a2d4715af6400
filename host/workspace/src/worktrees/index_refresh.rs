//! What an index says of files on disk, which is not believed: an agent that writes the index can have it say that a file which it has
//! changed is as it was, or that one which nobody touched is another.

use super::WorktreeError;
use super::git::{GitRunner, records};
use super::worktree::GITLINK;

/// Has git look into every file again: each entry stays as it is, without what was noted of the file behind it. Entries of files that a
/// sparse checkout leaves out, and of merges that stand open, are not touched.
pub(super) async fn look_anew(git: &GitRunner) -> Result<(), WorktreeError> {
    let listed = git.call(&["ls-files", "-t", "-s", "-z"]).bytes().await?;
    let entries: Vec<u8> =
        records(&listed).filter_map(plain_entry).flat_map(|entry| [entry, b"\0"].concat()).collect();
    if !entries.is_empty() {
        git.call(&["update-index", "-z", "--index-info"]).input(entries).done().await?;
        // It fails where a file is not what its entry says: that is what is looked for afterwards.
        git.call(&["update-index", "-q", "--refresh"]).ended().await?;
    }
    Ok(())
}

/// Of "H 100644 ID 0\tNAME" all behind the mark, where it is one of a file that should be there.
fn plain_entry(record: &[u8]) -> Option<&[u8]> {
    let (mark, entry) = (record.first()?, record.get(2..)?);
    let is_of_file = mark.eq_ignore_ascii_case(&b'H') && !entry.starts_with(GITLINK.as_bytes());
    is_of_file.then_some(entry)
}
