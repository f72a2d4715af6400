//! The request of a command that begins a run: resolved once, from the task, the flags and the layers below them. The process
//! that hosts the run in the background gets it as bytes, and reads none of the files again: an agent's changes in between have
//! no effect.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use baton_runtime::agents::check_script;
use baton_runtime::core::Workflow;
use baton_runtime::core::experiment::Assignment;
use baton_runtime::sandbox::{exclude_from_path, exclude_listed};
use baton_runtime::{PolicyBundle, PolicySource, RunStart, expect_person};
use serde::{Deserialize, Serialize};

use super::{RunOptions, agent_changes, unfinished};
use crate::args::{LocationArgs, ViewArgs};
use crate::config_layers::{self, placed};
use crate::exit_status::{CliExit, UsageError};
use crate::experiment_assignment;
use crate::host_launch::{LaunchMode, ReadyNotifier};
use crate::location::{RunLocation, shell_words};
use crate::policies::{self, PinMode};
use crate::render::text_format;
use crate::run_ui::follow;
use crate::task::detection::require_agent;
use crate::task::{ResolvedTask, Task, shared_files};

/// A new run, as it begins.
#[derive(Debug)]
pub(super) struct StartRequest {
    /// The task over the layers below it, with the flags applied.
    pub(super) workflow: Workflow,
    /// The components that its policies name, as bytes.
    pub(super) policies: PolicyBundle,
    /// The experiments that it inherits from the run that it replaces; none if it is not enrolled.
    pub(super) inherited_arms: Option<Vec<Assignment>>,
    /// Its location.
    pub(super) location: RunLocation,
    /// The folder of the task, in which no program is looked for.
    base: PathBuf,
    /// Whether another process hosts it.
    pub(super) mode: LaunchMode,
}

