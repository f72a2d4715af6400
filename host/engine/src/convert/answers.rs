//! What a policy answers, WIT -> core; its settings, too.

use baton_core::decision as core;
use baton_core::facts::SignalSource;
use baton_core::workflow::SettingValue;
use baton_core::{ObjectiveId, Seq, UnixMs};

use crate::bindings::{questions, settings, types};
use crate::layout::lay_out;
use crate::settings::SettingSpec;

fn evidence(evidence: types::EvidenceResult) -> core::Evidence {
    core::Evidence {
        channel: same!(evidence.channel, types::Channel => SignalSource:
            AgentEvent, ProviderError, AgentText, Terminal, ToolOutput),
        seq: evidence.seq.map(Seq),
        text: evidence.text,
    }
}

/// Of `exhaustion.assess`.
pub(crate) fn assessment(answer: questions::AssessmentResult) -> core::Assessment {
    use questions::Verdict;
    core::Assessment {
        verdict: match answer.verdict {
            Verdict::Healthy => core::Verdict::Healthy,
            Verdict::Answered => core::Verdict::Answered,
            Verdict::HandedOff => core::Verdict::HandedOff,
            Verdict::Exhausted => core::Verdict::Exhausted,
            Verdict::Quota(quota) => core::Verdict::Quota {
                cause: same!(quota.cause, questions::QuotaCause => core::QuotaCause: Usage, Billing, Rate, Overload),
                resets_at_ms: quota.resets_at_ms.map(UnixMs),
            },
            Verdict::TurnLimit => core::Verdict::TurnLimit,
            Verdict::BudgetLimit => core::Verdict::BudgetLimit,
            Verdict::Truncated => core::Verdict::Truncated,
            Verdict::Stalled => core::Verdict::Stalled,
            Verdict::Interrupted => core::Verdict::Interrupted,
            Verdict::Unauthenticated => core::Verdict::Unauthenticated,
            Verdict::NeedsInput => core::Verdict::NeedsInput,
            Verdict::Refused => core::Verdict::Refused,
            Verdict::Failed => core::Verdict::Failed,
        },
        evidence: answer.evidence.into_iter().map(evidence).collect(),
        warning: answer.warning,
        reason: answer.reason,
    }
}

/// Of `completion.decide`.
pub(crate) fn completion_decision(answer: questions::CompletionDecisionResult) -> core::CompletionDecision {
    core::CompletionDecision {
        done: answer.done.into_iter().map(ObjectiveId::new).collect(),
        evidence: answer.evidence.into_iter().map(evidence).collect(),
        reason: answer.reason,
    }
}

/// Of `recovery.decide`.
pub(crate) fn recovery_decision(answer: questions::RecoveryDecision) -> core::RecoveryDecision {
    use questions::RecoveryAction as Action;
    core::RecoveryDecision {
        action: match answer.action {
            Action::Wait => core::RecoveryAction::Wait,
            Action::Nudge => core::RecoveryAction::Nudge,
            Action::Interrupt => core::RecoveryAction::Interrupt,
            Action::HandOff => core::RecoveryAction::HandOff,
            Action::Retry => core::RecoveryAction::Retry,
            Action::OtherRole(role) => core::RecoveryAction::OtherRole { role },
            Action::Split => core::RecoveryAction::Split,
            Action::AskPerson(question) => core::RecoveryAction::AskPerson { question },
        },
        reason: answer.reason,
    }
}

/// Of `compaction.decide`.
pub(crate) fn compaction_decision(answer: questions::CompactionDecision) -> core::CompactionDecision {
    use questions::CompactionAction as Action;
    core::CompactionDecision {
        action: match answer.action {
            Action::Keep => core::CompactionAction::Keep,
            Action::Compact(instructions) => core::CompactionAction::Compact { instructions },
            Action::HandOff => core::CompactionAction::HandOff,
        },
        reason: answer.reason,
    }
}

/// Of `offloading.decide`.
pub(crate) fn offloading_decision(answer: questions::OffloadingDecision) -> core::OffloadingDecision {
    core::OffloadingDecision { items: answer.items, reason: answer.reason }
}

fn sub_phase(part: questions::SubPhase) -> core::SubPhase {
    core::SubPhase {
        title: part.title,
        objectives: part.objectives.into_iter().map(ObjectiveId::new).collect(),
        order: same!(part.order, questions::Order => core::WorkStyle: MiniPlan, Direct),
        max_turns: part.max_turns,
    }
}

/// Of `splitting.decide`.
pub(crate) fn split_decision(answer: questions::SplitDecision) -> core::SplitDecision {
    use questions::SplitAction as Action;
    core::SplitDecision {
        action: match answer.action {
            Action::Keep => core::SplitAction::Keep,
            Action::Split(parts) => {
                core::SplitAction::Split { sub_phases: parts.into_iter().map(sub_phase).collect() }
            }
            Action::AskPerson(question) => core::SplitAction::AskPerson { question },
        },
        reason: answer.reason,
    }
}

/// Of `budgeting.decide`.
pub(crate) fn turn_budget(answer: questions::TurnBudget) -> core::TurnBudget {
    core::TurnBudget { max_turns: answer.max_turns, reason: answer.reason }
}

/// Of `prompting.compose`.
///
/// # Errors
/// Where its sections cannot be laid out.
pub(crate) fn brief(answer: questions::Prompt) -> Result<core::PromptDraft, core::Fault> {
    let prompt = lay_out(&answer.sections)?;
    let left_out = [answer.left_out, prompt.left_out].concat();
    Ok(core::PromptDraft { prompt: prompt.text, left_out, reason: answer.reason })
}

/// Of `handoff.compose`.
///
/// # Errors
/// Where its sections cannot be laid out.
pub(crate) fn composition(answer: questions::Composition) -> Result<core::HandoffDraft, core::Fault> {
    let (document, index) = (lay_out(&answer.document)?, lay_out(&answer.index)?);
    Ok(core::HandoffDraft {
        document: document.text,
        index: index.text,
        continuer: same!(answer.continuer, questions::Continuer => core::SuccessorKind: Successor, Lead),
        left_out: [answer.left_out, document.left_out, index.left_out].concat(),
        reason: answer.reason,
    })
}

/// Of `review.assess`.
pub(crate) fn review_result(answer: questions::Review) -> core::ReviewDecision {
    let finding =
        |found: questions::Finding| core::Finding { cost: found.cost, line: found.line, text: found.text };
    core::ReviewDecision {
        score: answer.score,
        findings: answer.findings.into_iter().map(finding).collect(),
        staleness: same!(answer.staleness, questions::Staleness => core::Staleness:
            Fresh, SlightlyStale, Stale, VeryStale),
        accepted: answer.accepted,
        reason: answer.reason,
    }
}

/// Of `settings.schema`.
pub(crate) fn setting(setting: settings::Setting) -> SettingSpec {
    SettingSpec {
        key: setting.key,
        doc: setting.doc,
        default: setting_value(setting.default),
        minimum: setting.minimum,
        maximum: setting.maximum,
        choices: setting.choices,
    }
}

/// A value that a component gave.
fn setting_value(value: types::SettingValue) -> SettingValue {
    use types::SettingValue as Given;
    match value {
        Given::Flag(value) => SettingValue::Flag(value),
        Given::Integer(value) => SettingValue::Integer(value),
        Given::Number(value) => SettingValue::Number(value),
        Given::Text(value) => SettingValue::Text(value),
        Given::Texts(value) => SettingValue::Texts(value),
    }
}
