//! What a plan and a sentence become: nothing of a plan is passed over, and what is saved is what was run.

use std::fs;

use crate::support::TestWorkspace;
use crate::task_sources::{PLAYED, baton, stage};

#[test]
fn what_is_saved_has_what_the_flags_gave() {
    // D8: the file would have run with fewer rights and without commits.
    let stage = stage();
    stage.make_repository();
    let flags = ["--permission", "full", "--allow", "make test", "--env", "MY_TOKEN"];
    let commits = ["--commit", "--commit-branch", "work/{run}"];
    baton(&stage, &[&["do", "Write h.txt"][..], &PLAYED, &flags, &commits].concat()).expect(0);
    baton(&stage, &["save"]).expect(0);
    let saved: toml::Table = stage.read("workflow.toml").parse().unwrap();
    let text = |table: &toml::Table, key: &str| table[key].as_str().unwrap().to_owned();
    assert_eq!(
        (text(&saved, "commit"), text(&saved, "commit_branch")),
        ("phase".into(), "work/{run}".into())
    );
    let role = saved["roles"]["executor"].as_table().unwrap();
    assert_eq!(text(role, "permission"), "full");
    assert_eq!((&role["allow"], &role["env"]), (&vec!["make test"].into(), &vec!["MY_TOKEN"].into()));
    baton(&stage, &["check", "workflow.toml"]).expect(0);
}

#[test]
fn what_is_nearly_a_box_is_no_finished_work() {
    // A11: "every objective is done", with a line that was passed over.
    let stage = stage();
    fs::write(
        stage.workspace.join("PLAN.md"),
        "# Docs\n\n- [ ] Write h.txt\n- [] Write g.txt\n\n## Release\n- Tag it\n",
    )
    .unwrap();
    for command in ["run", "check"] {
        baton(&stage, &[command, "PLAN.md"]).expect(2).says(&["PLAN.md:4: `- [] Write g.txt` is not a box"]);
    }
    fs::write(stage.workspace.join("PLAN.md"), "# Docs\n\n- [ ] Write h.txt\n\n## Release\n- Tag it\n")
        .unwrap();
    let ended = baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    assert!(ended.stderr.contains("this run does nothing below \"Release\""), "{}", ended.stderr);
}

#[test]
fn a_check_of_a_plan_is_run_or_named_and_never_run_unseen() {
    // A11, N6: "every objective is done", with a check that nothing ran; and one in a comment ran before the first agent.
    let stage = stage();
    let write = |text: &str| fs::write(stage.workspace.join("PLAN.md"), text).unwrap();
    for (after, named) in [
        ("## Verification\n\nverify: `false`\n", "PLAN.md:6: `verify: `false`` is not a check"),
        ("### verify: `false`\n", "PLAN.md:4: `### verify: `false`` is not a check"),
        ("verify:\n\n```sh\nfalse\n```\n", "PLAN.md:4: `verify:` is not a check"),
    ] {
        write(&format!("## Docs\n- [ ] Write h.txt\n\n{after}"));
        for command in ["run", "check"] {
            baton(&stage, &[command, "PLAN.md"]).expect(2).says(&[named]);
        }
    }
    write(
        "# Docs\n\n<!--\nverify: touch ran\n-->\n\n## A\n\n- [ ] Write h.txt\n\n### Check\n\n1. verify: `touch checked`\n",
    );
    baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat()).expect(0);
    assert!(stage.workspace.join("checked").exists() && !stage.workspace.join("ran").exists());
}

#[test]
fn a_file_that_a_short_objective_names_must_be_there() {
    // A11: what stands between backticks is held to, as in a plan.
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\n[limits]\nretries = 0\n[[phases]]\ntitle = \"One\"\n\
               do = [\"Write `src/b.txt`\"]\n";
    stage.write("job.toml", job);
    let write = |script: &str| fs::write(stage.workspace.join("agent.sh"), script).unwrap();
    write("cat > /dev/null\necho z >> other.txt\necho \"Done: write-src-b-txt\"\n");
    stage.baton(&["run", "job.toml"]).expect(5).says(&["src/b.txt is missing"]);
    write("cat > /dev/null\nmkdir -p src\necho z > src/b.txt\necho 'Done: write-src-b-txt'\n");
    let question = stage.baton(&["status", "--format", "json"]).expect(0);
    assert!(question.stdout.contains("write-src-b-txt"), "{}", question.stdout);
    stage.baton(&["answer", "retry", "--resume"]).expect(0);
}

