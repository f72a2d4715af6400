//! A plan, a workflow file or the program of an agent that a run may have written is asked about before its first use by a person (N6).

use std::fs;

use crate::support::TestWorkspace;
use crate::task_sources::baton;

fn write(stage: &TestWorkspace, name: &str, text: &str) {
    fs::write(stage.workspace.join(name), text).unwrap();
}

/// A repository with plans, of which the run of the first one does this as well.
fn stage(change: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    fs::create_dir(stage.workspace.join("plans")).unwrap();
    write(&stage, "plans/01.md", "# One\n\n- [ ] Write `a.txt`\n");
    for name in ["02", "03", "04", "05", "06"] {
        write(&stage, &format!("plans/{name}.md"), "# Other\n\n- [ ] Write `g.txt`\n");
    }
    write(&stage, ".gitignore", "plans/04.md\n");
    let one = format!("cat > /dev/null\necho x >> a.txt\n{change}echo 'Done: write-a-txt'\n");
    write(&stage, "one.sh", &one);
    for name in ["two.sh", "agent2.sh"] {
        write(&stage, name, "cat > /dev/null\necho x >> g.txt\necho 'Done: write-g-txt'\n");
    }
    stage.make_repository();
    stage
}

#[test]
fn a_plan_that_an_agent_of_another_one_has_changed_is_not_begun_before_a_person_has_seen_it() {
    // N6: no run was made from it before, so nothing was compared, and its checks ran.
    let stage =
        stage("for name in 02 03 04; do printf '  verify: touch ran-%s\\n' $name >> plans/$name.md; done\n");
    baton(&stage, &["run", "plans/01.md", "--agent", "process:sh one.sh"]).expect(0);
    let run = |name: &str, flags: &[&str]| {
        let plan = format!("plans/{name}.md");
        baton(&stage, &[&["run", &plan, "--agent", "process:sh two.sh"][..], flags].concat())
    };
    let again = "baton run plans/02.md --agent 'process:sh two.sh'";
    for flags in [&["--new"][..], &["--restart"], &["--background"], &[]] {
        let refused = run("02", flags).expect(2);
        refused.says(&[
            "plans/02.md was changed while run",
            "first run",
            "`touch ran-02`",
            "baton diff",
            again,
        ]);
    }
    run("02", &["--dry-run"]).expect(0).says(&["refused: plans/02.md was changed while run"]);
    run("04", &[]).expect(2).says(&["plans/04.md was written or moved while run", "`touch ran-04`"]);
    // One that the agent left alone, and one that the person has written since.
    run("05", &[]).expect(0);
    write(&stage, "plans/03.md", "# Other\n\n- [ ] Write `g.txt`\n");
    run("03", &[]).expect(0);
    assert!(["ran-02", "ran-03", "ran-04"].iter().all(|name| !stage.workspace.join(name).exists()));
    run("02", &["--accept-changes"]).expect(0);
    assert!(stage.workspace.join("ran-02").exists());
    // A workflow file is no better than a plan.
    let job = "printf 'name = \"job\"\\nagent = \"process:touch ran\"\\n[[phases]]\\ntitle = \"One\"\\ndo = [\"Look\"]\\n' > job.toml\n";
    write(&stage, "two.sh", &format!("cat > /dev/null\necho x >> g.txt\n{job}echo 'Done: write-g-txt'\n"));
    run("06", &[]).expect(0);
    baton(&stage, &["run", "job.toml"]).expect(2).says(&["job.toml was changed while run", "first run"]);
    assert!(!stage.workspace.join("ran").exists());
}

#[test]
fn the_program_of_an_agent_that_an_earlier_one_has_changed_is_not_started_before_a_person_has_seen_it() {
    // N6: a sentence, and a plan without an earlier run, took what was there.
    let stage = stage("echo 'touch ran' >> agent2.sh\n");
    let by_other = ["--agent", "process:sh agent2.sh"];
    let sentence = |flags: &[&str]| {
        baton(&stage, &[&["do", "Write g.txt", "--no-check"][..], &by_other, flags].concat())
    };
    let plan = |name: &str, flags: &[&str]| {
        let plan = format!("plans/{name}.md");
        baton(&stage, &[&["run", &plan][..], &by_other, flags].concat())
    };
    // A run of the plan before, by another agent, has not used that program.
    baton(&stage, &["run", "plans/05.md", "--agent", "process:sh two.sh"]).expect(0);
    baton(&stage, &["run", "plans/01.md", "--agent", "process:sh one.sh"]).expect(0);
    baton(&stage, &["run", "plans/06.md", "--agent", "process:sh two.sh"]).expect(0);
    for name in ["05", "06"] {
        write(&stage, &format!("plans/{name}.md"), "# Other\n\n- [ ] Write `g.txt`\n");
    }
    for refused in [sentence(&[]), plan("02", &[]), plan("06", &["--restart"]), plan("05", &["--restart"])] {
        refused.expect(2).says(&["agent2.sh was changed while run", "--accept-changes"]);
    }
    sentence(&[]).expect(2).says(&["No run of yours has used it since", "baton do 'Write g.txt' --no-check"]);
    assert!(!stage.workspace.join("ran").exists());
    // Once a person has accepted it, it is theirs, in whatever they run.
    sentence(&["--accept-changes"]).expect(0);
    assert!(stage.workspace.join("ran").exists());
    sentence(&["--new"]).expect(0);
    plan("02", &[]).expect(0);
}

#[test]
fn settings_of_a_folder_that_an_agent_has_changed_are_asked_about_before_any_run() {
    // N6: `do` compared nothing, and a plan without an earlier run took them as they were.
    for change in ["echo '# more' >> baton.toml\n", "rm baton.toml\n"] {
        let stage = stage(change);
        write(&stage, "baton.toml", "# ours\n");
        let by_other = ["--agent", "process:sh two.sh"];
        let sentence = |flags: &[&str]| {
            baton(&stage, &[&["do", "Write g.txt", "--no-check"][..], &by_other, flags].concat())
        };
        let plan = || baton(&stage, &[&["run", "plans/02.md"][..], &by_other].concat());
        baton(&stage, &["run", "plans/01.md", "--agent", "process:sh one.sh"]).expect(0);
        sentence(&[]).expect(2).says(&["baton.toml was changed while run", "--accept-changes"]);
        plan().expect(2).says(&["baton.toml was changed while run", "--accept-changes"]);
        sentence(&["--accept-changes"]).expect(0);
        plan().expect(0);
    }
}
