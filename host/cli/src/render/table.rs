//! The table of phases, sub-phases below their parent. Only lays out what the view says.

use std::collections::BTreeMap;

use baton_runtime::core::view::{PhaseOrigin, PhaseStatus, PhaseSummary, RunView, SessionSummary};
use baton_runtime::core::{DurationMs, PhaseId, SessionId};
use comfy_table::{Cell, Color, ColumnConstraint, ContentArrangement, Table, Width, presets};

use super::terminal_style::{TerminalStyle, Tone};
use super::text_format;

/// How long ago a session last did something, where the reader watched it happen.
pub(crate) type SessionAges = BTreeMap<SessionId, DurationMs>;

/// The columns, and what they are called.
const HEADER: [&str; COLUMNS] =
    ["PHASE", "AGENT", "POLICY", "TURNS", "CTX", "DONE", "STATUS", "CHECK", "LAST", "SPLIT"];
const COLUMNS: usize = 10;
const AGENT: usize = 1;
const POLICY: usize = 2;
const TURNS: usize = 3;
const CTX: usize = 4;
const DONE: usize = 5;
const STATUS: usize = 6;
const CHECK: usize = 7;
const LAST: usize = 8;
const SPLIT: usize = 9;
/// What a narrow terminal goes without, in this order.
const DISPENSABLE: [usize; 6] = [POLICY, AGENT, LAST, SPLIT, CHECK, TURNS];
/// The last activity may be cut, but not below this: a file name should be recognised.
const LAST_WIDTH_MIN: u16 = 16;
/// Columns of a run at work that are shown from a width on, whatever they say: the table does not jump.
const LIVE_FROM: [(usize, u16); 6] =
    [(TURNS, 70), (LAST, 78), (CHECK, 100), (AGENT, 110), (SPLIT, 120), (POLICY, 150)];
/// What fits into the columns of a run at work without making them wider: turns, context, objectives, where it stands.
const LIVE_WIDTHS: [(usize, u16); 5] = [(TURNS, 7), (CTX, 12), (DONE, 5), (STATUS, 13), (CHECK, 6)];
/// Spaces between two columns.
const GAP: u16 = 2;
/// An id of a phase is cut to this number of characters in a narrow table of a run at work.
const PHASE_WIDTH_MAX: usize = 16;
/// From this width on a warning is a word, and ids are whole; below it is its mark.
const WORDS_FROM: u16 = 100;
/// From this width on there is room to say how long a wait will be.
const UNTIL_FROM: u16 = 100;

/// One cell: what it says, and how it is meant.
type TableCell = (String, Tone);

/// The whole table, without a line break at its end.
pub(crate) fn table(view: &RunView, look: &TerminalStyle, ages: &SessionAges) -> String {
    let all: Vec<usize> = (0..view.phases.len()).collect();
    draw(view, &all, look, ages, false)
}

/// The table of a run at work, in at most this number of lines: if there are more phases, those at work are shown first, and
/// a line at the end counts the others.
pub(crate) fn table_within(
    view: &RunView,
    look: &TerminalStyle,
    ages: &SessionAges,
    lines_max: usize,
) -> String {
    // The header has a line of its own.
    let room = lines_max.saturating_sub(1).max(1);
    // A review that is over has left its score, and a merge its files: neither needs a line any more.
    let is_shown = |phase: &PhaseSummary| phase.origin.is_part() || !is_over(phase);
    let mut by_interest: Vec<usize> =
        (0..view.phases.len()).filter(|index| is_shown(&view.phases[*index])).collect();
    if by_interest.len() <= room {
        return draw(view, &by_interest, look, ages, true);
    }
    by_interest.sort_by_key(|index| display_priority(&view.phases[*index]));
    let rest = by_interest.split_off(room.saturating_sub(1));
    by_interest.sort_unstable();
    let counted = look.paint(Tone::Dim, &counted(view, &rest));
    format!("{}\n{counted}", draw(view, &by_interest, look, ages, true))
}

fn is_over(phase: &PhaseSummary) -> bool {
    matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped)
}

/// The order of rows: first what needs the user, then what is at work, then what comes next; what is over comes last.
fn display_priority(phase: &PhaseSummary) -> u8 {
    match phase.status {
        PhaseStatus::Paused | PhaseStatus::WaitingApproval => 0,
        PhaseStatus::Split => 2,
        PhaseStatus::Pending => 3,
        _ if is_over(phase) => 4,
        _ => 1,
    }
}

