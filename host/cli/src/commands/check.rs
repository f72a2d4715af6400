//! `baton check`: holds a workflow file and its policies to everything that `run` would, and starts nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use baton_runtime::agents::check_ready;
use baton_runtime::core::Workflow;
use baton_runtime::core::grants::RequestedGrants;
use baton_runtime::core::input::{BindingLink, PolicyBinding};
use baton_runtime::core::workflow::{PolicyScope, Role, WorkspaceChoice};
use baton_runtime::{dry_run, expect_free_folder, sandbox_for};
use clap::{Args, ValueHint};
use serde_json::json;

use super::run::read;
use super::sandbox::lines;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::config_layers::placed;
use crate::exit_status::CliExit;
use crate::location::RunLocation;
use crate::render::which::in_place;
use crate::render::{json_record, text_format};
use crate::task::detection::{require_agent, with_default_agent};
use crate::task::{Task, shared_files};
use crate::{experiment_assignment, stdio};

/// Check a workflow file, its policies and what is set for them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton check workflow.toml
  baton check workflow.toml --workspace ~/app    and the folder it would write to

It also exits with 2 if an agent could not start here: it is not installed, not logged in, or refuses what it is \
given.")]
pub(crate) struct WorkflowCheckArgs {
    /// The workflow file
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn check(args: WorkflowCheckArgs) -> anyhow::Result<CliExit> {
    let (workflow, bundle) = read(&args.file, &args.location)?;
    let location = RunLocation::for_workflow(&args.location, &workflow, true)?;
    // A scratch folder is new for each run, and the current folder stands in for it here.
    if args.location.workspace.is_some()
        || !workflow.workspace.as_ref().is_some_and(WorkspaceChoice::is_fresh)
    {
        expect_free_folder(&location.config, &workflow)?;
    }
    let planned = dry_run(&location.config, workflow.clone(), &bundle);
    let plan = planned.map_err(|error| placed(&workflow.policies)(error.into()))?;
    let objectives: usize = workflow.phases.iter().map(|phase| phase.objectives.len()).sum();
    let mut names: Vec<String> = Vec::new();
    let is_shadow = |binding: &&PolicyBinding| matches!(binding.scope, PolicyScope::Shadow { .. });
    let deciding = in_place(&plan.bindings).into_iter().filter(|binding| !is_shadow(binding));
    for link in deciding.flat_map(PolicyBinding::links) {
        let name = format!("{}@{}", link.policy, link.component.short());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let phases = workflow.phases.len();
    let mut remarks: Vec<String> = experiment_assignment::foresee(&location, &workflow, &bundle)
        .into_iter()
        .chain(remarks(&workflow))
        .collect();
    remarks.extend(Task::of_file(&args.file).remark());
    remarks.extend(missing_grants(&plan.bindings));
    // Unlike an agent, a sandbox does not become available at the next start: a requested and missing one is always reported.
    let confined: Vec<String> = workflow
        .roles
        .iter()
        .filter(|(_, role)| role.sandbox.is_on())
        .map(|(name, role)| format!("{name} {}", role.sandbox.level.name()))
        .collect();
    if !confined.is_empty() {
        let sandbox_support = sandbox_for(&workflow, std::env::var_os("PATH").as_deref())?;
        remarks.push(format!("confined: {}", confined.join(", ")));
        remarks.extend(lines(&sandbox_support));
        let is_fresh = RunLocation::is_fresh(&args.location, &workflow);
        let shared = (!is_fresh).then(|| shared_files(&workflow, &location.config.workspace)).flatten();
        remarks.extend(shared.map(|found| found.to_string()));
    }
    // As for a run: if no file names an agent, the first installed one.
    let workflow = with_default_agent(workflow);
    let unready = match require_agent(&workflow) {
        Ok(()) => unready_agents(&workflow, &location.config.environment)?,
        Err(none) => vec![none.to_string()],
    };
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "checked",
        "file": std::path::absolute(&args.file)?.to_string_lossy(),
        "phases": phases,
        "objectives": objectives,
        "policies": names,
        "remarks": remarks,
        "unready": unready,
    });
    match args.format.format {
        OutputFormat::Text => {
            stdio::data(&format!(
                "{} is a workflow: {}, {}, judged by {}\n",
                args.file.display(),
                text_format::counted(phases, "phase"),
                text_format::counted(objectives, "objective"),
                names.join(", ")
            ))?;
            remarks.iter().chain(&unready).for_each(|line| stdio::progress(line));
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(if unready.is_empty() { CliExit::Done } else { CliExit::Usage })
}

/// The requests of the policies beyond the usual that are not granted, once for each.
fn missing_grants(bindings: &[PolicyBinding]) -> BTreeSet<String> {
    let refused = |link: BindingLink| {
        let lacks = link.grants.lacks(&link.wants);
        (link.policy, lacks)
    };
    let refused = bindings.iter().flat_map(PolicyBinding::links).map(refused);
    let refused = refused.filter(|(_, refused)| !refused.is_empty());
    let remark = |(policy, refused): (String, RequestedGrants)| {
        format!(
            "{policy} asks for {}, which it is not granted: add `grants` to it in [policies]",
            text_format::grants(&refused)
        )
    };
    refused.map(remark).collect()
}

/// Remarks for the user about files that others will see.
fn remarks(workflow: &Workflow) -> Vec<String> {
    let mut remarks = Vec::from_iter(text_format::cost_ceiling_warning(workflow));
    let folder = &workflow.paths.folder;
    if folder.split('/').next() != Some(".baton") {
        remarks.push(format!(
            "git does not ignore {folder}, only .baton: commit the folder, or add it to your .gitignore"
        ));
    }
    if !folder.contains("{run}") {
        remarks.push(format!(
            "every run of this workflow writes to {folder}: the newest replaces the one before"
        ));
    }
    if workflow.limits.parallel > 1
        && workflow.phases.len() > 1
        && workflow.phases.iter().all(|phase| phase.depends_on.is_empty())
    {
        remarks.push(format!(
            "`parallel` is {}, so no phase waits for another one, and their agents share one folder; `depends_on` names the \
             phases that come first",
            workflow.limits.parallel
        ));
    }
    let of_phases = workflow.phases.iter().flat_map(|phase| &phase.setup);
    let commands: Vec<&str> = workflow.setup.iter().chain(of_phases).map(String::as_str).collect();
    if !commands.is_empty() {
        remarks.push(format!(
            "the init.sh of the task folder sets up with: {}; Baton itself runs it only in work trees that it makes",
            commands.join("; ")
        ));
    }
    remarks
}

/// The agents of the workflow that cannot start here, with the reasons. The workflow is valid without them, and may be meant
/// for another machine.
fn unready_agents(
    workflow: &Workflow,
    environment: &BTreeMap<OsString, OsString>,
) -> anyhow::Result<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut asked: Vec<Role> = Vec::new();
    let (mut told, mut unready) = (BTreeSet::new(), Vec::new());
    for phase in &workflow.phases {
        let role = workflow.role_of(phase).into_owned();
        if asked.contains(&role) {
            continue;
        }
        let refused = runtime.block_on(check_ready(&role, environment)).err();
        asked.push(role);
        if let Some(why) = refused.map(|why| why.to_string()).filter(|text| told.insert(text.clone())) {
            let place = workflow.agent_origin(phase);
            unready.push(format!("but phase {} cannot start here: {why} (set by {place})", phase.id));
        }
    }
    Ok(unready)
}
