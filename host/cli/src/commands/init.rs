//! `baton init`: looks at a folder and writes a workflow for it. Asks little, starts no agent.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use baton_runtime::core::workflow::AgentKind;
use baton_runtime::issue;
use clap::{Args, ValueHint};
use serde_json::json;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::files::write_new;
use crate::host_client::block_on;
use crate::location::shell_quoted;
use crate::render::json_record;
use crate::render::text_format::counted;
use crate::stdio;
use crate::task::plan::{self, MarkdownPlan};
use crate::task::{Task, WorkflowDraft, detection, text_of};

/// Characters of an objective that is made of an issue; a workflow takes no more.
const ISSUE_CHARS_MAX: usize = 7000;

/// Write a workflow for this folder: from its plan, from a sentence, or from an issue
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton init                                        from PLAN.md, TODO.md or ROADMAP.md
  baton init 'Move the parser into its own crate'   from a sentence
  baton init --from-issue 42                        from an issue on GitHub, by `gh`
  baton init --plan docs/next.md --agent codex --check 'make test'
  baton init --dry-run                              shows the file, and writes nothing

It looks for the command that runs the project's tests and for installed agents. On a terminal it asks if it is not \
sure; with --yes it asks nothing. It takes no command from an issue, since a stranger may have written it.")]
pub(crate) struct InitArgs {
    /// What is to be done
    #[arg(value_name = "SENTENCE", conflicts_with_all = ["plan", "from_issue"])]
    sentence: Vec<String>,
    /// The plan, in Markdown
    #[arg(long, value_name = "PLAN.md", value_hint = ValueHint::FilePath, conflicts_with = "from_issue")]
    plan: Option<PathBuf>,
    /// The number of an issue of this repository
    #[arg(long, value_name = "NUMBER")]
    from_issue: Option<u64>,
    /// Command that must exit 0 when a phase is done [default: the one that runs the project's tests]
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// Check nothing with a command: what the agent reports and changes is enough
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
    /// Who works [default: the first that is installed]
    #[arg(long)]
    agent: Option<AgentKind>,
    /// The file to write, below the folder
    #[arg(long, value_name = "FILE", default_value = "workflow.toml", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// The folder to look at and to write for [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    workspace: Option<PathBuf>,
    /// Show the workflow, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    /// Ask nothing
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn init(args: InitArgs) -> anyhow::Result<CliExit> {
    let folder = args.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    if !folder.is_dir() {
        return Err(UsageError(format!("--workspace {} is not a folder", folder.display())).into());
    }
    let file = match &args.workspace {
        Some(folder) => folder.join(&args.out),
        None => args.out.clone(),
    };
    let run = next(&args, &file);
    if file.exists() && !args.force && !args.dry_run {
        return Err(UsageError(format!(
            "{} exists already: `{run}` runs it, --out names another file, --force replaces it",
            file.display()
        ))
        .into());
    }
    let folder = folder.canonicalize()?;
    let asks = !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let mut remarks = Vec::new();
    let mut draft = draft(&args, &folder, asks, &mut remarks)?;
    let agent = agent(&args, asks, &mut remarks)?;
    let is_unchecked = draft.phases.iter().any(|phase| phase.verify.is_none());
    let check = check(&args, &folder, asks)?.filter(|_| is_unchecked);
    for phase in draft.phases.iter_mut().filter(|phase| phase.verify.is_none()) {
        phase.verify.clone_from(&check);
    }
    if draft.phases.iter().any(|phase| phase.verify.is_none()) {
        remarks.push(detection::NO_CHECK.to_owned());
    }
    let text = draft.text(agent.map(String::from).as_deref());
    if !args.dry_run {
        write_new(&file, text.as_bytes(), args.force)?;
        // Held to everything that a run would hold it to.
        Task::of_file(&file).read(&LocationArgs { workspace: args.workspace, state_dir: None })?;
    }
    let phases = draft.phases.len();
    let objectives: usize = draft.phases.iter().map(|phase| phase.objectives.len()).sum();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "initialised",
        "file": std::path::absolute(&file)?.to_string_lossy(),
        "written": !args.dry_run,
        "workflow": text,
        "made_from": draft.made_from,
        "phases": phases,
        "objectives": objectives,
        "remarks": remarks,
        "check": check,
        "next": run,
    });
    match args.format.format {
        OutputFormat::Text => {
            let remarks: String = remarks.iter().map(|remark| format!("\n{remark}")).collect();
            let written = if args.dry_run { "would be written" } else { "is written" };
            let (phases, objectives) = (counted(phases, "phase"), counted(objectives, "objective"));
            let check = check.map(|check| format!(", checked by `{check}`")).unwrap_or_default();
            let next = if args.dry_run { String::new() } else { format!("Next       {run}\n") };
            stdio::data(&format!(
                "{text}\n{} {written}: {phases}, {objectives}{check}{remarks}\n{next}",
                file.display()
            ))?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}

/// The command that runs the file.
fn next(args: &InitArgs, file: &Path) -> String {
    let quoted = |path: &Path| shell_quoted(&path.to_string_lossy());
    let place = args.workspace.as_deref().map(|folder| format!(" --workspace {}", quoted(folder)));
    format!("baton run {}{}", quoted(file), place.unwrap_or_default())
}

/// The tasks, from the first source that has any.
fn draft(
    args: &InitArgs,
    folder: &Path,
    asks: bool,
    remarks: &mut Vec<String>,
) -> anyhow::Result<WorkflowDraft> {
    if let Some(number) = args.from_issue {
        return of_issue(folder, number, remarks);
    }
    if !args.sentence.is_empty() {
        return Ok(WorkflowDraft::of_sentence(&args.sentence.join(" "), &[])?);
    }
    if let Some(path) = &args.plan {
        return WorkflowDraft::of_plan(&plan::read(&text_of(path)?), path, folder);
    }
    for path in detection::plans(folder) {
        let plan = match text_of(&path) {
            Ok(text) => plan::read(&text),
            Err(error) => {
                remarks.push(error.to_string());
                continue;
            }
        };
        let open = plan.boxes().filter(|(_, item)| !item.ticked).count();
        let name = path.strip_prefix(folder).unwrap_or(&path).to_owned();
        if open == 0 {
            remarks.push(format!("{} has no open box (`- [ ] …`)", name.display()));
            continue;
        }
        let draft = WorkflowDraft::of_plan(&plan, &path, folder)?;
        return Ok(WorkflowDraft { made_from: name.display().to_string(), ..draft });
    }
    if asks {
        let sentence = ask("What shall be done, in one sentence?", "")?;
        return Ok(WorkflowDraft::of_sentence(&sentence, &[])?);
    }
    let seen = remarks.iter().map(|remark| format!("\n    {remark}")).collect::<String>();
    Err(UsageError(format!(
        "found no task here: baton init 'Move the parser into its own crate', or write a PLAN.md with boxes, \
         `- [ ] Create crates/parser`{seen}"
    ))
    .into())
}

/// The author of an issue is untrusted: its text becomes tasks, and no command of it is used.
fn of_issue(folder: &Path, number: u64, remarks: &mut Vec<String>) -> anyhow::Result<WorkflowDraft> {
    let issue = block_on(issue(folder, number))?.map_err(UsageError)?;
    let mut plan = plan::read(&issue.body);
    let mut dropped = 0;
    let mut drop_check = |check: &mut Option<String>| dropped += usize::from(check.take().is_some());
    drop_check(&mut plan.verify);
    for section in &mut plan.sections {
        drop_check(&mut section.verify);
        section.boxes.iter_mut().for_each(|item| drop_check(&mut item.verify));
    }
    if dropped > 0 {
        remarks
            .push(format!("checks that issue {number} names are left out: --check names one that you trust"));
    }
    let title = issue.title.trim().to_owned();
    let has_open = |plan: &MarkdownPlan| plan.boxes().any(|(_, item)| !item.ticked);
    let mut draft = match has_open(&plan) {
        true => WorkflowDraft::of_boxes(&plan, &issue.url, None)?,
        false => {
            let body: String = issue.body.trim().chars().take(ISSUE_CHARS_MAX).collect();
            WorkflowDraft::of_sentence(&format!("{title}\n\n{body}"), &[])?
        }
    };
    draft.made_from = issue.url;
    draft.name = Some(format!("issue-{number}"));
    draft.goal = (!title.is_empty()).then_some(title);
    Ok(draft)
}

fn agent(args: &InitArgs, asks: bool, remarks: &mut Vec<String>) -> anyhow::Result<Option<AgentKind>> {
    if let Some(agent) = &args.agent {
        return Ok(Some(agent.clone()));
    }
    let found = detection::agents();
    let names: Vec<String> = found.iter().cloned().map(String::from).collect();
    match (found.as_slice(), asks) {
        ([], _) => {
            remarks.push("no agent is installed here: `baton agents` says how to get one".to_owned());
            Ok(None)
        }
        ([first, _, ..], true) => {
            let said = ask(&format!("Who works: {}?", names.join(", ")), &String::from(first.clone()))?;
            Ok(Some(said.parse().map_err(|error| UsageError(format!("{error}")))?))
        }
        ([first, ..], _) => Ok(Some(first.clone())),
    }
}

fn check(args: &InitArgs, folder: &Path, asks: bool) -> anyhow::Result<Option<String>> {
    if args.no_check {
        return Ok(None);
    }
    if let Some(check) = &args.check {
        return Ok(Some(check.clone()).filter(|check| !check.trim().is_empty()));
    }
    let found = detection::check(folder);
    if !asks {
        return Ok(found);
    }
    let said = ask("Which command checks the work (- for none)?", found.as_deref().unwrap_or("-"))?;
    Ok(Some(said).filter(|said| said != "-"))
}

/// One line from the user; an empty one is the default.
fn ask(question: &str, default: &str) -> anyhow::Result<String> {
    let shown = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question}{shown} ")?;
    stderr.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let said = line.trim();
    Ok(if said.is_empty() { default.to_owned() } else { said.to_owned() })
}
