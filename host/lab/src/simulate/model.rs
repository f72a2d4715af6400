//! The parameters of a simulated world: agents and their windows, providers, checks, people, prices. One table has the meaning,
//! default, bounds and source of each number; the fields, the file format and its documentation are generated from it. Draws no
//! random numbers: `sim_rng.rs` does.

mod file;

pub use file::{ModelDiagnostic, ModelError};

/// Whether a default was seen or supposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamSource {
    /// Read off recordings of real agents, or their documentation; the text says which.
    Measured(&'static str),
    /// A plausible number that was not measured: fit it before you rely on results that depend on it.
    Assumed,
}

/// One number of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelParam {
    /// `section.key`, as in the file.
    pub key: &'static str,
    /// What it means, with its unit.
    pub doc: &'static str,
    /// Its value if the file does not set it.
    pub default: f64,
    /// Its least value.
    pub least: f64,
    /// Its greatest value.
    pub most: f64,
    /// Source of the default.
    pub source: ParamSource,
}

/// One line a number: name, default, bounds, source, meaning.
macro_rules! model {
    ($($(#[doc = $about:literal])* $section:ident: $type:ident {
        $($key:ident = $default:literal in $least:literal..=$most:literal, $source:expr, $doc:literal;)*
    })*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $type { $(#[doc = $doc] pub $key: f64,)* }
        )*

        /// What a simulated world is like.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Model { $($(#[doc = $about])* pub $section: $type,)* }

        impl Default for Model {
            fn default() -> Self {
                Self { $($section: $type { $($key: $default,)* },)* }
            }
        }

        impl Model {
            /// Every number, in the order of the file.
            pub const PARAMS: &'static [ModelParam] = &[$($(ModelParam {
                key: concat!(stringify!($section), ".", stringify!($key)),
                doc: $doc, default: $default, least: $least, most: $most, source: $source,
            },)*)*];

            /// The sections with what they are about, in the order of the file.
            pub const SECTIONS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($section), concat!($($about),*)),)*];

            /// A number by its key, `section.key`.
            pub fn get(&self, key: &str) -> Option<f64> {
                $($(if key == concat!(stringify!($section), ".", stringify!($key)) {
                    return Some(self.$section.$key);
                })*)*
                None
            }

            /// Changes a number by its key. Bounds are the caller's to hold: `ModelParam` names them.
            pub fn set(&mut self, key: &str, value: f64) -> bool {
                $($(if key == concat!(stringify!($section), ".", stringify!($key)) {
                    self.$section.$key = value;
                    return true;
                })*)*
                false
            }
        }
    };
}

use ParamSource::{Assumed, Measured};

const CLAUDE_2_1: ParamSource = Measured("recordings of Claude Code 2.1.330");
const REHEARSAL: ParamSource = Measured("the built-in rehearsal agent");

