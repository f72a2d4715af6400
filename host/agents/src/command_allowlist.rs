//! Which commands an agent may run without asking: those that its role allows, and those by which its work is checked. This
//! decides the requests that reach the host; in doubt it refuses.

use serde_json::Value;

/// No command that is worth allowing by a pattern is longer.
const COMMAND_BYTES: usize = 4096;

/// Shells that agents put around a command, and the option before it.
const SHELLS: [&str; 6] = ["bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh", "/usr/bin/sh"];
const SHELL_OPTIONS: [&str; 2] = ["-c", "-lc"];

/// Keys of a call by which a command would be another one than it says.
const OVERRIDE_KEYS: [&str; 12] = [
    "args",
    "arguments",
    "argv",
    "cmd",
    "dangerouslyDisableSandbox",
    "env",
    "environ",
    "environment",
    "input",
    "script",
    "shell",
    "stdin",
];

/// What may be run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandAllowlist {
    /// Patterns, in which `*` matches words.
    pub(crate) patterns: Vec<String>,
    /// To the letter.
    pub(crate) exact: Vec<String>,
}

impl CommandAllowlist {
    /// Whether this very command may be run.
    pub(crate) fn allows(&self, command: &str) -> bool {
        let command = command.trim();
        !command.is_empty()
            && command.len() <= COMMAND_BYTES
            && (self.exact.iter().any(|exact| exact.trim() == command)
                || self.patterns.iter().any(|pattern| matches_pattern(pattern.trim(), command)))
    }

    /// The text about allowed commands before an agent's first prompt; none if no command is allowed.
    pub(crate) fn told(&self) -> Option<String> {
        let all: Vec<&str> = self.patterns.iter().chain(&self.exact).map(|one| one.trim()).collect();
        let lines: String = all.iter().map(|one| format!("\n- {one}")).collect();
        (!all.is_empty()).then(|| {
            format!(
                "These commands may be run as they stand, without asking (`*` stands for words of your own):{lines}\n\
                 Another command, and one of these joined with another, may be refused."
            )
        })
    }

    /// Whether a call as an agent tells it may be made, with what else goes with the command.
    pub(crate) fn allow_call(&self, input: &Value) -> bool {
        let twisted = OVERRIDE_KEYS.iter().any(|key| match input.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::Object(fields)) => !fields.is_empty(),
            Some(Value::Array(words)) => !words.is_empty(),
            Some(_) => true,
        });
        !twisted && command_of(input).is_some_and(|command| self.allows(&command))
    }
}

