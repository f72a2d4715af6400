//! Data of an agent for its boundary: its program, its settings, the protected paths of its tree. Also merges the refusals of a
//! boundary into the agent's other events.

mod command_settings;
mod git_paths;
mod git_settings;
mod linked_targets;
mod made_paths;
mod shared_packs;
mod tree_repositories;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use baton_core::SessionId;
use baton_core::action::SpawnSpec;
use baton_core::facts::AgentEvent;
use baton_core::git_link;
use baton_core::workflow::{AgentKind, Role, RoleServer, Sandbox, SandboxLevel};
use baton_sandbox::{
    Boundary, BoundaryRequest, ExternalMount, LinkWalk, PACKAGES, RefusalReceiver, RemainingPaths,
    SettingsFolder, WatchedPaths, found_on, listed_paths, make_listable,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

pub(crate) use self::command_settings::{CLAUDE_WORK_TREES, COMMAND_SETTINGS, is_command_setting};
use self::git_paths::{
    GIT_FOLDERS_TO_CREATE, LINK_FREE_GIT_PATHS, LINK_FREE_OBJECT_PATHS, PINNED_GIT_PATHS,
    PROTECTED_GIT_PATHS, PROTECTED_OBJECT_PATHS, RUN_REFS, UNFINISHED_GIT_PATHS,
};
use self::git_settings::{commit_identity, named_by_settings, settings_of_user, within};
pub use self::linked_targets::UnheldTargets;
use self::linked_targets::add_linked_targets;
use self::made_paths::{make_file, make_folder};
use self::shared_packs::shared_packs;
use self::tree_repositories::TreeRepositories;
use crate::launch::{DriverEvent, SpawnError};
use crate::program_lookup;
use crate::session_files::text_of;

/// A file by which a repository or a branch is named is not longer.
const LINK_BYTES_MAX: u64 = 8 << 10;
/// The folder of Baton's, in which agents report.
const BATON_FOLDER: &str = ".baton";
/// The folder for reports, in the task folder.
const INBOX: &str = "inbox";
/// Folders of Jujutsu that are in the way to its settings.
const JUJUTSU_FOLDERS: [&str; 2] = [".jj", ".jj/repo"];
/// By this file a folder is a bare repository.
const HEAD: &str = "HEAD";
/// What Claude Code reads of its folder.
const CLAUDE_HOME_FILES: [&str; 9] = [
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
const CODEX_HOME_FILES: [&str; 7] =
    ["auth.json", "config.toml", "AGENTS.md", "prompts", "rules", "skills", "managed_config.toml"];
/// Keys that are copied from Claude Code's own file: the login, and those that skip the welcome screens.
const CLAUDE_JSON_KEYS: [&str; 5] =
    ["oauthAccount", "userID", "hasCompletedOnboarding", "customApiKeyResponses", "hasAvailableSubscription"];

/// A boundary, and the receiver of its refusals.
#[derive(Debug)]
pub struct ActiveBoundary {
    /// Ends with the agent.
    pub boundary: Boundary,
    /// What is refused in it.
    pub refused: RefusalReceiver,
}

/// The place and the purpose of a boundary.
#[derive(Clone, Debug)]
pub struct BoundaryContext<'a> {
    /// The folder that is worked in.
    pub tree: &'a Path,
    /// The workspace of the run, of which the tree may be a copy.
    pub workspace: &'a Path,
    /// A folder for this boundary alone.
    pub folder: PathBuf,
    /// The folder of an agent's conversations, which outlive the session; absent if they are not kept.
    pub conversations: Option<PathBuf>,
    /// This program.
    pub own_exe: &'a Path,
    /// The environment of the host.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Folders of the host that are hidden inside.
    pub hidden: Vec<PathBuf>,
    /// Gets what could not be taken away after the session.
    pub remaining: RemainingPaths,
    /// The task folder of the run, relative to the tree; none without a run.
    pub task_folder: Option<&'a Path>,
    /// What any role of the run hides.
    pub hide: &'a [String],
    /// What any role of the run may write beyond its tree.
    pub writable: &'a [String],
}

impl<'a> BoundaryContext<'a> {
    fn variable(&self, name: &str) -> Option<&'a OsStr> {
        self.environment.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    fn home(&self) -> Option<&'a Path> {
        self.variable("HOME").map(Path::new).filter(|home| home.is_absolute() && home.parent().is_some())
    }

    /// The boundary of a command of the workflow, which is not an agent, has no settings, and reports nothing.
    ///
    /// # Errors
    /// Some targets of links cannot be protected.
    pub fn for_command(self, sandbox: &'a Sandbox) -> Result<BoundaryRequest<'a>, UnheldTargets> {
        let targets = sandbox.network.clone().unwrap_or_default();
        let inbox = self
            .task_folder
            .filter(|folder| !folder.starts_with(BATON_FOLDER))
            .map(|folder| folder.join(INBOX));
        let mut wanted = self.wanted(sandbox, targets)?;
        wanted.protect.extend(inbox);
        Ok(wanted)
    }

    /// What an agent needs.
    ///
    /// # Errors
    /// As for [`spawn`](crate::spawn), where its program is not there; [`SpawnError::UnheldTargets`] as for a command.
    pub fn for_agent(self, spec: &SpawnSpec, role: &'a Role) -> Result<BoundaryRequest<'a>, SpawnError> {
        let path = self.variable("PATH");
        let mut programs = vec![program_lookup::resolve(spec, role, self.own_exe, path)?];
        let of_agent = spec.agent.command().map(|command| command.args()).unwrap_or_default();
        programs.extend(of_agent.iter().chain(&role.args).filter(|word| is_package(word)).map(PathBuf::from));
        programs.extend(role.mcp.values().flat_map(|server| of_server(server, path, self.tree)));
        let settings = self.settings(&spec.agent);
        let mounts = runs_agent(&spec.agent, "codex");
        // Of Baton's own folder, what belongs to other runs stays as it is.
        let open = self.task_folder.filter(|folder| folder.starts_with(BATON_FOLDER)).map(Path::to_owned);
        let targets = role.sandbox.targets(&spec.agent);
        let mut wanted = self.wanted(&role.sandbox, targets).map_err(SpawnError::UnheldTargets)?;
        wanted.settings.extend(settings);
        let scripts = role.script.iter().map(PathBuf::from).collect();
        Ok(BoundaryRequest { programs, scripts, mounts, open: open.into_iter().collect(), ..wanted })
    }

    /// The paths that no confined process may create or change, relative to the tree.
    pub fn kept(&self, sandbox: &Sandbox) -> Vec<PathBuf> {
        // Before the first session of the run, which is refused if this is not all.
        let (mut kept, _) = self.protected(sandbox, &TreeRepositories::of(self.tree, self.environment));
        kept.push(PathBuf::from(HEAD));
        kept
    }

    fn wanted(
        self,
        sandbox: &'a Sandbox,
        targets: Vec<baton_core::workflow::NetworkTarget>,
    ) -> Result<BoundaryRequest<'a>, UnheldTargets> {
        // What an earlier agent has closed would not be seen, and not be held.
        make_listable(self.tree);
        let (home, path) = (self.home(), self.variable("PATH"));
        let identity = self.identity(sandbox);
        let repositories = TreeRepositories::of(self.tree, self.environment);
        self.make_ready(sandbox, &repositories);
        let (mut protect, followed) = self.protected(sandbox, &repositories);
        if sandbox.level == SandboxLevel::Strict {
            followed?;
        }
        let mut planted = protect.clone();
        protect.extend(repositories.folders().flat_map(|folder| RUN_REFS.map(|path| folder.join(path))));
        protect.push(PathBuf::from(BATON_FOLDER));
        protect.extend(repositories.folders().flat_map(|folder| shared_packs(self.tree, folder)));
        let (mut anchors, plain) =
            (repositories.paths(&PINNED_GIT_PATHS), repositories.paths(&LINK_FREE_GIT_PATHS));
        let link_free = repositories.link_free();
        anchors.extend(repositories.reflogs(self.tree));
        // In its place, a file names another repository.
        anchors
            .extend(JUJUTSU_FOLDERS.iter().map(PathBuf::from).filter(|path| self.tree.join(path).is_dir()));
        // A bare repository among the files is used by the next process that runs git there; without its HEAD it is not a
        // repository.
        planted.push(PathBuf::from(HEAD));
        if !self.tree.join(".git").exists() {
            planted.push(PathBuf::from(".git"));
        }
        let beside = self.repository();
        // Git is asked only if a list could hold something of it.
        let has_list = sandbox.write.as_ref().is_some_and(|paths| !paths.is_empty());
        let own_settings = if has_list { self.settings_of_host() } else { Vec::new() };
        let watched_beside = match self.own_of_tree() {
            Some(own) => WatchedPaths {
                planted: PROTECTED_OBJECT_PATHS
                    .map(PathBuf::from)
                    .into_iter()
                    .chain(UNFINISHED_GIT_PATHS.map(|name| own.join(name)))
                    .collect(),
                plain: LINK_FREE_OBJECT_PATHS.map(PathBuf::from).to_vec(),
                link_free: vec![PathBuf::from(".git/objects")],
            },
            None => WatchedPaths::default(),
        };
        Ok(BoundaryRequest {
            targets,
            home,
            workspace: self.workspace,
            path,
            writable: self.writable,
            protect,
            anchors,
            watched: WatchedPaths { planted, plain, link_free },
            watched_beside,
            beside,
            own_settings,
            hidden: self.hidden,
            settings: identity.into_iter().collect(),
            remaining: self.remaining,
            ..BoundaryRequest::of(sandbox, self.tree, self.folder, self.own_exe)
        })
    }

    /// Creates the mount points in the tree, and in the repository of the workspace, if it is one. A path that cannot be
    /// created is removed if it appears.
    fn make_ready(&self, sandbox: &Sandbox, repositories: &TreeRepositories) {
        if let Some(folder) = self.task_folder.filter(|_| sandbox.level == SandboxLevel::Strict) {
            make_folder(self.tree, &folder.join(INBOX));
        }
        repositories.make_folders(self.tree, &GIT_FOLDERS_TO_CREATE);
        let dot_git = self.workspace.join(".git");
        if !dot_git.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return;
        }
        let below = |folder: &Path| make_folder(self.workspace, &Path::new(".git").join(folder));
        GIT_FOLDERS_TO_CREATE.map(Path::new).into_iter().for_each(below);
        make_file(self.workspace, Path::new(".git/worktrees/.baton/locked"));
        if let Some(own) = self.own_of_tree() {
            // Git's settings for this work tree alone: one that the agent made would be the user's as well.
            make_file(self.workspace, &own.join("config.worktree"));
        }
        if !dot_git.join("reftable").exists() {
            RUN_REFS.map(Path::new).into_iter().for_each(below);
            self.branches().iter().flatten().for_each(|folder| below(folder));
        }
    }

    /// The folders with the reflogs of the branches of the run, and with these, if the tree is one of the run.
    fn branches(&self) -> Option<[PathBuf; 2]> {
        let own = self.own_of_tree()?;
        let run = self.tree.parent().and_then(Path::file_name)?;
        let head = text_of(&self.workspace.join(own).join("HEAD"), LINK_BYTES_MAX).unwrap_or_default();
        // Another name, if the user has a branch of the first.
        let all = ["refs/heads/baton-runs", "refs/heads/baton"].map(Path::new);
        let is_its = |all: &&&Path| Path::new(head.trim_start_matches("ref: ")).starts_with(all);
        let of_run = all.iter().find(is_its).unwrap_or(&all[1]).join(run);
        Some([Path::new("logs").join(&of_run), of_run])
    }

    /// What stays as it is in the tree: what others would run or be judged by. With it, whether this is all that links lead to.
    fn protected(
        &self,
        sandbox: &Sandbox,
        repositories: &TreeRepositories,
    ) -> (Vec<PathBuf>, Result<(), UnheldTargets>) {
        let is_repository = self.tree.join(".git").is_dir();
        let of_agents = COMMAND_SETTINGS
            .iter()
            .filter(|name| **name != BATON_FOLDER && !(is_repository && **name == ".git"));
        let beside_git = PROTECTED_GIT_PATHS.iter().filter(|path| !path.starts_with(".git/"));
        let files = sandbox.protect.iter().map(PathBuf::from).chain(self.settings_of_agents());
        let of_files = files.flat_map(|file| {
            let of_tree = within(self.tree, &file);
            if of_tree.is_empty() { within(self.workspace, &file) } else { of_tree }
        });
        let mut paths: Vec<PathBuf> =
            of_agents.chain(beside_git).map(PathBuf::from).chain(of_files).collect();
        paths.extend(repositories.paths(&PROTECTED_GIT_PATHS));
        paths.extend(repositories.paths(&PROTECTED_OBJECT_PATHS));
        paths.extend(named_by_settings(self.tree, repositories, self.environment));
        // Those of a home that is kept in a repository, and a program of Baton that was built here.
        let of_host = self.own_settings().into_iter().chain([self.own_exe.to_owned()]);
        paths.extend(of_host.flat_map(|path| within(self.tree, &path)));
        // The target of a link is the file that is really read. The link itself cannot be protected; an exchanged one is
        // restored.
        let followed = add_linked_targets(self.tree, &mut paths);
        // What is hidden by a link is hidden from the next run only if the link is still there.
        let hidden = listed_paths(Some(self.hide), self.home(), self.tree);
        let links = hidden.iter().flat_map(|path| LinkWalk::of(path).links);
        paths.extend(links.filter_map(|link| Some(link.strip_prefix(self.tree).ok()?.to_owned())));
        paths.sort();
        paths.dedup();
        (paths, followed)
    }

    /// What agents read of the user's own settings, which a link may lead into the tree.
    fn settings_of_agents(&self) -> Vec<PathBuf> {
        let Some(home) = self.home() else { return Vec::new() };
        let (claude, codex) = (home.join(".claude"), self.folder_of_codex(home));
        let of_claude = CLAUDE_HOME_FILES.iter().map(|name| claude.join(name));
        let of_codex = CODEX_HOME_FILES.iter().map(|name| codex.join(name));
        of_claude.chain(of_codex).chain([home.join(".claude.json")]).collect()
    }

    fn folder_of_codex(&self, home: &Path) -> PathBuf {
        let moved = self.variable("CODEX_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        moved.unwrap_or_else(|| home.join(".codex"))
    }

    fn config_folder(&self) -> Option<PathBuf> {
        let absolute = |name: &str| self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))
    }

    /// The user's own settings of Baton.
    fn own_settings(&self) -> Option<PathBuf> {
        Some(self.config_folder()?.join("baton/config.toml"))
    }

    /// The user's settings that the host and its git read, whether the files exist or not.
    fn settings_of_host(&self) -> Vec<PathBuf> {
        let folders = self.config_folder().map(|folder| ["baton", "git"].map(|name| folder.join(name)));
        let file = self.home().map(|home| home.join(".gitconfig"));
        let of_git = settings_of_user(self.environment);
        folders.into_iter().flatten().chain(file).chain(of_git).collect()
    }

    /// The folder of the workspace's repository for this work tree alone, relative to the workspace; none if this is not one of
    /// its work trees.
    fn own_of_tree(&self) -> Option<PathBuf> {
        // If the link was changed, the host has just rewritten it.
        let link = text_of(&self.tree.join(".git"), LINK_BYTES_MAX)?;
        let own = git_link::named_by(link.as_bytes())?.strip_prefix(self.workspace).ok()?;
        (own.parent() == Some(Path::new(".git/worktrees"))).then(|| own.to_owned())
    }

    /// The repository of a work tree, which lies in the workspace: paths that a commit on a branch of the run writes are
    /// writable, and the rest is read-only.
    fn repository(&self) -> Vec<ExternalMount> {
        let Some(own) = self.own_of_tree() else { return Vec::new() };
        let beside = |path: PathBuf, writable| {
            let root = self.workspace.to_owned();
            ExternalMount { root, path, writable, fresh: false }
        };
        let in_git = |path: &Path| beside(Path::new(".git").join(path), true);
        let mut written = vec![in_git(Path::new("objects"))];
        written.extend(PROTECTED_OBJECT_PATHS.map(|path| beside(PathBuf::from(path), false)));
        let packs = shared_packs(self.workspace, Path::new(".git"));
        written.extend(packs.into_iter().map(|path| beside(path, false)));
        if let Some([reflogs, branches]) = self.branches() {
            // No sub-phase may write a folder with branches of other runs, since it could exchange them. And none may write the
            // reflogs, which the host writes for all of them: its git appends to any file there.
            written.push(ExternalMount { fresh: true, ..in_git(&reflogs) });
            written.push(in_git(&branches));
        }
        let fixed = ["gitdir", "commondir", "config.worktree", "locked"];
        std::iter::once(beside(PathBuf::from(".git"), false))
            .chain(written)
            .chain([beside(own.to_owned(), true)])
            .chain(fixed.map(|name| beside(own.join(name), false)))
            .collect()
    }

    /// In `strict`, git finds no settings of the user, but for their name and address: without these it commits nothing.
    fn identity(&self, sandbox: &Sandbox) -> Option<SettingsFolder> {
        let home = self.home().filter(|_| sandbox.level == SandboxLevel::Strict)?;
        let folder = home.join(".config/git");
        let text = commit_identity(self.tree, self.environment)?;
        let made = Some((folder.join("config"), "gitconfig".to_owned(), text));
        Some(SettingsFolder { folder, files: Vec::new(), variable: "XDG_CONFIG_HOME", kept: None, made })
    }

    fn settings(&self, agent: &AgentKind) -> Vec<SettingsFolder> {
        let Some(home) = self.home() else { return Vec::new() };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        if runs_agent(agent, "claude") {
            let file = home.join(".claude.json");
            let text = std::fs::read(&file).unwrap_or_default();
            let made = Some((file, ".claude.json".to_owned(), filtered_claude_json(&text)));
            let folder = home.join(".claude");
            let kept = self.conversations.clone().map(|folder| ("projects", folder));
            let (files, variable) = (names(&CLAUDE_HOME_FILES), "CLAUDE_CONFIG_DIR");
            return vec![SettingsFolder { folder, files, variable, kept, made }];
        }
        if runs_agent(agent, "codex") {
            let folder = self.folder_of_codex(home);
            let kept = self.conversations.clone().map(|folder| ("sessions", folder));
            let (files, variable) = (names(&CODEX_HOME_FILES), "CODEX_HOME");
            return vec![SettingsFolder { folder, files, variable, kept, made: None }];
        }
        Vec::new()
    }
}

