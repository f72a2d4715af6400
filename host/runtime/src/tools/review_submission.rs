//! Submission of a review: checks that its author was asked for one, chooses the name of its artifact, and extracts the part
//! for core (D1). Makes no verdict on a review, and journals nothing.

use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::view::{PhaseOrigin, PhaseStatus, PhaseSummary, RunView};
use baton_core::{PhaseId, SessionId};
use baton_inbox::ReviewSubmit;

use crate::tools::artifact_tools::ArtifactTools;

/// A review whose author was asked for it.
pub(crate) struct ReviewSubmission {
    session: Option<SessionId>,
    /// The phase that is reviewed.
    about: PhaseId,
    /// Which review of it this is, from 1.
    ordinal: usize,
    said: ReviewSubmit,
}

impl ReviewSubmission {
    /// Takes the review that a session submits.
    ///
    /// # Errors
    /// A sentence for its author, if the host did not ask for a review.
    pub(crate) fn of(
        view: &RunView,
        session: Option<&SessionId>,
        said: &ReviewSubmit,
    ) -> Result<Self, String> {
        let phase = reviewed_phase(view, session)?;
        // A reviewing phase reviews its parent.
        let about = phase.parent.clone().unwrap_or_else(|| phase.id.clone());
        let rounds =
            view.phases.iter().filter(|row| row.origin == PhaseOrigin::Review && row.parent == phase.parent);
        let ordinal = 1 + rounds.take_while(|row| row.id != phase.id).count();
        let session = session.cloned().or_else(|| phase.sessions.last().map(|row| row.id.clone()));
        Ok(Self { session, about, ordinal, said: said.clone() })
    }

    /// Whose it is.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.session.clone()
    }

    /// Keeps the whole of it, and gives what core holds of it. Blocking.
    pub(crate) fn save(&self, artifact_tools: &ArtifactTools) -> Result<(ArtifactRef, AgentReport), String> {
        let title = format!("Review of phase {}", self.about);
        let name = format!("reviews/phase-{}-{}.md", self.about, self.ordinal);
        let summary = format!("{title}: {} of 100", self.said.score);
        let artifact =
            artifact_tools.keep_review(self.session(), &name, &self.said.document(&title), &summary)?;
        let report = self.said.report(&artifact.name);
        Ok((artifact, report))
    }
}

/// The session that a review is of; one that does not say who it is can only be the reviewer that there is.
pub(crate) fn reviewer(view: &RunView, session: Option<&SessionId>) -> Option<SessionId> {
    let last = || reviewed_phase(view, None).ok()?.sessions.last().map(|row| row.id.clone());
    session.cloned().or_else(last)
}

