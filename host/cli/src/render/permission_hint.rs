//! Refused calls: who refused them, and how the user allows them.

use baton_runtime::core::facts::{Refusal, RefusalKind};
use baton_runtime::core::workflow::file::is_command_pattern;

/// Who did not allow it.
pub(crate) fn not_given(refusal: &Refusal) -> String {
    match refusal.kind {
        RefusalKind::Own => "the agent's rules do not allow it".to_owned(),
        _ => format!("its {} does not give it", refusal.by()),
    }
}

/// How the user allows a command that a role did not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PermissionHint {
    /// By this flag, as it is typed.
    Flag(String),
    /// No pattern can name it; only every command can be allowed.
    OnlyAllCommands,
}

/// The text about a command that no pattern can name.
pub(crate) const ONLY_ALL: &str =
    "--allow cannot name this command; a new run with --permission full lets its agents run every command";

/// How a call is allowed; none if it is not the call of a command.
pub(crate) fn allowing(call: &str) -> Option<PermissionHint> {
    /// A longer command may be truncated.
    const BYTES_MAX: usize = 150;
    let command = call.strip_prefix("Bash ")?.trim();
    // In a pattern, `*` stands for plain words alone.
    let is_exact = command.len() <= BYTES_MAX && !command.contains(['*', '…']) && is_command_pattern(command);
    Some(match is_exact {
        true => PermissionHint::Flag(format!("--allow '{}'", command.replace('\'', r"'\''"))),
        false => PermissionHint::OnlyAllCommands,
    })
}
