//! The real Claude Code against the model simulator, through `baton run`: out of context in the middle of a phase,
//! continued in a new process, every objective done. Runs where `BATON_TEST_CLAUDE` names the executable of Claude
//! Code; `.ci/run` installs one and sets it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use baton_simulator::{Answered, Script, Simulator, Turn};
use rusqlite::{Connection, OpenFlags};
use rustix::process::{Pid, test_kill_process_group};
use serde_json::Value;

const WORKFLOW: &str = r#"
name = "relay"
goal = "Three files, of which the second takes more context than is left after the first."

[roles.executor]
agent = "claude"
permission = "edit"
model = "claude-sonnet-4-5"

[[phases]]
id = "write"
title = "Write the three files"
verify = "test -s alpha.txt && test -s beta.txt && test -s gamma.txt"
objectives = [
    { id = "alpha", description = "Write alpha.txt.", files = ["alpha.txt"] },
    { id = "beta", description = "Write beta.txt.", files = ["beta.txt"] },
    { id = "gamma", description = "Write gamma.txt.", files = ["gamma.txt"] },
]
"#;

/// The window of the simulated model. With each byte of dialogue counted as two tokens, Claude Code begins at some
/// 44,000; a page adds 20,000. So alpha's two pages and beta's three do not fit together, and beta's alone do.
const WINDOW_TOKENS: u64 = 125_000;
const MESSAGE_SCALE: u64 = 8;
const PAGE_BYTES: usize = 9000;

/// A folder for the work, the state and the home of Claude Code.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "workspace"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("relay.toml"), WORKFLOW).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes `pages` of filler and the file itself, reports the objective done, and says so.
    fn turns(&self, objective: &str, pages: usize) -> Vec<Turn> {
        let workspace = self.path("workspace");
        let page = |number| workspace.join(format!("{objective}-page-{number}.txt"));
        let mut turns: Vec<Turn> =
            (1..=pages).map(|number| Turn::write(page(number).display(), filler())).collect();
        let file = workspace.join(format!("{objective}.txt"));
        turns.push(Turn::write(file.display(), format!("{objective} is written\n")));
        let report =
            format!(r#"{{"report": "objective-update", "objective": "{objective}", "status": "done"}}"#);
        let name = format!("{objective}.json");
        turns.push(Turn::computed(move |asked| match asked.line("Report to:") {
            Some(inbox) => {
                let path = workspace.join(inbox.trim_matches('`')).join(&name);
                Turn::write(path.display(), report.clone())
            }
            None => Turn::say("The prompt does not say where to report."),
        }));
        turns.push(Turn::say(format!("{objective} is done.")));
        turns
    }

    fn baton(&self, claude: &Path, simulator: &Simulator) -> Output {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = claude.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(["run", "relay.toml", "--agent", "claude", "--format", "json"])
            .args(["--workspace", "workspace", "--state-dir", "state"])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("HOME", self.path("home"))
            .env("ANTHROPIC_BASE_URL", simulator.url())
            .envs([
                ("ANTHROPIC_API_KEY", "test-key"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "2"),
                ("DISABLE_AUTOUPDATER", "1"),
                // Left to itself it would compact, which is another road than the one that is tried here.
                ("DISABLE_AUTO_COMPACT", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_TELEMETRY", "1"),
                ("IS_SANDBOX", "1"),
                ("LANG", "C.UTF-8"),
            ])
            .output()
            .expect("the binary starts")
    }

    /// What Claude Code keeps of its contexts, one file each.
    fn transcripts(&self) -> Vec<PathBuf> {
        let below = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let projects = below(&self.path("home/.claude/projects"));
        let files = projects.flat_map(|project| below(&project));
        files.filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect()
    }

    /// Bodies of the rows of the journal that are of this kind.
    fn journal(&self, kind: &str) -> Vec<Value> {
        let file = find(&self.path("state"), "journal.sqlite").expect("the run left a journal");
        let journal = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut rows = journal.prepare("SELECT body FROM entry WHERE kind = ?1 ORDER BY seq").unwrap();
        let bodies = rows.query_map([kind], |row| row.get::<_, String>(0)).unwrap();
        bodies.map(|body| serde_json::from_str(&body.unwrap()).unwrap()).collect()
    }
}

fn filler() -> String {
    let line = "A line of filler, as long as a line of prose tends to be in a file.\n";
    line.repeat(PAGE_BYTES / line.len())
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|file| file == name)).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, name)))
}

