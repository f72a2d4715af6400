//! Draws the picture of README: what the quickstart prints, in the colours of a terminal.

use std::process::Stdio;

use crate::documents::root;
use crate::support::TestWorkspace;

const PICTURE: &str = "host/cli/docs/quickstart.svg";

/// What a picture may have, in bytes.
const BYTES_MAX: usize = 40 * 1024;

/// Columns of the picture.
const COLUMNS: usize = 108;

/// Lines of the middle of the run, by words that they have.
const SHOWN: [&str; 11] = [
    "making room in the context",
    "context made shorter",
    "done       parser",
    "warning    ",
    "exhausted  ",
    "handoff    ",
    "continuation 1 of 3",
    "done       evaluator",
    "the verification passed",
    "usage limit:",
    "the agent waited for",
];

/// A line without what lies beyond the last column; escape sequences take no column.
fn cut(line: &str) -> String {
    let (mut kept, mut columns, mut is_escape) = (String::new(), 0, false);
    for c in line.chars() {
        is_escape = is_escape || c == '\u{1b}';
        if is_escape {
            kept.push(c);
            is_escape = c != 'm';
        } else if columns < COLUMNS {
            columns += 1;
            kept.push(if columns == COLUMNS { '…' } else { c });
        }
    }
    kept
}

/// A line without its escape sequences.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
#[ignore = "draws the picture of README if UPDATE_PICTURE=1"]
fn the_quickstart_is_drawn() {
    let stage = TestWorkspace::new();
    let example = root().join("host/cli/examples/quickstart.toml");
    let mut command = stage.command(&[]);
    command.arg("run").arg(&example).env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success());
    let home = stage.workspace.parent().unwrap().display().to_string();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&home, "~");
    let (progress, report) = (text(&output.stderr), text(&output.stdout));

    let mut lines = vec!["$ baton run host/cli/examples/quickstart.toml".to_owned(), "…".to_owned()];
    let is_shown = |line: &&str| SHOWN.iter().any(|words| plain(line).contains(words));
    lines.extend(progress.lines().filter(is_shown).map(cut));
    lines.push(String::new());
    // The table, and the sums at the end.
    let table = report.lines().skip_while(|line| !line.contains("PHASE"));
    lines.extend(table.take_while(|line| !line.is_empty()).map(cut));
    lines.push(String::new());
    lines.extend(report.lines().skip_while(|line| !line.contains("Done ")).take(4).map(cut));

    let colour = |red, green, blue| anstyle::Color::Rgb(anstyle::RgbColor(red, green, blue));
    let terminal = anstyle_svg::Term::new()
        .palette(anstyle_svg::WIN10_CONSOLE)
        .fg_color(colour(0xe6, 0xed, 0xf3))
        .bg_color(colour(0x16, 0x1b, 0x22));
    let drawn = terminal.render_svg(&lines.join("\n"));
    // Dim words stay readable.
    let drawn = drawn.replace(".dimmed { opacity: 0.4; }", ".dimmed { opacity: 0.7; }");
    assert!(drawn.len() <= BYTES_MAX, "{} bytes", drawn.len());
    if std::env::var_os("UPDATE_PICTURE").is_some_and(|value| value == "1") {
        std::fs::write(root().join(PICTURE), drawn).unwrap();
    }
}
