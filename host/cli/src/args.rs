//! The command line as types. What a command does is in `commands`.

use std::path::PathBuf;

use baton_runtime::core::input::PauseAnswer;
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint};

use crate::commands::{
    agents, answer, artifacts, attach, check, classify, completions, diff, do_, experiment, gc, handoff,
    help, import, init, log, man, mcp, policy, replay, report, resume, run, runs, sandbox, save, schema,
    simulate, stats, status, stop, undo,
};
use crate::exit::Exit;

/// Headings in bold, what is typed literally in cyan.
const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// Keeps long agent work alive: when an agent runs out of context, the next one takes over, and nothing is lost.
#[derive(Debug, Parser)]
#[command(name = "baton", version, styles = STYLES, max_term_width = 100, after_help = exit_codes())]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What can be asked of `baton`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Do(do_::DoArgs),
    Run(run::RunArgs),
    Save(save::SaveArgs),
    Init(init::InitArgs),
    Resume(resume::ResumeArgs),
    Attach(attach::AttachArgs),
    Log(log::LogArgs),
    Diff(diff::DiffArgs),
    Runs(runs::RunsArgs),
    Stop(stop::StopArgs),
    Undo(undo::UndoArgs),
    Answer(answer::AnswerArgs),
    Status(status::StatusArgs),
    Report(report::ReportArgs),
    Replay(replay::ReplayArgs),
    #[command(subcommand)]
    Handoff(handoff::HandoffCommand),
    #[command(subcommand)]
    Artifacts(artifacts::ArtifactsCommand),
    Gc(gc::GcArgs),
    Import(import::ImportArgs),
    Simulate(simulate::SimulateArgs),
    #[command(subcommand)]
    Experiment(experiment::ExperimentCommand),
    #[command(subcommand)]
    Stats(stats::StatsCommand),
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    Agents(agents::AgentsArgs),
    Classify(classify::ClassifyArgs),
    Mcp(mcp::McpArgs),
    Check(check::CheckArgs),
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
}

/// Which work is meant.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Folder that the agents work in [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: Option<PathBuf>,
}

/// How data is written to standard output. Progress goes to standard error, always as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
}

/// `--format`.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FormatArg {
    /// How to write the data on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// How the progress of a run is shown.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ViewArgs {
    #[command(flatten)]
    pub(crate) format: FormatArg,
    /// Show progress as plain lines, even on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
}

/// An answer on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Answer {
    /// Try the phase again, with fresh continuations and retries
    Retry,
    /// Leave what is open undone and continue with the phases that do not depend on it
    Skip,
    /// Lift the limit that was reached by as much again
    Raise,
    /// Accept the objectives in question as done
    Accept,
    /// End the run; what is open stays open
    Stop,
}

impl From<Answer> for PauseAnswer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Retry => PauseAnswer::Retry,
            Answer::Skip => PauseAnswer::Skip,
            Answer::Raise => PauseAnswer::Raise,
            Answer::Accept => PauseAnswer::Accept,
            Answer::Stop => PauseAnswer::Stop,
        }
    }
}

/// The commands by what people want, for `baton --help`. One that is in none of them would not be shown; a test holds this.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run", &["do", "run", "init", "save", "resume", "answer", "stop", "attach"]),
    ("Look", &["status", "log", "diff", "report", "runs", "handoff", "artifacts"]),
    ("Repair", &["undo", "gc", "check", "agents", "sandbox"]),
    ("Policies", &["policy", "classify", "mcp", "schema"]),
    ("Measure", &["replay", "import", "simulate", "experiment", "stats"]),
    ("Help", &["help", "man", "completions"]),
];

/// The command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let (head, groups) = (STYLES.get_header(), groups(&command));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{head}Options:{head:#}\n{{options}}{{after-help}}"
    ))
}

