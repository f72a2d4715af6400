//! The codes of agents and providers, by what they mean. They are facts of protocols, so they are no settings.

use baton_sdk::exhaustion::QuotaCause;

/// What a code or a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Exhausted,
    Quota(QuotaCause),
    TurnLimit,
    BudgetLimit,
    Truncated,
    Interrupted,
    /// An error of a kind that says nothing about why.
    Failed,
    /// The agent says that it is done.
    Completed,
}

/// Codes as they are written once case and separators are taken away: agents differ in those alone.
const CODES: &[(Class, &[&str])] = &[
    (
        Class::Exhausted,
        &[
            "prompttoolong",
            "blockinglimit",
            "rapidrefillbreaker",
            "modelcontextwindowexceeded",
            "contextwindowexceeded",
            "contextlengthexceeded",
            "contextoverflow",
            "contextoverflowerror",
            "contexttoolarge",
            "contextexhausted",
            "contextexhaustion",
            "exceedcontextsizeerror",
        ],
    ),
    (
        Class::TurnLimit,
        &[
            "maxturns",
            "errormaxturns",
            "maxturnrequests",
            "turnlimit",
            "fatalturnlimitederror",
            "maxsessionturns",
        ],
    ),
    (Class::BudgetLimit, &["budgetexhausted", "errormaxbudgetusd", "maxbudget", "sessionbudgetexceeded"]),
    (Class::Truncated, &["maxtokens", "length", "maxoutputtokens", "incomplete"]),
    (
        Class::Interrupted,
        &[
            "abortedtools",
            "abortedstreaming",
            "aborted",
            "turnaborted",
            "interrupted",
            "cancelled",
            "canceled",
        ],
    ),
    (
        Class::Quota(QuotaCause::Rate),
        &[
            "ratelimit",
            "ratelimited",
            "ratelimiterror",
            "ratelimitexceeded",
            "toomanyrequests",
            "throttlingexception",
            "throttling",
            "resourceexhausted",
            "responsetoomanyfailedattempts",
        ],
    ),
    (
        Class::Quota(QuotaCause::Usage),
        &["usagelimitexceeded", "usagelimitreached", "usagelimit", "quotaexceeded"],
    ),
    (
        Class::Quota(QuotaCause::Billing),
        &["billingerror", "insufficientquota", "paymentrequired", "insufficientcredits", "usagenotincluded"],
    ),
    (
        Class::Quota(QuotaCause::Overload),
        &["overloaded", "overloadederror", "serveroverloaded", "serverisoverloaded", "serviceunavailable"],
    ),
    (
        Class::Failed,
        &[
            "apierror",
            "servererror",
            "internalservererror",
            "error",
            "failed",
            "errorduringexecution",
            "authenticationerror",
            "authenticationfailed",
            "unauthorized",
            "permissionerror",
            "refusal",
            "invalidrequest",
            "invalidrequesterror",
        ],
    ),
    (Class::Completed, &["endturn", "success", "completed", "stop", "stopsequence", "done"]),
];

/// No code that is known here is longer than this once written plainly.
const LONGEST: usize = 64;

/// What a code says, where it is known.
pub(crate) fn class_of(code: &str) -> Option<Class> {
    if code.is_empty() || code.len() > LONGEST {
        return None;
    }
    let plain: String =
        code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    CODES.iter().find(|(_, codes)| codes.contains(&plain.as_str())).map(|(class, _)| *class)
}

/// What an HTTP status says by itself.
pub(crate) fn class_of_status(status: u16) -> Option<Class> {
    match status {
        402 => Some(Class::Quota(QuotaCause::Billing)),
        429 => Some(Class::Quota(QuotaCause::Rate)),
        503 | 529 => Some(Class::Quota(QuotaCause::Overload)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter() {
        for code in ["prompt_too_long", "PromptTooLong", "prompt-too-long"] {
            assert_eq!(class_of(code), Some(Class::Exhausted));
        }
        assert_eq!(class_of("overloaded_error"), Some(Class::Quota(QuotaCause::Overload)));
        assert_eq!(class_of("end_turn"), Some(Class::Completed));
        assert_eq!(class_of("rate_limit_warning"), None);
        assert_eq!(class_of(""), None);
        assert_eq!(class_of(&"x".repeat(10_000)), None);
    }
}
