//! Real agents through `baton run` and the model simulator: each succeeds, reports by Baton's own tools, runs out of
//! context and is continued, waits out a limit and a quota, compacts, and is killed together with the host; none leaves a
//! process behind.
//!
//! An agent whose variable names nothing is skipped with a word: `BATON_TEST_CLAUDE` and `BATON_TEST_CODEX` name
//! executables, `BATON_TEST_CLAUDE_ACP` and `BATON_TEST_CODEX_ACP` the `dist/index.js` of the ACP adapters, which `node`
//! runs. `.ci/run` installs all four and sets them.

mod agent;
mod agent_failures;
mod allowed_commands;
mod conversation;
mod fixture;
mod long;
mod scenario;
mod split;
#[path = "../support/mod.rs"]
mod support;
mod task_sources;

use agent::{
    CLAUDE, CLAUDE_ACP, CLAUDE_ACP_SUBSCRIBED, CLAUDE_SEARCHING, CLAUDE_SUBSCRIBED, CODEX, CODEX_ACP,
    CODEX_NESTED,
};
use agent_failures::UnreadyCase;

/// What an agent goes through whether it is confined or not, with this permission for what it reports.
macro_rules! in_every_way {
    ($agent:expr, $permission:literal) => {
        #[test]
        fn finishes_its_work_and_leaves_no_process() {
            crate::scenario::success(&$agent);
        }

        #[test]
        fn reports_by_tools_that_nobody_has_to_allow() {
            crate::scenario::tools(&$agent, $permission);
        }

        #[test]
        fn is_exhausted_mid_phase_and_continued() {
            crate::scenario::exhaustion(&$agent);
        }

        #[test]
        fn dies_with_its_host_and_the_run_is_resumed() {
            crate::scenario::kill(&$agent);
        }
    };
}

/// Every agent goes through every scenario, each a test of its own.
macro_rules! each_through_everything {
    ($($name:ident: $agent:expr;)*) => {
        $(mod $name {
            use crate::scenario;

            in_every_way!($agent, "read-only");

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
        })*
    };
}

each_through_everything! {
    claude: crate::CLAUDE;
    codex: crate::CODEX;
    claude_acp: crate::CLAUDE_ACP;
    codex_acp: crate::CODEX_ACP;
}

/// The same agents, confined: by what each needs for its work.
macro_rules! each_confined {
    ($($name:ident: $agent:expr;)*) => {
        $(mod $name {
            in_every_way!($agent, "full");

            #[test]
            fn goes_on_in_its_conversation_after_an_interruption() {
                crate::conversation::interrupted(&$agent, false);
            }

            #[test]
            fn is_confined_in_every_part_of_a_split() {
                crate::split::split(&$agent);
            }
        })*
    };
}

each_confined! {
    claude_strict: crate::agent::CLAUDE_STRICT;
    codex_strict: crate::agent::CODEX_STRICT;
}

#[test]
fn codex_works_with_its_own_sandbox_within() {
    // N6
    scenario::success(&CODEX_NESTED);
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
    task_sources::plan(&CLAUDE, "claude");
}

#[test]
fn claude_works_through_what_init_has_written() {
    task_sources::init(&CLAUDE, "claude");
}

#[test]
fn claude_does_what_a_sentence_says() {
    task_sources::sentence(&CLAUDE, "claude");
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

#[test]
fn claude_that_refuses_to_compact_is_continued_at_once() {
    agent_failures::refused_compaction(&CLAUDE);
}

// What keeps an agent from beginning is said in its own words, with what mends it, and costs one question.

const NO_KEY: &[&str] = &["ANTHROPIC_API_KEY"];
/// With further arguments nobody but the session can tell.
const ARGUMENTS: &str = "args = [\"--strict-mcp-config\"]";

#[test]
fn claude_that_is_not_logged_in_is_known_before() {
    let (says, remedy) = ("Claude Code is not logged in", "`claude /login`");
    let unready = UnreadyCase { role: "", lacking: NO_KEY, switches: &[], says, remedy };
    agent_failures::known_before(&CLAUDE, "edit", &unready);
}

#[test]
fn claude_that_is_not_logged_in_asks_once() {
    let (says, remedy) = ("Not logged in · Please run /login", "`claude /login`");
    let unready = UnreadyCase { role: ARGUMENTS, lacking: NO_KEY, switches: &[], says, remedy };
    agent_failures::asks_once(&CLAUDE, "edit", &unready);
}

#[test]
fn claude_whose_key_is_refused_tells_each_retry_and_asks_once() {
    agent_failures::refused_key(&CLAUDE);
}

#[test]
fn claude_that_refuses_root_is_known_before() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let (says, remedy) = ("refuses `permission = \"full\"` as root", "IS_SANDBOX=1");
    let unready = UnreadyCase { role: "", lacking: &["IS_SANDBOX"], switches: &[], says, remedy };
    agent_failures::known_before(&CLAUDE, "full", &unready);
}

