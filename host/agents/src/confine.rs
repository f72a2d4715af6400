//! What a boundary needs to know of an agent: its program, its settings, what of its tree must stay as it is. And what is
//! refused in a boundary, among the agent's other events.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use baton_core::SessionId;
use baton_core::action::SpawnSpec;
use baton_core::facts::AgentEvent;
use baton_core::workflow::{AgentKind, Role, RoleServer, Sandbox};
use baton_sandbox::{Beside, Boundary, Refused, Settings, Wanted, found_on};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use crate::launch::{DriverEvent, SpawnError};
use crate::program;

/// Folders and files by which others are made to run commands: git's, Baton's, and those of agents. By an edit in one of
/// them an agent would do more than edit: at the next start, or outside of its permission. Compared without regard to
/// capitals, since there are file systems that have none.
pub(crate) const SETTINGS: [&str; 22] = [
    ".aider.conf.yml",
    ".amp",
    ".augment",
    ".baton",
    ".claude",
    ".claude.json",
    ".cline",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".cursor",
    ".factory",
    ".gemini",
    ".git",
    ".goose",
    ".kiro",
    ".mcp.json",
    ".opencode",
    ".qwen",
    "baton.toml",
    "opencode.json",
];

/// Of a repository: its settings, and what makes it another one. Its objects, its index and its branches are the work's.
const REPOSITORY: [&str; 7] = [
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info",
    ".git/modules",
    ".git/worktrees",
    ".git/commondir",
];
/// The folder of Baton's, in which agents report.
const OWN: &str = ".baton";
/// Packages of programs that are installed with npm.
const PACKAGES: &str = "node_modules";
/// What Claude Code reads of its folder.
const OF_CLAUDE: [&str; 9] = [
    ".credentials.json",
    "settings.json",
    "CLAUDE.md",
    "agents",
    "commands",
    "skills",
    "plugins",
    "output-styles",
    "rules",
];
/// What Codex reads of its folder.
const OF_CODEX: [&str; 7] =
    ["auth.json", "config.toml", "AGENTS.md", "prompts", "rules", "skills", "managed_config.toml"];
/// What is taken over of Claude Code's own file: who has logged in, and that nobody is to be welcomed.
const OF_CLAUDE_JSON: [&str; 5] =
    ["oauthAccount", "userID", "hasCompletedOnboarding", "customApiKeyResponses", "hasAvailableSubscription"];

/// A boundary, and what is heard from it.
#[derive(Debug)]
pub struct Confined {
    /// Ends with the agent.
    pub boundary: Boundary,
    /// What is refused in it.
    pub refused: Refused,
}

/// Where a boundary is made, and for what.
#[derive(Clone, Debug)]
pub struct Ground<'a> {
    /// The folder that is worked in.
    pub tree: &'a Path,
    /// The workspace of the run, of which the tree may be a copy.
    pub workspace: &'a Path,
    /// A folder for this boundary alone.
    pub folder: PathBuf,
    /// Where an agent keeps its conversations, which outlive the session; nowhere where absent.
    pub conversations: Option<PathBuf>,
    /// This program.
    pub own_exe: &'a Path,
    /// The environment of the host.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Folders of the host's that nobody inside sees.
    pub hidden: Vec<PathBuf>,
}

