//! From a sentence, a plan or a folder to finished work: `do`, a plan in Markdown, `init`, `save`. The agent is the rehearsal.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::support::{CommandOutput, TestWorkspace, until};

/// Three phases, eight boxes that are open, and one that is ticked.
const PLAN: &str = "# A calculator\n\n## Survey\n\n- [ ] Write `a.txt`\n- [ ] Write `b.txt`, see `docs/design.md`\n\n\
                    ## Build\n\nEvery name begins with calc.\n\n- [x] Write `old.txt`\n- [ ] Write `c.txt`\n- [ ] Write `d.txt`\n\
                    - [ ] Write `e.txt`\n\nverify: `test -s c.txt`\n\n## Tell\n\n1. [ ] Write `f.txt`\n2. [ ] Write `g.txt`\n\
                    3. [ ] Write `h.txt`\n";

/// A stage whose rehearsal writes a file for each objective of the plan.
pub(crate) fn stage() -> TestWorkspace {
    let stage = TestWorkspace::new();
    let mut script = "window_tokens = 100000\n".to_owned();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let id = match name {
            "b" => "write-b-txt-see-docs".to_owned(),
            name => format!("write-{name}-txt"),
        };
        script += &format!(
            "[objectives.{id}]\nsteps = [{{ write = \"{name}.txt\", content = \"done\" }}, \
             {{ say = \"{name}.txt is written, as it was asked for.\" }}]\n"
        );
    }
    stage.write("script.toml", script);
    fs::write(stage.workspace.join("PLAN.md"), PLAN).unwrap();
    stage
}

/// `baton` in the workspace, as a person would call it.
pub(crate) fn baton(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    command(stage, arguments).output().unwrap().into()
}

fn command(stage: &TestWorkspace, arguments: &[&str]) -> std::process::Command {
    let mut command = stage.command(&[]);
    command.args(arguments).current_dir(&stage.workspace);
    if !matches!(arguments[0], "init") {
        command.arg("--state-dir").arg(stage.state_root());
    }
    command
}

/// A stage whose host was killed in the middle of the plan, and what had begun that run.
fn interrupted() -> (TestWorkspace, Vec<&'static str>) {
    let stage = stage();
    let run = [&["run", "PLAN.md"][..], &PLAYED].concat();
    let killed: CommandOutput =
        command(&stage, &run).env("BATON_KILL_AT", "effect-before:20").output().unwrap().into();
    assert_eq!(killed.code, None, "{killed:?}");
    stage.expect_no_process();
    (stage, run)
}

pub(crate) const PLAYED: [&str; 4] = ["--agent", "rehearsal", "--script", "../script.toml"];

#[test]
fn a_plan_runs_to_its_end_and_its_boxes_are_ticked() {
    let stage = stage();
    let run = [&["run", "PLAN.md"][..], &PLAYED].concat();
    let ended = baton(&stage, &run).expect(0);
    assert!(ended.stdout.contains("PLAN.md: 9 of 9 boxes ticked"), "{}", ended.stdout);
    assert_eq!(stage.read("PLAN.md"), PLAN.replace("[ ]", "[x]"));
    let story = stage.story();
    assert_eq!((story.view.phases.len(), story.view.objectives()), (3, (8, 8)));
    assert_eq!(story.view.goal, "A calculator");
    assert_eq!(story.view.phases[1].verified, Some(true));
    let again = baton(&stage, &run).expect(0);
    again.says(&["every box of PLAN.md is ticked"]);
}

