//! Which variables an agent inherits: an allow list, and what its role adds. Everything else stays with the host.

use std::collections::BTreeMap;
use std::ffi::OsString;

use baton_core::workflow::{AgentKind, Role};
use baton_sandbox::PYTHON_CACHE_VARIABLE;

/// What every program needs to find its files, its language and its user; and where the host has Python keep what it compiles.
const EVERY_AGENT: &[&str] =
    &["PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "TZ", PYTHON_CACHE_VARIABLE];

/// The parts of the locale that `LANG` does not decide.
const EVERY_AGENT_PREFIXES: &[&str] = &["LC_"];

/// Claude Code: its credentials and settings, its switches for updates and telemetry, the word that allows it to run as
/// root, and the switch for finding tools by a search.
const CLAUDE: &[&str] = &["IS_SANDBOX", "ENABLE_TOOL_SEARCH"];

/// The same, by beginning.
const CLAUDE_PREFIXES: &[&str] = &["ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_"];

/// Codex: its credentials and its folder.
const CODEX_PREFIXES: &[&str] = &["OPENAI_", "CODEX_"];

/// Adapters of the agents that people have credentials for. Any other is named by the role's `env`.
const ACP_PREFIXES: &[&str] =
    &["ANTHROPIC_", "CLAUDE_CODE_", "DISABLE_", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_", "OPENCODE_"];

/// The environment of an agent, chosen from what there is.
pub(crate) fn choose(
    agent: &AgentKind,
    role: &Role,
    inherit: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let (names, prefixes) = of_kind(agent);
    let allowed = |name: &OsString| {
        // A name that is not UTF-8 is on no list.
        let Some(name) = name.to_str() else { return false };
        EVERY_AGENT.iter().chain(names).any(|known| name == *known)
            || EVERY_AGENT_PREFIXES.iter().chain(prefixes).any(|prefix| name.starts_with(prefix))
            || role.env.iter().any(|known| known == name)
    };
    inherit
        .iter()
        .filter(|(name, _)| allowed(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whether an agent of this kind gets a variable without a word of its role.
pub(crate) fn is_handed_over(agent: &AgentKind, name: &str) -> bool {
    let (names, prefixes) = of_kind(agent);
    names.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// What an agent of a kind gets beside what every agent does: names, and beginnings of names.
fn of_kind(agent: &AgentKind) -> (&'static [&'static str], &'static [&'static str]) {
    match agent {
        AgentKind::Claude => (CLAUDE, CLAUDE_PREFIXES),
        AgentKind::Codex => (&[], CODEX_PREFIXES),
        AgentKind::Acp { .. } => (CLAUDE, ACP_PREFIXES),
        AgentKind::Process { .. } | AgentKind::Rehearsal => (&[], &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(agent: AgentKind, env: &[&str]) -> Vec<String> {
        let all = [
            "PATH",
            "HOME",
            "LC_ALL",
            "SSH_AUTH_SOCK",
            "AWS_SECRET_ACCESS_KEY",
            "ANTHROPIC_API_KEY",
            "DISABLE_TELEMETRY",
            "GITHUB_TOKEN",
            "CLAUDE_CODE_MAX_RETRIES",
            "LD_PRELOAD",
            "OPENAI_API_KEY",
            "CODEX_HOME",
        ];
        let inherit = all.iter().map(|name| (OsString::from(name), OsString::from("x"))).collect();
        let env = env.iter().map(|name| (*name).to_owned()).collect();
        let role = Role { env, ..Role::of(agent.clone()) };
        choose(&agent, &role, &inherit).into_keys().map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn an_agent_inherits_what_is_listed_and_nothing_else() {
        assert_eq!(names(AgentKind::Rehearsal, &[]), ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(
            names(AgentKind::Rehearsal, &["GITHUB_TOKEN"]),
            ["GITHUB_TOKEN", "HOME", "LC_ALL", "PATH"]
        );
        assert_eq!(
            names(AgentKind::Claude, &[]),
            ["ANTHROPIC_API_KEY", "CLAUDE_CODE_MAX_RETRIES", "DISABLE_TELEMETRY", "HOME", "LC_ALL", "PATH"]
        );
        assert_eq!(names(AgentKind::Codex, &[]), ["CODEX_HOME", "HOME", "LC_ALL", "OPENAI_API_KEY", "PATH"]);
        let adapter = names("acp:some-adapter".parse().unwrap(), &[]);
        assert!(
            adapter.contains(&"OPENAI_API_KEY".to_owned()) && !adapter.contains(&"GITHUB_TOKEN".to_owned())
        );
        assert_eq!(names("process:program".parse().unwrap(), &[]), ["HOME", "LC_ALL", "PATH"]);
    }
}
