//! What the judgement of a phase's newest session rests on beside what was measured, and what came of it.

use super::super::text_format::cut;
use super::ObjectiveIndex;

/// Bytes of what was wrong with the reports of a prompt, in a question or a prompt.
const REFUSAL_BYTES: usize = 600;

/// What a policy judges a session by beside what was measured, and what came of that.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct SessionAssessment {
    /// Its prompt was cut off by the end of the host, and is judged by what its agent had said by then.
    pub(in crate::run) prompt_cut_off: bool,
    /// What of the objectives that the policy is asked about was taken for done when it was asked.
    pub(in crate::run) done_when_asked: Vec<ObjectiveIndex>,
    /// Why a report of its session was not taken, until the session reports something that is, or gets its next prompt.
    pub(in crate::run) refused_report_this_prompt: Option<String>,
    /// The same, until the session reports something that is, or another one begins: the policy judges by it.
    pub(in crate::run) refused_report_this_session: Option<String>,
    /// The policy that judged how its last session ended, if that is not Baton's.
    pub(in crate::run) judged_by: Option<String>,
    /// The objectives that a person is asked about, if nothing shows that they are done.
    pub(in crate::run) unproven_objectives: Vec<ObjectiveIndex>,
}

impl SessionAssessment {
    /// A report of its session was not taken. If several of one prompt were not, all of them are named.
    pub(in crate::run) fn refuse_report(&mut self, why: &str) {
        let mut all = match &self.refused_report_this_prompt {
            Some(before) => format!("{before}; {why}"),
            None => why.to_owned(),
        };
        cut(&mut all, REFUSAL_BYTES);
        self.refused_report_this_session = Some(all.clone());
        self.refused_report_this_prompt = Some(all);
    }

    /// A report of its session was taken.
    pub(in crate::run) fn accept_report(&mut self) {
        (self.refused_report_this_prompt, self.refused_report_this_session) = (None, None);
    }

    /// Its session gets a prompt, which may be its first.
    pub(in crate::run) fn begin_prompt(&mut self, is_first: bool) {
        self.refused_report_this_prompt = None;
        if is_first {
            self.refused_report_this_session = None;
        }
    }
}
