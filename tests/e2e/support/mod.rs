//! What the end-to-end suites share: a stage with a workspace, the built `baton` on it, and its journal read back. Asserts
//! nothing about a run by itself.

#![allow(dead_code, unreachable_pub)] // A module of several suites; each uses its own part.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use baton_runtime::core::input::ArtifactRef;
use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunView;
use baton_runtime::core::{Action, Input, ObjectiveId, Run, SessionId};
use baton_runtime::store::{ArtifactStore, Journal, JournalEntry, StateDir};
use rustix::process::{Pid, Signal};

/// Nothing that these suites wait for takes a tenth of this on an idle machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A folder with a workflow, a workspace and a state directory of its own.
pub struct TestWorkspace {
    dir: tempfile::TempDir,
    /// Where the agents work.
    pub workspace: PathBuf,
}

/// A command that has ended.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit code; absent where a signal ended it.
    pub code: Option<i32>,
    /// Data.
    pub stdout: String,
    /// Progress and errors.
    pub stderr: String,
}

impl From<Output> for CommandOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

impl CommandOutput {
    /// Checks the exit code, and shows everything where it is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Checks that the error names all of this.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in:\n{}", self.stderr);
        }
        self
    }
}

impl TestWorkspace {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("baton-e2e-").tempdir().unwrap();
        let workspace = dir.path().join("work");
        fs::create_dir(&workspace).unwrap();
        Self { dir, workspace }
    }

    /// The quickstart as it is handed out, without its pauses for the eye.
    pub fn quickstart() -> Self {
        Self::example("quickstart")
    }

    /// An example as it is handed out, without its pauses for the eye.
    pub fn example(name: &str) -> Self {
        let stage = Self::new();
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
        let read = |name: &str| fs::read_to_string(examples.join(name)).unwrap();
        stage.write(&format!("{name}.toml"), read(&format!("{name}.toml")));
        let script_name = format!("{name}.rehearsal.toml");
        let script = read(&script_name);
        let fast: String = script
            .lines()
            .map(|line| match line {
                _ if line.starts_with("pace_ms") => "pace_ms = 0\n".to_owned(),
                _ if line.contains("resets_in_ms") => line.replace("4000", "20") + "\n",
                _ => format!("{line}\n"),
            })
            .collect();
        assert_ne!(fast, script);
        stage.write(&script_name, &fast);
        stage
    }

    /// Makes the workspace a git repository on the branch `main`, and commits what is in it.
    pub fn make_repository(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    }

    /// What git says in the workspace, as somebody of no name.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Nobody", "-c", "user.email=nobody@localhost"])
            .args(arguments)
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the workspace holds, without what git keeps and what Baton projects into it.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut folders = vec![self.workspace.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.file_name().is_some_and(|name| name == ".baton" || name == ".git") {
                    continue;
                }
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        let name = path.strip_prefix(&self.workspace).unwrap().display().to_string();
                        found.push((name, fs::read_to_string(&path).unwrap()));
                    }
                }
            }
        }
        found.sort();
        found
    }

    /// A job of one phase with the objectives of a rehearsal script, each a list of steps. `limits` are lines of that
    /// table; waits are as short as a workflow may have them.
    pub fn job(objectives: &[(&str, &str)], limits: &str) -> Self {
        let stage = Self::new();
        let mut workflow = format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nscript = \"script.toml\"\n\
             [limits]\nbackoff = \"0s\"\n{limits}\n[[phases]]\nid = \"only\"\n"
        );
        let mut script = "window_tokens = 100000\n".to_owned();
        for (id, steps) in objectives {
            workflow += &format!(
                "[[phases.objectives]]\nid = \"{id}\"\ndescription = \"Write {id}.txt.\"\nfiles = [\"{id}.txt\"]\n"
            );
            script += &format!("[objectives.{id}]\nsteps = [{steps}]\n");
        }
        stage.write("job.toml", &workflow);
        stage.write("script.toml", &script);
        stage
    }

    /// A job of one objective, whose agent is this shell script instead of Claude Code.
    pub fn job_of_program(script: &str) -> Self {
        let stage = Self::job(&[("a", "")], "retries = 1\nheartbeat = \"100ms\"");
        let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
        let role = "agent = \"claude\"\nprogram = \"./agent.sh\"";
        stage.write("job.toml", workflow.replace("script = \"script.toml\"", role));
        let starts = stage.path("starts");
        let script = format!("#!/bin/sh\necho \"$$\" >> '{}'\n{script}\n", starts.display());
        let program = stage.write("agent.sh", script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        stage
    }

    /// How often the shell script was started.
    pub fn starts(&self) -> usize {
        fs::read_to_string(self.path("starts")).map_or(0, |starts| starts.lines().count())
    }

    /// A file beside the workflow.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A path beside the workflow.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file of the workspace.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        let path = self.workspace.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// `baton` with these arguments, on this stage, in a clean environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        let placed = [
            "do",
            "run",
            "save",
            "log",
            "runs",
            "diff",
            "resume",
            "attach",
            "stop",
            "answer",
            "status",
            "report",
            "artifacts",
            "gc",
            "undo",
            "import",
        ];
        if arguments.first().is_some_and(|first| placed.contains(first)) {
            command.arg("--workspace").arg(&self.workspace).arg("--state-dir").arg(self.state_root());
        }
        command
    }

    /// A copy of `baton` beside the workflow. Another process writes it: what a test beside this one forks meanwhile would keep it open for
    /// writing, and nobody could start it then.
    pub fn copy_of_baton(&self, name: &str) -> PathBuf {
        let copy = self.path(name);
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_baton")).arg(&copy).status().unwrap();
        assert!(copied.success(), "{}", copy.display());
        copy
    }

    /// Another program in the clean environment of this command.
    pub fn program_beside(&self, command: &Command, program: impl AsRef<OsStr>) -> Command {
        let mut beside = Command::new(program);
        beside.current_dir(self.dir.path()).env_clear().stdin(Stdio::null());
        beside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        beside
    }

    /// Runs it to its end.
    #[track_caller]
    pub fn baton(&self, arguments: &[&str]) -> CommandOutput {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs it to its end with one more variable.
    pub fn baton_with(&self, arguments: &[&str], name: &str, value: &str) -> CommandOutput {
        self.command(arguments).env(name, value).output().unwrap().into()
    }

    /// Starts it, with its output kept.
    pub fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Shared by all stages, so that the built-in policy is compiled once; each workspace has a folder of its own in it.
    pub fn state_root(&self) -> PathBuf {
        let root = self.state_home().join("baton");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&root).unwrap();
        root
    }

    /// What `XDG_STATE_HOME` is to name, so that a command without `--state-dir` has what the others compiled.
    pub fn state_home(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("baton-e2e-state")
    }

    /// Where the state of this workspace is; the workspace must be there.
    pub fn state(&self) -> StateDir {
        StateDir::open(&self.state_root(), &self.workspace).unwrap()
    }

    /// The newest run, told from its journal.
    #[track_caller]
    pub fn story(&self) -> JournalSummary {
        JournalSummary::read(&self.state())
    }

    /// Whether the newest run has begun a session of this phase.
    pub fn has_sessions_of(&self, phase: &str) -> bool {
        let begun = |story: JournalSummary| {
            story.view.phases.iter().any(|seen| seen.id.as_str() == phase && !seen.sessions.is_empty())
        };
        self.has_run() && begun(self.story())
    }

    /// The inputs of the newest run, in order.
    #[track_caller]
    pub fn inputs(&self) -> Vec<Input> {
        let journal = Journal::open_read_only(&self.state()).unwrap();
        let run = journal.latest().unwrap().expect("a run").run;
        let input = |entry| match entry {
            JournalEntry::Input(stamped) => Some(stamped.input),
            JournalEntry::Intent { .. } => None,
        };
        journal.read(&run).unwrap().map(Result::unwrap).filter_map(input).collect()
    }

    /// Whether a run of the workspace is in the journal.
    pub fn has_run(&self) -> bool {
        let state = self.state();
        state.journal().exists() && Journal::open_read_only(&state).unwrap().latest().unwrap().is_some()
    }

    /// Every version of every artifact of the newest run.
    pub fn artifacts(&self) -> Vec<ArtifactRef> {
        let state = self.state();
        let run = Journal::open_read_only(&state).unwrap().latest().unwrap().expect("a run").run;
        let store = ArtifactStore::open_read_only(&state).unwrap();
        store.list(&run).unwrap().into_iter().map(|saved| saved.artifact).collect()
    }

    /// The one process of this stage that was started as `baton` with this command.
    #[track_caller]
    pub fn process(&self, command: &str) -> Pid {
        let started = format!("{} {command} ", env!("CARGO_BIN_EXE_baton"));
        let of_command =
            |line: &String| line.split_once(' ').is_some_and(|(_, line)| line.starts_with(&started));
        let found: Vec<String> = self.processes().into_iter().filter(of_command).collect();
        let [one] = found.as_slice() else { panic!("{found:?} are {command}") };
        let pid = one.split(' ').next().and_then(|pid| pid.parse().ok());
        pid.and_then(Pid::from_raw).unwrap()
    }

    /// Processes that work in the workspace, or were started for it. Agents and what they start inherit the folder.
    pub fn processes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let proc = entry.path();
            let here = fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.workspace));
            let command = fs::read(proc.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            // A zombie has no command line, and does nothing any more.
            if pid != std::process::id() && !command.is_empty() && here {
                found.push(format!("{pid} {command}"));
            }
        }
        found
    }

    /// Whether a process has said that it minds an interrupt itself.
    pub fn handles_interrupts(&self, process: u32) -> bool {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        // The mask has a bit for each signal, from 1.
        caught & (1 << (Signal::INT.as_raw() - 1)) != 0
    }

    /// Waits until none of them is left.
    #[track_caller]
    pub fn expect_no_process(&self) {
        until("no process is left", || self.processes().is_empty());
    }
}