/// The phase in which a session reviews. One that does not say who it is can only be the reviewer that there is.
fn reviewed_phase<'a>(view: &'a RunView, session: Option<&SessionId>) -> Result<&'a PhaseSummary, String> {
    let is_over = |row: &PhaseSummary| matches!(row.status, PhaseStatus::Done | PhaseStatus::Skipped);
    let Some(session) = session else {
        let mut open = view.phases.iter().filter(|row| row.origin == PhaseOrigin::Review && !is_over(row));
        return match (open.next(), open.next()) {
            (Some(only), None) => Ok(only),
            (None, _) => Err("nobody is asked for a review now".to_owned()),
            (Some(_), Some(_)) => Err("several reviews are under way: name your `session`".to_owned()),
        };
    };
    let own = view.phases.iter().find(|row| row.sessions.iter().any(|one| one.id == *session));
    match own {
        Some(row) if row.origin != PhaseOrigin::Review => Err(format!(
            "you work on phase {} and were not asked for a review; what you think of other work can be a decision_record \
             or a gotcha_record",
            row.id
        )),
        Some(row) if is_over(row) => Err(format!("the review {} is over", row.id)),
        Some(row) => Ok(row),
        None => Err(format!("no session {:?} in this run", session.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use baton_core::view::SessionSummary;
    use baton_core::workflow::paths::ReservedNames;
    use baton_core::{JournaledInput, Run, RunId, Seq, UnixMs};
    use baton_store::{ArtifactStore, ArtifactVersion, JournalOptions};
    use serde_json::json;

    use super::*;
    use crate::test_support::{TestFixture, started};

    /// The phase `first`, in which s1 works, and `second`, in which s2 reviews it.
    fn view() -> RunView {
        let run_id = RunId::new("r");
        let mut run = Run::new();
        let (seq, at) = (Seq(1), UnixMs(1));
        run.apply(&JournaledInput { seq, at, input: started(&run_id) }).unwrap();
        let mut view = run.view(at).unwrap();
        for (row, session) in view.phases.iter_mut().zip(["s1", "s2"]) {
            let session: SessionSummary = serde_json::from_value(json!({
                "id": session, "agent": "rehearsal", "continuation": 0, "lead": false, "ending": "", "turns": 0,
                "used_tokens": null, "window_tokens": null, "source": "unknown", "warned": false, "last": "",
                "billed": row.billed,
            }))
            .unwrap();
            row.sessions.push(session);
        }
        let about = view.phases[0].id.clone();
        view.phases[1].origin = PhaseOrigin::Review;
        view.phases[1].parent = Some(about);
        view
    }

    fn said() -> ReviewSubmit {
        ReviewSubmit { score: 60, summary: "Half of it.".into(), findings: vec!["a.txt:1 is empty".into()] }
    }

    #[test]
    fn only_whoever_is_asked_for_a_review_submits_one() {
        // D3
        let mut view = view();
        let why = |view: &RunView, session: Option<&str>| {
            let session = session.map(SessionId::from);
            ReviewSubmission::of(view, session.as_ref(), &said()).map(|review| review.session())
        };
        assert_eq!(why(&view, Some("s2")), Ok(Some("s2".into())));
        assert_eq!(why(&view, None), Ok(Some("s2".into())), "it can be nobody else");
        assert!(why(&view, Some("s1")).unwrap_err().contains("you work on phase first and were not asked"));
        assert!(why(&view, Some("s9")).unwrap_err().contains("no session \"s9\""));
        view.phases[1].status = PhaseStatus::Done;
        assert!(why(&view, Some("s2")).unwrap_err().contains("is over"));
        assert!(why(&view, None).unwrap_err().contains("nobody is asked"));
        let mut two = self::view();
        two.phases.push(two.phases[1].clone());
        assert!(why(&two, None).unwrap_err().contains("name your `session`"));
    }

    #[test]
    fn the_whole_of_it_is_an_artifact_and_core_gets_what_decides() {
        // D1, D3
        let place = TestFixture::new(JournalOptions::default());
        let artifacts = ArtifactStore::open(&place.state).unwrap();
        let (trees, claims) = (crate::test_support::trees(&place), ReservedNames::default());
        let artifact_tools =
            ArtifactTools { run: RunId::new("r"), artifacts, trees, claims, hidden: Vec::new() };
        let review = ReviewSubmission::of(&view(), Some(&"s2".into()), &said()).unwrap();
        let (artifact, report) = review.save(&artifact_tools).unwrap();
        assert_eq!(artifact.name, "reviews/phase-first-1.md");
        assert_eq!(artifact.summary, "Review of phase first: 60 of 100");
        let kept = artifact_tools
            .artifacts
            .get(&artifact_tools.run, &artifact.name, ArtifactVersion::Latest)
            .unwrap();
        let text = artifact_tools.artifacts.read_range(&kept.artifact.digest, 0, 1_000).unwrap();
        assert!(String::from_utf8(text).unwrap().contains("1. a.txt:1 is empty"));
        assert!(
            matches!(report, AgentReport::ReviewSubmit { score: 60, findings, .. } if findings.len() == 1)
        );
    }
}
