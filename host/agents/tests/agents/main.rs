//! Drivers, guard, relay and rehearsal with real processes. The executable has a harness of its own, since it also plays
//! the guard, the relay, the rehearsal agent, and a host that is killed.

mod acp;
mod codex;
mod discovery;
mod driver;
mod kit;
mod process;
mod rehearsal;
mod supervisor;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Trials from functions, under the names that the functions have.
macro_rules! trials {
    ($($module:ident: $($test:ident),* $(,)?;)*) => {
        vec![$($(Trial::test(concat!(stringify!($module), "::", stringify!($test)), || {
            $module::$test();
            Ok(())
        })),*),*]
    };
}

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("__guard") => baton_agents::supervisor_main(args),
        Some("__rehearsal") => baton_agents::rehearsal_main(args),
        Some("__relay") => baton_agents::runner_main(args),
        Some("__host") => supervisor::host(args),
        _ => libtest_mimic::run(&Arguments::from_args(), tests()).exit_code(),
    }
}

fn tests() -> Vec<Trial> {
    trials! {
        supervisor:
            an_agent_that_exits_at_once_is_told_with_its_code,
            an_agent_that_a_signal_ends_is_told_apart_from_an_exit_code,
            an_agent_that_cannot_be_started_says_why,
            an_agent_that_ignores_sigterm_is_ended,
            an_agent_that_never_answers_is_ended,
            grandchildren_that_an_agent_leaves_are_ended,
            grandchildren_that_hold_the_stream_do_not_hold_the_host,
            an_agent_is_gone_when_its_host_is_killed,
            an_agent_is_gone_when_its_handle_is_dropped,
            an_agent_is_gone_when_its_guard_is_killed,
            an_orphan_is_found_and_ended,
            a_ctrl_c_in_the_terminal_does_not_reach_an_agent,
            an_agent_inherits_the_allow_list_and_no_file;
        acp:
            an_adapter_that_stays_after_its_stdin_is_ended,
            a_request_is_answered_from_the_roles_permission,
            a_refusal_has_its_reason,
            the_host_reads_writes_and_runs_nothing_for_an_agent,
            the_mode_that_fits_the_role_is_set_before_the_first_prompt,
            an_agent_that_would_not_even_ask_is_not_worked_with,
            a_key_from_the_environment_logs_in,
            a_compaction_is_asked_for_where_the_agent_lists_the_command,
            a_prompt_to_an_adapter_is_cancelled,
            an_adapter_that_is_none_ends_with_a_reason;
        codex:
            a_thread_is_started_prompted_compacted_and_broken_off,
            an_approval_is_answered_from_the_role,
            a_thread_that_is_refused_ends_the_session_with_the_reason,
            garbage_from_codex_is_survived;
        process:
            a_prompt_comes_on_stdin_which_ends_with_it,
            a_prompt_comes_as_the_last_argument,
            a_program_that_wants_a_terminal_gets_one_and_is_read_without_its_codes,
            a_program_that_exits_at_once_ends_its_prompt_and_not_the_session,
            a_program_that_is_gone_when_it_is_needed_is_told,
            a_program_is_broken_off_with_all_that_it_started,
            a_program_at_work_is_gone_when_its_session_is_ended,
            what_holds_the_output_does_not_hold_the_prompt,
            a_program_may_tell_how_full_it_is,
            garbage_from_a_program_is_its_answer;
        discovery:
            a_program_that_a_folder_brought_is_not_asked_for_its_version,
            agents_are_found_with_their_versions_or_with_how_to_get_them;
        driver:
            a_missing_program_is_named_with_what_to_do,
            garbage_is_terminal_text,
            a_hundred_megabytes_on_one_line_are_one_signal,
            a_slow_host_loses_nothing,
            an_agent_that_takes_nothing_makes_nobody_wait,
            claude_is_asked_for_its_window_and_told_its_prompts,
            claude_that_is_missing_words_of_the_protocol_still_ends;
        rehearsal:
            it_splits_fails_first_reviews_and_resolves,
            it_hands_off_and_its_successor_finishes,
            it_reports_what_its_script_says_and_nothing_else,
            the_quickstart_fits_its_window_as_it_tells,
            permission_is_the_roles_to_give,
            a_prompt_can_be_broken_off,
            a_compaction_without_need_is_refused,
            what_is_there_is_not_written_again,
            a_prompt_without_a_known_objective_is_answered,
            it_misbehaves_as_its_script_says,
            a_script_with_a_mistake_is_named;
    }
}
