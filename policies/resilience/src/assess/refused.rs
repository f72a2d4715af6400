//! Calls that an agent was not allowed: what they were for may be missing from its work, whatever it says of it (A11).

use baton_sdk::Host;
use baton_sdk::exhaustion::Observation;
use baton_sdk::types::Signal;
use baton_sdk::words::one_line;

use super::completion::NOTE_BYTES;

/// What nothing shows: the work without the last call of this prompt that was refused.
pub(super) fn of_prompt(host: &impl Host, o: &Observation) -> Option<String> {
    let call = newest(host, o, |signal| signal.prompt == o.session.prompts)?;
    Some(format!("the agent was not allowed to run `{call}`, and nothing shows the work without it"))
}

/// The last call that was refused, of the whole observation.
pub(super) fn call(host: &impl Host, o: &Observation) -> Option<String> {
    newest(host, o, |_| true)
}

fn newest(host: &impl Host, o: &Observation, is_meant: impl Fn(&Signal) -> bool) -> Option<String> {
    let is_refused =
        |signal: &&Signal| signal.code.as_deref() == Some("permission-refused") && is_meant(signal);
    let signal = o.signals.iter().rev().find(is_refused)?;
    Some(one_line(&host.text_slice(o.window, signal.text), NOTE_BYTES))
}
