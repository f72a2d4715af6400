//! What a run is made from: a workflow file, a plan in Markdown, or a sentence. Each becomes the text of a workflow, which is
//! read like any other; so whatever holds for a workflow holds for all three.

pub(crate) mod commits;
pub(crate) mod detection;
pub(crate) mod grants;
mod html_folds;
mod next_run_files;
pub(crate) mod plan;
pub(crate) mod plan_boxes;
mod plan_lines;
mod sandbox_floor;
mod sandbox_lists;
pub(crate) mod workflow_draft;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use baton_runtime::agents::CommandFiles;
use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::file::{self, FILE_BYTES_MAX, ParsedWorkflow};
use baton_runtime::core::workflow::{
    AgentKind, Objective, PhaseSpec, PlanBox, RunSource, SandboxLevel, paths,
};
use baton_runtime::read_plain;
use baton_runtime::sandbox::exclude_from_path;

use crate::args::LocationArgs;
use crate::config_layers::ConfigLayers;
use crate::exit_status::UsageError;
use crate::location::{RunLocation, shell_quoted, shell_words};
use grants::RoleGrantArgs;
pub(crate) use next_run_files::path_aliases;
use plan::MarkdownPlan;
use sandbox_floor::hide_link_targets;
pub(crate) use sandbox_lists::shared_files;
use workflow_draft::all_of;
pub(crate) use workflow_draft::{PlanCompleted, WorkflowDraft};

/// What a person points at.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// A workflow file.
    File(PathBuf),
    /// A plan in Markdown.
    Plan(PathBuf),
    /// The same, and each of its boxes counts as open: to look for the run that was made from it before all were ticked.
    ReopenedPlan(PathBuf),
    /// A sentence, and what must exit 0 when it is done.
    Sentence { text: String, checks: CheckCommands },
}

/// The commands that check what a sentence asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckCommands {
    /// The command line names them.
    Named(Vec<String>),
    /// The folder shows how its tests run, if it does.
    Found(Option<String>),
    /// `--no-check`.
    Disabled,
}

impl CheckCommands {
    fn commands(&self) -> &[String] {
        match self {
            CheckCommands::Named(commands) => commands,
            CheckCommands::Found(command) => command.as_slice(),
            CheckCommands::Disabled => &[],
        }
    }

    /// The flags, as they were typed.
    fn words(&self) -> Vec<String> {
        match self {
            CheckCommands::Named(commands) => {
                commands.iter().flat_map(|command| ["--check".to_owned(), command.clone()]).collect()
            }
            CheckCommands::Found(_) => Vec::new(),
            CheckCommands::Disabled => vec!["--no-check".to_owned()],
        }
    }
}

/// A task that was read, without the layers beneath it.
pub(crate) struct LoadedTask {
    pub(crate) reading: ParsedWorkflow,
    /// What was made of it; nothing for a workflow file, which is one.
    draft: Option<WorkflowDraft>,
    /// The plan that it was made of, without links.
    plan: Option<PathBuf>,
    /// Files that were read with it.
    pub(crate) named: Vec<String>,
}

/// A task as a run of it begins, over the layers beneath it.
pub(crate) struct ResolvedTask {
    pub(crate) workflow: Workflow,
    /// Files that were read with the task's own.
    pub(crate) named: Vec<String>,
}

