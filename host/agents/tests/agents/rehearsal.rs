//! The rehearsal agent, over the real ACP client: a real process, real files, a small window.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use baton_agents::check_script;
use baton_core::facts::AgentEvent;
use baton_core::workflow::Permission;

use crate::kit::{AgentTestDir, AgentTestSession, ended, fills, run, signals, text};

/// A brief as a policy writes it, for one objective.
fn brief(objective: &str) -> String {
    format!("# Work\n\n## Your objective\n\n- [{objective}] Do it.\n\nReport to: .baton/r1/inbox\n")
}

/// A small script around the steps of one objective, `work`.
fn script(steps: &str) -> String {
    format!(
        "window_tokens = 4000\nbase_tokens = 500\nprompt_tokens = 100\n[objectives.work]\nsteps = [\n{steps}\n]\n"
    )
}

// A6, A7, B1, B4, D5: the script makes each of them happen, with the default policy's thresholds of 70 % and 85 %.
pub(crate) fn the_quickstart_fits_its_window_as_it_tells() {
    run(async {
        let quickstart =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/examples/quickstart.rehearsal.toml");
        let fast = fs::read_to_string(quickstart).unwrap().replace("pace_ms = 500", "pace_ms = 0");
        assert!(fast.contains("pace_ms = 0"));
        let place = AgentTestDir::new();
        let start = async || {
            let mut session = AgentTestSession::start(place.rehearsal(&fast)).await;
            session.ready().await;
            session
        };
        let percent = |used: u64| used * 100 / 8000;

        // Survey: three quarters full, compacted, then room enough.
        let mut survey = start().await;
        let events = survey.prompt(&brief("inventory")).await;
        let fill = *fills(&events).last().unwrap();
        assert!((70..85).contains(&percent(fill)), "{fill}");
        survey.handle.compact("keep the plan".to_owned()).await.unwrap();
        let events = survey.until(|event| matches!(event, AgentEvent::Compacted { .. })).await;
        let Some(AgentEvent::Compacted { before_tokens, after_tokens, .. }) = events.last() else {
            unreachable!()
        };
        assert_eq!(*before_tokens, Some(fill));
        assert!(after_tokens.unwrap() < fill / 2);
        let events = survey.prompt(&brief("conventions")).await;
        assert!(percent(*fills(&events).last().unwrap()) < 70);
        survey.end().await;

        // Build: the evaluator warns, then does not fit.
        let mut build = start().await;
        let events = build.prompt(&brief("parser")).await;
        assert!(percent(*fills(&events).last().unwrap()) < 70);
        let events = build.prompt(&brief("evaluator")).await;
        assert!(percent(*fills(&events).iter().max().unwrap()) >= 85);
        assert_eq!(ended(&events), ("invalid_request", true));
        let said = &signals(&events)[0].text;
        assert!(
            said.starts_with("Prompt is too long: 8") && said.ends_with(" tokens > 8000 maximum"),
            "{said}"
        );
        assert!(
            !place.workspace().join("src/evaluator.sh").exists(),
            "nothing of the step that did not fit is done"
        );
        assert!(!place.workspace().join(".baton/r1/inbox/evaluator-done.json").exists());
        build.end().await;

        // The continuation does the rest within one window.
        let mut continuation = start().await;
        for objective in ["evaluator", "printer", "tests"] {
            let events = continuation.prompt(&brief(objective)).await;
            assert_eq!(ended(&events), ("end_turn", false));
            assert!(percent(*fills(&events).iter().max().unwrap()) < 70, "{objective}");
        }
        continuation.end().await;
        let tested = Command::new("sh").arg("tests/run.sh").current_dir(place.workspace()).output().unwrap();
        assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));

        // Document: one rate limit, even where another process tries again.
        let mut document = start().await;
        let events = document.prompt(&brief("guide")).await;
        assert_eq!(ended(&events), ("rate_limit", true));
        let limit = signals(&events)[0];
        assert_eq!((limit.code.as_str(), limit.status), ("rate_limit", Some(429)));
        let reset = limit.resets_at.unwrap();
        assert_eq!(limit.text, format!("usage limit reached|{}", reset.0.div_ceil(1000)));
        document.end().await;
        let mut document = start().await;
        for objective in ["guide", "changelog"] {
            assert_eq!(ended(&document.prompt(&brief(objective)).await), ("end_turn", false));
        }
        document.end().await;

        for objective in
            ["inventory", "conventions", "parser", "evaluator", "printer", "tests", "guide", "changelog"]
        {
            let report = place.workspace().join(format!(".baton/r1/inbox/{objective}-done.json"));
            let report: serde_json::Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
            let expected = serde_json::json!({ "session": "s1", "report": "objective-update", "objective": objective,
                "status": "done", "note": "" });
            assert_eq!(report, expected);
        }
    });
}

