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
    Unauthenticated,
    Refused,
    /// An error of a kind that says nothing about why.
    Failed,
    /// The agent says that it is done.
    Completed,
}

/// Codes as they are written once case, separators and a final "error" or "exception" are taken away: agents differ in
/// those alone.
const CODES: &[(Class, &[&str])] = &[
    (
        Class::Exhausted,
        &[
            "blockinglimit",
            "contextexhausted",
            "contextexhaustion",
            "contextlengthexceeded",
            "contextlimitexceeded",
            "contextlimitreached",
            "contextoverflow",
            "contexttoolarge",
            "contexttoolong",
            "contextwindowexceeded",
            "contextwindowoverflow",
            "conversationtoolong",
            "exceedcontextsize",
            "inputtoolong",
            "maxcontextlengthexceeded",
            "modelcontextwindowexceeded",
            "modelmaxprompttokensexceeded",
            "promptistoolong",
            "prompttoolong",
            "rapidrefillbreaker",
            "requesttoolarge",
            "tokenlimitexceeded",
            "toomanyinputtokens",
        ],
    ),
    (
        Class::TurnLimit,
        &[
            "errormaxturns",
            "fatalturnlimited",
            "graphrecursion",
            "iterationlimitreached",
            "maxiterations",
            "maxsessionturns",
            "maxsteps",
            "maxturnrequests",
            "maxturns",
            "maxturnsexceeded",
            "maxturnsreached",
            "turnlimit",
        ],
    ),
    (
        Class::BudgetLimit,
        &["budgetexhausted", "errormaxbudgetusd", "maxbudget", "maxbudgetusd", "sessionbudgetexceeded"],
    ),
    (
        Class::Truncated,
        &[
            "incomplete",
            "length",
            "maxoutputtokens",
            "maxtokens",
            "maxtokensreached",
            "messageoutputlength",
            "modellength",
            "outputlength",
        ],
    ),
    (
        Class::Interrupted,
        &[
            "aborted",
            "abortedstreaming",
            "abortedtools",
            "canceled",
            "cancelled",
            "interrupted",
            "messageaborted",
            "turnaborted",
        ],
    ),
    (
        Class::Quota(QuotaCause::Billing),
        &[
            "billing",
            "billinghardlimitreached",
            "billingnotactive",
            "creditbalancetoolow",
            "creditsexhausted",
            "insufficientbalance",
            "insufficientcredits",
            "insufficientquota",
            "outofcredits",
            "paymentrequired",
            "usagenotincluded",
        ],
    ),
    (
        Class::Quota(QuotaCause::Usage),
        &[
            "dailylimitexceeded",
            "freeusagelimit",
            "quotaexceeded",
            "quotaexhausted",
            "terminalquota",
            "usagelimit",
            "usagelimitexceeded",
            "usagelimitreached",
        ],
    ),
    (
        Class::Quota(QuotaCause::Rate),
        &[
            "ratelimit",
            "ratelimited",
            "ratelimitexceeded",
            "ratelimitreached",
            "resourceexhausted",
            "responsetoomanyfailedattempts",
            "retryablequota",
            "throttled",
            "throttling",
            "toomanyrequests",
        ],
    ),
    (
        Class::Quota(QuotaCause::Overload),
        &[
            "capacityexceeded",
            "engineoverloaded",
            "modeloverloaded",
            "overloaded",
            "serverisoverloaded",
            "serveroverloaded",
            "serviceunavailable",
        ],
    ),
    (
        Class::Unauthenticated,
        &[
            "apikeyinvalid",
            "authentication",
            "authenticationfailed",
            "authenticationrequired",
            "authrequired",
            "invalidapikey",
            "notloggedin",
            "oauthtokenexpired",
            "providerauth",
            "unauthenticated",
            "unauthorized",
        ],
    ),
    (Class::Refused, &["contentfilter", "refusal", "safety"]),
    (
        Class::Failed,
        &[
            "api",
            "badrequest",
            "errorduringexecution",
            "error",
            "failed",
            "internalserver",
            "invalidrequest",
            "malformedfunctioncall",
            "permission",
            "server",
        ],
    ),
    (Class::Completed, &["completed", "done", "endturn", "stop", "stopsequence", "success"]),
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
    let kind = plain.strip_suffix("error").or_else(|| plain.strip_suffix("exception"));
    let kind = kind.filter(|kind| !kind.is_empty()).unwrap_or(&plain);
    CODES.iter().find(|(_, codes)| codes.contains(&kind)).map(|(class, _)| *class)
}