/// Whether it is this agent, or its adapter.
pub(crate) fn runs_agent(agent: &AgentKind, name: &str) -> bool {
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

/// The part of Claude Code's file for the session: no data of other projects, and no servers that start programs.
fn filtered_claude_json(text: &[u8]) -> String {
    let whole: Map<String, Value> = serde_json::from_slice(text).unwrap_or_default();
    let kept = whole.into_iter().filter(|(key, _)| CLAUDE_JSON_KEYS.contains(&key.as_str()));
    Value::Object(kept.collect()).to_string()
}

fn of_server(server: &RoleServer, path: Option<&OsStr>, tree: &Path) -> Vec<PathBuf> {
    let Some((program, args)) = server.command.split_first() else { return Vec::new() };
    // The agent starts it in the tree.
    let program = found_on(path, program).map(|program| tree.join(program));
    program.into_iter().chain(args.iter().filter(|word| is_package(word)).map(PathBuf::from)).collect()
}

/// Whether an argument is an absolute path of a program's packages. Other arguments are not programs, and a workflow could name
/// any file by them.
fn is_package(word: &str) -> bool {
    let path = Path::new(word);
    path.is_absolute() && path.components().any(|part| part.as_os_str() == PACKAGES)
}

/// Merges the refusals into the agent's events. Returns the channel for its driver's events; the end event comes last, and the
/// boundary ends with it.
pub(crate) fn attach_boundary(
    confined: ActiveBoundary,
    session: SessionId,
    to: mpsc::Sender<(SessionId, DriverEvent)>,
) -> mpsc::Sender<(SessionId, DriverEvent)> {
    let (events, mut taken) = mpsc::channel::<(SessionId, DriverEvent)>(1);
    tokio::spawn(async move {
        let ActiveBoundary { boundary, mut refused } = confined;
        let event = |refusal| (session.clone(), DriverEvent::Event(AgentEvent::Refused(refusal)));
        loop {
            tokio::select! {
                biased;
                Some(refusal) = refused.recv() => drop(to.send(event(refusal)).await),
                told = taken.recv() => {
                    let Some(told) = told else { break };
                    if matches!(told.1, DriverEvent::Exited(_)) {
                        // Refusals from before the end are sent before it.
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_of_agents_stay_where_a_link_leads_them_into_the_tree() {
        // N6: an agent gave the next one any file of the user by a link in the place of `CLAUDE.md`.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, home, copy) = (root.join("dotfiles"), root.join("home"), root.join("copy"));
        for folder in [&tree.join("claude"), &home.join(".codex"), &copy.join("claude")] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(tree.join("codex.toml"), "").unwrap();
        std::os::unix::fs::symlink(tree.join("claude"), home.join(".claude")).unwrap();
        std::os::unix::fs::symlink(tree.join("codex.toml"), home.join(".codex/config.toml")).unwrap();
        let environment = [("HOME".into(), home.into())].into();
        for tree_of_session in [&tree, &copy] {
            let context = BoundaryContext {
                tree: tree_of_session,
                workspace: &tree,
                folder: root.join("session"),
                conversations: None,
                own_exe: Path::new("/baton"),
                environment: &environment,
                hidden: Vec::new(),
                remaining: RemainingPaths::default(),
                task_folder: None,
                hide: &[],
                writable: &[],
            };
            let kept = context.kept(&Sandbox::default());
            for expected in ["claude/settings.json", "claude/CLAUDE.md", "codex.toml"].map(PathBuf::from) {
                assert!(kept.contains(&expected), "{}: {kept:?}", expected.display());
            }
        }
    }
}