/// Every value under this key, at any depth.
fn values<'a>(key: &str, within: &'a Value, found: &mut Vec<&'a Value>) {
    match within {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|value| values(key, value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| values(key, value, found)),
        _ => {}
    }
}

fn distinct<'a>(key: &str, rows: &'a [Value]) -> BTreeSet<String> {
    let mut found: Vec<&'a Value> = Vec::new();
    rows.iter().for_each(|row| values(key, row, &mut found));
    found.into_iter().filter(|value| !value.is_null()).map(Value::to_string).collect()
}

#[test]
fn claude_code_runs_out_of_context_mid_phase_and_a_new_process_finishes() {
    // A4, A5, A6, A7
    let Some(claude) = std::env::var_os("BATON_TEST_CLAUDE").map(PathBuf::from) else {
        // Not by a macro: the test runner would keep that to itself, and a skipped test must be seen.
        let _ = writeln!(std::io::stderr(), "skipped: BATON_TEST_CLAUDE names no executable of Claude Code");
        return;
    };
    let place = Place::new();
    let script = Script::new()
        .on("- [alpha]", place.turns("alpha", 2))
        .on("- [beta]", place.turns("beta", 3))
        .on("- [gamma]", place.turns("gamma", 0))
        .message_scale(MESSAGE_SCALE)
        .max_prompt_tokens(WINDOW_TOKENS);
    let simulator = Simulator::start(script).unwrap();

    let output = place.baton(&claude, &simulator);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{:#?}", simulator.requests());

    // Every objective is done, and what was asked for is on disk.
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let phase = &record["view"]["phases"][0];
    assert_eq!((&phase["status"], &phase["verified"]), (&"done".into(), &true.into()), "{phase:#}");
    for objective in ["alpha", "beta", "gamma"] {
        let written =
            std::fs::read_to_string(place.path("workspace").join(format!("{objective}.txt"))).unwrap();
        assert_eq!(written, format!("{objective} is written\n"));
    }
    assert_eq!(std::fs::read_to_string(place.path("workspace/beta-page-3.txt")).unwrap(), filler());

    // The first session ran out of context on the second objective, by the provider's own words.
    let asked = simulator.requests();
    let sizes: Vec<_> =
        asked.iter().map(|request| (request.results, request.prompt_tokens, &request.answered)).collect();
    let too_long = asked.iter().find(|request| request.answered == Answered::TooLong);
    assert!(too_long.is_some_and(|it| it.prompt.contains("- [beta]") && it.results > 0), "{sizes:?}\n{said}");
    let sessions = phase["sessions"].as_array().unwrap();
    let by: Vec<_> =
        phase["objectives"].as_array().unwrap().iter().map(|objective| &objective["by"]).collect();
    assert_eq!((sessions.len(), &phase["continuation"]), (2, &1.into()), "{phase:#}");
    assert_eq!(by, [&sessions[0]["id"], &sessions[1]["id"], &sessions[1]["id"]]);
    let decisions: Vec<Value> =
        place.journal("input").into_iter().filter(|row| row.to_string().contains("\"decided\"")).collect();
    assert!(decisions.iter().any(|row| row.to_string().contains("\"exhausted\"")), "{decisions:#?}");

    // The second was another process with a context of its own, and was told what the first left.
    let (groups, contexts) = (distinct("group", &place.journal("input")), place.transcripts());
    assert_eq!((groups.len(), contexts.len()), (2, 2), "groups {groups:?}, contexts {contexts:?}");
    let handoff = phase["handoffs"][0]["path"].as_str().expect("a handoff was written");
    assert!(place.path("workspace").join(handoff).is_file(), "{handoff}");
    let continued =
        simulator.requests().into_iter().rfind(|request| request.prompt.contains("- [beta]")).unwrap();
    assert!(continued.prompt.contains("- done: alpha"), "{}", continued.prompt);

    // Nobody is left.
    for group in groups {
        let group = Pid::from_raw(group.parse().unwrap()).unwrap();
        assert!(test_kill_process_group(group).is_err(), "the process group {group:?} still exists");
    }
}
