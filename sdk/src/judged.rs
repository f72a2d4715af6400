//! `assert_decision!`: what was decided, as a pattern, and in what words. Every decision is held to have a reason as well,
//! because it is all that a person is shown.

use std::fmt::Debug;

use crate::sections::Section;
use crate::{
    Answer, budgeting, compaction, completion, exhaustion, handoff, offloading, prompting, recovery, review,
    splitting,
};

/// A decision that [`assert_decision!`](crate::assert_decision) takes: what it comes to, and why.
///
/// ```
/// use baton_sdk::{Judged, compaction::{Action, Decision}};
///
/// let decision = Decision::new(Action::Keep, "there is room");
/// assert_eq!((decision.judgment(), decision.why()), (&Action::Keep, "there is room"));
/// ```
pub trait Judged: Debug {
    /// What a test asks for first.
    type Judgment: Debug;

    /// The action, the verdict, the turns, the prompt, who continues, or whether it is accepted.
    fn judgment(&self) -> &Self::Judgment;

    /// The sentence for a person.
    fn why(&self) -> &str;
}

macro_rules! judged {
    ($($type:ty: $judgment:ident as $as:ty;)+) => {$(
        impl Judged for $type {
            type Judgment = $as;

            fn judgment(&self) -> &$as {
                &self.$judgment
            }

            fn why(&self) -> &str {
                &self.reason
            }
        }
    )+};
}

judged! {
    exhaustion::Assessment: verdict as exhaustion::Verdict;
    completion::Decision: done as Vec<String>;
    recovery::Decision: action as recovery::Action;
    compaction::Decision: action as compaction::Action;
    offloading::Decision: items as Vec<String>;
    splitting::Decision: action as splitting::Action;
    budgeting::TurnBudget: max_turns as Option<u32>;
    prompting::Prompt: sections as Vec<Section>;
    handoff::Composition: continuer as handoff::Continuer;
    review::Review: accepted as bool;
}

/// What a policy that may abstain answered.
impl<T: Judged> Judged for Option<T> {
    type Judgment = T::Judgment;

    #[track_caller]
    fn judgment(&self) -> &T::Judgment {
        match self {
            Some(decision) => decision.judgment(),
            None => panic!("the policy abstains"),
        }
    }

    fn why(&self) -> &str {
        self.as_ref().map_or("", T::why)
    }
}

/// Of any function; what is matched is the whole answer.
impl Judged for Answer {
    type Judgment = Answer;

    fn judgment(&self) -> &Answer {
        self
    }

    fn why(&self) -> &str {
        self.reason()
    }
}

/// Asserts what was decided: a pattern of the action, verdict, turns, prompt, continuer or acceptance, and behind `because`,
/// words that the reason has.
///
/// ```
/// use baton_sdk::assert_decision;
/// use baton_sdk::compaction::{Action, Decision};
///
/// let decision = Decision::new(Action::Compact(Some("keep the plan".into())), "75 % of the window are used");
/// assert_decision!(decision, Action::Compact(_));
/// assert_decision!(decision, Action::Compact(Some(what)) if what.contains("plan"), because "75 %");
/// ```
///
/// It says of a decision that does not fit what it is, and why:
///
/// ```should_panic
/// use baton_sdk::assert_decision;
/// use baton_sdk::budgeting::TurnBudget;
///
/// let budget = TurnBudget { max_turns: Some(25), reason: "the table's value".into() };
/// // expected Some(30); the decision is Some(25), because: the table's value
/// assert_decision!(budget, Some(30));
/// ```
#[macro_export]
macro_rules! assert_decision {
    ($decision:expr, $pattern:pat $(if $guard:expr)? $(, because $words:expr)? $(,)?) => {
        match &$decision {
            decision => {
                let (judgment, why) = ($crate::Judged::judgment(decision), $crate::Judged::why(decision));
                assert!(
                    matches!(judgment, $pattern $(if $guard)?),
                    "expected {}; the decision is {judgment:?}, because: {why}",
                    stringify!($pattern $(if $guard)?)
                );
                assert!(!why.trim().is_empty(), "the decision has no reason: {decision:?}");
                $(
                    let words: &str = $words;
                    assert!(why.contains(words), "expected the reason to have {words:?}: {why}");
                )?
            }
        }
    };
}
