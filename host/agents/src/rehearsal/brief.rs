//! What the rehearsal understands of a prompt: its objectives, and where to report. Nothing else.

use std::path::PathBuf;

/// The heading under which the objectives in focus stand.
const HEADING: &str = "## Your objective";

/// Before the folder that takes reports.
const REPORT_TO: &str = "Report to:";

/// Before the id of the phase, in the title of every prompt.
const PHASE: &str = "hase ";

/// Before the file that a part of a split writes what it has to say to.
const RESULT_FILE: &str = "Result file:";

/// Before each file that other parts have written.
const RESULT: &str = "- result:";

/// What a prompt asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Brief {
    /// Ids, in the order of the prompt.
    pub(super) objectives: Vec<String>,
    /// Id of the phase; empty where the prompt has no title.
    pub(super) phase: String,
    /// Where reports go.
    pub(super) inbox: Option<PathBuf>,
    /// Where a part of a split writes what it has to say.
    pub(super) result: Option<PathBuf>,
    /// What other parts have written.
    pub(super) results: Vec<PathBuf>,
}

impl Brief {
    pub(super) fn read(prompt: &str) -> Self {
        let mut brief = Self::default();
        let mut below = false;
        for line in prompt.lines().map(str::trim) {
            if line.starts_with('#') {
                below = line.starts_with(HEADING);
                if brief.phase.is_empty() && line.starts_with("# ") {
                    brief.phase = phase(line);
                }
            } else if let Some(path) = line.strip_prefix(RESULT_FILE) {
                brief.result = Some(PathBuf::from(path.trim()));
            } else if let Some(path) = line.strip_prefix(RESULT) {
                brief.results.push(PathBuf::from(path.trim()));
            } else if let Some(path) = line.strip_prefix(REPORT_TO) {
                brief.inbox = Some(PathBuf::from(path.trim().trim_matches('`')));
            } else if below && let Some(id) = line.strip_prefix("- [").and_then(|rest| rest.split(']').next())
            {
                brief.objectives.push(id.to_owned());
            }
        }
        brief
    }
}

/// "# Continuation of phase 20a: the parser" is about 20a.
fn phase(title: &str) -> String {
    let from = title.split_once(PHASE).map_or("", |(_, rest)| rest);
    from.split([':', ' ']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_objectives_in_focus_count() {
        let prompt = "# Build\n- done: survey\n- [other] not here\n\n## Your objective\n\n- [parser] Write it [well].\n\
                      - later: printer — not now\n\n## Rules\n- [no] rule\nReport to: `.baton/r1/inbox`\n";
        let brief = Brief::read(prompt);
        assert_eq!(brief.objectives, ["parser"]);
        assert_eq!(brief.inbox, Some(PathBuf::from(".baton/r1/inbox")));
        assert_eq!(Brief::read("hello"), Brief::default());
    }

    #[test]
    fn phase_and_result_files_are_found() {
        let phase = |title: &str| Brief::read(title).phase;
        assert_eq!(phase("# Phase 20a: one phase of many"), "20a");
        assert_eq!(phase("# Continuation of phase 20a-b: x"), "20a-b");
        assert_eq!(phase("# Your context was compacted. You are in phase build: x"), "build");
        let brief = Brief::read("# Phase m: x\nResult file: r/a.md\n- result: r/b.md\n- result: r/c.md\n");
        assert_eq!(brief.result, Some(PathBuf::from("r/a.md")));
        assert_eq!(brief.results, [PathBuf::from("r/b.md"), PathBuf::from("r/c.md")]);
    }
}
