//! The table `[paths]` of a workflow file: templates that can be filled, that lead nowhere else, and that no two files share.
//! Fills none and opens no file.

use std::collections::BTreeMap;

use super::check::Checker;
use super::problem::suggest;
use super::shape::{At, PathsShape};
use super::values::path_fault;
use crate::workflow::paths::{Key, Paths, RESERVED, TemplateFault};

impl Checker<'_, '_> {
    /// The templates, each its default where the file does not name it.
    pub(super) fn paths(&mut self, shape: &PathsShape) -> Paths {
        let default = Paths::default();
        let mut taken: BTreeMap<String, Key> = BTreeMap::new();
        let mut take = |key: Key, given: &Option<At<String>>, default: String| {
            let template = given.as_ref().map_or(default, |given| given.get().clone());
            let clash = match key {
                Key::Folder => None,
                _ => taken.insert(key.sample(&template), key),
            };
            if let Some(given) = given {
                self.template(key, given);
            }
            // A default that clashes does so with a key that is given; that is the place to correct.
            if let Some(other) = clash {
                let name = other.name();
                let given = given.as_ref().or(match other {
                    Key::Handoff => shape.handoff.as_ref(),
                    Key::Index => shape.index.as_ref(),
                    Key::Summary => shape.summary.as_ref(),
                    Key::Folder | Key::Results => None,
                });
                let what = format!("`{}` in [paths] is the same file as `{name}`", key.name());
                let hint = "one would overwrite the other: give each a path of its own";
                self.problems.at(given.map_or(0..0, At::span), key.name(), what, hint);
            }
            template
        };
        Paths {
            folder: take(Key::Folder, &shape.folder, default.folder),
            handoff: take(Key::Handoff, &shape.handoff, default.handoff),
            index: take(Key::Index, &shape.index, default.index),
            summary: take(Key::Summary, &shape.summary, default.summary),
            results: take(Key::Results, &shape.results, default.results),
        }
    }

    fn template(&mut self, key: Key, given: &At<String>) {
        let (name, template) = (key.name(), given.get().as_str());
        let braced =
            |names: &[&str]| names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>().join(", ");
        let said = format!("`{name}` in [paths] cannot be \"{}\"", template.escape_debug());
        let (what, hint) = match key.fault(template) {
            Some(TemplateFault::Brace) => {
                (said, "a brace stands alone: write a placeholder as {phase}, and no other brace".to_owned())
            }
            Some(TemplateFault::Unknown(unknown)) => {
                let hint = match suggest(&unknown, key.placeholders().iter().copied()) {
                    meant if meant.starts_with("did you mean") => meant,
                    _ => format!("here you can write {}", braced(key.placeholders())),
                };
                (format!("{said}: there is no {{{}}}", unknown.escape_debug()), hint)
            }
            Some(TemplateFault::NoValueHere(word)) => (
                format!("{said}: {{{word}}} has no value there"),
                format!("here you can write {}", braced(key.placeholders())),
            ),
            Some(TemplateFault::Phases) => (
                format!("{said}: two phases would write to the same file"),
                match key {
                    Key::Handoff => "write {phase} or {session} into it".to_owned(),
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

/// Why a path cannot lie there, if so.
fn shape_fault(key: Key, path: &str) -> Option<String> {
    if path.contains('\\') || path.chars().any(char::is_control) {
        return Some("has a character that no file name should have".to_owned());
    }
    let below = match key {
        // The folder of Baton is the one place that `path_fault` keeps agents out of and that is meant for this.
        Key::Folder => path.strip_prefix(".baton/").unwrap_or(path),
        _ => path,
    };
    if let Some(fault) = path_fault(below) {
        let base = if key == Key::Folder { "the workspace" } else { "the task folder" };
        return Some(fault.replace("the workspace", base));
    }
    let first = path.split('/').next().unwrap_or_default();
    if key != Key::Folder && RESERVED.contains(&first) {
        return Some(format!("is `{first}`, which Baton fills itself; choose another name"));
    }
    None
}