impl StartRequest {
    /// Resolves a command that begins a run. Refuses possible changes by an agent, unless the user accepts them. `tell` gets
    /// each notice as soon as it is known. Writes only the files that must exist before a run: the lock of policies that are
    /// used for the first time, the marks of earlier runs that are set aside, and a scratch folder; nothing for a dry run.
    pub(super) fn resolve(
        task: &Task,
        args: &RunOptions,
        resolved: ResolvedTask,
        supersedes: bool,
        tell: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Self> {
        tell_of_task(task, args, &resolved.workflow, tell)?;
        let base = task.base()?;
        expect_accepted(task, args, &resolved, &base, tell)?;
        let workflow = resolved.workflow;
        let pinning = if args.dry_run { PinMode::Leave } else { PinMode::Write(&mut *tell) };
        let policies = bundle(&base, &workflow, &args.location, pinning)?;
        if supersedes {
            unfinished::supersede_earlier_runs(&args.location, &workflow, tell)?;
        }
        let inherited_arms = match args.no_experiment {
            true => None,
            false if args.dry_run => Some(Vec::new()),
            false => Some(experiment_assignment::inherited(&args.location, &workflow)?),
        };
        if !args.dry_run {
            require_agent(&workflow)?;
        }
        let location = RunLocation::for_workflow(&args.location, &workflow, args.dry_run)?;
        let mode = LaunchMode::of(args.background, args.inline, workflow.mode);
        let shared_files = shared_files(&workflow, &location.config.workspace);
        if let Some(shared) = &shared_files {
            tell(&format!("sandbox: {shared}"));
        }
        if !args.dry_run
            && let Some(unseen) = text_format::cost_ceiling_warning(&workflow)
        {
            tell(&unseen);
        }
        let workflow = Workflow { shared_files, ..workflow };
        Ok(Self { workflow, policies, inherited_arms, location, base, mode })
    }

    /// Begins the run in this process, and follows it to its end. Which arms it gets is drawn once, here.
    pub(super) fn host(self, view: ViewArgs, announcement: Option<ReadyNotifier>) -> anyhow::Result<CliExit> {
        let Self { mut workflow, mut policies, inherited_arms, location, .. } = self;
        let assignments = match inherited_arms {
            None => Vec::new(),
            Some(inherited) => {
                experiment_assignment::assign_arms(&location, &mut workflow, &mut policies, &inherited)?
            }
        };
        let placed = placed(&workflow.policies);
        let start = RunStart::New { workflow: Box::new(workflow), policies, assignments };
        follow(&location, start, view, announcement).map_err(placed)
    }

    /// As bytes, for the process that hosts it. The location is on that process's command line.
    pub(super) fn freeze(self) -> anyhow::Result<Vec<u8>> {
        let components =
            self.policies.components.into_iter().map(|(reference, PolicySource { name, bytes })| {
                (reference, FrozenComponent { name, bytes: bytes.map(|bytes| BASE64.encode(bytes)) })
            });
        let frozen = FrozenRequest {
            workflow: self.workflow,
            components: components.collect(),
            inherited_arms: self.inherited_arms,
            base: self.base.into_os_string(),
        };
        serde_json::to_vec(&frozen).context("writing down what the run begins with")
    }

    /// From the request of another process. Program search is restricted as it was in the other one.
    ///
    /// # Errors
    /// The bytes are not a whole request: the other process has ended before it had written all of it.
    pub(super) fn thaw(bytes: &[u8], location: RunLocation) -> anyhow::Result<Self> {
        let frozen: FrozenRequest = serde_json::from_slice(bytes)
            .context("what this host was to begin did not arrive whole from the command that started it")?;
        let mut components = BTreeMap::new();
        for (reference, FrozenComponent { name, bytes }) in frozen.components {
            let bytes = bytes.map(|bytes| BASE64.decode(bytes)).transpose();
            let bytes = bytes.with_context(|| format!("the component {reference} did not arrive whole"))?;
            components.insert(reference, PolicySource { name, bytes });
        }
        let base = PathBuf::from(frozen.base);
        exclude_from_path(&base);
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let workflow = frozen.workflow;
        exclude_listed(&workflow.writable_by_agents(), home.as_deref(), &location.config.workspace);
        Ok(Self {
            workflow,
            policies: PolicyBundle { components },
            inherited_arms: frozen.inherited_arms,
            location,
            base,
            mode: LaunchMode::Foreground,
        })
    }
}

/// A request on its way to the process that hosts it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrozenRequest {
    workflow: Workflow,
    components: BTreeMap<String, FrozenComponent>,
    inherited_arms: Option<Vec<Assignment>>,
    /// A path need not be UTF-8.
    base: OsString,
}

/// A component of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrozenComponent {
    name: String,
    /// In Base64; absent for the one that is part of the host.
    bytes: Option<String>,
}

/// Reports the findings that the command does not name, and the choices of the files.
fn tell_of_task(
    task: &Task,
    args: &RunOptions,
    workflow: &Workflow,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    if let Some(remark) = task.remark() {
        tell(&remark);
    }
    if !args.dry_run
        && let Some(choices) = config_layers::workspace_choices_notice(&workflow.policies)
    {
        tell(&choices);
    }
    if args.sandbox.is_some()
        && let Some(lists) = task.lists_notice(workflow, &args.location)?
    {
        tell(&lists);
    }
    Ok(())
}

/// Refuses possible changes by an agent, unless the user accepts them. A dry run only reports them.
fn expect_accepted(
    task: &Task,
    args: &RunOptions,
    resolved: &ResolvedTask,
    base: &Path,
    tell: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    if args.accept_changes {
        return Ok(expect_person("--accept-changes")?);
    }
    let flags = RunLocation::here(&args.location)?.flags;
    let typed = format!("{}{}{flags}", task.command(), shell_words(&args.words()));
    match agent_changes::expect_no_agent_changes(task, &args.location, resolved, base, &typed) {
        Err(refused) if args.dry_run => tell(&format!("refused: {refused}")),
        expected => expected?,
    }
    Ok(())
}

/// Reads a workflow file over the layers below it, and the files that they name: policies, and the scripts of rehearsals. Paths
/// in a file start from its folder.
pub(crate) fn read(path: &Path, location: &LocationArgs) -> anyhow::Result<(Workflow, PolicyBundle)> {
    let task = Task::of_file(path);
    let (workflow, _) = task.parse_with_layers(location)?;
    let policies = bundle(&task.base()?, &workflow, location, PinMode::Leave)?;
    Ok((workflow, policies))
}

