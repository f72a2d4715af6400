//! Replay of policies: every recorded decision is made again by the same policy, and must be the same, to the byte and to the
//! unit of fuel. So must the faults and abstentions of the policies that were asked before it. The [`DecisionReplayer`] asks
//! the components; this module decides what is asked again, and what counts as the same.

use baton_core::decision::{AbstentionRecord, Decision, DecisionSource, Fault, FaultRecord, Provenance};
use baton_core::observation::PolicyRequest;
use baton_core::{Input, JournaledInput, RequestId, RunId, Seq};
use baton_engine::PolicyAnswer;
use baton_store::JournalEntry;

use crate::LabError;
use crate::request_matching::{AnsweredRequest, RequestMatcher};

/// Differences that are kept for the report; the rest is only counted. A reader looks at the first few.
pub const DIFFERENCES_KEPT: usize = 20;

/// The answer of a [`DecisionReplayer`].
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayedAnswer {
    /// The component was asked.
    Answered {
        /// Its answer, abstention or fault.
        result: PolicyAnswer,
        /// What it used.
        fuel: u64,
    },
    /// The component was asked under another engine: under that it may use other fuel for the same answer.
    EngineDiffers {
        /// Its answer, abstention or fault.
        result: PolicyAnswer,
    },
    /// The policy is a layer, and its questions to the policies behind it, or their answers, differ.
    FallbackDiffers {
        /// The difference, for the user.
        why: String,
    },
    /// The label names a policy that cannot have decided in this run: the label was changed, or this is not a journal of Baton.
    Impossible {
        /// The reason, for the user.
        why: String,
    },
    /// The component, its settings, or the artifacts that it was shown are missing.
    Unavailable {
        /// The reason, for the user.
        why: String,
    },
}

/// Asks the policies that decided in a run again. A closure of question and label is a replayer that does not check faults.
pub trait DecisionReplayer {
    /// Takes the next input of the run, before any decision that follows from it.
    fn observe_input(&mut self, _stamped: &JournaledInput) {}

    /// Asks the policy that the label names again.
    fn answer(&mut self, question: &PolicyRequest, label: &Provenance) -> ReplayedAnswer;

    /// The same of one that was asked before, and failed.
    fn fault(
        &mut self,
        _question: &PolicyRequest,
        _label: &Provenance,
        record: &FaultRecord,
    ) -> ReplayedAnswer {
        ReplayedAnswer::Unavailable { why: format!("nobody asks {} again", record.policy) }
    }

    /// The same of one that was asked before, and abstained.
    fn abstention(
        &mut self,
        _question: &PolicyRequest,
        _label: &Provenance,
        record: &AbstentionRecord,
    ) -> ReplayedAnswer {
        ReplayedAnswer::Unavailable { why: format!("nobody asks {} again", record.policy) }
    }

    /// The host's decision if no component answers; none if that is not known.
    fn host_fallback(&mut self, _question: &PolicyRequest) -> Option<Result<Decision, Fault>> {
        None
    }
}

impl<E: FnMut(&PolicyRequest, &Provenance) -> ReplayedAnswer> DecisionReplayer for E {
    fn answer(&mut self, question: &PolicyRequest, label: &Provenance) -> ReplayedAnswer {
        self(question, label)
    }
}

/// A decision that came out differently.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedDecision {
    /// The recorded decision.
    pub seq: Seq,
    /// Which question.
    pub request: RequestId,
    /// `interface.function`, as in the contract.
    pub function: &'static str,
    /// Who decided, and under which digests.
    pub label: Provenance,
    /// The policy that was asked earlier and failed or abstained, if its result is the one that differs.
    pub earlier: Option<String>,
    /// The answer then; its fuel is in the label.
    pub recorded: PolicyAnswer,
    /// The answer now; or why there can be none.
    pub replayed: Result<PolicyAnswer, String>,
    /// The fuel now, if it is compared.
    pub replayed_fuel: Option<u64>,
}

impl ChangedDecision {
    /// The answer is the same, and only the fuel differs: another build of the component, or a changed label.
    pub fn is_fuel_only(&self) -> bool {
        self.replayed.as_ref() == Ok(&self.recorded)
    }
}

