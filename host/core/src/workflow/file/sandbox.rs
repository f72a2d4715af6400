//! `sandbox` of a role and of a configuration, from its shape to the model. Opens no file.

use std::ops::Range;
use std::path::{Component, Path};

use super::diagnostic::Diagnostics;
use super::schema::{LocatedValue, SandboxSchema};
use crate::workflow::{NetworkTarget, Sandbox};

/// The allowed forms in a list of paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathListRule {
    /// Absolute, or from the home.
    AbsoluteOnly,
    /// These, or relative to the tree.
    AbsoluteOrInTree,
}

/// The model; only valid if no problem was added.
pub(super) fn sandbox(
    problems: &mut Diagnostics<'_>,
    place: &str,
    shape: LocatedValue<SandboxSchema>,
) -> Sandbox {
    // A table that may be a word as well keeps no places of its own.
    let span = shape.span();
    let table = match shape.into_inner() {
        SandboxSchema::Level(level) => return Sandbox::of(level),
        SandboxSchema::Table(table) => table,
    };
    let network = table.network.map(|network| {
        let targets = network.into_iter().filter_map(|text| match text.parse::<NetworkTarget>() {
            Ok(target) => Some(target),
            Err(error) => {
                let what = format!("`network` of `sandbox` {place}: {error}");
                problems.at(span.clone(), "network", what, "");
                None
            }
        });
        targets.collect()
    });
    let write = table
        .write
        .map(|paths| checked(problems, place, span.clone(), "write", paths, PathListRule::AbsoluteOnly));
    let read = table
        .read
        .map(|paths| checked(problems, place, span.clone(), "read", paths, PathListRule::AbsoluteOnly));
    let hide = checked(
        problems,
        place,
        span.clone(),
        "hide",
        table.hide.unwrap_or_default(),
        PathListRule::AbsoluteOrInTree,
    );
    Sandbox { level: table.level, network, write, read, hide, ..Sandbox::default() }
}

fn checked(
    problems: &mut Diagnostics<'_>,
    place: &str,
    span: Range<usize>,
    key: &str,
    paths: Vec<String>,
    kind: PathListRule,
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
fn fault(path: &str, kind: PathListRule) -> Option<&'static str> {
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
        None if kind == PathListRule::AbsoluteOrInTree
            && !path.starts_with('~')
            && !path.trim_matches(['/', '.']).is_empty() =>
        {
            None
        }
        None => Some("is not a path from / or ~/"),
    }
}
