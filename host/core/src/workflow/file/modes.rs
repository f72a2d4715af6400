//! The differences of a mode: `[modes.…]` and the Org files of `mode_files` (A1, A10). All of them are checked, and only those
//! of the workflow's own mode take effect. Opens no file: the caller's reader does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::check::{AgentDefault, WorkflowChecker, join};
use super::diagnostic::suggest;
use super::roles::{is_role, role_hint};
use super::schema::{CONTINUATIONS_MAX, LocatedValue, ModeSchema, ModesSchema, TURNS_MAX};
use crate::ids::RoleName;
use crate::workflow::org::{self, ORG_BYTES_MAX, OrgOutline, OrgProperty};
use crate::workflow::turn_table::MODES;
use crate::workflow::{Mode, Role};

/// The prefix of a role's name in a property, which has `_` in place of the role's `-`.
const TURNS: &str = "MAX_TURNS_";
const CONTINUATIONS: &str = "MAX_CONTINUATIONS";
/// The property that names the mode of the others.
const MODE: &str = "MODE";
/// Values by which a file states that a role has no budget in its mode, as in the table that people know.
const NO_BUDGET: [&str; 4] = ["-", "–", "—", "nil"];

/// The settings of the workflow's mode.
#[derive(Debug, Default)]
pub(super) struct ActiveMode {
    /// Turns by role; the file's own before those of Org files.
    pub(super) turns: BTreeMap<RoleName, u32>,
    /// Continuations that the file names for its mode; wins over `[limits]`.
    pub(super) continuations: Option<u32>,
    /// Continuations of an Org file; `[limits]` wins over them.
    pub(super) org_continuations: Option<u32>,
    /// Providers of roles in other modes.
    pub(super) providers: BTreeSet<String>,
}

/// The settings of one mode in one Org file.
#[derive(Default)]
struct OrgMode {
    turns: BTreeMap<RoleName, (u32, usize)>,
    continuations: Option<(u32, usize)>,
}

impl WorkflowChecker<'_, '_> {
    /// Applies the mode's differences to `roles`, and returns the rest.
    pub(super) fn modes(
        &mut self,
        mode: Mode,
        shapes: ModesSchema,
        files: &[LocatedValue<String>],
        roles: &mut BTreeMap<RoleName, Role>,
        default_agent: &AgentDefault,
    ) -> ActiveMode {
        let mut active = ActiveMode::default();
        for file in files {
            for (of, said) in self.mode_file(file, roles) {
                if of == mode {
                    active.turns.extend(said.turns.into_iter().map(|(role, (turns, _))| (role, turns)));
                    active.org_continuations =
                        said.continuations.map(|(count, _)| count).or(active.org_continuations);
                }
            }
        }
        let before = roles.clone();
        for (of, shape) in shapes.given() {
            let said = self.mode(of, shape, &before, default_agent, &mut active.providers);
            if of == mode {
                active.turns.extend(said.turns);
                active.continuations = said.continuations;
                roles.extend(said.roles);
            }
        }
        active
    }

    fn mode(
        &mut self,
        mode: Mode,
        shape: ModeSchema,
        roles: &BTreeMap<RoleName, Role>,
        default_agent: &AgentDefault,
        providers: &mut BTreeSet<String>,
    ) -> ModeSettings {
        let table = format!("[modes.{}.turns]", mode.name());
        for (name, turns) in shape.turns.iter().filter(|(name, _)| !is_role(name, roles)) {
            let what = format!("{table} names `{}`, which is no role", name.escape_debug());
            self.problems.at(turns.span(), name, what, role_hint(name, roles));
        }
        let turns = shape.turns.into_iter().map(|(name, turns)| (RoleName::new(name), turns.into_inner()));
        let mut said = ModeSettings {
            turns: turns.collect(),
            continuations: shape.max_continuations,
            roles: BTreeMap::new(),
        };
        for (name, shape) in shape.roles {
            let place = format!("in [modes.{}.roles.{name}]", mode.name());
            if !is_role(&name, roles) {
                let what = format!(
                    "[modes.{}.roles] names `{}`, which is no role",
                    mode.name(),
                    name.escape_debug()
                );
                self.problems.at(shape.span(), "roles", what, role_hint(&name, roles));
            }
            if let Some(policies) = &shape.get().policies {
                let what = format!("`policies` {place} is not different in a mode");
                let hint =
                    format!("a mode changes who works, not who judges it: write [roles.{name}.policies]");
                self.problems.at(policies.span(), "policies", what, hint);
            }
            let name = RoleName::new(name);
            let role = roles.get(&name).cloned().unwrap_or_else(|| default_agent.role());
            let role = self.role_over(&place, role, shape.into_inner());
            providers.insert(role.provider().to_owned());
            said.roles.insert(name, role);
        }
        said
    }

