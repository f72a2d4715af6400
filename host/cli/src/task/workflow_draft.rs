//! A workflow as text, made of a plan, a sentence or what was found in a folder. What it writes is the smallest form, for
//! people who edit it further.

use std::fmt::Write as _;
use std::path::Path;

use baton_runtime::core::visible::visible_name;
use baton_runtime::core::workflow::{expected_files_in, file};
use baton_runtime::core::{RoleName, Workflow};
use toml::Value;

use super::plan::{MarkdownPlan, PlanItem, PlanSection};
use super::plan_lines::as_operand;
use crate::exit_status::UsageError;

/// Characters of a title; a heading may have more.
const TITLE_CHARS_MAX: usize = 200;
/// Characters of a heading that a prompt can name.
const SECTION_CHARS_MAX: usize = 120;
/// Bytes of a path that a prompt can name.
const CONTEXT_PATH_MAX: usize = 120;

/// A workflow that is about to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkflowDraft {
    /// What it was made from, for its first line.
    pub(crate) made_from: String,
    pub(crate) name: Option<String>,
    pub(crate) goal: Option<String>,
    /// The plan whose boxes are ticked, relative to where it is written.
    pub(crate) plan: Option<String>,
    pub(crate) phases: Vec<DraftPhase>,
}

/// A phase of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftPhase {
    pub(crate) title: Option<String>,
    pub(crate) objectives: Vec<DraftObjective>,
    pub(crate) verify: Option<String>,
    /// The file, and the heading in it, that say more.
    pub(crate) context: Option<(String, String)>,
    /// The phases that must be done before it begins, by their place in the draft.
    pub(crate) after: Vec<usize>,
}

/// An objective of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftObjective {
    pub(crate) description: String,
    pub(crate) files: Vec<String>,
    pub(crate) verify: Option<String>,
}

impl WorkflowDraft {
    /// One phase with one objective.
    pub(crate) fn of_sentence(sentence: &str, checks: &[String]) -> Result<WorkflowDraft, UsageError> {
        let sentence = sentence.trim();
        if sentence.is_empty() {
            return Err(UsageError(
                "there is nothing to do: baton do 'Move the parser into its own crate'".into(),
            ));
        }
        let objective = DraftObjective {
            description: sentence.to_owned(),
            files: expected_files_in(sentence),
            ..DraftObjective::default()
        };
        let verify = (!checks.is_empty()).then(|| all_of(checks));
        let phase = DraftPhase { objectives: vec![objective], verify, ..DraftPhase::default() };
        Ok(WorkflowDraft {
            made_from: "a sentence".to_owned(),
            name: Some(super::name_of(sentence)),
            goal: None,
            plan: None,
            phases: vec![phase],
        })
    }

    /// What of a plan is not ticked. Paths start from `workspace`, where the plan is named if it lies there.
    pub(crate) fn of_plan(
        plan: &MarkdownPlan,
        path: &Path,
        workspace: &Path,
    ) -> anyhow::Result<WorkflowDraft> {
        let within = std::path::absolute(path)?
            .strip_prefix(workspace)
            .ok()
            .map(|path| path.to_string_lossy().into_owned());
        let within = within.filter(|path| path.len() <= CONTEXT_PATH_MAX);
        // One that is passed over would be taken for done.
        if let Some((line, text)) = plan.near_boxes.first() {
            return Err(UsageError(format!(
                "{}:{line}: `{}` is not a box: a box is `- [ ] …`, or `- [x] …` if it is done{}",
                path.display(),
                shown(text),
                more_like_it(plan.near_boxes.len())
            ))
            .into());
        }
        let draft = WorkflowDraft::of_boxes(plan, &path.display().to_string(), within.as_deref())?;
        // Without it, work would be taken for done that nothing has checked.
        if let Some((line, text)) = plan.near_checks.first() {
            return Err(UsageError(format!(
                "{}:{line}: `{}` is not a check: a check is a line `verify: COMMAND` below a heading with boxes or within a box, or \
                 before the first heading with boxes; not in a heading, not indented as code, not in HTML or a footnote, and without HTML and \
                 links: COMMAND can stand in a code span{}",
                path.display(),
                shown(text),
                more_like_it(plan.near_checks.len())
            ))
            .into());
        }
        Ok(WorkflowDraft { plan: Some(relative_within(path, workspace)?), ..draft })
    }

