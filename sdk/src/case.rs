//! One question to a policy with everything that goes with it, and the answer: what golden files hold, what rules are held
//! against, and what strategies make. For native tests only; nothing here reads a file.

use std::collections::BTreeMap;

use crate::types::SettingValue;
use crate::{
    Facts, Host, MockHost, PastSession, Settings, budgeting, compaction, completion, exhaustion, handoff,
    offloading, prompting, recovery, review, schema, settings, splitting,
};

/// A call of one function of the contract.
///
/// ```
/// use baton_sdk::{Ask, sample};
///
/// let ask = Ask::Split(sample::splitting_observation());
/// assert_eq!(ask.function(), "split");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    /// `exhaustion.assess`.
    Assess(exhaustion::Observation),
    /// `completion.decide`.
    Complete(completion::Observation),
    /// `recovery.decide`.
    Recover(recovery::Observation),
    /// `compaction.decide`.
    Compaction(compaction::Observation),
    /// `offloading.decide`.
    Offload(offloading::Observation),
    /// `splitting.decide`.
    Split(splitting::Observation),
    /// `budgeting.decide`.
    Budget(budgeting::Observation),
    /// `prompting.compose`.
    Brief(prompting::Observation),
    /// `handoff.compose`.
    Compose(handoff::Observation),
    /// `review.assess`.
    Review(review::Observation),
}

impl Ask {
    /// The name that a file with a question gives the function.
    ///
    /// ```
    /// use baton_sdk::{Ask, sample};
    ///
    /// assert_eq!(Ask::Budget(sample::budgeting_observation()).function(), "budget");
    /// ```
    pub fn function(&self) -> &'static str {
        match self {
            Ask::Assess(_) => "assess",
            Ask::Complete(_) => "complete",
            Ask::Recover(_) => "recover",
            Ask::Compaction(_) => "compaction",
            Ask::Offload(_) => "offload",
            Ask::Split(_) => "split",
            Ask::Budget(_) => "budget",
            Ask::Brief(_) => "brief",
            Ask::Compose(_) => "compose",
            Ask::Review(_) => "review",
        }
    }
}

/// What a policy answered, by the function that was asked.
///
/// ```
/// use baton_sdk::budgeting::TurnBudget;
/// use baton_sdk::Answer;
///
/// let answer = Answer::Budget(TurnBudget { max_turns: Some(25), reason: "the table's value".into() });
/// assert_eq!(answer.reason(), "the table's value");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Of `exhaustion.assess`.
    Assess(exhaustion::Assessment),
    /// Of `completion.decide`.
    Complete(completion::Decision),
    /// Of `recovery.decide`.
    Recover(recovery::Decision),
    /// Of `compaction.decide`.
    Compaction(compaction::Decision),
    /// Of `offloading.decide`.
    Offload(offloading::Decision),
    /// Of `splitting.decide`.
    Split(splitting::Decision),
    /// Of `budgeting.decide`.
    Budget(budgeting::TurnBudget),
    /// Of `prompting.compose`.
    Brief(prompting::Prompt),
    /// Of `handoff.compose`.
    Compose(handoff::Composition),
    /// Of `review.assess`.
    Review(review::Review),
    /// Of any function: the policy leaves it to the next one of its chain.
    Abstained,
}

impl Answer {
    /// What a function answered: `some` of it, or that it abstained.
    fn of<T>(answered: Option<T>, some: impl FnOnce(T) -> Self) -> Self {
        answered.map_or(Self::Abstained, some)
    }

    /// The sentence for a person.
    ///
    /// ```
    /// use baton_sdk::{Answer, compaction::{Action, Decision}};
    ///
    /// let answer = Answer::Compaction(Decision::new(Action::Keep, "there is room"));
    /// assert_eq!(answer.reason(), "there is room");
    /// ```
    pub fn reason(&self) -> &str {
        match self {
            Answer::Assess(answer) => &answer.reason,
            Answer::Complete(answer) => &answer.reason,
            Answer::Recover(answer) => &answer.reason,
            Answer::Compaction(answer) => &answer.reason,
            Answer::Offload(answer) => &answer.reason,
            Answer::Split(answer) => &answer.reason,
            Answer::Budget(answer) => &answer.reason,
            Answer::Brief(answer) => &answer.reason,
            Answer::Compose(answer) => &answer.reason,
            Answer::Review(answer) => &answer.reason,
            Answer::Abstained => "it abstained",
        }
    }
}

