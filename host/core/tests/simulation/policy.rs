//! A very simple policy that sometimes gives random answers, to test how core handles nonsense.

use baton_core::decision::{
    Assessment, CompactionAction, CompactionDecision, CompletionDecision, Decision, DecisionSource, Fault,
    Finding, HandoffDraft, OffloadingDecision, PromptDraft, Provenance, QuotaCause, RecoveryAction,
    RecoveryDecision, ReviewDecision, SplitAction, SplitDecision, Staleness, SubPhase, SuccessorKind,
    TurnBudget, Verdict, WorkStyle,
};
use baton_core::observation::{
    AssessTrigger, Capability, ObjectiveStatus, ObjectiveView, PolicyQuery, RecoveryObservation,
    SessionObservation, SplitTrigger, SplittingObservation,
};
use baton_core::{Digest, DurationMs, ObjectiveId, UnixMs};

use crate::rng::SimulationRng;
use crate::scenario::SimulationRates;

/// Silence after which an agent is taken for stalled.
const SILENCE_MS: u64 = 300_000;

/// The answer, and who gave it.
pub(crate) fn decide(
    query: &PolicyQuery,
    now: UnixMs,
    fan_out: u32,
    rng: &mut SimulationRng,
    temper: &SimulationRates,
) -> (Result<Decision, Fault>, Provenance) {
    let capability = query.capability();
    if rng.percent(temper.faults) {
        return (Err(Fault::OutOfFuel { limit: 1 }), label(capability, DecisionSource::HostFallback));
    }
    let decision =
        if rng.percent(temper.wild) { wild(now, rng) } else { sound(query, now, fan_out, rng, temper) };
    (Ok(decision), label(capability, DecisionSource::Configured))
}

fn sound(
    query: &PolicyQuery,
    now: UnixMs,
    fan_out: u32,
    rng: &mut SimulationRng,
    temper: &SimulationRates,
) -> Decision {
    let reason = "as the dice fell".to_owned();
    match query {
        PolicyQuery::Exhaustion(seen) => Decision::Exhaustion(assess(seen, now, rng)),
        PolicyQuery::Completion(seen) => {
            let done = done(&seen.session, rng);
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
        }
        PolicyQuery::Recovery(seen) => {
            let action = recover(seen, rng);
            Decision::Recovery(RecoveryDecision { action, reason })
        }
        PolicyQuery::Compaction(_) => {
            let action = match rng.percent(temper.compacts) {
                false => CompactionAction::Keep,
                true if rng.percent(30) => CompactionAction::HandOff,
                true => CompactionAction::Compact { instructions: None },
            };
            Decision::Compaction(CompactionDecision { action, reason })
        }
        PolicyQuery::Offloading(seen) => {
            let offloads = rng.percent(temper.compacts);
            let items = seen.items.iter().filter(|_| offloads).map(|item| item.id.clone()).collect();
            Decision::Offloading(OffloadingDecision { items, reason })
        }
        PolicyQuery::Splitting(seen) => {
            Decision::Splitting(SplitDecision { action: split(seen, fan_out, rng, temper), reason })
        }
        PolicyQuery::Budgeting(seen) => {
            let turns = rng.count(1, 3);
            Decision::Budgeting(TurnBudget {
                max_turns: seen.base_turns.map(|base| base * turns / 2),
                reason,
            })
        }
        PolicyQuery::Prompting(seen) => Decision::Prompting(PromptDraft {
            prompt: format!("{:?} {:?}", seen.kind, seen.focus),
            left_out: Vec::new(),
            reason,
        }),
        PolicyQuery::Handoff(_) => {
            let continuer = if rng.percent(20) { SuccessorKind::Lead } else { SuccessorKind::Successor };
            let (document, index) = ("# Handoff".into(), "# Index".into());
            Decision::Handoff(HandoffDraft { document, index, continuer, left_out: Vec::new(), reason })
        }
        PolicyQuery::Review(_) => {
            let score = rng.count(50, 100);
            let findings = vec![Finding { cost: 100 - score, line: None, text: "so so".into() }];
            let staleness = Staleness::Fresh;
            Decision::Review(ReviewDecision { score, findings, staleness, accepted: score >= 60, reason })
        }
    }
}

