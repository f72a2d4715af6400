//! A run of a real agent: the workflow with three files to write, the script of the model that writes them, `baton` in
//! the agent's environment, and what is left of it all.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use baton_runtime::core::input::{ActionOutcome, AgentReport};
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{PhaseStatus, PhaseSummary};
use baton_runtime::core::{Input, SessionId, UnixMs};
use baton_runtime::store::{Journal, JournalEntry};
use baton_simulator::{AnswerKind, ModelTurn, Simulator};
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};
use serde_json::Value;

use crate::agent::RealAgent;
use crate::support::{JournalSummary, TestWorkspace, until};

/// With each byte of dialogue counted as two tokens, a page takes 20,000 of a window.
pub(crate) const MESSAGE_SCALE: u64 = 8;
const PAGE_BYTES: usize = 9000;

/// The objectives, in order.
pub(crate) const OBJECTIVES: [&str; 3] = ["alpha", "beta", "gamma"];

/// A `baton` that runs. Dropped, it is killed, and its guards end the agents.
pub(crate) struct BatonProcess(Child);

impl BatonProcess {
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl BatonProcess {
    /// Ctrl-C, and what comes of it.
    pub(crate) fn interrupt(mut self) {
        let host = Pid::from_child(&self.0);
        kill_process(host, Signal::INT).unwrap();
        until("baton stops", || self.0.try_wait().unwrap().is_some());
    }
}

impl Drop for BatonProcess {
    fn drop(&mut self) {
        // Where it has ended there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One agent on a stage of its own.
pub(crate) struct RealAgentFixture<'a> {
    pub(crate) agent: &'a RealAgent,
    pub(crate) stage: TestWorkspace,
    home: PathBuf,
    /// Further variables of the agent's environment.
    switches: Vec<(&'static str, &'static str)>,
    /// Variables that it lacks.
    lacking: Vec<&'static str>,
    /// The folders in which its program is looked up, where that is not left to the role.
    path: Option<OsString>,
}

impl<'a> RealAgentFixture<'a> {
    /// None where the agent is not installed. `settings` are lines for the policy.
    pub(crate) fn of(agent: &'a RealAgent, settings: &str) -> Option<Self> {
        let role = agent.role()?;
        let mut workflow = format!(
            "name = \"relay\"\ngoal = \"Three files.\"\n[roles.executor]\n{role}\n[limits]\nbackoff = \"1s\"\n\
             [policies.settings]\n{settings}\n[[phases]]\nid = \"write\"\ntitle = \"Write the three files\"\n\
             verify = \"test -s alpha.txt && test -s beta.txt && test -s gamma.txt\"\n"
        );
        for id in OBJECTIVES {
            workflow += &format!(
                "[[phases.objectives]]\nid = \"{id}\"\ndescription = \"Write {id}.txt.\"\nfiles = [\"{id}.txt\"]\n"
            );
        }
        Some(Self::on_stage(agent, &workflow))
    }

    /// This workflow on a stage of its own.
    pub(crate) fn on_stage(agent: &'a RealAgent, workflow: &str) -> Self {
        let stage = TestWorkspace::new();
        stage.write("relay.toml", workflow);
        let home = stage.path("home");
        fs::create_dir(&home).unwrap();
        Self { agent, stage, home, switches: Vec::new(), lacking: Vec::new(), path: None }
    }

    /// The same with nothing to write: three objectives that are only reported, by an agent that may do so little.
    pub(crate) fn of_reports(agent: &'a RealAgent, permission: &str) -> Option<Self> {
        let role = agent.role_with(permission)?;
        let mut workflow = format!(
            "name = \"relay\"\ngoal = \"Three reports.\"\n[roles.executor]\n{role}\n[limits]\nbackoff = \"1s\"\n\
             [[phases]]\nid = \"report\"\ntitle = \"Report three things\"\n"
        );
        for id in OBJECTIVES {
            workflow +=
                &format!("[[phases.objectives]]\nid = \"{id}\"\ndescription = \"Say that {id} is done.\"\n");
        }
        Some(Self::on_stage(agent, &workflow).with_tools())
    }

    /// The agent offers Baton's tools: Claude Code by itself or by its search, Codex always by its search.
    pub(crate) fn with_tools(self) -> Self {
        let searches = if self.agent.searches { "true" } else { "false" };
        Self { switches: vec![("ENABLE_TOOL_SEARCH", searches)], ..self }
    }

    /// With further variables in the agent's environment.
    pub(crate) fn with(mut self, switches: &[(&'static str, &'static str)]) -> Self {
        self.switches.extend_from_slice(switches);
        self
    }

