//! The shape of an answer: how long its texts and lists may be. Whether it makes sense here and now is core's
//! question, which knows the run.

use baton_core::decision::{
    Assessment, CompactionAction, Decision, Evidence, Fault, RecoveryAction, SplitAction,
};

use crate::limits::{ANSWER_ITEMS, ANSWER_TEXT_BYTES, EVIDENCE_BYTES, REASON_BYTES};

/// The same answer, its evidence cut to what is quoted; or the fault that it is too large.
pub(crate) fn check(mut decision: Decision) -> Result<Decision, Fault> {
    short(decision.reason())?;
    match &mut decision {
        Decision::Exhaustion(answer) => assessment(answer)?,
        Decision::Completion(answer) => {
            items(answer.done.len())?;
            answer.done.iter().try_for_each(|id| short(id.as_str()))?;
            evidence(&mut answer.evidence)?;
        }
        Decision::Recovery(answer) => match &answer.action {
            RecoveryAction::AskPerson { question } => short(question)?,
            RecoveryAction::OtherRole { role } => short(role)?,
            RecoveryAction::Wait
            | RecoveryAction::Nudge
            | RecoveryAction::Interrupt
            | RecoveryAction::HandOff
            | RecoveryAction::Retry
            | RecoveryAction::Split => {}
        },
        Decision::Offloading(answer) => shorts(&answer.items)?,
        Decision::Compaction(answer) => match &answer.action {
            CompactionAction::Compact { instructions } => {
                instructions.iter().try_for_each(|said| long(said))?
            }
            CompactionAction::Keep | CompactionAction::HandOff => {}
        },
        Decision::Splitting(answer) => match &answer.action {
            SplitAction::Split { sub_phases } => {
                items(sub_phases.len())?;
                for part in sub_phases {
                    short(&part.title)?;
                    items(part.objectives.len())?;
                    part.objectives.iter().try_for_each(|id| short(id.as_str()))?;
                }
            }
            SplitAction::AskPerson { question } => short(question)?,
            SplitAction::Keep => {}
        },
        Decision::Budgeting(_) => {}
        Decision::Prompting(answer) => {
            long(&answer.prompt)?;
            shorts(&answer.left_out)?;
        }
        Decision::Handoff(answer) => {
            long(&answer.document)?;
            long(&answer.index)?;
            shorts(&answer.left_out)?;
        }
        Decision::Review(answer) => {
            if answer.score > 100 {
                return Err(Fault::Invalid { message: format!("a score of {} of 100", answer.score) });
            }
            items(answer.findings.len())?;
            answer.findings.iter().try_for_each(|finding| short(&finding.text))?;
        }
    }
    Ok(decision)
}

fn assessment(answer: &mut Assessment) -> Result<(), Fault> {
    evidence(&mut answer.evidence)?;
    answer.warning.as_deref().map_or(Ok(()), short)
}

fn evidence(evidence: &mut [Evidence]) -> Result<(), Fault> {
    items(evidence.len())?;
    for Evidence { text, .. } in evidence {
        text.truncate(text.floor_char_boundary(EVIDENCE_BYTES));
    }
    Ok(())
}

fn short(text: &str) -> Result<(), Fault> {
    at_most(text.len(), REASON_BYTES)
}

fn shorts(texts: &[String]) -> Result<(), Fault> {
    items(texts.len())?;
    texts.iter().try_for_each(|text| short(text))
}

fn long(text: &str) -> Result<(), Fault> {
    at_most(text.len(), ANSWER_TEXT_BYTES)
}

fn at_most(bytes: usize, limit: usize) -> Result<(), Fault> {
    if bytes > limit { Err(Fault::TooLarge { limit_bytes: limit as u64 }) } else { Ok(()) }
}

fn items(count: usize) -> Result<(), Fault> {
    if count > ANSWER_ITEMS {
        return Err(Fault::Invalid {
            message: format!("a list of {count} entries, at most {ANSWER_ITEMS} are read"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use baton_core::Seq;
    use baton_core::decision::{Finding, PromptDraft, ReviewDecision, Staleness, Verdict};
    use baton_core::facts::SignalSource;

    use super::*;

    #[test]
    fn evidence_is_cut_on_a_character_and_a_long_reason_is_refused() {
        let evidence = |text: String| Evidence { channel: SignalSource::AgentText, seq: Some(Seq(1)), text };
        let mut answer = Assessment {
            verdict: Verdict::Exhausted,
            evidence: vec![evidence("é".repeat(EVIDENCE_BYTES)), evidence("a".to_owned() + &"é".repeat(200))],
            warning: None,
            reason: "because".to_owned(),
        };
        let Ok(Decision::Exhaustion(cut)) = check(Decision::Exhaustion(answer.clone())) else {
            panic!("refused")
        };
        assert_eq!(cut.evidence[0].text, "é".repeat(EVIDENCE_BYTES / 2));
        assert_eq!(cut.evidence[1].text.len(), EVIDENCE_BYTES - 1);
        answer.reason = "x".repeat(REASON_BYTES + 1);
        assert_eq!(check(Decision::Exhaustion(answer)), Err(Fault::TooLarge { limit_bytes: 1024 }));
    }

    #[test]
    fn prompts_and_scores_are_bounded() {
        let brief = |bytes| {
            Decision::Prompting(PromptDraft {
                prompt: "x".repeat(bytes),
                left_out: Vec::new(),
                reason: String::new(),
            })
        };
        assert!(check(brief(ANSWER_TEXT_BYTES)).is_ok());
        assert_eq!(check(brief(ANSWER_TEXT_BYTES + 1)), Err(Fault::TooLarge { limit_bytes: 32 << 10 }));
        let finding = Finding { cost: 1, line: None, text: String::new() };
        let mut review = ReviewDecision {
            score: 101,
            findings: Vec::new(),
            staleness: Staleness::Fresh,
            accepted: true,
            reason: String::new(),
        };
        assert!(matches!(check(Decision::Review(review.clone())), Err(Fault::Invalid { .. })));
        review.score = 100;
        review.findings = vec![finding; ANSWER_ITEMS + 1];
        assert!(matches!(check(Decision::Review(review)), Err(Fault::Invalid { .. })));
    }
}
