//! Answers the requests of Codex to its client, from the permissions of the role, without asking the user.
//!
//! The sandbox already allows everything within the role's permission, so every request exceeds it. It is granted only to a
//! role with full permission, or if the role allows this exact command.

use std::path::Path;

use baton_core::workflow::Permission;
use serde_json::{Value, json};

use crate::acp::real_path;
use crate::command_allowlist::CommandAllowlist;

/// JSON-RPC: no such method.
const NO_METHOD: i64 = -32601;

/// What goes with a command in a request for it and gives it nothing more. Others do (`additionalPermissions`, `networkApprovalContext`), or may.
const KEYS_BESIDE_COMMAND: [&str; 14] = [
    "approvalId",
    "availableDecisions",
    "callId",
    "commandActions",
    "conversationId",
    "environmentId",
    "itemId",
    "parsedCmd",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
    "reason",
    "startedAtMs",
    "threadId",
    "turnId",
];

/// The result of a request, or its error.
pub(super) fn answer(
    method: &str,
    params: &Value,
    permission: Permission,
    commands: &CommandAllowlist,
    workspace: &Path,
) -> Result<Value, Value> {
    let is_command = matches!(method, "item/commandExecution/requestApproval" | "execCommandApproval");
    let allowed = permission == Permission::Full || is_command && allows_command(params, commands, workspace);
    let word = |yes: &str, no: &str| json!({ "decision": if allowed { yes } else { no } });
    Ok(match method {
        // For this time only: the next request is answered by the same rule. After a refusal, the model continues without it.
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            word("accept", "decline")
        }
        // The same, as servers before 0.50 ask it.
        "execCommandApproval" | "applyPatchApproval" => word("approved", "denied"),
        "item/permissions/requestApproval" => {
            let asked = params.get("permissions").filter(|_| allowed);
            json!({ "permissions": asked.unwrap_or(&json!({})), "scope": "turn" })
        }
        // Questions to the user, who is not present.
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        "mcpServer/elicitation/request" => json!({ "action": "decline", "content": null }),
        "item/tool/call" => json!({ "success": false, "contentItems": [] }),
        other => {
            return Err(json!({ "code": NO_METHOD, "message": format!("baton does not answer {other}") }));
        }
    })
}

/// Whether a request is only for a command that may be run, in the workspace. In another folder, the agent may have written the
/// files that the command runs.
fn allows_command(params: &Value, commands: &CommandAllowlist, workspace: &Path) -> bool {
    let is_in_work = match params.get("cwd") {
        None | Some(Value::Null) => true,
        Some(Value::String(folder)) => real_path(Path::new(folder), workspace).is_some(),
        Some(_) => false,
    };
    let is_known = |key: &str| ["command", "cwd"].contains(&key) || KEYS_BESIDE_COMMAND.contains(&key);
    let is_alone =
        params.as_object().is_some_and(|all| all.iter().all(|(key, value)| value.is_null() || is_known(key)));
    is_in_work && is_alone && commands.allow_call(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_sandbox_allows_is_for_a_role_that_may_do_anything() {
        let answer = |method: &str, params: &Value, permission| {
            answer(method, params, permission, &CommandAllowlist::default(), Path::new("/w"))
        };
        let params = json!({ "permissions": { "network": { "enabled": true } } });
        let command = "item/commandExecution/requestApproval";
        for permission in [Permission::ReadOnly, Permission::Edit] {
            assert_eq!(answer(command, &params, permission), Ok(json!({ "decision": "decline" })));
            assert_eq!(
                answer("applyPatchApproval", &params, permission),
                Ok(json!({ "decision": "denied" }))
            );
            let none = json!({ "permissions": {}, "scope": "turn" });
            assert_eq!(answer("item/permissions/requestApproval", &params, permission), Ok(none));
        }
        assert_eq!(answer(command, &params, Permission::Full), Ok(json!({ "decision": "accept" })));
        let all = json!({ "permissions": { "network": { "enabled": true } }, "scope": "turn" });
        assert_eq!(answer("item/permissions/requestApproval", &params, Permission::Full), Ok(all));
        assert_eq!(answer("attestation/generate", &params, Permission::Full).unwrap_err()["code"], -32601);
    }

    #[test]
    fn a_command_that_the_role_allows_is_let_through_and_no_change_of_files() {
        let commands =
            CommandAllowlist { patterns: vec!["cargo test*".to_owned()], ..CommandAllowlist::default() };
        let of = |method: &str, command: &str| {
            let params = json!({ "command": command });
            answer(method, &params, Permission::Edit, &commands, Path::new("/w")).unwrap()["decision"].clone()
        };
        let command = "item/commandExecution/requestApproval";
        assert_eq!(of(command, "/bin/bash -lc 'cargo test -q'"), "accept");
        assert_eq!(of(command, "/bin/bash -lc 'cargo test; rm x'"), "decline");
        assert_eq!(of("item/fileChange/requestApproval", "cargo test"), "decline");
    }

    #[test]
    fn an_allowed_command_is_let_through_in_the_workspace_and_as_it_stands() {
        // N6: in a folder outside, the agent had written the Makefile that the command read.
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("work");
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        std::fs::create_dir(place.path().join("other")).unwrap();
        std::os::unix::fs::symlink("../other", workspace.join("out")).unwrap();
        let commands =
            CommandAllowlist { patterns: vec!["make *".to_owned()], ..CommandAllowlist::default() };
        let allows = |method: &str, more: Value| {
            let mut params = json!({ "threadId": "t", "turnId": "u", "itemId": "i", "command": "make x" });
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let answer = answer(method, &params, Permission::Edit, &commands, &workspace).unwrap();
            ["accept", "approved"].contains(&answer["decision"].as_str().unwrap())
        };
        for method in ["item/commandExecution/requestApproval", "execCommandApproval"] {
            let sub = workspace.join("sub");
            for more in [
                json!({}),
                json!({ "cwd": null, "reason": "to build", "additionalPermissions": null, "new": null }),
                json!({ "cwd": workspace, "commandActions": [{ "type": "unknown", "command": "make x" }] }),
                json!({ "cwd": sub, "availableDecisions": ["accept"], "startedAtMs": 1 }),
                json!({ "cwd": "sub", "command": ["bash", "-lc", "make x"], "parsedCmd": [] }),
            ] {
                assert!(allows(method, more.clone()), "{method}: {more}");
            }
            for more in [
                json!({ "cwd": "/tmp" }),
                json!({ "cwd": place.path() }),
                json!({ "cwd": workspace.join("../other") }),
                json!({ "cwd": workspace.join("out") }),
                json!({ "cwd": "~" }),
                json!({ "cwd": "file:///tmp" }),
                json!({ "cwd": ["/tmp"] }),
                json!({ "workdir": "/tmp" }),
                json!({ "additionalPermissions": { "fileSystem": { "write": ["/"] } } }),
                json!({ "networkApprovalContext": { "host": "example.org", "protocol": "https" } }),
                json!({ "env": {} , "stdin": "x" }),
            ] {
                assert!(!allows(method, more.clone()), "{method}: {more}");
            }
        }
    }
}
