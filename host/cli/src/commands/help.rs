//! `baton help`: lists the commands and the guides, and shows one of them. The guides are part of the binary.

use std::io::{IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use baton_runtime::sandbox::own_trusted_path;
use clap::Args;
use clap::error::ErrorKind;
use include_dir::{Dir, include_dir};

use crate::command_groups::{grouped, overview};
use crate::exit_status::{CliExit, UsageError};
use crate::stdio;

/// The guides and the reference, as they are in the repository.
static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/docs");

/// How much a word has to be like the name of a command or topic to be suggested, of 1.
const LIKENESS_MIN: f64 = 0.8;

/// List commands and guides, or show one of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton help                       every command and every guide
  baton help run                   the same as `baton run --help`
  baton help policy use
  baton help workflow              the guide about workflows
  baton help agents.md             the guide, if a command has the same name
  baton help reference/commands    all commands with their options

A guide is shown by the program in PAGER, if the output is a terminal and PAGER is set.")]
pub(crate) struct HelpArgs {
    /// A command with its subcommand, or a topic
    #[arg(value_name = "COMMAND|TOPIC")]
    name: Vec<String>,
}

/// One guide.
struct GuidePage {
    /// Its path without the ending: "workflow", "reference/commands".
    name: &'static str,
    text: &'static str,
}

impl GuidePage {
    /// Its first line: the subject of the page.
    fn about(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches(['#', ' '])
    }
}

pub(crate) fn help(args: HelpArgs, command_line: &clap::Command) -> anyhow::Result<CliExit> {
    if args.name.is_empty() {
        return show_help(overview(command_line.clone(), &topics()), &[]);
    }
    let name = args.name.join(" ");
    let page = |name: &str| pages().find(|page| page.name == name);
    if let Some(page) = name.strip_suffix(".md").and_then(page) {
        return show_page(&page);
    }
    if is_command(command_line, &args.name) {
        let exit = show_help(grouped(command_line.clone()), &args.name)?;
        if page(&name).is_some() {
            stdio::data(&format!("\nThere is also a guide with this name: baton help {name}.md\n"))?;
        }
        return Ok(exit);
    }
    match page(&name) {
        Some(page) => show_page(&page),
        None => Err(UsageError(unknown(command_line, &name)).into()),
    }
}

/// The guides, sorted by name, those of the reference last.
fn pages() -> impl Iterator<Item = GuidePage> {
    let reference = PAGES.get_dir("reference").into_iter().flat_map(Dir::files);
    let mut found: Vec<GuidePage> = PAGES
        .files()
        .chain(reference)
        .filter_map(|file| {
            let name = file.path().to_str()?.strip_suffix(".md")?;
            Some(GuidePage { name, text: file.contents_utf8()? })
        })
        .collect();
    found.sort_by_key(|page| (page.name.contains('/'), page.name));
    found.into_iter()
}

fn topics() -> Vec<(&'static str, &'static str)> {
    pages().map(|page| (page.name, page.about())).collect()
}

/// Whether these words name a command: `policy use`.
fn is_command(root: &clap::Command, words: &[String]) -> bool {
    words.iter().try_fold(root, |command, word| command.find_subcommand(word)).is_some()
}

/// Prints help as clap does, with its colours and at the width of the terminal.
fn show_help(command: clap::Command, words: &[String]) -> anyhow::Result<CliExit> {
    let typed = ["baton"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    match command.try_get_matches_from(typed) {
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            // A reader that has seen enough (`| head`) is not a failure.
            let _ = error.print();
            Ok(CliExit::Done)
        }
        Err(error) => Err(error.into()),
        Ok(_) => anyhow::bail!("`--help` printed nothing"),
    }
}

fn show_page(page: &GuidePage) -> anyhow::Result<CliExit> {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
    match pager.filter(|_| std::io::stdout().is_terminal()) {
        Some(pager) if show_in_pager(&pager, page.text) => {}
        _ => stdio::data(page.text)?,
    }
    Ok(CliExit::Done)
}

/// Gives a text to a pager and waits until the reader leaves it; false if the pager cannot be started.
fn show_in_pager(pager: &str, text: &str) -> bool {
    let path = own_trusted_path();
    let started = Command::new("/bin/sh").args(["-c", pager]).env("PATH", path).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    if let Some(mut input) = child.stdin.take() {
        // The reader may leave before the end.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

/// The message about a name that is neither a command nor a topic.
fn unknown(root: &clap::Command, name: &str) -> String {
    let names = root.get_subcommands().map(clap::Command::get_name).chain(pages().map(|page| page.name));
    let alike = |known: &str| strsim::jaro_winkler(name, known.rsplit('/').next().unwrap_or(known));
    let mut near: Vec<(f64, &str)> =
        names.map(|known| (alike(known), known)).filter(|(likeness, _)| *likeness >= LIKENESS_MIN).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.dedup_by_key(|(_, known)| *known);
    let near: Vec<String> = near.iter().take(3).map(|(_, known)| format!("`{known}`")).collect();
    let suggestion = match near.as_slice() {
        [] => String::new(),
        near => format!("\n    did you mean {}?", near.join(" or ")),
    };
    let topics: Vec<&str> = pages().map(|page| page.name).collect();
    format!(
        "unknown command or topic `{name}`{suggestion}\n    topics: {}\n    `baton help` lists commands and topics",
        topics.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::command;

    #[test]
    fn the_overview_lists_commands_and_topics() {
        let mut command = overview(command(), &topics()).term_width(100);
        command.build();
        insta::assert_snapshot!("overview", command.render_long_help());
    }

    #[test]
    fn every_page_says_what_it_is_about_in_one_line() {
        for page in pages() {
            assert!(page.text.starts_with("# "), "{} does not begin with a heading", page.name);
            assert!((5..=90).contains(&page.about().chars().count()), "{}: {}", page.name, page.about());
        }
    }

    #[test]
    fn an_unknown_name_gets_what_is_near_and_the_topics() {
        insta::assert_snapshot!("unknown_topic", unknown(&command(), "workflo"));
        assert!(!unknown(&command(), "xyzzy").contains("did you mean"));
    }

    #[test]
    fn a_command_wins_over_a_topic_of_the_same_name() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let root = command();
        assert!(is_command(&root, &words("agents")) && is_command(&root, &words("policy use")));
        assert!(!is_command(&root, &words("workflow")) && !is_command(&root, &words("policy nothing")));
        assert!(pages().any(|page| page.name == "agents"));
    }
}