pub(crate) fn permission_is_the_roles_to_give() {
    run(async {
        let steps = "{ ask = 'Run make' }, { ask = 'Read a file', kind = 'read' }, { ask = 'Edit a.txt', kind = 'edit' }, \
             { ask = 'Edit ~/a.txt', kind = 'edit' }, { ask = 'Change it', kind = 'edit' }";
        let allowed = async |permission| {
            let place = AgentTestDir::new();
            let mut launch = place.rehearsal(&script(steps));
            launch.role.permission = permission;
            let mut session = AgentTestSession::start(launch).await;
            session.ready().await;
            let events = session.prompt(&brief("work")).await;
            session.end().await;
            let asked =
                events.iter().filter(|event| matches!(event, AgentEvent::ApprovalRequested { .. })).count();
            let resolved: Vec<bool> = events
                .iter()
                .filter_map(|event| match event {
                    AgentEvent::ApprovalResolved { allowed } => Some(*allowed),
                    _ => None,
                })
                .collect();
            assert_eq!(asked, resolved.len());
            assert_eq!(
                text(&events).matches("was allowed").count(),
                resolved.iter().filter(|allowed| **allowed).count()
            );
            resolved
        };
        assert_eq!(allowed(Permission::ReadOnly).await, [false, true, false, false, false]);
        // What names no file could be any.
        assert_eq!(allowed(Permission::Edit).await, [false, true, true, false, false]);
        assert_eq!(allowed(Permission::Full).await, [true; 5]);
    });
}

pub(crate) fn a_prompt_can_be_broken_off() {
    run(async {
        let place = AgentTestDir::new();
        let slow = script("{ say = 'one' }, { say = 'two' }")
            .replace("[objectives", "pace_ms = 600000\n[objectives");
        let mut session = AgentTestSession::start(place.rehearsal(&slow)).await;
        session.ready().await;
        session.handle.prompt(brief("work")).await.unwrap();
        session.handle.interrupt().await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await;
        assert_eq!(ended(&events), ("cancelled", false));
        assert!(session.end().await.by_host);
    });
}

pub(crate) fn a_compaction_without_need_is_refused() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.rehearsal(&script(""))).await;
        session.ready().await;
        session.handle.compact(String::new()).await.unwrap();
        let events = session.until(|event| matches!(event, AgentEvent::CompactionFailed { .. })).await;
        assert_eq!(text(&events), "Not enough messages to compact.");
        session.end().await;
    });
}

pub(crate) fn what_is_there_is_not_written_again() {
    run(async {
        let place = AgentTestDir::new();
        let steps = "{ write = 'a', content = 'x' }, { append = 'b', lines = ['one', 'two'] }";
        let mut session = AgentTestSession::start(place.rehearsal(&script(steps))).await;
        session.ready().await;
        session.prompt(&brief("work")).await;
        fs::write(place.workspace().join("b"), "two\n").unwrap();
        let events = session.prompt(&brief("work")).await;
        // It is noted, and is not part of the answer.
        assert_eq!((text(&events), written(&events)), (String::new(), vec!["b"]));
        assert_eq!(fs::read_to_string(place.workspace().join("b")).unwrap(), "two\none\n");
        let events = session.prompt(&brief("work")).await;
        assert_eq!((text(&events), written(&events)), (String::new(), vec![]));
        session.end().await;
    });
}

/// The files that its calls of tools write.
fn written(events: &[AgentEvent]) -> Vec<&str> {
    let paths = events.iter().filter_map(|event| match event {
        AgentEvent::ToolCall { writes, .. } => writes.as_deref(),
        _ => None,
    });
    paths.collect()
}