/// "… and 9 done, 12 pending, 3 working".
fn counted(view: &RunView, rest: &[usize]) -> String {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for index in rest {
        let word = text_format::phase(&view.phases[*index], view.status).0;
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts: Vec<String> = counts.into_iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("… and {}", counts.join(", "))
}

fn draw(view: &RunView, shown: &[usize], look: &TerminalStyle, ages: &SessionAges, is_live: bool) -> String {
    let mut rows: Vec<[TableCell; COLUMNS]> =
        shown.iter().map(|index| row(view, *index, shown, look, ages)).collect();
    if is_live && look.width < WORDS_FROM {
        rows.iter_mut().for_each(|row| row[0].0 = cut(&row[0].0, PHASE_WIDTH_MAX));
    }
    let mut widths: [u16; COLUMNS] = std::array::from_fn(|column| {
        let texts = rows.iter().map(|row| row[column].0.as_str()).chain([HEADER[column]]);
        u16::try_from(texts.map(|text| text.chars().count()).max().unwrap_or_default()).unwrap_or(u16::MAX)
    });
    let says = |column: usize| rows.iter().any(|row| !matches!(row[column].0.as_str(), "" | "-"));
    let mut said: Vec<bool> = (0..COLUMNS)
        .map(|column| column == TURNS || !DISPENSABLE.contains(&column) || says(column))
        .collect();
    if is_live {
        LIVE_FROM.iter().for_each(|(column, from)| said[*column] = look.width >= *from);
        LIVE_WIDTHS.iter().for_each(|(column, width)| widths[*column] = widths[*column].max(*width));
    }
    let fitting = fitting(said, &widths, look.width);
    let others = (0..COLUMNS).filter(|column| fitting[*column] && *column != LAST);
    let taken: u16 = others.map(|column| widths[column] + GAP).sum();
    let room = usize::from(look.width.saturating_sub(taken + GAP));
    for row in &mut rows {
        row[LAST].0 = shortened(&row[LAST].0, room);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_width(look.width);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if look.colour {
        table.enforce_styling();
    }
    table.set_header(HEADER);
    for row in &rows {
        let cells = row.iter().map(|(text, tone)| toned(text, *tone));
        let mut row = comfy_table::Row::from(cells.collect::<Vec<Cell>>());
        row.max_height(1);
        table.add_row(row);
    }
    for (index, shown) in fitting.into_iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, GAP));
            // What is free belongs to the last activity, the only column that may be cut.
            match (shown, index) {
                (false, _) => column.set_constraint(ColumnConstraint::Hidden),
                (true, LAST) => column.remove_constraint(),
                (true, _) => {
                    column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(widths[index] + GAP)))
                }
            };
        }
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

/// What a session did last, so that its end is seen: a command loses its end, a path its beginning. Of "append notes/inventory.md 4s" it is
/// the age that stays longest, and then the name of the file.
fn shortened(last: &str, room: usize) -> String {
    if last.chars().count() <= room {
        return last.to_owned();
    }
    let is_age = |word: &&str| word.ends_with('s') && word.starts_with(|c: char| c.is_ascii_digit());
    let (what, age) = match last.rsplit_once(' ').filter(|(_, word)| is_age(word)) {
        Some((what, age)) => (what, format!(" {age}")),
        None => (last, String::new()),
    };
    let room = room.saturating_sub(age.chars().count());
    let tail = |text: &str, room: usize| -> String {
        let count = text.chars().count();
        let kept = text.chars().skip(count.saturating_sub(room.saturating_sub(1)));
        if count <= room { text.to_owned() } else { ['…'].into_iter().chain(kept).collect() }
    };
    let cut = match what.split_once(' ') {
        Some((verb, path)) if verb != "$" && !path.contains(' ') => tail(path, room),
        _ => cut(what, room),
    };
    format!("{cut}{age}")
}

