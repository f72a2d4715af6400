//! `init.sh` (C1, C2): goes to the workspace, runs what the workflow calls its setup, and shows in three steps where one is,
//! what has happened and what comes next. A POSIX shell script; nothing in it is secret, and no text in it is run but the
//! setup.

use std::fmt::Write as _;

use baton_core::view::{PhaseStatus, RunView};
use baton_core::workflow::Workflow;

use super::progress::next_action;
use super::text_format::one_line;

/// What the script says of itself. It works from any folder, and in a workspace that was moved.
const HEAD: &str = r##"#!/bin/sh
# The environment of this work, and where it stands. Written by Baton, and written anew whenever something happens:
#   sh init.sh            runs the setup, then shows the three steps
#   sh init.sh --look     shows the three steps alone
set -u
here=$(cd -- "$(dirname -- "$0")" && pwd -P) || exit 1
"##;

/// What runs a command of the setup. One that fails does not hide where one is; the script then ends with 1.
const SETUP: &str = r##"failed=0
setup() {
    printf '$ %s\n' "$1"
    sh -c "$1" || { failed=1; printf 'this command of the setup failed: %s\n' "$1" >&2; }
}
"##;

/// The script.
pub(super) fn render(workflow: &Workflow, view: &RunView, task_folder: &str) -> String {
    let up = vec![".."; task_folder.split('/').count()].join("/");
    let mut script = HEAD.to_owned();
    let _ = writeln!(script, "cd -- \"$here/{up}\" || exit 1\n");
    script.push_str(SETUP);
    let commands = commands(workflow, view);
    if commands.is_empty() {
        script.push_str("# The workflow names no setup.\n");
    } else {
        script.push_str("if [ \"${1-}\" != --look ]; then\n");
        for command in commands {
            let _ = writeln!(script, "    setup {}", quoted(command));
        }
        script.push_str("fi\n");
    }
    let since = quoted(&view.started_at.rfc3339());
    let next = quoted(&next_action(view));
    let _ = write!(
        script,
        r#"
printf '\n== 1. Where am I\n'
pwd

printf '\n== 2. What has happened\n'
if [ "$(git rev-parse --is-inside-work-tree 2>/dev/null)" = true ]; then
    printf 'Commits since the run began:\n'
    git --no-pager log --oneline --no-decorate -n 20 --since={since} 2>/dev/null
else
    printf 'This is no git work tree.\n'
fi
printf 'Progress:\n'
tail -n 15 -- "$here/progress.log" 2>/dev/null

printf '\n== 3. What comes next\n'
printf '%s\n' {next}
printf 'All items, with pass or fail: %s\n' "$here/work-items.json"
exit "$failed"
"#
    );
    script
}

/// The workflow's own, then those of the phases at work, each once.
fn commands<'a>(workflow: &'a Workflow, view: &RunView) -> Vec<&'a str> {
    let at_work = |status: PhaseStatus| {
        !matches!(status, PhaseStatus::Pending | PhaseStatus::Done | PhaseStatus::Skipped)
    };
    let of_phases = workflow
        .phases
        .iter()
        .filter(|phase| view.phases.iter().any(|row| row.id == phase.id && at_work(row.status)));
    let mut commands: Vec<&str> = Vec::new();
    for command in workflow.setup.iter().chain(of_phases.flat_map(|phase| &phase.setup)) {
        if !commands.contains(&command.as_str()) {
            commands.push(command);
        }
    }
    commands
}

/// A word that no shell reads as anything else. A NUL cannot be written in a script, and no command has one.
fn quoted(text: &str) -> String {
    match shlex::try_quote(text) {
        Ok(word) => word.into_owned(),
        Err(_) => quoted(&one_line(text)),
    }
}
