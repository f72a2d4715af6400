//! What an index says of files on disk, which is not believed: an agent that writes the index can have it say that a file which it has
//! changed is as it was, or that an untouched one is another.

use super::WorktreeError;
use super::git::{GitRunner, records};
use super::worktree::GITLINK;

/// Makes git read every file again: each entry stays as it is, without the noted data of its file, and of the folders above it.
/// Entries of files that a sparse checkout leaves out stay so, and those of open merges are not touched. The host's store has
/// all these files then, as far as the repository has them.
pub(super) async fn look_anew(git: &GitRunner) -> Result<(), WorktreeError> {
    let listed = git.call(&["ls-files", "-t", "-s", "-z"]).bytes().await?;
    git.take_files(records(&listed).filter_map(|record| record.get(2..))).await?;
    let entries: Vec<u8> =
        records(&listed).filter_map(plain_entry).flat_map(|entry| [entry, b"\0"].concat()).collect();
    let left_out: Vec<u8> = records(&listed)
        .filter(|record| record.starts_with(b"S"))
        .filter_map(|record| {
            Some([plain_entry(record)?.splitn(2, |byte| *byte == b'\t').nth(1)?, b"\0"].concat())
        })
        .flatten()
        .collect();
    if !entries.is_empty() {
        git.call(&["update-index", "-z", "--index-info"]).input(entries).done().await?;
        if !left_out.is_empty() {
            git.call(&["update-index", "--skip-worktree", "-z", "--stdin"]).input(left_out).done().await?;
        }
        // It fails if a file differs from its entry: the following calls look for these.
        git.call(&["update-index", "-q", "--refresh"]).ended().await?;
    }
    Ok(())
}

/// Of "H 100644 ID 0\tNAME" the part after the mark, if it is a file ("S" is an omitted one).
fn plain_entry(record: &[u8]) -> Option<&[u8]> {
    let (mark, entry) = (record.first()?, record.get(2..)?);
    let is_of_file =
        matches!(mark.to_ascii_uppercase(), b'H' | b'S') && !entry.starts_with(GITLINK.as_bytes());
    is_of_file.then_some(entry)
}
