//! The table of phases, sub-phases below their parent. Only lays out what the view says.

use std::collections::BTreeMap;

use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::view::{PhaseRow, RunStatus, RunView, SessionRow};
use baton_runtime::core::{DurationMs, SessionId};
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Row, Table, presets};

use super::look::{Look, Tone};
use super::words;

/// How long ago a session last did something, where the reader watched it happen.
pub(crate) type Ages = BTreeMap<SessionId, DurationMs>;

/// The columns, and what they are called.
const HEADER: [&str; 9] = ["PHASE", "AGENT", "POLICY", "TURNS", "CTX", "DONE", "STATUS", "LAST", "SPLIT"];
const AGENT: usize = 1;
const POLICY: usize = 2;
const LAST: usize = 7;
const SPLIT: usize = 8;
/// What a narrow terminal goes without, in this order.
const DISPENSABLE: [usize; 4] = [POLICY, SPLIT, LAST, AGENT];
/// The last activity may be cut, but not below this: a file name should be recognised.
const LAST_WIDTH_MIN: u16 = 16;
/// Spaces between two columns.
const GAP: u16 = 2;
/// From this width on there is room to say how long a wait will be.
const UNTIL_FROM: u16 = 100;

/// The table, without a line break at its end.
pub(crate) fn table(view: &RunView, look: &Look, ages: &Ages) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_width(look.width);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if look.colour {
        table.enforce_styling();
    }
    table.set_header(HEADER);
    for (index, phase) in view.phases.iter().enumerate() {
        let last_of_parent = !view.phases[index + 1..].iter().any(|later| later.parent == phase.parent);
        let mut row = row(phase, view.status, last_of_parent, look, ages);
        row.max_height(1);
        table.add_row(row);
    }
    let widths = table.column_max_content_widths();
    for (index, shown) in shown(&widths, look.width).into_iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, GAP));
            // What is free belongs to the last activity, the only column that may be cut.
            match (shown, index) {
                (false, _) => column.set_constraint(ColumnConstraint::Hidden),
                (true, LAST) => column.remove_constraint(),
                (true, _) => column.set_constraint(ColumnConstraint::ContentWidth),
            };
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Which columns are shown: those that say something, less what does not fit.
fn shown(widths: &[u16], room: u16) -> Vec<bool> {
    let says_something = |(index, width): (usize, &u16)| {
        let optional = DISPENSABLE.contains(&index);
        !optional || usize::from(*width) > HEADER[index].len()
    };
    let mut shown: Vec<bool> = widths.iter().enumerate().map(says_something).collect();
    let needed = |shown: &[bool]| -> u16 {
        let width =
            |(index, width): (usize, &u16)| if index == LAST { (*width).min(LAST_WIDTH_MIN) } else { *width };
        widths.iter().enumerate().filter(|(index, _)| shown[*index]).map(|column| width(column) + GAP).sum()
    };
    for index in DISPENSABLE {
        if needed(&shown) > room {
            shown[index] = false;
        }
    }
    shown
}

fn row(phase: &PhaseRow, run: RunStatus, last_of_parent: bool, look: &Look, ages: &Ages) -> Row {
    let session = phase.sessions.last();
    let (mut status, tone) = words::phase(phase, run);
    if look.width >= UNTIL_FROM {
        status.push_str(&words::until(phase, look));
    }
    let (context, context_tone) = session.map_or(("-".to_owned(), Tone::Dim), context);
    let turns = match (phase.turns, phase.max_turns) {
        (0, 0) => "-".to_owned(),
        (used, 0) => used.to_string(),
        (used, max) => format!("{used}/{max}"),
    };
    let done = phase.objectives.iter().filter(|objective| objective.status == ObjectiveStatus::Done).count();
    let last = session.filter(|session| session.ending.is_empty()).map_or(String::new(), |session| {
        let age = ages.get(&session.id).filter(|age| age.0 >= 1000);
        let age = age.map(|age| format!(" {age}")).unwrap_or_default();
        format!("{}{age}", session.last)
    });
    let mut row = Row::new();
    row.add_cell(Cell::new(branch(phase, last_of_parent)))
        .add_cell(Cell::new(agent(phase)))
        .add_cell(Cell::new(policy(phase)))
        .add_cell(Cell::new(turns))
        .add_cell(toned(context, context_tone))
        .add_cell(Cell::new(format!("{done}/{}", phase.objectives.len())))
        .add_cell(toned(status, tone))
        .add_cell(Cell::new(last))
        .add_cell(Cell::new(split(phase)));
    row
}