/// The command of a call: a text, or the words of one. A shell that an agent puts around it is taken off.
pub(crate) fn command_of(input: &Value) -> Option<String> {
    match input.get("command")? {
        Value::String(line) => Some(unwrap_shell_quotes(line).unwrap_or(line).to_owned()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                [shell, option, line] if is_shell(shell, option) => Some((*line).to_owned()),
                // A word with a space in it is not the same in a line.
                words if words.iter().all(|word| !word.is_empty() && word.chars().all(is_shell_literal)) => {
                    (!words.iter().any(|word| word.contains(' '))).then(|| words.join(" "))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_shell(shell: &str, option: &str) -> bool {
    SHELLS.contains(&shell) && SHELL_OPTIONS.contains(&option)
}

/// The text in the single quotes of `bash -lc '…'`.
fn unwrap_shell_quotes(line: &str) -> Option<&str> {
    let (shell, rest) = line.trim().split_once(' ')?;
    let (option, quoted) = rest.trim_start().split_once(' ')?;
    let inner = quoted.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    (is_shell(shell, option) && !inner.contains('\'')).then_some(inner)
}

/// Whether a command matches the pattern: each `*` matches characters without a meaning for a shell.
fn matches_pattern(pattern: &str, command: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = command.strip_prefix(first).filter(|_| !first.is_empty()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let at = match (is_last, part) {
            (true, "") => Some(rest.len()),
            (true, part) => rest.ends_with(part).then(|| rest.len() - part.len()),
            (false, part) => rest.find(part),
        };
        let Some(at) = at else { return false };
        if !rest[..at].chars().all(is_shell_literal) {
            return false;
        }
        rest = &rest[at + part.len()..];
    }
    true
}

/// Means itself to every shell: no separator, redirection, expansion, quote, escape, pattern, comment or line break.
fn is_shell_literal(c: char) -> bool {
    c.is_ascii_alphanumeric() || " _./:=,@%+-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn commands() -> CommandAllowlist {
        CommandAllowlist {
            patterns: ["python3 -m unittest*", "cargo test", "npm run * --silent"]
                .map(str::to_owned)
                .to_vec(),
            exact: vec!["make check && ./ok.sh".to_owned()],
        }
    }

    #[test]
    fn a_pattern_allows_its_commands() {
        for command in [
            "python3 -m unittest",
            "python3 -m unittest -q tests.test_store",
            " cargo test ",
            "npm run lint --silent",
            "make check && ./ok.sh",
        ] {
            assert!(commands().allows(command), "{command}");
        }
    }

    #[test]
    fn an_agent_is_told_what_it_may_run() {
        let told = commands().told().unwrap();
        assert!(told.contains("\n- python3 -m unittest*\n- cargo test\n"), "{told}");
        assert!(told.contains("\n- make check && ./ok.sh\n"), "{told}");
        assert_eq!(CommandAllowlist::default().told(), None);
    }

    #[test]
    fn nobody_makes_more_of_a_pattern() {
        let attacks = [
            "; rm -rf .",
            " && rm -rf .",
            " || rm x",
            " | sh",
            " & rm x",
            " $(rm x)",
            " `rm x`",
            "\nrm x",
            "\r\nrm x",
            " > /etc/passwd",
            " < /etc/shadow",
            " ${IFS}x",
            " $HOME",
            " {a,b}",
            " (rm x)",
            " \\\nrm x",
            " 'x'",
            " \"x\"",
            " #x",
            " !x",
            " ~/x",
            " x*",
            " x?",
            " [x]",
            "\0",
            "\u{2028}rm x",
            "\u{a0}x",
            "\u{85}x",
            "\u{b}x",
        ];
        for attack in attacks {
            let command = format!("python3 -m unittest{attack}");
            assert!(!commands().allows(&command), "{command:?}");
            assert!(!commands().allows(&format!("cargo test{attack}")), "{attack:?}");
            assert!(!commands().allows(&format!("npm run x{attack} --silent")), "{attack:?}");
        }
        for other in [
            "",
            "*",
            "rm -rf .",
            "xpython3 -m unittest",
            "PATH=. cargo test",
            "cargo",
            "cargo tests",
            "make check",
        ] {
            assert!(!commands().allows(other), "{other:?}");
        }
        assert!(!commands().allows(&format!("python3 -m unittest {}", "x".repeat(COMMAND_BYTES))));
        // A pattern that names no program allows none.
        let any = CommandAllowlist {
            patterns: vec!["*".to_owned(), String::new(), "* test".to_owned()],
            exact: vec![String::new()],
        };
        assert!(!any.allows("rm -rf .") && !any.allows("x test") && !any.allows(""));
    }

    #[test]
    fn a_call_is_its_command_and_nothing_that_twists_it() {
        let allows = |input: Value| commands().allow_call(&input);
        assert!(allows(json!({ "command": "cargo test", "description": "Run the tests", "timeout": 1000 })));
        assert!(allows(json!({ "command": ["bash", "-lc", "cargo test"] })));
        assert!(allows(json!({ "command": ["cargo", "test"], "env": {}, "args": [] })));
        assert!(allows(json!({ "command": "/bin/bash -lc 'cargo test'" })));
        for input in [
            json!({ "command": "cargo test", "env": { "LD_PRELOAD": "./x.so" } }),
            json!({ "command": "cargo test", "dangerouslyDisableSandbox": true }),
            // N6: the agent runs `cargo test ; rm x`.
            json!({ "command": "cargo test", "args": [";", "rm", "x"] }),
            json!({ "command": "cargo test", "arguments": "; rm x" }),
            json!({ "command": "cargo test", "argv": ["rm", "x"] }),
            json!({ "command": "cargo test", "script": "rm x" }),
            json!({ "command": "cargo test", "shell": "./sh" }),
            json!({ "command": "bash -lc 'cargo test'; rm x" }),
            json!({ "command": "bash -lc 'cargo test' 'x'" }),
            json!({ "command": "bash -lc 'cargo test; rm x'" }),
            json!({ "command": ["bash", "-lc", "cargo test", "x"] }),
            json!({ "command": ["cargo test"] }),
            json!({ "command": ["cargo", "test", ";", "rm"] }),
            json!({ "command": ["env", "bash", "-c", "cargo test"] }),
            json!({ "command": 3 }),
            json!({ "cmd": "cargo test" }),
            json!("cargo test"),
        ] {
            assert!(!allows(input.clone()), "{input}");
        }
    }
}
