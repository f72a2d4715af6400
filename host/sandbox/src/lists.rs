//! The entries of a sandbox's lists, resolved when a boundary is made. Refuses entries with dangerous targets, so that the user
//! decides.

use std::path::{Path, PathBuf};

use baton_core::workflow::SandboxLevel;

use crate::boundary::{BoundaryError, BoundaryRequest};
use crate::link_walk::LinkWalk;
use crate::mount_aliases::Mounts;
use crate::programs::is_where_others_link;
use crate::spec::ListedPath;

/// Places that agents of the run can write: trees and `write` lists, by their real paths. A link there may have been made by an
/// agent.
pub(crate) struct WritablePlaces(Vec<PathBuf>);

impl WritablePlaces {
    pub(crate) fn of(wanted: &BoundaryRequest<'_>) -> Self {
        let resolve = |paths: Option<&[String]>| listed_paths(paths, wanted.home, wanted.tree);
        let written =
            resolve(Some(wanted.writable)).into_iter().chain(resolve(wanted.sandbox.write.as_deref()));
        let trees = [wanted.tree, wanted.workspace].map(Path::to_owned);
        Self(written.chain(trees).map(|path| LinkWalk::of(&path).real).collect())
    }

    /// Whether a path without links is in one of them.
    pub(crate) fn hold(&self, real: &Path) -> bool {
        self.0.iter().any(|place| real.starts_with(place))
    }

    /// The target of a path, unless an agent can replace a link on the way.
    pub(crate) fn listed(&self, list: &'static str, at: PathBuf) -> Result<ListedPath, BoundaryError> {
        let LinkWalk { links, real, .. } = LinkWalk::of(&at);
        match links.into_iter().find(|link| self.hold(link) || is_where_others_link(link)) {
            Some(link) => Err(BoundaryError::Exchangeable { list, path: at, link, real }),
            None => Ok(ListedPath { at, real }),
        }
    }
}

/// The entries of a sandbox's lists.
pub(crate) struct Lists {
    pub(crate) read: Vec<ListedPath>,
    pub(crate) write: Vec<ListedPath>,
    pub(crate) hide: Vec<PathBuf>,
    /// The workspace, if the tree is a copy of it and a list shows it.
    pub(crate) covered: Option<PathBuf>,
}

impl Lists {
    /// Resolves them. Agents chose the links in places that they can write, in another session or in an earlier run.
    pub(crate) fn of(wanted: &BoundaryRequest<'_>, written: &WritablePlaces) -> Result<Self, BoundaryError> {
        let resolve = |paths: Option<&[String]>| listed_paths(paths, wanted.home, wanted.tree);
        let real = |path: &Path| LinkWalk::of(path).real;
        let trees = [wanted.tree, wanted.workspace].map(real);
        let of_host: Vec<PathBuf> = wanted.hidden.iter().map(|folder| real(folder)).collect();
        let guarded: Vec<PathBuf> = trees.iter().chain(&of_host).cloned().collect();
        let all = |list, paths: Option<&[String]>, within: Option<&[String]>| {
            let within = within.map(|_| resolve(within).iter().map(|path| real(path)).collect::<Vec<_>>());
            let mut listed = Vec::new();
            for path in resolve(paths) {
                let found = written.listed(list, path)?;
                // The text was compared when the files were read, without regard to links.
                if within.as_ref().is_some_and(|all| !all.iter().any(|place| found.real.starts_with(place))) {
                    return Err(BoundaryError::Outside { list, path: found.at, real: found.real });
                }
                listed.push(found);
            }
            Ok(listed)
        };
        let sandbox = wanted.sandbox;
        let write = all("write", sandbox.write.as_deref(), sandbox.write_within.as_deref())?;
        // A folder above one of the host's could be moved with it, and files in one are read by the host.
        for ListedPath { at, real } in &write {
            let is_near = |folder: &&PathBuf| folder.starts_with(real) || real.starts_with(folder);
            let is_own = |folder: &&PathBuf| !folder.starts_with(&trees[0]) && !trees[0].starts_with(folder);
            if let Some(folder) = of_host.iter().filter(is_own).find(is_near) {
                return Err(BoundaryError::OfHost { path: at.clone(), folder: folder.clone() });
            }
        }
        expect_no_alias("write", &write, &of_host)?;
        let mut hide = resolve(Some(&wanted.sandbox.hide));
        if wanted.sandbox.level != SandboxLevel::Strict {
            expect_nothing_of_user(wanted, &write, &trees)?;
            // Only writable paths are checked.
            return Ok(Self { read: Vec::new(), write, hide, covered: None });
        }
        let read = all("read", sandbox.read.as_deref(), sandbox.read_within.as_deref())?;
        // Paths that the workspace hides are hidden in a copy of it.
        hide.extend(listed_paths(Some(&wanted.sandbox.hide), wanted.home, wanted.workspace));
        hide.sort();
        hide.dedup();
        // A path outside is hidden under each name that a list gives it, but not if a list names a part of it.
        let hidden: Vec<PathBuf> = hide.iter().map(|path| real(path)).collect();
        let lists = [("read", &read), ("write", &write)];
        for (list, path) in lists.iter().flat_map(|(list, paths)| paths.iter().map(|path| (*list, path))) {
            let ListedPath { at, real } = path.clone();
            let is_near = |place: &&PathBuf| place.starts_with(&real) || real.starts_with(place);
            let around = guarded.iter().find(is_near);
            let around = around.or_else(|| hidden.iter().find(|hidden| real.starts_with(hidden)));
            if let Some(guarded) = around.filter(|_| at != real) {
                return Err(BoundaryError::Roundabout { list, path: at, real, guarded: guarded.clone() });
            }
        }
        for (list, paths) in lists {
            expect_no_alias(list, paths, &[&guarded[..], &hidden].concat())?;
        }
        expect_nothing_of_user(wanted, &write, &trees)?;
        let [tree, workspace] = trees;
        let is_shown = read.iter().chain(&write).any(|listed| listed.shows(Some(&workspace)));
        let covered = (tree != workspace && is_shown).then_some(workspace);
        // In the tree, links to hidden paths are restored. Paths that the workspace hides are not visible for a copy of it.
        let is_elsewhere =
            |path: &&PathBuf| ![wanted.tree, wanted.workspace].iter().any(|tree| path.starts_with(tree));
        for path in hide.iter().filter(is_elsewhere) {
            written.listed("hide", path.clone())?;
        }
        Ok(Self { read, write, hide, covered })
    }
}

