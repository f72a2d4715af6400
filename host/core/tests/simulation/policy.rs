//! A policy as plain as can be, that a die makes answer anything at all. What core does with nonsense is the point.

use baton_core::decision::{
    Assessment, Brief, CompactionAction, CompactionDecision, Composition, Continuer, DecidedBy, Decision,
    Fault, Finding, Label, Order, QuotaCause, Recovery, Review, SplitAction, SplitDecision, Staleness,
    SubPhase, TurnBudget, Verdict,
};
use baton_core::observation::{
    Ask, Capability, ExhaustionObservation, ObjectiveStatus, Occasion, SplitOccasion, SplittingObservation,
};
use baton_core::{Digest, DurationMs, ObjectiveId, UnixMs};

use crate::dice::Dice;
use crate::plan::Temper;

/// Silence after which an agent is taken for stalled.
const SILENCE_MS: u64 = 300_000;

/// The answer, and who gave it.
pub(crate) fn decide(
    ask: &Ask,
    now: UnixMs,
    fan_out: u32,
    dice: &mut Dice,
    temper: &Temper,
) -> (Result<Decision, Fault>, Label) {
    let capability = ask.capability();
    if dice.percent(temper.faults) {
        return (Err(Fault::OutOfFuel { limit: 1 }), label(capability, DecidedBy::Native));
    }
    let decision =
        if dice.percent(temper.wild) { wild(now, dice) } else { sound(ask, now, fan_out, dice, temper) };
    (Ok(decision), label(capability, DecidedBy::Configured))
}

fn sound(ask: &Ask, now: UnixMs, fan_out: u32, dice: &mut Dice, temper: &Temper) -> Decision {
    let reason = "as the dice fell".to_owned();
    match ask {
        Ask::Assess(seen) => Decision::Assess(assess(seen, now, dice)),
        Ask::Compaction(seen) => {
            let action = match (dice.percent(temper.compacts), seen.items.is_empty()) {
                (false, _) => CompactionAction::Keep,
                (true, false) => CompactionAction::Offload {
                    items: seen.items.iter().map(|item| item.id.clone()).collect(),
                },
                (true, true) if dice.percent(30) => CompactionAction::HandOff,
                (true, true) => CompactionAction::Compact { instructions: String::new() },
            };
            Decision::Compaction(CompactionDecision { action, reason })
        }
        Ask::Split(seen) => {
            Decision::Split(SplitDecision { action: split(seen, fan_out, dice, temper), reason })
        }
        Ask::Budget(_, base) => {
            Decision::Budget(TurnBudget { max_turns: base * dice.count(1, 3) / 2, reason })
        }
        Ask::Brief(seen) => Decision::Brief(Brief {
            prompt: format!("{:?} {:?}", seen.kind, seen.focus),
            left_out: Vec::new(),
            reason,
        }),
        Ask::Compose(_) => {
            let continuer = if dice.percent(20) { Continuer::Lead } else { Continuer::Successor };
            let (document, index) = ("# Handoff".into(), "# Index".into());
            Decision::Compose(Composition { document, index, continuer, left_out: Vec::new(), reason })
        }
        Ask::Review(_) => {
            let score = dice.count(50, 100);
            let findings = vec![Finding { cost: 100 - score, line: 0, text: "so so".into() }];
            let staleness = Staleness::Fresh;
            Decision::Review(Review { score, findings, staleness, accepted: score >= 60, reason })
        }
    }
}

fn assess(seen: &ExhaustionObservation, now: UnixMs, dice: &mut Dice) -> Assessment {
    let code =
        seen.signals.iter().rfind(|s| s.prompt == seen.session.prompts).map_or("", |s| s.code.as_str());
    let over = matches!(seen.occasion, Occasion::PromptEnded | Occasion::SessionEnded);
    let (verdict, recovery) = match (over, code) {
        (false, "rate") => (Verdict::Quota { cause: QuotaCause::Rate, until: None }, Recovery::Wait),
        (false, _) if seen.occasion == Occasion::Heartbeat && seen.session.idle_ms >= SILENCE_MS => {
            let last_word = Recovery::Pause { question: "It is silent. Now what?".into() };
            let recovery = [Recovery::Interrupt, Recovery::Nudge, Recovery::NewSession, last_word];
            (Verdict::Stalled, recovery[dice.by_weight(&[8, 4, 4, 1])].clone())
        }
        (false, _) => (Verdict::Healthy, Recovery::Wait),
        (true, "handoff") if seen.handoff_reported => (Verdict::HandedOff, Recovery::Wait),
        (true, "handoff") => (Verdict::Unfinished, Recovery::NewSession),
        // It believes whoever says so: what was reported against it is for core to hold on to.
        (true, "done") if dice.percent(80) => (Verdict::Completed, Recovery::Wait),
        (true, "done") => {
            let ask = Recovery::Pause { question: "Is it done?".into() };
            let recovery = [Recovery::Nudge, Recovery::NewSession, Recovery::Split, ask];
            (Verdict::Unfinished, recovery[dice.by_weight(&[8, 4, 2, 1])].clone())
        }
        (true, "exhausted") => (Verdict::Exhausted, Recovery::Wait),
        (true, "turns") => (Verdict::TurnLimit, Recovery::Wait),
        (true, "rate") => (Verdict::Quota { cause: QuotaCause::Rate, until: None }, Recovery::Wait),
        (true, "quota") => {
            let until = dice.percent(70).then(|| now + DurationMs::from_mins(dice.within(1, 600)));
            (Verdict::Quota { cause: QuotaCause::Usage, until }, Recovery::Wait)
        }
        (true, "nothing") => (Verdict::Truncated, Recovery::Nudge),
        (true, "cancelled") => (Verdict::Interrupted, Recovery::Nudge),
        _ => (Verdict::Failed, Recovery::NewSession),
    };
    let warning = dice.percent(5).then(|| "nearly full".to_owned());
    Assessment { verdict, evidence: Vec::new(), warning, recovery, reason: format!("it said {code:?}") }
}

