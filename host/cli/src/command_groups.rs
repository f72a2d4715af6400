//! The commands of `baton --help`, in groups and with its colours.

use clap::builder::styling::{AnsiColor, Styles};

/// Headings in bold, what is typed literally in cyan.
pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// The commands by purpose, for `baton --help`. A command in no group would not be shown; a test verifies that there is none.
pub(crate) const GROUPS: [(&str, &[&str]); 6] = [
    ("Run", &["do", "run", "init", "save", "resume", "answer", "stop", "attach"]),
    ("Look", &["status", "log", "diff", "report", "runs", "handoff", "artifacts"]),
    ("Repair", &["undo", "gc", "check", "agents", "sandbox"]),
    ("Policies", &["policy", "classify", "mcp", "schema"]),
    ("Measure", &["replay", "import", "simulate", "experiment", "stats"]),
    ("Help", &["help", "man", "completions"]),
];

/// The command line, with its commands in groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let (head, groups) = (STYLES.get_header(), groups(&command));
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{head}Options:{head:#}\n{{options}}{{after-help}}"
    ))
}

/// Every command with its description, in groups.
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
pub(crate) fn overview(command: clap::Command, topics: &[(&'static str, &str)]) -> clap::Command {
    let groups = groups(&command);
    let topics = section("Topics", topics.iter().map(|(name, about)| (*name, (*about).to_owned())));
    command.help_template(format!("{{usage-heading}} baton help [COMMAND|TOPIC]\n{groups}{topics}"))
}