/// Refuses a list that shows a guarded place by a bind mount: the place is guarded only at its own path.
fn expect_no_alias(
    list: &'static str,
    listed: &[ListedPath],
    guarded: &[PathBuf],
) -> Result<(), BoundaryError> {
    if listed.is_empty() {
        return Ok(());
    }
    let mounts = Mounts::look();
    for (listed, guarded) in listed.iter().flat_map(|listed| guarded.iter().map(move |place| (listed, place)))
    {
        if let Some(real) = mounts.alias(&listed.real, guarded) {
            let (path, guarded) = (listed.at.clone(), guarded.clone());
            return Err(BoundaryError::Roundabout { list, path, real, guarded });
        }
    }
    Ok(())
}

/// Refuses paths that determine which programs the host runs. In a tree, the rules for trees protect them.
fn expect_nothing_of_user(
    wanted: &BoundaryRequest<'_>,
    write: &[ListedPath],
    trees: &[PathBuf],
) -> Result<(), BoundaryError> {
    let of_settings = "Baton, or your git, would run what an agent writes there.";
    let of_program = "an agent could exchange the program of Baton, which you run again.";
    let settings = wanted.own_settings.iter().map(|path| (path.as_path(), of_settings));
    // In a strict boundary the program is protected, with the folders above it.
    let is_kept = wanted.sandbox.level == SandboxLevel::Strict;
    let program = (!is_kept).then_some((wanted.own_exe, of_program));
    for (path, what) in settings.chain(program) {
        let LinkWalk { links, real, .. } = LinkWalk::of(path);
        let is_elsewhere = |held: &&PathBuf| !trees.iter().any(|tree| held.starts_with(tree));
        for held in links.iter().chain([&real]).filter(is_elsewhere) {
            let is_near =
                |listed: &&ListedPath| held.starts_with(&listed.real) || listed.real.starts_with(held);
            if let Some(listed) = write.iter().find(is_near) {
                return Err(BoundaryError::OfUser { path: listed.at.clone(), held: held.clone(), what });
            }
        }
    }
    // At another path, by a bind mount, a strict boundary does not keep the program either.
    let home = wanted.home.map(|home| LinkWalk::of(home).real);
    let settings = wanted.own_settings.iter().map(|path| {
        let real = LinkWalk::of(path).real;
        // A missing file can be created in the folder above it. The home is excepted, since many mounts show parts of it.
        let above = real.parent().filter(|above| home.as_deref() != Some(*above)).map(Path::to_owned);
        above.filter(|_| !real.exists()).unwrap_or(real)
    });
    let own = settings.chain([LinkWalk::of(wanted.own_exe).real]);
    let own: Vec<PathBuf> = own.filter(|held| !trees.iter().any(|tree| held.starts_with(tree))).collect();
    expect_no_alias("write", write, &own)
}

