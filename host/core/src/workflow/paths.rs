//! The places of the files for people and agents in the workspace: templates of paths, their placeholders, and their values.
//! Everything here is a function of its arguments: a replay gives the same names. Writes nothing.

mod reserved_names;

use serde::{Deserialize, Serialize};

use crate::time::UnixMs;

pub use reserved_names::ReservedNames;

/// The files below the task folder that Baton names itself, and the folders that it fills. No template may lead to them.
pub const RESERVED_NAMES: [&str; 12] = [
    "README.md",
    "progress",
    "progress.json",
    "progress.log",
    "work-items.json",
    "state.org",
    "init.sh",
    ".return-meta.json",
    "returns",
    "results",
    "inbox",
    "inputs",
];

/// The placeholders for a run.
const OF_RUN: [&str; 3] = ["run", "workflow", "slug"];
/// The placeholders for a file of a phase.
const OF_PHASE: [&str; 4] = ["run", "workflow", "slug", "phase"];
/// The placeholders for a handoff.
const OF_HANDOFF: [&str; 7] = ["run", "workflow", "slug", "phase", "ordinal", "session", "timestamp"];

/// A slug is cut to this: it becomes a part of a path that people type.
const SLUG_CHARS_MAX: usize = 40;

/// The templates. `folder` is relative to the workspace, the others to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathTemplates {
    /// The task folder of a run.
    pub folder: String,
    /// A handoff (C15).
    pub handoff: String,
    /// The newest index of every open phase (C16).
    pub index: String,
    /// The summary of a phase (C5).
    pub summary: String,
    /// The results of a phase so far (C11).
    pub results: String,
}

impl Default for PathTemplates {
    fn default() -> Self {
        Self {
            folder: ".baton/{run}".to_owned(),
            handoff: "handoffs/phase-{phase}-handoff-{timestamp}.md".to_owned(),
            index: "index.md".to_owned(),
            summary: "summaries/phase-{phase}.md".to_owned(),
            results: "phases/phase-{phase}-results.md".to_owned(),
        }
    }
}

/// The values of `{run}`, `{workflow}` and `{slug}`.
#[derive(Clone, Copy, Debug)]
pub struct RunNames<'a> {
    /// Id of the run.
    pub run: &'a str,
    /// Name of the workflow.
    pub workflow: &'a str,
    /// Its goal, of which the slug is made.
    pub goal: &'a str,
}

/// The further values for a handoff.
#[derive(Clone, Copy, Debug)]
pub struct HandoffNames<'a> {
    /// Id of the phase.
    pub phase: &'a str,
    /// Ordinal in the phase, from 1.
    pub ordinal: u32,
    /// The session that leaves it.
    pub session: &'a str,
    /// When, by the journal.
    pub at: UnixMs,
}

impl PathTemplates {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The task folder of a run, workspace-relative.
    pub fn task_folder(&self, names: RunNames<'_>) -> String {
        fill(&self.folder, |name| of_run(name, names))
    }

    /// The index, below the task folder.
    pub fn index(&self, names: RunNames<'_>) -> String {
        fill(&self.index, |name| of_run(name, names))
    }

    /// The summary of a phase, below the task folder.
    pub fn summary(&self, names: RunNames<'_>, phase: &str) -> String {
        fill(&self.summary, |name| of_phase(name, names, phase))
    }

    /// The results of a phase, below the task folder.
    pub fn results(&self, names: RunNames<'_>, phase: &str) -> String {
        fill(&self.results, |name| of_phase(name, names, phase))
    }

    /// A handoff, below the task folder. If the name is `taken`, it gets a number, so that two handoffs within one second, or
    /// of a template without distinguishing placeholders, do not overwrite each other.
    pub fn handoff(
        &self,
        names: RunNames<'_>,
        handoff: HandoffNames<'_>,
        taken: impl Fn(&str) -> bool,
    ) -> String {
        let path = fill(&self.handoff, |name| match name {
            "ordinal" => Some(handoff.ordinal.to_string()),
            "session" => Some(handoff.session.to_owned()),
            "timestamp" => Some(timestamp(handoff.at)),
            _ => of_phase(name, names, handoff.phase),
        });
        let free = |path: &String| !taken(path);
        let numbered = (2..).map(|n: u32| sibling_path(&path, &format!("-{n}"))).find(free);
        if free(&path) { path } else { numbered.unwrap_or(path) }
    }
}

