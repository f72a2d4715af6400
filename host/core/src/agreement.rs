//! How two answers to one question compare. It is the decision that is compared; the reason is a sentence for people.

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, Fault};

/// How the answer of a candidate compares with the one that counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The same, to the letter.
    Same,
    /// The same with another reason.
    OtherWords,
    /// Another one.
    Differs,
    /// The candidate gave none.
    Fault,
}

impl Agreement {
    /// Sets the answer of a candidate beside the one that counted.
    pub fn of(counted: &Result<Decision, Fault>, candidate: &Result<Decision, Fault>) -> Self {
        match (counted, candidate) {
            (counted, candidate) if counted == candidate => Self::Same,
            (_, Err(_)) => Self::Fault,
            (Ok(counted), Ok(candidate)) if unexplained(counted) == unexplained(candidate) => {
                Self::OtherWords
            }
            _ => Self::Differs,
        }
    }
}

/// A decision without its reason.
fn unexplained(decision: &Decision) -> Decision {
    let mut decision = decision.clone();
    match &mut decision {
        Decision::Assess(d) => &mut d.reason,
        Decision::Compaction(d) => &mut d.reason,
        Decision::Split(d) => &mut d.reason,
        Decision::Budget(d) => &mut d.reason,
        Decision::Brief(d) => &mut d.reason,
        Decision::Compose(d) => &mut d.reason,
        Decision::Review(d) => &mut d.reason,
    }
    .clear();
    decision
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{CompactionAction, CompactionDecision};

    fn compaction(action: CompactionAction, reason: &str) -> Decision {
        Decision::Compaction(CompactionDecision { action, reason: reason.into() })
    }

    // M3
    #[test]
    fn a_reason_is_no_decision() {
        let keep = |reason| Ok(compaction(CompactionAction::Keep, reason));
        let fault: Result<Decision, Fault> = Err(Fault::OutOfFuel { limit: 1 });
        assert_eq!(Agreement::of(&keep("a"), &keep("a")), Agreement::Same);
        assert_eq!(Agreement::of(&keep("a"), &keep("b")), Agreement::OtherWords);
        let hand_off = Ok(compaction(CompactionAction::HandOff, "a"));
        assert_eq!(Agreement::of(&keep("a"), &hand_off), Agreement::Differs);
        assert_eq!(Agreement::of(&keep("a"), &fault), Agreement::Fault);
        assert_eq!(Agreement::of(&fault, &keep("a")), Agreement::Differs);
        assert_eq!(Agreement::of(&fault, &fault), Agreement::Same);
    }
}
