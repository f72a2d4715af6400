//! What README and the guides show is what the commands print: the plan of README's workflow, the question of a paused run, who
//! decides in it, the simulation with its picture, the import, and the flags of every command line. Live runs, with times in them, are held elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::documents::{fences, pages, root};
use crate::support::{CommandOutput, TestWorkspace};

const MEASURING: &str = "host/cli/docs/measuring.md";

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The text between `<!-- name -->` and `<!-- /name -->`, without its fence.
fn marked(page: &str, name: &str) -> Vec<String> {
    let text = read(page);
    let (_, rest) = text.split_once(&format!("<!-- {name} -->\n")).expect("the page has this mark");
    let (inner, _) = rest.split_once(&format!("<!-- /{name} -->")).expect("the mark is closed");
    inner.lines().filter(|line| !line.starts_with("```")).map(str::to_owned).collect()
}

/// The words of the command in a guide that begins so, with examples at their real path, and what is shown below it until
/// something is left out, or the block ends.
fn session(command: &str) -> (Vec<String>, String) {
    let page = read(MEASURING);
    let from = page.find(&format!("$ baton {command}")).expect("the guide shows it");
    let mut lines = page[from..].lines();
    let mut words = String::new();
    for line in lines.by_ref() {
        let (part, is_continued) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        words.push_str(part);
        if !is_continued {
            break;
        }
    }
    let shown: Vec<&str> =
        lines.take_while(|line| !line.starts_with('…') && !line.starts_with("```")).collect();
    let words = words.split_whitespace().skip(2);
    let place = |word: &str| match word.starts_with("host/") {
        true => root().join(word).display().to_string(),
        false => word.to_owned(),
    };
    (words.map(place).collect(), shown.join("\n"))
}

fn said(arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    TestWorkspace::new().baton(&arguments).expect(0).stdout
}

/// Checks that these lines are printed in this order. "…" stands for any number of lines.
fn holds(shown: &[String], printed: &str) {
    let mut rest = printed.lines();
    let mut is_gap = false;
    for line in shown {
        if line == "…" {
            is_gap = true;
            continue;
        }
        let found = match is_gap {
            true => rest.any(|printed| printed == line),
            false => rest.next() == Some(line.as_str()),
        };
        assert!(found, "{line:?} is not printed there:\n{printed}");
        is_gap = false;
    }
}

// M5
#[test]
fn the_simulation_and_its_picture_are_what_the_command_gives() {
    let (command, shown) = session("simulate host");
    let printed = said(&command);
    assert!(shown.lines().count() > 20, "{shown}");
    assert!(printed.starts_with(&format!("{shown}\n")), "shown is:\n{shown}\n\nprinted is:\n{printed}");

    let drawn = said(&[command, vec!["--format".into(), "svg".into()]].concat());
    let picture = read("host/cli/examples/report.svg");
    assert_eq!(drawn, picture);
}

// M5
#[test]
fn the_import_is_what_the_command_gives() {
    let (command, shown) = session("import host");
    let printed = said(&command);
    // The place of this stage stands behind the last line.
    assert!(
        shown.lines().count() > 5 && printed.starts_with(&shown),
        "shown is:\n{shown}\n\nprinted is:\n{printed}"
    );
}

/// The workflow of README: its only block of TOML.
fn workflow() -> String {
    let readme = read("README.md");
    let blocks: Vec<_> = fences(&readme).into_iter().filter(|fence| fence.language == "toml").collect();
    let [workflow] = blocks.as_slice() else { panic!("README shows {} blocks of TOML", blocks.len()) };
    workflow.text.clone()
}

// N1
#[test]
fn the_plan_of_the_workflow_is_what_a_dry_run_prints() {
    let stage = TestWorkspace::new();
    std::fs::write(stage.workspace.join("workflow.toml"), workflow()).unwrap();
    let mut shown = marked("host/cli/docs/workflow.md", "dry-run");
    assert_eq!(shown.remove(0), "$ baton run workflow.toml --dry-run");
    let mut command = stage.command(&[]);
    let ended: CommandOutput = command
        .args(["run", "workflow.toml", "--dry-run", "--state-dir"])
        .arg(stage.state_root())
        .current_dir(&stage.workspace)
        .output()
        .unwrap()
        .into();
    holds(&shown, &ended.expect(0).stdout);
}

// N3
#[test]
fn the_question_is_what_the_status_of_a_paused_run_prints() {
    let stage = TestWorkspace::new();
    stage.write(
        "notes.toml",
        "name = \"notes\"\ngoal = \"Two notes.\"\nagent = \"rehearsal\"\nroles.executor.script = \"script.toml\"\n\
         [[phases]]\nid = \"write\"\ntitle = \"Write the notes\"\nverify = \"grep -q tested a.md\"\n\
         objectives = [{ id = \"a\", description = \"Write a.md.\", files = [\"a.md\"] }]\n",
    );
    stage.write(
        "script.toml",
        "window_tokens = 100000\n[objectives.a]\nsteps = [{ write = \"a.md\", content = \"draft\" }, \
         { say = \"a.md is written, as it was asked for.\" }]\n",
    );
    stage.baton(&["run", "notes.toml"]).expect(5);
    let run = stage.story().view.run.to_string();
    let printed = stage.baton(&["status"]).expect(0).stdout;
    let shown = marked("README.md", "question");
    let words: Vec<&str> = shown[1].split_whitespace().collect();
    let shown_run = words[2];
    let at = printed.find("Question ").expect("the status shows a question");
    // The number of the question counts what happened before it, and the folder of this stage is named behind each answer.
    let normal = |text: &str, run: &str| {
        let number = text.split_whitespace().nth(1).unwrap().to_owned();
        let folders = format!(" --workspace {}", stage.workspace.display());
        text.replace(run, "RUN").replacen(&number, "N", 1).replace(&folders, "")
    };
    let shown = normal(&shown.join("\n"), shown_run);
    let printed = normal(&printed[at..], &run);
    let state = format!(" --state-dir {}", stage.state_root().display());
    let printed = printed.replace(&state, "");
    assert!(printed.starts_with(&shown), "shown is:\n{shown}\n\nprinted is:\n{printed}");
}