/// The path of a handoff's index, in the same folder.
pub fn index_of_handoff(handoff: &str) -> String {
    sibling_path(handoff, "-index")
}

/// The path of a handoff when its phase is over (C21).
pub fn archived(handoff: &str) -> String {
    match handoff.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/archive/{name}"),
        None => format!("archive/{handoff}"),
    }
}

/// The path before archiving; the path itself if it is not in an archive.
pub fn unarchived(path: &str) -> String {
    match path.rsplit_once('/') {
        Some(("archive", name)) => name.to_owned(),
        Some((folder, name)) => match folder.strip_suffix("/archive") {
            Some(folder) => format!("{folder}/{name}"),
            None => path.to_owned(),
        },
        None => path.to_owned(),
    }
}

/// A time as a part of a file name: ISO 8601 without the signs that some file systems refuse.
pub fn timestamp(at: UnixMs) -> String {
    at.rfc3339().replace(['-', ':'], "")
}

/// The words of a text as a part of a path: "The parser, in its own crate." gives "the-parser-in-its-own-crate".
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let dash = usize::from(!slug.is_empty());
        if slug.len() + dash + word.len() > SLUG_CHARS_MAX {
            break;
        }
        if dash == 1 {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { "work".to_owned() } else { slug }
}

fn of_run(name: &str, names: RunNames<'_>) -> Option<String> {
    match name {
        "run" => Some(names.run.to_owned()),
        "workflow" => Some(names.workflow.to_owned()),
        "slug" => Some(slug(names.goal)),
        _ => None,
    }
}

fn of_phase(name: &str, names: RunNames<'_>, phase: &str) -> Option<String> {
    if name == "phase" { Some(phase.to_owned()) } else { of_run(name, names) }
}

/// Fills a template. Unknown placeholders stay: a workflow file with such a template was refused.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        match value(name) {
            Some(value) => filled.push_str(&value),
            None => filled.push_str(&format!("{{{name}}}")),
        }
        rest = after;
    }
    filled + rest
}

/// "a/b.md" and "-2" give "a/b-2.md".
fn sibling_path(path: &str, suffix: &str) -> String {
    let name_at = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name_at..].rfind('.').filter(|dot| *dot > 0) {
        Some(dot) => format!("{}{suffix}{}", &path[..name_at + dot], &path[name_at + dot..]),
        None => format!("{path}{suffix}"),
    }
}

/// A key of the table `[paths]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathKey {
    Folder,
    Handoff,
    Index,
    Summary,
    Results,
}

/// The mistake in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplateError {
    /// A brace without its other half.
    UnbalancedBrace,
    /// Nothing is called so.
    Unknown(String),
    /// It is called so elsewhere, and has no value here.
    NoValueHere(String),
    /// Two phases would write to one file.
    Phases,
}

