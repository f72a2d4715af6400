//! `baton sandbox`: the sandbox of this machine, tried with a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};
use baton_registry::LOCK_FILE;
use baton_runtime::agents::{BoundaryContext, adopt_orphans, end_descendants};
use baton_runtime::core::Digest;
use baton_runtime::core::facts::{Refusal, RefusalKind};
use baton_runtime::core::visible::visible_name;
use baton_runtime::core::workflow::{Sandbox, SandboxError, SandboxLevel};
use baton_runtime::sandbox::{
    Boundary, BoundaryError, RemainingPaths, SandboxSupport, UnsupportedLevel, clear, listed_paths,
    shared_files,
};
use baton_runtime::store::{HostLock, StateDir};
use baton_runtime::{HostConfig, TriedCommands, hidden_state_roots, note_lists, state_roots};
use clap::{Args, Subcommand};
use serde_json::json;

use super::run::SandboxLevelArg;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::config_layers::ConfigLayers;
use crate::ending_signals::EndingSignals;
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::block_on;
use crate::location::RunLocation;
use crate::render::json_record;
use crate::stdio;
use crate::task::CommandFiles;

/// Show what a sandbox allows and what it denies
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton sandbox try -- npm test        what `npm test` would be denied
  baton agents                         whether this machine supports sandboxes")]
pub(crate) enum SandboxCommand {
    Try(SandboxTryArgs),
}

/// Run a command in a sandbox, and list what it was denied
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton sandbox try -- npm test
  baton sandbox try --network registry.npmjs.org -- npm ci
  baton sandbox try --read ~/.cargo --read ~/.rustup -- cargo test
  baton sandbox try --level write -- make

