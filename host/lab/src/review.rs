//! Reviews a handoff: puts any document to the policy of a live run, together with the host's findings. Reads no file by
//! itself.

use baton_core::ObjectiveId;
use baton_core::decision::{Decision, Fault, Provenance, ReviewDecision};
use baton_core::observation::{PolicyQuery, PolicyRequest, ReviewObservation, TextId};
use baton_core::text::TextBlob;
use baton_engine::Router;

/// What is known of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewedDocumentFacts {
    /// Paths that it names and that are not there.
    pub missing_files: Vec<String>,
    /// Kinds of secrets in it.
    pub secrets: Vec<String>,
    /// Commits since it was made.
    pub commits_since: u32,
    /// The branch is another one.
    pub diverged: bool,
    /// Objectives that are open; empty if they are not known.
    pub open_objectives: Vec<ObjectiveId>,
}

/// What the policy says of it, and who said it. A fault is one of every policy in the chain.
pub fn review(
    router: &Router,
    document: &str,
    known: ReviewedDocumentFacts,
) -> Result<(ReviewDecision, Provenance), Fault> {
    let ReviewedDocumentFacts { missing_files, secrets, commits_since, diverged, open_objectives } = known;
    let observation = ReviewObservation {
        document: TextId(0),
        missing_files,
        secrets,
        commits_since,
        diverged,
        open_objectives,
        attributes: Vec::new(),
    };
    let question =
        PolicyRequest::new(PolicyQuery::Review(Box::new(observation)), vec![TextBlob::new(document)]);
    match router.decide(&question) {
        (Ok(Decision::Review(review)), label) => Ok((review, label)),
        (Ok(_), _) => Err(Fault::Invalid { message: "answered another question".to_owned() }),
        (Err(fault), _) => Err(fault),
    }
}