#[test]
fn what_a_person_writes_into_the_plan_meanwhile_stays() {
    let stage = stage();
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    // The agent is at work while the person writes.
    stage.write("script.toml", format!("pace_ms = 150\n{script}"));
    let host = command(&stage, &[&["run", "PLAN.md", "--plain"][..], &PLAYED].concat()).spawn().unwrap();
    until("the first box is ticked", || stage.read("PLAN.md").contains("- [x] Write `a.txt`"));
    let edited = stage.read("PLAN.md").replace("## Survey", "## First look\n\nI was here.");
    fs::write(stage.workspace.join("PLAN.md"), edited + "\n## More\n\n- [ ] Write `i.txt`\n").unwrap();
    assert!(host.wait_with_output().unwrap().status.success());
    let expected = PLAN.replace("[ ]", "[x]").replace("## Survey", "## First look\n\nI was here.");
    assert_eq!(stage.read("PLAN.md"), expected + "\n## More\n\n- [ ] Write `i.txt`\n");
    let report = stage.baton(&["report"]).expect(0).stdout;
    assert!(report.contains("9 of 10 boxes ticked, 1 new") && report.contains("baton run "), "{report}");
}

// N1
#[test]
fn a_plan_may_have_any_name_and_is_no_sentence() {
    let stage = stage();
    fs::rename(stage.workspace.join("PLAN.md"), stage.workspace.join("TODO.txt")).unwrap();
    let shown = baton(&stage, &[&["run", "TODO.txt", "--dry-run"][..], &PLAYED].concat()).expect(0);
    assert!(shown.stdout.contains("write-a-txt"), "{}", shown.stdout);
    let sentence = baton(&stage, &[&["do", "TODO.txt"][..], &PLAYED].concat()).expect(2);
    sentence.says(&["TODO.txt is a file", "baton run TODO.txt"]);
}

// A11
#[test]
fn a_box_whose_check_has_not_passed_is_not_ticked_whatever_becomes_of_its_phase() {
    let stage = TestWorkspace::new();
    let plan = "## Two\n\n- [ ] Write `c.txt`\n  verify: `grep -q never c.txt`\n- [ ] Write `d.txt`\n";
    fs::write(stage.workspace.join("PLAN.md"), plan).unwrap();
    let agent =
        "cat >/dev/null\necho words >c.txt\necho 'I wrote all of it.'\necho\necho 'Done: write-c-txt'\n";
    fs::write(stage.workspace.join("agent.sh"), agent).unwrap();
    let run = ["run", "PLAN.md", "--agent", "process:sh agent.sh"];
    baton(&stage, &run).expect(5);
    let left = baton(&stage, &["answer", "skip", "--resume"]).expect(1);
    assert!(
        left.stdout.contains("0 of 2 boxes ticked") && !left.stdout.contains("done · "),
        "{}",
        left.stdout
    );
    assert_eq!(stage.read("PLAN.md"), plan);
    let again = baton(&stage, &[&run[..], &["--dry-run"]].concat()).expect(0);
    assert!(again.stdout.contains("write-c-txt"), "{}", again.stdout);
}

// D8
#[test]
fn an_unfinished_run_of_a_plan_goes_on_and_tells_what_has_changed_in_it() {
    let (stage, run) = interrupted();
    let now = stage.read("PLAN.md");
    assert!(now.contains("[x] Write `a.txt`") && now.contains("[ ] Write `h.txt`"), "{now}");
    fs::write(stage.workspace.join("PLAN.md"), now.replace("Write `h.txt`", "Write `z.txt`")).unwrap();
    let ended = baton(&stage, &run).expect(0);
    let ended =
        ended.says(&["New in the plan: \"Write `z.txt`\"", "No longer open in the plan: \"Write `h.txt`\""]);
    assert!(ended.stderr.contains("no longer has the box \"Write `h.txt`\""), "{}", ended.stderr);
    assert!(ended.stdout.contains("8 of 9 boxes ticked, 1 new"), "{}", ended.stdout);
    assert_eq!(stage.story().view.objectives(), (8, 8));
}

// D8
#[test]
fn a_box_that_a_person_opens_stays_open_when_the_run_is_taken_up() {
    let (stage, _) = interrupted();
    let opened = stage.read("PLAN.md").replace("[x] Write `a.txt`", "[ ] Write `a.txt`");
    assert!(opened.contains("[x] Write `b.txt`"), "{opened}");
    fs::write(stage.workspace.join("PLAN.md"), opened).unwrap();
    let ended = baton(&stage, &["resume"]).expect(0);
    assert!(ended.stdout.contains("8 of 9 boxes ticked"), "{}", ended.stdout);
    let expected = PLAN.replace("[ ]", "[x]").replace("[x] Write `a.txt`", "[ ] Write `a.txt`");
    assert_eq!(stage.read("PLAN.md"), expected);
}