    /// The settings of an Org file, by mode.
    fn mode_file(
        &mut self,
        file: &LocatedValue<String>,
        roles: &BTreeMap<RoleName, Role>,
    ) -> BTreeMap<Mode, OrgMode> {
        let path = join(self.base, file.get());
        let wrong = |line: Option<usize>, what: String| {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line}: {what}", file.get().escape_debug())
        };
        let read = match (self.read)(&path) {
            Ok(text) if text.len() > ORG_BYTES_MAX => Err(wrong(
                None,
                format!("it has {} bytes, and a mode file may have {ORG_BYTES_MAX}", text.len()),
            )),
            Ok(text) => org::read(&text).map_err(|error| wrong(Some(error.line), error.what)),
            Err(why) => Err(wrong(None, format!("it cannot be read: {why}"))),
        };
        let outline = match read {
            Ok(outline) => outline,
            Err(what) => {
                self.problems.at(file.span(), "mode_files", what, "");
                return BTreeMap::new();
            }
        };
        let mut modes = BTreeMap::new();
        for property in &outline.properties {
            if let Err((what, hint)) = take(&outline, property, file.get(), roles, &mut modes) {
                let what = wrong(Some(property.line), format!("`{}` {what}", property.name.escape_debug()));
                self.problems.at(file.span(), "mode_files", what, hint);
            }
        }
        modes
    }
}

/// The settings of `[modes.…]` for one mode.
struct ModeSettings {
    turns: BTreeMap<RoleName, u32>,
    continuations: Option<u32>,
    roles: BTreeMap<RoleName, Role>,
}

/// The mistake, and the correction.
type PropertyProblem = (String, String);

/// Takes one property into the mode that it is about. Properties that are about something else pass.
fn take(
    outline: &OrgOutline,
    property: &OrgProperty,
    path: &str,
    roles: &BTreeMap<RoleName, Role>,
    modes: &mut BTreeMap<Mode, OrgMode>,
) -> Result<(), PropertyProblem> {
    let name = property.name.to_ascii_uppercase();
    let role = name.strip_prefix(TURNS).map(|role| role.to_ascii_lowercase().replace('_', "-"));
    if role.is_none() && name != CONTINUATIONS {
        return match name.starts_with("MAX_TURN") || name.starts_with("MAX_CONTINUATION") {
            true => {
                let hint = format!("write {TURNS} and the name of a role, or {CONTINUATIONS}");
                Err(("is nothing that Baton reads".to_owned(), hint))
            }
            false => Ok(()),
        };
    }
    let mode = mode_of(outline, property, path)?;
    if NO_BUDGET.contains(&property.value.to_ascii_lowercase().as_str()) {
        return Ok(());
    }
    let (min, max) = if role.is_some() { (1, TURNS_MAX) } else { (0, CONTINUATIONS_MAX) };
    let number = property.value.parse::<u32>().ok().filter(|number| (min..=max).contains(number));
    let number = number.ok_or_else(|| {
        let what = format!(
            "cannot be \"{}\"; it must be a whole number from {min} to {max}",
            property.value.escape_debug()
        );
        (what, String::new())
    })?;
    let of_mode = modes.entry(mode).or_default();
    let before = match role {
        Some(role) if !is_role(&role, roles) => {
            return Err((
                format!("is about `{}`, which is no role", role.escape_debug()),
                role_hint(&role, roles),
            ));
        }
        Some(role) => of_mode.turns.insert(RoleName::new(role), (number, property.line)),
        None => of_mode.continuations.replace((number, property.line)),
    };
    match before {
        Some((other, line)) if other != number => Err((
            format!("is said for {} already, in line {line}", mode.name()),
            "leave one of them".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// The mode of a property: the value of `MODE` there or above, else the name of the file.
fn mode_of(outline: &OrgOutline, property: &OrgProperty, path: &str) -> Result<Mode, PropertyProblem> {
    let of_word = |word: &str| MODES.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(word.trim()));
    let names = || MODES.map(Mode::name);
    if let Some(said) = outline.inherited(property.entry, MODE) {
        return of_word(&said.value).ok_or_else(|| {
            let what = format!(
                "is about the mode \"{}\" of line {}, which is none",
                said.value.escape_debug(),
                said.line
            );
            (what, suggest(&said.value, names()))
        });
    }
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    of_word(&stem).ok_or_else(|| {
        let hint = format!(
            "call the file after its mode ({}.org), or give it the property {MODE}",
            names().join(".org, ")
        );
        ("is about no mode".to_owned(), hint)
    })
}
