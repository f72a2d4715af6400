//! What a person sees in a real terminal: tmux, where it is installed.

use std::process::Command;

use crate::support::{TestWorkspace, until};

/// A terminal with `baton` in it; gone with the test.
struct TmuxTerminal {
    socket: String,
}

impl TmuxTerminal {
    /// Nothing where there is no tmux.
    fn open(stage: &TestWorkspace, arguments: &[&str], columns: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: tmux is not on PATH");
            return None;
        }
        let terminal = Self { socket: stage.path("tmux").display().to_string() };
        let command = stage.command(arguments);
        let mut line = "env -i TERM=xterm-256color LANG=C.UTF-8".to_owned();
        for (name, value) in command.get_envs().filter(|(name, _)| *name != "NO_COLOR") {
            let value = value.unwrap_or_default().to_string_lossy();
            line.push_str(&format!(" {}='{value}'", name.to_string_lossy()));
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        line.extend(words.map(|word| format!(" '{}'", word.to_string_lossy())));
        let (columns, line) = (columns.to_string(), format!("{line}; sleep 600"));
        let folder = stage.path(".").display().to_string();
        let open = ["new-session", "-d", "-c", &folder, "-x", &columns, "-y", "30", &line];
        terminal.tmux(&open);
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-f", "/dev/null", "-S", &self.socket])
            .args(arguments)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Everything that it shows, what has scrolled away too.
    fn lines(&self) -> Vec<String> {
        let shown = self.tmux(&["capture-pane", "-p", "-S", "-500"]);
        shown.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    /// The header of the only table.
    fn header(&self) -> Vec<String> {
        let lines = self.lines();
        let headers: Vec<&String> = lines.iter().filter(|line| line.starts_with("PHASE ")).collect();
        assert!(headers.len() <= 1, "{lines:#?}");
        headers.iter().flat_map(|header| header.split_whitespace().map(str::to_owned)).collect()
    }

    fn resize(&self, columns: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", "30"]);
    }
}

impl Drop for TmuxTerminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-S", &self.socket, "kill-server"]).output();
    }
}

#[test]
fn a_terminal_of_any_width_shows_one_table_and_is_left_without_rubbish() {
    let steps = |name: &str| {
        format!(
            "{{ write = \"{name}.txt\", content = \"{name}\" }}, {{ write = \"notes/{name}-and-all-that.md\", content = \"x\" }}, \
             {{ say = \"The file {name}.txt is written, as it was asked for in the plan of this work.\" }}"
        )
    };
    let objectives = ["a", "b", "c", "d"].map(|name| (name, steps(name)));
    let objectives: Vec<(&str, &str)> = objectives.iter().map(|(name, steps)| (*name, &**steps)).collect();
    let stage = TestWorkspace::job(&objectives, "");
    let script = std::fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write("script.toml", format!("pace_ms = 700\n{script}"));
    let Some(terminal) = TmuxTerminal::open(&stage, &["run", "job.toml"], 60) else { return };

    until("the table is drawn", || !terminal.header().is_empty());
    assert_eq!(terminal.header(), ["PHASE", "CTX", "DONE", "STATUS"]);
    until("a line is longer than the terminal", || {
        terminal.lines().iter().any(|line| line.contains(" says: "))
    });
    let says = terminal.lines();
    assert!(says.iter().any(|line| line.contains(" works: ")), "what it does stays to be read: {says:#?}");
    let at = says.iter().position(|line| line.contains(" says: ")).unwrap();
    assert!(says[at].ends_with(" written, as it") && says[at + 1].starts_with("  was asked"), "{says:#?}");
    for (columns, expected) in [(120, "AGENT"), (80, "LAST"), (50, "CTX"), (110, "CHECK")] {
        terminal.resize(columns);
        let has = |word: &str| terminal.header().iter().any(|column| column == word);
        until("the table has another layout", || {
            has(expected) && (columns > 100 || !has("AGENT")) && (columns > 60 || !has("LAST"))
        });
    }
    until("the run is over", || terminal.lines().iter().any(|line| line.starts_with("Next")));
    let lines = terminal.lines();
    assert_eq!(terminal.header()[0], "PHASE", "that of the report: {lines:#?}");
    assert!(!lines.iter().any(|line| line.contains('␛')), "{lines:#?}");
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("only ")).count(),
        2,
        "table and report: {lines:#?}"
    );
}
