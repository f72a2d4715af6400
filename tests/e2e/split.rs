//! Splits with real agent processes in real repositories: what six or fourteen agents made at once is what one makes alone,
//! whatever goes wrong on the way, and `baton undo` takes it back.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{JournalSummary, TestWorkspace};
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{PhaseOrigin, PhaseStatus, RunStatus};
use baton_runtime::store::{Journal, JournalEntry};

/// One phase "20" with so many objectives, each a file of its own. The second and the fourth also add a line to one list,
/// which cannot be merged by itself; the third is wrong at first.
fn wide(count: usize, limits: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let mut workflow = format!(
        "name = \"wide\"\ngoal = \"Many files.\"\n[roles.executor]\nscript = \"wide.rehearsal.toml\"\n\
         [limits]\nbackoff = \"0s\"\n{limits}\n[policies]\nsettings = {{ max-objectives = 4 }}\n\
         [[phases]]\nid = \"20\"\ntitle = \"Many files\"\nsplit = \"ahead\"\nverify = \"test $(ls part | wc -l) -eq {count}\"\n"
    );
    let mut script = "window_tokens = 100000\n".to_owned();
    for n in 0..count {
        let id = format!("p{n}");
        workflow += &format!(
            "[[phases.objectives]]\nid = \"{id}\"\ndescription = \"Write part/{id}.txt.\"\nfiles = [\"part/{id}.txt\"]\n\
             verify = \"grep -qx right part/{id}.txt\"\n"
        );
        let write = |content: &str, when: &str| {
            format!("{{ write = \"part/{id}.txt\", content = \"{content}\"{when} }},")
        };
        let steps = match n {
            1 | 3 => write("right", "") + &format!("{{ append = \"LIST.md\", lines = [\"- {id}\"] }},"),
            2 => {
                let (unless, when) = (", unless = \"part/p2.txt\"", ", when = \"part/p2.txt\"");
                write("wrong", unless) + &write("right", when)
            }
            _ => write("right", ""),
        };
        script += &format!(
            "[objectives.{id}]\nsteps = [{steps} {{ say = \"The file of {id} is written, as it was asked for.\" }}]\n"
        );
    }
    script += "[objectives.\"merge-*\"]\nsteps = [{ resolve = \"LIST.md\" }, { say = \"Both lines stay in the list.\" }]\n";
    stage.write("wide.toml", workflow);
    stage.write("wide.rehearsal.toml", script);
    std::fs::write(stage.workspace.join("LIST.md"), "# List\n").unwrap();
    stage.make_repository();
    stage
}

/// What one agent after the other leaves.
fn one_by_one(count: usize) -> Vec<(String, String)> {
    let stage = wide(count, "split_depth = 0");
    stage.baton(&["run", "wide.toml"]).expect(0);
    assert_eq!(stage.story().view.phases.len(), 1);
    stage.files()
}

#[track_caller]
fn expect_whole(
    stage: &TestWorkspace,
    count: usize,
    expected: &[(String, String)],
    at: &str,
) -> JournalSummary {
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done), "{at}");
    let parts: Vec<_> = story.view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Split).collect();
    assert_eq!(parts.len(), count, "{at}");
    assert!(
        parts.iter().all(|phase| phase.status == PhaseStatus::Done && phase.verified == Some(true)),
        "{at}"
    );
    assert_eq!(stage.files(), expected, "{at}: the tree is another one");
    // It began clean, so it ends clean: every part is a merge on the branch, in the order of the letters.
    assert_eq!(stage.git(&["status", "--porcelain", "--", ":(exclude).baton"]), "", "{at}");
    let merges = stage.git(&["log", "--merges", "--first-parent", "--reverse", "--format=%s"]);
    let letters: Vec<&str> = merges.lines().filter_map(|line| line.split(':').next()).collect();
    let ids: Vec<&str> = parts.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(letters, ids, "{at}");
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1, "{at}");
    assert_eq!(stage.git(&["branch", "--list", "baton/*"]), "", "{at}");
    stage.expect_no_process();
    story
}

#[test]
fn six_at_once_make_what_one_makes() {
    // D2, D3, D4, D7
    let stage = wide(6, "");
    let ended = stage.baton(&["run", "wide.toml"]).expect(0);
    let story = expect_whole(&stage, 6, &one_by_one(6), "undisturbed");
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Conflict { .. })), 1);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Verified { passed: false, .. })), 1);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Landed { committed: true, .. })), 1);
    let line = "Phase 20 too large (6 objectives). Splitting into 6 sub-phases, launching in parallel";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
}

#[test]
fn fourteen_at_once_make_what_one_makes_though_their_host_dies() {
    // D8, D9
    let stage = wide(14, "agents = 14");
    let killed = stage.baton_with(&["run", "wide.toml"], "BATON_KILL_AT", "effect-after:60");
    assert_eq!(killed.code, None, "{}", killed.stderr);
    stage.baton(&["resume"]).expect(0);
    let story = expect_whole(&stage, 14, &one_by_one(14), "killed once");
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Conflict { .. })), 1);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Resumed { .. })), 1);
}

#[test]
fn what_was_merged_is_taken_back() {
    let stage = wide(6, "");
    let (head, before) = (stage.git(&["rev-parse", "HEAD"]), stage.files());
    stage.baton(&["run", "wide.toml"]).expect(0);
    assert_ne!(stage.git(&["rev-parse", "HEAD"]), head);
    stage.baton(&["undo"]).expect(0);
    assert_eq!((stage.git(&["rev-parse", "HEAD"]), stage.files()), (head, before));
}

