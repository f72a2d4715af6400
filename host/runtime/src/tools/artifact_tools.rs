//! Artifacts as agents see them: saved, listed, and read by range. Blocking; journals nothing.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::workflow::paths::ReservedNames;
use baton_core::{RunId, SessionId, WorktreeName};
use baton_inbox::{ArtifactList, ArtifactLoad, ArtifactSave, LIST_MAX, LOAD_BYTES_MAX, ToolReply};
use baton_store::{
    ARTIFACT_BYTES_MAX, ArtifactStore, ArtifactVersion, NewArtifact, SavedArtifact, StoreError,
};
use baton_workspace::RunWorktrees;

use crate::clock;

/// Bytes of one read if the agent names no limit: some 4,000 tokens.
const LOAD_BYTES: u64 = 16 << 10;
/// Rows of one list if the agent names no limit.
const LIST: u32 = 50;
/// Longest sequence of UTF-8, less its first byte: a range is widened by up to this many bytes to end between two characters.
const UTF8_TAIL: u64 = 3;

/// Folders of artifact names that are the host's in every run: their contents are projected into the workspace and read as the
/// host's own, so no agent may write there. The templates of a workflow add their own.
const HOST_FOLDERS: [&str; 6] =
    ["handoffs", "inputs", "reviews", "summaries", "tool-results", "verifications"];

/// What became of keeping an artifact.
pub(crate) struct ArtifactSaveResult {
    pub(crate) session: Option<SessionId>,
    pub(crate) key: Option<String>,
    pub(crate) result: Result<ArtifactRef, String>,
    /// The report of the artifact, if it is a review.
    pub(crate) says: Option<AgentReport>,
}

/// The artifacts of one run, and the places that files come from.
#[derive(Clone)]
pub(crate) struct ArtifactTools {
    pub(crate) run: RunId,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) trees: RunWorktrees,
    /// Names that the workflow's templates take up.
    pub(crate) claims: ReservedNames,
    /// Paths that agents of a sandbox do not see: absolute, or relative to their tree.
    pub(crate) hidden: Vec<PathBuf>,
}

impl ArtifactTools {
    /// Saves an agent's artifact, given by content or by a path in its tree.
    pub(crate) fn save(
        &self,
        session: Option<SessionId>,
        tree: &WorktreeName,
        save: &ArtifactSave,
    ) -> Result<ArtifactRef, String> {
        let top = save.name.split('/').next().unwrap_or_default();
        if HOST_FOLDERS.contains(&top) || self.claims.hold(&save.name) {
            return Err(format!(
                "not kept: {top} and names below it are the host's own; take another name, for example notes/{}",
                save.name.rsplit('/').next().unwrap_or_default()
            ));
        }
        let refused = |error: &dyn std::fmt::Display| format!("not kept: {error}");
        let bytes = match (&save.content, &save.path) {
            (Some(content), _) => content.clone().into_bytes(),
            (None, Some(path)) => {
                let gone =
                    || refused(&format!("the work tree {tree} no longer exists; give the content instead"));
                let place = self.trees.at_hand(tree).ok_or_else(gone)?;
                place.read_file(path, ARTIFACT_BYTES_MAX, &self.hidden).map_err(|error| refused(&error))?
            }
            (None, None) => return Err("not kept: give content or path".to_owned()),
        };
        let media_type = save.media_type.as_deref().unwrap_or_else(|| media_type(&save.name, &bytes));
        let new = NewArtifact {
            name: &save.name,
            media_type,
            bytes: &bytes,
            summary: &save.summary,
            session,
            tool_call: None,
            at: clock::wall(),
        };
        self.artifacts.save(&self.run, new).map_err(|error| refused(&error))
    }

    /// Keeps the whole of a review, under a name of the host's.
    pub(crate) fn keep_review(
        &self,
        session: Option<SessionId>,
        name: &str,
        document: &str,
        summary: &str,
    ) -> Result<ArtifactRef, String> {
        let bytes = document.as_bytes();
        let (media_type, at) = ("text/markdown", clock::wall());
        let new = NewArtifact { name, media_type, bytes, summary, session, tool_call: None, at };
        self.artifacts.save(&self.run, new).map_err(|error| format!("not kept: {error}; submit it once more"))
    }

    /// One part of one artifact. Text begins and ends between two characters.
    pub(crate) fn load(&self, load: &ArtifactLoad) -> ToolReply {
        self.part(load).unwrap_or_else(|error| {
            let names = "artifact_list gives the names that there are";
            ToolReply::refused(format!("nothing to read: {error}; {names}"))
        })
    }

