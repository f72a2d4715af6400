//! `baton run`: a workflow file or a plan goes in, agents work on it, a report comes out. If a run of it is unfinished, the command
//! resumes that one (D8). `baton do` is the same with a sentence.

mod agent_changes;
mod dry_run;
mod first_use;
mod start_request;
mod unfinished;

use std::path::PathBuf;

use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{AgentKind, SandboxLevel};
use clap::{Args, ValueEnum, ValueHint};

use crate::args::{LocationArgs, ViewArgs};
use crate::exit_status::{CliExit, UsageError};
use crate::host_launch::{DetachedHostArgs, HostCommand, LaunchMode, launch, receive_request};
use crate::location::RunLocation;
use crate::stdio;
use crate::task::commits::CommitOptions;
use crate::task::grants::RoleGrantArgs;
use crate::task::{ResolvedTask, Task, absolute_program};
use start_request::StartRequest;
pub(crate) use start_request::read;
use unfinished::RunDecision;

/// Run a workflow or a plan, or resume its unfinished run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton run workflow.toml
  baton run PLAN.md                            a plan: its boxes are ticked as they are done
  baton run workflow.toml --agent claude       the same work with Claude Code
  baton run workflow.toml --dry-run            what would be started, with which prompts
  baton run workflow.toml --background         in the background; `baton attach` shows it
  baton run workflow.toml --restart            a new run, even if one is unfinished
  baton run workflow.toml --new                a separate run next to an unfinished one
  baton run workflow.toml --sandbox strict     with every agent confined
  baton run workflow.toml --no-experiment      outside of any `baton experiment`
  baton run workflow.toml --format jsonl       one JSON record a line, for programs

If the last run was interrupted or crashed, or waits with your answer, it continues with the workflow that it began \
with. Runs in the modes swarm and thorough work in the background, unless --inline is given.

In a plan (Markdown) the headings are phases, the boxes (`- [ ]`) objectives, paths in code spans files that must exist, and
a line `verify: COMMAND` is a check. A phase waits for those above it, unless a line `depends: HEADING` or `depends: none` says otherwise.")]
pub(crate) struct RunArgs {
    /// The workflow file (`baton schema` describes it), or a plan in Markdown
    #[arg(value_name = "WORKFLOW.toml|PLAN.md", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    options: RunOptions,
}

/// How a run is begun, whatever it is made from.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Override the agent of every role: claude, codex, rehearsal, acp:COMMAND (any agent that
    /// speaks ACP), process:COMMAND (any program) [default: the file's, else the first that is installed]
    #[arg(long)]
    agent: Option<AgentKind>,
    /// What the rehearsal agent plays
    #[arg(long, value_name = "SCRIPT.toml", value_hint = ValueHint::FilePath)]
    script: Option<PathBuf>,
    #[command(flatten)]
    commits: CommitOptions,
    /// Show what would be started, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Run in the background [default for the modes swarm and thorough]
    #[arg(long, visible_aliases = ["detach", "fresh", "isolated"], conflicts_with = "inline")]
    background: bool,
    /// Work in the foreground, whatever the mode [default for the other modes]
    #[arg(long)]
    inline: bool,
    /// Start a new run even if one of this workflow is unfinished. The old run is kept; `baton resume` continues it
    #[arg(long)]
    restart: bool,
    /// Start a separate run and leave an unfinished one as it is: for batches
    #[arg(long, conflicts_with = "restart")]
    new: bool,
    /// Confine every role at least this far: write (it writes only into its tree), strict (it also sees only the
    /// system, its tree and its own settings). Both limit the network, too: write to the
    /// ports of `network`, strict to its names [default: the services of the agent's own model]
    #[arg(long, value_enum, value_name = "LEVEL")]
    sandbox: Option<SandboxLevelArg>,
    /// Do not enrol this run in experiments: only the policies of your own files decide
    #[arg(long)]
    no_experiment: bool,
    /// Take what the run would read or run as it is although an agent may have changed it: checks (`verify: …`) that are
    /// new in a plan since its last run, or a file that was changed while a run worked and that no run of yours used since
    #[arg(long)]
    accept_changes: bool,
    #[command(flatten)]
    handed_over: RoleGrantArgs,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    host: DetachedHostArgs,
}