#[test]
fn a_plan_behind_a_link_is_ticked_and_one_that_is_put_there_later_is_not() {
    let stage = stage();
    fs::rename(stage.workspace.join("PLAN.md"), stage.path("real.md")).unwrap();
    symlink("../real.md", stage.workspace.join("PLAN.md")).unwrap();
    baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    assert_eq!(fs::read_to_string(stage.path("real.md")).unwrap(), PLAN.replace("[ ]", "[x]"));
    assert!(stage.workspace.join("PLAN.md").is_symlink());
}

#[test]
fn that_the_host_ticks_a_box_is_no_evidence_of_work() {
    let stage = TestWorkspace::new();
    fs::write(stage.workspace.join("PLAN.md"), "- [ ] Write `a.txt`\n- [ ] Think hard\n").unwrap();
    stage.write(
        "script.toml",
        "window_tokens = 100000\n[objectives.write-a-txt]\nsteps = [{ write = \"a.txt\", content = \"x\" }, { say = \"a.txt is written.\" }]\n\
         [objectives.think-hard]\nreport_done = false\nsteps = [{ say = \"Hm.\" }]\n",
    );
    let ended = baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat());
    assert_ne!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stage.read("PLAN.md"), "- [x] Write `a.txt`\n- [ ] Think hard\n");
}

#[test]
fn a_later_phase_of_a_plan_waits_for_the_earlier_ones_unless_the_plan_says_otherwise() {
    let plan = "## Copy\n\n- [ ] Think hard\n\n## Remove\n\n- [ ] Write `c.txt`\n\n## Tell\n\ndepends: none\n\n- [ ] Write `d.txt`\n";
    let stage = stage();
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    let open =
        "[objectives.think-hard]\nreport_done = false\nsteps = [{ say = \"Not done: it is too hard.\" }]\n";
    stage.write("script.toml", script + open);
    fs::write(stage.workspace.join("PLAN.md"), plan).unwrap();
    let ended = baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(5);
    assert_eq!(stage.read("PLAN.md"), plan.replace("[ ] Write `d", "[x] Write `d"), "{}", ended.stderr);
    assert!(!stage.workspace.join("c.txt").exists());

    fs::write(stage.workspace.join("NEXT.md"), plan.replace("none", "Copy, Nowhere")).unwrap();
    baton(&stage, &["run", "NEXT.md"]).expect(2).says(&["\"Nowhere\"", "depends:", "none"]);
    let init = baton(&stage, &["init", "--plan", "PLAN.md", "--agent", "rehearsal"]).expect(0).stdout;
    assert!(init.contains("id = \"copy\"") && init.contains("depends_on = [\"copy\"]"), "{init}");
    assert_eq!(init.matches("depends_on").count(), 1, "{init}");
}

#[test]
fn a_sentence_runs_to_its_end_and_is_kept_as_a_workflow() {
    let stage = stage();
    let done = [&["do", "Write", "h.txt", "--check", "test -s h.txt"][..], &PLAYED].concat();
    let ended = baton(&stage, &done).expect(0);
    assert!(
        ended.stdout.contains("1 of 1 objective") && ended.stdout.contains("baton save"),
        "{}",
        ended.stdout
    );
    assert_eq!(stage.read("h.txt"), "done\n");
    let view = stage.story().view;
    assert_eq!((view.workflow.as_str(), view.phases[0].verified), ("write-h-txt", Some(true)));
    let over = baton(&stage, &["resume"]).expect(2).says(&["is over (all objectives are done)"]);
    assert!(!over.stderr.contains("baton run"), "it was no workflow: {}", over.stderr);

    let saved = baton(&stage, &["save"]).expect(0);
    assert!(saved.stdout.contains("baton run workflow.toml"), "{}", saved.stdout);
    let text = stage.read("workflow.toml");
    assert!(text.contains("agent = \"rehearsal\"") && text.contains("do = [\"Write h.txt\"]"), "{text}");
    baton(&stage, &["save"]).expect(2).says(&["exists already", "--force"]);
    baton(&stage, &["check", "workflow.toml"]).expect(0);
    let again = baton(&stage, &["run", "workflow.toml", "--script", "../script.toml"]);
    assert_eq!(stage.story().view.workflow, "write-h-txt", "{again:?}");
    baton(&stage, &["save", "other.toml"]).expect(2).says(&["made from a workflow file already"]);
}