impl PathKey {
    pub(super) const fn name(self) -> &'static str {
        match self {
            PathKey::Folder => "folder",
            PathKey::Handoff => "handoff",
            PathKey::Index => "index",
            PathKey::Summary => "summary",
            PathKey::Results => "results",
        }
    }

    /// The placeholders that have a value here.
    pub(super) const fn placeholders(self) -> &'static [&'static str] {
        match self {
            PathKey::Folder | PathKey::Index => &OF_RUN,
            PathKey::Summary | PathKey::Results => &OF_PHASE,
            PathKey::Handoff => &OF_HANDOFF,
        }
    }

    /// The first fault of a template, if it has one.
    pub(super) fn fault(self, template: &str) -> Option<TemplateError> {
        let mut names = Vec::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            let Some((name, after)) = rest[at..].strip_prefix('{').and_then(|after| after.split_once('}'))
            else {
                return Some(TemplateError::UnbalancedBrace);
            };
            if name.contains('{') {
                return Some(TemplateError::UnbalancedBrace);
            }
            names.push(name);
            rest = after;
        }
        for name in &names {
            if !OF_HANDOFF.contains(name) {
                return Some(TemplateError::Unknown((*name).to_owned()));
            }
            if !self.placeholders().contains(name) {
                return Some(TemplateError::NoValueHere((*name).to_owned()));
            }
        }
        // A phase that is split makes more of them, so this does not hang on how many the file has.
        let tells_phases_apart = match self {
            PathKey::Folder | PathKey::Index => true,
            PathKey::Summary | PathKey::Results => names.contains(&"phase"),
            PathKey::Handoff => names.contains(&"phase") || names.contains(&"session"),
        };
        (!tells_phases_apart).then_some(TemplateError::Phases)
    }

    /// The path of a template with sample values, to examine its shape.
    pub(super) fn sample(self, template: &str) -> String {
        fill(template, |name| Some(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunNames<'_> =
        RunNames { run: "20260212-103000", workflow: "calc", goal: "A calculator, in POSIX shell." };

    fn handoff(template: &str, taken: &[&str]) -> String {
        let paths = PathTemplates { handoff: template.to_owned(), ..PathTemplates::default() };
        let names = HandoffNames { phase: "20", ordinal: 2, session: "s3", at: UnixMs(1_770_892_200_000) };
        paths.handoff(RUN, names, |path| taken.contains(&path))
    }

    // C15
    #[test]
    fn a_handoff_is_called_by_its_template_and_never_by_a_name_that_is_taken() {
        let default = PathTemplates::default().handoff;
        let first = "handoffs/phase-20-handoff-20260212T103000Z.md";
        assert_eq!(handoff(&default, &[]), first);
        assert_eq!(handoff(&default, &[first]), "handoffs/phase-20-handoff-20260212T103000Z-2.md");
        let every = "{workflow}/{slug}/{run}/{phase}.{ordinal}.{session}";
        assert_eq!(handoff(every, &[]), "calc/a-calculator-in-posix-shell/20260212-103000/20.2.s3");
        assert_eq!(handoff("{phase}", &["20", "20-2"]), "20-3");
        assert_eq!(index_of_handoff(first), "handoffs/phase-20-handoff-20260212T103000Z-index.md");
        assert_eq!(index_of_handoff(".hidden/x"), ".hidden/x-index");
    }

    // C21
    #[test]
    fn the_way_into_the_archive_is_the_way_back() {
        for path in ["a.md", "handoffs/a.md", "archive/a.md", "x/archive/a.md"] {
            assert_eq!(unarchived(&archived(path)), path);
        }
        assert_eq!(archived("handoffs/a.md"), "handoffs/archive/a.md");
        assert_eq!(unarchived("handoffs/a.md"), "handoffs/a.md");
    }

    #[test]
    fn a_slug_has_whole_words_of_plain_letters() {
        assert_eq!(slug("The parser, in ITS own crate!"), "the-parser-in-its-own-crate");
        assert_eq!(slug("Ünïcode ../.. only"), "n-code-only");
        assert_eq!(slug("…"), "work");
        assert!(slug(&"word ".repeat(50)).len() <= SLUG_CHARS_MAX);
    }

    #[test]
    fn a_template_is_refused_for_one_reason_at_a_time() {
        let fault = |key: PathKey, template: &str| key.fault(template);
        assert_eq!(fault(PathKey::Folder, "specs/{run}"), None);
        assert_eq!(fault(PathKey::Folder, "specs/{run"), Some(TemplateError::UnbalancedBrace));
        assert_eq!(fault(PathKey::Folder, "specs/run}"), Some(TemplateError::UnbalancedBrace));
        assert_eq!(fault(PathKey::Folder, "{{run}}"), Some(TemplateError::UnbalancedBrace));
        assert_eq!(fault(PathKey::Folder, "{rum}"), Some(TemplateError::Unknown("rum".into())));
        assert_eq!(
            fault(PathKey::Summary, "{session}.md"),
            Some(TemplateError::NoValueHere("session".into()))
        );
        assert_eq!(fault(PathKey::Handoff, "handoff-{timestamp}.md"), Some(TemplateError::Phases));
        assert_eq!(fault(PathKey::Handoff, "handoff-{session}.md"), None);
    }
}
