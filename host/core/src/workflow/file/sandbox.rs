//! `sandbox` of a role and of a configuration, from its shape to the model. Opens no file.

use std::ops::Range;
use std::path::{Component, Path};

use super::problem::Problems;
use super::shape::{At, SandboxShape};
use crate::workflow::{Sandbox, Target};

/// What may stand in a list of paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paths {
    /// Absolute, or from the home.
    Whole,
    /// These, or relative to the tree.
    OrInTree,
}

/// The model; only good where no problem was added.
pub(super) fn sandbox(problems: &mut Problems<'_>, place: &str, shape: At<SandboxShape>) -> Sandbox {
    // A table that may be a word as well keeps no places of its own.
    let span = shape.span();
    let table = match shape.into_inner() {
        SandboxShape::Level(level) => return Sandbox::of(level),
        SandboxShape::Table(table) => table,
    };
    let network = table.network.map(|network| {
        let targets = network.into_iter().filter_map(|text| match text.parse::<Target>() {
            Ok(target) => Some(target),
            Err(error) => {
                let what = format!("`network` of `sandbox` {place}: {error}");
                problems.at(span.clone(), "network", what, "");
                None
            }
        });
        targets.collect()
    });
    let write = table.write.map(|paths| checked(problems, place, span.clone(), "write", paths, Paths::Whole));
    let read = table.read.map(|paths| checked(problems, place, span.clone(), "read", paths, Paths::Whole));
    let hide =
        checked(problems, place, span.clone(), "hide", table.hide.unwrap_or_default(), Paths::OrInTree);
    Sandbox { level: table.level, network, write, read, hide, protect: Vec::new() }
}

fn checked(
    problems: &mut Problems<'_>,
    place: &str,
    span: Range<usize>,
    key: &str,
    paths: Vec<String>,
    kind: Paths,
) -> Vec<String> {
    let mut good = Vec::new();
    for path in paths {
        match fault(&path, kind) {
            Some(fault) => {
                let what = format!("`{key}` of `sandbox` {place}: \"{}\" {fault}", path.escape_debug());
                problems.at(span.clone(), key, what, "");
            }
            None => good.push(path.trim_end_matches('/').to_owned()),
        }
    }
    good
}

/// Why a text names no path that can be allowed or hidden, if so.
fn fault(path: &str, kind: Paths) -> Option<&'static str> {
    if path.chars().any(char::is_control) {
        return Some("has a character that no path should have");
    }
    if Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Some("has a `..`: write the plain path");
    }
    let rest = path.strip_prefix("~/").or_else(|| path.strip_prefix('/'));
    match rest {
        Some(rest) if rest.trim_matches(['/', '.']).is_empty() => {
            Some("is a whole home or a whole system: name what is needed of it")
        }
        Some(_) => None,
        None if kind == Paths::OrInTree
            && !path.starts_with('~')
            && !path.trim_matches(['/', '.']).is_empty() =>
        {
            None
        }
        None => Some("is not a path from / or ~/"),
    }
}