// D8
#[test]
fn the_same_sentence_goes_on_and_another_does_not() {
    let stage = stage();
    let killed: CommandOutput = command(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat())
        .env("BATON_KILL_AT", "effect-before:5")
        .output()
        .unwrap()
        .into();
    assert_eq!(killed.code, None, "{killed:?}");
    stage.expect_no_process();
    let other = baton(&stage, &[&["do", "Write g.txt"][..], &PLAYED].concat()).expect(0);
    assert!(!other.stderr.contains("found: run"), "{}", other.stderr);
    let new = baton(&stage, &[&["do", "Write h.txt", "--new"][..], &PLAYED].concat()).expect(0);
    assert!(!new.stderr.contains("found: run"), "{}", new.stderr);
    // The newest run of the sentence is over; the killed one is left to `resume`.
    baton(&stage, &[&["do", "Write h.txt", "--dry-run"][..], &PLAYED].concat()).expect(0);
}

#[test]
fn a_folder_is_looked_at_and_a_workflow_written_for_it() {
    let stage = stage();
    fs::write(stage.workspace.join("Makefile"), "test:\n\ttest -s c.txt || true\n").unwrap();
    let init = baton(&stage, &["init", "--agent", "rehearsal"]).expect(0);
    assert!(init.stdout.contains("Next       baton run workflow.toml"), "{}", init.stdout);
    let text = stage.read("workflow.toml");
    assert!(init.stdout.contains("workflow.toml is written: 3 phases, "), "{}", init.stdout);
    assert!(init.stdout.contains(", checked by `make test`"), "{}", init.stdout);
    for part in [
        "agent = \"rehearsal\"",
        "plan = \"PLAN.md\"",
        "verify = \"make test\"",
        "verify = \"test -s c.txt\"",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    baton(&stage, &["init"]).expect(2).says(&["exists already", "baton run workflow.toml", "--force"]);
    baton(&stage, &["run", "workflow.toml", "--script", "../script.toml"]).expect(0);
    assert_eq!(stage.read("PLAN.md"), PLAN.replace("[ ]", "[x]"));
}

#[test]
fn a_workflow_is_shown_or_written_for_another_folder() {
    let stage = stage();
    let from = |arguments: &[&str]| -> CommandOutput {
        let mut command = command(&stage, arguments);
        command.current_dir(stage.path(".")).output().unwrap().into()
    };
    let folder = stage.workspace.to_str().unwrap();
    let shown = from(&["init", "--workspace", folder, "--agent", "rehearsal", "--dry-run"]).expect(0);
    assert!(shown.stdout.contains("would be written") && !shown.stdout.contains("Next"), "{}", shown.stdout);
    assert!(!stage.workspace.join("workflow.toml").exists());
    let made = from(&["init", "--workspace", folder, "--agent", "rehearsal"]).expect(0);
    let next = made.stdout.lines().find_map(|line| line.strip_prefix("Next       baton ")).unwrap();
    let typed: Vec<&str> = next.split_whitespace().collect();
    from(&[typed.as_slice(), &["--script", "script.toml"]].concat()).expect(0);
    assert_eq!(stage.read("PLAN.md"), PLAN.replace("[ ]", "[x]"));
    from(&["init", "--workspace", "absent"]).expect(2).says(&["--workspace absent is not a folder"]);
}

#[test]
fn a_later_phase_of_a_workflow_waits_for_the_earlier_ones_unless_it_says_otherwise() {
    let phases =
        "agent = \"rehearsal\"\n[[phases]]\ndo = \"Think hard\"\n[[phases]]\ndo = \"Write `c.txt`\"\n";
    let stage = stage();
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    let open =
        "[objectives.think-hard]\nreport_done = false\nsteps = [{ say = \"Not done: it is too hard.\" }]\n";
    stage.write("script.toml", script + open);
    fs::write(stage.workspace.join("waits.toml"), phases).unwrap();
    let paused = baton(&stage, &["run", "waits.toml", "--script", "../script.toml"]).expect(5);
    assert!(!stage.workspace.join("c.txt").exists(), "{}", paused.stdout);
    fs::write(stage.workspace.join("beside.toml"), format!("{phases}depends_on = []\n")).unwrap();
    baton(&stage, &["run", "beside.toml", "--script", "../script.toml"]).expect(5);
    assert!(stage.workspace.join("c.txt").exists());
}

// A11
#[test]
fn a_person_is_asked_early_about_work_that_its_agent_cannot_do() {
    let stage = TestWorkspace::job(&[("a", "")], "");
    let denies = "window_tokens = 100000\n[objectives.a]\nreport_done = false\nsteps = [{ say = \"Not done: a: there is no key\" }]\n";
    stage.write("script.toml", denies);
    stage.baton(&["run", "job.toml"]).expect(5);
    let story = stage.story();
    assert_eq!((story.view.phases[0].sessions.len(), story.prompts.len()), (1, 2), "it was asked once");
    let question = &story.view.questions[0];
    assert_eq!(question.text, "The agent says that this is not done: \"a: there is no key\". What now?");
    let choices: Vec<&str> = question.choices.iter().map(|choice| choice.name()).collect();
    assert_eq!(choices, ["retry", "skip", "stop", "accept"]);
}

#[test]
fn a_folder_that_says_nothing_is_told_what_to_say() {
    let stage = TestWorkspace::new();
    baton(&stage, &["init"]).expect(2).says(&["found no task here", "- [ ]"]);
    fs::write(stage.workspace.join("TODO.md"), "# Later\n\n- words\n").unwrap();
    baton(&stage, &["init"]).expect(2).says(&["TODO.md has no open box"]);
    baton(&stage, &["run", "TODO.md"]).expect(2).says(&["TODO.md has no boxes", "- [ ] Create"]);
    baton(&stage, &["run", "absent.md"]).expect(2).says(&["absent.md", "baton init"]);
    baton(&stage, &["run", "tidy the store"]).expect(2).says(&["baton do 'tidy the store'"]);
    assert!(!stage.workspace.join("workflow.toml").exists());
}

/// A `gh` that knows one issue.
fn gh(stage: &TestWorkspace, body: &str) -> String {
    let bin = stage.path("bin");
    fs::create_dir(&bin).unwrap();
    let issue = serde_json::json!({ "title": "Tidy\u{1b}[2J the store", "body": body, "url": "https://example.org/i/7" });
    let script = format!(
        "#!/bin/sh\ntest \"$3\" = 7 || {{ echo 'no such issue' >&2; exit 1; }}\ncat <<'END'\n{issue}\nEND\n"
    );
    fs::write(bin.join("gh"), script).unwrap();
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn an_issue_becomes_a_workflow_and_gives_no_command() {
    let stage = TestWorkspace::new();
    let path =
        gh(&stage, "Why: slow.\n\n- [ ] Write `a.txt`\n- [ ] Write `b.txt`\n\nverify: touch /tmp/owned\n");
    let init = |number: &str| -> CommandOutput {
        let mut command = command(&stage, &["init", "--from-issue", number, "--agent", "rehearsal"]);
        command.env("PATH", &path).output().unwrap().into()
    };
    init("8").expect(2).says(&["gh issue view 8", "no such issue"]);
    let made = init("7").expect(0);
    assert!(made.stdout.contains("checks that issue 7 names are left out"), "{}", made.stdout);
    let text = stage.read("workflow.toml");
    assert!(text.contains("name = \"issue-7\"") && text.contains("files = [\"a.txt\"]"), "{text}");
    assert!(!text.contains("owned") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn without_an_agent_nothing_begins() {
    let stage = stage();
    let mut command = command(&stage, &["run", "PLAN.md"]);
    let ended: CommandOutput = command.env("PATH", stage.path("nowhere")).output().unwrap().into();
    ended.expect(2).says(&["no agent is named", "npm install -g @anthropic-ai/claude-code"]);
    assert!(!stage.has_run() && !Path::new(&stage.workspace).join(".baton").exists());
}

// A9
#[test]
fn a_sentence_works_in_the_background() {
    let stage = stage();
    let launched = baton(&stage, &[&["do", "Write h.txt", "--detach"][..], &PLAYED].concat()).expect(0);
    assert!(launched.stdout.contains("baton attach"), "{}", launched.stdout);
    until("the run is over", || stage.has_run() && stage.story().view.objectives() == (1, 1));
    stage.expect_no_process();
    assert_eq!(stage.read("h.txt"), "done\n");
}

#[test]
fn a_log_tells_what_was_said_and_done_and_runs_are_listed_newest_first() {
    let stage = stage();
    baton(&stage, &[&["do", "Write g.txt"][..], &PLAYED].concat()).expect(0);
    baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    let log = stage.baton(&["log"]).expect(0).stdout;
    for part in [
        "agent     rehearsal starts",
        "wrote     c.txt",
        "says      c.txt is written",
        "changed   c.txt",
        "$ test -s c.txt  exit 0",
    ] {
        assert!(log.contains(part), "{part:?} is not in:\n{log}");
    }
    assert!(!log.contains("# Phase"), "prompts are long: {log}");
    let build = stage.baton(&["log", "build", "--prompts"]).expect(0).stdout;
    assert!(build.contains("# Phase build") && !build.contains("a.txt is written"), "{build}");
    let lines = stage.baton(&["log", "s1", "--format", "jsonl"]).expect(0).stdout;
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["record"] == "log-line" && line["session"] != "s2"), "{lines:?}");
    assert!(lines.iter().any(|line| line["kind"] == "called" && line["writes"].is_string()), "{lines:?}");
    stage
        .baton(&["log", "nobody"])
        .expect(2)
        .says(&["no session and no phase nobody", "survey, build, tell"]);

    let runs = stage.baton(&["runs"]).expect(0).stdout;
    let whats: Vec<&str> = runs.lines().skip(1).map(|line| line.rsplit("  ").next().unwrap()).collect();
    assert_eq!(whats, ["PLAN.md", "Write g.txt"], "{runs}");
    let all = baton(&stage, &["runs", "--all", "--format", "json"]).expect(0).stdout;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    let folder = stage.workspace.canonicalize().unwrap();
    let here =
        all["runs"].as_array().unwrap().iter().filter(|run| run["workspace"] == *folder.to_string_lossy());
    assert_eq!(here.count(), 2, "{all}");
}

#[test]
fn a_log_keeps_messages_apart_and_only_counts_what_an_agent_writes_on_its_terminal() {
    let steps =
        r#"{ say = "Working." }, { say = "It is being written." }, { write = "a.txt", content = "done" }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    let log = stage.baton(&["log"]).expect(0).stdout;
    assert!(log.contains("says      Working.\n") && log.contains("| It is being written.\n"), "{log}");

    let noise =
        "echo '2026-02-12T10:30:00Z ERROR codex_core::session: failed to record' >&2\necho noise >&2\n";
    let stage = TestWorkspace::job_of_program(&format!("{noise}exit 3"));
    stage.baton(&["run", "job.toml"]).expect(5);
    let log = stage.baton(&["log", "s1"]).expect(0).stdout;
    let count = "prints    2 lines on its terminal, not shown here: ";
    assert!(log.contains(count) && log.contains("/s1/stderr.log\n"), "{log}");
    assert!(log.contains("| 2026-02-12T10:30:00Z ERROR codex_core"), "it failed: {log}");
    let lines = stage.baton(&["log", "s1", "--format", "jsonl"]).expect(0).stdout;
    assert!(lines.contains("\"channel\":\"terminal\""), "{lines}");

    let stage = TestWorkspace::job_of_program(&format!("{noise}echo '{{}}'\nexit 0"));
    stage.baton(&["run", "job.toml"]).expect(5);
    let log = stage.baton(&["log", "s1"]).expect(0).stdout;
    assert!(log.contains(count) && !log.contains("codex_core"), "{log}");
}

#[test]
fn a_log_goes_on_until_the_run_ends() {
    let stage = stage();
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write("script.toml", format!("pace_ms = 100\n{script}"));
    baton(&stage, &[&["run", "PLAN.md", "--background"][..], &PLAYED].concat()).expect(0);
    let log = stage.baton(&["log", "--follow"]).expect(0).stdout;
    assert!(log.contains("says      h.txt is written"), "{log}");
    stage.expect_no_process();
}

#[test]
fn what_a_run_changed_is_shown_as_a_patch_by_phase_and_as_a_sum() {
    let stage = stage();
    fs::write(stage.workspace.join("mine.txt"), "before\n").unwrap();
    stage.make_repository();
    fs::write(stage.workspace.join("mine.txt"), "not committed\n").unwrap();
    let refs = stage.git(&["for-each-ref"]);
    let ended = baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    assert!(
        ended.stdout.contains("Changed    9 files, +16 −8") && ended.stdout.contains("baton diff"),
        "{}",
        ended.stdout
    );
    assert_eq!(stage.git(&["for-each-ref"]), refs, "nothing is left in the history of the person");

    let patch = stage.baton(&["diff"]).expect(0).stdout;
    assert!(
        patch.contains("+++ b/a.txt") && patch.contains("+done") && patch.contains("+++ b/PLAN.md"),
        "{patch}"
    );
    assert!(!patch.contains("mine.txt"), "what was there before is not the run's: {patch}");
    let build = stage.baton(&["diff", "build", "--stat"]).expect(0).stdout;
    assert!(build.contains("c.txt") && !build.contains("a.txt") && build.contains("+1"), "{build}");
    // What the person does afterwards is not the run's either.
    fs::write(stage.workspace.join("a.txt"), "mine\n").unwrap();
    assert_eq!(stage.baton(&["diff"]).expect(0).stdout, patch);
    let json = stage.baton(&["diff", "tell", "--format", "json"]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["files"].as_array().unwrap().len(), &json["phase"]), (4, &"tell".into()), "{json}");
    stage.baton(&["diff", "nobody"]).expect(2).says(&["has no phase nobody", "survey, build, tell"]);
}

#[test]
fn without_git_a_run_changed_names_and_it_is_said_why() {
    let stage = stage();
    baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED].concat()).expect(0);
    let diff = stage.baton(&["diff"]).expect(0).stdout;
    assert!(diff.contains("new      h.txt") && diff.contains("no git repository"), "{diff}");
    let report = baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0).stdout;
    // Those that it wrote, and none that a later phase did; the host ticks the boxes of the plan.
    for (phase, written) in
        [("survey", "a.txt b.txt"), ("build", "c.txt d.txt e.txt"), ("tell", "f.txt g.txt")]
    {
        let diff = stage.baton(&["diff", phase]).expect(0).stdout;
        let named: Vec<&str> = diff.split_whitespace().filter(|word| word.ends_with(".txt")).collect();
        assert_eq!(named.join(" "), written, "{diff}");
    }
    assert!(report.contains("changed   3 files") || report.contains("changed   2 files"), "{report}");
}

