//! `baton run`: a workflow file or a plan goes in, agents work on it, a report comes out. Where a run of it is unfinished, that
//! one goes on (D8). `baton do` is the same with a sentence.

mod agent_changes;
mod first_use;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use baton_lab::experiment::assignment::strip_arms;
use baton_runtime::agents::check_script;
use baton_runtime::core::Workflow;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::view::{COULD_NOT_START, QuestionSummary, RunView};
use baton_runtime::core::workflow::{AgentKind, RunSource, SandboxLevel};
use baton_runtime::{
    ControlMessage, PolicyBundle, RunStart, RuntimeError, UnfinishedRun, dry_run, expect_person, set_aside,
    unfinished,
};
use clap::{Args, ValueEnum, ValueHint};

use crate::args::{LocationArgs, OutputFormat, ViewArgs};
use crate::config_layers::{self, placed};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{ask_host, block_on};
use crate::host_launch::{DetachedHostArgs, LaunchMode, launch};
use crate::location::{RunLocation, shell_quoted, shell_words};
use crate::policies::PinMode;
use crate::render::resume_message::{PlanBoxDiff, ResumeMessage};
use crate::render::{dry_run, json_record, report, terminal_style, text_format};
use crate::run_ui::follow;
use crate::task::commits::CommitOptions;
use crate::task::detection::require_agent;
use crate::task::grants::RoleGrantArgs;
use crate::task::{PlanCompleted, Task, absolute_program, shared_files};
use crate::{experiment_assignment, policies, stdio};

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
    /// What whoever launched this host found that it takes over from the run that it begins anew. Nobody types this.
    #[arg(long, value_name = "JSON", hide = true)]
    inherits: Option<String>,
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
    fn workflow(&self, task: &Task) -> anyhow::Result<Workflow> {
        let sandbox = self.sandbox.map(SandboxLevel::from).unwrap_or_default();
        let (agent, script) = (self.agent.as_ref(), self.script.as_deref());
        let mut workflow = task.for_run(agent, script, sandbox, &self.handed_over, &self.location)?;
        self.commits.lay_over(&mut workflow).map_err(UsageError)?;
        Ok(workflow)
    }

    /// Where it works.
    pub(crate) fn location(&self) -> &LocationArgs {
        &self.location
    }

    /// The flags that say what a run is like, as they were typed.
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

    /// The flags that ask for something else than what a run began with.
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
    let task = Task::of_file(&args.file);
    if !args.options.host.is_launched() {
        agent_changes::expect_no_new_link(&args.file, &args.options.location)?;
    }
    begin(&task, args.options)
}