/// Ordinals of the effects on trees in an undisturbed run; of those that make trees for parts, the first and the last.
fn effects_on_trees(stage: &TestWorkspace) -> Vec<(u64, &'static str)> {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().expect("a run").run;
    let intents = journal.read(&run).unwrap().filter_map(|entry| match entry.unwrap() {
        JournalEntry::Intent { intent, .. } if intent.action.is_durable() => Some(intent.action.name()),
        _ => None,
    });
    let numbered: Vec<_> = (1..).zip(intents).collect();
    let named = |name: &str| numbered.iter().copied().filter(|(_, n)| *n == name).collect::<Vec<_>>();
    let branches = named("branch");
    let branches = [branches[0], branches[branches.len() - 1]];
    [named("checkpoint"), branches.to_vec(), named("merge"), named("land")].concat()
}

/// Kills the host at one point and resumes.
fn kill_and_resume(point: &str, ordinal: u64, name: &str, expected: &[(String, String)]) {
    let at = format!("{point}:{ordinal}");
    let stage = wide(6, "");
    let killed = stage.baton_with(&["run", "wide.toml"], "BATON_KILL_AT", &at);
    // Agents that work at once do not do so in one order: the last effects may come to fewer.
    if killed.code.is_none() {
        stage.baton(&["resume"]).expect(0);
    }
    let story = expect_whole(&stage, 6, expected, &format!("killed at {at}, {name}"));
    for prompt in &story.prompts {
        let is_mended = prompt.focus[0].as_str() == "p2";
        assert!(prompt.already_done.is_empty() || is_mended, "{at}: {prompt:?} asks for what is done");
    }
}

#[test]
fn a_host_that_dies_on_the_way_loses_nothing_and_does_nothing_twice() {
    // D8
    let undisturbed = wide(6, "");
    undisturbed.baton(&["run", "wide.toml"]).expect(0);
    let expected = undisturbed.files();
    let effects = effects_on_trees(&undisturbed);
    assert!(effects.len() >= 10, "{effects:?}");
    // Before or after each effect; at both where every kill is tried.
    let every = std::env::var_os("BATON_TEST_EVERY_KILL").is_some();
    let points = effects.into_iter().enumerate().flat_map(|(number, (ordinal, name))| {
        let sides = ["effect-before", "effect-after"].into_iter().enumerate();
        let tried = sides.filter(move |(side, _)| every || number % 2 == *side);
        tried.map(move |(_, point)| (point, ordinal, name))
    });
    let points: Vec<_> = points.collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((point, ordinal, name)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    kill_and_resume(point, *ordinal, name, &expected);
                }
            });
        }
    });
}

#[test]
fn the_example_shows_what_may_go_wrong_and_ends_well() {
    // D3, D4, D5
    let stage = TestWorkspace::example("split");
    stage.make_repository();
    let ended = stage.baton(&["run", "split.toml"]).expect(0);
    let story = stage.story();
    let view = &story.view;
    assert_eq!(view.status, RunStatus::Ended(RunOutcome::Done), "{}", ended.stderr);
    let of = |origin| view.phases.iter().filter(move |phase| phase.origin == origin);
    let ids: Vec<_> = of(PhaseOrigin::Split).map(|phase| (phase.id.as_str(), phase.score)).collect();
    let good = |id| (id, Some(92));
    assert_eq!(ids, [good("20a"), good("20b"), good("20c"), good("20d"), good("20e"), good("20f")]);
    assert_eq!(of(PhaseOrigin::Review).count(), 8, "one of the six was reviewed twice, and the whole once");
    assert_eq!(of(PhaseOrigin::Merge).count(), 1);
    assert_eq!(
        story.count(|notice| matches!(notice, ProgressEvent::Reviewed { score: 55, passed: false, .. })),
        1
    );
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Verified { passed: false, .. })), 1);
    let exhausted = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Stopped { verdict, .. } if verdict == "exhausted");
    assert_eq!(story.count(exhausted), 1);
    assert_eq!(stage.read("CHANGELOG.md").lines().count(), 2);
    assert!(stage.read("src/count.sh").starts_with("# Prints how many"));
}

#[test]
fn without_git_the_parts_share_the_folder_and_one_brings_them_together() {
    // C11
    let stage = TestWorkspace::example("split");
    let ended = stage.baton(&["run", "split.toml"]).expect(0);
    let story = stage.story();
    let view = &story.view;
    assert_eq!(view.status, RunStatus::Ended(RunOutcome::Done), "{}", ended.stderr);
    assert!(view.phases.iter().all(|phase| phase.tree.is_workspace()));
    let merging: Vec<&str> = view
        .phases
        .iter()
        .filter(|phase| phase.origin == PhaseOrigin::Merge)
        .map(|phase| phase.id.as_str())
        .collect();
    assert_eq!(merging, ["20-merge-results"]);
    assert_eq!(
        story.count(|notice| matches!(notice, ProgressEvent::Merged { .. } | ProgressEvent::Landed { .. })),
        0
    );
    assert_eq!(stage.read("CHANGELOG.md").lines().count(), 2);
    stage.expect_no_process();
}
