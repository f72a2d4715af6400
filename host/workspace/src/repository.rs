//! Makes an empty folder a git repository with one empty commit, for a workspace without one. Touches no
//! repository that is there.

use std::io;
use std::path::Path;
use std::process::Stdio;

use crate::error::WorkspaceError;
use crate::isolated_git_dir::base;

/// Makes the folder a repository on the branch `main`. Blocking.
///
/// # Errors
/// [`WorkspaceError::Command`] if git is not installed, or refuses.
pub fn make_repository(folder: &Path) -> Result<(), WorkspaceError> {
    let calls: [&[&str]; 2] = [
        &["init", "--quiet", "--initial-branch=main"],
        &["commit", "--quiet", "--allow-empty", "--message=An empty workspace"],
    ];
    calls.iter().try_for_each(|arguments| {
        call(folder, arguments).map_err(|source| WorkspaceError::Command {
            root: folder.to_owned(),
            command: format!("git {}", arguments.join(" ")),
            source,
        })
    })
}

fn call(folder: &Path, arguments: &[&str]) -> io::Result<()> {
    let output = base(folder)
        .args(["-c", "user.name=Baton", "-c", "user.email=baton@localhost", "-c", "commit.gpgSign=false"])
        .args(arguments)
        // A repository around it is ignored.
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        .stdin(Stdio::null())
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_folder_becomes_a_repository_with_a_commit() {
        let folder = tempfile::tempdir().unwrap();
        make_repository(folder.path()).unwrap();
        let head = std::fs::read_to_string(folder.path().join(".git/HEAD")).unwrap();
        assert_eq!(head.trim(), "ref: refs/heads/main");
        assert!(folder.path().join(".git/refs/heads/main").exists());
    }
}
