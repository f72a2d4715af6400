//! The conformance of a policy, checked before it is used, compared or pushed. The result of a check is stored by component,
//! settings and engine, so that the same policy is not asked twice.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use anyhow::Context as _;
use baton_lab::conformance::{self, ConformancePlan};
use baton_runtime::core::Digest;
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::rules::RULES_FILE;
use baton_runtime::core::workflow::{GivenSetting, SettingValue};
use baton_runtime::engine::{ConfiguredPolicy, Engine};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::args::LocationArgs;
use crate::files::write_whole;
use crate::policies::refused;
use crate::render::question_progress::QuestionProgress;
use crate::render::text_format;
use crate::{location, stdio};

/// Number of questions: enough to find general faults, and fewer than in `baton policy check`.
const QUESTIONS: u64 = 500;
/// Version of the record.
const SCHEMA: u32 = 2;
/// Names of broken rules that are shown.
const RULES_SHOWN: usize = 4;

/// Whether a policy is checked first.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ConformanceArgs {
    /// Use the policy without checking it first
    #[arg(long)]
    pub(crate) unchecked: bool,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ConformanceRecord {
    schema: u32,
    component: Digest,
    settings: Digest,
    engine: Digest,
    /// Of this program: another version may have other rules.
    version: String,
    questions: u64,
    /// Empty if it is fit.
    broken: Vec<String>,
    /// The functions of which it decided nothing.
    mute: Vec<String>,
}

/// Refuses a policy that is not fit to decide, and tells of one that is not shown to be. `set` are the settings of the command line, which
/// `policy` has already; `decides` is what it is to decide, everything where empty.
pub(crate) fn require(
    args: ConformanceArgs,
    location: &LocationArgs,
    reference: &str,
    set: &[(String, GivenSetting)],
    engine: &Engine,
    policy: &ConfiguredPolicy,
    decides: &[Capability],
) -> anyhow::Result<()> {
    if args.unchecked {
        stdio::progress(&format!("{reference} is used unchecked"));
        return Ok(());
    }
    let mut found = ConformanceRecord {
        schema: SCHEMA,
        component: policy.policy().digest().clone(),
        settings: policy.settings_digest().clone(),
        engine: engine.digest().clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        questions: QUESTIONS,
        broken: Vec::new(),
        mute: Vec::new(),
    };
    let folder = location::state_root(location)?.join("checked");
    let path = folder.join(format!("{}.json", key(&found).hex()));
    let kept =
        fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<ConformanceRecord>(&bytes).ok());
    match kept
        .filter(|kept| ConformanceRecord { broken: Vec::new(), mute: Vec::new(), ..kept.clone() } == found)
    {
        Some(kept) => found = kept,
        None => {
            let plan = ConformancePlan { questions: QUESTIONS, ..ConformancePlan::default() };
            let mut asking = QuestionProgress::new(plan.questions, None);
            let report = conformance::check(engine, policy, plan, |asked| asking.at(asked));
            asking.end();
            found.broken = report.broken().map(|rule| rule.name.clone()).collect();
            found.mute = report.mute().map(|function| function.function.clone()).collect();
            if found.broken.is_empty() && !report.passed() {
                found.broken.push("answers-in-time".to_owned());
            }
            save_record(&folder, &path, &found)?;
        }
    }
    if found.broken.is_empty() {
        // Rules abstain from everything that they do not name, and generated questions have other words than theirs.
        let mute = asked_of(&found.mute, decides);
        if !mute.is_empty() && !reference.starts_with(RULES_FILE) {
            stdio::progress(&untested_warning(reference, &mute));
        }
        return Ok(());
    }
    let rules = broken(&found.broken);
    let check = check_command(reference, set);
    let why = format!(
        "it is not fit to decide: it breaks {rules}. `{check}` shows the questions; --unchecked uses it anyway"
    );
    Err(refused(reference, &why).into())
}

/// The functions of its decisions: `splitting.decide` of splitting.
fn asked_of(functions: &[String], decides: &[Capability]) -> Vec<String> {
    let is_asked = |function: &&String| {
        let of = function.split('.').next().unwrap_or_default();
        decides.is_empty() || decides.iter().any(|capability| capability.name() == of)
    };
    functions.iter().filter(is_asked).cloned().collect()
}

/// That nothing is known of some of its decisions: it abstains from all other questions.
fn untested_warning(reference: &str, mute: &[String]) -> String {
    let functions = text_format::list(mute);
    format!(
        "{reference} is not shown to be fit: it abstained from all generated questions of {functions}, so its \
         decisions there were not checked. `baton policy check {reference} --golden DIR` checks it with your own \
         questions"
    )
}

/// The command that shows the questions which broke a rule.
fn check_command(reference: &str, set: &[(String, GivenSetting)]) -> String {
    let mut words = vec![reference.to_owned()];
    for (key, value) in set {
        let value = match value {
            GivenSetting::Value(SettingValue::Text(text)) => text.clone(),
            value => serde_json::to_string(value).unwrap_or_default(),
        };
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    format!("baton policy check{}", location::shell_words(&words))
}

/// "the rule \"every decision has a reason\" (gives-reason)", for the first of them.
fn broken(names: &[String]) -> String {
    let said = |name: &String| match conformance::rule_says(name) {
        Some(says) => format!("\"{says}\" ({name})"),
        None => name.clone(),
    };
    let rule = if names.len() == 1 { "the rule" } else { "the rules" };
    format!("{rule} {}", text_format::first_of(&names.iter().map(said).collect::<Vec<_>>(), RULES_SHOWN))
}

/// The values that the result depends on.
fn key(found: &ConformanceRecord) -> Digest {
    let ConformanceRecord { component, settings, engine, version, questions, .. } = found;
    Digest::of(format!("{component} {settings} {engine} {version} {questions}").as_bytes())
}

fn save_record(folder: &Path, path: &Path, found: &ConformanceRecord) -> anyhow::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("making {}", folder.display()))?;
    write_whole(path, &serde_json::to_vec(found)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_shows_what_is_broken_asks_with_the_same_settings() {
        let text = ("mode".to_owned(), GivenSetting::Value(SettingValue::Text("two words".to_owned())));
        let number = ("max".to_owned(), GivenSetting::Value(SettingValue::Integer(2)));
        let command = check_command("a.wasm", &[text, number]);
        assert_eq!(command, "baton policy check a.wasm --set 'mode=two words' --set max=2");
    }

    #[test]
    fn only_what_it_is_to_decide_is_named_as_unchecked() {
        let mute = ["budgeting.decide".to_owned(), "recovery.recover".to_owned()];
        assert_eq!(asked_of(&mute, &[]), mute);
        assert_eq!(asked_of(&mute, &[Capability::Recovery]), mute[1..]);
        assert!(asked_of(&mute, &[Capability::Splitting]).is_empty());
    }

    #[test]
    fn a_broken_rule_is_said_in_words_with_the_name_that_check_shows() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            broken(&names(&["makes-sense"])),
            "the rule \"every decision is one that a run can follow\" (makes-sense)"
        );
        let many = broken(&names(&[
            "no-trap",
            "within-limits",
            "under-caps",
            "well-formed",
            "same-again",
            "makes-sense",
        ]));
        assert!(many.starts_with("the rules \"no question makes it trap\" (no-trap), "), "{many}");
        assert!(many.ends_with(" and 2 more"), "{many}");
        assert_eq!(broken(&names(&["answers-in-time"])), "the rule answers-in-time");
    }
}