    /// Without these variables in the agent's environment.
    pub(crate) fn without(mut self, names: &[&'static str]) -> Self {
        self.lacking.extend_from_slice(names);
        self
    }

    /// The agent is found on PATH by this name.
    pub(crate) fn on_path(self, name: &str) -> Self {
        let bin = self.stage.path("bin");
        fs::create_dir(&bin).unwrap();
        symlink(self.agent.program().unwrap(), bin.join(name)).unwrap();
        let mut folders = vec![bin];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        Self { path: Some(std::env::join_paths(folders).unwrap()), ..self }
    }

    /// Writes `pages` of filler and the file itself, reports the objective done, and says so.
    pub(crate) fn turns(&self, objective: &str, pages: usize) -> Vec<ModelTurn> {
        let workspace = self.workspace();
        let page = |number| workspace.join(format!("{objective}-page-{number}.txt"));
        let mut turns: Vec<ModelTurn> =
            (1..=pages).map(|number| ModelTurn::write(page(number).display(), filler())).collect();
        turns
            .push(ModelTurn::write(workspace.join(format!("{objective}.txt")).display(), content(objective)));
        let report = format!(
            "{{\"report\": \"objective-update\", \"objective\": \"{objective}\", \"status\": \"done\"}}\n"
        );
        let name = format!("{objective}.json");
        turns.push(ModelTurn::computed(move |asked| match asked.line("Report to:") {
            Some(inbox) => {
                let path = workspace.join(inbox.trim_matches('`')).join(&name);
                ModelTurn::write(path.display(), report.clone())
            }
            None => ModelTurn::say("The prompt does not say where to report."),
        }));
        turns.push(ModelTurn::say(format!("{objective} is done, as it was asked for, and reported.")));
        turns
    }

    /// Takes away what agents kept of their conversations.
    pub(crate) fn forget_conversations(&self) {
        for folder in [".claude/projects", ".codex/sessions"] {
            let folder = self.home.join(folder);
            if folder.is_dir() {
                fs::remove_dir_all(folder).unwrap();
            }
        }
    }

    fn workspace(&self) -> PathBuf {
        self.stage.workspace.canonicalize().unwrap()
    }

    /// `baton` in the agent's environment.
    pub(crate) fn command(&self, arguments: &[&str], simulator: &Simulator) -> Command {
        let mut command = self.stage.command(arguments);
        command.envs(self.agent.environment(&self.home, simulator)).envs(self.switches.iter().copied());
        for name in &self.lacking {
            command.env_remove(name);
        }
        command.envs(self.path.iter().map(|path| ("PATH", path)));
        command
    }

    /// Starts `baton` in the agent's environment.
    pub(crate) fn start(&self, arguments: &[&str], simulator: &Simulator) -> BatonProcess {
        let mut command = self.command(arguments, simulator);
        // Not a pipe: nobody reads before the end.
        let said = self.stage.write("said", "");
        let said = File::options().append(true).open(said).unwrap();
        command.stdout(Stdio::null()).stderr(said);
        BatonProcess(command.spawn().unwrap())
    }

    /// Runs it to its good end, and reads what was journaled.
    #[track_caller]
    pub(crate) fn baton(&self, arguments: &[&str], simulator: &Simulator) -> RealAgentRun {
        let mut host = self.start(arguments, simulator);
        until("baton ends", || host.0.try_wait().unwrap().is_some());
        let said = fs::read_to_string(self.stage.path("said")).unwrap();
        let asked = asked(simulator);
        assert_eq!(host.0.wait().unwrap().code(), Some(0), "\n{said}\nthe model was asked {asked:#?}");
        RealAgentRun::read(&self.stage)
    }

    /// Runs a command of `baton` in the agent's environment, and gives its exit code with what it printed.
    pub(crate) fn ended(&self, arguments: &[&str], simulator: &Simulator) -> (Option<i32>, String) {
        let mut host = self.start(arguments, simulator);
        until("baton ends", || host.0.try_wait().unwrap().is_some());
        let said = fs::read_to_string(self.stage.path("said")).unwrap();
        (host.0.wait().unwrap().code(), said)
    }

    #[track_caller]
    pub(crate) fn run(&self, simulator: &Simulator) -> RealAgentRun {
        self.baton(&["run", "relay.toml"], simulator)
    }

    /// Everything that was asked for is there, and nobody who made it.
    #[track_caller]
    pub(crate) fn expect_done(&self, run: &RealAgentRun) {
        let phase = run.phase();
        assert_eq!((phase.status, phase.verified), (PhaseStatus::Done, Some(true)), "{phase:#?}");
        for objective in OBJECTIVES {
            assert_eq!(self.stage.read(&format!("{objective}.txt")), content(objective));
        }
        assert_eq!(run.story.done().len(), OBJECTIVES.len());
        assert_eq!(self.left(&run.groups), [""; 0]);
    }

    /// What `progress.json` says of each objective.
    pub(crate) fn progress(&self) -> Vec<(String, String)> {
        let mut folders = vec![self.stage.workspace.clone()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                match path.is_dir() {
                    true => folders.push(path),
                    false if path.ends_with("progress.json") => found.push(path),
                    false => {}
                }
            }
        }
        let [progress] = found.as_slice() else { panic!("{found:?} are progress") };
        let progress: Value = serde_json::from_slice(&fs::read(progress).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let phases = progress["phases"].as_array().unwrap();
        let objectives = phases.iter().flat_map(|phase| phase["objectives"].as_array().unwrap());
        objectives.map(|objective| (text(&objective["id"]), text(&objective["status"]))).collect()
    }

    /// The settings of Codex, as they are by now; empty where it has none.
    pub(crate) fn settings_of_codex(&self) -> String {
        fs::read_to_string(self.home.join(".codex/config.toml")).unwrap_or_default()
    }

    /// What is left of these groups, and of whatever left them: what works in the workspace, or has the agent's home.
    pub(crate) fn left(&self, groups: &BTreeSet<i32>) -> Vec<String> {
        let home = format!("HOME={}", self.home.display());
        let alive = |group: &&i32| {
            let group = Pid::from_raw(**group).unwrap();
            test_kill_process_group(group).is_ok()
        };
        let mut left = self.stage.processes();
        left.extend(with_variable(&home));
        left.extend(groups.iter().filter(alive).map(|group| format!("process group {group}")));
        left
    }
}

/// Processes that were given this variable.
fn with_variable(variable: &str) -> Vec<String> {
    let given = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|given| given == variable.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(given).map(|process| format!("{} has {variable}", process.display())).collect()
}

/// A run as its journal tells it.
pub(crate) struct RealAgentRun {
    pub(crate) story: JournalSummary,
    /// Process groups of its sessions.
    pub(crate) groups: BTreeSet<i32>,
    /// Everything that was reported, and by which session where that is known.
    pub(crate) reports: Vec<(Option<SessionId>, AgentReport)>,
}

impl RealAgentRun {
    #[track_caller]
    pub(crate) fn read(stage: &TestWorkspace) -> Self {
        let state = stage.state();
        let journal = Journal::open_read_only(&state).unwrap();
        let run = journal.latest().unwrap().expect("a run").run;
        let (mut groups, mut reports) = (BTreeSet::new(), Vec::new());
        for entry in journal.read(&run).unwrap() {
            let JournalEntry::Input(stamped) = entry.unwrap() else { continue };
            match stamped.input {
                Input::Outcome { outcome: ActionOutcome::Spawned { group, .. }, .. } => {
                    groups.insert(i32::try_from(group).unwrap());
                }
                Input::Reported { session, report, .. } => reports.push((session, report)),
                _ => {}
            }
        }
        Self { story: JournalSummary::read(&state), groups, reports }
    }

