//! The table `[paths]` of a workflow file: templates that can be filled, that lead nowhere else, and that no two files share.
//! Fills none and opens no file.

use std::collections::BTreeMap;

use super::check::WorkflowChecker;
use super::diagnostic::suggest;
use super::schema::{LocatedValue, PathsSchema};
use super::values::path_fault;
use crate::workflow::paths::{PathKey, PathTemplates, RESERVED_NAMES, TemplateError};

impl WorkflowChecker<'_, '_> {
    /// The templates, each with its default if the file omits it.
    pub(super) fn paths(&mut self, shape: &PathsSchema) -> PathTemplates {
        let default = PathTemplates::default();
        let mut taken: BTreeMap<String, PathKey> = BTreeMap::new();
        let mut take = |key: PathKey, given: &Option<LocatedValue<String>>, default: String| {
            let template = given.as_ref().map_or(default, |given| given.get().clone());
            let clash = match key {
                PathKey::Folder => None,
                _ => taken.insert(key.sample(&template), key),
            };
            if let Some(given) = given {
                self.template(key, given);
            }
            // A default that clashes does so with a key that is given; that is the place to correct.
            if let Some(other) = clash {
                let name = other.name();
                let given = given.as_ref().or(match other {
                    PathKey::Handoff => shape.handoff.as_ref(),
                    PathKey::Index => shape.index.as_ref(),
                    PathKey::Summary => shape.summary.as_ref(),
                    PathKey::Folder | PathKey::Results => None,
                });
                let what = format!("`{}` in [paths] is the same file as `{name}`", key.name());
                let hint = "one would overwrite the other: give each a path of its own";
                self.problems.at(given.map_or(0..0, LocatedValue::span), key.name(), what, hint);
            }
            template
        };
        PathTemplates {
            folder: take(PathKey::Folder, &shape.folder, default.folder),
            handoff: take(PathKey::Handoff, &shape.handoff, default.handoff),
            index: take(PathKey::Index, &shape.index, default.index),
            summary: take(PathKey::Summary, &shape.summary, default.summary),
            results: take(PathKey::Results, &shape.results, default.results),
        }
    }

    fn template(&mut self, key: PathKey, given: &LocatedValue<String>) {
        let (name, template) = (key.name(), given.get().as_str());
        let braced =
            |names: &[&str]| names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
        let said = format!("`{name}` in [paths] cannot be \"{}\"", template.escape_debug());
        let (what, hint) = match key.fault(template) {
            Some(TemplateError::UnbalancedBrace) => {
                (said, "a brace stands alone: write a placeholder as {phase}, and no other brace".to_owned())
            }
            Some(TemplateError::Unknown(unknown)) => {
                let hint = match suggest(&unknown, key.placeholders().iter().copied()) {
                    meant if meant.starts_with("did you mean") => meant,
                    _ => format!("here you can write {}", braced(key.placeholders())),
                };
                (format!("{said}: there is no {{{}}}", unknown.escape_debug()), hint)
            }
            Some(TemplateError::NoValueHere(word)) => (
                format!("{said}: {{{word}}} has no value there"),
                format!("here you can write {}", braced(key.placeholders())),
            ),
            Some(TemplateError::Phases) => (
                format!("{said}: two phases would write to the same file"),
                match key {
                    PathKey::Handoff => "write {phase} or {session} into it".to_owned(),
                    _ => "write {phase} into it".to_owned(),
                },
            ),
            None => match shape_fault(key, &key.sample(template)) {
                Some(fault) => (format!("{said}: it {fault}"), String::new()),
                None => return,
            },
        };
        self.problems.at(given.span(), name, what, hint);
    }
}

/// The reason why a path is not allowed there, if so.
fn shape_fault(key: PathKey, path: &str) -> Option<String> {
    if path.contains('\\') || path.chars().any(char::is_control) {
        return Some("has a character that no file name should have".to_owned());
    }
    let below = match key {
        // Agents are kept out of Baton's folder by `path_fault`, but this path belongs into it.
        PathKey::Folder => path.strip_prefix(".baton/").unwrap_or(path),
        _ => path,
    };
    if let Some(fault) = path_fault(below) {
        let base = if key == PathKey::Folder { "the workspace" } else { "the task folder" };
        return Some(fault.replace("the workspace", base));
    }
    let first = path.split('/').next().unwrap_or_default();
    if key != PathKey::Folder && RESERVED_NAMES.contains(&first) {
        return Some(format!("is `{first}`, which Baton fills itself; choose another name"));
    }
    None
}
