//! Codex's refusals by its own rules. It reports them only on its standard error: its stream has no call that it refused.

use baton_core::facts::{COMMAND_BYTES, Refusal, RefusalKind, SIGNAL_TEXT_BYTES};

use super::tools::inner_command;
use crate::truncate::cut;

/// The module that logs it, and its word for it.
const MODULE: &str = "codex_core::tools";
const REJECTED: &str = "Rejected(";

/// The text between the command and the reason.
const REASON_SEPARATOR: &str = "` rejected: ";

/// The refusal in a line of its log: the command, as the user knows it, with the reason.
pub(crate) fn refusal(line: &str) -> Option<Refusal> {
    let plain = without_colours(line);
    let (_, said) = plain.split_once(MODULE)?;
    let (_, said) = said.split_once(REJECTED)?;
    // The reason is a quoted text in a quoted text.
    let said = said.replace("\\\\", "\\").replace("\\\"", "\"");
    let said = said.trim_end_matches(['}', ' ', ')', '"', '\\']).trim_start_matches(['"', '\\']);
    let named = said.strip_prefix('`').and_then(|said| said.split_once(REASON_SEPARATOR));
    let target = match named {
        Some((command, why)) => format!("{} ({why})", cut(&inner_command(command), COMMAND_BYTES)),
        None => said.to_owned(),
    };
    Some(Refusal { kind: RefusalKind::Own, target: cut(&target, SIGNAL_TEXT_BYTES).to_owned() })
}

/// A text without the codes that colour it on a terminal.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.find(|c: char| !(c.is_ascii_digit() || c == ';'));
        plain.push_str(match code.and_then(|at| part[at..].strip_prefix('m')) {
            Some(rest) => rest,
            None => part,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    // As Codex 0.169 writes it.
    const LINE: &str = "\u{1b}[2m2026-11-27T08:49:58.079925Z\u{1b}[0m \u{1b}[31mERROR\u{1b}[0m \u{1b}[2mcodex_core::tools::router\u{1b}[0m\u{1b}[2m:\u{1b}[0m \u{1b}[3merror\u{1b}[0m\u{1b}[2m=\u{1b}[0mexec_command failed: CreateProcess { message: \"Rejected(\\\"`/bin/bash -lc 'rm -rf src/old.txt && echo p > a.txt'` rejected: rm -f style commands are not permitted. Use a safer approach\\\")\" }";

    #[test]
    fn a_command_that_codex_refuses_is_told_as_a_person_calls_it_and_with_why() {
        let told = refusal(LINE).unwrap();
        assert_eq!(told.kind, RefusalKind::Own);
        let why = "rm -f style commands are not permitted. Use a safer approach";
        assert_eq!(told.target, format!("rm -rf src/old.txt && echo p > a.txt ({why})"));
        let bare = "ERROR codex_core::tools::router: error=Rejected(\"rejected by user approval settings\")";
        assert_eq!(refusal(bare).unwrap().target, "rejected by user approval settings");
        for other in ["ERROR codex_core::session: failed to record", "Rejected(\"x\")", ""] {
            assert_eq!(refusal(other), None, "{other}");
        }
    }
}