/// Paths as lists write them, from the home (`~/…`) or the tree; those of the home only if there is one.
pub fn listed_paths(paths: Option<&[String]>, home: Option<&Path>, tree: &Path) -> Vec<PathBuf> {
    let resolve = |path: &String| match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(tree.join(path)),
    };
    paths.into_iter().flatten().filter_map(resolve).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use baton_core::workflow::Sandbox;

    use super::*;

    #[test]
    fn no_list_gives_agents_what_the_host_runs_by() {
        // N6: by `~/.config`, an agent wrote the settings of Baton and of git, and the host ran a filter of its own making.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["home/.config/baton", "home/.config/other", "home/tree/bin", "cargo/bin", "dot/git"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink(root.join("dot/git"), root.join("home/.config/git")).unwrap();
        let (tree, exe) = (root.join("home/tree"), root.join("cargo/bin/baton"));
        fs::write(&exe, "").unwrap();
        let refused = |level, listed: &str, own_exe: &Path| {
            let write = Some(vec![root.join(listed).display().to_string()]);
            let sandbox = Sandbox { level, write, ..Sandbox::default() };
            let own_settings = ["baton", "git"].map(|name| root.join("home/.config").join(name)).to_vec();
            let request = BoundaryRequest {
                own_settings,
                ..BoundaryRequest::of(&sandbox, &tree, root.join("session"), own_exe)
            };
            let found = Lists::of(&request, &WritablePlaces::of(&request)).err();
            found.map(|error| {
                assert!(matches!(error, BoundaryError::OfUser { .. }), "{listed}: {error}");
                error.to_string()
            })
        };
        for level in [SandboxLevel::Write, SandboxLevel::Strict] {
            for listed in [
                "home",
                "home/.config",
                "home/.config/baton",
                "home/.config/baton/x",
                "dot",
                "dot/git/config",
            ] {
                assert!(refused(level, listed, &exe).is_some(), "{level:?} {listed}");
            }
            for listed in ["home/.config/other", "home/tree", "cargo/registry"] {
                assert_eq!(refused(level, listed, &exe), None, "{level:?}");
            }
            // The tree's own rules apply to paths in the tree.
            assert_eq!(refused(level, "home/tree/bin", &tree.join("bin/baton")), None, "{level:?}");
        }
        let said = refused(SandboxLevel::Write, "cargo", &exe).unwrap();
        assert!(said.contains("cargo/bin/baton in it") && said.ends_with("agents are to write"), "{said}");
        assert_eq!(refused(SandboxLevel::Strict, "cargo", &exe), None);
    }

    #[test]
    fn no_list_leads_by_a_link_that_an_earlier_run_or_a_cloned_folder_could_make() {
        // N6: such a link gave an agent the user's keys, through the lists of the next workflow or of a clone's `baton.toml`.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["keys", "data/proj", "home/clone", "home/other", "written", "tree"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for link in ["home/clone/keys", "home/other/keys", "written/keys"] {
            symlink(root.join("keys"), root.join(link)).unwrap();
        }
        symlink(root.join("data/proj"), root.join("home/proj")).unwrap();
        symlink(root.join("home"), root.join("linked-home")).unwrap();
        let tree = root.join("tree");
        let lists = |level, listed: &str, of_user: Option<&str>| {
            let paths = |path: &str| Some(vec![root.join(path).display().to_string()]);
            let within = of_user.and_then(paths);
            let sandbox = Sandbox {
                read: paths(listed),
                write: paths(listed),
                read_within: within.clone(),
                write_within: within,
                ..Sandbox::of(level)
            };
            let request = BoundaryRequest::of(&sandbox, &tree, root.join("session"), Path::new("/baton"));
            Lists::of(&request, &WritablePlaces::of(&request)).err()
        };
        for level in [SandboxLevel::Write, SandboxLevel::Strict] {
            // An entry of another file is limited to the targets of the user's entries.
            for (listed, of_user) in
                [("home/other/keys", "home"), ("home/proj", "home"), ("home/../keys", "home")]
            {
                let error = lists(level, listed, Some(of_user)).unwrap();
                assert!(matches!(error, BoundaryError::Outside { .. }), "{listed}: {error}");
            }
            for (listed, of_user) in [
                ("home/proj/sub", "home/proj"),
                ("home/proj", "data"),
                ("linked-home/other", "linked-home"),
                ("linked-home/proj", "home/proj"),
            ] {
                assert!(lists(level, listed, Some(of_user)).is_none(), "{listed}");
            }
            assert!(lists(level, "home/proj", None).is_none());
        }
        assert!(lists(SandboxLevel::Strict, "written/keys", None).is_none());
        crate::programs::exclude_writable(&root.join("written"));
        crate::programs::distrust_links(&root.join("home/clone"));
        for level in [SandboxLevel::Write, SandboxLevel::Strict] {
            for listed in ["written/keys", "home/clone/keys", "home/clone/keys/deep"] {
                let error = lists(level, listed, None).unwrap();
                assert!(matches!(error, BoundaryError::Exchangeable { .. }), "{listed}: {error}");
            }
            // A path without links can be listed, and so can the user's link in another place.
            for listed in ["written/sub", "home/clone", "home/proj"] {
                assert!(lists(level, listed, None).is_none(), "{listed}");
            }
        }
    }

    #[test]
    fn no_list_leads_by_a_link_to_what_is_guarded_at_its_own_path() {
        // N6: a link of the user's gave the tree, or the state folder, once more, with nothing laid over it.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["data/proj/sub", "data/state/runs", "data/copy", "other", "keys/deep"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let links = ["data", "data/proj/sub", "data/state", "data/state/runs", "other", "keys", "keys/deep"];
        for folder in links {
            symlink(root.join(folder), root.join(folder.replace('/', "-") + "-link")).unwrap();
        }
        let (tree, folder) = (root.join("data/proj"), root.join("session"));
        let lists_of = |tree: &Path, level, listed: &str, write: Option<&str>| {
            let sandbox = Sandbox {
                level,
                read: Some(vec![root.join(listed).display().to_string()]),
                write: write.map(|listed| vec![root.join(listed).display().to_string()]),
                hide: vec![root.join("keys").display().to_string(), ".env".to_owned()],
                ..Sandbox::default()
            };
            let workspace = root.join("data/proj");
            let request = BoundaryRequest {
                workspace: &workspace,
                hidden: vec![root.join("data/state")],
                ..BoundaryRequest::of(&sandbox, tree, folder.clone(), Path::new("/baton"))
            };
            Lists::of(&request, &WritablePlaces::of(&request))
        };
        let lists = |tree: &Path, level, listed: &str| lists_of(tree, level, listed, None);
        let copy = root.join("data/copy");
        for link in
            ["data-link", "data-proj-sub-link", "data-state-link", "data-state-runs-link", "keys-deep-link"]
        {
            for tree in [&tree, &copy] {
                let error = lists(tree, SandboxLevel::Strict, link).err().unwrap();
                assert!(matches!(error, BoundaryError::Roundabout { .. }), "{link}: {error}");
                assert!(error.to_string().ends_with("name that place itself"), "{error}");
            }
            // Nothing is laid over anything there.
            assert!(lists(&tree, SandboxLevel::Write, link).is_ok(), "{link}");
        }
        for listed in ["data", "data/proj/sub", "data/state", "other", "other-link", "keys/deep"] {
            assert!(lists(&tree, SandboxLevel::Strict, listed).is_ok(), "{listed}");
        }
        // A copy hides the paths that the workspace hides, and does not see the workspace in a list that names a folder above
        // it.
        let of_copy = |listed: &str| lists(&copy, SandboxLevel::Strict, listed).unwrap();
        let of_both = [copy.join(".env"), tree.join(".env"), root.join("keys")];
        assert_eq!(of_copy("other").hide, of_both);
        assert_eq!((of_copy("other").covered, of_copy("data/proj/sub").covered), (None, None));
        assert_eq!(
            (of_copy("data").covered, of_copy("data/proj").covered),
            (Some(tree.clone()), Some(tree.clone()))
        );
        assert_eq!(lists(&tree, SandboxLevel::Strict, "data").unwrap().covered, None);
        // Paths that agents can write neither contain nor are a folder of the host's: agents could move it, or change files
        // that the host reads.
        for level in [SandboxLevel::Write, SandboxLevel::Strict] {
            for listed in ["data", "data-link", "data/state", "data/state/runs", "data-state-link"] {
                let error = lists_of(&tree, level, "other", Some(listed)).err().unwrap();
                assert!(matches!(error, BoundaryError::OfHost { .. }), "{listed}: {error}");
            }
            assert!(lists_of(&tree, level, "other", Some("keys")).is_ok());
        }
    }
}