    pub(crate) fn phase(&self) -> &PhaseSummary {
        &self.story.view.phases[0]
    }

    /// So many sessions, each a process of its own, and so many of them continuations.
    #[track_caller]
    pub(crate) fn expect_sessions(&self, sessions: usize, continuations: u32) {
        let phase = self.phase();
        assert_eq!(
            (phase.sessions.len(), self.groups.len(), phase.continuation),
            (sessions, sessions, continuations),
            "{:#?}",
            self.key_events()
        );
    }

    /// Verdicts by which sessions stopped before they were done, each with what it rests on.
    pub(crate) fn stops(&self) -> Vec<(String, String)> {
        let stop = |notice: &ProgressEvent| match notice {
            ProgressEvent::Stopped { verdict, evidence, .. } => {
                let said = evidence.iter().map(|evidence| evidence.text.as_str()).collect::<Vec<_>>();
                Some((verdict.clone(), said.join("\n")))
            }
            _ => None,
        };
        self.story.notices.iter().filter_map(stop).collect()
    }

    /// Until when each limit was waited for, by the agent itself or by the host.
    pub(crate) fn waits(&self) -> Vec<Option<UnixMs>> {
        let wait = |notice: &ProgressEvent| match notice {
            ProgressEvent::QuotaWait { until, .. } => Some(*until),
            _ => None,
        };
        self.story.notices.iter().filter_map(wait).collect()
    }

    /// The notices without the many that tell of turns.
    pub(crate) fn key_events(&self) -> Vec<&ProgressEvent> {
        let is_turn = |notice: &&ProgressEvent| {
            !matches!(notice, ProgressEvent::Turn { .. } | ProgressEvent::Activity { .. })
        };
        self.story.notices.iter().filter(is_turn).collect()
    }
}

/// What the model was asked and how it answered, in short.
pub(crate) fn asked(simulator: &Simulator) -> Vec<(usize, u64, AnswerKind)> {
    let requests = simulator.requests().into_iter();
    requests.map(|request| (request.results, request.prompt_tokens, request.answered)).collect()
}

/// How many requests were answered so.
pub(crate) fn count(simulator: &Simulator, answered: &AnswerKind) -> usize {
    simulator.requests().iter().filter(|request| request.answered == *answered).count()
}

pub(crate) fn filler() -> String {
    let line = "A line of filler, as long as a line of prose tends to be in a file.\n";
    line.repeat(PAGE_BYTES / line.len())
}

fn content(objective: &str) -> String {
    format!("{objective} is written\n")
}