impl Task {
    /// The task that a file holds: a plan if its name says that it is Markdown, or if it is no `.toml` and has boxes.
    pub(crate) fn of_file(path: &Path) -> Self {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("md" | "markdown" | "mdown") => Task::Plan(path.to_owned()),
            ending if ending != Some("toml") && looks_like_plan(path) => Task::Plan(path.to_owned()),
            _ => Task::File(path.to_owned()),
        }
    }

    /// A plan with each of its boxes open again; nothing for what is no plan.
    pub(crate) fn reopened(&self) -> Option<Self> {
        match self {
            Task::Plan(path) => Some(Task::ReopenedPlan(path.clone())),
            _ => None,
        }
    }

    /// What to type for it: "baton run w.toml".
    pub(crate) fn command(&self) -> String {
        match self {
            Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) => {
                format!("baton run {}", shell_quoted(&path.to_string_lossy()))
            }
            Task::Sentence { text, checks } => {
                format!("baton do {}{}", shell_quoted(text), shell_words(&checks.words()))
            }
        }
    }

    /// The flags that belong to it, as they were typed.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Task::Sentence { checks, .. } => checks.words(),
            Task::File(_) | Task::Plan(_) | Task::ReopenedPlan(_) => Vec::new(),
        }
    }

    /// The flag of it that asks for something else than what a run began with.
    pub(crate) fn beyond(&self, run: &Workflow) -> Option<&'static str> {
        let Task::Sentence { checks, .. } = self else { return None };
        let before = run.phases.first().and_then(|phase| phase.verify.as_deref());
        match checks {
            CheckCommands::Named(commands) => (before != Some(&*all_of(commands))).then_some("--check"),
            CheckCommands::Disabled => before.map(|_| "--no-check"),
            CheckCommands::Found(_) => None,
        }
    }

    /// What was found for it that the command does not name, or is left out of it, as a notice at the start of a run.
    pub(crate) fn remark(&self) -> Option<String> {
        match self {
            Task::Sentence { checks: CheckCommands::Found(Some(check)), .. } => Some(format!(
                "check: found `{check}`, which must exit 0 at the end; --check names another, --no-check leaves it out"
            )),
            Task::Sentence { checks: CheckCommands::Found(None), .. } => {
                Some(format!("check: {}", detection::NO_CHECK))
            }
            Task::Plan(path) => {
                let unboxed = plan::read(&text_of(path).ok()?).unboxed;
                (!unboxed.is_empty()).then(|| {
                    format!(
                        "plan: this run does nothing below {}: there are no boxes (`- [ ] …`)",
                        unboxed.iter().map(|heading| format!("{heading:?}")).collect::<Vec<_>>().join(", ")
                    )
                })
            }
            Task::Sentence { .. } | Task::File(_) | Task::ReopenedPlan(_) => None,
        }
    }

    /// The command and the argument of a process that hosts a run of it: for people who look at processes. What the run does is not read
    /// from there.
    pub(crate) fn process_words(&self) -> anyhow::Result<(&'static str, OsString)> {
        Ok(match self {
            Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) => {
                ("run", std::path::absolute(path)?.into())
            }
            Task::Sentence { text, .. } => ("do", text.into()),
        })
    }

    /// The folder that paths in it start from, absolute.
    pub(crate) fn base(&self) -> anyhow::Result<PathBuf> {
        match self {
            Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) => {
                folder_of(path).inspect(|folder| exclude_from_path(folder))
            }
            Task::Sentence { .. } => Ok(std::env::current_dir()?),
        }
    }

    /// Reads it alone.
    pub(crate) fn read(&self, location: &LocationArgs) -> anyhow::Result<LoadedTask> {
        match self {
            Task::File(path) => {
                let text = text_of(path)?;
                let base = folder_of(path)?;
                let mut named = Vec::new();
                let mut beside = |path: &str| {
                    named.push(path.to_owned());
                    let bytes = read_plain(Path::new(path), FILE_BYTES_MAX as u64);
                    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
                    text.map_err(|error| error.to_string())
                };
                let reading = file::read(&text, &self.origin(), &base.to_string_lossy(), &mut beside)?;
                Ok(LoadedTask { reading, draft: None, plan: None, named })
            }
            Task::Plan(path) | Task::ReopenedPlan(path) => {
                let mut plan = plan::read(&text_of(path)?);
                if matches!(self, Task::ReopenedPlan(_)) {
                    plan.reopen();
                }
                let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
                let workspace = RunLocation::here(location)?.config.workspace;
                let draft = WorkflowDraft::of_plan(&plan, path, &workspace)?;
                self.load_draft(draft, Some(real))
            }
            Task::Sentence { text, checks } => {
                self.load_draft(WorkflowDraft::of_sentence(text, checks.commands())?, None)
            }
        }
    }

    /// What errors call it.
    fn origin(&self) -> String {
        match self {
            Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path) => path.display().to_string(),
            Task::Sentence { .. } => "the sentence".to_owned(),
        }
    }

    fn load_draft(&self, draft: WorkflowDraft, plan: Option<PathBuf>) -> anyhow::Result<LoadedTask> {
        let origin = self.origin();
        let base = self.base()?;
        let mut nothing = |_: &str| Err("nothing is read from files here".to_owned());
        // Relative to where it is saved, which is where the person is; paths in it start from the folder of the plan.
        let text = match &plan {
            Some(plan) => {
                WorkflowDraft { plan: Some(plan.to_string_lossy().into_owned()), ..draft.clone() }.text(None)
            }
            None => draft.text(None),
        };
        let reading = file::read(&text, &origin, &base.to_string_lossy(), &mut nothing)?;
        Ok(LoadedTask { reading, draft: Some(draft), plan, named: Vec::new() })
    }

    /// Reads it and the layers beneath it.
    pub(crate) fn parse_with_layers(
        &self,
        location: &LocationArgs,
    ) -> anyhow::Result<(Workflow, ConfigLayers)> {
        let read = self.read(location)?;
        let folder = RunLocation::folder(location, read.reading.workflow())?;
        let layers = ConfigLayers::read(folder.as_deref())?;
        let own_floor = layers.own_floor(SandboxLevel::Off);
        self.expect_allowed_workspace(location, read.reading.workflow(), folder.as_deref(), &own_floor)?;
        let workflow =
            self.confined(layers.beneath(read.reading), &layers.floor()?, read.named, folder.as_deref())?;
        Ok((workflow, layers))
    }

    /// Reads it for a run: over the layers beneath it, with the agent that is named or found, confined at least as far as is
    /// said, and with what it was made from.
    pub(crate) fn for_run(
        &self,
        agent: Option<&AgentKind>,
        script: Option<&Path>,
        sandbox: SandboxLevel,
        handed_over: &RoleGrantArgs,
        location: &LocationArgs,
    ) -> anyhow::Result<ResolvedTask> {
        let LoadedTask { reading, draft, plan, named } = self.read(location)?;
        let folder = RunLocation::folder(location, reading.workflow())?;
        let layers = ConfigLayers::read(folder.as_deref())?;
        let own_floor = layers.own_floor(sandbox);
        self.expect_allowed_workspace(location, reading.workflow(), folder.as_deref(), &own_floor)?;
        let mut floor = layers.floor()?;
        floor.level = floor.level.max(sandbox);
        let workflow = layers.beneath(reading);
        let mut workflow = match agent {
            Some(agent) => workflow.with_agent(absolute_program(agent)),
            None => detection::with_default_agent(workflow),
        };
        handed_over.apply_to_roles(&mut workflow);
        if let Some(script) = script {
            let script = std::path::absolute(script)?.to_string_lossy().into_owned();
            for role in workflow.roles.values_mut().filter(|role| role.agent == AgentKind::Rehearsal) {
                role.script = Some(script.clone());
            }
        }
        let mut workflow = self.confined(workflow, &floor, named.clone(), folder.as_deref())?;
        if let Some(folder) = &folder {
            hide_link_targets(&mut workflow, folder);
        }
        if let Some(ticked) = &mut workflow.plan {
            let real = fs::canonicalize(&ticked.path)
                .map_err(|error| unreadable(Path::new(&ticked.path), &error))?;
            let plan = plan::read(&text_of(&real)?);
            ticked.path = real.to_string_lossy().into_owned();
            ticked.boxes = boxes_of(&plan, &workflow.phases);
        }
        let played = workflow.phases.first().map(|phase| String::from(workflow.role_of(phase).agent.clone()));
        let as_file = |draft: &WorkflowDraft| draft.text(played.as_deref());
        workflow.source = Some(match (self, draft, plan) {
            (Task::Sentence { text, .. }, Some(draft), _) => {
                RunSource::Sentence { text: text.clone(), workflow: as_file(&draft) }
            }
            (_, Some(draft), Some(real)) => {
                RunSource::Plan { path: real.to_string_lossy().into_owned(), workflow: as_file(&draft) }
            }
            (Task::File(path) | Task::Plan(path) | Task::ReopenedPlan(path), ..) => {
                let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
                RunSource::File { path: real.to_string_lossy().into_owned() }
            }
            (Task::Sentence { text, .. }, None, _) => {
                RunSource::Sentence { text: text.clone(), workflow: String::new() }
            }
        });
        Ok(ResolvedTask { workflow, named })
    }
}

