//! A dry run for people and programs: the agents that would be started, with their prompts and budgets. Starts nothing.

use std::collections::BTreeSet;

use baton_runtime::agents::preview_command;
use baton_runtime::core::action::SpawnSpec;
use baton_runtime::core::facts::TokenUsage;
use baton_runtime::core::input::PolicyBinding;
use baton_runtime::core::observation::PromptKind;
use baton_runtime::core::workflow::{
    AgentKind, CommitTime, EXECUTOR, Permission, PolicyScope, Role, RunLimits, Workflow,
};
use baton_runtime::core::{PhaseId, WorktreeName};
use baton_runtime::{DryRun, PlannedSession};
use serde_json::{Value, json};

use super::terminal_style::{TerminalStyle, Tone};
use super::text_format;
use super::which::{in_place, scope};
use crate::host_launch::LaunchMode;
use crate::location::{RunLocation, shell_quoted};

/// Lines of a later prompt that are shown: its heading and its objective.
const PROMPT_HEAD_LINES: usize = 6;

/// For people.
pub(crate) fn text(
    plan: &DryRun,
    workflow: &Workflow,
    location: &RunLocation,
    way: LaunchMode,
    look: &TerminalStyle,
) -> String {
    let mut text = format!("{}: {}\n", look.paint(Tone::Strong, &workflow.name), workflow.goal);
    text.push_str(
        "Nothing was started. This is the course of a run if every agent succeeds at the first try.\n\n",
    );
    let workspace = match &workflow.workspace {
        Some(fresh) if fresh.is_fresh() && !location.flags.contains("--workspace") => {
            "a fresh scratch folder".to_owned()
        }
        _ => location.config.workspace.display().to_string(),
    };
    text.push_str(&format!(
        "mode       {}\nworkspace  {workspace}\nlimits     {}\n",
        workflow.mode.name(),
        limits(&workflow.limits)
    ));
    if let Some(unseen) = text_format::cost_ceiling_warning(workflow) {
        text.push_str(&format!("           {}\n", look.wrap(&unseen, 11)));
    }
    if let Some(why) = way.why() {
        text.push_str(&format!("launch     works in the background, {why}\n"));
    }
    for command in &workflow.setup {
        text.push_str(&format!("setup      {command}\n"));
    }
    if workflow.has_commits() {
        text.push_str(&format!("commits    {}\n", commits(workflow)));
    }
    text.push_str(&policies(&in_place(&plan.bindings)));
    for session in &plan.sessions {
        text.push('\n');
        text.push_str(&session_text(session, workflow, look));
    }
    if let Some(question) = &plan.question {
        text.push_str(&format!("\n{}: {question}\n", look.paint(Tone::Warn, "It would then ask you")));
    }
    text
}

/// The policy of each decision; in one line if one policy decides everything.
fn policies(bindings: &[&PolicyBinding]) -> String {
    let who = |binding: &PolicyBinding| {
        let (component, settings) = (binding.component.short(), binding.settings.short());
        format!("{}  component {component}  settings {settings}{}", binding.policy, chosen(binding))
    };
    match bindings {
        [first, others @ ..]
            if !others.is_empty() && others.iter().all(|binding| who(binding) == who(first)) =>
        {
            format!("policy     every decision  {}\n", who(first))
        }
        bindings => bindings
            .iter()
            .map(|binding| format!("policy     {:10}  {}\n", binding.capability, who(binding)))
            .collect(),
    }
}

/// When the host commits, and where: "after each phase, on work/{run}".
fn commits(workflow: &Workflow) -> String {
    let when = |time| match time {
        CommitTime::Off => "never",
        CommitTime::Phase => "after it",
        CommitTime::Objective => "when objectives are done",
    };
    let of_all = match workflow.commits.when {
        CommitTime::Off => "after no phase",
        CommitTime::Phase => "after each phase",
        CommitTime::Objective => "when objectives are done, and after each phase",
    };
    let others = workflow.phases.iter().filter_map(|phase| Some((phase, phase.commit?)));
    let others = others.filter(|(_, time)| *time != workflow.commits.when);
    let others: String = others.map(|(phase, time)| format!("; of {} {}", phase.id, when(time))).collect();
    let branch = workflow.commits.branch.as_ref().map(|branch| format!(", on {branch}")).unwrap_or_default();
    format!("{of_all}{others}{branch}")
}