#[test]
fn boxes_that_an_agent_ticks_itself_are_no_finished_work() {
    // A11: "every box is ticked: nothing is left to do", with nothing done.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write("PLAN.md", "# Work\n\n- [ ] Write `a.txt`\n- [ ] Write `b.txt`\n");
    write("agent.sh", "cat > /dev/null\nsed -i 's/- \\[ \\]/- [x]/' PLAN.md\necho 'I have looked around.'\n");
    let command = ["run", "PLAN.md", "--agent", "process:sh agent.sh"];
    baton(&stage, &command).expect(5).says(&["a.txt"]);
    assert!(!stage.read("PLAN.md").contains("[ ]"), "the agent has ticked them");
    baton(&stage, &command).expect(5).says(&["No longer open in the plan", "a.txt"]);
    let report = baton(&stage, &["report"]).expect(0).stdout;
    assert!(report.contains("2 of 2 boxes ticked, 2 of them not done by this run"), "{report}");
    baton(&stage, &["answer", "stop", "--resume"]).expect(1);
    baton(&stage, &command).expect(1).says(&["has not done 2 of them", "reopen"]);
    // Ticks of a plan that no run was made from are the word of the person.
    write("DONE.md", "# Work\n\n- [x] Write `c.txt`\n");
    baton(&stage, &["run", "DONE.md", "--agent", "process:sh agent.sh"])
        .expect(0)
        .says(&["nothing is left to do"]);
}

#[test]
fn checks_that_an_agent_writes_into_the_plan_are_refused_by_the_next_run() {
    // N6: the next run began with them, before any agent.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write("PLAN.md", "# Work\n\n- [ ] Write `a.txt`\n\nverify: test -e a.txt\n");
    let more = "\\n## More\\n- [ ] Write `b.txt`\\n\\nverify: touch ran\\n";
    let script =
        format!("cat > /dev/null\necho x > a.txt\nprintf '{more}' >> PLAN.md\necho 'a.txt is written.'\n");
    write("agent.sh", &script);
    let command = ["run", "PLAN.md", "--agent", "process:sh agent.sh"];
    baton(&stage, &command).expect(0);
    baton(&stage, &command).expect(2).says(&["`touch ran`", "--accept-changes"]);
    assert!(!stage.workspace.join("ran").exists());
    write("agent.sh", "cat > /dev/null\necho x > b.txt\necho 'b.txt is written.'\n");
    baton(&stage, &[&command[..], &["--accept-changes"]].concat()).expect(0);
    assert!(stage.workspace.join("ran").exists());
    assert_eq!(stage.read("PLAN.md").matches("[x]").count(), 2, "{}", stage.read("PLAN.md"));
}

#[test]
fn a_workflow_that_an_agent_rewrites_is_not_begun_before_a_person_has_seen_it() {
    // N6: the next run began with the commands that the agent had written, as the person.
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n";
    fs::write(stage.workspace.join("job.toml"), job).unwrap();
    let write = |text: &str| fs::write(stage.workspace.join("agent.sh"), text).unwrap();
    write(
        "cat > /dev/null\necho x > a.txt\necho 'verify = \"touch ran\"' >> job.toml\necho 'Done: write-a-txt'\n",
    );
    let run = |flags: &[&str]| baton(&stage, &[&["run", "job.toml"][..], flags].concat());
    run(&[]).expect(0);
    for flags in [&["--restart"][..], &["--new"], &["--background"], &[]] {
        run(flags).expect(2).says(&["job.toml was changed while run", "--accept-changes"]);
    }
    assert!(!stage.workspace.join("ran").exists());
    fs::rename(stage.workspace.join("job.toml"), stage.workspace.join("other.toml")).unwrap();
    std::os::unix::fs::symlink("other.toml", stage.workspace.join("job.toml")).unwrap();
    run(&[]).expect(2).says(&["was a regular file when run", "Restore the file"]);
    fs::remove_file(stage.workspace.join("job.toml")).unwrap();
    // The person takes it out again, or means it.
    fs::write(stage.workspace.join("job.toml"), job).unwrap();
    write("cat > /dev/null\necho y > a.txt\necho 'Done: write-a-txt'\n");
    run(&[]).expect(0);
    fs::write(stage.workspace.join("job.toml"), format!("{job}verify = \"touch mine\"\n")).unwrap();
    run(&[]).expect(0);
    assert!(stage.workspace.join("mine").exists(), "no run worked while that was written");
}