impl RunOptions {
    /// The task as a run of it begins.
    fn resolve(&self, task: &Task) -> anyhow::Result<ResolvedTask> {
        let sandbox = self.sandbox.map(SandboxLevel::from).unwrap_or_default();
        let (agent, script) = (self.agent.as_ref(), self.script.as_deref());
        let mut resolved = task.for_run(agent, script, sandbox, &self.handed_over, &self.location)?;
        self.commits.lay_over(&mut resolved.workflow).map_err(UsageError)?;
        Ok(resolved)
    }

    /// Whether another process has resolved the run that this one hosts.
    pub(crate) fn is_launched(&self) -> bool {
        self.host.is_launched()
    }

    /// Its location.
    pub(crate) fn location(&self) -> &LocationArgs {
        &self.location
    }

    /// The flags of the run's properties, as they were typed.
    fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(agent) = &self.agent {
            words.extend(["--agent".to_owned(), String::from(agent.clone())]);
        }
        if let Some(script) = &self.script {
            words.extend(["--script".to_owned(), script.to_string_lossy().into_owned()]);
        }
        words.extend(self.commits.words());
        if let Some(level) = self.sandbox.map(SandboxLevel::from) {
            words.extend(["--sandbox".to_owned(), level.name().to_owned()]);
        }
        words.extend(self.handed_over.words());
        if self.no_experiment {
            words.push("--no-experiment".to_owned());
        }
        words
    }

    /// The flags that differ from the run's initial settings.
    fn beyond(&self, run: &Workflow) -> Vec<&'static str> {
        let is_other = |agent: &AgentKind| {
            let agent = absolute_program(agent);
            run.phases.iter().any(|phase| run.role_of(phase).agent != agent)
        };
        let mut flags = Vec::new();
        if self.agent.as_ref().is_some_and(is_other) {
            flags.push("--agent");
        }
        flags.extend(self.commits.beyond(run));
        let level = self.sandbox.map(SandboxLevel::from).unwrap_or_default();
        if run.roles.values().any(|role| role.sandbox.level < level) {
            flags.push("--sandbox");
        }
        flags.extend(self.handed_over.beyond(run));
        flags
    }
}

/// `--sandbox`. A person who wants less than a file says corrects the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxLevelArg {
    /// It writes only into its tree
    Write,
    /// It sees the system, its tree and its own settings
    Strict,
}

impl From<SandboxLevelArg> for SandboxLevel {
    fn from(level: SandboxLevelArg) -> Self {
        match level {
            SandboxLevelArg::Write => SandboxLevel::Write,
            SandboxLevelArg::Strict => SandboxLevel::Strict,
        }
    }
}

pub(crate) fn run(args: RunArgs) -> anyhow::Result<CliExit> {
    if args.options.is_launched() {
        return host_launched(args.options);
    }
    agent_changes::expect_no_new_link(&args.file, &args.options.location)?;
    begin(&Task::of_file(&args.file), &args.options)
}

/// Begins a run of the task, or resumes the one that is unfinished.
pub(crate) fn begin(task: &Task, args: &RunOptions) -> anyhow::Result<CliExit> {
    let (resolved, supersedes) = match unfinished::decide(task, args)? {
        RunDecision::Resume(resumable) => return unfinished::resume(task, args, &resumable),
        RunDecision::Begin { resolved, supersedes, notice } => {
            notice.iter().for_each(|notice| stdio::progress(notice));
            (*resolved, supersedes)
        }
    };
    let request = StartRequest::resolve(task, args, resolved, supersedes, &mut stdio::progress)?;
    match request.mode {
        _ if args.dry_run => dry_run::show(&request, args.view),
        LaunchMode::Foreground => request.host(args.view, None),
        LaunchMode::Asked | LaunchMode::FromMode(_) => {
            let (location, mode) = (request.location.clone(), request.mode);
            let (name, argument) = task.process_words()?;
            let command = HostCommand { name, argument, request: Some(request.freeze()?) };
            launch(&location, &command, mode, args.view.format.format)
        }
    }
}

/// Hosts the run that another process has resolved, and reads nothing that it was resolved from.
pub(crate) fn host_launched(args: RunOptions) -> anyhow::Result<CliExit> {
    let announcement = args.host.settle()?;
    let request = StartRequest::thaw(&receive_request()?, RunLocation::here(&args.location)?)?;
    request.host(args.view, announcement)
}
