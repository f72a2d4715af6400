//! What the facts beside a handoff document show when it is checked. Judges nothing.

use std::path::Path;

use baton_runtime::core::workflow::paths::archived;
use baton_runtime::core::{ObjectiveId, path_mentions};
use baton_runtime::read_plain;
use serde_json::Value;

/// The end of the name of a handoff's facts.
const FACTS: &str = "-facts.json";
/// Facts of a run are smaller.
const FACTS_BYTES_MAX: u64 = 64 << 20;

/// The facts of a handoff that its check needs.
pub(super) struct HandoffFactsFile {
    /// The commit it was made at, and the branch.
    pub(super) head: String,
    pub(super) branch: String,
    /// Objectives that were open.
    pub(super) open: Vec<ObjectiveId>,
    excuses: Vec<String>,
    descriptions: String,
}

impl HandoffFactsFile {
    /// Whether a file may be missing: deleted on the way, kept in the store, or still to be written.
    pub(super) fn excuses(&self, path: &str) -> bool {
        let kept = |known: &String| known == path || path.ends_with(&format!("/{known}"));
        self.excuses.iter().any(kept) || self.descriptions.contains(path)
    }

    /// The facts of a document, if they exist: next to the file, in the workspace, or in its archive.
    pub(super) fn beside(workspace: &Path, file: &Path, document: &str) -> Option<Self> {
        let named = path_mentions::extract_paths(document).into_iter().find(|path| path.ends_with(FACTS))?;
        let name = Path::new(&named).file_name()?;
        let beside = file.parent().unwrap_or(Path::new("")).join(name);
        let places = [beside, workspace.join(&named), workspace.join(archived(&named))];
        let bytes = places.iter().find_map(|place| read_plain(place, FACTS_BYTES_MAX).ok())?;
        let facts: Value = serde_json::from_slice(&bytes).ok()?;
        let texts = |list: &Value, key: &str| -> Vec<String> {
            let items = list.as_array().into_iter().flatten();
            items.filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
        };
        let objectives = facts["objectives"].as_array()?.clone();
        let is_open = |objective: &&Value| objective["status"] != "done";
        let gone =
            facts["files_changed"].as_array().into_iter().flatten().filter(|file| file["exists"] == false);
        let mut excuses: Vec<String> =
            gone.filter_map(|file| file["path"].as_str().map(str::to_owned)).collect();
        excuses.extend(texts(&facts["artifacts"], "name"));
        excuses.extend(facts["predecessor"].as_str().map(str::to_owned));
        excuses.extend(facts["verification"]["artifact"].as_str().map(str::to_owned));
        excuses.push(named);
        Some(HandoffFactsFile {
            head: facts["git"]["head"].as_str().unwrap_or_default().to_owned(),
            branch: facts["git"]["branch"].as_str().unwrap_or_default().to_owned(),
            open: objectives
                .iter()
                .filter(is_open)
                .filter_map(|objective| objective["id"].as_str().map(ObjectiveId::new))
                .collect(),
            descriptions: texts(&facts["objectives"], "description").join("\n"),
            excuses,
        })
    }
}
