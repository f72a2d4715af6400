//! What a prompt says of the others: parts of a split that work at the same time, a review of somebody's work, and what is
//! to be brought together (D2, D3, C11). Only facts that the host gives stand here, and texts of the settings.

use baton_sdk::Host;
use baton_sdk::handoff::{Kind, Observation};
use baton_sdk::types::{Iteration, ObjectiveStatus, Origin};
use baton_sdk::words::one_line;

use crate::page::Page;

/// Files that are named one by one; an agent finds the others by itself.
const FILES: usize = 40;
/// Objectives of the work that is reviewed.
const REVIEWED: usize = 40;
/// Bytes of a path, and of the description of an objective that is reviewed: it is what the work is held to.
const PATH_BYTES: usize = 300;
const DESCRIPTION_BYTES: usize = 1_200;
/// Bytes of a rule.
const RULE_BYTES: usize = 600;

/// Whether the prompt is for somebody who looks at the work of others, whatever it is for just now.
pub(crate) fn is_review(o: &Observation) -> bool {
    o.kind == Kind::Reviewing || o.phase.origin == Origin::Review
}

/// Whether it is for somebody who brings the work of others together.
pub(crate) fn is_merge(o: &Observation) -> bool {
    o.phase.origin == Origin::Merge
}

/// Where the agent works, and who else does: what it may touch, and what it need not do.
pub(crate) fn place(page: &mut Page, o: &Observation) {
    let result = o.result_file.as_ref();
    if is_review(o) || is_merge(o) || (result.is_none() && o.phase.tree.is_none()) {
        return;
    }
    page.heading("place", "Your place");
    match result {
        Some(path) => {
            page.line("Others do the other parts of this work at the same time, in this same folder. Change only what your");
            page.line("objectives need, and leave files alone that are another part's. When your objectives are done, write what");
            page.line("you made, where it is, and what whoever brings the parts together must know, on one page at most, to:");
            page.line(&format!("Result file: {}", one_line(path, PATH_BYTES)));
        }
        None => {
            page.line("You work alone in this folder: it is a git work tree of its own, with everything that was there when your");
            page.line("part began. Others do theirs elsewhere, and you do not see their changes. Stay in it, and leave branches as");
            page.line("they are: no checkout, no merge, no push. What you leave here is committed and merged for you.");
        }
    }
}

/// That the work is done in rounds, and which one this is (B10). An agent that knows it already hears of it again after a compaction
/// alone (B3).
pub(crate) fn round(page: &mut Page, o: &Observation) {
    let Some(Iteration { ordinal: round, at_most: rounds }) = o.phase.iteration else { return };
    if matches!(o.kind, Kind::ReOriented | Kind::Nudged) {
        page.line(&format!("This is round {round} of at most {rounds}."));
    } else if round > 1 {
        page.line(&format!(
            "This is round {round} of at most {rounds}. The check at the end of the round before was not content; what it found \
             is quoted below where it is known. Mend that, and keep what was good."
        ));
    }
}

/// What is reviewed, and how to answer.
pub(crate) fn review(page: &mut Page, o: &Observation) {
    let reviewed = || o.objectives.iter().filter(|objective| !o.focus.contains(&objective.id));
    if reviewed().next().is_some() {
        page.heading("reviewed", "What was to be done");
        page.list(reviewed(), REVIEWED, |objective| {
            let said = match objective.status {
                ObjectiveStatus::Done => "said to be done",
                _ => "open",
            };
            let description = one_line(&objective.description, DESCRIPTION_BYTES);
            format!("- to review: {} ({said}) — {description}", objective.id)
        });
    }
    if let Some(verification) = &o.verification {
        let how = if verification.passed { "passed" } else { "failed" };
        let artifact = verification
            .artifact
            .as_ref()
            .map(|name| format!("; all that they printed is the artifact {}", one_line(name, PATH_BYTES)))
            .unwrap_or_default();
        page.line(&format!("\nIts commands {how}{artifact}."));
    }
}

/// How a reviewer answers, and what its score means.
pub(crate) fn review_rules(page: &mut Page, host: &impl Host) {
    page.heading("review-rules", "How to review");
    page.list(host.texts("review-rules"), FILES, |rule| format!("- {}", one_line(&rule, RULE_BYTES)));
}

/// A conflict, or results that are to become one.
pub(crate) fn merge(page: &mut Page, host: &impl Host, o: &Observation) {
    let rules = if let Some(conflict) = &o.conflict {
        page.heading("conflict", "The conflict");
        let with = match &conflict.with_phase {
            None => "What changed meanwhile where this work began".to_owned(),
            Some(phase) => format!("What phase {} made", one_line(phase, PATH_BYTES)),
        };
        page.line(&format!(
            "{with} does not fit what is here already. The merge stands open in this folder, with conflicts in:"
        ));
        page.list(&conflict.files, FILES, |file| format!("- conflict: {}", one_line(file, PATH_BYTES)));
        "conflict-rules"
    } else {
        page.heading("results", "Results of the parts");
        page.list(&o.result_files, FILES, |file| format!("- result: {}", one_line(file, PATH_BYTES)));
        "synthesis-rules"
    };
    page.heading("merge-rules", "How to bring it together");
    page.list(host.texts(rules), FILES, |rule| format!("- {}", one_line(&rule, RULE_BYTES)));
}