/// The scope of a policy and the file that chose it, if these are not the defaults.
fn chosen(binding: &PolicyBinding) -> String {
    let place = match &binding.scope {
        PolicyScope::Run => String::new(),
        PolicyScope::Shadow { .. } => "  shadow, decides nothing".to_owned(),
        narrow => format!("  in {}", scope(narrow)),
    };
    let from = match binding.from.file.as_str() {
        "" => String::new(),
        file => format!("  by {file}:{}", binding.from.line),
    };
    place + &from
}

fn session_text(session: &PlannedSession, workflow: &Workflow, look: &TerminalStyle) -> String {
    let turns = match (session.max_turns, session.turn_ceiling) {
        (0, _) => "no cap of turns".to_owned(),
        (turns, ceiling) if ceiling > turns => {
            format!("{}, up to {ceiling} while the work moves", text_format::count(turns, "turn"))
        }
        (turns, _) => text_format::count(turns, "turn"),
    };
    let model = session.role.model.as_deref().map(|model| format!(", model {model}")).unwrap_or_default();
    let mut text = format!(
        "{}  {}\n  agent       {}{model}\n  permission  {}\n  budget      {turns}, at most {}\n",
        look.paint(Tone::Strong, session.phase.as_str()),
        session.title,
        session.role.agent,
        permission(&session.role),
        text_format::count(session.continuations, "continuation"),
    );
    let waits_for = waits_for(session, workflow);
    if !waits_for.is_empty() {
        text.push_str(&format!("  waits for   {}\n", text_format::list(waits_for)));
    }
    for allowed in may_run(session, workflow) {
        text.push_str(&format!("  may run     {allowed}\n"));
    }
    let command: Vec<String> = command(session, workflow).iter().map(|word| shell_quoted(word)).collect();
    text.push_str(&format!("  command     {}\n", command.join(" ")));
    for command in setup(session, workflow) {
        text.push_str(&format!("  setup       {command}\n"));
    }
    if let Some(command) = &session.verify {
        text.push_str(&format!("  verified by {command}\n"));
    }
    for (index, prompt) in session.prompts.iter().enumerate() {
        let (kind, focus) = (kind(prompt.kind), text_format::list(&prompt.focus));
        text.push_str(&format!("  prompt {}    {kind}: {focus}\n", index + 1));
        // The first shows the prompt of an agent; the rest differ in their objectives, which come first.
        let shown = if index == 0 { usize::MAX } else { PROMPT_HEAD_LINES };
        for line in prompt.text.lines().take(shown) {
            text.push_str(format!("    | {line}").trim_end());
            text.push('\n');
        }
        let beyond = prompt.text.lines().count().saturating_sub(shown);
        if beyond > 0 {
            text.push_str(&format!(
                "    | … and {} more; all of them with --format json\n",
                text_format::count(u32::try_from(beyond).unwrap_or(u32::MAX), "line")
            ));
        }
    }
    text
}

/// The phases that must be done before the phase of a session begins.
fn waits_for<'a>(session: &PlannedSession, workflow: &'a Workflow) -> &'a [PhaseId] {
    let phase = workflow.phases.iter().find(|phase| phase.id == session.phase);
    phase.map_or(&[], |phase| &phase.depends_on)
}

/// Commands that the agent may run without asking, if its permission does not determine that.
fn may_run(session: &PlannedSession, workflow: &Workflow) -> Vec<String> {
    let role = &session.role;
    if matches!(role.agent, AgentKind::Process { .. } | AgentKind::Rehearsal)
        || role.permission == Permission::Full
    {
        return Vec::new();
    }
    let phase = workflow.phases.iter().find(|phase| phase.id == session.phase);
    let of_objectives = phase.into_iter().flat_map(|phase| &phase.objectives);
    let checks = of_objectives.filter_map(|objective| objective.verify.as_ref());
    let checks = checks.chain(session.verify.as_ref()).filter(|_| role.permission == Permission::Edit);
    let mut all: Vec<String> = role.allow.iter().chain(checks).cloned().collect();
    let mut seen = BTreeSet::new();
    all.retain(|command| seen.insert(command.clone()));
    all
}