/// The count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyReplayResult {
    /// Decisions with the same answer for the same fuel.
    pub same: u64,
    /// Decisions and faults that came out differently.
    pub differences: u64,
    /// The first of them.
    pub changed: Vec<ChangedDecision>,
    /// Decisions that no component made, and that were not made again.
    pub host_fallback: u64,
    /// Ends by the watchdog: the host's doing and no property of the policy, so they are replayed as recorded.
    pub watchdog: u64,
    /// Faults of components that were asked before the one that decided, and that fail again in the same way.
    pub faults_same: u64,
    /// Abstentions of components that were asked before the one that decided, and that abstain again.
    pub abstentions_same: u64,
    /// Answers, of those that are the same, whose fuel was not compared: they were given under another engine.
    pub fuel_not_compared: u64,
    /// Decisions and faults that could not be evaluated again.
    pub unavailable: u64,
    /// Why the first of those could not.
    pub unavailable_because: Option<String>,
}

impl PolicyReplayResult {
    /// Adds the result of another run.
    pub fn add(&mut self, other: Self) {
        self.same += other.same;
        self.differences += other.differences;
        self.changed.extend(other.changed);
        self.changed.truncate(DIFFERENCES_KEPT);
        self.host_fallback += other.host_fallback;
        self.watchdog += other.watchdog;
        self.faults_same += other.faults_same;
        self.abstentions_same += other.abstentions_same;
        self.fuel_not_compared += other.fuel_not_compared;
        self.unavailable += other.unavailable;
        self.unavailable_because = self.unavailable_because.take().or(other.unavailable_because);
    }
}

/// Takes the entries of one run in order and asks again as it goes.
pub struct PolicyReplay<W> {
    pairing: RequestMatcher,
    replayer: W,
    /// The run was made from a recording, which decides in it too.
    is_imported: bool,
    found: PolicyReplayResult,
}

/// The recorded answer that is evaluated again.
struct ReplayTarget<'a> {
    seq: Seq,
    request: RequestId,
    function: &'static str,
    label: &'a Provenance,
    earlier: Option<&'a str>,
    recorded: &'a PolicyAnswer,
    /// Absent if the journal does not have it.
    fuel: Option<u64>,
}

impl<W: DecisionReplayer> PolicyReplay<W> {
    /// Before the first entry.
    pub fn new(run: RunId, replayer: W) -> Self {
        Self {
            pairing: RequestMatcher::new(run),
            replayer,
            is_imported: false,
            found: PolicyReplayResult::default(),
        }
    }

    /// Takes the next entry. Fails for a decision without a question.
    pub fn take(&mut self, entry: &JournalEntry) -> Result<(), LabError> {
        if let JournalEntry::Input(stamped) = entry {
            if let Input::Started { workflow, .. } = &stamped.input {
                self.is_imported = workflow.imported.is_some();
            }
            self.replayer.observe_input(stamped);
        }
        if let Some(paired) = self.pairing.take(entry)? {
            self.replay_decision(&paired);
        }
        Ok(())
    }

    /// What came of it.
    pub fn finish(self) -> PolicyReplayResult {
        self.found
    }