#[test]
fn the_newest_handoff_needs_no_phase() {
    let stage = stage();
    baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    let shown = baton(&stage, &["handoff", "show"]).expect(0).stdout;
    assert!(shown.contains("of phase tell"), "{shown}");
}

#[test]
fn a_run_in_a_scratch_folder_belongs_to_the_folder_that_it_was_begun_from() {
    let stage = stage();
    stage.write(
        "demo.toml",
        "workspace = \"scratch\"\nagent = \"rehearsal\"\n[[phases]]\ndo = \"Write h.txt\"\n",
    );
    let from = |folder: &Path, arguments: &[&str], kill_at: &str| -> CommandOutput {
        let mut command = command(&stage, arguments);
        command.current_dir(folder).env("BATON_KILL_AT", kill_at).output().unwrap().into()
    };
    let here = stage.path(".").canonicalize().unwrap();
    let other = stage.workspace.canonicalize().unwrap();
    let killed = from(&here, &["run", "demo.toml", "--script", "script.toml"], "effect-before:5");
    assert_eq!(killed.code, None, "{killed:?}");
    from(&other, &["status"], "").expect(2).says(&["nothing has run"]);
    from(&other, &["resume"], "").expect(2).says(&["nothing has run"]);
    from(&here, &["status"], "").expect(0).says(&["was started from here"]);
    let resumed = from(&here, &["resume"], "").expect(0);
    assert!(resumed.stdout.contains("1 of 1 objective"), "{}", resumed.stdout);
}