/// Whether a file reads like a plan.
fn looks_like_plan(path: &Path) -> bool {
    let bytes = read_plain(path, FILE_BYTES_MAX as u64).unwrap_or_default();
    String::from_utf8(bytes).is_ok_and(|text| plan::read(&text).boxes().next().is_some())
}

/// The boxes that are open, each with the objective that has its words. Both are in the same order, but for what a person has
/// put in or taken out of one of them.
fn boxes_of(plan: &MarkdownPlan, phases: &[PhaseSpec]) -> Vec<PlanBox> {
    let mut objectives: Vec<&Objective> = phases.iter().flat_map(|phase| &phase.objectives).collect();
    let mut boxes = Vec::new();
    for (heading, item) in plan.boxes().filter(|(_, item)| !item.ticked) {
        let first_line =
            |one: &&Objective| one.description.lines().next().unwrap_or_default().trim() == item.line;
        if let Some(at) = objectives.iter().position(first_line) {
            let objective = objectives.remove(at).id.clone();
            boxes.push(PlanBox { objective, heading: heading.to_owned(), line: item.line.clone() });
        }
    }
    boxes
}

/// A path on the command line starts from where the person is, and the agent is started elsewhere.
pub(crate) fn absolute_program(agent: &AgentKind) -> AgentKind {
    let absolute = |path: &str| {
        std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
    };
    agent.clone().with_program(absolute)
}