/// What an HTTP status says by itself.
pub(crate) fn class_of_status(status: u16) -> Option<Class> {
    match status {
        401 => Some(Class::Unauthenticated),
        402 => Some(Class::Quota(QuotaCause::Billing)),
        413 => Some(Class::Exhausted),
        429 => Some(Class::Quota(QuotaCause::Rate)),
        503 | 529 => Some(Class::Quota(QuotaCause::Overload)),
        _ => None,
    }
}

/// The classes of the codes inside an error's text: `code: 'context_length_exceeded'`, `RateLimitError: …`.
///
/// In prose only an identifier is a code, and only one that cannot be a mere parameter: "`max_tokens` is too large" was
/// not cut off. As the value of a field, or as the whole text, every code counts.
pub(crate) fn codes_in(text: &str) -> impl Iterator<Item = Class> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.len() > 3 && word.len() <= LONGEST).filter_map(move |word| {
        let identifier = word.contains('_')
            || word
                .as_bytes()
                .windows(2)
                .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let alone = word.len() == text.trim().len() || is_value(&text[..start], &text[start + word.len()..]);
        let class = if identifier || alone { class_of(word)? } else { return None };
        let counts = match class {
            Class::Completed | Class::Failed => false,
            Class::Truncated | Class::Interrupted | Class::Unauthenticated | Class::Refused => alone,
            _ => true,
        };
        counts.then_some(class)
    })
}

/// A quoted word behind a colon.
fn is_value(before: &str, after: &str) -> bool {
    let opened = before.strip_suffix(['"', '\'']).map(|before| before.trim_end_matches('\\').trim_end());
    opened.is_some_and(|before| before.ends_with(':'))
        && after.trim_start_matches('\\').starts_with(['"', '\''])
}

/// What stands shortly before a number that is an HTTP status.
const STATUS_LABELS: [&str; 7] = ["status", "http", "code", "error", "rejected", "returned", "received a"];
/// So many numbers that could be one are looked at.
const MOST_STATUSES: usize = 16;
/// How far before it at most.
const LABEL_BYTES: usize = 18;

/// The classes of the HTTP statuses in an error's text: at its start, or behind a word such as "status".
pub(crate) fn statuses_in(text: &str) -> impl Iterator<Item = Class> {
    let numbers = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 3);
    // That a program was refused somewhere says nothing of the agent: 401 counts in a field of its own alone.
    let statuses = numbers.filter_map(|number| {
        let class = class_of_status(number.parse().ok()?)?;
        (class != Class::Unauthenticated).then_some((number, class))
    });
    statuses.take(MOST_STATUSES).filter_map(move |(number, class)| {
        let start = number.as_ptr() as usize - text.as_ptr() as usize;
        let from = text.floor_char_boundary(start.saturating_sub(LABEL_BYTES));
        let before = text[from..start].to_ascii_lowercase();
        let labelled = STATUS_LABELS.iter().any(|label| before.contains(label));
        (labelled || before.trim_matches(|c: char| !c.is_alphanumeric()).is_empty() && from == 0)
            .then_some(class)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_matter() {
        for code in ["prompt_too_long", "PromptTooLong", "prompt-too-long", "PromptTooLongError"] {
            assert_eq!(class_of(code), Some(Class::Exhausted));
        }
        assert_eq!(class_of("overloaded_error"), Some(Class::Quota(QuotaCause::Overload)));
        assert_eq!(class_of("end_turn"), Some(Class::Completed));
        assert_eq!(class_of("error"), Some(Class::Failed));
        assert_eq!(class_of("rate_limit_warning"), None);
        assert_eq!(class_of(""), None);
        assert_eq!(class_of(&"x".repeat(10_000)), None);
    }

    #[test]
    fn codes_are_found_in_texts_and_parameters_are_none() {
        let first = |text| codes_in(text).next();
        assert_eq!(first("litellm.RateLimitError: slow down"), Some(Class::Quota(QuotaCause::Rate)));
        assert_eq!(first("{'code': 'context_length_exceeded'}"), Some(Class::Exhausted));
        assert_eq!(first(r#"{"stopReason":"max_tokens"}"#), Some(Class::Truncated));
        assert_eq!(first(" length "), Some(Class::Truncated));
        assert_eq!(first("max_tokens is too large, the length is wrong"), None);
        assert_eq!(first(r#"{"rate_limits":{"primary":1},"stop_reason":"end_turn"}"#), None);
    }

    #[test]
    fn a_status_is_labelled_or_comes_first() {
        let first = |text| statuses_in(text).next();
        for text in ["429 slow down", "HTTP 429.", "{\"code\":429}", "rejected (429)", "Error code: 429 - x"]
        {
            assert_eq!(first(text), Some(Class::Quota(QuotaCause::Rate)), "{text}");
        }
        for text in ["line 429 of it", "I see 402 rows", "tokens: 413, 503"] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