#[test]
fn a_file_that_leads_its_next_run_elsewhere_is_not_begun() {
    // N6: with a workspace of its own, or as another kind of task, the file had no earlier run to be compared with.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n";
    write("job.toml", job);
    let write_a = "cat > /dev/null\necho x > a.txt\necho 'Done: write-a-txt'\n";
    let elsewhere = "mkdir -p sub\nsed -i '1i workspace = \"sub\"' job.toml\necho 'verify = \"touch ../ran\"' >> job.toml\n";
    write("agent.sh", &format!("{write_a}{elsewhere}"));
    baton(&stage, &["run", "job.toml"]).expect(0);
    baton(&stage, &["run", "job.toml"])
        .expect(2)
        .says(&["job.toml was changed while run", "--accept-changes"]);

    write("TODO", "# Work\n\n- [ ] Write `b.txt`\n");
    let workflow =
        "name = \"x\"\nagent = \"process:touch ran\"\n[[phases]]\ntitle = \"One\"\ndo = [\"Look\"]\n";
    write("workflow", workflow);
    write("agent.sh", "cat > /dev/null\necho x > b.txt\ncp workflow TODO\necho 'Done: write-b-txt'\n");
    let command = ["run", "TODO", "--agent", "process:sh agent.sh"];
    baton(&stage, &command);
    baton(&stage, &["run", "TODO"]).expect(2).says(&["TODO was a plan when run", "--accept-changes"]);
    assert!(!stage.workspace.join("ran").exists());
}

#[test]
fn checks_and_boxes_that_an_agent_takes_out_of_the_plan_are_missed() {
    // A11, D3: the next run had no check, and a plan whose boxes were reworded was done.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write("PLAN.md", "# Work\n\n## One\n\n- [ ] Write `a.txt`\n\nverify: test -e a.txt\n");
    write(
        "agent.sh",
        "cat > /dev/null\necho x > a.txt\nsed -i '/verify/d' PLAN.md\necho 'a.txt is written.'\n",
    );
    let command = ["run", "PLAN.md", "--agent", "process:sh agent.sh"];
    baton(&stage, &command).expect(0);
    let more =
        stage.read("PLAN.md").replace("- [x] Write `a.txt`", "- [x] Write `a.txt`\n- [ ] Write `b.txt`");
    write("PLAN.md", &more);
    baton(&stage, &command).expect(2).says(&["lacks checks", "`test -e a.txt`", "--accept-changes"]);

    write("PLAN.md", "# Work\n\n- [ ] Write `c.txt`\n");
    write("agent.sh", "cat > /dev/null\necho '- [x] Wrote it all' > PLAN.md\necho 'I have looked around.'\n");
    baton(&stage, &[&command[..], &["--accept-changes"]].concat()).expect(5);
    baton(&stage, &["answer", "stop", "--resume"]).expect(1);
    baton(&stage, &command).expect(1).says(&["has not done 1 of them"]);
}

#[test]
fn a_check_that_stands_elsewhere_in_the_plan_is_missed_as_well() {
    // D3: the work of one phase was held to the check of another one, or to none under another heading.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    let plan = |heading: &str, check: &str| {
        format!(
            "# Work\n\n## One\n\n- [ ] Write `a.txt`\n\nverify: test -e a.txt\n\n## {heading}\n\n- [ ] Write `b.txt`\n{check}"
        )
    };
    write(
        "agent.sh",
        "cat > /dev/null\necho strong >> a.txt\necho strong >> b.txt\necho 'Both are written.'\n",
    );
    write("PLAN.md", &plan("Two", "\nverify: grep -q strong b.txt\n"));
    let command = ["run", "PLAN.md", "--agent", "process:sh agent.sh"];
    baton(&stage, &command).expect(0);
    for changed in [plan("Two", "\nverify: test -e a.txt\n"), plan("Two.", "")] {
        write("PLAN.md", &changed);
        for flag in ["--restart", "--new"] {
            let refused = baton(&stage, &[&command[..], &[flag]].concat()).expect(2);
            refused.says(&["lacks checks", "`grep -q strong b.txt`", "--accept-changes"]);
        }
        baton(&stage, &[&command[..], &["--dry-run"]].concat())
            .expect(0)
            .says(&["refused: the plan lacks checks"]);
    }
}

