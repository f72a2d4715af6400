//! `baton policy inspect`: the decisions of a component and its settings.

use anyhow::Context as _;
use baton_runtime::core::Digest;
use baton_runtime::engine::{Engine, EngineConfig, SettingSpec};
use clap::{Args, ValueHint};
use serde_json::json;

use crate::args::{OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::policies::{NamedComponent, refused};
use crate::registries::RegistryArgs;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::render::{json_record, text_format};
use crate::{policies, stdio};

/// Show what a policy decides and which settings it has
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy inspect
  baton policy inspect careful.wasm
  baton policy inspect builtin:resilience --format json")]
pub(crate) struct InspectArgs {
    /// A component, or a policy that is part of the host
    #[arg(value_name = "FILE", default_value = "builtin:resilience", value_hint = ValueHint::FilePath)]
    policy: String,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// The description of a component.
struct ComponentInspection {
    name: String,
    digest: Digest,
    bytes: usize,
    decides: Vec<&'static str>,
    /// The questions that it asks the next policy, as a layer.
    asks_next: Vec<&'static str>,
    settings: Vec<SettingSpec>,
}

pub(super) fn inspect(args: InspectArgs) -> anyhow::Result<CliExit> {
    let found = inspect_component(&args.policy)?;
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy",
        "policy": found.name,
        "component": found.digest,
        "bytes": found.bytes,
        "decides": found.decides,
        "asks_next": found.asks_next,
        "settings": found.settings,
    });
    match args.format.format {
        OutputFormat::Text => stdio::data(&text(&found, &terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}

/// Loads a component exactly as a run does, without a cache, since it is inspected once.
fn inspect_component(reference: &str) -> anyhow::Result<ComponentInspection> {
    let NamedComponent { name, bytes, .. } = policies::named(reference, &RegistryArgs::default())?;
    let engine = Engine::new(EngineConfig::default()).context("starting the policy engine")?;
    let policy = engine.load(&name, &bytes).map_err(|error| refused(reference, &error))?;
    Ok(ComponentInspection {
        digest: policy.digest().clone(),
        bytes: bytes.len(),
        decides: policy.decides().iter().map(|capability| capability.name()).collect(),
        asks_next: policy.asks_next().iter().map(|capability| capability.name()).collect(),
        settings: policy.schema().map_err(|fault| refused(reference, &format!("it {fault}")))?.to_vec(),
        name,
    })
}

fn text(found: &ComponentInspection, look: &TerminalStyle) -> String {
    let name = look.paint(Tone::Strong, &found.name);
    let size = text_format::bytes(found.bytes as u64);
    let mut text = format!("{name}  {}  {size}\ndecides    {}\n", found.digest, found.decides.join(", "));
    if !found.asks_next.is_empty() {
        text.push_str(&format!("layer      asks the next policy about {}\n", found.asks_next.join(", ")));
    }
    if found.settings.is_empty() {
        text.push_str("settings   none\n");
    }
    for setting in &found.settings {
        let key = look.paint(Tone::Strong, &setting.key);
        text.push_str(&format!("\n{key} = {}{}\n", text_format::setting(&setting.default), allowed(setting)));
        text.push_str(&format!("    {}\n", look.wrap(&setting.doc.replace('\n', " "), 4)));
    }
    text
}

/// "  (0 to 100)", "  (one of eco, turbo)".
fn allowed(setting: &SettingSpec) -> String {
    match (setting.minimum, setting.maximum) {
        (Some(min), Some(max)) => format!("  ({min} to {max})"),
        (Some(min), None) => format!("  (at least {min})"),
        (None, Some(max)) => format!("  (at most {max})"),
        (None, None) if setting.choices.is_empty() => String::new(),
        (None, None) => format!("  (one of {})", setting.choices.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use baton_runtime::core::workflow::SettingValue;

    use super::*;

    #[test]
    fn settings_are_shown_as_they_are_written() {
        let setting = |key: &str, default, minimum, maximum, choices: &[&str]| SettingSpec {
            key: key.into(),
            doc: format!("What `{key}` is for."),
            default,
            minimum,
            maximum,
            choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        };
        let found = ComponentInspection {
            name: "careful".into(),
            digest: Digest::of("careful"),
            bytes: 61_234,
            decides: vec!["exhaustion", "handoff"],
            asks_next: vec!["handoff"],
            settings: vec![
                setting("compact_at_percent", SettingValue::Integer(70), Some(10.0), Some(100.0), &[]),
                setting("phrases", SettingValue::Texts(vec!["context limit".into()]), None, None, &[]),
                setting("priority", SettingValue::Text("quality".into()), None, None, &["quality", "time"]),
                setting("share", SettingValue::Number(1.0), Some(0.5), None, &[]),
            ],
        };
        insta::assert_snapshot!("policy_inspect", text(&found, &TerminalStyle::bare(100)));
    }
}
