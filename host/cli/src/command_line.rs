//! The command line as types. `commands` implements the commands.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::command_groups::{STYLES, grouped};
use crate::commands::{
    agents, answer, artifacts, attach, check, classify, completions, diff, do_, experiment, gc, handoff,
    help, import, init, log, man, mcp, policy, replay, report, resume, run, runs, sandbox, save, schema,
    simulate, stats, status, stop, undo,
};
use crate::exit_status::CliExit;

/// Keeps long agent work alive: when an agent runs out of context, the next one takes over, and nothing is lost.
#[derive(Debug, Parser)]
#[command(name = "baton", version, styles = STYLES, max_term_width = 100, after_help = exit_codes())]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// What can be asked of `baton`.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Do(do_::DoArgs),
    Run(run::RunArgs),
    Save(save::SaveArgs),
    Init(init::InitArgs),
    Resume(resume::ResumeArgs),
    Attach(attach::AttachArgs),
    Log(log::LogArgs),
    Diff(diff::DiffArgs),
    Runs(runs::RunsArgs),
    Stop(stop::RunStopArgs),
    Undo(undo::UndoArgs),
    Answer(answer::AnswerArgs),
    Status(status::StatusArgs),
    Report(report::RunReportArgs),
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
    Check(check::WorkflowCheckArgs),
    #[command(subcommand)]
    Sandbox(sandbox::SandboxCommand),
    Schema(schema::SchemaArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(help::HelpArgs),
}

/// The command line, with its commands in groups.
pub(crate) fn command() -> clap::Command {
    grouped(Cli::command())
}

/// Runs the requested command.
pub(crate) fn dispatch(command: CliCommand) -> anyhow::Result<CliExit> {
    match command {
        CliCommand::Do(args) => do_::run(args),
        CliCommand::Run(args) => run::run(args),
        CliCommand::Save(args) => save::save(args),
        CliCommand::Init(args) => init::init(args),
        CliCommand::Resume(args) => resume::resume(args),
        CliCommand::Attach(args) => attach::attach(args),
        CliCommand::Diff(args) => diff::diff(args),
        CliCommand::Log(args) => log::log(args),
        CliCommand::Runs(args) => runs::runs(args),
        CliCommand::Stop(args) => stop::stop(args),
        CliCommand::Undo(args) => undo::undo(args),
        CliCommand::Answer(args) => answer::answer(args),
        CliCommand::Status(args) => status::status(args),
        CliCommand::Report(args) => report::report(args),
        CliCommand::Replay(args) => replay::run(args),
        CliCommand::Artifacts(command) => artifacts::artifacts(command),
        CliCommand::Gc(args) => gc::gc(args),
        CliCommand::Import(args) => import::import(args),
        CliCommand::Simulate(args) => simulate::simulate(args),
        CliCommand::Experiment(command) => experiment::experiment(command),
        CliCommand::Stats(command) => stats::stats(command),
        CliCommand::Policy(command) => policy::policy(command),
        CliCommand::Agents(args) => agents::agents(args),
        CliCommand::Classify(args) => classify::run(args),
        CliCommand::Handoff(command) => handoff::handoff(command),
        CliCommand::Mcp(args) => mcp::mcp(args),
        CliCommand::Check(args) => check::check(args),
        CliCommand::Sandbox(command) => sandbox::sandbox(command),
        CliCommand::Schema(args) => schema::schema(args),
        CliCommand::Completions(args) => completions::completions(args, Cli::command()),
        CliCommand::Man(args) => man::man(args, Cli::command()),
        CliCommand::Help(args) => help::help(args, &Cli::command()),
    }
}

/// The list at the end of `baton --help`.
fn exit_codes() -> String {
    let codes: Vec<String> =
        CliExit::ALL.iter().map(|exit| format!("{:>5}  {}", exit.code(), exit.meaning())).collect();
    format!("Exit codes:\n{}", codes.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_groups::GROUPS;

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
