//! The content of a report, and the omitted parts.

use super::*;
use crate::render::test_samples;
use baton_runtime::core::UnixMs;
use baton_runtime::core::WorktreeName;
use baton_runtime::core::facts::{Refusal, RefusalKind};
use baton_runtime::core::view::ModifiedCheck;

#[test]
fn a_finished_run_tells_where_everything_lies() {
    // A7
    insta::assert_snapshot!(
        "report_finished",
        report(
            &TerminalStyle::bare(100),
            &test_samples::finished(),
            &test_samples::location(),
            &ReportContext::default()
        )
    );
}

// D4
#[test]
fn a_split_run_tells_its_parts_in_the_same_table() {
    let view = test_samples::split_and_done();
    assert_eq!(view.objectives(), (5, 5), "each once");
    insta::assert_snapshot!(
        "report_split",
        report(&TerminalStyle::bare(120), &view, &test_samples::location(), &ReportContext::default())
    );
    assert_eq!(test_samples::split().objectives(), (3, 5), "what parts have done counts while they work");
}

#[test]
fn a_paused_run_tells_what_to_answer() {
    insta::assert_snapshot!(
        "status_paused",
        status(&TerminalStyle::bare(100), &test_samples::paused(), &test_samples::location(), false)
    );
    insta::assert_snapshot!(
        "report_paused",
        report(
            &TerminalStyle::bare(100),
            &test_samples::paused(),
            &test_samples::location(),
            &ReportContext::default()
        )
    );
}

// B9
#[test]
fn a_wait_for_a_limit_tells_its_day_and_believes_no_date_that_is_too_far_away() {
    let look = TerminalStyle::bare(80);
    let said = |days: u64| {
        let mut view = test_samples::running();
        let phase = view.phases.iter_mut().find(|phase| phase.quota.is_some()).unwrap();
        let quota = phase.quota.as_mut().unwrap();
        quota.until = Some(UnixMs(quota.since.0 + days * 24 * 3_600_000));
        status(&look, &view, &test_samples::location(), false)
    };
    let soon = said(3);
    assert!(soon.contains("20a waits for a rate limit until 2026-02-15 10:30 (in 3 days)\n"), "{soon}");
    let far = said(30);
    assert!(far.contains("no plausible reset is known") && !far.contains("until 2026"), "{far}");
}

#[test]
fn what_a_run_leaves_behind_and_what_its_roles_refused_is_told() {
    let mut view = test_samples::split();
    view.status = RunStatus::Ended(RunOutcome::Unfinished);
    let part = view.phases.iter_mut().find(|phase| !phase.sessions.is_empty()).unwrap();
    part.tree = WorktreeName::for_phase(&part.id);
    part.status = PhaseStatus::Skipped;
    part.sessions[0].refused_calls = 3;
    let call = |target: &str| Refusal { kind: RefusalKind::Call, target: target.into() };
    part.sessions[0].refused = vec![call("Bash ls *.c"), call("Bash make lint")];
    let text = report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default());
    for line in [
        "Refused    3 calls by a role: Bash ls *.c, Bash make lint\n           a new run allows it with --allow 'make lint'",
        "work tree kept, with their own branches",
    ] {
        assert!(text.contains(line) || text.contains(&line.replace("tree kept", "trees kept")), "{text}");
    }
}

// D3
#[test]
fn a_check_that_runs_what_the_work_changed_is_named_beside_what_it_shows() {
    let mut view = test_samples::finished();
    let check = ModifiedCheck { command: "make test".to_owned(), files: vec!["Makefile".to_owned()] };
    view.phases[1].modified_checks.push(check);
    let text = report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default());
    let named = "  verification passed\n  this work changed Makefile, which its check `make test` runs\n";
    assert!(text.contains(named), "{text}");
}

#[test]
fn a_commit_that_failed_is_told_with_its_reason_and_what_to_type() {
    let mut view = test_samples::finished();
    view.phases[0].commit_failed = Some("Unable to create '/w/.git/HEAD.lock':\nFile exists.".into());
    let text = report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default());
    let id = &view.phases[0].id;
    for line in [
        "  commit    failed: Unable to create '/w/.git/HEAD.lock': File exists.\n".to_owned(),
        format!("Commits    failed for {id}: the work is in the workspace"),
        "commit it yourself: git add -A && git commit\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line:?} is not in:\n{text}");
    }
    view.status = RunStatus::Paused;
    let paused =
        report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default());
    assert!(!paused.contains("Commits    failed"), "a later commit may hold it:\n{paused}");
}

#[test]
fn what_an_agent_refuses_itself_by_its_own_rules_is_counted_and_named_and_no_flag_allows_it() {
    let mut view = test_samples::finished();
    let session = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions).next().unwrap();
    let target = "rm -rf out (rm -f style commands are not permitted)".to_owned();
    session.refused = vec![Refusal { kind: RefusalKind::Own, target }];
    session.refused_calls = 2;
    let text = report(&TerminalStyle::bare(120), &view, &test_samples::location(), &ReportContext::default());
    for line in [
        "      not allowed by its agent's rules: to run rm -rf out (rm -f style commands are not permitted)\n",
        "Refused    2 calls by the agent's rules: rm -rf out (rm -f style commands are not permitted)\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!text.contains("--allow") && !text.contains("--permission"), "{text}");
}