/// A whole policy, whatever it decides. [`export_policy!`](crate::export_policy) implements it, so that golden files, rules
/// and strategies can put any question to any policy.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::{Ask, MockHost, Policy, sample};
///
/// struct Calm;
/// impl Compaction for Calm {
///     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
///         Some(compaction::Decision::new(compaction::Action::Keep, "there is always room"))
///     }
/// }
/// export_policy!(Calm: compaction);
///
/// let host = MockHost::new();
/// let answer = Calm::answer(&host, Ask::Compaction(sample::compaction_observation())).unwrap();
/// assert_eq!(answer.reason(), "there is always room");
/// // It does not decide this.
/// assert!(Calm::answer(&host, Ask::Split(sample::splitting_observation())).is_none());
/// ```
pub trait Policy {
    /// The answer; nothing where the policy does not decide what is asked.
    fn answer(host: &impl Host, ask: Ask) -> Option<Answer>;

    /// What can be set, as [`Settings::schema`] says; nothing for a policy without settings.
    fn schema() -> Vec<settings::Setting>;
}

/// A question with the texts, settings and artifacts that go with it.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::{Ask, Case, sample};
///
/// # struct Calm;
/// # impl Exhaustion for Calm {
/// #     fn assess(host: &impl Host, o: exhaustion::Observation) -> Option<exhaustion::Assessment> {
/// #         Some(exhaustion::Assessment {
/// #             verdict: exhaustion::Verdict::Answered, evidence: vec![], warning: None,
/// #             reason: format!("{} bytes were said", host.text_len(o.window)),
/// #         })
/// #     }
/// # }
/// # export_policy!(Calm: exhaustion);
/// // The first text has id 0, the next one 1.
/// let case = Case::new(Ask::Assess(sample::exhaustion_observation(0))).with_text("done!");
/// assert_eq!(case.answer::<Calm>().reason(), "5 bytes were said");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is asked.
    pub ask: Ask,
    /// The texts that the observation names, by index.
    pub texts: Vec<String>,
    /// Settings that differ from the policy's defaults.
    pub settings: BTreeMap<String, SettingValue>,
    /// Artifacts that the policy may read, by name.
    pub artifacts: BTreeMap<String, String>,
    /// What the host knows beside the question.
    pub facts: Facts,
}

impl Case {
    /// A question under the policy's defaults.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// let case = Case::new(Ask::Compaction(sample::compaction_observation()));
    /// assert!(case.texts.is_empty() && case.settings.is_empty());
    /// ```
    pub fn new(ask: Ask) -> Self {
        Self {
            ask,
            texts: Vec::new(),
            settings: BTreeMap::new(),
            artifacts: BTreeMap::new(),
            facts: Facts::default(),
        }
    }

