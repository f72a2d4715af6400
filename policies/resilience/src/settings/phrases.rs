//! The words that errors are recognised by, as agents and providers write them. They match in either case (ASCII) at the
//! start of a word; which channel and place they count in is decided in `assess/`.
//!
//! A list of phrases holds what says it by itself. A list of names holds what a limit is called, or what is too large;
//! it says something where a verb stands in the same sentence.

mod context;
mod ending;
mod limits;
mod prose;
mod setup;
mod work;

use baton_sdk::schema::texts;
use baton_sdk::settings::Setting;

use context::{CONTEXT_NAMES, EXHAUSTED, OVERFLOW_VERBS, TRUNCATED, TURN_LIMIT, TURN_LIMIT_NAMES};
use ending::{
    CARRIED_ON, FINISHED, NEARLY_USED_UP, OWN_CONTEXT_NAMES, SCARCE, STOPPING, SUCCESSORS, USED_UP, WORK_LEFT,
};
use limits::{BILLING, BILLING_NAMES, LIMIT, OVERLOAD, RATE, RATE_NAMES, REACHED_VERBS, USAGE, USAGE_NAMES};
use prose::{DISCUSSION, INNOCENT};
use setup::{LOGGED_OUT, MISSING_VARIABLE, REFUSED_ARGUMENT, ROOT, UNKNOWN_MODEL, UNREACHABLE};
use work::{AHEAD, COMES_NEXT, CONTRADICTION, COURTESY, PLAIN_CLAIM, RID, TROUBLE};

pub(super) fn schema() -> Vec<Setting> {
    let mut schema = errors();
    schema.extend(setup());
    schema.extend(endings());
    schema.extend(work());
    schema
}

/// Errors of an agent that has not begun yet; a person is asked at once.
fn setup() -> Vec<Setting> {
    vec![
        texts(
            "logged-out-phrases",
            LOGGED_OUT,
            "Errors of an agent that nobody logged in, or whose key is refused.",
        ),
        texts("missing-variable-phrases", MISSING_VARIABLE, "Errors of an agent that lacks a variable."),
        texts("root-phrases", ROOT, "Errors of an agent that refuses to work as root."),
        texts(
            "refused-argument-phrases",
            REFUSED_ARGUMENT,
            "Errors of an agent that does not take its arguments.",
        ),
        texts("unknown-model-phrases", UNKNOWN_MODEL, "Errors of an agent that does not get its model."),
        texts(
            "unreachable-phrases",
            UNREACHABLE,
            "Errors of an agent that does not reach its provider. A session after others is tried again instead.",
        ),
    ]
}

fn errors() -> Vec<Setting> {
    vec![
        texts("exhausted-phrases", EXHAUSTED, "Errors that say that the context window is used up."),
        texts(
            "context-names",
            CONTEXT_NAMES,
            "One of these and one of `overflow-verbs` in a sentence say that the window is used up.",
        ),
        texts("overflow-verbs", OVERFLOW_VERBS, "See `context-names`."),
        texts("billing-phrases", BILLING, "Errors that only a payment or a person heals."),
        texts(
            "billing-names",
            BILLING_NAMES,
            "One of these and one of `reached-verbs` in a sentence say that payment is wanted.",
        ),
        texts("usage-phrases", USAGE, "Errors of an allowance over hours or days."),
        texts(
            "usage-names",
            USAGE_NAMES,
            "One of these and one of `reached-verbs` in a sentence say that an allowance is used up.",
        ),
        texts("rate-phrases", RATE, "Errors of too many requests or tokens a minute."),
        texts(
            "rate-names",
            RATE_NAMES,
            "One of these and one of `reached-verbs` in a sentence say that the rate is limited.",
        ),
        texts("reached-verbs", REACHED_VERBS, "That a limit was reached; see the names of limits."),
        texts("overload-phrases", OVERLOAD, "Errors of a provider that is overloaded."),
        texts("turn-limit-phrases", TURN_LIMIT, "What an agent says at its cap of turns."),
        texts(
            "turn-limit-names",
            TURN_LIMIT_NAMES,
            "One of these and one of `reached-verbs` in a sentence say that the cap of turns was reached.",
        ),
        texts("truncated-phrases", TRUNCATED, "What shows that an answer, or what was asked, was cut off."),
        texts("limit-phrases", LIMIT, "A limit that nothing says more about is an allowance."),
        texts(
            "innocent-phrases",
            INNOCENT,
            "An error, an event or a line with one of these is none of the above.",
        ),
        texts(
            "discussion-phrases",
            DISCUSSION,
            "A line of the agent's own words with one of these talks about an error, and is none.",
        ),
    ]
}

/// The words of an agent about itself; how they go together is in `assess/ending/`.
fn endings() -> Vec<Setting> {
    vec![
        texts(
            "own-context-names",
            OWN_CONTEXT_NAMES,
            "What an agent calls its own context when it says that it stops for want of it.",
        ),
        texts(
            "used-up-words",
            USED_UP,
            "Before or behind one of `own-context-names`: the agent's context is used up.",
        ),
        texts(
            "nearly-used-up-words",
            NEARLY_USED_UP,
            "The same for a context that is nearly used up: with one of `stopping-words` or `work-left-words`, or as the agent's last sentence.",
        ),
        texts(
            "scarce-words",
            SCARCE,
            "The same for a context of which little is left: only with one of `stopping-words` or `work-left-words`.",
        ),
        texts("stopping-words", STOPPING, "That the agent stops, or cannot go on."),
        texts("work-left-words", WORK_LEFT, "That work is left."),
        texts("successor-words", SUCCESSORS, "That somebody else has to go on."),
        texts(
            "carried-on-words",
            CARRIED_ON,
            "What the agent did about its full context: behind these words it did not stop.",
        ),
        texts("finished-words", FINISHED, "That no work is left, whatever the agent says of its context."),
    ]
}

/// What an agent that reported nothing says of its work.
fn work() -> Vec<Setting> {
    vec![
        texts(
            "plain-claim-words",
            PLAIN_CLAIM,
            "An agent that says in these and the words of its objective alone that all is done is not asked for its last line.",
        ),
        texts(
            "courtesy-words",
            COURTESY,
            "A line that begins so may stand behind the last line that an agent is asked for.",
        ),
        texts(
            "trouble-words",
            TROUBLE,
            "Words of what is not done: an agent that was asked for its last line, and uses them instead, is not believed to be done.",
        ),
        texts(
            "contradiction-words",
            CONTRADICTION,
            "An agent that uses these beside a report or a last line of done is asked once which of them holds; what it says of its own work again is not done.",
        ),
        texts(
            "rid-words",
            RID,
            "Before one of `trouble-words` or `contradiction-words`, they take it back: \"fixed\", \"removed\".",
        ),
        texts("ahead-words", AHEAD, "The start of a sentence about what comes next: the work is not done."),
        texts("comes-next-words", COMES_NEXT, "The same, anywhere in the sentence."),
    ]
}