/// Begins a run of the task, or goes on with the one that is unfinished.
pub(crate) fn begin(task: &Task, args: RunOptions) -> anyhow::Result<CliExit> {
    let is_launched = args.host.is_launched();
    let announcement = args.host.clone().settle()?;
    // Whoever launched this host has looked for an unfinished run already.
    let looks = !args.dry_run && !is_launched && !args.new;
    let mut restarts = args.restart;
    let workflow = match (args.workflow(task), task.reopened()) {
        // An agent may have ticked what it has not done: only the run says whether something is left.
        (Err(error), Some(reopened)) if error.is::<PlanCompleted>() && looks && !restarts => {
            let mut workflow = args.workflow(&reopened)?;
            workflow.plan.iter_mut().for_each(|plan| plan.boxes.clear());
            let Some((location, found)) = find(task, &args, &workflow)? else {
                let undone = match args.accept_changes {
                    true => None,
                    false => agent_changes::explain_ticked_boxes(&args.location, &workflow)?,
                };
                return Err(undone.unwrap_or(error));
            };
            let beyond = beyond(task, &args, &found.workflow);
            return continue_run(task, &args, &workflow, &location, &found, &beyond);
        }
        (read, _) => read?,
    };
    if looks
        && !restarts
        && let Some((location, found)) = find(task, &args, &workflow)?
    {
        let beyond = beyond(task, &args, &found.workflow);
        if found.busy || beyond.is_empty() || has_worked(&found.view) {
            return continue_run(task, &args, &workflow, &location, &found, &beyond);
        }
        stdio::progress(&format!(
            "found: run {} began without `{beyond}`, and no agent has worked on it yet; a new run takes its place",
            found.view.run
        ));
        restarts = true;
    }
    if !is_launched && let Some(remark) = task.remark() {
        stdio::progress(&remark);
    }
    if !is_launched
        && !args.dry_run
        && let Some(told) = config_layers::workspace_choices_notice(&workflow.policies)
    {
        stdio::progress(&told);
    }
    if !is_launched
        && args.sandbox.is_some()
        && let Some(told) = task.lists_notice(&workflow, &args.location)?
    {
        stdio::progress(&told);
    }
    let pinning = if args.dry_run { PinMode::Leave } else { PinMode::Write };
    let base = task.base()?;
    if !is_launched && args.accept_changes {
        expect_person("--accept-changes")?;
    } else if !is_launched {
        let typed = format!(
            "{}{}{}",
            task.command(),
            shell_words(&args.words()),
            RunLocation::here(&args.location)?.flags
        );
        let own = agent_changes::expect_no_agent_changes(task, &args.location, &workflow, &base, &typed);
        match args.dry_run {
            true => own.err().into_iter().for_each(|refused| stdio::progress(&format!("refused: {refused}"))),
            false => own?,
        }
    }
    let mut policies = bundle(&base, &workflow, &args.location, pinning)?;
    if looks && restarts {
        supersede_earlier_run(&args.location, &workflow)?;
    }
    let inherited = match &args.inherits {
        _ if args.dry_run || args.no_experiment => Vec::new(),
        Some(json) => {
            serde_json::from_str(json).map_err(|error| UsageError(format!("--inherits: {error}")))?
        }
        None => experiment_assignment::inherited(&args.location, &workflow)?,
    };
    if !args.dry_run {
        require_agent(&workflow)?;
    }
    let location = RunLocation::for_workflow(&args.location, &workflow, args.dry_run)?;
    let way = LaunchMode::of(args.background, args.inline || is_launched, workflow.mode);
    let shared = shared_files(&workflow, &location.config.workspace);
    if let Some(found) = shared.as_ref().filter(|_| !is_launched) {
        stdio::progress(&format!("sandbox: {found}"));
    }
    if args.dry_run {
        let experiments = if args.no_experiment {
            Vec::new()
        } else {
            experiment_assignment::foresee(&location, &workflow, &policies)
        };
        return show_plan(&location, workflow, &policies, way, args.view, &experiments);
    }
    if !is_launched && let Some(unseen) = text_format::cost_ceiling_warning(&workflow) {
        stdio::progress(&unseen);
    }
    if way == LaunchMode::Foreground {
        let mut workflow = Workflow { shared_files: shared, ..workflow };
        let assignments = match args.no_experiment {
            true => Vec::new(),
            false => experiment_assignment::assign_arms(&location, &mut workflow, &mut policies, &inherited)?,
        };
        let placed = placed(&workflow.policies);
        let start = RunStart::New { workflow: Box::new(workflow), policies, assignments };
        return follow(&location, start, args.view, announcement).map_err(placed);
    }
    let format = args.view.format.format;
    let mut arguments: Vec<OsString> = task.arguments()?;
    // Which arm it gets is drawn once, by the host that begins it.
    if !args.no_experiment && !inherited.is_empty() {
        arguments.extend(["--inherits".into(), serde_json::to_string(&inherited)?.into()]);
    }
    let script = args.script.as_ref().map(std::path::absolute).transpose()?;
    arguments.extend(RunOptions { script, ..args }.words().into_iter().map(OsString::from));
    launch(&location, &arguments, way, format)
}

fn show_plan(
    location: &RunLocation,
    workflow: Workflow,
    policies: &PolicyBundle,
    way: LaunchMode,
    view: ViewArgs,
    experiments: &[String],
) -> anyhow::Result<CliExit> {
    let planned = dry_run(&location.config, workflow.clone(), policies);
    let plan = planned.map_err(|error| placed(&workflow.policies)(error.into()))?;
    match view.format.format {
        OutputFormat::Text => {
            stdio::data(&dry_run::text(&plan, &workflow, location, way, &terminal_style::stdout()))?;
            experiments.iter().try_for_each(|line| stdio::data(&format!("\n{line}\n")))?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&with_experiments(
            dry_run::json(&plan, &workflow, way),
            experiments,
        ))?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&with_experiments(
            dry_run::json(&plan, &workflow, way),
            experiments,
        ))?)?,
    }
    Ok(CliExit::Done)
}