#[test]
fn an_agent_accepts_no_changes_in_the_place_of_a_person() {
    // N6: the agent began a run of the changed file elsewhere, with `--accept-changes`, and the person's next run compared with that one.
    let stage = TestWorkspace::new();
    let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\nmode_files = [\"swarm.org\"]\n[policies]\n\
               exhaustion = [\"rules:house.toml\", \"builtin:resilience\"]\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n";
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write("job.toml", job);
    write("swarm.org", "#+PROPERTY: MODE swarm\n#+PROPERTY: MAX_TURNS_EXECUTOR 30\n");
    write("house.toml", "objectives-at-most = 4\n");
    let elsewhere = stage.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let baton_elsewhere = format!(
        "'{}' run \"$PWD/job.toml\" --workspace '{}' --state-dir '{}'",
        env!("CARGO_BIN_EXE_baton"),
        elsewhere.display(),
        stage.state_root().display()
    );
    let agent = format!(
        "cat > /dev/null\necho x > a.txt\nif [ ! -e out ]; then\n  {baton_elsewhere} > first 2>&1\n  \
         echo 'verify = \"touch ran\"' >> job.toml\n  {baton_elsewhere} --new --accept-changes > out 2>&1\nfi\necho 'Done: write-a-txt'\n"
    );
    write("agent.sh", &agent);
    let run = || baton(&stage, &["run", "job.toml"]);
    run().expect(0);
    assert!(stage.read("first").contains("run"), "it began one there: {}", stage.read("first"));
    let said = stage.read("out");
    assert!(said.contains("--accept-changes is for a person"), "{said}");
    run().expect(2).says(&["job.toml was changed while run", "--accept-changes"]);
    assert!(!stage.workspace.join("ran").exists());

    // What the file names is as good as the file: the agent changes it in the next run.
    write("job.toml", job);
    for (file, line) in [("house.toml", "# more"), ("swarm.org", "more")] {
        write(
            "agent.sh",
            &format!("cat > /dev/null\necho y >> a.txt\necho '{line}' >> {file}\necho 'Done: write-a-txt'\n"),
        );
        baton(&stage, &["run", "job.toml", "--accept-changes"]).expect(0);
        run().expect(2).says(&[&format!("{file} was changed while run")]);
    }
}

#[test]
fn a_link_in_the_place_of_what_a_workflow_names_is_not_used() {
    // N6: the next run used the rules of the agent, since only what the link leads to was compared.
    let swaps = [
        "rm conf/house.toml; ln -s ../.baton/evil.toml conf/house.toml",
        "mv conf old; mkdir .baton/conf; mv .baton/evil.toml .baton/conf/house.toml; ln -s .baton/conf conf",
        "rm conf/real.toml; ln -s ../.baton/evil.toml conf/real.toml",
    ];
    for (n, swap) in swaps.into_iter().enumerate() {
        for is_repository in [true, false] {
            let stage = TestWorkspace::new();
            let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
            fs::create_dir(stage.workspace.join("conf")).unwrap();
            let job = "name = \"job\"\nagent = \"process:sh agent.sh\"\n[policies]\n\
                       exhaustion = [\"rules:conf/house.toml\", \"builtin:resilience\"]\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n";
            write("job.toml", job);
            write("conf/house.toml", "objectives-at-most = 4\n");
            if n == 2 {
                // The user has a link, and the agent exchanges what stands behind it.
                fs::rename(stage.workspace.join("conf/house.toml"), stage.workspace.join("conf/real.toml"))
                    .unwrap();
                std::os::unix::fs::symlink("real.toml", stage.workspace.join("conf/house.toml")).unwrap();
            }
            let work = "cat > /dev/null\necho x >> a.txt\n";
            write(
                "agent.sh",
                &format!(
                    "{work}printf 'objectives-at-most = 9\\n' > .baton/evil.toml\n{swap}\necho 'Done: write-a-txt'\n"
                ),
            );
            if is_repository {
                stage.make_repository();
            }
            let run = |flags: &[&str]| baton(&stage, &[&["run", "job.toml"][..], flags].concat());
            run(&[]).expect(0);
            run(&[]).expect(2).says(&["conf", "was changed while run", "--accept-changes"]);
            write("agent.sh", &format!("{work}echo 'Done: write-a-txt'\n"));
            run(&["--accept-changes"]).expect(0);
            run(&[]).expect(0);
        }
    }
}

#[test]
fn what_the_next_run_reads_is_compared_however_many_files_are_there() {
    // N6: behind the first 10,000 files of a folder without git, or ignored by git, a workflow file that an agent had changed was used.
    for is_repository in [false, true] {
        let stage = TestWorkspace::new();
        let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
        let job = |name: &str, agent: &str| {
            format!(
                "name = \"{name}\"\nagent = \"process:sh {agent}\"\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n"
            )
        };
        let does =
            |more: &str| format!("cat > /dev/null\necho x >> a.txt\n{more}\necho 'Done: write-a-txt'\n");
        if is_repository {
            write(".gitignore", "job.toml\n*.sh\nbaton.toml\n");
            stage.make_repository();
        } else {
            fs::create_dir(stage.workspace.join("aaa")).unwrap();
            (0..10_050).for_each(|n| write(&format!("aaa/{n:05}"), ""));
        }
        write("job.toml", &job("job", "agent.sh"));
        write("other.toml", &job("other", "other.sh"));
        write("agent.sh", &does(""));
        write("other.sh", &does(""));
        if !is_repository {
            // What is written right before a run may be of that run, among so many files.
            std::thread::sleep(std::time::Duration::from_secs(3));
        }
        let run = |file: &str, flags: &[&str]| baton(&stage, &[&["run", file][..], flags].concat());
        run("job.toml", &[]).expect(0);
        // What a person writes between two runs is theirs.
        write("job.toml", &format!("{}verify = \"touch mine\"\n", job("job", "agent.sh")));
        run("job.toml", &[]).expect(0);
        assert!(stage.workspace.join("mine").exists());
        write("job.toml", &job("job", "agent.sh"));
        for (change, changed) in [
            ("echo 'verify = \"touch ran\"' >> job.toml", "job.toml"),
            ("echo '# more' >> agent.sh", "agent.sh"),
            ("echo '# more' > baton.toml", "baton.toml"),
            ("rm baton.toml", "baton.toml"),
        ] {
            write("agent.sh", &does(change));
            run("job.toml", &["--accept-changes"]).expect(0);
            let said = format!("{changed} was changed while run");
            run("job.toml", &[]).expect(2).says(&[&said, "--accept-changes"]);
            write("job.toml", &job("job", "agent.sh"));
        }
        assert!(!stage.workspace.join("ran").exists());
        // Also by the agent of other work.
        write("agent.sh", &does(""));
        run("job.toml", &["--accept-changes"]).expect(0);
        write("other.sh", &does("echo 'verify = \"touch ran\"' >> job.toml"));
        run("other.toml", &[]).expect(0);
        run("job.toml", &[]).expect(2).says(&["job.toml was changed while run"]);
        run("other.toml", &[]).expect(0);
    }
}

#[test]
fn a_file_that_no_run_looked_at_among_too_many_is_asked_about_if_it_was_touched_since() {
    // N6
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    let job = |policies: &str| {
        format!(
            "name = \"job\"\nagent = \"process:sh agent.sh\"\n{policies}[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n"
        )
    };
    fs::create_dir(stage.workspace.join("aaa")).unwrap();
    (0..10_050).for_each(|n| write(&format!("aaa/{n:05}"), ""));
    let rules = |file: &str| format!("[policies]\nexhaustion = [\"rules:{file}\", \"builtin:resilience\"]\n");
    write("old.toml", "objectives-at-most = 4\n");
    write("job.toml", &job(""));
    write(
        "agent.sh",
        "cat > /dev/null\necho x >> a.txt\necho 'objectives-at-most = 9' > new.toml\necho 'Done: write-a-txt'\n",
    );
    std::thread::sleep(std::time::Duration::from_secs(3));
    let run = |flags: &[&str]| baton(&stage, &[&["run", "job.toml"][..], flags].concat());
    run(&[]).expect(0);
    write("job.toml", &job(&rules("new.toml")));
    run(&[]).expect(2).says(&["new.toml may have been changed while run", "--accept-changes"]);
    write("job.toml", &job(&rules("old.toml")));
    run(&[]).expect(0);
    run(&[]).expect(0);
}

#[test]
fn programs_and_locks_that_an_agent_changes_are_asked_about_before_the_next_run() {
    // N6: the agent of one role rewrote the program of the other one, and the next run started it; with another lock it would have had
    // another judge.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    let job = |policies: &str| {
        format!(
            "name = \"job\"\nagent = \"process:sh agent.sh\"\n{policies}[roles.second]\nagent = \"process:sh -c 'exec ./tools/other.sh'\"\n\
             [[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n"
        )
    };
    write("job.toml", &job(""));
    fs::create_dir(stage.workspace.join("tools")).unwrap();
    write("tools/other.sh", "exit 1\n");
    let does = |more: &str| format!("cat > /dev/null\necho x >> a.txt\n{more}\necho 'Done: write-a-txt'\n");
    let run = |flags: &[&str]| baton(&stage, &[&["run", "job.toml"][..], flags].concat());
    write("agent.sh", &does("echo evil > tools/other.sh"));
    run(&[]).expect(0);
    run(&[]).expect(2).says(&["tools/other.sh was changed while run", "--accept-changes"]);
    // What a person writes between two runs is theirs.
    write("agent.sh", &does(""));
    run(&["--accept-changes"]).expect(0);
    write("tools/other.sh", "exit 2\n");
    run(&[]).expect(0);

    // A component of a file is in the lock as well as one of a registry.
    fs::write(stage.workspace.join("judge.wasm"), baton_runtime::engine::builtin_bytes()).unwrap();
    write("job.toml", &job("[policies]\nexhaustion = \"judge.wasm\"\n"));
    baton(&stage, &["policy", "lock", "job.toml"]).expect(0);
    run(&[]).expect(0);
    let lock = stage.read("baton.lock");
    for change in ["printf '# more\\n' >> baton.lock", "rm baton.lock"] {
        write("agent.sh", &does(change));
        run(&["--accept-changes"]).expect(0);
        run(&[]).expect(2).says(&["baton.lock was changed while run", "--accept-changes"]);
        write("baton.lock", &lock);
    }
}