    fn part(&self, load: &ArtifactLoad) -> Result<ToolReply, StoreError> {
        let version = load.version.map_or(ArtifactVersion::Latest, ArtifactVersion::Exactly);
        let saved = self.artifacts.get(&self.run, &load.name, version)?;
        let ArtifactRef { name, version, digest, bytes: total, .. } = saved.artifact;
        let start = load.offset.unwrap_or(0).min(total);
        let limit = load.limit.unwrap_or(LOAD_BYTES).clamp(1, LOAD_BYTES_MAX);
        let found = self.artifacts.read_range(&digest, start, limit + UTF8_TAIL)?;
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX).min(found.len());
        let (body, taken, encoding) = match text_part(&found, wanted) {
            Some(text) => (text.to_owned(), text.len(), ""),
            None => (BASE64.encode(&found[..wanted]), wanted, ", as base64"),
        };
        let to = start + taken as u64;
        let next = match to < total {
            true => format!("; continue with offset {to}"),
            false => "; this is the end".to_owned(),
        };
        let text = format!("{name}@{version}, bytes {start} to {to} of {total}{encoding}{next}");
        Ok(ToolReply { text, body: Some(body), ..ToolReply::default() })
    }

    /// The newest version of every name.
    pub(crate) fn list(&self, list: &ArtifactList) -> ToolReply {
        let saved = match self.artifacts.list(&self.run) {
            Ok(saved) => saved,
            Err(error) => return ToolReply::refused(format!("the list cannot be read: {error}; try again")),
        };
        // Versions of a name follow each other, the newest last.
        let is_newest =
            |at: &usize| saved.get(at + 1).is_none_or(|next| next.artifact.name != saved[*at].artifact.name);
        let newest: Vec<&SavedArtifact> = (0..saved.len()).filter(is_newest).map(|at| &saved[at]).collect();
        let start = (list.offset.unwrap_or(0) as usize).min(newest.len());
        let limit = list.limit.unwrap_or(LIST).clamp(1, LIST_MAX) as usize;
        let shown = &newest[start..(start + limit).min(newest.len())];
        let rest = newest.len() - start - shown.len();
        let mut text = match newest.len() {
            0 => "nothing is kept yet; artifact_save keeps something".to_owned(),
            count => format!("{} of {count} artifacts", shown.len()),
        };
        for SavedArtifact { artifact, tokens, .. } in shown {
            let ArtifactRef { name, version, bytes, summary, .. } = artifact;
            text.push_str(&format!("\n{name}@{version}  {bytes} bytes, about {tokens} tokens  {summary}"));
        }
        if rest > 0 {
            text.push_str(&format!("\n{rest} more: continue with offset {}", start + shown.len()));
        }
        ToolReply::said(text)
    }
}

/// The whole characters within the first `wanted` bytes; none if these bytes are not text. At least one character is returned,
/// so that repeated reads make progress.
fn text_part(found: &[u8], wanted: usize) -> Option<&str> {
    let is_boundary = |at: &usize| found.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let end = (1..=wanted).rev().find(is_boundary).or_else(|| (wanted..=found.len()).find(is_boundary))?;
    str::from_utf8(found.get(..end)?).ok()
}