    fn replay_decision(&mut self, paired: &AnsweredRequest<'_>) {
        let AnsweredRequest { seq, request, question, recorded, label } = paired;
        let recorded = &(*recorded).clone().map(Some);
        let looked = ReplayTarget {
            seq: *seq,
            request: *request,
            function: question.query.function(),
            label,
            earlier: None,
            recorded,
            fuel: Some(label.fuel),
        };
        for record in &label.faults {
            let recorded = Err(record.fault.clone());
            let earlier = Some(record.policy.as_str());
            let looked = ReplayTarget { earlier, recorded: &recorded, fuel: record.fuel, ..looked };
            match &record.fault {
                Fault::Watchdog { .. } => self.found.watchdog += 1,
                _ => {
                    let answer = self.replayer.fault(question, label, record);
                    self.count(&looked, answer);
                }
            }
        }
        for record in &label.abstained {
            let earlier = Some(record.policy.as_str());
            let looked = ReplayTarget { earlier, recorded: &Ok(None), fuel: Some(record.fuel), ..looked };
            let answer = self.replayer.abstention(question, label, record);
            self.count(&looked, answer);
        }
        if label.capability != question.query.capability() {
            let why = format!("the label says {}, and {} was asked", label.capability, looked.function);
            self.count(&looked, ReplayedAnswer::Impossible { why });
        } else if label.by == DecisionSource::Recording {
            match self.is_imported {
                // The decision is the recorded course of events and not a policy's answer, so there is no policy to ask again.
                true => self.found.host_fallback += 1,
                false => {
                    let why = "the label says that a recording decided, and the run was not made from one"
                        .to_owned();
                    self.count(&looked, ReplayedAnswer::Impossible { why });
                }
            }
        } else if label.by == DecisionSource::HostFallback || label.component.is_none() {
            match self.replayer.host_fallback(question) {
                Some(result) => {
                    self.count(&looked, ReplayedAnswer::Answered { result: result.map(Some), fuel: 0 })
                }
                None => self.found.host_fallback += 1,
            }
        } else if matches!(recorded, Err(Fault::Watchdog { .. })) {
            self.found.watchdog += 1;
        } else {
            let answer = self.replayer.answer(question, label);
            self.count(&looked, answer);
        }
    }

    fn count(&mut self, looked: &ReplayTarget<'_>, answer: ReplayedAnswer) {
        let found = &mut self.found;
        let (replayed, fuel) = match answer {
            // A watchdog that ends it now says something about this machine alone.
            ReplayedAnswer::Answered { result: Err(Fault::Watchdog { limit_ms }), .. }
            | ReplayedAnswer::EngineDiffers { result: Err(Fault::Watchdog { limit_ms }) } => {
                let why = format!(
                    "it took longer than {limit_ms} ms here; try again while the machine is less busy"
                );
                return found.mark_unavailable(why);
            }
            ReplayedAnswer::Answered { result, fuel } => (Ok(result), Some(fuel)),
            // How far the fuel goes is a property of the engine.
            ReplayedAnswer::EngineDiffers { result: Err(Fault::OutOfFuel { .. }) } => {
                return found.mark_unavailable("it runs out of fuel, under another engine".to_owned());
            }
            ReplayedAnswer::EngineDiffers { result } => (Ok(result), None),
            ReplayedAnswer::Impossible { why } | ReplayedAnswer::FallbackDiffers { why } => (Err(why), None),
            ReplayedAnswer::Unavailable { why } => return found.mark_unavailable(why),
        };
        let fuel = fuel.filter(|_| looked.fuel.is_some());
        let is_same = replayed.as_ref().is_ok_and(|replayed| same_bytes(replayed, looked.recorded));
        if is_same && fuel.is_none_or(|fuel| looked.fuel == Some(fuel)) {
            *match (looked.earlier, looked.recorded) {
                (None, _) => &mut found.same,
                (Some(_), Ok(_)) => &mut found.abstentions_same,
                (Some(_), Err(_)) => &mut found.faults_same,
            } += 1;
            found.fuel_not_compared += u64::from(fuel.is_none());
            return;
        }
        found.differences += 1;
        if found.changed.len() < DIFFERENCES_KEPT {
            found.changed.push(ChangedDecision {
                seq: looked.seq,
                request: looked.request,
                function: looked.function,
                label: looked.label.clone(),
                earlier: looked.earlier.map(str::to_owned),
                recorded: looked.recorded.clone(),
                replayed,
                replayed_fuel: fuel,
            });
        }
    }
}

impl PolicyReplayResult {
    fn mark_unavailable(&mut self, why: String) {
        self.unavailable += 1;
        self.unavailable_because.get_or_insert(why);
    }
}

/// Whether a journal would have the very same bytes for both.
fn same_bytes(a: &PolicyAnswer, b: &PolicyAnswer) -> bool {
    match (serde_json::to_vec(a), serde_json::to_vec(b)) {
        (Ok(a), Ok(b)) => a == b,
        // What cannot be written was never in a journal.
        _ => false,
    }
}