#[test]
fn a_check_that_stays_in_the_plan_under_another_heading_is_missed() {
    // D3, N6: all texts were there, and the work was held to none of them.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    let plan = "# Work\n\n## Move\n\n- [ ] Write `one.txt`\n- [ ] Write `two.txt`\n\nverify: `grep -q real one.txt`\n";
    let done = "cat > /dev/null\necho real > one.txt\necho real >> two.txt\n[ ! -e PLAN.new ] || mv PLAN.new PLAN.md\necho 'Both are written.'\n";
    write("agent.sh", done);
    write("PLAN.md", plan);
    write(
        "PLAN.new",
        "# Work\n\n## Old\n\n- [ ] Write `old.txt`\n\nverify: `grep -q real one.txt`\n\n## Move it\n\n- [ ] Write all of `two.txt`\n",
    );
    let run = |flags: &[&str]| {
        baton(&stage, &[&["run", "PLAN.md", "--agent", "process:sh agent.sh"][..], flags].concat())
    };
    run(&[]).expect(0);
    run(&[]).expect(2).says(&["has them elsewhere", "`grep -q real one.txt`", "--accept-changes"]);

    // What people do: boxes that are ticked, and phases with the same check or with none.
    write("PLAN.md", plan);
    run(&[]).expect(0);
    let ticked = plan.replace("[ ]", "[x]");
    assert_eq!(stage.read("PLAN.md"), ticked);
    let more = "\n## More\n\n- [ ] Write `two.txt` once more\n\nverify: `grep -q real one.txt`\n";
    write("PLAN.md", &format!("{ticked}{more}"));
    run(&[]).expect(0);
    write(
        "PLAN.md",
        &format!("{}{more}\n## Last\n\n- [ ] Append to `two.txt`\n", ticked)
            .replace("[ ] Write", "[x] Write"),
    );
    run(&[]).expect(0);
    // A check of all phases is no phase's to lose.
    let all = |heading: &str| {
        format!("# Work\n\nverify: test -e one.txt\n\n## {heading}\n\n- [ ] Write `two.txt`\n")
    };
    write("ALL.md", &all("One"));
    let run = || baton(&stage, &["run", "ALL.md", "--agent", "process:sh agent.sh"]);
    run().expect(0);
    write("ALL.md", &all("Two"));
    run().expect(0);
}