The command runs in the current folder, as an agent would. [sandbox] in your own config.toml applies here as well. \
The list shows what `network`, `read` and `write` of a role would have to name.")]
pub(crate) struct SandboxTryArgs {
    /// How strictly it is confined
    #[arg(long, value_enum, default_value = "strict", value_name = "LEVEL")]
    level: SandboxLevelArg,
    /// A host that it may connect to; may be given several times
    #[arg(long, value_name = "HOST[:PORT]")]
    network: Vec<String>,
    /// A path that it may read; may be given several times
    #[arg(long, value_name = "PATH")]
    read: Vec<String>,
    /// A path that it may write; may be given several times
    #[arg(long, value_name = "PATH")]
    write: Vec<String>,
    /// A path to hide from it; may be given several times
    #[arg(long, value_name = "PATH")]
    hide: Vec<String>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
    /// The command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Digits of a folder's digest, in the name of the files that are kept while a command is tried there.
const TRY_DIGITS: usize = 16;
const IN_USE: &str = "`baton sandbox try` works in this folder; wait until its command has ended";

/// The environment of a command: that of every agent.
const INHERITED: [&str; 8] = ["PATH", "HOME", "LANG", "TERM", "USER", "SHELL", "TZ", "LC_ALL"];

pub(crate) fn sandbox(command: SandboxCommand) -> anyhow::Result<CliExit> {
    match command {
        SandboxCommand::Try(args) => attempt(args),
    }
}

fn attempt(args: SandboxTryArgs) -> anyhow::Result<CliExit> {
    let location = RunLocation::here(&args.location)?;
    let workspace = location.config.workspace.canonicalize().context("finding the workspace")?;
    let floor = ConfigLayers::read(Some(&workspace))?.floor()?;
    let targets = args.network.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>();
    let targets = targets.map_err(|error| UsageError(format!("--network: {error}")))?;
    let absolute = |paths: Vec<String>| {
        paths
            .into_iter()
            .map(|path| std::path::absolute(path).map(|path| path.to_string_lossy().into_owned()))
            .collect::<Result<Vec<_>, _>>()
    };
    let own = Sandbox {
        level: args.level.into(),
        network: (!targets.is_empty()).then_some(targets),
        read: Some(absolute(args.read)?).filter(|paths| !paths.is_empty()),
        write: Some(absolute(args.write)?).filter(|paths| !paths.is_empty()),
        hide: absolute(args.hide)?,
        ..Sandbox::default()
    };
    // The user types this, so what is named here is allowed; only addresses that are not of the open internet are
    // for the file to allow.
    let lists = Sandbox { network: floor.network.clone(), ..Sandbox::default() };
    if own.network.is_some() {
        let only_private = Sandbox { network: own.network.clone(), ..Sandbox::default() };
        match only_private.held_to(&lists, "--network", None) {
            Ok(_) | Err(SandboxError::Network { .. } | SandboxError::Path { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let sandbox = Sandbox {
        read_within: floor.read_within.filter(|_| own.read.is_none()),
        write_within: floor.write_within.filter(|_| own.write.is_none()),
        level: own.level.max(floor.level),
        network: own.network.or(floor.network),
        read: own.read.or(floor.read),
        write: own.write.or(floor.write),
        hide: own.hide.into_iter().chain(floor.hide).collect(),
        protect: protected_files(&workspace),
    };
    let sandbox_support = SandboxSupport::look(std::env::var_os("PATH").as_deref());
    let state_root = &location.config.state_root;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state_root)?;
    let taken = TryPlace::take(&location.config, &workspace)?;
    let wanted = BoundaryContext {
        tree: &workspace,
        workspace: &workspace,
        folder: taken.folder.clone(),
        conversations: None,
        own_exe: &location.config.own_exe,
        environment: &location.config.environment,
        hidden: hidden_state_roots(&location.config.state_root, |name| std::env::var_os(name)),
        remaining: Default::default(),
        task_folder: None,
        hide: &sandbox.hide,
        writable: sandbox.write.as_deref().unwrap_or_default(),
    };
    let wanted = wanted.for_command(&sandbox)?;
    let listed = listed_paths(wanted.sandbox.write.as_deref(), wanted.home, &workspace);
    let shared = shared_files(&workspace, &listed);
    if shared.is_worth_telling() {
        stdio::progress(&shared.to_string());
    }
    let TriedCommand { ended, refused } = block_on(run(&args.command, wanted, &sandbox_support, &location))??;
    let passed = ended == CliExit::Done;
    match args.format.format {
        OutputFormat::Text => refused.iter().map(refused_line).for_each(|line| stdio::progress(&line)),
        OutputFormat::Json => stdio::data(&json_record::pretty(&document(&refused, passed))?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document(&refused, passed))?)?,
    }
    if refused.is_empty() && ended != CliExit::Interrupted && args.format.format == OutputFormat::Text {
        stdio::progress("nothing was refused");
    }
    Ok(ended)
}

/// A folder in which a command is tried, for this process alone.
struct TryPlace {
    /// For the boundary.
    folder: PathBuf,
    lock_file: PathBuf,
    /// What is written from now on until this is dropped may be the command's.
    tried: TriedCommands,
    _lock: File,
    /// Of a folder that Baton has worked in: no host begins during the try.
    _host_lock: Option<HostLock>,
}

impl TryPlace {
    /// Takes the folder. Removes and reports files that an earlier command planted whose `baton` was killed.
    fn take(config: &HostConfig, workspace: &Path) -> anyhow::Result<Self> {
        let (folder, lock_file) = try_paths(config, workspace);
        let lock = File::create(&lock_file).context("marking the folder as in use")?;
        if lock.try_lock().is_err() {
            bail!("{}: {IN_USE}", workspace.display());
        }
        let state = StateDir::find(&config.state_root, workspace)?;
        let host_lock = state.map(|state| state.lock()).transpose()?;
        clear_planted(&folder);
        let tried = tried_commands(config, workspace);
        tried.begin(workspace).context("noting that a command is tried")?;
        Ok(Self { folder, lock_file, tried, _lock: lock, _host_lock: host_lock })
    }
}

impl Drop for TryPlace {
    fn drop(&mut self) {
        // If it fails, the next command or run notes it.
        let _ = self.tried.close();
        // The next one makes it again.
        let _ = fs::remove_file(&self.lock_file);
    }
}

/// The same before a run. A run does not begin while a command is tried there: neither could distinguish the files that the
/// other plants.
pub(crate) fn clear_ended_try(config: &HostConfig) -> anyhow::Result<()> {
    let Ok(workspace) = config.workspace.canonicalize() else { return Ok(()) };
    let (folder, lock_file) = try_paths(config, &workspace);
    let Ok(lock) = File::open(&lock_file) else { return Ok(()) };
    if lock.try_lock().is_err() {
        bail!("{}: {IN_USE}", workspace.display());
    }
    clear_planted(&folder);
    tried_commands(config, &workspace).close().context("noting that no command is tried any more")?;
    let _ = fs::remove_file(&lock_file);
    Ok(())
}

fn tried_commands(config: &HostConfig, workspace: &Path) -> TriedCommands {
    TriedCommands::named(&config.state_root, &try_digits(workspace))
}

fn try_digits(workspace: &Path) -> String {
    Digest::of(workspace.as_os_str().as_encoded_bytes()).as_str()[..TRY_DIGITS].to_owned()
}

fn try_paths(config: &HostConfig, workspace: &Path) -> (PathBuf, PathBuf) {
    let name = format!("try-{}", try_digits(workspace));
    (config.state_root.join(&name), config.state_root.join(format!("{name}.lock")))
}

fn clear_planted(folder: &Path) {
    let swept = clear(folder, &RemainingPaths::default());
    swept.iter().map(refused_line).for_each(|line| stdio::progress(&line));
}

/// The protected files of a folder, by absolute paths: programs in the settings of agents there, and the pins of its workflows'
/// policies.
fn protected_files(workspace: &Path) -> Vec<String> {
    let of_settings = CommandFiles::of_settings(workspace);
    of_settings.kept().chain([workspace.join(LOCK_FILE).to_string_lossy().into_owned()]).collect()
}

/// The result of a command.
struct TriedCommand {
    ended: CliExit,
    refused: Vec<Refusal>,
}

/// Runs it until it ends, or until a signal ends this program: planted files are removed then as well.
async fn run(
    command: &[OsString],
    wanted: baton_runtime::sandbox::BoundaryRequest<'_>,
    sandbox_support: &SandboxSupport,
    location: &RunLocation,
) -> anyhow::Result<TriedCommand> {
    let tree = wanted.tree.to_owned();
    let written = listed_paths(wanted.sandbox.write.as_deref(), wanted.home, wanted.tree);
    let (boundary, mut heard) = Boundary::open(wanted, sandbox_support).map_err(|error| match error {
        BoundaryError::Missing(missing) => anyhow::Error::from(UsageError(missing.to_string())),
        error => error.into(),
    })?;
    // The host searches no program of its own in places that the command writes.
    let roots = state_roots(&location.config.state_root, |name| std::env::var_os(name));
    note_lists(&roots, &[&tree], &written)?;
    let before = boundary.command();
    let environment: BTreeMap<_, _> = location
        .config
        .environment
        .iter()
        .filter(|(name, _)| INHERITED.iter().any(|known| name.as_os_str() == *known))
        .collect();
    let mut signals = EndingSignals::listen()?;
    adopt_orphans().context("adopting what the command leaves running")?;
    let mut child = tokio::process::Command::new(&before[0])
        .args(&before[1..])
        .args(command)
        .current_dir(tree)
        .env_clear()
        .envs(environment)
        .stdin(Stdio::inherit())
        .spawn()
        .context("starting the sandbox")?;
    let ended = tokio::select! {
        status = child.wait() => match status.context("waiting for the command")?.success() {
            true => CliExit::Done,
            false => CliExit::Unfinished,
        },
        () = signals.next() => {
            child.kill().await.context("ending the command")?;
            CliExit::Interrupted
        }
    };
    // Nothing may be planted after it is looked for.
    if !end_descendants() {
        stdio::progress("sandbox: processes that the command started cannot be ended");
    }
    let mut refused = Vec::new();
    while let Ok(refusal) = heard.try_recv() {
        refused.push(refusal);
    }
    refused.extend(boundary.sweep());
    Ok(TriedCommand { ended, refused })
}

/// A refusal, on one line: the command chooses the names of paths.
fn refused_line(refusal: &Refusal) -> String {
    format!("refused to {}", visible_name(&refusal.to_string()))
}

fn document(refused: &[Refusal], passed: bool) -> serde_json::Value {
    let word = |kind| match kind {
        RefusalKind::Read => "read",
        RefusalKind::Write => "write",
        RefusalKind::Network => "network",
        RefusalKind::System => "system",
        RefusalKind::Host => "host",
        RefusalKind::Call => "call",
        RefusalKind::Own => "own",
    };
    let refused: Vec<_> = refused
        .iter()
        .map(|refusal| json!({ "kind": word(refusal.kind), "target": refusal.target }))
        .collect();
    json!({ "schema": json_record::SCHEMA, "record": "sandbox-try", "passed": passed, "refused": refused })
}

/// The support of this machine, a line for each level.
pub(crate) fn lines(sandbox_support: &SandboxSupport) -> Vec<String> {
    [SandboxLevel::Write, SandboxLevel::Strict]
        .into_iter()
        .map(|level| match (sandbox_support.can(level), level, &sandbox_support.bwrap) {
            (Err(UnsupportedLevel { why, .. }), _, _) => format!("sandbox {}: not here; {why}", level.name()),
            (Ok(()), SandboxLevel::Strict, Ok(bwrap)) => {
                format!("sandbox strict: yes, by {}", bwrap.display())
            }
            (Ok(()), ..) => {
                format!("sandbox {}: yes, by Landlock {}", level.name(), sandbox_support.landlock)
            }
        })
        .collect()
}

/// The same for programs.
pub(crate) fn as_json(sandbox_support: &SandboxSupport) -> serde_json::Value {
    let of = |level| match sandbox_support.can(level) {
        Ok(()) => json!({ "available": true }),
        Err(UnsupportedLevel { why, .. }) => json!({ "available": false, "why": why }),
    };
    json!({
        "write": of(SandboxLevel::Write),
        "strict": of(SandboxLevel::Strict),
        "landlock": sandbox_support.landlock,
        "bubblewrap": sandbox_support.bwrap.as_ref().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_path_says_no_line_of_its_own() {
        // N6
        let target = "/home/b\nrefused to fake line".to_owned();
        let line = refused_line(&Refusal { kind: RefusalKind::Write, target });
        assert_eq!(line, "refused to write /home/b␊refused to fake line");
    }

    // N6: a command that was tried could change files that an agent could not.
    #[test]
    fn what_settings_of_agents_run_stays_while_a_command_is_tried() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in [".claude", "tools"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let hook =
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh tools/hook.sh"}]}]}}"#;
        std::fs::write(root.join(".claude/settings.json"), hook).unwrap();
        for file in ["tools/hook.sh", "tools/work.sh"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let protected = protected_files(&root);
        for (file, stays) in [("tools/hook.sh", true), ("baton.lock", true), ("tools/work.sh", false)] {
            let named = root.join(file).to_string_lossy().into_owned();
            assert_eq!(protected.contains(&named), stays, "{file}: {protected:?}");
        }
    }

    #[test]
    fn what_a_machine_can_do_is_a_line_for_each_level() {
        // N6
        let able = SandboxSupport { bwrap: Ok("/usr/bin/bwrap".into()), landlock: 7 };
        assert_eq!(
            lines(&able),
            ["sandbox write: yes, by Landlock 7", "sandbox strict: yes, by /usr/bin/bwrap"]
        );
        let unable = SandboxSupport { bwrap: Err("no bwrap".to_owned()), landlock: 0 };
        let said = lines(&unable).join("\n");
        assert!(
            said.contains("write: not here; the kernel has no Landlock")
                && said.contains("strict: not here; no bwrap"),
            "{said}"
        );
        assert_eq!(as_json(&unable)["strict"]["available"], false);
    }
}