/// By the ending of a name, as far as agents and people care; else by whether the bytes are text.
fn media_type(name: &str, bytes: &[u8]) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        Some("jsonl" | "ndjson") => "application/jsonl",
        Some("html" | "htm") => "text/html",
        Some("csv") => "text/csv",
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("svg") => "image/svg+xml",
        Some("pdf") => "application/pdf",
        Some("gz" | "tgz") => "application/gzip",
        _ if str::from_utf8(bytes).is_ok() => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::TestFixture;
    use baton_core::workflow::paths::{PathTemplates, RunNames};
    use baton_store::JournalOptions;

    fn artifact_tools(place: &TestFixture) -> ArtifactTools {
        ArtifactTools {
            run: RunId::new("r"),
            artifacts: ArtifactStore::open(&place.state).unwrap(),
            trees: crate::test_support::trees(place),
            claims: ReservedNames::default(),
            hidden: vec![PathBuf::from("secrets")],
        }
    }

    fn content(name: &str, content: &str) -> ArtifactSave {
        let (path, media_type) = (None, None);
        let summary = "a summary".to_owned();
        ArtifactSave { name: name.to_owned(), content: Some(content.to_owned()), path, media_type, summary }
    }

    fn by_path(name: &str, path: &str) -> ArtifactSave {
        ArtifactSave { content: None, path: Some(path.to_owned()), ..content(name, "") }
    }

    /// Reads an artifact to its end as an agent would, by the offset that each answer names.
    fn read_on(artifact_tools: &ArtifactTools, name: &str, limit: u64) -> Vec<u8> {
        let (mut whole, mut offset) = (Vec::new(), 0);
        loop {
            let load = ArtifactLoad {
                name: name.to_owned(),
                version: None,
                offset: Some(offset),
                limit: Some(limit),
            };
            let answer = artifact_tools.load(&load);
            assert!(!answer.is_error, "{answer:?}");
            let body = answer.body.unwrap();
            match answer.text.contains("as base64") {
                true => whole.extend(BASE64.decode(body).unwrap()),
                false => whole.extend(body.bytes()),
            }
            match answer.text.split_once("continue with offset ") {
                Some((_, next)) => offset = next.parse().unwrap(),
                None => return whole,
            }
        }
    }

    #[test]
    fn what_is_kept_comes_back_by_range_byte_for_byte() {
        // C3, C6
        let place = TestFixture::new(JournalOptions::default());
        let artifact_tools = artifact_tools(&place);
        let text = "aä€🦀 und so weiter, ".repeat(500);
        let binary: Vec<u8> = (0..=255).cycle().take(3000).collect();
        std::fs::write(place.workspace.join("binary"), &binary).unwrap();
        std::fs::write(place.workspace.join("empty"), "").unwrap();
        artifact_tools.save(None, &WorktreeName::workspace(), &content("notes/text.md", &text)).unwrap();
        artifact_tools.save(None, &WorktreeName::workspace(), &by_path("notes/binary", "binary")).unwrap();
        artifact_tools.save(None, &WorktreeName::workspace(), &by_path("notes/empty", "empty")).unwrap();
        for limit in [1, 2, 3, 7, 100, 4096, u64::MAX] {
            assert_eq!(read_on(&artifact_tools, "notes/text.md", limit), text.as_bytes(), "{limit}");
            assert_eq!(read_on(&artifact_tools, "notes/binary", limit), binary, "{limit}");
            assert_eq!(read_on(&artifact_tools, "notes/empty", limit), b"");
        }
        let listed = artifact_tools.list(&ArtifactList { offset: Some(1), limit: Some(1) });
        assert!(listed.text.starts_with("1 of 3 artifacts\nnotes/empty@1  0 bytes"), "{}", listed.text);
        assert!(listed.text.ends_with("1 more: continue with offset 2"), "{}", listed.text);
    }

    #[test]
    fn an_agent_keeps_nothing_under_the_names_of_the_host_and_nothing_from_outside() {
        let place = TestFixture::new(JournalOptions::default());
        let mut artifact_tools = artifact_tools(&place);
        let paths =
            PathTemplates { handoff: "torch/{phase}-{ordinal}.md".to_owned(), ..PathTemplates::default() };
        artifact_tools.claims = paths.claims(RunNames { run: "r", workflow: "w", goal: "g" });
        std::fs::write(place.workspace.join("../secret"), "outside").unwrap();
        let refused =
            |save: &ArtifactSave| artifact_tools.save(None, &WorktreeName::workspace(), save).unwrap_err();
        assert!(refused(&content("handoffs/phase-a-1.md", "x")).contains("notes/phase-a-1.md"));
        for name in ["torch/a-1.md", "index.md", "phases/a", "inputs/a", "tool-results/a", "summaries/a"] {
            assert!(refused(&content(name, "x")).contains("the host's own"), "{name}");
        }
        assert!(refused(&content("../up", "x")).contains("\"..\""));
        assert!(refused(&by_path("a", "../secret")).contains("inside the workspace"));
        std::fs::create_dir(place.workspace.join("secrets")).unwrap();
        std::fs::write(place.workspace.join("secrets/key"), "hidden").unwrap();
        assert!(refused(&by_path("a", "secrets/key")).contains("the key `hide`"));
        let nothing = ArtifactLoad { name: "b".to_owned(), version: None, offset: None, limit: None };
        let answer = artifact_tools.load(&nothing);
        assert!(answer.is_error && answer.text.contains("artifact_list"), "{answer:?}");
        assert!(artifact_tools.list(&ArtifactList::default()).text.contains("nothing is kept yet"));
    }
}