fn assess(seen: &SessionObservation, now: UnixMs, rng: &mut SimulationRng) -> Assessment {
    let code = last_code(seen);
    let over = matches!(seen.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded);
    let verdict = match (over, code) {
        (false, "rate") => Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None },
        (false, _) if seen.occasion == AssessTrigger::Heartbeat && seen.session.idle_ms >= SILENCE_MS => {
            Verdict::Stalled
        }
        (false, _) => Verdict::Healthy,
        (true, "handoff") if seen.handoff_reported => Verdict::HandedOff,
        (true, "handoff" | "done") => Verdict::Answered,
        (true, "exhausted") => Verdict::Exhausted,
        (true, "turns") => Verdict::TurnLimit,
        (true, "rate") => Verdict::Quota { cause: QuotaCause::Rate, resets_at_ms: None },
        (true, "quota") => {
            let until = rng.percent(70).then(|| now + DurationMs::from_mins(rng.within(1, 600)));
            Verdict::Quota { cause: QuotaCause::Usage, resets_at_ms: until }
        }
        (true, "nothing") => Verdict::Truncated,
        (true, "cancelled") => Verdict::Interrupted,
        _ => Verdict::Failed,
    };
    let warning = rng.percent(5).then(|| "nearly full".to_owned());
    Assessment { verdict, evidence: Vec::new(), warning, reason: format!("it said {code:?}") }
}

/// It accepts most reports of "done", although core must remember reports against them. Sometimes it accepts only a part.
fn done(seen: &SessionObservation, rng: &mut SimulationRng) -> Vec<ObjectiveId> {
    let says_done = last_code(seen) == "done";
    let believed = |_: &&ObjectiveView| says_done && rng.percent(80);
    seen.objectives.iter().filter(believed).map(|objective| objective.id.clone()).collect()
}

fn recover(seen: &RecoveryObservation, rng: &mut SimulationRng) -> RecoveryAction {
    let ask = || RecoveryAction::AskPerson { question: "Now what?".into() };
    let (nudge, retry) = (RecoveryAction::Nudge, RecoveryAction::Retry);
    match seen.assessment.verdict {
        Verdict::Stalled => {
            let actions = [RecoveryAction::Interrupt, nudge, retry, ask()];
            actions[rng.by_weight(&[8, 4, 4, 1])].clone()
        }
        Verdict::Answered if last_code(&seen.session) == "done" => {
            let actions = [nudge, retry, RecoveryAction::Split, ask()];
            actions[rng.by_weight(&[8, 4, 2, 1])].clone()
        }
        Verdict::Truncated | Verdict::Interrupted => nudge,
        Verdict::Quota { .. } => [RecoveryAction::Wait, ask()][rng.by_weight(&[20, 1])].clone(),
        Verdict::HandedOff | Verdict::Exhausted | Verdict::TurnLimit | Verdict::BudgetLimit => {
            let actions = [RecoveryAction::HandOff, RecoveryAction::Split, retry];
            actions[rng.by_weight(&[20, 1, 1])].clone()
        }
        Verdict::Unauthenticated | Verdict::NeedsInput => ask(),
        Verdict::Answered | Verdict::Refused | Verdict::Failed | Verdict::Healthy => retry,
    }
}

fn last_code(seen: &SessionObservation) -> &str {
    seen.signals
        .iter()
        .rfind(|s| s.prompt == seen.session.prompts)
        .and_then(|s| s.code.as_deref())
        .unwrap_or_default()
}

fn split(
    seen: &SplittingObservation,
    fan_out: u32,
    rng: &mut SimulationRng,
    temper: &SimulationRates,
) -> SplitAction {
    let open: Vec<ObjectiveId> = seen
        .objectives
        .iter()
        .filter(|objective| objective.status != ObjectiveStatus::Done)
        .map(|objective| objective.id.clone())
        .collect();
    let wants = match seen.occasion {
        SplitTrigger::PhaseStart => rng.percent(temper.splits),
        SplitTrigger::Boundary => rng.percent(temper.splits / 10),
        SplitTrigger::Requested | SplitTrigger::OutOfContinuations => rng.percent(60),
    };
    if let (true, Some(asked), true) = (wants, &seen.requested, rng.percent(50)) {
        let parts = asked.groups.iter().map(|group| part(group.objectives.clone(), rng)).collect();
        return SplitAction::Split { sub_phases: parts };
    }
    if !wants || open.len() < 2 {
        return SplitAction::Keep;
    }
    let most = (open.len() as u32).min(fan_out.max(2));
    let mut parts = vec![Vec::new(); rng.count(2, most) as usize];
    for (n, id) in open.into_iter().enumerate() {
        let to = if n < parts.len() { n } else { rng.within(0, parts.len() as u64 - 1) as usize };
        parts[to].push(id);
    }
    SplitAction::Split { sub_phases: parts.into_iter().map(|ids| part(ids, rng)).collect() }
}