    /// Adds a text; the first has id 0.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// let case = Case::new(Ask::Review(sample::review_observation(0))).with_text("# Handoff");
    /// assert_eq!(case.texts, ["# Handoff"]);
    /// ```
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.texts.push(text.into());
        self
    }

    /// Sets something otherwise than by default.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, sample, types::SettingValue};
    ///
    /// let case = Case::new(Ask::Split(sample::splitting_observation()))
    ///     .with_setting("objectives-at-most", SettingValue::Integer(2));
    /// assert_eq!(case.settings["objectives-at-most"], SettingValue::Integer(2));
    /// ```
    #[must_use]
    pub fn with_setting(mut self, key: impl Into<String>, value: SettingValue) -> Self {
        self.settings.insert(key.into(), value);
        self
    }

    /// Grants an artifact.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// let case = Case::new(Ask::Split(sample::splitting_observation())).with_artifact("reports/lint", "clean");
    /// assert_eq!(case.artifacts["reports/lint"], "clean");
    /// ```
    #[must_use]
    pub fn with_artifact(mut self, name: impl Into<String>, body: impl Into<String>) -> Self {
        self.artifacts.insert(name.into(), body.into());
        self
    }

    /// Adds a session that came before all that were added so far.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// let case = Case::new(Ask::Compaction(sample::compaction_observation()))
    ///     .with_past_session(sample::past_session("s1"));
    /// assert_eq!(case.facts.past_sessions.len(), 1);
    /// ```
    #[must_use]
    pub fn with_past_session(mut self, session: PastSession) -> Self {
        self.facts.past_sessions.push(session);
        self
    }

    /// Sets what the host knows beside the question.
    ///
    /// ```
    /// use baton_sdk::{Ask, Case, Facts, sample};
    ///
    /// let facts = Facts { past_waits: vec![sample::past_wait()], ..Facts::default() };
    /// let case = Case::new(Ask::Compaction(sample::compaction_observation())).with_facts(facts);
    /// assert_eq!(case.facts.past_waits.len(), 1);
    /// ```
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    /// The host that a policy is asked by.
    ///
    /// # Panics
    /// Where the policy refuses the settings.
    ///
    /// ```
    /// use baton_sdk::prelude::*;
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// # struct Calm;
    /// # export_policy!(Calm: settings);
    /// # impl Settings for Calm { fn schema() -> Vec<settings::Setting> { vec![schema::flag("loud", false, "Say more.")] } }
    /// let host = Case::new(Ask::Compaction(sample::compaction_observation())).host::<Calm>();
    /// assert!(!host.flag("loud"));
    /// ```
    #[track_caller]
    pub fn host<P: Policy>(&self) -> MockHost {
        self.try_host::<P>().unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn try_host<P: Policy>(&self) -> Result<MockHost, String> {
        let given = self.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let values = schema::values(&P::schema(), given);
        let values = values.map_err(|problem| format!("the host would refuse these settings: {problem}"))?;
        let mut host = MockHost::with_settings(values);
        for text in &self.texts {
            host.add_text(text.as_str());
        }
        for (name, body) in &self.artifacts {
            host.add_artifact(name.as_str(), body.as_bytes());
        }
        host.set_facts(self.facts.clone());
        Ok(host)
    }

    /// Puts the question.
    ///
    /// # Panics
    /// Where the policy refuses the settings, or does not decide what is asked.
    ///
    /// ```
    /// use baton_sdk::prelude::*;
    /// use baton_sdk::{Ask, Case, sample};
    ///
    /// # struct Calm;
    /// # impl Compaction for Calm {
    /// #     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
    /// #         Some(compaction::Decision::new(compaction::Action::Keep, "there is always room"))
    /// #     }
    /// # }
    /// # export_policy!(Calm: compaction);
    /// let answer = Case::new(Ask::Compaction(sample::compaction_observation())).answer::<Calm>();
    /// assert_eq!(answer.reason(), "there is always room");
    /// ```
    #[track_caller]
    pub fn answer<P: Policy>(&self) -> Answer {
        self.try_answer::<P>().unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// The answer, or why the question cannot be put to this policy.
    pub(crate) fn try_answer<P: Policy>(&self) -> Result<Answer, String> {
        P::answer(&self.try_host::<P>()?, self.ask.clone()).ok_or_else(|| {
            format!("the policy is asked `{}`, and does not export that decision", self.ask.function())
        })
    }
}

/// What `export_policy!` puts together: each decision answers what is asked of it and hands the rest on.
#[doc(hidden)]
#[allow(clippy::result_large_err, reason = "what comes back is the question, handed on, and no error")]
pub mod by {
    use super::*;

    pub fn exhaustion<P: crate::Exhaustion>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Assess(seen) => Ok(Answer::of(P::assess(host, seen), Answer::Assess)),
            other => Err(other),
        }
    }

    pub fn completion<P: crate::Completion>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Complete(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Complete)),
            other => Err(other),
        }
    }

    pub fn recovery<P: crate::Recovery>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Recover(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Recover)),
            other => Err(other),
        }
    }

    pub fn offloading<P: crate::Offloading>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Offload(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Offload)),
            other => Err(other),
        }
    }

    pub fn compaction<P: crate::Compaction>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Compaction(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Compaction)),
            other => Err(other),
        }
    }

    pub fn splitting<P: crate::Splitting>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Split(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Split)),
            other => Err(other),
        }
    }

    pub fn budgeting<P: crate::Budgeting>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Budget(seen) => Ok(Answer::of(P::decide(host, seen), Answer::Budget)),
            other => Err(other),
        }
    }

    pub fn prompting<P: crate::Prompting>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Brief(seen) => Ok(Answer::of(P::compose(host, seen), Answer::Brief)),
            other => Err(other),
        }
    }

    pub fn handoff<P: crate::Handoff>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Compose(seen) => Ok(Answer::of(P::compose(host, seen), Answer::Compose)),
            other => Err(other),
        }
    }

    pub fn review<P: crate::Review>(host: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        match ask {
            Ask::Review(seen) => Ok(Answer::of(P::assess(host, seen), Answer::Review)),
            other => Err(other),
        }
    }

    pub fn settings<P: Settings>(_: &impl Host, ask: Ask) -> Result<Answer, Ask> {
        Err(ask)
    }
}