    /// What of the boxes of a text is not ticked. `file` is where the text lies in the workspace.
    pub(crate) fn of_boxes(
        plan: &MarkdownPlan,
        name: &str,
        file: Option<&str>,
    ) -> anyhow::Result<WorkflowDraft> {
        let (ticked, all) = plan
            .boxes()
            .fold((0, 0), |(ticked, all), (_, item)| (ticked + usize::from(item.ticked), all + 1));
        if all == 0 {
            return Err(UsageError(format!(
                "{name} has no boxes: write the objectives as `- [ ] Create crates/parser`, below headings that \
                 become the phases"
            ))
            .into());
        }
        if ticked == all {
            return Err(PlanCompleted(format!("every box of {name} is ticked: nothing is left to do")).into());
        }
        let phase = |section: &PlanSection| {
            let objectives: Vec<DraftObjective> =
                section.boxes.iter().filter(|item| !item.ticked).map(objective).collect();
            let heading = section.heading.as_str();
            let can_be_named = section.has_words
                && !heading.is_empty()
                && heading.chars().count() <= SECTION_CHARS_MAX
                && !heading.chars().any(char::is_control);
            DraftPhase {
                title: (!heading.is_empty()).then(|| heading.chars().take(TITLE_CHARS_MAX).collect()),
                objectives,
                verify: section.verify.clone().or_else(|| plan.verify.clone()),
                context: file.filter(|_| can_be_named).map(|file| (file.to_owned(), heading.to_owned())),
                after: Vec::new(),
            }
        };
        let open = |section: &&PlanSection| section.boxes.iter().any(|item| !item.ticked);
        let sections: Vec<&PlanSection> = plan.sections.iter().filter(open).collect();
        let mut phases: Vec<DraftPhase> = sections.iter().map(|section| phase(section)).collect();
        for (at, after) in order(plan, &sections, name)?.into_iter().enumerate() {
            phases[at].after = after;
        }
        Ok(WorkflowDraft {
            made_from: name.to_owned(),
            name: None,
            goal: plan.title.clone(),
            plan: None,
            phases,
        })
    }

    /// The ids that its phases get, where one names another: those that they would have without.
    fn ids(&self) -> Vec<String> {
        if self.phases.iter().all(|phase| phase.after.is_empty()) {
            return Vec::new();
        }
        let mut bare = self.clone();
        bare.phases.iter_mut().for_each(|phase| phase.after.clear());
        let mut nothing = |_: &str| Err("nothing is read from files here".to_owned());
        // What cannot be read is reported when the workflow is read.
        let read = file::read(&bare.text(None), &self.made_from, "/", &mut nothing);
        read.map_or_else(
            |_| Vec::new(),
            |reading| reading.workflow().phases.iter().map(|phase| phase.id.to_string()).collect(),
        )
    }