#[test]
fn another_plan_in_the_place_of_a_plan_is_not_begun() {
    // N6: by a link, no earlier run was known, and its check ran.
    for folder in [false, true] {
        let stage = TestWorkspace::new();
        fs::create_dir(stage.workspace.join("docs")).unwrap();
        let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
        write("docs/PLAN.md", "# Work\n\n- [ ] Write `a.txt`\n");
        let swap = match folder {
            false => "rm docs/PLAN.md\nprintf \"$plan\" > docs/OTHER.md\nln -s OTHER.md docs/PLAN.md\n",
            true => "mv docs other\nprintf \"$plan\" > other/PLAN.md\nln -s other docs\n",
        };
        let plan = "plan='- [ ] Write `b.txt`\\n\\nverify: touch ran\\n'\n";
        write(
            "agent.sh",
            &format!("cat > /dev/null\necho x > a.txt\n{plan}{swap}echo 'a.txt is written.'\n"),
        );
        let command = ["run", "docs/PLAN.md", "--agent", "process:sh agent.sh"];
        baton(&stage, &command);
        baton(&stage, &command).expect(2).says(&["was a regular file when run", "Restore the file"]);
        assert!(!stage.workspace.join("ran").exists());
    }
}

#[test]
fn checks_that_are_new_in_a_plan_are_refused_where_its_run_is_replaced_as_well() {
    // N6: a run that no agent has worked on gives way to one with other flags.
    let stage = TestWorkspace::new();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write("PLAN.md", "# Work\n\n- [ ] Write `a.txt`\n");
    write("agent.sh", "cat > /dev/null\necho x > a.txt\necho 'a.txt is written.'\n");
    baton(&stage, &["run", "PLAN.md", "--agent", "process:./absent"]);
    write("PLAN.md", "# Work\n\n- [ ] Write `a.txt`\n\nverify: touch ran\n");
    for flags in [&["--restart"][..], &["--new"], &[]] {
        let command = [&["run", "PLAN.md", "--agent", "process:sh agent.sh"][..], flags].concat();
        baton(&stage, &command).expect(2).says(&["`touch ran`", "--accept-changes"]);
    }
    assert!(!stage.workspace.join("ran").exists());
}