/// The setup commands of a session's phase, in addition to the common ones.
fn setup<'a>(session: &PlannedSession, workflow: &'a Workflow) -> &'a [String] {
    let phase = workflow.phases.iter().find(|phase| phase.id == session.phase);
    phase.map_or(&[], |phase| phase.setup.as_slice())
}

/// The command line that would be spawned.
fn command(session: &PlannedSession, workflow: &Workflow) -> Vec<String> {
    let phase = workflow.phases.iter().find(|phase| phase.id == session.phase);
    // A sub-phase is not in the file; its role plays no part in the command.
    let role = phase.map_or_else(|| EXECUTOR.into(), |phase| phase.role.clone());
    let spec = SpawnSpec {
        session: session.session.clone(),
        phase: session.phase.clone(),
        role,
        agent: session.role.agent.clone(),
        continuation: 0,
        max_turns: session.max_turns,
        turn_ceiling: session.turn_ceiling,
        checks: Vec::new(),
        conversation: None,
        continues: None,
        billed_before: TokenUsage::default(),
        tree: WorktreeName::workspace(),
    };
    preview_command(&spec, &session.role)
}

/// For programs, with every prompt in full.
pub(crate) fn json(plan: &DryRun, workflow: &Workflow, way: LaunchMode) -> Value {
    let sessions: Vec<Value> = plan
        .sessions
        .iter()
        .map(|session| {
            let prompts: Vec<Value> = session
                .prompts
                .iter()
                .map(|prompt| json!({ "kind": prompt.kind, "focus": prompt.focus, "text": prompt.text }))
                .collect();
            json!({
                "session": session.session,
                "phase": session.phase,
                "title": session.title,
                "role": session.role,
                "command": command(session, workflow),
                "may_run": may_run(session, workflow),
                "waits_for": waits_for(session, workflow),
                "max_turns": session.max_turns,
                "turn_ceiling": session.turn_ceiling,
                "continuations": session.continuations,
                "setup": setup(session, workflow),
                "verify": session.verify,
                "prompts": prompts,
            })
        })
        .collect();
    json!({
        "schema": 1,
        "record": "dry-run",
        "workflow": workflow.name,
        "mode": workflow.mode,
        "detached": way != LaunchMode::Foreground,
        "limits": workflow.limits,
        "setup": workflow.setup,
        "commits": workflow.commits,
        "pins": in_place(&plan.bindings),
        "sessions": sessions,
        "question": plan.question,
    })
}

fn limits(limits: &RunLimits) -> String {
    let mut parts = Vec::new();
    parts.extend(limits.wall_time.map(|wall| format!("{wall} of wall time")));
    parts.extend(limits.tokens.map(|n| format!("{} tokens", text_format::tokens(n))));
    parts.extend(limits.cost_microusd.map(text_format::money));
    parts.push(text_format::count(limits.retries, "retry").replace("retrys", "retries"));
    parts.push(format!("the policy is asked after {} of silence", limits.heartbeat));
    parts.join(", ")
}

fn permission(role: &Role) -> &'static str {
    if matches!(role.agent, AgentKind::Process { .. }) {
        return "its own: Baton cannot enforce a permission on a program";
    }
    match role.permission {
        Permission::ReadOnly => "read-only: reads the workspace",
        Permission::Edit => "edit: reads and edits files of the workspace",
        Permission::Full => "full: whatever the agent's own sandbox allows, commands included",
    }
}

fn kind(kind: PromptKind) -> &'static str {
    match kind {
        PromptKind::First => "first",
        PromptKind::Next => "next",
        PromptKind::Continuing => "continuing",
        PromptKind::ReOriented => "after making room",
        PromptKind::Nudged => "asked again",
        PromptKind::Reviewing => "to be reviewed",
        PromptKind::Merging => "putting the parts together",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn a_dry_run_shows_prompts_and_budgets() {
        let (workflow, plan) = (test_samples::workflow(), test_samples::plan());
        insta::assert_snapshot!(
            "dry_run",
            text(
                &plan,
                &workflow,
                &test_samples::location(),
                LaunchMode::Foreground,
                &TerminalStyle::bare(100)
            )
        );
        insta::assert_json_snapshot!("dry_run_json", json(&plan, &workflow, LaunchMode::Foreground));
    }
}
