//! From the schema of a file to the model, with the checks that no schema can express. Opens no file.
//!
//! This file has the order; the checks themselves are in files next to it, by topic: `roles`, `modes`, `graph`, `phases`,
//! `limits`, `policies`, `paths`.

use std::path::Path;

use super::derived_values::derive;
use super::diagnostic::Diagnostics;
use super::limits::notify;
use super::policies::PolicyTableReader;
use super::schema::{LocatedValue, PhaseSchema, WorkflowSchema};
use super::values::{ID_RULE, is_id};
use crate::workflow::{
    AgentKind, AgentSource, CommitSettings, CommitTime, ConfigLayer, EXECUTOR, PolicyLayerFile, Role,
    RunLimits, TickedPlan, Workflow, WorkspaceChoice, branch_name_error,
};

/// Returns the text of a file that the workflow names, or the reason why it cannot.
pub(super) type FileReader<'r> = dyn FnMut(&str) -> Result<String, String> + 'r;

/// Builds the model, and returns separately the file's policies for the whole run. The result is only valid if no problem was
/// added.
pub(super) fn check(
    mut shape: WorkflowSchema,
    base: &str,
    read: &mut FileReader<'_>,
    problems: &mut Diagnostics<'_>,
) -> (Workflow, PolicyLayerFile) {
    derive(&mut shape, problems);
    let mut choices = PolicyTableReader::new(base, read, problems);
    let said = choices.said(ConfigLayer::Workflow, std::mem::take(&mut shape.policies));
    let policies = choices.scoped(&mut shape);
    let mut checker = WorkflowChecker { base, read, problems };
    checker.id("name", "at the top level", &shape.name);
    let agent = shape.agent.as_ref().and_then(|agent| checker.agent("at the top level", agent));
    let place = if shape.agent.is_some() { AgentSource::Workflow } else { AgentSource::Nowhere };
    let default_agent = AgentDefault { agent: agent.unwrap_or(AgentKind::Rehearsal), place };
    let mut roles = checker.roles(shape.roles, &default_agent);
    checker.phase_ids(&shape.phases);
    checker.depends_on(&shape.phases);
    checker.loops(&shape.phases);
    checker.objective_ids(&shape.phases);
    checker.acceptance(shape.accept.as_ref(), &shape.phases);
    checker.roles_of_phases(&shape.phases, &mut roles, &default_agent);
    let mode = checker.modes(shape.mode, shape.modes, &shape.mode_files, &mut roles, &default_agent);
    let paths = checker.paths(&shape.paths);
    let limits = checker.limits(&shape.limits);
    let of_file = shape.limits.continuations;
    let continuations = mode.continuations.or(of_file).or(mode.org_continuations);
    let providers = checker.providers(&shape.limits.providers, &roles, &mode.providers);
    let commits = checker.commits(shape.commit, shape.commit_branch.as_ref(), &shape.phases);
    let phases = shape.phases.into_iter().map(|phase| checker.phase(phase.into_inner())).collect();
    let workflow = Workflow {
        name: shape.name.into_inner(),
        goal: shape.goal.into_inner().trim().to_owned(),
        mode: shape.mode,
        roles,
        limits: RunLimits { continuations: continuations.unwrap_or(limits.continuations), ..limits },
        policies,
        accept: shape.accept.map(LocatedValue::into_inner),
        verify_first: shape.verify_first,
        review_parts: Some(shape.review_parts.unwrap_or(true)),
        phases,
        workspace: shape.workspace.map(|workspace| match workspace.get().as_str() {
            "scratch" => WorkspaceChoice::Scratch,
            "scratch-git" => WorkspaceChoice::ScratchGit,
            path => WorkspaceChoice::Folder(join(base, path)),
        }),
        paths,
        setup: shape.setup,
        turns: mode.turns,
        providers,
        notify: notify(shape.notify),
        imported: None,
        source: None,
        plan: shape.plan.map(|plan| TickedPlan { path: join(base, plan.get()), boxes: Vec::new() }),
        commits,
        next_run_files: Vec::new(),
        shared_files: None,
    };
    (workflow, said)
}

/// A path of the file, resolved from the file's folder. `Path::join` only joins text; nothing is opened.
pub(super) fn join(base: &str, path: &str) -> String {
    Path::new(base).join(path).to_string_lossy().into_owned()
}

/// The role of a phase, or the default role.
pub(super) fn role_of(phase: &PhaseSchema) -> &str {
    phase.role.as_ref().map_or(EXECUTOR, |role| role.get())
}

/// The agent of a role that names none, and the source of this choice.
pub(super) struct AgentDefault {
    pub(super) agent: AgentKind,
    pub(super) place: AgentSource,
}

impl AgentDefault {
    /// A role with only defaults.
    pub(super) fn role(&self) -> Role {
        Role { set_by: self.place, ..Role::of(self.agent.clone()) }
    }
}

pub(super) struct WorkflowChecker<'a, 't> {
    pub(super) base: &'a str,
    pub(super) read: &'a mut FileReader<'a>,
    pub(super) problems: &'a mut Diagnostics<'t>,
}

impl WorkflowChecker<'_, '_> {
    fn commits(
        &mut self,
        when: CommitTime,
        branch: Option<&LocatedValue<String>>,
        phases: &[LocatedValue<PhaseSchema>],
    ) -> CommitSettings {
        if let Some(branch) = branch {
            let name = branch.get();
            if let Some(fault) = branch_name_error(name) {
                let what = format!("`commit_branch`: \"{}\" {fault}", name.escape_debug());
                let hint = "a name with the run in it fits every run: commit_branch = \"work/{run}\"";
                self.problems.at(branch.span(), "commit_branch", what, hint);
            }
            let of_phase =
                |phase: &LocatedValue<PhaseSchema>| phase.get().commit.unwrap_or(when) == CommitTime::Off;
            if phases.iter().all(of_phase) {
                let what = "`commit_branch` names a branch, and nothing is committed".to_owned();
                self.problems.at(branch.span(), "commit_branch", what, "add commit = \"phase\"");
            }
        }
        CommitSettings { when, branch: branch.map(|branch| branch.get().clone()) }
    }

    pub(super) fn id(&mut self, key: &str, place: &str, id: &LocatedValue<String>) {
        if !is_id(id.get()) {
            let what = format!("`{key}` {place} cannot be \"{}\"", id.get().escape_debug());
            self.problems.at(id.span(), key, what, ID_RULE);
        }
    }
}