#[test]
fn every_check_of_a_plan_is_run_by_itself() {
    // A11: the comment of the first check took the second one with it; what a viewer does not show of a line was run.
    let stage = stage();
    let write = |text: &str| fs::write(stage.workspace.join("PLAN.md"), text).unwrap();
    write("## Docs\n- [ ] Write `h.txt`\n\nverify: true # it is there\nverify: touch second\n");
    baton(&stage, &[&["run", "PLAN.md"][..], &PLAYED].concat());
    assert!(stage.workspace.join("second").exists());
    for line in
        ["verify: true <!-- ; touch ran # -->", "verify: true [ ](#;touch$IFS/ran;)", "`verify: false`"]
    {
        write(&format!("## Docs\n- [ ] Write `i.txt`\n\n{line}\n"));
        baton(&stage, &["check", "PLAN.md"]).expect(2).says(&["PLAN.md:4: ", "is not a check"]);
    }
}

#[test]
fn programs_in_another_folder_and_before_those_of_a_command_are_asked_about_before_the_next_run() {
    // N6: what a command runs behind `cd`, and what `make` and Python prefer to what is there, was started by the next run.
    for (command, change, named) in [
        ("sh -c 'cd t && sh b.sh'", "echo exit >> t/b.sh", "t/b.sh"),
        ("env -C t sh b.sh", "echo exit >> t/b.sh", "t/b.sh"),
        ("make -s agent", "cp Makefile GNUmakefile", "GNUmakefile"),
        ("python3 -m one", "mkdir one; touch one/__main__.py", "one/__main__.py"),
    ] {
        let stage = TestWorkspace::new();
        fs::create_dir(stage.workspace.join("t")).unwrap();
        let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
        write("t/b.sh", "exit 1\n");
        write("Makefile", "agent:\n\tfalse\n");
        write("one.py", "raise SystemExit(1)\n");
        write("agent.sh", &format!("cat > /dev/null\necho x >> a.txt\n{change}\necho 'Done: write-a-txt'\n"));
        write(
            "job.toml",
            &format!(
                "name = \"job\"\nagent = \"process:sh agent.sh\"\n[roles.second]\nagent = \"process:{command}\"\n\
                 [[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n"
            ),
        );
        baton(&stage, &["run", "job.toml"]).expect(0);
        let said = format!("{named} was changed while run");
        baton(&stage, &["run", "job.toml"]).expect(2).says(&[said.as_str(), "--accept-changes"]);
    }
}
