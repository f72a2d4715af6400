//! `baton agents`: which agents are installed here, what Baton can do with each, and how it can confine them. Starts no session.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use baton_runtime::agents::{CapabilitySource, DiscoveredAgent, survey};
use baton_runtime::core::Workflow;
use baton_runtime::core::facts::Capabilities;
use baton_runtime::core::workflow::{AgentKind, Role, WorkspaceChoice};
use baton_runtime::sandbox::{SandboxSupport, exclude_from_path, exclude_listed};
use clap::{Args, ValueHint};
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::sandbox;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::state_root;
use crate::render::json_record;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::stdio;
use crate::task::Task;

/// List the installed agents, what each can do, and how they can be confined here
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton agents                    the agents that Baton knows by name
  baton agents workflow.toml      and those that a workflow names
  baton agents codex              one of them
  baton agents --format json      for programs")]
pub(crate) struct AgentsArgs {
    /// A workflow file, to look for its agents as well; or the name of one agent, to show only that one
    #[arg(value_name = "WORKFLOW.toml|AGENT", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn agents(args: AgentsArgs) -> anyhow::Result<CliExit> {
    let named = args.file.as_deref().and_then(agent_named);
    let configured: Vec<Role> = match (&args.file, &named) {
        (_, Some(agent)) => vec![Role::of(agent.clone())],
        (Some(file), None) if is_word(file) => {
            let known = AgentKind::from_str(&file.to_string_lossy()).err();
            let known = known.map_or(String::new(), |error| format!("{error}; "));
            return Err(UsageError(format!("{known}no file has this name either")).into());
        }
        (Some(file), None) => {
            let task = Task::of_file(file);
            let workflow = task.read(&LocationArgs::default())?.reading.over([]);
            exclude_work_of(&task, &workflow)?;
            workflow.phases.iter().map(|phase| workflow.role_of(phase).into_owned()).collect()
        }
        (None, None) => Vec::new(),
    };
    // Without a home there is no list of the places that agents wrote.
    let _ = state_root(&LocationArgs::default());
    let own_exe = std::env::current_exe()?;
    let path = std::env::var_os("PATH");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut found = runtime.block_on(survey(path.as_deref(), &own_exe, &configured));
    found.retain(|agent| named.as_ref().is_none_or(|named| agent.agent == *named));
    let sandbox_support = SandboxSupport::look(path.as_deref());
    let document = || {
        json!({
            "schema": json_record::SCHEMA,
            "record": "agents",
            "agents": found.iter().map(row).collect::<Vec<_>>(),
            "sandbox": sandbox::as_json(&sandbox_support),
        })
    };
    match args.format.format {
        OutputFormat::Text => {
            let lines = sandbox::lines(&sandbox_support).join("\n");
            stdio::data(&format!("{}\n{lines}\n", text(&found, &terminal_style::stdout())))?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document())?)?,
        OutputFormat::Jsonl => {
            for agent in &found {
                stdio::data(&json_record::line(&row(agent))?)?;
            }
            let mut row = sandbox::as_json(&sandbox_support);
            row["schema"] = json_record::SCHEMA.into();
            row["record"] = "sandbox".into();
            stdio::data(&json_record::line(&row)?)?;
        }
    }
    Ok(CliExit::Done)
}

/// No program is run for its version that the folder of a workflow brought, or its agents may have written.
fn exclude_work_of(task: &Task, workflow: &Workflow) -> anyhow::Result<()> {
    let base = task.base()?;
    let tree = match &workflow.workspace {
        Some(WorkspaceChoice::Folder(folder)) => PathBuf::from(folder),
        _ => std::env::current_dir()?,
    };
    exclude_from_path(&base);
    exclude_from_path(&tree);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    for role in workflow.roles.values() {
        exclude_listed(role.sandbox.write.as_deref().unwrap_or_default(), home.as_deref(), &tree);
    }
    Ok(())
}

/// The agent of this name, if no file has it.
fn agent_named(name: &Path) -> Option<AgentKind> {
    if name.exists() { None } else { name.to_str()?.parse().ok() }
}

/// Whether this is not a file, and does not look like one.
fn is_word(name: &Path) -> bool {
    !name.exists() && name.extension().is_none() && name.components().count() == 1
}

fn row(agent: &DiscoveredAgent) -> Value {
    json!({
        "schema": json_record::SCHEMA,
        "record": "agent",
        "agent": agent.agent,
        "title": agent.title,
        "program": agent.program,
        "version": agent.version,
        "capabilities": agent.capabilities,
        "known_by": match agent.known_by {
            CapabilitySource::Driver => "driver",
            CapabilitySource::Observed => "observed",
            CapabilitySource::Protocol => "protocol",
        },
        "advice": agent.advice,
    })
}

/// Whether an agent can do something.
type CapabilityCheck = fn(&Capabilities) -> bool;

/// The abilities of an agent, by the heading of their column.
const ABILITIES: [(&str, CapabilityCheck); 6] = [
    ("OCCUPANCY", |can| can.reports_occupancy),
    ("COMPACTS", |can| can.compacts),
    ("MCP", |can| can.takes_mcp),
    ("TURN CAP", |can| can.caps_turns),
    ("INTERRUPT", |can| can.interrupts),
    ("COST", |can| can.reports_cost),
];

fn text(found: &[DiscoveredAgent], look: &TerminalStyle) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_width(look.width);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["AGENT", "VERSION"].into_iter().chain(ABILITIES.iter().map(|(name, _)| *name)));
    for agent in found {
        let version = match (&agent.program, &agent.version) {
            (None, _) => "not installed",
            (Some(_), None) => "installed",
            (Some(_), Some(version)) => version,
        };
        let name = String::from(agent.agent.clone());
        let abilities = ABILITIES.iter().map(|(_, can)| match (can(&agent.capabilities), agent.known_by) {
            (true, _) => "yes",
            (false, CapabilitySource::Protocol) => "?",
            (false, _) => "-",
        });
        let cells: Vec<&str> = [name.as_str(), version].into_iter().chain(abilities).collect();
        table.add_row(cells);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    let missing = found.iter().filter_map(|agent| {
        let advice = agent.advice.as_ref()?;
        let name = look.paint(Tone::Strong, &String::from(agent.agent.clone()));
        Some(format!("\n{name}: {advice}"))
    });
    let missing: String = missing.collect();
    if !missing.is_empty() {
        text.push_str(&missing);
        text.push('\n');
    }
    if found.iter().any(|agent| agent.known_by == CapabilitySource::Protocol) {
        text.push_str("\n?: known once a session is open; an ACP agent reports its own abilities.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::agents::capabilities;
    use baton_runtime::core::workflow::AgentKind;

    #[test]
    fn agents_are_listed_with_what_each_can_do() {
        let agent = |kind: &str, version: Option<&str>, known_by| {
            let agent: AgentKind = kind.parse().unwrap();
            DiscoveredAgent {
                title: kind.to_owned(),
                program: version.map(|_| PathBuf::from("/usr/bin/agent")),
                version: version.filter(|version| !version.is_empty()).map(str::to_owned),
                capabilities: capabilities(&agent),
                known_by,
                advice: version.is_none().then(|| "install it with `npm install -g agent`".to_owned()),
                agent,
            }
        };
        let found = [
            agent("claude", Some("2.1.330"), CapabilitySource::Driver),
            agent("codex", None, CapabilitySource::Driver),
            agent("acp:my-agent --acp", Some(""), CapabilitySource::Protocol),
        ];
        insta::assert_snapshot!("agents", text(&found, &TerminalStyle::bare(120)));
    }
}
