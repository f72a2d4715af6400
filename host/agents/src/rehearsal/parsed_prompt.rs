//! What the rehearsal understands of a prompt: its objectives, and where to report. Nothing else.

use std::path::PathBuf;

/// The heading under which the objectives in focus stand in prompts of the host and of the built-in policy. A prompt
/// without it is one of another policy: there any item of a list that begins with the id of a known objective is meant.
const HEADING: &str = "## Your objective";

/// Before the folder that takes reports.
const REPORT_TO: &str = "Report to:";

/// How the folder that takes reports ends, where a prompt names it within a sentence.
const INBOX: &str = "/inbox";

/// Before the id of the phase, in the title of every prompt.
const PHASE: &str = "hase ";

/// Before the file that a part of a split writes what it has to say to.
const RESULT_FILE: &str = "Result file:";

/// Before each file that other parts have written.
const RESULT: &str = "- result:";

/// How titles begin that say that another session worked before this one.
const CONTINUES: [&str; 2] = ["# Continuation of ", "# You take over "];

/// Before the path of what a successor reads first.
const READ_FIRST: [&str; 2] = ["(read first):", "Read first:"];

/// What a prompt asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedPrompt {
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
    /// Whether the session continues the work of another one.
    pub(super) continues: bool,
    /// The handoff that it continues from.
    pub(super) handoff: Option<PathBuf>,
}

impl ParsedPrompt {
    /// Reads a prompt; `knows` tells which objectives there is something to do for.
    pub(super) fn read(prompt: &str, knows: impl Fn(&str) -> bool) -> Self {
        let mut brief = Self::default();
        let mut below = false;
        let has_heading = prompt.lines().any(|line| line.trim().starts_with(HEADING));
        for line in prompt.lines().map(str::trim) {
            brief.continues |= CONTINUES.iter().any(|title| line.starts_with(title));
            if line.starts_with('#') {
                below = line.starts_with(HEADING);
                if brief.phase.is_empty() && line.starts_with("# ") {
                    brief.phase = phase(line);
                }
            } else if let Some(path) = (!below).then(|| handoff(line)).flatten() {
                brief.continues = true;
                brief.handoff.get_or_insert(path);
            } else if let Some(path) = line.strip_prefix(RESULT_FILE) {
                brief.result = Some(PathBuf::from(path.trim()));
            } else if let Some(path) = line.strip_prefix(RESULT) {
                brief.results.push(PathBuf::from(path.trim()));
            } else if let Some(path) = line.strip_prefix(REPORT_TO) {
                brief.inbox = Some(PathBuf::from(path.trim().trim_matches('`')));
            } else if has_heading {
                if below && let Some(id) = line.strip_prefix("- [").and_then(|rest| rest.split(']').next()) {
                    brief.objectives.push(id.to_owned());
                }
            } else if let Some(id) = item(line).filter(|id| knows(id)) {
                brief.objectives.push(id.to_owned());
            } else if let Some(path) = line.split('`').find(|part| part.ends_with(INBOX)) {
                brief.inbox = Some(PathBuf::from(path));
            }
        }
        brief
    }
}

/// The handoff that a line names: "Handoff (read first): a/b.md", "3. `a/b.md`: the handoff, its index first."
fn handoff(line: &str) -> Option<PathBuf> {
    let path = match READ_FIRST.iter().find_map(|label| line.split_once(label)) {
        Some((before, path)) if before.is_empty() || before.contains("andoff") => path,
        _ => line.split_once("`: the handoff").and_then(|(before, _)| before.split_once('`'))?.1,
    };
    Some(PathBuf::from(path.trim().trim_matches('`')))
}

/// The id with which an item of a list begins: "- [parser] Write it", "- parser: write it".
fn item(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))?;
    match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(id, _)| id),
        None => rest.split_once(':').map(|(id, _)| id.trim_matches(['`', '*'])),
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
        let brief = ParsedPrompt::read(prompt, |_| true);
        assert_eq!(brief.objectives, ["parser"]);
        assert_eq!(brief.inbox, Some(PathBuf::from(".baton/r1/inbox")));
        assert_eq!(ParsedPrompt::read("hello", |_| true), ParsedPrompt::default());
    }

    #[test]
    fn prompts_of_other_policies_are_understood_by_the_objectives_that_are_known() {
        let prompt = "# The next objective\nGoal: x\n- note: not an objective\n## What to do\n- parser: write it\n\
                      - [printer] Print.\n* `tests`: all\n\nReport as you go, by your tools or in `.baton/r1/inbox`.\n";
        let brief = ParsedPrompt::read(prompt, |id| ["parser", "printer", "tests"].contains(&id));
        assert_eq!(brief.objectives, ["parser", "printer", "tests"]);
        assert_eq!(brief.inbox, Some(PathBuf::from(".baton/r1/inbox")));
    }

    #[test]
    fn a_successor_is_told_apart_by_its_handoff_or_its_title() {
        let of = |prompt: &str| {
            let brief = ParsedPrompt::read(prompt, |_| false);
            (brief.continues, brief.handoff.map(|path| path.display().to_string()))
        };
        let named = |path: &str| (true, Some(path.to_owned()));
        let built_in = "# Continuation of phase a: x\n\nHandoff (read first): h/phase-a.md\n";
        assert_eq!(of(built_in), named("h/phase-a.md"));
        assert_eq!(of("## Your objective\n- [a] b\n\nIt belongs to: x (y).\n"), (false, None));
        assert_eq!(of("## Other\nRead first: h/a b.md\n"), named("h/a b.md"));
        assert_eq!(of("3. `h/a.md`: the handoff, its index first. Read nothing else.\n"), named("h/a.md"));
        assert_eq!(of("# Continuation of phase a: x\n"), (true, None));
        assert_eq!(of("# Phase a: x\n## Your objective\n- [a] Handoff (read first): x\n"), (false, None));
        assert_eq!(of("# Phase a: x\nRules (read first): x\n"), (false, None));
    }

    #[test]
    fn phase_and_result_files_are_found() {
        let phase = |title: &str| ParsedPrompt::read(title, |_| false).phase;
        assert_eq!(phase("# Phase 20a: one phase of many"), "20a");
        assert_eq!(phase("# Continuation of phase 20a-b: x"), "20a-b");
        assert_eq!(phase("# Your context was compacted. You are in phase build: x"), "build");
        let brief = ParsedPrompt::read(
            "# Phase m: x\nResult file: r/a.md\n- result: r/b.md\n- result: r/c.md\n",
            |_| false,
        );
        assert_eq!(brief.result, Some(PathBuf::from("r/a.md")));
        assert_eq!(brief.results, [PathBuf::from("r/b.md"), PathBuf::from("r/c.md")]);
    }
}