/// Of the columns that say something, those that fit.
fn fitting(mut shown: Vec<bool>, widths: &[u16], room: u16) -> Vec<bool> {
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

fn row(
    view: &RunView,
    index: usize,
    shown: &[usize],
    look: &TerminalStyle,
    ages: &SessionAges,
) -> [TableCell; COLUMNS] {
    let phase = &view.phases[index];
    let session = phase.sessions.last();
    let (mut status, tone) = text_format::phase(phase, view.status);
    if look.width >= UNTIL_FROM {
        status.push_str(&text_format::until(phase, look));
    }
    let turns = match (phase.turns, phase.max_turns) {
        (0, 0) => "-".to_owned(),
        (used, 0) => used.to_string(),
        (used, max) => format!("{used}/{max}"),
    };
    let (done, objectives) = view.objectives_of(phase);
    let last = session.filter(|session| session.ending.is_empty()).map_or(String::new(), |session| {
        let age = ages.get(&session.id).filter(|age| age.0 >= 1000);
        let age = age.map(|age| format!(" {age}")).unwrap_or_default();
        format!("{}{age}", session.last)
    });
    let plain = |text: String| (text, Tone::Plain);
    [
        plain(branch(view, index, shown)),
        plain(agent(phase)),
        plain(policy(phase)),
        plain(turns),
        session.map_or(("-".to_owned(), Tone::Dim), |session| context(session, look)),
        plain(format!("{done}/{objectives}")),
        (status, tone),
        text_format::check(phase),
        plain(last),
        plain(split(phase)),
    ]
}

/// "20", and below it "├20a", "└20b"; a level deeper "│├20a-a". Only rows that are shown hold a line open.
fn branch(view: &RunView, index: usize, shown: &[usize]) -> String {
    let later = |parent: &PhaseId, after: usize| {
        shown.iter().any(|other| *other > after && view.phases[*other].parent.as_ref() == Some(parent))
    };
    let mut lines = String::new();
    let mut at = index;
    while let Some(parent) = &view.phases[at].parent {
        let line = match (at == index, later(parent, at)) {
            (true, true) => '├',
            (true, false) => '└',
            (false, true) => '│',
            (false, false) => ' ',
        };
        lines.insert(0, line);
        // Parents stand before their parts, so this comes to an end.
        match view.phases[..at].iter().rposition(|phase| phase.id == *parent) {
            Some(above) => at = above,
            None => break,
        }
    }
    format!("{lines}{}", view.phases[index].id)
}

/// "rehearsal s3→s4 1/3": who works, after whom, which continuation; "…s3→s4" if there were others before.
fn agent(phase: &PhaseSummary) -> String {
    let sessions = match phase.sessions.as_slice() {
        [] => return "-".to_owned(),
        [only] => only.id.to_string(),
        [before, last] => format!("{}→{}", before.id, last.id),
        [.., before, last] => format!("…{}→{}", before.id, last.id),
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
fn context(session: &SessionSummary, look: &TerminalStyle) -> TableCell {
    let context = text_format::context(session.used_tokens, session.window_tokens, session.source);
    let warned = if look.width < WORDS_FROM { "!" } else { "! warn" };
    if session.warned { (format!("{context} {warned}"), Tone::Warn) } else { (context, Tone::Plain) }
}

/// "resilience@e3b0c4": enough of the digest to tell two apart. Several policies go by their names: "torch (handoff),
/// resilience", unless two have the same one.
fn policy(phase: &PhaseSummary) -> String {
    let deciders: Vec<(&str, &str, &str)> = phase.policy.split(", ").map(decider).collect();
    let is_alone = |name: &str| deciders.iter().filter(|(other, ..)| *other == name).count() == 1;
    let shown = |(name, digest, decides): &(&str, &str, &str)| {
        if deciders.len() > 1 && is_alone(name) || digest.is_empty() {
            return format!("{name}{decides}");
        }
        format!("{name}@{}{decides}", digest.chars().take(6).collect::<String>())
    };
    deciders.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Name, digest, and " (handoff)" if it does not decide everything else.
fn decider(text: &str) -> (&str, &str, &str) {
    let (policy, decides) = text.split_at(text.find(" (").unwrap_or(text.len()));
    let (name, digest) = policy.split_once('@').unwrap_or((policy, ""));
    (name, digest, decides)
}

/// What a split has to do with a phase: "into 6", "of 20", and what the host made to bring it to an end.
fn split(phase: &PhaseSummary) -> String {
    let parent = phase.parent.as_ref().map(ToString::to_string).unwrap_or_default();
    let of = match phase.origin {
        PhaseOrigin::Workflow => String::new(),
        PhaseOrigin::Split => format!("of {parent}"),
        PhaseOrigin::Review => format!("review of {parent}"),
        PhaseOrigin::Merge => format!("merge of {parent}"),
    };
    match phase.split {
        0 => of,
        parts if of.is_empty() => format!("into {parts}"),
        parts => format!("{of}, into {parts}"),
    }
}

fn toned(text: &str, tone: Tone) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain | Tone::Strong => cell,
        Tone::Dim => cell.fg(Color::DarkGrey),
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Warn => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed),
        Tone::Handoff => cell.fg(Color::DarkCyan),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn the_table_shows_phases_and_their_parts() {
        // D4, D5
        let ages = SessionAges::from([(SessionId::from("s4"), DurationMs::from_secs(4))]);
        insta::assert_snapshot!(
            "table_wide",
            table(&test_samples::running(), &TerminalStyle::bare(160), &ages)
        );
        insta::assert_snapshot!("table_80", table(&test_samples::running(), &TerminalStyle::bare(80), &ages));
        insta::assert_snapshot!(
            "table_finished",
            table(&test_samples::finished(), &TerminalStyle::bare(120), &SessionAges::new())
        );
    }

    #[test]
    fn what_a_session_did_last_keeps_what_tells_it_apart() {
        assert_eq!(shortened("append notes/inventory.md 4s", 40), "append notes/inventory.md 4s");
        assert_eq!(shortened("append notes/inventory.md 4s", 16), "…inventory.md 4s");
        assert_eq!(shortened("append notes/inventory.md", 18), "notes/inventory.md");
        assert_eq!(shortened("$ cargo test --workspace 12s", 16), "$ cargo tes… 12s");
        assert_eq!(shortened("says that it is done", 10), "says that…");
    }

    #[test]
    fn that_there_were_sessions_before_the_last_two_is_seen() {
        let mut phase = test_samples::running().phases[1].clone();
        let session = phase.sessions[0].clone();
        phase.sessions =
            ["s1", "s2", "s3"].map(|id| SessionSummary { id: SessionId::from(id), ..session.clone() }).into();
        assert!(agent(&phase).contains(" …s2→s3"), "{}", agent(&phase));
        phase.sessions.remove(0);
        assert!(agent(&phase).contains(" s2→s3"), "{}", agent(&phase));
    }

    #[test]
    fn the_table_of_a_run_at_work_has_the_same_columns_whatever_they_say() {
        for width in [60, 80, 160] {
            let header = |view: &RunView| {
                let drawn = table_within(view, &TerminalStyle::bare(width), &SessionAges::new(), 30);
                let header = drawn.lines().next().unwrap_or_default().to_owned();
                header.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            };
            let mut late = test_samples::running();
            late.phases.iter_mut().for_each(|phase| phase.verified = Some(true));
            let mut early = test_samples::running();
            early.phases.iter_mut().for_each(|phase| phase.sessions.clear());
            assert_eq!(header(&late), header(&early), "{width}");
            insta::assert_snapshot!(
                format!("table_live_{width}"),
                table_within(&test_samples::running(), &TerminalStyle::bare(width), &SessionAges::new(), 30)
            );
        }
    }

    #[test]
    fn no_row_is_wider_than_the_terminal() {
        for width in [80, 100, 132, 200] {
            for line in
                table(&test_samples::running(), &TerminalStyle::bare(width), &SessionAges::new()).lines()
            {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    // D3, D4: many at once.
    #[test]
    fn many_phases_stay_within_the_terminal() {
        let view = test_samples::crowd(26);
        let drawn = table_within(&view, &TerminalStyle::bare(120), &SessionAges::new(), 12);
        assert_eq!(drawn.lines().count(), 12);
        insta::assert_snapshot!("table_crowd", drawn);
        for lines_max in 1..40 {
            let drawn = table_within(&view, &TerminalStyle::bare(120), &SessionAges::new(), lines_max);
            assert!(drawn.lines().count() <= lines_max.max(2), "{lines_max}:\n{drawn}");
        }
        let all = table_within(&view, &TerminalStyle::bare(120), &SessionAges::new(), 100);
        assert_eq!(
            all.lines().count(),
            table(&view, &TerminalStyle::bare(120), &SessionAges::new()).lines().count()
        );
    }

    #[test]
    fn parts_of_parts_hang_below_them() {
        insta::assert_snapshot!(
            "table_split",
            table(&test_samples::split(), &TerminalStyle::bare(120), &SessionAges::new())
        );
    }

    // M3
    #[test]
    fn the_table_names_every_policy_that_decides() {
        let mut view = test_samples::running();
        let policies = [
            "torch@0123456789ab (handoff), resilience@e3b0c44298fc",
            "resilience@0123456789ab (compaction+handoff), resilience@e3b0c44298fc",
            "resilience@e3b0c44298fc",
        ];
        for (phase, policy) in view.phases.iter_mut().zip(policies) {
            policy.clone_into(&mut phase.policy);
        }
        view.phases.truncate(policies.len());
        insta::assert_snapshot!(
            "table_policies",
            table(&view, &TerminalStyle::bare(200), &SessionAges::new())
        );
    }

    #[test]
    fn colour_only_repeats_what_a_word_says() {
        let plain = table(&test_samples::running(), &TerminalStyle::bare(120), &SessionAges::new());
        let coloured = table(
            &test_samples::running(),
            &TerminalStyle { colour: true, ..TerminalStyle::bare(120) },
            &SessionAges::new(),
        );
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
        assert_eq!(
            crate::stdio::cleaned(&coloured, true),
            coloured,
            "a terminal gets the colours as they are"
        );
    }
}
