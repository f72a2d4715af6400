//! The end of every prompt: how to report, and where. It says nothing of the work.

use baton_sdk::Host;
use baton_sdk::handoff::Observation;
use baton_sdk::sections::Section;
use baton_sdk::types::{Basis, Capabilities};
use baton_sdk::words::one_line;

use crate::assess::wanted;
use crate::together;

/// Bytes of the path of the inbox.
const PATH_BYTES: usize = 300;
/// Objectives that are named there; a lead may have more.
const FOCUS: usize = 20;

/// The line that an agent and the host agree on, whatever else had to be left out.
pub(crate) fn ending(host: &impl Host, o: &Observation) -> Option<Section> {
    if o.inbox_path.is_empty() {
        return None;
    }
    let path = one_line(&o.inbox_path, PATH_BYTES);
    let session = match &o.reports_as {
        Some(id) => format!(
            "Write `\"session\": \"{}\"` into each file: who works beside you reports to the same folder.\n",
            one_line(id, 40)
        ),
        None => String::new(),
    };
    let last_line = last_line(host, o);
    if o.session.capabilities.contains(Capabilities::TAKES_MCP) {
        let review = if together::is_review(o) { REVIEW_TOOL } else { "" };
        return reporting(&format!(
            "Report through the tools of the MCP server `baton`:\n{review}{TOOLS}\
             Without them, as files (its README says how).\nReport to: {path}\n{session}{last_line}"
        ));
    }
    let review = match together::is_review(o) {
        true => {
            "Your review goes there as a file, a `review-submit`: its README has an example. Or end your answer with a line of its own,\n\
             behind what you found: `Score: N`, of 100.\n"
        }
        false => "",
    };
    reporting(&format!(
        "Report to: {path}\n{review}\
         Progress, decisions, failed attempts, gotchas, patterns and handoffs go there as files (its README says how). So does a\n\
         request to split a scope that is too large: that is a success, not a failure.\n{session}{last_line}"
    ))
}

fn reporting(lines: &str) -> Option<Section> {
    let mut section = Section::new("reporting").headed("Reporting");
    section.line(lines.trim_end());
    Some(section)
}

/// How an agent says by its answer alone that it is done: the line that `assess/ending/work.rs` reads. It asks for exactly what is
/// accepted without a check, since words beside the line may take it back. If only a report counts, there is none.
fn last_line(host: &impl Host, o: &Observation) -> String {
    if together::is_review(o) || o.focus.is_empty() {
        return String::new();
    }
    if wanted(host, &o.phase) == Some(Basis::Reported) {
        return "Only a report makes an objective done here; an answer does not.\n".to_owned();
    }
    let ids: Vec<&str> = o.focus.iter().take(FOCUS).map(String::as_str).collect();
    let open = if ids.len() == 1 { ids[0] } else { "ID" };
    format!(
        "If you report nothing, your whole answer is one line and nothing else: `Done: {}`, or `Not done: {open}: what is missing`.\n\
         Whatever else is worth knowing goes into a report or a handoff.\n",
        ids.join(", ")
    )
}

/// The tool that a reviewer answers by.
const REVIEW_TOOL: &str = "- review_submit once, at the end: your score, a summary, and every finding\n";

/// The tools of the host, for agents that take MCP servers.
const TOOLS: &str = "\
- objective_update as soon as an objective is done or blocked; decision_record for a choice and why
- attempt_record for what failed, gotcha_record for a trap: your successor is spared both
- pattern_record for a convention of this code that new work should follow
- artifact_save for anything large, artifact_load to read it by range; context_status before a large read
- handoff_write before you stop with work left; split_request where the scope is too large: a success, not a failure
";
