//! Asks real policies: the closures that `verify` and `try_candidate` want, over the engine.

use baton_core::Digest;
use baton_core::decision::Provenance;
use baton_core::observation::PolicyRequest;
use baton_engine::{ConfiguredPolicy, PolicyAnswer, validate_answer};

use crate::policy_replay::ReplayedAnswer;

/// Puts a question to that one of `policies` which has the digests of the label. `engine` is the digest of the
/// engine that they were loaded into: under another one a component may use other fuel, so nothing is compared.
pub fn ask_again(
    policies: &[ConfiguredPolicy],
    engine: &Digest,
) -> impl FnMut(&PolicyRequest, &Provenance) -> ReplayedAnswer {
    move |question, label| {
        if label.engine != *engine {
            let why = format!(
                "it was made under engine {}, and this one is {}",
                label.engine.short(),
                engine.short()
            );
            return ReplayedAnswer::Unavailable { why };
        }
        let is_asked = |policy: &&ConfiguredPolicy| {
            Some(policy.policy().digest()) == label.component.as_ref()
                && Some(policy.settings_digest()) == label.settings.as_ref()
        };
        match policies.iter().find(is_asked) {
            Some(policy) => {
                let evaluation = policy.evaluate(question);
                ReplayedAnswer::Answered { result: evaluation.result, fuel: evaluation.fuel }
            }
            None => ReplayedAnswer::Unavailable {
                why: format!("policy {} is not here with those settings", label.policy),
            },
        }
    }
}

/// Puts every question to this policy, and to none behind it. An answer that no run can follow is a fault, as it is in a run.
pub fn candidate(policy: &ConfiguredPolicy) -> impl FnMut(&PolicyRequest) -> PolicyAnswer {
    |question| validate_answer(question, policy.evaluate(question).result)
}