/// Lines as words, without what another build of the policies changes: digests and sizes.
fn words_of(text: &str) -> Vec<String> {
    let stable =
        |word: &&str| !word.ends_with("kB") && !word.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let name = |word: &str| word.split_once('@').map_or(word, |(name, _)| name).to_owned();
    text.lines()
        .map(|line| line.split_whitespace().filter(stable).map(name).collect::<Vec<_>>().join(" "))
        .collect()
}

// M2
#[test]
fn the_policies_of_the_guide_are_what_policy_which_prints() {
    let guide = read("host/cli/docs/policies.md");
    let file = |begin: &str| {
        let found = fences(&guide).into_iter().find(|fence| fence.text.starts_with(begin));
        found.unwrap_or_else(|| panic!("the guide shows no file with {begin:?}")).text
    };
    let stage = TestWorkspace::new();
    let place = |name: &str| stage.workspace.join(name);
    std::fs::write(place("baton.toml"), file("# baton.toml of a team")).unwrap();
    std::fs::write(place("workflow.toml"), file("# workflow.toml\n[policies]\nsettings")).unwrap();
    std::fs::create_dir(place("policies")).unwrap();
    for copy in ["policies/team-split.wasm", "candidate.wasm"] {
        std::fs::copy(root().join("policies/resilience.wasm"), place(copy)).unwrap();
    }
    let mut command = stage.command(&[]);
    let arguments = ["policy", "which", "workflow.toml"];
    let ended: CommandOutput = command.args(arguments).current_dir(&stage.workspace).output().unwrap().into();
    let home = stage.workspace.parent().unwrap().display().to_string();
    let printed = ended.expect(0).stdout.replace(&format!("{home}/work"), "/home/ada/app");
    let printed = words_of(&printed.replace(&home, "/home/ada")).join("\n");
    let shown = words_of(&marked("host/cli/docs/policies.md", "which")[1..].join("\n"));
    holds(&shown, &printed);
}

/// What `--help` of a command prints, and the path of the command: `baton policy use …` is of `policy use`.
fn help_of(words: &[String], known: &mut BTreeMap<Vec<String>, Option<String>>) -> String {
    let mut path: Vec<String> = Vec::new();
    let mut text = String::new();
    for word in words.iter().take_while(|word| !word.starts_with('-')) {
        let mut longer = path.clone();
        longer.push(word.clone());
        let names_a_command = path.is_empty()
            || text
                .lines()
                .skip_while(|line| *line != "Commands:")
                .take_while(|line| !line.is_empty())
                .any(|line| line.starts_with("  ") && line.split_whitespace().next() == Some(word));
        if !names_a_command {
            break;
        }
        let help = known.entry(longer.clone()).or_insert_with(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
            let output = command.args(&longer).arg("--help").output().unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        });
        text = help.clone().unwrap_or_else(|| panic!("`baton {}` is not a command", longer.join(" ")));
        path = longer;
    }
    text
}

/// The command lines of `baton` in a block of a shell: what follows a `#` is left out, and so is what other programs read.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let mut found = Vec::new();
    for line in lines.filter(|line| line.contains("baton ")) {
        for part in line.split(" && ").map(|part| part.split(" | ").next().unwrap_or(part)) {
            let Some(words) = shlex::split(part) else { continue };
            if words.first().is_some_and(|word| word == "baton") {
                found.push(words[1..].to_vec());
            }
        }
    }
    found
}

// N1
#[test]
fn every_command_line_that_is_shown_is_one_that_baton_knows() {
    let mut known = BTreeMap::new();
    let mut seen = 0;
    let mut faults = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        // The help of every command has examples with words behind them.
        if text.contains("<!-- Generated.") {
            continue;
        }
        let shells = ["", "sh", "text", "console"];
        for fence in fences(&text).into_iter().filter(|fence| shells.contains(&fence.language.as_str())) {
            for words in command_lines(&fence.text) {
                seen += 1;
                let help = help_of(&words, &mut known);
                let own = words.iter().take_while(|word| *word != "--");
                for word in own.filter(|word| word.starts_with('-') && word.len() > 1) {
                    let flag = word.split('=').next().unwrap_or(word);
                    let is_known = help
                        .lines()
                        .any(|line| line.split([' ', ',', '[', ']', '=', '<']).any(|part| part == flag));
                    if !is_known {
                        faults.push(format!("{}: baton {}: unknown {flag}", name(&page), words.join(" ")));
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen > 60, "only {seen} command lines were found");
}

/// The path of a page below the repository.
fn name(page: &Path) -> String {
    let page: PathBuf = page.strip_prefix(root()).unwrap_or(page).to_path_buf();
    page.display().to_string()
}