#[test]
fn claude_that_refuses_root_asks_once() {
    if !rustix::process::getuid().is_root() {
        return;
    }
    let role = "args = [\"--dangerously-skip-permissions\"]";
    let (says, remedy) = ("cannot be used with root/sudo privileges", "IS_SANDBOX=1");
    let unready = UnreadyCase { role, lacking: &["IS_SANDBOX"], switches: &[], says, remedy };
    agent_failures::asks_once(&CLAUDE, "edit", &unready);
}

#[test]
fn claude_acp_that_is_not_logged_in_asks_once() {
    let (says, remedy) = ("Authentication required", "Log in the agent behind it");
    let unready = UnreadyCase { role: "", lacking: NO_KEY, switches: &[], says, remedy };
    agent_failures::asks_once(&CLAUDE_ACP, "edit", &unready);
}

#[test]
fn claude_whose_model_is_unknown_asks_once() {
    agent_failures::unknown_model(&CLAUDE);
}

#[test]
fn claude_that_reaches_no_provider_asks_once() {
    let switches = &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"), ("CLAUDE_CODE_MAX_RETRIES", "1")];
    let unready = UnreadyCase { role: "", lacking: &[], switches, says: "ECONNREFUSED", remedy: "network" };
    agent_failures::asks_once(&CLAUDE, "edit", &unready);
}

#[test]
fn codex_that_lacks_its_key_is_known_before() {
    let (says, remedy) = ("needs OPENAI_API_KEY, which is not set", "set it where you start Baton");
    let unready = UnreadyCase { role: "", lacking: &["OPENAI_API_KEY"], switches: &[], says, remedy };
    agent_failures::known_before(&CODEX, "full", &unready);
}

#[test]
fn codex_that_lacks_its_key_asks_once() {
    let role = "args = [\"-c\", \"model_providers.simulated.env_key='FAKE_API_KEY'\"]";
    let (says, remedy) = ("Missing environment variable: `FAKE_API_KEY`", "env = [\"FAKE_API_KEY\"]");
    let unready = UnreadyCase { role, lacking: &[], switches: &[], says, remedy };
    agent_failures::asks_once(&CODEX, "full", &unready);
}

#[test]
fn claude_works_on_past_the_turns_of_the_table() {
    long::long_objective(&CLAUDE);
}

#[test]
fn codex_works_on_past_the_turns_of_the_table() {
    long::long_objective(&CODEX);
}

#[test]
fn claude_runs_what_its_role_allows_and_nothing_more() {
    allowed_commands::allowed_commands(&CLAUDE);
}

#[test]
fn claude_acp_runs_what_its_role_allows_and_nothing_more() {
    allowed_commands::allowed_commands(&CLAUDE_ACP);
}

#[test]
fn what_codex_refuses_by_its_own_rules_is_told_and_counted() {
    allowed_commands::refused_by_its_own_rules(&CODEX);
}

#[test]
fn claude_that_is_interrupted_goes_on_in_its_own_conversation() {
    conversation::interrupted(&CLAUDE, false);
}

#[test]
fn claude_whose_conversation_is_gone_goes_on_from_a_handoff() {
    conversation::interrupted(&CLAUDE, true);
}

#[test]
fn codex_that_is_interrupted_goes_on_in_its_own_conversation() {
    conversation::interrupted(&CODEX, false);
}

#[test]
fn claude_acp_that_is_interrupted_goes_on_in_its_own_conversation() {
    conversation::interrupted(&CLAUDE_ACP, false);
}

#[test]
fn claude_acp_whose_conversation_is_gone_goes_on_from_a_handoff() {
    conversation::interrupted(&CLAUDE_ACP, true);
}

#[test]
fn codex_acp_that_is_interrupted_goes_on_in_its_own_conversation() {
    conversation::interrupted(&CODEX_ACP, false);
}

#[test]
fn codex_acp_whose_conversation_is_gone_goes_on_from_a_handoff() {
    conversation::interrupted(&CODEX_ACP, true);
}

#[test]
fn codex_whose_conversation_is_gone_goes_on_from_a_handoff() {
    conversation::interrupted(&CODEX, true);
}
