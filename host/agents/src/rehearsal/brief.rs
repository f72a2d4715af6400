//! What the rehearsal understands of a prompt: its objectives, and where to report. Nothing else.

use std::path::PathBuf;

/// The heading under which the objectives in focus stand.
const HEADING: &str = "## Your objective";

/// Before the folder that takes reports.
const REPORT_TO: &str = "Report to:";

/// What a prompt asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Brief {
    /// Ids, in the order of the prompt.
    pub(super) objectives: Vec<String>,
    /// Where reports go.
    pub(super) inbox: Option<PathBuf>,
}

impl Brief {
    pub(super) fn read(prompt: &str) -> Self {
        let mut brief = Self::default();
        let mut below = false;
        for line in prompt.lines().map(str::trim) {
            if line.starts_with('#') {
                below = line.starts_with(HEADING);
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
}