/// "20", and below it "├20a", "└20b".
fn branch(phase: &PhaseRow, last_of_parent: bool) -> String {
    match (&phase.parent, last_of_parent) {
        (None, _) => phase.id.to_string(),
        (Some(_), false) => format!("├{}", phase.id),
        (Some(_), true) => format!("└{}", phase.id),
    }
}

/// "rehearsal s3→s4 1/3": who works, after whom, which continuation.
fn agent(phase: &PhaseRow) -> String {
    let sessions = match phase.sessions.as_slice() {
        [] => return "-".to_owned(),
        [only] => only.id.to_string(),
        [.., before, last] => format!("{}→{}", before.id, last.id),
    };
    let agent = phase.sessions.last().map_or("", |session| session.agent.as_str());
    let continuation = match phase.continuation {
        0 => String::new(),
        k => format!(" {k}/{}", phase.continuations),
    };
    let lead = if phase.sessions.last().is_some_and(|session| session.lead) { " lead" } else { "" };
    format!("{agent} {sessions}{continuation}{lead}")
}

/// The number, and a word where a policy warned.
fn context(session: &SessionRow) -> (String, Tone) {
    let context = words::context(session.used_tokens, session.window_tokens, session.source);
    if session.warned { (format!("{context} ! warn"), Tone::Warn) } else { (context, Tone::Plain) }
}

/// "resilience@e3b0c4": enough of the digest to tell two apart.
fn policy(phase: &PhaseRow) -> String {
    match phase.policy.split_once('@') {
        Some((name, digest)) => format!("{name}@{}", digest.chars().take(6).collect::<String>()),
        None => phase.policy.clone(),
    }
}

fn split(phase: &PhaseRow) -> String {
    if phase.split == 0 {
        return String::new();
    }
    words::count(u32::try_from(phase.objectives.len()).unwrap_or(u32::MAX), "objective")
}

fn toned(text: String, tone: Tone) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain | Tone::Strong => cell,
        Tone::Dim => cell.fg(Color::DarkGrey),
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Warn => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed),
        Tone::Relay => cell.fg(Color::DarkCyan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::samples;

    #[test]
    fn the_table_shows_phases_and_their_parts() {
        // D4, D5
        let ages = Ages::from([(SessionId::from("s4"), DurationMs::from_secs(4))]);
        insta::assert_snapshot!("table_wide", table(&samples::running(), &Look::bare(160), &ages));
        insta::assert_snapshot!("table_80", table(&samples::running(), &Look::bare(80), &ages));
        insta::assert_snapshot!(
            "table_finished",
            table(&samples::finished(), &Look::bare(120), &Ages::new())
        );
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for width in [80, 100, 132, 200] {
            for line in table(&samples::running(), &Look::bare(width), &Ages::new()).lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn colour_only_repeats_what_a_word_says() {
        let plain = table(&samples::running(), &Look::bare(120), &Ages::new());
        let coloured = table(&samples::running(), &Look { colour: true, ..Look::bare(120) }, &Ages::new());
        let mut bare = String::new();
        let mut escape = false;
        for c in coloured.chars() {
            match (escape, c) {
                (false, '\x1b') => escape = true,
                (false, c) => bare.push(c),
                (true, 'm') => escape = false,
                (true, _) => {}
            }
        }
        let trimmed: Vec<&str> = bare.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n"), plain);
        assert_ne!(coloured, plain);
    }
}
