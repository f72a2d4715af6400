//! What keeps an agent from beginning at all: no login, no key, flags or a model that are refused, no network. The next session would be
//! told the same, so a person is asked at once, and told what mends it.

use baton_sdk::Host;
use baton_sdk::exhaustion::{Observation, Verdict};
use baton_sdk::recovery::Action;
use baton_sdk::types::{Channel, Evidence, Signal};

use super::completion::capital;
use super::signals::Signals;

/// A cause that lies with how the agent is set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    LoggedOut,
    /// A variable, where its name was told.
    Variable(Option<String>),
    Root,
    Arguments,
    Model,
    Network,
}

/// What a cause is recognised by: codes as agents write them, and the setting with its phrases.
const WORDS: [(Cause, &[&str], &str); 6] = [
    (Cause::Root, &[], "root-phrases"),
    (Cause::Variable(None), &[], "missing-variable-phrases"),
    (Cause::LoggedOut, &["authentication_failed", "authentication_error"], "logged-out-phrases"),
    (Cause::Model, &["model_not_found"], "unknown-model-phrases"),
    (Cause::Network, &["connection_failed"], "unreachable-phrases"),
    (Cause::Arguments, &[], "refused-argument-phrases"),
];

/// No variable has a longer name that is worth repeating.
const VARIABLE_BYTES: usize = 80;

/// Why a session that has not done anything yet failed, where that is known, and the words that say it.
pub(super) fn cause<H: Host>(
    host: &H,
    o: &Observation,
    signals: &Signals<'_, H>,
) -> Option<(Cause, Evidence)> {
    // Who has had an answer of its model is set up; what it meets then may pass.
    if o.session.turns > 0 || o.answer_bytes > 0 && o.session.exit.is_none() && !signals.called_error() {
        return None;
    }
    let explained = signals.explained();
    let says = |signal: &Signal| {
        WORDS.iter().find_map(|(cause, codes, phrases)| {
            let coded = signal.code.as_deref().is_some_and(|code| codes.contains(&code));
            let said = || !host.find_setting(o.window, signal.text, phrases, 1).is_empty();
            (coded || said()).then(|| cause.clone())
        })
    };
    let (cause, signal) = signals.errors().find_map(|signal| Some((says(signal)?, signal)))?;
    let is_begun = o.phase_files_changed > 0 || o.phase.progress.done > 0 || o.session.continuation > 0;
    // Where work was done already, the network was there: it may come back by itself.
    if cause == Cause::Network && is_begun {
        return None;
    }
    let evidence = explained.unwrap_or_else(|| signals.evidence(signal));
    let cause = match cause {
        Cause::Variable(_) => Cause::Variable(variable_in(&host.text_slice(o.window, signal.text))),
        cause => cause,
    };
    Some((cause, evidence))
}

impl Cause {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Cause::LoggedOut | Cause::Variable(_) => Verdict::Unauthenticated,
            Cause::Root | Cause::Arguments | Cause::Model | Cause::Network => Verdict::Failed,
        }
    }

    pub(super) fn what(&self) -> &'static str {
        match self {
            Cause::LoggedOut => "the agent is not logged in, or its key is not accepted",
            Cause::Variable(_) => "the agent lacks a variable of its environment",
            Cause::Root => "the agent refuses to work as root",
            Cause::Arguments => "the agent does not take its arguments",
            Cause::Model => "the provider refused the model",
            Cause::Network => "the agent does not reach its provider",
        }
    }

    /// Asks for what mends it.
    pub(super) fn ask(&self, agent: &str, said: &str) -> Action {
        let what = capital(self.what());
        let mend = match self {
            Cause::LoggedOut => login(agent).to_owned(),
            Cause::Variable(Some(name)) if is_handed_over(agent, name) => {
                format!("Set {name} where you start Baton")
            }
            Cause::Variable(Some(name)) => format!(
                "Set {name} where you start Baton, and hand it to the agent by its role: `env = [\"{name}\"]`"
            ),
            Cause::Variable(None) => {
                "Set it where you start Baton, and hand it to the agent by its role: `env = [\"NAME\"]`"
                    .to_owned()
            }
            Cause::Root => {
                "Start Baton as another user, or in a container that is made to be thrown away with \
                            IS_SANDBOX=1, or give the role `permission = \"edit\"`"
                    .to_owned()
            }
            Cause::Arguments => {
                "Correct `args` of its role, or update the agent (`baton agents` tells its version)"
                    .to_owned()
            }
            Cause::Model => {
                "Correct `model` of its role, or the model in the agent's own settings; `--model NAME` of `baton answer … --resume` \
                 takes another"
                    .to_owned()
            }
            Cause::Network => {
                "Look at the network, at proxy variables, and at the address of the provider".to_owned()
            }
        };
        Action::AskPerson(format!("{what} ({said}). {mend}. Then go on?"))
    }
}

/// How a person logs an agent in.
fn login(agent: &str) -> &'static str {
    match agent {
        _ if agent.contains("claude") => {
            "Run `claude /login`, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN where you start Baton"
        }
        _ if agent.contains("codex") => "Run `codex login`, or set OPENAI_API_KEY where you start Baton",
        _ if agent.contains("gemini") => {
            "Run `gemini` and log in, or set GEMINI_API_KEY where you start Baton"
        }
        _ if agent.contains("opencode") => "Run `opencode auth login`",
        "acp" => {
            "Log in the agent behind it (such as `claude /login` or `codex login`), or set its key where you start Baton"
        }
        _ => "Log it in, or give it its key (`env` of its role hands over a variable)",
    }
}

/// Whether the host hands a variable of this name to such an agent without a word of its role.
fn is_handed_over(agent: &str, name: &str) -> bool {
    let of_claude = ["ANTHROPIC_", "CLAUDE_CODE_"];
    let of_codex = ["OPENAI_", "CODEX_"];
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match agent.split(':').next().unwrap_or(agent) {
        "claude" => begins(&of_claude),
        "codex" => begins(&of_codex),
        "acp" => begins(&of_claude) || begins(&of_codex) || begins(&["GEMINI_", "GOOGLE_", "OPENCODE_"]),
        _ => false,
    }
}

/// The name of a variable, as variables are written.
fn variable_in(text: &str) -> Option<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let mut names = words.filter(|word| {
        word.len() <= VARIABLE_BYTES
            && word.contains('_')
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && !word.contains(|c: char| c.is_ascii_lowercase())
    });
    names.next().map(str::to_owned)
}

/// Whether a text is the host's own note on a prompt that its agent calls an error.
pub(super) fn is_note(channel: Channel, text: &str) -> bool {
    channel == Channel::AgentEvent && text == "the agent calls it an error"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_how_it_is_written() {
        let of = |text| variable_in(text);
        assert_eq!(of("Missing environment variable: `FAKE_API_KEY`.").as_deref(), Some("FAKE_API_KEY"));
        assert_eq!(of("set $GEMINI_API_KEY first").as_deref(), Some("GEMINI_API_KEY"));
        assert_eq!(of("Missing environment variable"), None);
        assert_eq!(of(&format!("A_{}", "B".repeat(100))), None);
    }
}