/// The plan with what experiments have to do with it, where any has.
fn with_experiments(mut plan: serde_json::Value, experiments: &[String]) -> serde_json::Value {
    if !experiments.is_empty() {
        plan["experiments"] = experiments.into();
    }
    plan
}

// --- the run that is unfinished (D8) ----------------------------------------------------------------------------------

/// The run that this invocation goes on with. Where each run has a folder of its own, one that a host works on is left
/// to it; in a folder that they share, nothing else can be begun meanwhile.
fn find(
    task: &Task,
    args: &RunOptions,
    workflow: &Workflow,
) -> anyhow::Result<Option<(RunLocation, UnfinishedRun)>> {
    let apart = RunLocation::is_fresh(&args.location, workflow);
    for location in RunLocation::previous_locations(&args.location, workflow)? {
        let found = block_on(unfinished(&location.config, workflow))?.map_err(|error| {
            let broken = matches!(error, RuntimeError::BrokenJournal { .. });
            let restart = restart(task, args, &location);
            let error = anyhow::Error::from(error);
            match broken {
                true => error.context(format!(
                    "the last run of this workflow cannot be resumed; `{restart}` starts a new one"
                )),
                false => error,
            }
        })?;
        match found {
            Some(found) if !(apart && found.busy) => return Ok(Some((location, found))),
            _ => {}
        }
    }
    Ok(None)
}

/// Whether the files say something else than what the run began with. How many agents work at once is this machine's to say,
/// where the workflow does not; and a line that moved says the same.
fn has_changed(task: &Task, began_with: &Workflow, now: &Workflow) -> bool {
    if let Some(RunSource::Plan { .. }) = &began_with.source {
        // Its boxes are told by themselves.
        return false;
    }
    // What an experiment laid over it when it began stands in no file.
    let (mut before, mut now) = (strip_arms(began_with.clone()), now.clone());
    if now.limits.agents == 0 {
        now.limits.agents = before.limits.agents;
    }
    if let Task::Sentence { .. } = task {
        // A check that was named is told as a flag; one that is found now is nobody's change.
        for (now, before) in now.phases.iter_mut().zip(&before.phases) {
            now.verify.clone_from(&before.verify);
        }
    }
    (before.source, now.source) = (None, None);
    (before.plan, now.plan) = (None, None);
    // What is in the folder says that.
    (before.next_run_files, now.next_run_files) = (Vec::new(), Vec::new());
    (before.shared_files, now.shared_files) = (None, None);
    before.policies = before.policies.without_sources();
    now.policies = now.policies.without_sources();
    before != now
}

/// Goes on with it, or shows the question that it waits for.
fn continue_run(
    task: &Task,
    args: &RunOptions,
    workflow: &Workflow,
    location: &RunLocation,
    run: &UnfinishedRun,
    beyond: &str,
) -> anyhow::Result<CliExit> {
    let resume = RunStart::Resume { run: Some(run.view.run.clone()) };
    if run.busy {
        // The runtime says best who works there.
        return follow(location, resume, args.view, None);
    }
    let restart = restart(task, args, location);
    let found = ResumeMessage {
        run,
        changed: beyond.is_empty() && has_changed(task, &run.workflow, workflow),
        beyond,
        boxes: PlanBoxDiff::between(run, workflow),
        restart: &restart,
    };
    let tries_again = found.waits() && beyond.is_empty() && only_failed_starts(&run.view);
    match tries_again {
        true => stdio::progress(&format!(
            "found: run {} could not start its agent; it tries again. `{restart}` starts a new run instead",
            run.view.run
        )),
        false => found.lines(&terminal_style::stderr()).iter().for_each(|line| stdio::progress(line)),
    }
    if args.view.format.format == OutputFormat::Jsonl {
        stdio::data(&json_record::line(&found.json())?)?;
    }
    if tries_again {
        for question in &run.view.questions {
            let (run, question, choice) = (Some(run.view.run.clone()), Some(question.id), PauseAnswer::Retry);
            ask_host(location, ControlMessage::Answer { run, question, choice, message: None })?;
        }
    } else if found.waits() {
        let document = json_record::RunDocument { location, view: &run.view, live: Some(false) };
        match args.view.format.format {
            OutputFormat::Text => {
                stdio::data(&format!(
                    "\n{}",
                    report::status(&terminal_style::stdout(), &run.view, location, false)
                ))?;
            }
            OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
            OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
        }
        return Ok(CliExit::Paused);
    }
    if !beyond.is_empty() {
        return Err(UsageError(format!(
            "run {} began without `{beyond}`, and this command does not change that: leave it out, or start a new \
             run: {restart}",
            run.view.run
        ))
        .into());
    }
    let way = LaunchMode::of(args.background, args.inline, run.workflow.mode);
    if way == LaunchMode::Foreground {
        return follow(location, resume, args.view, None);
    }
    let arguments: Vec<OsString> = vec!["resume".into(), run.view.run.as_str().into()];
    launch(location, &arguments, way, args.view.format.format)
}