#[test]
fn a_refused_command_is_allowed_where_the_run_goes_on() {
    let call = |target: &str| Refusal { kind: RefusalKind::Call, target: target.into() };
    let said = |view: &RunView, target: &str| {
        let mut view = view.clone();
        let session = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions).next().unwrap();
        (session.refused_calls, session.refused) = (1, vec![call(target)]);
        report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default())
    };
    let paused = said(&test_samples::paused(), "Bash echo 'a b' >> log; ls");
    let typed = r"baton answer r-7f retry --allow 'echo '\''a b'\'' >> log; ls' --question 41 --resume --state-dir /srv/state";
    assert!(paused.contains(&format!("to allow: {typed}\n")), "{paused}");
    let stopped = RunView { status: RunStatus::Ended(RunOutcome::Interrupted), ..test_samples::running() };
    let stopped = said(&stopped, "Bash make lint");
    assert!(stopped.contains("baton resume r-7f --allow 'make lint' --state-dir /srv/state\n"), "{stopped}");
    let none = said(&test_samples::paused(), "Bash rm *.o");
    assert!(none.contains("--permission full lets its agents run every command"), "{none}");
    let other = said(&test_samples::paused(), "WebFetch https://example.org");
    assert!(!other.contains("allow:") && !other.contains("--permission"), "{other}");
}

#[test]
fn an_interrupted_run_tells_how_to_go_on() {
    let view = RunView { status: RunStatus::Ended(RunOutcome::Interrupted), ..test_samples::running() };
    let text = report(&TerminalStyle::bare(100), &view, &test_samples::location(), &ReportContext::default());
    assert!(text.contains("Next       baton resume r-7f --state-dir /srv/state\n"), "{text}");
}

#[test]
fn a_narrow_terminal_breaks_the_report_at_blanks() {
    let mut view = test_samples::finished();
    view.goal =
        "A calculator in POSIX shell that reads a line, and says what it comes to, or why it cannot.".into();
    let session = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions).next().unwrap();
    session.ending = "lost with the host".into();
    let look = TerminalStyle { wrap: true, ..TerminalStyle::bare(60) };
    let text = report(&look, &view, &test_samples::location(), &ReportContext::default());
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 60).collect();
    let is_typed = |line: &&str| ["baton ", "handoff ", "/"].iter().any(|part| line.contains(part));
    assert!(long.iter().all(is_typed), "{long:#?}");
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains("cut off when Baton was killed"), "{text}");
}

#[test]
fn a_ceiling_of_cost_is_said_to_miss_what_has_no_price() {
    let mut view = test_samples::finished();
    view.billed.cost_microusd = Some(280_000);
    let session = view.phases.iter_mut().flat_map(|phase| &mut phase.sessions).next().unwrap();
    session.unpriced_tokens = session.billed.tokens();
    let said = |has_cost_ceiling| {
        let aside = ReportContext { has_cost_ceiling, ..ReportContext::default() };
        report(&TerminalStyle::bare(100), &view, &test_samples::location(), &aside)
    };
    assert!(said(true).contains("tokens, at least $0.28 ("), "{}", said(true));
    assert!(said(true).contains("`cost_usd` counts tokens without a price by"), "{}", said(true));
    assert!(!said(false).contains("cost_usd"), "{}", said(false));
}

#[test]
fn a_run_whose_agents_are_being_ended_is_stopping() {
    let view = RunView { status: RunStatus::Ended(RunOutcome::Interrupted), ..test_samples::running() };
    let said =
        |live| status(&TerminalStyle::bare(100), &view, &test_samples::location(), is_stopping(&view, live));
    let stopping = said(Some(true));
    assert!(stopping.contains("Baton is stopping: it gives the agents up to 5s to finish"), "{stopping}");
    assert!(!stopping.contains("not running"), "{stopping}");
    assert!(said(Some(false)).contains("not running") && said(None).contains("not running"));
    assert!(
        !is_stopping(&test_samples::running(), Some(true))
            && !is_stopping(&test_samples::finished(), Some(true))
    );
}

#[test]
fn a_run_whose_host_was_killed_is_not_running() {
    let view = test_samples::running();
    let said =
        |live| status(&TerminalStyle::bare(100), &found(&view, live), &test_samples::location(), false);
    let gone = said(Some(false));
    assert!(
        gone.contains("Baton is not running: `baton resume r-7f --state-dir /srv/state` continues\n"),
        "{gone}"
    );
    assert!(
        !gone.contains(" running ") && !gone.contains("working") && gone.contains("interrupted"),
        "{gone}"
    );
    for live in [Some(true), None] {
        assert!(
            said(live).contains("r-7f  running") && !said(live).contains("not running"),
            "{}",
            said(live)
        );
    }
}