/// The folder that a file lies in, absolute.
pub(crate) fn folder_of(path: &Path) -> anyhow::Result<PathBuf> {
    let whole = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    Ok(whole.parent().unwrap_or(Path::new("/")).to_owned())
}

/// The text of a task file. What is no file of a reasonable size is not read.
pub(crate) fn text_of(path: &Path) -> anyhow::Result<String> {
    let told = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if told.is_dir() {
        return Err(unreadable(path, &io::Error::from(io::ErrorKind::IsADirectory)).into());
    }
    // A pipe that the user made (`<(…)`, `-` as /dev/stdin) has a writer. One among the files may have none.
    let is_of_system = ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder));
    if !told.is_file() && !is_of_system {
        return Err(unreadable(path, &io::Error::other("it is not a regular file")).into());
    }
    if told.len() > FILE_BYTES_MAX as u64 {
        let (name, bytes) = (path.display(), told.len());
        return Err(UsageError(format!(
            "{name} has {bytes} bytes, and a task may have {FILE_BYTES_MAX}: is this the right file?"
        ))
        .into());
    }
    Ok(fs::read_to_string(path).map_err(|error| unreadable(path, &error))?)
}

fn unreadable(path: &Path, error: &io::Error) -> UsageError {
    let name = path.to_string_lossy();
    let hint = match error.kind() {
        io::ErrorKind::NotFound if name.contains(' ') => {
            format!("\n    if this is the task itself: baton do {}", shell_quoted(&name))
        }
        io::ErrorKind::NotFound => "\n    `baton init` writes one for this folder; \
             `baton do 'What is to be done' --check 'make test'` needs none"
            .to_owned(),
        _ => String::new(),
    };
    UsageError(format!("cannot read the workflow {name}: {error}{hint}"))
}

/// The name of a workflow that is made of words.
pub(crate) fn name_of(words: &str) -> String {
    paths::slug(words)
}