// D2, D3: the steps of an example of a split, for any phase and objective that the host names.
pub(crate) fn it_splits_fails_first_reviews_and_resolves() {
    run(async {
        let place = AgentTestDir::new();
        let body = r#"
            window_tokens = 4000
            [objectives.work]
            steps = [
                { split = { groups = [{ title = "a", objectives = ["work"] }], rationale = "large" }, phase = "20" },
                { write = "a.txt", content = "broken", unless = "a.txt" },
                { edit = "a.txt", from = "broken", to = "right", when = "a.txt" },
                { result = "made a.txt" },
            ]
            [objectives."review-*"]
            steps = [{ review = { score = [40, 90], summary = "so so", findings = ["a.txt:1 is broken"] } }]
            [objectives."merge-*"]
            steps = [{ resolve = "list.txt" }, { gather = "all.md" }]
        "#;
        let mut session = AgentTestSession::start(place.rehearsal(body)).await;
        session.ready().await;
        let inbox = place.workspace().join(".baton/r1/inbox");
        let read = |path: &str| fs::read_to_string(place.workspace().join(path)).unwrap_or_default();
        let of_phase = |phase: &str, objective: &str, more: &str| {
            format!("{}{more}\n", brief(objective).replace("# Work", &format!("# Phase {phase}: some work")))
        };

        // In its phase it asks for a split, and leaves the objective open.
        let events = session.prompt(&of_phase("20", "work", "")).await;
        assert_eq!(ended(&events), ("end_turn", false));
        assert!(read(".baton/r1/inbox/work-0.json").contains("split-request"));
        assert!(!inbox.join("work-done.json").exists() && read("a.txt").is_empty());

        // In a part of it the first try is broken, and the second is not.
        let part = of_phase("20a", "work", "Result file: r/20a.md");
        session.prompt(&part).await;
        assert_eq!((read("a.txt").as_str(), read("r/20a.md").as_str()), ("broken\n", "made a.txt\n"));
        assert!(inbox.join("work-done.json").exists());
        session.prompt(&part).await;
        assert_eq!(read("a.txt"), "right\n");

        // Each review has its own score.
        for (round, score) in [(1, "40"), (2, "90")] {
            session.prompt(&of_phase("20a-review", &format!("review-20a-{round}"), "")).await;
            let report = read(&format!(".baton/r1/inbox/review-20a-{round}-0.json"));
            assert!(report.contains("review-submit") && report.contains(score), "{report}");
        }

        let conflict = "one\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> b\n";
        fs::write(place.workspace().join("list.txt"), conflict).unwrap();
        session.prompt(&of_phase("20-merge", "merge-20-20b", "- result: r/20a.md")).await;
        assert_eq!(
            (read("list.txt").as_str(), read("all.md").as_str()),
            ("one\nours\ntheirs\n", "made a.txt\n")
        );
        session.end().await;
    });
}

// C12, C23: the first session hands off when it is full, and its successor reads that and finishes.
pub(crate) fn it_hands_off_and_its_successor_finishes() {
    run(async {
        let place = AgentTestDir::new();
        let steps = r#"
            { append = 'cases.txt', lines = ['1', '2', '3'] },
            { fill_percent = 80, session = "first" },
            { status = "in-progress", note = "3 of 5 cases done", session = "first" },
            { handoff = { current_state = "3 of 5 cases done", immediate_next_action = "Prove case 4." }, session = "first" },
            { read_handoff = true },
            { append = 'cases.txt', lines = ['4', '5'] },
        "#;
        let report = |name: &str| {
            fs::read_to_string(place.workspace().join(format!(".baton/r1/inbox/{name}.json"))).ok()
        };
        let mut first = AgentTestSession::start(place.rehearsal(&script(steps))).await;
        first.ready().await;
        let events = first.prompt(&brief("work")).await;
        assert_eq!(ended(&events), ("end_turn", false));
        let percent = fills(&events).last().unwrap() * 100 / 4000;
        assert!((80..85).contains(&percent), "{percent} %");
        let (status, handoff) = (report("work-2").unwrap(), report("work-3").unwrap());
        assert!(status.contains("objective-update") && status.contains("in-progress"), "{status}");
        assert!(handoff.contains("handoff-write") && handoff.contains("Prove case 4."), "{handoff}");
        assert_eq!(report("work-done"), None);
        // Asked again, it is the same session.
        first.prompt(&brief("work")).await;
        assert_eq!(report("work-done"), None);
        first.end().await;

        fs::write(place.workspace().join("left.md"), "3 of 5 cases done\n").unwrap();
        let mut second = AgentTestSession::start(place.rehearsal(&script(steps))).await;
        second.ready().await;
        let events = second.prompt(&format!("Handoff (read first): left.md\n{}", brief("work"))).await;
        let read = |event: &AgentEvent| matches!(event, AgentEvent::ToolOutput { text, .. } if text.contains("3 of 5"));
        assert!(events.iter().any(read), "{events:#?}");
        assert_eq!(fs::read_to_string(place.workspace().join("cases.txt")).unwrap(), "1\n2\n3\n4\n5\n");
        assert!(report("work-done").unwrap().contains("\"done\""));
        second.end().await;
    });
}

