//! Turn budgets per role and mode (A1): the whole table as data. Raising one for complex work (A2) is a policy's call.

use std::collections::BTreeMap;

use crate::ids::RoleName;
use crate::workflow::Mode;

/// Turns of one role, in the order of [`MODES`]; `None` if the role does not appear in the mode.
pub type TurnTableRow = (&'static str, [Option<u32>; 5]);

/// The columns of the table.
pub const MODES: [Mode; 5] = [Mode::Eco, Mode::Turbo, Mode::Standard, Mode::Thorough, Mode::Swarm];

/// No turns here: the mode uses another role of the family.
const NA: Option<u32> = None;

/// One cell with a value.
const fn t(turns: u32) -> Option<u32> {
    Some(turns)
}

/// Every role with a budget of its own. A workflow overrides a cell with `max_turns` of the role.
#[rustfmt::skip]
pub const TABLE: [TurnTableRow; 18] = [
    //                     eco    turbo  standard thorough swarm
    ("executor-lite",     [t(15), t(15), NA,      NA,      NA]),
    ("executor",          [NA,    NA,    t(25),   t(30),   t(25)]),
    ("reviewer-lite",     [t(8),  t(8),  NA,      NA,      NA]),
    ("reviewer",          [NA,    NA,    t(12),   NA,      NA]),
    ("reviewer-deep",     [NA,    NA,    NA,      t(15),   t(15)]),
    ("security-lite",     [t(8),  t(8),  NA,      NA,      NA]),
    ("security",          [NA,    NA,    t(10),   NA,      NA]),
    ("security-deep",     [NA,    NA,    NA,      t(12),   t(12)]),
    ("codebase-analyzer", [t(15), t(15), t(20),   t(25),   t(20)]),
    ("architect-lite",    [t(10), t(8),  NA,      NA,      NA]),
    ("architect",         [NA,    NA,    t(15),   t(20),   t(20)]),
    ("quality-gate",      [t(15), t(12), t(20),   t(25),   t(20)]),
    ("completion-guard",  [t(10), t(8),  t(12),   t(15),   t(12)]),
    ("test-writer",       [NA,    NA,    t(20),   t(25),   t(20)]),
    ("perf-lite",         [t(8),  t(8),  NA,      NA,      NA]),
    ("perf-reviewer",     [NA,    NA,    t(10),   NA,      NA]),
    ("doc-writer",        [t(8),  t(8),  t(8),    t(8),    t(8)]),
    ("explorer",          [t(10), t(10), t(10),   t(10),   t(10)]),
];

/// Roles that do the same work at different depths: if a mode has no cell for one, it has one for another.
const FAMILIES: [&[&str]; 5] = [
    &["executor", "executor-lite"],
    &["reviewer", "reviewer-lite", "reviewer-deep"],
    &["security", "security-lite", "security-deep"],
    &["architect", "architect-lite"],
    &["perf-reviewer", "perf-lite"],
];

/// The cell of the table; `None` for an empty cell and for a role that is not in the table.
pub fn base_turns(role: &str, mode: Mode) -> Option<u32> {
    let column = MODES.iter().position(|m| *m == mode)?;
    let (_, cells) = TABLE.iter().find(|(name, _)| *name == role)?;
    cells[column]
}

/// The turns of a role in a mode: its own, else those of the one in its family that this mode uses, so that `executor` in `eco`
/// gets the 15 turns of `executor-lite`. `over` are the workflow's own values for cells of this mode. `None` if the whole
/// family has none.
pub fn turns_for(role: &str, mode: Mode, over: &BTreeMap<RoleName, u32>) -> Option<u32> {
    let own = |role: &str| over.get(&RoleName::from(role)).copied().or_else(|| base_turns(role, mode));
    own(role).or_else(|| {
        let family = FAMILIES.iter().find(|family| family.contains(&role))?;
        family.iter().find_map(|member| own(member))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as its authors published it.
    const PUBLISHED: &str = include_str!("../../../../tests/fixtures/workflow/turns.md");

    #[test]
    fn every_cell_is_the_published_one() {
        // A1
        let mut rows = 0;
        for line in PUBLISHED.lines().filter(|line| line.starts_with('|')).skip(2) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 6, "{line}");
            for (mode, cell) in MODES.into_iter().zip(&cells[1..]) {
                assert_eq!(base_turns(cells[0], mode), cell.parse().ok(), "{} in {}", cells[0], mode.name());
            }
            rows += 1;
        }
        assert_eq!(rows, TABLE.len());
    }

    #[test]
    fn a_mode_without_the_role_lends_the_turns_of_its_family() {
        let turns = |role, mode| turns_for(role, mode, &BTreeMap::new());
        assert_eq!(turns("executor", Mode::Eco), Some(15));
        assert_eq!(turns("reviewer", Mode::Swarm), Some(15));
        assert_eq!(turns("executor", Mode::Thorough), Some(30));
        assert_eq!(turns("test-writer", Mode::Eco), None);
        assert_eq!(turns("nobody", Mode::Eco), None);
    }

    #[test]
    fn a_workflow_has_its_own_value_for_any_cell() {
        // A1
        let over =
            BTreeMap::from([("executor-lite".into(), 20), ("nobody".into(), 5), ("explorer".into(), 4)]);
        let turns = |role, mode| turns_for(role, mode, &over);
        assert_eq!(turns("executor", Mode::Eco), Some(20), "the family's cell is another one");
        assert_eq!(turns("executor", Mode::Standard), Some(25), "its own cell is the table's");
        assert_eq!([turns("explorer", Mode::Swarm), turns("nobody", Mode::Eco)], [Some(4), Some(5)]);
    }
}
