//! Component files that a workflow wants to be watched (M3). Looked at once a second, as the inbox is: a handful of files needs
//! no help of the system, and a file that is replaced, moved away or on another machine is seen all the same. A file is taken
//! when it has stayed as it is from one look to the next, so nothing half-written is loaded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::input::{BindingLink, PolicyBinding};
use baton_core::workflow::{Policies, ResolvedChoice};
use baton_core::{Digest, Run, UnixMs};
use baton_engine::external_policy_name;
use baton_engine::limits::COMPONENT_BYTES;

use crate::config::PolicySource;
use crate::error::RuntimeError;
use crate::policies::{BindingRequest, CurrentSettings, role_of};

/// The files of a run.
#[derive(Debug, Default)]
pub(crate) struct PolicyWatcher {
    files: BTreeMap<PathBuf, WatchedFile>,
}

/// A file as it was at the last look.
#[derive(Debug, Default)]
struct WatchedFile {
    now: Option<FileStamp>,
    /// What was loaded from it, or refused.
    loaded_stamp: Option<FileStamp>,
}

/// Enough to see that a file is another one, or was written to.
type FileStamp = (u64, u64, u64, i64, i64);

/// A file that has something new in it.
pub(crate) struct ChangedPolicyFile {
    pub(crate) reference: String,
    /// The requested bindings, or why the file cannot be read.
    pub(crate) wanted: Result<Vec<BindingRequest>, RuntimeError>,
}

impl PolicyWatcher {
    /// Watches the files that decide in the run, if its workflow asks for that. A resumed run keeps its policies, also a policy
    /// that was rolled back: its file counts from its next change on.
    pub(crate) fn over(run: &Run) -> Self {
        let policies = &run.workflow().policies;
        let files = policies.references().into_iter().filter(|reference| is_watched(reference));
        let files = files.filter(|_| policies.watch);
        let goes_on = run
            .view(UnixMs(0))
            .is_some_and(|view| view.phases.iter().any(|phase| !phase.sessions.is_empty()));
        let seen =
            |path: &Path| WatchedFile { now: None, loaded_stamp: current_stamp(path).filter(|_| goes_on) };
        Self { files: files.map(PathBuf::from).map(|path| (path.clone(), seen(&path))).collect() }
    }

    /// What has changed since the last look, and stayed so.
    pub(crate) fn look(&mut self, run: &Run) -> Vec<ChangedPolicyFile> {
        let mut changed = Vec::new();
        for (path, seen) in &mut self.files {
            let now = current_stamp(path);
            let stayed = now.is_some() && now == seen.now;
            seen.now = now;
            if !stayed || seen.loaded_stamp == now {
                continue;
            }
            seen.loaded_stamp = now;
            let reference = path.to_string_lossy().into_owned();
            let wanted = read(path, &reference).map(|bytes| wanted(run, &reference, bytes));
            if !matches!(&wanted, Ok(wanted) if wanted.is_empty()) {
                changed.push(ChangedPolicyFile { reference, wanted });
            }
        }
        changed
    }
}

/// Whether it is a file that is watched. A pinned reference always means the same bytes.
fn is_watched(reference: &str) -> bool {
    (!reference.contains(':') || Path::new(reference).is_absolute()) && !reference.contains("@sha256:")
}

/// A file that changed takes the place of the policy of its name. In one chain no other one may have that name.
///
/// `chain` has the name and the reference of each policy.
pub(crate) fn expect_own_names<'a>(
    chain: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), RuntimeError> {
    let mut names = BTreeMap::new();
    for (name, component) in chain {
        match names.insert(name, component) {
            Some(other) if other != component && (is_watched(other) || is_watched(component)) => {
                let why = format!(
                    "{other} is called {name} as well, and `watch` tells policies of one chain apart by their names: rename one of \
                     the files, or leave `watch` out"
                );
                return Err(RuntimeError::PolicyRefused { policy: component.to_owned(), why });
            }
            _ => {}
        }
    }
    Ok(())
}

fn current_stamp(path: &Path) -> Option<FileStamp> {
    std::fs::metadata(path).ok().filter(Metadata::is_file).map(|file| identity(&file))
}

fn identity(file: &Metadata) -> FileStamp {
    (file.dev(), file.ino(), file.size(), file.mtime(), file.mtime_nsec())
}

fn read(path: &Path, reference: &str) -> Result<Vec<u8>, RuntimeError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = baton_workspace::open_plain(path)
        .and_then(|file| file.take(COMPONENT_BYTES + 1).read_to_end(&mut bytes));
    file.map(|_| bytes).map_err(|error| RuntimeError::PolicyRefused {
        policy: reference.to_owned(),
        why: format!("cannot read it: {error}"),
    })
}

/// Requests for the bindings in which the file decides according to the workflow, with other bytes than these. Policies that
/// the user switched to by hand are not changed.
fn wanted(run: &Run, reference: &str, bytes: Vec<u8>) -> Vec<BindingRequest> {
    let (policies, digest) = (&run.workflow().policies, Digest::of(&bytes));
    let name = external_policy_name(&stem_of(reference), &bytes);
    let source = PolicySource { name: name.clone(), bytes: Some(bytes) };
    let mut wanted: Vec<BindingRequest> = Vec::new();
    let is_of_file = |link: BindingLink| link.policy == name && link.component != digest;
    for view in run.binding_views().filter(|view| view.binding.links().any(is_of_file)) {
        let Some(candidate) = choice_for(policies, run, view.binding, reference) else { continue };
        let ResolvedChoice { component, given, grants, from, .. } = candidate;
        // One entry for all that it decides with the same settings.
        let same = wanted.iter_mut().find(|other| {
            (&other.scope, &other.given, &other.grants) == (&view.binding.scope, &given, &grants)
        });
        match same {
            Some(other) => other.decides.push(view.binding.capability),
            None => wanted.push(BindingRequest {
                source: source.clone(),
                reference: component,
                given,
                grants,
                from,
                scope: view.binding.scope.clone(),
                decides: vec![view.binding.capability],
                in_force: CurrentSettings::new(),
            }),
        }
    }
    wanted
}

fn stem_of(reference: &str) -> Cow<'_, str> {
    Path::new(reference).file_stem().unwrap_or_default().to_string_lossy()
}

/// The workflow's choice of this file for a binding, if there is one.
fn choice_for(
    policies: &Policies,
    run: &Run,
    binding: &PolicyBinding,
    reference: &str,
) -> Option<ResolvedChoice> {
    let role = role_of(run.workflow(), &binding.scope);
    let candidates = policies.candidates(&binding.scope, role, binding.capability);
    let is_behind = |candidate: &ResolvedChoice| {
        // By name alone: without bytes it is not one of the host's components, so its name is that of an external one.
        let name = external_policy_name(&stem_of(&candidate.component), &[]);
        binding.then.iter().any(|link| link.policy == name)
    };
    candidates.into_iter().find(|candidate| {
        candidate.component == reference && (candidate.from == binding.from || is_behind(candidate))
    })
}