fn split(seen: &SplittingObservation, fan_out: u32, dice: &mut Dice, temper: &Temper) -> SplitAction {
    let open: Vec<ObjectiveId> = seen
        .objectives
        .iter()
        .filter(|objective| objective.status != ObjectiveStatus::Done)
        .map(|objective| objective.id.clone())
        .collect();
    let wants = match seen.occasion {
        SplitOccasion::PhaseStart => dice.percent(temper.splits),
        SplitOccasion::Boundary => dice.percent(temper.splits / 10),
        SplitOccasion::Requested | SplitOccasion::OutOfContinuations => dice.percent(60),
    };
    if let (true, Some(asked), true) = (wants, &seen.requested, dice.percent(50)) {
        let parts = asked.groups.iter().map(|group| part(group.objectives.clone(), dice)).collect();
        return SplitAction::Split { sub_phases: parts };
    }
    if !wants || open.len() < 2 {
        return SplitAction::Keep;
    }
    let most = (open.len() as u32).min(fan_out.max(2));
    let mut parts = vec![Vec::new(); dice.count(2, most) as usize];
    for (n, id) in open.into_iter().enumerate() {
        let to = if n < parts.len() { n } else { dice.within(0, parts.len() as u64 - 1) as usize };
        parts[to].push(id);
    }
    SplitAction::Split { sub_phases: parts.into_iter().map(|ids| part(ids, dice)).collect() }
}

fn part(objectives: Vec<ObjectiveId>, dice: &mut Dice) -> SubPhase {
    let order = *dice.one_of(&[Order::MiniPlan, Order::Direct]);
    let max_turns = if dice.percent(30) { dice.count(1, 30) } else { 0 };
    SubPhase { title: "A part".into(), objectives, order, max_turns }
}

/// Any answer at all: of any kind, with anything in it.
fn wild(now: UnixMs, dice: &mut Dice) -> Decision {
    let reason = "for no reason".to_owned();
    let id = |dice: &mut Dice| ObjectiveId::new(format!("o{}-{}", dice.within(1, 5), dice.within(0, 13)));
    match dice.within(0, 6) {
        0 => {
            let until = dice.percent(50).then(|| UnixMs(now.0.wrapping_add(dice.within(0, 40 * 86_400_000))));
            let verdicts = [
                Verdict::Healthy,
                Verdict::Completed,
                Verdict::Exhausted,
                Verdict::Quota { cause: QuotaCause::Billing, until },
                Verdict::Quota { cause: QuotaCause::Overload, until },
                Verdict::TurnLimit,
                Verdict::BudgetLimit,
                Verdict::Truncated,
                Verdict::Stalled,
                Verdict::Interrupted,
                Verdict::Failed,
            ];
            let recoveries = [
                Recovery::Wait,
                Recovery::Nudge,
                Recovery::Interrupt,
                Recovery::NewSession,
                Recovery::Pause { question: String::new() },
            ];
            let (verdict, recovery) = (*dice.one_of(&verdicts), dice.one_of(&recoveries).clone());
            Decision::Assess(Assessment { verdict, evidence: Vec::new(), warning: None, recovery, reason })
        }
        1 => {
            let actions = [
                CompactionAction::Compact { instructions: "x".into() },
                CompactionAction::Offload { items: vec!["nothing".into()] },
                CompactionAction::HandOff,
            ];
            Decision::Compaction(CompactionDecision { action: dice.one_of(&actions).clone(), reason })
        }
        2 => {
            let parts = (0..dice.within(0, 30)).map(|_| {
                let ids = (0..dice.within(0, 4)).map(|_| id(dice)).collect();
                part(ids, dice)
            });
            Decision::Split(SplitDecision {
                action: SplitAction::Split { sub_phases: parts.collect() },
                reason,
            })
        }
        3 => Decision::Budget(TurnBudget { max_turns: *dice.one_of(&[0, 1, u32::MAX]), reason }),
        4 => Decision::Brief(Brief { prompt: String::new(), left_out: Vec::new(), reason }),
        5 => Decision::Compose(Composition {
            document: String::new(),
            index: String::new(),
            continuer: Continuer::Lead,
            left_out: Vec::new(),
            reason,
        }),
        _ => {
            let (score, staleness) = (dice.count(0, 1000), Staleness::VeryStale);
            Decision::Review(Review {
                score,
                findings: Vec::new(),
                staleness,
                accepted: dice.percent(50),
                reason,
            })
        }
    }
}

fn label(capability: Capability, by: DecidedBy) -> Label {
    Label {
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
        behind: Vec::new(),
    }
}
