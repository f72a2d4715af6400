//! What the tests share: a workspace, a launch, and a session that is read with patience.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use baton_agents::{AgentHandle, AgentLaunch, DriverEvent, SpawnError, SpawnedAgent, spawn};
use baton_core::action::SpawnSpec;
use baton_core::facts::{AgentEvent, ErrorSignal, ProcessExit, TokenUsage};
use baton_core::workflow::{AgentKind, Role};
use baton_core::{SessionId, WorktreeName};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// How long a test waits for an expected event. Only a failure takes this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test's future.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test);
}

/// A folder with a workspace, a session folder and programs.
pub(crate) struct AgentTestDir {
    path: PathBuf,
    /// Deleted when the test that made it ends.
    _folder: Option<TempDir>,
}

impl AgentTestDir {
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("baton-agents-").unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        Self { path: folder.path().canonicalize().unwrap(), _folder: Some(folder) }
    }

    /// Another process's.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, _folder: None }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path().join("workspace")
    }

    pub(crate) fn session_dir(&self) -> PathBuf {
        self.path().join("sessions/s1")
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A shell script in the place of Claude Code.
    pub(crate) fn script(&self, body: &str) -> AgentLaunch {
        self.program(AgentKind::Claude, body)
    }

    /// A shell script in the place of an agent's program.
    pub(crate) fn program(&self, agent: AgentKind, body: &str) -> AgentLaunch {
        let program = self.executable(body);
        let mut launch = self.launch(agent);
        launch.role.program = Some(program);
        launch
    }

    /// A shell script as the command of an agent of a kind that has one (`acp`, `process`).
    pub(crate) fn command(&self, kind: &str, body: &str, args: &str) -> AgentLaunch {
        let program = self.executable(body);
        self.launch(format!("{kind}:{program} {args}").parse().unwrap())
    }

    fn executable(&self, body: &str) -> String {
        let program = self.write("agent", &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program.to_str().unwrap().to_owned()
    }

    /// The rehearsal with this script.
    pub(crate) fn rehearsal(&self, script: &str) -> AgentLaunch {
        let mut launch = self.launch(AgentKind::Rehearsal);
        launch.role.script = Some(self.write("rehearsal.toml", script).to_str().unwrap().to_owned());
        launch
    }

    pub(crate) fn launch(&self, agent: AgentKind) -> AgentLaunch {
        let own_exe = std::env::current_exe().unwrap();
        AgentLaunch {
            spec: SpawnSpec {
                session: SessionId::new("s1"),
                phase: "1".into(),
                role: "executor".into(),
                agent: agent.clone(),
                continuation: 0,
                max_turns: 0,
                turn_ceiling: 0,
                checks: Vec::new(),
                conversation: None,
                continues: None,
                billed_before: TokenUsage::default(),
                tree: WorktreeName::workspace(),
            },
            role: Role::of(agent),
            workspace: self.workspace(),
            guard: vec![own_exe.clone().into(), "__guard".into()],
            own_exe,
            session_dir: self.session_dir(),
            mask: |text| text.into(),
            inherit: BTreeMap::from([(OsString::from("PATH"), std::env::var_os("PATH").unwrap())]),
            tools: None,
            mcp_servers: Vec::new(),
        }
    }

    /// The processes that still run in the workspace, wherever they put themselves.
    pub(crate) fn left(&self) -> Vec<u32> {
        running_in(&self.workspace())
    }

    /// Nothing runs in the workspace.
    pub(crate) fn is_quiet(&self) {
        assert_eq!(self.left(), Vec::<u32>::new(), "processes were left behind");
    }

    /// Waits until nothing runs in the workspace.
    pub(crate) fn wait_until_nothing_is_left(&self) {
        wait_for("the end of every process", || self.left().is_empty());
    }
}

impl Drop for AgentTestDir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.is_quiet();
        }
    }
}

fn running_in(folder: &Path) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    // A zombie has no working directory any more, so it does not count.
    ids.filter(|id| fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .collect()
}

/// Waits for something that must come.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A session under way.
pub(crate) struct AgentTestSession {
    pub(crate) handle: AgentHandle,
    pub(crate) spawned: SpawnedAgent,
    pub(crate) events: mpsc::Receiver<(SessionId, DriverEvent)>,
}

impl AgentTestSession {
    pub(crate) async fn start(launch: AgentLaunch) -> Self {
        Self::start_with(launch, 64).await.unwrap()
    }

    pub(crate) async fn start_with(launch: AgentLaunch, capacity: usize) -> Result<Self, SpawnError> {
        let (to, events) = mpsc::channel(capacity);
        let (handle, spawned) = spawn(launch, None, to).await?;
        Ok(Self { handle, spawned, events })
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> DriverEvent {
        let event = tokio::time::timeout(PATIENCE, self.events.recv()).await.expect("an event in time");
        event.expect("an event before the end").1
    }

    /// Everything up to the first event that is wanted.
    pub(crate) async fn until(&mut self, is_wanted: impl Fn(&AgentEvent) -> bool) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                DriverEvent::Event(event) => {
                    let last = is_wanted(&event);
                    events.push(event);
                    if last {
                        return events;
                    }
                }
                DriverEvent::Exited(exit) => panic!("the agent ended first ({exit:?}), after {events:#?}"),
            }
        }
    }

    /// Waits until it takes prompts.
    pub(crate) async fn ready(&mut self) {
        self.until(|event| matches!(event, AgentEvent::Ready { .. })).await;
    }

    /// Sends a prompt and takes everything up to its end.
    pub(crate) async fn prompt(&mut self, text: &str) -> Vec<AgentEvent> {
        self.handle.prompt(text.to_owned()).await.unwrap();
        self.until(|event| matches!(event, AgentEvent::PromptEnded { .. })).await
    }

    /// Everything up to the end of the process, and how it ended.
    pub(crate) async fn rest(&mut self) -> (Vec<AgentEvent>, ProcessExit) {
        let mut events = Vec::new();
        loop {
            match self.next().await {
                DriverEvent::Event(event) => events.push(event),
                DriverEvent::Exited(exit) => return (events, exit),
            }
        }
    }

    /// Ends it and takes the rest.
    pub(crate) async fn end(mut self) -> ProcessExit {
        self.handle.end(PATIENCE).await;
        self.rest().await.1
    }
}

/// The signals among events.
pub(crate) fn signals(events: &[AgentEvent]) -> Vec<&ErrorSignal> {
    events
        .iter()
        .filter_map(|event| if let AgentEvent::Signal(signal) = event { Some(signal) } else { None })
        .collect()
}

/// The answer among events.
pub(crate) fn text(events: &[AgentEvent]) -> String {
    events
        .iter()
        .filter_map(|event| if let AgentEvent::Text { text } = event { Some(text.as_str()) } else { None })
        .collect()
}

/// Stop reason and error of the prompt that ended.
pub(crate) fn ended(events: &[AgentEvent]) -> (&str, bool) {
    match events.last() {
        Some(AgentEvent::PromptEnded { stop_reason, is_error }) => (stop_reason, *is_error),
        other => panic!("no prompt ended: {other:?}"),
    }
}

/// The fill of the window, as reported.
pub(crate) fn fills(events: &[AgentEvent]) -> Vec<u64> {
    let used = |event: &AgentEvent| match event {
        AgentEvent::Occupancy { used_tokens, .. } => *used_tokens,
        _ => None,
    };
    events.iter().filter_map(used).collect()
}