impl Drop for TestWorkspace {
    fn drop(&mut self) {
        // The workspace may have been deleted by an agent; its state is then left to the next `cargo clean`.
        if let Ok(state) = StateDir::open(&self.state_root(), &self.workspace) {
            let _ = fs::remove_dir_all(state.path());
        }
    }
}

/// Waits for something that is about to happen.
#[track_caller]
pub fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let started = Instant::now();
    while !happened() {
        assert!(started.elapsed() < TIMEOUT, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A run as its journal tells it.
pub struct JournalSummary {
    /// Where it stands after the last entry.
    pub view: RunView,
    /// Everything that was told, in order.
    pub notices: Vec<ProgressEvent>,
    /// Every prompt: to whom, about what, and which of it was done already by then.
    pub prompts: Vec<SentPrompt>,
    /// Entries in the journal.
    pub entries: usize,
}

/// A prompt that was sent, or about to be.
#[derive(Debug)]
pub struct SentPrompt {
    pub session: SessionId,
    pub focus: Vec<ObjectiveId>,
    pub already_done: Vec<ObjectiveId>,
}

impl JournalSummary {
    #[track_caller]
    pub fn read(state: &StateDir) -> Self {
        let journal = Journal::open_read_only(state).unwrap();
        let run = journal.latest().unwrap().expect("a run").run;
        let (mut folded, mut notices, mut prompts, mut entries) = (Run::new(), Vec::new(), Vec::new(), 0);
        let mut last = Default::default();
        for entry in journal.read(&run).unwrap() {
            let entry = entry.unwrap();
            entries += 1;
            last = entry.at();
            let JournalEntry::Input(stamped) = entry else { continue };
            // Done before this input: what is finished by the very input that leads to a prompt would be its mistake.
            let done = done(&folded.view(last));
            let finishing = matches!(stamped.input, Input::Reported { .. });
            for intent in folded.apply(&stamped).unwrap() {
                match intent.action {
                    Action::Notify(notice) => notices.push(notice),
                    Action::Prompt { session, focus, .. } => {
                        assert!(!finishing, "a report alone leads to no prompt");
                        let already_done = focus.iter().filter(|id| done.contains(id)).cloned().collect();
                        prompts.push(SentPrompt { session, focus, already_done });
                    }
                    _ => {}
                }
            }
        }
        Self { view: folded.view(last).expect("a run that has started"), notices, prompts, entries }
    }

    /// Objectives that are done.
    pub fn done(&self) -> Vec<ObjectiveId> {
        done(&Some(self.view.clone()))
    }

    /// How many notices fit.
    pub fn count(&self, fits: impl Fn(&ProgressEvent) -> bool) -> usize {
        self.notices.iter().filter(|notice| fits(notice)).count()
    }
}

fn done(view: &Option<RunView>) -> Vec<ObjectiveId> {
    let phases = view.iter().flat_map(|view| &view.phases);
    phases
        .flat_map(|phase| &phase.objectives)
        .filter(|objective| objective.status == ObjectiveStatus::Done)
        .map(|objective| objective.id.clone())
        .collect()
}