impl<'a> Ground<'a> {
    fn variable(&self, name: &str) -> Option<&'a OsStr> {
        self.environment.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    fn home(&self) -> Option<&'a Path> {
        self.variable("HOME").map(Path::new).filter(|home| home.is_absolute() && home.parent().is_some())
    }

    /// What a command of the workflow needs to be confined. It is no agent, and has no settings.
    pub fn for_command(self, sandbox: &'a Sandbox) -> Wanted<'a> {
        let targets = sandbox.network.clone().unwrap_or_default();
        self.wanted(sandbox, targets)
    }

    /// What an agent needs.
    ///
    /// # Errors
    /// As for [`spawn`](crate::spawn), where its program is not there.
    pub fn for_agent(self, spec: &SpawnSpec, role: &'a Role) -> Result<Wanted<'a>, SpawnError> {
        let path = self.variable("PATH");
        let mut programs = vec![program::resolve(spec, role, self.own_exe, path)?];
        programs.extend(role.script.iter().map(PathBuf::from));
        let of_agent = spec.agent.command().map(|command| command.args()).unwrap_or_default();
        programs.extend(of_agent.iter().chain(&role.args).filter(|word| is_package(word)).map(PathBuf::from));
        programs.extend(role.mcp.values().flat_map(|server| of_server(server, path)));
        let settings = self.settings(&spec.agent);
        let mounts = is_called(&spec.agent, "codex");
        let wanted = self.wanted(&role.sandbox, role.sandbox.targets(&spec.agent));
        Ok(Wanted { programs, settings, mounts, ..wanted })
    }

    fn wanted(self, sandbox: &'a Sandbox, targets: Vec<baton_core::workflow::Target>) -> Wanted<'a> {
        let (home, path) = (self.home(), self.variable("PATH"));
        let protect = self.protected(sandbox);
        let mut planted = protect.clone();
        // A bare repository among the files is one for whoever runs git there next; without its HEAD it is none.
        planted.push(PathBuf::from("HEAD"));
        if !self.tree.join(".git").exists() {
            planted.push(PathBuf::from(".git"));
        }
        let beside = self.repository();
        Wanted {
            sandbox,
            targets,
            tree: self.tree,
            folder: self.folder,
            own_exe: self.own_exe,
            home,
            path,
            programs: Vec::new(),
            settings: Vec::new(),
            protect,
            planted,
            beside,
            hidden: self.hidden,
            mounts: false,
        }
    }

    /// What stays as it is in the tree: what others would run or be judged by.
    fn protected(&self, sandbox: &Sandbox) -> Vec<PathBuf> {
        let is_repository = self.tree.join(".git").is_dir();
        let of_agents = SETTINGS.iter().filter(|name| **name != OWN && !(is_repository && **name == ".git"));
        let of_repository = REPOSITORY.iter().filter(|path| is_repository || !path.starts_with(".git/"));
        let of_workflow = sandbox.protect.iter().map(Path::new).filter_map(|file| {
            let within = file.strip_prefix(self.tree).or_else(|_| file.strip_prefix(self.workspace)).ok()?;
            let is_plain = within.components().all(|part| matches!(part, Component::Normal(_)));
            (is_plain && !within.as_os_str().is_empty()).then(|| within.to_owned())
        });
        let mut paths: Vec<PathBuf> =
            of_agents.chain(of_repository).map(PathBuf::from).chain(of_workflow).collect();
        // A link leads to what is really read. The link itself cannot be held; one that is exchanged is put back.
        let real = |path: &PathBuf| {
            let real = self.tree.join(path).canonicalize().ok()?;
            Some(real.strip_prefix(self.tree).ok()?.to_owned()).filter(|real| !real.as_os_str().is_empty())
        };
        let real: Vec<PathBuf> = paths.iter().filter_map(real).collect();
        paths.extend(real);
        paths.sort();
        paths.dedup();
        paths
    }

    /// The repository of a work tree, which lies in the workspace: what a commit on a branch of the run writes can be written,
    /// and the rest only be read.
    fn repository(&self) -> Vec<Beside> {
        // The host has just written it, where it was changed.
        let link = std::fs::read_to_string(self.tree.join(".git")).unwrap_or_default();
        let own = link.strip_prefix("gitdir: ").map(|path| Path::new(path.trim_end()));
        let worktrees = Path::new(".git/worktrees");
        let Some(own) = own.and_then(|own| own.strip_prefix(self.workspace).ok()) else { return Vec::new() };
        if own.parent() != Some(worktrees) {
            return Vec::new();
        }
        let beside = |path: PathBuf, writable| Beside { root: self.workspace.to_owned(), path, writable };
        let branches = ["objects", "refs/heads/baton", "logs/refs/heads/baton"];
        let written = branches.map(|path| beside(Path::new(".git").join(path), true));
        let fixed = ["gitdir", "commondir", "config.worktree", "locked"];
        std::iter::once(beside(PathBuf::from(".git"), false))
            .chain(written)
            .chain([beside(own.to_owned(), true)])
            .chain(fixed.map(|name| beside(own.join(name), false)))
            .collect()
    }

    fn settings(&self, agent: &AgentKind) -> Vec<Settings> {
        let Some(home) = self.home() else { return Vec::new() };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        if is_called(agent, "claude") {
            let file = home.join(".claude.json");
            let text = std::fs::read(&file).unwrap_or_default();
            let made = Some((file, ".claude.json".to_owned(), taken_over(&text)));
            let folder = home.join(".claude");
            let kept = self.conversations.clone().map(|folder| ("projects", folder));
            let (files, variable) = (names(&OF_CLAUDE), "CLAUDE_CONFIG_DIR");
            return vec![Settings { folder, files, variable, kept, made }];
        }
        if is_called(agent, "codex") {
            let moved = self.variable("CODEX_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
            let folder = moved.unwrap_or_else(|| home.join(".codex"));
            let kept = self.conversations.clone().map(|folder| ("sessions", folder));
            let (files, variable) = (names(&OF_CODEX), "CODEX_HOME");
            return vec![Settings { folder, files, variable, kept, made: None }];
        }
        Vec::new()
    }
}

/// Whether it is this agent, or its adapter.
fn is_called(agent: &AgentKind, name: &str) -> bool {
    match agent {
        AgentKind::Claude => name == "claude",
        AgentKind::Codex => name == "codex",
        AgentKind::Acp { command } => {
            let words = std::iter::once(command.program()).chain(command.args().iter().map(String::as_str));
            words.flat_map(|word| word.rsplit('/').take(4)).any(|part| part.contains(name))
        }
        AgentKind::Process { .. } | AgentKind::Rehearsal => false,
    }
}

/// What of Claude Code's file the session gets: nothing of other projects, and no servers that start programs.
fn taken_over(text: &[u8]) -> String {
    let whole: Map<String, Value> = serde_json::from_slice(text).unwrap_or_default();
    let kept = whole.into_iter().filter(|(key, _)| OF_CLAUDE_JSON.contains(&key.as_str()));
    Value::Object(kept.collect()).to_string()
}

fn of_server(server: &RoleServer, path: Option<&OsStr>) -> Vec<PathBuf> {
    let Some((program, args)) = server.command.split_first() else { return Vec::new() };
    let program = found_on(path, program);
    program.into_iter().chain(args.iter().filter(|word| is_package(word)).map(PathBuf::from)).collect()
}

/// A whole path of a program's packages. Other arguments are no program, and a workflow could name any file by them.
fn is_package(word: &str) -> bool {
    let path = Path::new(word);
    path.is_absolute() && path.components().any(|part| part.as_os_str() == PACKAGES)
}

/// Puts what is refused among the agent's events. Gives where its driver sends those; its end comes last, and the boundary
/// ends with it.
pub(crate) fn join(
    confined: Confined,
    session: SessionId,
    to: mpsc::Sender<(SessionId, DriverEvent)>,
) -> mpsc::Sender<(SessionId, DriverEvent)> {
    let (events, mut taken) = mpsc::channel::<(SessionId, DriverEvent)>(1);
    tokio::spawn(async move {
        let Confined { boundary, mut refused } = confined;
        let event = |refusal| (session.clone(), DriverEvent::Event(AgentEvent::Refused(refusal)));
        loop {
            tokio::select! {
                biased;
                Some(refusal) = refused.recv() => drop(to.send(event(refusal)).await),
                told = taken.recv() => {
                    let Some(told) = told else { break };
                    if matches!(told.1, DriverEvent::Exited(_)) {
                        // What was asked for before the end is told before it.
                        while let Ok(refusal) = refused.try_recv() {
                            let _ = to.send(event(refusal)).await;
                        }
                        for refusal in boundary.sweep() {
                            let _ = to.send(event(refusal)).await;
                        }
                        drop(boundary);
                        let _ = to.send(told).await;
                        break;
                    }
                    if to.send(told).await.is_err() {
                        break;
                    }
                }
            }
        }
    });
    events
}
