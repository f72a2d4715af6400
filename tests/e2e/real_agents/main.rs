//! Real agents through `baton run` and the model simulator: each succeeds, reports by Baton's own tools, runs out of
//! context and is continued, waits out a limit and a quota, compacts, and is killed together with the host; none leaves a
//! process behind.
//!
//! An agent whose variable names nothing is skipped with a word: `BATON_TEST_CLAUDE` and `BATON_TEST_CODEX` name
//! executables, `BATON_TEST_CLAUDE_ACP` and `BATON_TEST_CODEX_ACP` the `dist/index.js` of the ACP adapters, which `node`
//! runs. `.ci/run` installs all four and sets them.

mod agent;
mod scenario;
mod scene;
mod split;
#[path = "../support/mod.rs"]
mod support;
mod way_in;

use agent::{
    CLAUDE, CLAUDE_ACP, CLAUDE_ACP_SUBSCRIBED, CLAUDE_SEARCHING, CLAUDE_SUBSCRIBED, CODEX, CODEX_ACP,
};

/// Every agent goes through every scenario, each a test of its own.
macro_rules! each_through_everything {
    ($($name:ident: $agent:expr;)*) => {
        $(mod $name {
            use crate::scenario;

            #[test]
            fn finishes_its_work_and_leaves_no_process() {
                scenario::success(&$agent);
            }

            #[test]
            fn reports_by_tools_that_nobody_has_to_allow() {
                scenario::tools(&$agent, "read-only");
            }

            #[test]
            fn is_exhausted_mid_phase_and_continued() {
                scenario::exhaustion(&$agent);
            }

            #[test]
            fn recovers_from_a_429_by_itself() {
                scenario::rate_limit(&$agent);
            }

            #[test]
            fn is_waited_for_until_its_quota_resets() {
                scenario::quota(&$agent);
            }

            #[test]
            fn compacts_when_it_is_asked_to() {
                scenario::compaction(&$agent);
            }

            #[test]
            fn dies_with_its_host_and_the_run_is_resumed() {
                scenario::kill(&$agent);
            }
        })*
    };
}

each_through_everything! {
    claude: crate::CLAUDE;
    codex: crate::CODEX;
    claude_acp: crate::CLAUDE_ACP;
    codex_acp: crate::CODEX_ACP;
}

#[test]
fn claude_finds_the_tools_by_searching() {
    scenario::tools(&CLAUDE_SEARCHING, "edit");
}

#[test]
fn claude_asks_for_a_split_and_two_of_it_do_the_parts() {
    split::split(&CLAUDE);
}

// The way in, with the agent that is found by itself.

#[test]
fn claude_works_through_a_plan() {
    way_in::plan(&CLAUDE, "claude");
}

#[test]
fn claude_works_through_what_init_has_written() {
    way_in::init(&CLAUDE, "claude");
}

#[test]
fn claude_does_what_a_sentence_says() {
    way_in::sentence(&CLAUDE, "claude");
}

// Who logs in with a subscription is told more of a quota.

#[test]
fn claude_is_waited_for_until_its_subscription_resets() {
    scenario::quota(&CLAUDE_SUBSCRIBED);
}

#[test]
fn claude_acp_is_waited_for_until_its_subscription_resets() {
    scenario::quota(&CLAUDE_ACP_SUBSCRIBED);
}
