//! Answers what Codex asks its client, from what the role may do. Asks nobody.
//!
//! The sandbox allows what the role may do, so whatever is asked for is more than that. Only a role that may do anything
//! gets it, and one that allows this very command.

use baton_core::workflow::Permission;
use serde_json::{Value, json};

use crate::allowed::CommandAllowlist;

/// JSON-RPC: no such method.
const NO_METHOD: i64 = -32601;

/// The result of a request, or its error.
pub(super) fn answer(
    method: &str,
    params: &Value,
    permission: Permission,
    commands: &CommandAllowlist,
) -> Result<Value, Value> {
    let is_command = matches!(method, "item/commandExecution/requestApproval" | "execCommandApproval");
    let allowed = permission == Permission::Full || is_command && commands.allow_call(params);
    let word = |yes: &str, no: &str| json!({ "decision": if allowed { yes } else { no } });
    Ok(match method {
        // For this time alone: the next request is answered by the same rule. A refused model goes on without it.
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            word("accept", "decline")
        }
        // The same, as servers before 0.50 ask it.
        "execCommandApproval" | "applyPatchApproval" => word("approved", "denied"),
        "item/permissions/requestApproval" => {
            let asked = params.get("permissions").filter(|_| allowed);
            json!({ "permissions": asked.unwrap_or(&json!({})), "scope": "turn" })
        }
        // Questions to a person, who is not there.
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        "mcpServer/elicitation/request" => json!({ "action": "decline", "content": null }),
        "item/tool/call" => json!({ "success": false, "contentItems": [] }),
        other => {
            return Err(json!({ "code": NO_METHOD, "message": format!("baton does not answer {other}") }));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_sandbox_allows_is_for_a_role_that_may_do_anything() {
        let answer = |method: &str, params: &Value, permission| {
            answer(method, params, permission, &CommandAllowlist::default())
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
            answer(method, &json!({ "command": command }), Permission::Edit, &commands).unwrap()["decision"]
                .clone()
        };
        let command = "item/commandExecution/requestApproval";
        assert_eq!(of(command, "/bin/bash -lc 'cargo test -q'"), "accept");
        assert_eq!(of(command, "/bin/bash -lc 'cargo test; rm x'"), "decline");
        assert_eq!(of("item/fileChange/requestApproval", "cargo test"), "decline");
    }
}
