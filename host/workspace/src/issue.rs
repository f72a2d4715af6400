//! An issue of the project's tracker, as the `gh` of the user tells it. Its author is a stranger: it is text.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use baton_sandbox::{own_trusted_path, own_trusted_program};
use serde::Deserialize;

/// A tracker that does not answer by then is not going to.
const LIMIT: Duration = Duration::from_secs(30);

/// The content of an issue.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Issue {
    /// Its title.
    pub title: String,
    /// Its text, in Markdown.
    pub body: String,
    /// Where people read it.
    pub url: String,
}

/// Asks `gh` for an issue of the repository that a folder belongs to.
///
/// # Errors
/// Why not, in words: `gh` is not there, is not logged in, or knows no such issue.
pub async fn issue(folder: &Path, number: u64) -> Result<Issue, String> {
    let mut gh = tokio::process::Command::new(own_trusted_program("gh"));
    gh.args(["issue", "view", &number.to_string(), "--json", "title,body,url"])
        .current_dir(folder)
        .env("PATH", own_trusted_path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = tokio::time::timeout(LIMIT, gh.output())
        .await
        .map_err(|_| format!("`gh issue view {number}` gives no answer"))?
        .map_err(|error| {
            format!("`gh` does not run ({error}): install it from cli.github.com, then `gh auth login`")
        })?;
    if !ended.status.success() {
        let said = String::from_utf8_lossy(&ended.stderr);
        return Err(format!("`gh issue view {number}` failed: {}", said.trim()));
    }
    serde_json::from_slice(&ended.stdout)
        .map_err(|error| format!("`gh issue view {number}` gave something else than an issue: {error}"))
}
