//! Answers an agent's permission requests from what its role may do. Asks nobody.

use std::path::{Component, Path};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolKind,
};
use baton_core::workflow::Permission;

/// Answers a permission request from the role, never by asking somebody who is not there.
pub(super) fn answer(
    request: &RequestPermissionRequest,
    permission: Permission,
    workspace: &Path,
) -> RequestPermissionOutcome {
    let fields = &request.tool_call.fields;
    let mut inside = fields.locations.iter().flatten().map(|location| is_inside(&location.path, workspace));
    let allowed = match (permission, fields.kind.unwrap_or_default()) {
        (Permission::Full, _) => true,
        (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
        (Permission::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => inside.all(|inside| inside),
        _ => false,
    };
    // Once rather than for ever: the next request is answered by the same rule.
    let wanted = if allowed {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let find = |kind: &PermissionOptionKind| {
        request.options.iter().find(|option: &&PermissionOption| option.kind == *kind)
    };
    match wanted.iter().find_map(find) {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

/// By its name alone, and without `..`: what a link points to is the agent's own sandbox's to hold.
fn is_inside(path: &Path, workspace: &Path) -> bool {
    !path.components().any(|part| part == Component::ParentDir)
        && (path.is_relative() || path.starts_with(workspace))
}