/// Every command with what it does, in groups.
fn groups(command: &clap::Command) -> String {
    let about = |name: &str| {
        let found = command.get_subcommands().find(|one| one.get_name() == name);
        found.and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    GROUPS
        .iter()
        .map(|(group, names)| section(group, names.iter().map(|name| (*name, about(name)))))
        .collect()
}

/// A heading, and below it a line for each name, as in the help of clap.
fn section<'a>(heading: &str, rows: impl Iterator<Item = (&'a str, String)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or_default().max(12);
    let (head, literal) = (STYLES.get_header(), STYLES.get_literal());
    let mut text = format!("\n{head}{heading}:{head:#}\n");
    for (name, about) in rows {
        text.push_str(&format!("  {literal}{name:width$}{literal:#} {about}\n"));
    }
    text
}

/// The command line whose help lists commands and topics, for `baton help`.
pub(crate) fn overview(topics: &[(&'static str, &str)]) -> clap::Command {
    let command = Cli::command();
    let groups = groups(&command);
    let topics = section("Topics", topics.iter().map(|(name, about)| (*name, (*about).to_owned())));
    command.help_template(format!("{{usage-heading}} baton help [COMMAND|TOPIC]\n{groups}{topics}"))
}

/// The list at the end of `baton --help`.
fn exit_codes() -> String {
    let codes: Vec<String> =
        Exit::ALL.iter().map(|exit| format!("{:>5}  {}", exit.code(), exit.meaning())).collect();
    format!("Exit codes:\n{}", codes.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
        grouped.sort_unstable();
        let root = command();
        let mut known: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
        known.sort_unstable();
        assert_eq!(grouped, known);
    }

    /// Commands without `--format`, each with the reason.
    const WITHOUT_FORMAT: [(&str, &str); 7] = [
        ("completions", "prints a script for a shell"),
        ("help", "prints pages to read"),
        ("man", "writes files"),
        ("mcp", "speaks the Model Context Protocol"),
        ("mcp proxy", "speaks the Model Context Protocol"),
        ("policy wit", "prints a WIT file"),
        ("schema", "prints JSON in any case"),
    ];

    #[test]
    fn every_command_that_shows_or_does_something_has_a_format_for_programs() {
        let mut without = Vec::new();
        let mut waiting = vec![(String::new(), command())];
        while let Some((name, command)) = waiting.pop() {
            let has_own = command.get_arguments().next().is_some() || !command.has_subcommands();
            let format = command.get_arguments().find(|argument| argument.get_long() == Some("format"));
            match format {
                Some(format) => {
                    let values = format.get_possible_values();
                    for kind in ["text", "json", "jsonl"] {
                        let has = values.iter().any(|value| value.get_name() == kind);
                        assert!(has, "`baton {name} --format {kind}`");
                    }
                }
                None if has_own && !name.is_empty() => without.push(name.clone()),
                None => {}
            }
            let below = command
                .get_subcommands()
                .map(|below| (format!("{name} {}", below.get_name()).trim().to_owned(), below.clone()));
            waiting.extend(below);
        }
        without.sort_unstable();
        assert_eq!(without, WITHOUT_FORMAT.map(|(name, _)| name));
    }

    #[test]
    fn every_help_text_has_examples() {
        let mut root = command().term_width(100);
        root.build();
        insta::assert_snapshot!("help_baton", root.render_long_help());
        let mut waiting: Vec<(String, clap::Command)> =
            root.get_subcommands().map(|command| (command.get_name().to_owned(), command.clone())).collect();
        while let Some((name, mut command)) = waiting.pop() {
            let text = command.render_long_help().to_string();
            assert!(text.contains("Examples:"), "`baton {name} --help` shows no example");
            insta::assert_snapshot!(format!("help_{}", name.replace(' ', "_")), text);
            let below = command
                .get_subcommands()
                .map(|below| (format!("{name} {}", below.get_name()), below.clone()));
            waiting.extend(below);
        }
    }
}
