//! The calls that roles, and agents by their own rules, did not allow, in a report.

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::facts::RefusalKind;
use baton_runtime::core::input::PauseAnswer;
use baton_runtime::core::view::{RunStatus, RunView};

use super::which;
use crate::location::RunLocation;
use crate::render::permission_hint::{ONLY_ALL, PermissionHint, allowing};
use crate::render::text_format;

/// Refused commands for which the flag is shown.
const FLAGS_SHOWN: usize = 3;

/// The calls that were not allowed, and how a person allows those that a role refused: what was to be shown by them is not shown.
pub(super) fn refused_calls(view: &RunView, location: &RunLocation) -> String {
    let sessions = || view.phases.iter().flat_map(|phase| &phase.sessions);
    let calls: u32 = sessions().map(|session| session.refused_calls).sum();
    if calls == 0 {
        return String::new();
    }
    let mut named: Vec<&str> = Vec::new();
    for refusal in sessions().flat_map(|session| &session.refused) {
        if refusal.kind.is_call() && !named.contains(&refusal.target.as_str()) {
            named.push(&refusal.target);
        }
    }
    let by = |kind| sessions().flat_map(|session| &session.refused).any(|refusal| refusal.kind == kind);
    let by = match (by(RefusalKind::Call), by(RefusalKind::Own)) {
        (true, true) => "by a role or the agent's rules",
        (false, true) => "by the agent's rules",
        _ => "by a role",
    };
    let how =
        how_to_allow(view, location, &named).map(|how| format!("           {how}\n")).unwrap_or_default();
    let count = text_format::count(calls, "call");
    format!("Refused    {count} {by}: {}\n{how}", text_format::list(&named))
}

/// The command that continues with these calls allowed, as far as a flag can name them.
fn how_to_allow(view: &RunView, location: &RunLocation, calls: &[&str]) -> Option<String> {
    let ways: Vec<PermissionHint> = calls.iter().filter_map(|call| allowing(call)).collect();
    let by = |way: &PermissionHint| match way {
        PermissionHint::Flag(flag) => Some(flag.clone()),
        PermissionHint::OnlyAllCommands => None,
    };
    let flags: Vec<String> = ways.iter().filter_map(by).take(FLAGS_SHOWN).collect();
    if flags.is_empty() {
        return (!ways.is_empty()).then(|| ONLY_ALL.to_owned());
    }
    let (run, flags) = (&view.run, flags.join(" "));
    let retry = view.questions.iter().find(|question| question.choices.contains(&PauseAnswer::Retry));
    Some(match (view.status, retry) {
        (RunStatus::Paused, Some(question)) => {
            let which = which(view, question);
            format!("to allow: baton answer {run} retry {flags}{which} --resume{}", location.flags)
        }
        (RunStatus::Ended(RunOutcome::Interrupted), _) => {
            format!("to allow: baton resume {run} {flags}{}", location.flags)
        }
        _ => format!("a new run allows it with {flags}, or `allow` in the role"),
    })
}