fn part(objectives: Vec<ObjectiveId>, rng: &mut SimulationRng) -> SubPhase {
    let order = *rng.one_of(&[WorkStyle::MiniPlan, WorkStyle::Direct]);
    let max_turns = rng.percent(30).then(|| rng.count(1, 30));
    SubPhase { title: "A part".into(), objectives, order, max_turns }
}

/// Any answer at all: of any kind, with anything in it.
fn wild(now: UnixMs, rng: &mut SimulationRng) -> Decision {
    let reason = "for no reason".to_owned();
    let id =
        |rng: &mut SimulationRng| ObjectiveId::new(format!("o{}-{}", rng.within(1, 5), rng.within(0, 13)));
    match rng.within(0, 9) {
        0 => {
            let until = rng.percent(50).then(|| UnixMs(now.0.wrapping_add(rng.within(0, 40 * 86_400_000))));
            let verdicts = [
                Verdict::Healthy,
                Verdict::Answered,
                Verdict::Exhausted,
                Verdict::Quota { cause: QuotaCause::Billing, resets_at_ms: until },
                Verdict::Quota { cause: QuotaCause::Overload, resets_at_ms: until },
                Verdict::TurnLimit,
                Verdict::BudgetLimit,
                Verdict::Truncated,
                Verdict::Stalled,
                Verdict::Interrupted,
                Verdict::Failed,
            ];
            let verdict = *rng.one_of(&verdicts);
            Decision::Exhaustion(Assessment { verdict, evidence: Vec::new(), warning: None, reason })
        }
        1 => {
            let actions =
                [CompactionAction::Compact { instructions: Some("x".into()) }, CompactionAction::HandOff];
            Decision::Compaction(CompactionDecision { action: rng.one_of(&actions).clone(), reason })
        }
        2 => {
            let parts = (0..rng.within(0, 30)).map(|_| {
                let ids = (0..rng.within(0, 4)).map(|_| id(rng)).collect();
                part(ids, rng)
            });
            Decision::Splitting(SplitDecision {
                action: SplitAction::Split { sub_phases: parts.collect() },
                reason,
            })
        }
        7 => {
            let actions = [
                RecoveryAction::Wait,
                RecoveryAction::Nudge,
                RecoveryAction::Interrupt,
                RecoveryAction::HandOff,
                RecoveryAction::Retry,
                RecoveryAction::OtherRole { role: "nobody".into() },
                RecoveryAction::Split,
                RecoveryAction::AskPerson { question: String::new() },
            ];
            Decision::Recovery(RecoveryDecision { action: rng.one_of(&actions).clone(), reason })
        }
        8 => {
            let done = (0..rng.within(0, 4)).map(|_| id(rng)).collect();
            Decision::Completion(CompletionDecision { done, evidence: Vec::new(), reason })
        }
        9 => Decision::Offloading(OffloadingDecision { items: vec!["nothing".into()], reason }),
        3 => Decision::Budgeting(TurnBudget { max_turns: Some(*rng.one_of(&[0, 1, u32::MAX])), reason }),
        4 => Decision::Prompting(PromptDraft { prompt: String::new(), left_out: Vec::new(), reason }),
        5 => Decision::Handoff(HandoffDraft {
            document: String::new(),
            index: String::new(),
            continuer: SuccessorKind::Lead,
            left_out: Vec::new(),
            reason,
        }),
        _ => {
            let (score, staleness) = (rng.count(0, 1000), Staleness::VeryStale);
            Decision::Review(ReviewDecision {
                score,
                findings: Vec::new(),
                staleness,
                accepted: rng.percent(50),
                reason,
            })
        }
    }
}

fn label(capability: Capability, by: DecisionSource) -> Provenance {
    Provenance {
        by,
        capability,
        policy: "simulated".into(),
        component: None,
        settings: None,
        engine: Digest::of("engine"),
        fuel: 0,
        duration_us: 0,
        artifacts: Default::default(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    }
}