// A11, A12: the script decides what the agent reports on its objective, and whether it reports at all.
pub(crate) fn it_reports_what_its_script_says_and_nothing_else() {
    run(async {
        for (steps, reports, words) in [
            (
                "steps = [{ status = 'failed', note = 'it cannot be done' }, { say = 'I give up.' }]",
                vec!["work-0"],
                "I give up.",
            ),
            ("steps = [{ stop = 'My context is full.' }]", vec![], "My context is full."),
            ("report_done = false\nsteps = [{ write = 'a', content = 'b' }]", vec![], ""),
            (
                "steps = [{ status = 'done', note = 'the tests pass' }, { read_handoff = true }]",
                vec!["work-0"],
                "No session has left a handoff for me.",
            ),
            ("steps = [{ say = 'Done.' }]", vec!["work-done"], "Done."),
        ] {
            let place = AgentTestDir::new();
            let script = format!("window_tokens = 4000\n[objectives.work]\n{steps}\n");
            let mut session = AgentTestSession::start(place.rehearsal(&script)).await;
            session.ready().await;
            let events = session.prompt(&brief("work")).await;
            assert_eq!((text(&events).as_str(), ended(&events)), (words, ("end_turn", false)));
            let inbox = fs::read_dir(place.workspace().join(".baton/r1/inbox"));
            let found: Vec<_> = inbox
                .into_iter()
                .flatten()
                .flatten()
                .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
                .collect();
            assert_eq!(found, reports, "{steps}");
            session.end().await;
        }
    });
}

pub(crate) fn a_prompt_without_a_known_objective_is_answered() {
    run(async {
        let place = AgentTestDir::new();
        let mut session = AgentTestSession::start(place.rehearsal(&script(""))).await;
        session.ready().await;
        for prompt in ["hello", &brief("another")] {
            let events = session.prompt(prompt).await;
            assert_eq!(
                (text(&events).as_str(), ended(&events)),
                ("There is nothing in my script for this prompt.", ("end_turn", false))
            );
        }
        assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 0);
        session.end().await;
    });
}

pub(crate) fn it_misbehaves_as_its_script_says() {
    run(async {
        // Garbage in the middle, everything deleted, processes left behind, and a sudden end.
        let place = AgentTestDir::new();
        fs::write(place.workspace().join("precious"), "x").unwrap();
        let steps =
            "{ spawn_grandchild = true }, { garbage = 9000000 }, { delete_workspace = true }, { exit = 7 }";
        let mut session = AgentTestSession::start(place.rehearsal(&script(steps))).await;
        session.ready().await;
        session.handle.prompt(brief("work")).await.unwrap();
        let (events, exit) = session.rest().await;
        assert_eq!(signals(&events)[0].code, "line-too-long");
        assert_eq!(exit.code, Some(7));
        assert_eq!(fs::read_dir(place.workspace()).unwrap().count(), 0);
        place.is_quiet();

        // Deaf and dumb.
        let place = AgentTestDir::new();
        let mut session =
            AgentTestSession::start(place.rehearsal(&script("{ ignore_sigterm = true }, { hang = true }")))
                .await;
        session.ready().await;
        session.handle.prompt(brief("work")).await.unwrap();
        session.handle.end(Duration::ZERO).await;
        place.is_quiet();
        session.rest().await;
    });
}

pub(crate) fn a_script_with_a_mistake_is_named() {
    run(async {
        let place = AgentTestDir::new();
        let launch = place.rehearsal(&script("{ sing = 'a song' }"));
        let error = check_script(Path::new(launch.role.script.as_deref().unwrap())).unwrap_err().to_string();
        assert!(error.contains("rehearsal.toml") && error.contains("unknown field `sing`"), "{error}");
        let (events, exit) = AgentTestSession::start(launch).await.rest().await;
        assert!(signals(&events).iter().any(|signal| signal.text.contains("sing")), "{events:?}");
        assert_eq!(exit.code, Some(1));
    });
}
