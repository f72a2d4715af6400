//! Agents that say aloud what they were handed.

use std::fs;
use std::path::Path;

use super::job_of_shell;

/// Nothing that a scanner knows.
const HANDED: &str = "plain-words-of-a-vault";

fn look_through(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => look_through(&path, found),
            path => {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                found.push((path.display().to_string(), text));
            }
        }
    }
}

#[test]
fn a_value_that_a_role_hands_over_is_masked_wherever_it_is_said() {
    let script = r#"
if [ -e half ]; then echo done > a.txt; echo 'Done: a'; exit 0; fi
echo half > half
echo "Prompt is too long: the token is $VAULT_WORDS"
echo "stderr has $VAULT_WORDS" >&2
exit 1"#;
    let stage = job_of_shell(script, "env = [\"VAULT_WORDS\"]");
    let ended = stage.baton_with(&["run", "job.toml"], "VAULT_WORDS", HANDED).expect(0);
    assert!(ended.stderr.contains("[secret: environment]"), "it was handed over and said: {}", ended.stderr);
    let mut texts = vec![("stdout".to_owned(), ended.stdout), ("stderr".to_owned(), ended.stderr)];
    for command in [&["status"][..], &["report"], &["artifacts", "ls"]] {
        let shown = stage.baton(command);
        texts.push((command.join(" "), shown.stdout + &shown.stderr));
    }
    look_through(&stage.workspace.join(".baton"), &mut texts);
    look_through(stage.state().path(), &mut texts);
    for (name, text) in texts.iter().filter(|(name, _)| !name.contains("journal.sqlite")) {
        assert!(!text.contains(HANDED), "{name}");
    }
}