model! {
    /// How a context window fills. Sizes of turns and tool results are lognormal: a median, and the standard deviation of the logarithm as the spread.
    context: Context {
        window_tokens = 200000.0 in 500.0..=10000000.0, CLAUDE_2_1, "Tokens that a window holds, where the role does not say.";
        start_tokens = 22000.0 in 0.0..=1000000.0, CLAUDE_2_1, "Tokens in a window before the first prompt: the agent's own instructions and tools.";
        turn_tokens = 900.0 in 1.0..=200000.0, Assumed, "Tokens that a turn adds by itself (what the model writes), the median.";
        turn_spread = 0.7 in 0.0..=3.0, Assumed, "Spread of the same.";
        tool_tokens = 2500.0 in 1.0..=1000000.0, Assumed, "Tokens of one tool result, the median.";
        tool_spread = 1.2 in 0.0..=3.0, Assumed, "Spread of the same: a few results are very large.";
        tools_per_turn = 0.9 in 0.0..=20.0, Assumed, "Tool results of a turn, on average.";
        rereads = 0.1 in 0.0..=1.0, Assumed, "Share of the reads that read something again.";
        says = 1.0 in 0.0..=1.0, Assumed, "Share of the runs whose agents tell how full their window is.";
    }
    /// What an objective takes.
    work: Work {
        turns = 8.0 in 1.0..=1000.0, Assumed, "Turns of one objective, the median.";
        turns_spread = 0.5 in 0.0..=3.0, Assumed, "Spread of the same.";
        turn_seconds = 12.0 in 0.01..=86400.0, Assumed, "Seconds of a turn, the median.";
        seconds_spread = 0.6 in 0.0..=3.0, Assumed, "Spread of the same.";
        mend = 0.4 in 0.0..=1.0, Assumed, "Share of an objective's turns that it takes to mend it once a check has failed.";
        review_turns = 4.0 in 1.0..=1000.0, Assumed, "Turns of a review, and of a merge with conflicts.";
        start_seconds = 2.0 in 0.0..=3600.0, Measured("first output of four real agents after 0.5 to 14 s"), "Seconds until an agent takes prompts.";
    }
    /// What happens at a full window: weights of which a run draws one, since its agents are of one make.
    exhaustion: Exhaustion {
        full_at = 1.0 in 0.05..=1.0, Assumed, "Part of the window at which it is full: agents keep a reserve.";
        error = 0.5 in 0.0..=1000.0, Assumed, "Weight: the agent's protocol reports an error.";
        text = 0.1 in 0.0..=1000.0, Assumed, "Weight: it says so in its answer, and calls the prompt answered.";
        compacts = 0.3 in 0.0..=1000.0, Assumed, "Weight: it compacts by itself before it is full.";
        silence = 0.05 in 0.0..=1000.0, Assumed, "Weight: it falls silent.";
        forgets = 0.05 in 0.0..=1000.0, Assumed, "Weight: the provider cuts the beginning and says nothing, and the agent repeats itself.";
        compacts_at = 0.92 in 0.05..=1.0, Assumed, "Part of the window from which an agent that compacts by itself does so.";
    }
    /// Limits of a provider, by the clock: all arms meet them at the same moments.
    quota: Quota {
        per_hour = 0.05 in 0.0..=60.0, Assumed, "Limits that begin in an hour, on average.";
        minutes = 45.0 in 0.01..=100000.0, Assumed, "Minutes that one lasts, the median.";
        spread = 0.6 in 0.0..=3.0, Assumed, "Spread of the same.";
        says_when = 0.8 in 0.0..=1.0, Assumed, "Share of them of which the provider says when they end.";
    }
    /// What goes wrong by itself, as chances of one turn.
    trouble: Trouble {
        stalls = 0.001 in 0.0..=1.0, Assumed, "The agent falls silent.";
        stall_minutes = 30.0 in 0.01..=100000.0, Assumed, "Minutes until a silent agent goes on by itself, the median; the spread is 1.";
        wakes = 0.7 in 0.0..=1.0, Assumed, "Chance that an agent that was silent works again once it is prompted again.";
        crashes = 0.0005 in 0.0..=1.0, Assumed, "The process ends.";
        errors = 0.001 in 0.0..=1.0, Assumed, "The prompt ends with an error that does not say why.";
        starts_fail = 0.001 in 0.0..=1.0, Assumed, "A process cannot be started (a chance of one start).";
    }
    /// How good the work is: the chance that an objective is done wrong, or not at all, grows from `knee` on in a straight line to what it is at a full window. What counts is the mean occupancy of the turns that worked on it.
    quality: Quality {
        knee = 0.4 in 0.0..=0.99, Assumed, "Occupancy from which quality falls, as a part of the window.";
        wrong = 0.05 in 0.0..=1.0, Assumed, "Chance that an objective is done wrong in a window below the knee.";
        wrong_full = 0.35 in 0.0..=1.0, Assumed, "The same at a full window.";
        skipped = 0.01 in 0.0..=1.0, Assumed, "Chance that an objective is not done at all below the knee.";
        skipped_full = 0.12 in 0.0..=1.0, Assumed, "The same at a full window.";
        truth = 0.85 in 0.0..=1.0, Assumed, "Chance that an agent says so where it has not done something.";
        reports = 0.8 in 0.0..=1.0, Assumed, "Chance that an agent reports an objective through the inbox, beside answering.";
    }
    /// What it costs that another session goes on.
    handoff: Handoff {
        turns = 3.0 in 0.0..=1000.0, Assumed, "Turns until a successor knows its way.";
        loss = 0.1 in 0.0..=1.0, Assumed, "Share of the work on an unfinished objective that is done again.";
    }
    /// What a compaction is like, asked for or not.
    compaction: Compaction {
        seconds = 60.0 in 0.0..=86400.0, Assumed, "Seconds that it takes, the median; the spread is 0.3.";
        remains = 0.25 in 0.0..=1.0, REHEARSAL, "Part of the conversation that remains.";
        loss = 0.05 in 0.0..=1.0, Assumed, "Share of the work on an unfinished objective that is done again.";
        wrong = 0.02 in 0.0..=1.0, Assumed, "Added to the chance of a wrong objective by each compaction of a session.";
        fails = 0.01 in 0.0..=1.0, Assumed, "Chance that one that was asked for does nothing.";
    }
    /// What verification commands find.
    verification: Verification {
        seconds = 30.0 in 0.0..=86400.0, Assumed, "Seconds that a command takes.";
        flaky = 0.02 in 0.0..=1.0, Assumed, "Chance that it fails where everything is right.";
        blind = 0.1 in 0.0..=1.0, Assumed, "Chance that it does not find a wrong objective.";
        review_noise = 8.0 in 0.0..=50.0, Assumed, "Standard deviation of a reviewer's score, in points of 100.";
    }
    /// How parts come together.
    merge: Merge {
        conflicts = 0.12 in 0.0..=1.0, Assumed, "Chance that the work of a part does not fit what is there.";
        resolved = 0.9 in 0.0..=1.0, Assumed, "Chance that a session resolves it.";
        moves = 0.02 in 0.0..=1.0, Assumed, "Chance that the workspace has changed by the time of landing.";
        git = 1.0 in 0.0..=1.0, Assumed, "1 where the workspace is a git work tree, so that parts have trees of their own; 0 where not.";
    }
    /// Whoever is asked.
    person: Person {
        answers = 1.0 in 0.0..=1.0, Assumed, "Chance that a question is answered at all.";
        minutes = 20.0 in 0.0..=100000.0, Assumed, "Minutes until then, the median; the spread is 1.";
        retries = 0.6 in 0.0..=1.0, Assumed, "Chance that the answer is to try again or to lift the limit, where that can be chosen; else what is open is skipped.";
        patience = 3.0 in 0.0..=1000.0, Assumed, "Such answers of one person in one run at most.";
    }
    /// What it costs.
    price: Price {
        input_usd = 0.5 in 0.0..=10000.0, Assumed, "Dollars for a million tokens of input, most of them cached.";
        output_usd = 15.0 in 0.0..=10000.0, Assumed, "Dollars for a million tokens of output.";
    }
    /// The host, and where a run that does not end is given up. Such a run is an outcome of its own, and is counted.
    host: Host {
        agents = 4.0 in 1.0..=1000.0, Assumed, "Agents at a time, where the workflow does not say.";
        inputs = 60000.0 in 100.0..=1000000.0, Assumed, "Inputs of one run at most.";
        days = 14.0 in 0.01..=365.0, Assumed, "Days of virtual time of one run at most.";
    }
}

#[cfg(test)]
mod tests;