/// Whether all that it asks is what to do about an agent that could not start: by now it may be installed, or logged in.
fn only_failed_starts(view: &RunView) -> bool {
    let is_of_start = |question: &QuestionSummary| {
        let phase = view.phases.iter().find(|phase| Some(&phase.id) == question.phase.as_ref());
        let last = phase.and_then(|phase| phase.sessions.last());
        last.is_some_and(|session| session.ending == COULD_NOT_START && session.turns == 0)
    };
    !view.questions.is_empty() && view.questions.iter().all(is_of_start)
}

fn supersede_earlier_run(args: &LocationArgs, workflow: &Workflow) -> anyhow::Result<()> {
    let apart = RunLocation::is_fresh(args, workflow);
    for location in RunLocation::previous_locations(args, workflow)? {
        let runs = match block_on(set_aside(&location.config, workflow))? {
            // It goes on in its own folder.
            Err(RuntimeError::Busy { .. }) if apart => continue,
            runs => runs?,
        };
        for run in runs {
            stdio::progress(&format!(
                "run {run} is set aside and kept; `baton resume {run}{}` continues it",
                location.flags
            ));
        }
    }
    Ok(())
}

/// "baton run w.toml --agent codex --restart".
fn restart(task: &Task, args: &RunOptions, location: &RunLocation) -> String {
    format!("{}{} --restart{}", task.command(), shell_words(&args.words()), location.flags)
}

/// What was typed, and a run began without, as it was typed; empty where it began with all of it.
fn beyond(task: &Task, args: &RunOptions, run: &Workflow) -> String {
    let flags: Vec<&str> = task.beyond(run).into_iter().chain(args.beyond(run)).collect();
    let mut is_meant = false;
    let of_flags = |word: &String| {
        if let Some(flag) = word.starts_with("--").then(|| word.split('=').next()).flatten() {
            is_meant = flags.contains(&flag);
        }
        is_meant.then(|| shell_quoted(word))
    };
    let words: Vec<String> = task.words().into_iter().chain(args.words()).collect();
    words.iter().filter_map(of_flags).collect::<Vec<_>>().join(" ")
}

/// Whether an agent has done anything for a run.
fn has_worked(view: &RunView) -> bool {
    view.phases.iter().flat_map(|phase| &phase.sessions).any(|session| session.turns > 0)
}

// --- reading the workflow ---------------------------------------------------------------------------------------------

/// Reads a workflow file over the layers beneath it, and what they name: policies, and the scripts that rehearsals play.
/// Paths in a file start from its folder.
pub(crate) fn read(path: &Path, location: &LocationArgs) -> anyhow::Result<(Workflow, PolicyBundle)> {
    let task = Task::of_file(path);
    let (workflow, _) = task.parse_with_layers(location)?;
    let policies = bundle(&task.base()?, &workflow, location, PinMode::Leave)?;
    Ok((workflow, policies))
}

/// What a new run of it needs beside it.
fn bundle(
    base: &Path,
    workflow: &Workflow,
    location: &LocationArgs,
    pinning: PinMode,
) -> anyhow::Result<PolicyBundle> {
    for script in workflow.roles.values().filter_map(|role| role.script.as_deref()) {
        check_script(Path::new(script)).map_err(|error| UsageError(error.to_string()))?;
    }
    policies::bundle(workflow, base, location, pinning).map_err(placed(&workflow.policies))
}
