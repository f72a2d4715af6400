//! Paths of a repository, relative to the folder that contains it: those that a confined agent must not change, and those that
//! must not be links. gitrepository-layout(5) names them all.

/// Protected paths of a repository: its settings, also those of its remotes and submodules, the files that would make it
/// another repository, and git's state of an operation in progress. From that state, `git rebase --continue` and the like run
/// commands: `exec` lines of a list, and the strategy of a merge. Its objects, its index and its branches belong to the work.
pub(super) const PROTECTED_GIT_PATHS: [&str; 15] = [
    ".git/config",
    ".git/config.worktree",
    // Remotes that no settings name, in two older forms: where `git push` sends to, with the hooks of what lies there.
    ".git/branches",
    ".git/remotes",
    // At `write` these folders are not held. The remote that git takes by itself is taken away there.
    ".git/branches/origin",
    ".git/remotes/origin",
    ".git/hooks",
    ".git/info",
    ".git/modules",
    ".git/worktrees",
    ".git/commondir",
    ".git/rebase-apply",
    ".git/rebase-merge",
    ".git/sequencer",
    // Where git-lfs sends objects to.
    ".lfsconfig",
];
/// Of these, what each work tree has for itself.
pub(super) const UNFINISHED_GIT_PATHS: [&str; 3] = ["rebase-apply", "rebase-merge", "sequencer"];
/// Protected paths of its objects: the locations of further objects, and data on commits that git uses without reading them.
/// All work trees share it.
pub(super) const PROTECTED_OBJECT_PATHS: [&str; 4] = [
    ".git/objects/info/alternates",
    ".git/objects/info/commit-graph",
    ".git/objects/info/commit-graphs",
    ".git/objects/info/http-alternates",
];
/// Refs and branches of runs, and their reflogs. The host writes them while an agent works, so they are kept and never taken away.
pub(super) const RUN_REFS: [&str; 4] =
    ["refs/baton", "refs/heads/baton", "logs/refs/baton", "logs/refs/heads/baton"];
/// Folders that are made before a boundary opens, so that they can be mounted: one that appeared later would be the user's or the
/// host's as well as an agent's. Git removes the folder of its work trees when it is empty, so it gets an entry that git takes for a
/// locked work tree without a folder; no work tree has a name that begins with a dot.
pub(super) const GIT_FOLDERS_TO_CREATE: [&str; 6] =
    ["branches", "hooks", "info", "modules", "remotes", "worktrees/.baton"];
/// What can be written, and is not exchanged: the host reads and writes through it while agents work.
pub(super) const PINNED_GIT_PATHS: [&str; 6] =
    [".git/logs", ".git/logs/HEAD", ".git/objects", ".git/refs", ".git/refs/heads", ".git/reftable"];
/// What git replaces itself, or may have to make. The user may have links there; an agent makes none.
pub(super) const LINK_FREE_GIT_PATHS: [&str; 12] = [
    ".git/HEAD",
    ".git/index",
    ".git/lfs",
    ".git/logs",
    ".git/logs/HEAD",
    ".git/objects",
    ".git/objects/info",
    ".git/objects/pack",
    ".git/packed-refs",
    ".git/refs",
    ".git/reftable",
    ".git/shallow",
];
/// Of these, what work trees share.
pub(super) const LINK_FREE_OBJECT_PATHS: [&str; 2] = [".git/objects/info", ".git/objects/pack"];