#[test]
fn each_way_in_and_each_look_has_a_form_for_programs() {
    let stage = stage();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let ended = baton(&stage, &[arguments, &["--format", "json"]].concat()).expect(0);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
    };
    let plan = json(&[&["run", "PLAN.md", "--dry-run"][..], &PLAYED].concat());
    assert_eq!((&plan["record"], plan["sessions"].as_array().unwrap().len()), (&"dry-run".into(), 3));
    let ran = json(&[&["run", "PLAN.md"][..], &PLAYED].concat());
    assert_eq!((&ran["record"], &ran["view"]["status"]["ended"]), (&"run".into(), &"done".into()), "{ran}");
    let sentence = json(&[&["do", "Write", "h.txt", "--dry-run"][..], &PLAYED].concat());
    assert_eq!(sentence["record"], "dry-run");
    let detached = json(&[&["do", "Write", "h.txt", "--detach"][..], &PLAYED].concat());
    let run = detached["run"].as_str().unwrap();
    until("the run in the background is over", || {
        let runs = json(&["runs"]);
        let row = runs["runs"].as_array().unwrap().iter().find(|row| row["run"] == run).cloned();
        row.is_some_and(|row| row["status"]["ended"] == "done")
    });
    assert!(!json(&["log"])["lines"].as_array().unwrap().is_empty());
    let kept = json(&["artifacts", "ls"]);
    let kept = &kept["artifacts"][0];
    let shown = json(&["artifacts", "show", kept["name"].as_str().unwrap()]);
    assert_eq!((&shown["record"], &shown["bytes"]), (&"artifact-content".into(), &kept["bytes"]), "{shown}");
    assert_eq!(shown["content"].as_str().map(|content| content.len() as u64), kept["bytes"].as_u64());
    assert!(json(&["diff", run])["files"].is_array());
    let shown = json(&["init", "Write the docs", "--dry-run", "--no-check"]);
    assert_eq!((&shown["objectives"], &shown["written"]), (&1.into(), &false.into()));
    let two = "agent = \"rehearsal\"\n[[phases]]\ndo = \"Write a\"\n[[phases]]\ndo = \"Write b\"\n";
    fs::write(stage.workspace.join("two.toml"), two).unwrap();
    let checked = json(&["check", "two.toml"]);
    assert_eq!(
        (&checked["record"], &checked["phases"], &checked["unready"]),
        (&"checked".into(), &2.into(), &serde_json::json!([]))
    );
    assert!(shown["check"].is_null(), "{shown}");
    assert!(!stage.workspace.join("workflow.toml").exists());
    assert_eq!(json(&["init", "Write the docs"])["objectives"], 1);
}
