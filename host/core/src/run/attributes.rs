//! What a policy is told of a phase by pairs of words, since the records of the contract are closed. Decides nothing.

use crate::decision::Staleness;
use crate::fits::{SPLIT_DEPTH, SPLIT_FAN_OUT};
use crate::observation::Attributes;
use crate::view::Origin;
use crate::workflow::{Repeat, SplitTime};

use super::Run;
use super::join::Fork;
use super::phase::Phase;
use super::question::{CHANGED_FILES, RECORDS};

impl Run {
    /// What the closed records have no field for: what is counted and not listed, and how old the handoff is (C9).
    pub(super) fn handoff_attributes(&self, p: usize) -> Attributes {
        let phase = &self.phases[p];
        let mut attributes = self.attributes(p);
        let mut put = |key: &str, value: String| attributes.push((key.to_owned(), value));
        let files = phase.facts.changed.len() + phase.facts.changed_beyond as usize;
        let counts = [
            ("changed-files", files, CHANGED_FILES),
            ("attempts", phase.attempts.len(), RECORDS),
            ("decisions", phase.decisions.len(), RECORDS),
            ("gotchas", phase.gotchas.len(), RECORDS),
            ("patterns", phase.patterns.len(), RECORDS),
        ];
        for (key, count, listed) in counts {
            if count > listed {
                put(&format!("{key}-beyond"), (count - listed).to_string());
            }
        }
        // Where several may share a folder, only they themselves can say whose a report in it is.
        let shares = phase.parent.is_some() || !self.at_work_beside(p).is_empty();
        if let Some(session) = phase.session.as_ref().filter(|_| shares) {
            put("session", session.to_string());
        }
        if self.session(p).is_some_and(|session| session.lead) {
            put("lead", "true".to_owned());
        }
        if self.session(p).is_some_and(|session| session.lost_context) {
            put("compacted", "true".to_owned());
        }
        if let Some(newest) = phase.handoffs.last() {
            let staleness = newest.review.as_ref().map_or(Staleness::Fresh, |review| review.staleness);
            put("handoff-staleness", staleness.name().to_owned());
            if let Some(found) = &phase.found {
                put("handoff-commits-since", found.commits_since.to_string());
                put("handoff-missing-files", found.missing_files.len().to_string());
                put("handoff-diverged", found.diverged.to_string());
            }
        }
        attributes
    }

    /// How a phase is, beyond what its record has fields for.
    pub(super) fn attributes(&self, p: usize) -> Attributes {
        let phase = &self.phases[p];
        let mut attributes = Attributes::new();
        if phase.spec.complex {
            attributes.push(("complex".to_owned(), "true".to_owned()));
        }
        if phase.spec.split != SplitTime::default() {
            attributes.push(("split".to_owned(), phase.spec.split.name().to_owned()));
        }
        if phase.mini_plan {
            attributes.push(("order".to_owned(), "mini-plan".to_owned()));
        }
        let mut put = |key: &str, value: String| attributes.push((key.to_owned(), value));
        match phase.origin {
            Origin::Workflow => {}
            Origin::Split => put("origin", "split".to_owned()),
            Origin::Review => put("origin", "review".to_owned()),
            Origin::Merge => put("origin", "merge".to_owned()),
        }
        if phase.origin == Origin::Review && phase.submitted.is_none() {
            put("review-missing", "true".to_owned());
        }
        if let Some(why) = &phase.not_taken {
            put("report-not-taken", why.clone());
        }
        if self.workflow.imported.is_some() {
            put("imported", "true".to_owned());
        }
        if phase.requested.is_some() {
            put("split-requested", "true".to_owned());
        }
        if !phase.tree.is_workspace() {
            put("tree", phase.tree.to_string());
        }
        if let Some(repeat) = self.loop_of(p) {
            put("iteration", phase.iteration.to_string());
            put("iterations", (repeat.at_most + phase.iterations_forgiven).to_string());
        }
        if let Some(fork) = self.fork_above(phase) {
            self.put_place_in_split(phase, fork, put);
        }
        attributes
    }

    /// How a part or a merge of a split stands to the others (C11).
    fn put_place_in_split(&self, phase: &Phase, fork: &Fork, mut put: impl FnMut(&str, String)) {
        match (phase.origin, fork.conflict()) {
            (Origin::Split, _) if fork.shares_folder() => {
                put("result-file", self.result_file(&phase.spec.id));
            }
            (Origin::Merge, Some((with, files))) => {
                put("conflict-with", with.map(ToString::to_string).unwrap_or_default());
                put("conflict-files", files.join("\n"));
            }
            (Origin::Merge, None) => {
                put("result-files", self.results_to_read(phase, fork).join("\n"));
            }
            _ => {}
        }
    }

    /// The loop that a phase is walked in (B10).
    fn loop_of(&self, p: usize) -> Option<&Repeat> {
        let last = self.index.loop_over(&self.phases[p].spec.id)?;
        self.workflow.phases[last].repeat.as_ref()
    }

    /// What a split may be: a policy that proposes more is refused.
    pub(super) fn scope_attributes(&self, p: usize) -> Attributes {
        let limits = &self.workflow.limits;
        let mut attributes = self.attributes(p);
        attributes.push((SPLIT_FAN_OUT.to_owned(), limits.split_fan_out.to_string()));
        attributes.push((SPLIT_DEPTH.to_owned(), limits.split_depth.to_string()));
        attributes
    }
}