/// The components that a new run of it needs. The scripts that rehearsals play are only checked.
fn bundle(
    base: &Path,
    workflow: &Workflow,
    location: &LocationArgs,
    pinning: PinMode<'_>,
) -> anyhow::Result<PolicyBundle> {
    for script in workflow.roles.values().filter_map(|role| role.script.as_deref()) {
        check_script(Path::new(script)).map_err(|error| UsageError(error.to_string()))?;
    }
    policies::bundle(workflow, base, location, pinning).map_err(placed(&workflow.policies))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use baton_runtime::core::Digest;
    use baton_runtime::core::workflow::file::parse;

    use super::*;

    const WORKFLOW: &str = r#"
name = "job"
goal = "Port the parser"
mode = "thorough"
agent = "process:sh agent.sh"
verify_first = true
[limits]
cost_usd = 0.3
[policies]
settings = { stall-ms = 90000, accept-score = 0.85 }
splitting = "mine.wasm"
[roles.careful]
agent = "claude"
permission = "read-only"
env = ["MY_TOKEN"]
[[phases]]
id = "build"
role = "careful"
verify = ["test -s a.txt"]
objectives = [{ id = "one", description = "The first\nof two" }, "the second"]
"#;

    fn location(folder: &Path) -> RunLocation {
        let named = || Some(folder.to_owned());
        RunLocation::here(&LocationArgs { workspace: named(), state_dir: named() }).unwrap()
    }

    fn request(folder: &Path) -> StartRequest {
        let sources = [("mine.wasm", Some(vec![0, 0xff, b'\n', 0x80])), ("own", None)];
        let components =
            sources.map(|(name, bytes)| (name.to_owned(), PolicySource { name: name.into(), bytes }));
        let arm = serde_json::json!({
            "experiment": "mark", "version": 1, "unit": "u-1", "arm": "control",
            "propensities": { "control": 1.0 / 3.0, "eager": 2.0 / 3.0 }, "component": Digest::of("c"),
        });
        StartRequest {
            workflow: parse(WORKFLOW, "job.toml", "/w").unwrap(),
            policies: PolicyBundle { components: components.into() },
            inherited_arms: Some(vec![serde_json::from_value(arm).unwrap()]),
            location: location(folder),
            base: OsString::from_vec(b"/w/\xff".to_vec()).into(),
            mode: LaunchMode::Asked,
        }
    }

    // A9
    #[test]
    fn the_host_in_the_background_gets_the_request_as_it_was_resolved() {
        let place = tempfile::tempdir().unwrap();
        let sent = request(place.path());
        let got =
            StartRequest::thaw(&request(place.path()).freeze().unwrap(), location(place.path())).unwrap();
        assert_eq!(got.workflow, sent.workflow);
        assert_eq!((got.inherited_arms, got.base), (sent.inherited_arms, sent.base));
        let bytes = |policies: PolicyBundle| {
            let sources = policies.components.into_iter();
            sources.map(|(reference, source)| (reference, source.name, source.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(bytes(got.policies), bytes(sent.policies));
        assert_eq!(got.mode, LaunchMode::Foreground, "it works in the process that got it");
        let without = StartRequest { inherited_arms: None, ..request(place.path()) };
        let got = StartRequest::thaw(&without.freeze().unwrap(), location(place.path())).unwrap();
        assert_eq!(got.inherited_arms, None, "it takes part in no experiment");
    }

    #[test]
    fn a_part_of_a_request_begins_nothing() {
        let place = tempfile::tempdir().unwrap();
        let whole = request(place.path()).freeze().unwrap();
        for end in [0, 1, whole.len() / 2, whole.len() - 1] {
            let error = StartRequest::thaw(&whole[..end], location(place.path())).unwrap_err();
            assert!(error.to_string().contains("did not arrive whole"), "{error}");
        }
        assert!(StartRequest::thaw(&[&whole[..], b"{}"].concat(), location(place.path())).is_err());
    }
}