    /// The text, with the agent where one is to be named.
    pub(crate) fn text(&self, agent: Option<&str>) -> String {
        let ids = self.ids();
        // The names of files are a stranger's: a line feed would end the comment, and what follows it would be keys.
        let made_from = visible_name(&self.made_from);
        let mut text = format!("# Made from {made_from} by Baton; `baton schema` describes every key.\n");
        let said = [
            ("name", self.name.as_deref()),
            ("goal", self.goal.as_deref()),
            ("agent", agent),
            ("plan", self.plan.as_deref()),
        ];
        for (key, value) in said {
            if let Some(value) = value {
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        let is_checked = |phase: &DraftPhase| {
            phase.verify.is_some() || phase.objectives.iter().any(|objective| objective.verify.is_some())
        };
        if self.phases.iter().any(is_checked) {
            text.push_str("verify_first = true\n");
        }
        let is_said = self.phases.iter().any(|phase| !phase.after.is_empty());
        for (at, phase) in self.phases.iter().enumerate() {
            text.push_str("\n[[phases]]\n");
            if let Some(id) =
                ids.get(at).filter(|_| self.phases.iter().any(|other| other.after.contains(&at)))
            {
                let _ = writeln!(text, "id = {}", quoted(id));
            }
            if let Some(title) = &phase.title {
                let _ = writeln!(text, "title = {}", quoted(title));
            }
            match phase.objectives.as_slice() {
                [only] => {
                    let _ = writeln!(text, "do = [{}]", only.text());
                }
                several => {
                    let lines = several.iter().map(|one| format!("    {},\n", one.text()));
                    let _ = write!(text, "do = [\n{}]\n", lines.collect::<String>());
                }
            }
            if let Some(verify) = &phase.verify {
                let _ = writeln!(text, "verify = {}", quoted(verify));
            }
            let before: Vec<String> =
                phase.after.iter().filter_map(|at| ids.get(*at)).map(|id| quoted(id)).collect();
            // In a file that never says it, each waits for the one above it.
            if !before.is_empty() || at == 1 && !is_said {
                let _ = writeln!(text, "depends_on = [{}]", before.join(", "));
            }
            if let Some((file, section)) = &phase.context {
                let _ = writeln!(
                    text,
                    "context = [{{ file = {}, sections = [{}] }}]",
                    quoted(file),
                    quoted(section)
                );
            }
        }
        text
    }
}

/// A text that a run was made from, with what its flags gave it beyond that: commits, and what its agents may.
pub(crate) fn with_flags(text: &str, run: &Workflow) -> String {
    let mut nothing = |_: &str| Err("nothing is read from files here".to_owned());
    let Ok(reading) = file::read(text, "the run", "/", &mut nothing) else { return text.to_owned() };
    let plain = reading.workflow();
    let mut top = String::new();
    if run.commits.when != plain.commits.when {
        let _ = writeln!(top, "commit = {}", quoted(run.commits.when.name()));
    }
    if let Some(branch) = run.commits.branch.as_ref().filter(|_| run.commits.branch != plain.commits.branch) {
        let _ = writeln!(top, "commit_branch = {}", quoted(branch));
    }
    let mut roles = String::new();
    let mut named: Vec<&RoleName> = run.phases.iter().map(|phase| &phase.role).collect();
    named.sort();
    named.dedup();
    for name in named {
        let (Some(role), Some(before)) = (run.roles.get(name), plain.roles.get(name)) else { continue };
        let mut keys = String::new();
        let list = |values: &[String]| values.iter().map(|one| quoted(one)).collect::<Vec<_>>().join(", ");
        if role.permission != before.permission {
            let level = Value::try_from(role.permission).map(|level| level.to_string()).unwrap_or_default();
            let _ = writeln!(keys, "permission = {level}");
        }
        if let Some(model) = role.model.as_ref().filter(|_| role.model != before.model) {
            let _ = writeln!(keys, "model = {}", quoted(model));
        }
        for (key, values, plain) in [("allow", &role.allow, &before.allow), ("env", &role.env, &before.env)] {
            if values != plain {
                let _ = writeln!(keys, "{key} = [{}]", list(values));
            }
        }
        if role.sandbox.level > before.sandbox.level {
            let _ = writeln!(keys, "sandbox = {}", quoted(role.sandbox.level.name()));
        }
        if !keys.is_empty() {
            let _ = write!(roles, "\n[roles.{name}]\n{keys}");
        }
    }
    let at = text
        .find("\n[[phases]]")
        .map_or(text.len(), |at| if text[..at].ends_with('\n') { at } else { at + 1 });
    format!("{}{top}{}{roles}", &text[..at], &text[at..])
}

impl DraftObjective {
    fn text(&self) -> String {
        if self.files.is_empty() && self.verify.is_none() {
            return quoted(&self.description);
        }
        let mut table = format!("{{ description = {}", quoted(&self.description));
        if !self.files.is_empty() {
            let files: Vec<String> = self.files.iter().map(|file| quoted(file)).collect();
            let _ = write!(table, ", files = [{}]", files.join(", "));
        }
        if let Some(verify) = &self.verify {
            let _ = write!(table, ", verify = {}", quoted(verify));
        }
        table + " }"
    }
}

/// A path as it is written in a file of a folder: relative to it where it lies there.
fn relative_within(path: &Path, folder: &Path) -> anyhow::Result<String> {
    let whole = std::path::absolute(path)?;
    Ok(whole.strip_prefix(folder).unwrap_or(&whole).to_string_lossy().into_owned())
}

fn objective(item: &PlanItem) -> DraftObjective {
    DraftObjective { description: item.text.clone(), files: item.files.clone(), verify: item.verify.clone() }
}

/// A line of a plan as an error shows it.
fn shown(text: &str) -> String {
    visible_name(text).chars().take(TITLE_CHARS_MAX).collect()
}

/// What an error about the first of these lines says of the others.
fn more_like_it(lines: usize) -> String {
    match lines.saturating_sub(1) {
        0 => String::new(),
        more => format!(" ({more} more like it)"),
    }
}

/// The open sections that each one comes after: all before it, unless a line `depends: …` says otherwise. One that comes after
/// another comes after all before that as well, and names only the last of them.
fn order(plan: &MarkdownPlan, open: &[&PlanSection], name: &str) -> Result<Vec<Vec<usize>>, UsageError> {
    let mut orders: Vec<Vec<usize>> = Vec::new();
    for (at, section) in open.iter().enumerate() {
        let order = match &section.depends {
            None => by_place(at, open),
            Some(named) => {
                let mut order = Vec::new();
                for heading in named {
                    let is_it = |other: &PlanSection| other.heading.eq_ignore_ascii_case(heading);
                    if !plan.sections.iter().any(is_it) {
                        return Err(UsageError(format!(
                            "{name}: `depends:` below \"{}\" names the heading \"{heading}\", which has no boxes; it takes \
                             headings of the plan, or `none`",
                            section.heading
                        )));
                    }
                    // One whose boxes are all ticked is done.
                    order.extend(open.iter().position(|other| is_it(other)));
                }
                order
            }
        };
        orders.push(order);
    }
    Ok(orders)
}

/// What a section comes after that says nothing of it.
fn by_place(at: usize, open: &[&PlanSection]) -> Vec<usize> {
    let mut order = Vec::new();
    for before in (0..at).rev() {
        order.insert(0, before);
        if open[before].depends.is_none() {
            break;
        }
    }
    order
}

/// Commands that must all exit 0, as one.
pub(crate) fn all_of(commands: &[String]) -> String {
    match commands {
        [only] => only.clone(),
        several => several.iter().map(|one| as_operand(one)).collect::<Vec<_>>().join(" && "),
    }
}

/// A text as TOML, on one line.
fn quoted(text: &str) -> String {
    let one_line: String = text.chars().filter(|c| *c != '\r').collect();
    let value = Value::String(one_line.clone()).to_string();
    match value.contains('\n') {
        false => value,
        // What the library would spread over lines.
        true => {
            let escaped =
                one_line.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
            let plain: String = escaped.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            format!("\"{plain}\"")
        }
    }
}

/// Nothing is left of a plan; that is no mistake.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PlanCompleted(String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::plan;

    #[test]
    fn the_name_of_a_plan_is_no_key_of_its_workflow() {
        // N6: a file of a cloned repository chose the agent, which ran a program beside it.
        let plan = plan::read("# G\n\n## A\n- [ ] Write out\n");
        let name = "PLAN\r\nagent = \"process:sh evil.sh\"\n#\u{7f}\u{85}.md";
        let folder = Path::new("/work");
        let of_plan = WorkflowDraft::of_plan(&plan, &folder.join(name), folder).unwrap();
        let of_boxes = WorkflowDraft::of_boxes(&plan, name, None).unwrap();
        let of_other = WorkflowDraft { made_from: name.to_owned(), ..of_boxes.clone() };
        for draft in [of_plan, of_boxes, of_other] {
            let text = draft.text(None);
            let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
            assert!(!table.contains_key("agent") && table.contains_key("phases"), "{text}");
            assert!(text.lines().next().is_some_and(|first| first.contains("PLAN␍␊agent = ")), "{text}");
        }
    }
}
