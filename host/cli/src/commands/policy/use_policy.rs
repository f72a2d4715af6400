//! `baton policy use`: another policy for a run at work, and the way back. Whether it is fit to decide is checked by
//! the host before anything changes.

use std::fmt::Write as _;

use baton_runtime::core::grants::{Grants, RequestedGrants};
use baton_runtime::core::workflow::rules::RULES_FILE;
use baton_runtime::core::workflow::{GivenSetting, PolicyScope};
use baton_runtime::core::{Digest, PhaseId, RoleName, RunId};
use baton_runtime::{
    ControlMessage, ControlReply, OwnPolicies, PolicyChange, PolicyUseRequest, use_policy as put_in_place,
};
use clap::Args;
use clap::ValueHint;
use serde_json::json;

use super::new::CapabilityArg;
use super::try_policy::setting;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::conformance_record::ConformanceArgs;
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{ask_host, block_on, expect_current};
use crate::location::RunLocation;
use crate::policies::NamedComponent;
use crate::registries::RegistryArgs;
use crate::render::{self, json_record, text_format};
use crate::{conformance_record, policies, stdio};

/// Version of the records of `--format json`.
const SCHEMA: u32 = 1;

/// Switch a live run to another policy
#[derive(Debug, Args)]
#[command(
    override_usage = "baton policy use [OPTIONS] <FILE>\n       baton policy use --rollback [OPTIONS]",
    after_help = "\
Examples:
  baton policy use my-split.wasm                       everything that it decides, in the live run
  baton policy use my-split.wasm --decides splitting   only this
  baton policy use builtin:resilience --set compact-percent=60 --phase build
  baton policy use rules:house.toml                    a file of rules with its current contents
  baton policy use reader.wasm --grant 'artifacts=reports/*' --grant fuel=80000000
  baton policy use --rollback --decides splitting      back to the previous one

Before anything changes, Baton loads and tries the component, validates its settings and checks it with some hundred \
generated questions (`baton policy check` asks more). A component that breaks a rule is refused. It decides from the \
next question on; the previous policies answer the question that is open now and those from which it abstains. After \
three faults in a row (`breaker` in [policies]) the switch is reverted automatically. `--set` changes these settings \
and leaves the others of the run as they are. The switch is kept with the run: `baton resume` continues with it. If \
no host works on the run, it takes effect when one does. `baton policy which --run RUN` shows which policy decides."
)]
pub(crate) struct UseArgs {
    /// A component, a policy that is part of the host, or rules:FILE
    #[arg(value_name = "FILE", required_unless_present = "rollback", conflicts_with_all = ["rollback"], value_hint = ValueHint::FilePath)]
    policy: Option<String>,
    /// Revert a switch; if several are in place, name one with --decides
    #[arg(long, conflicts_with_all = ["settings", "grants"])]
    rollback: bool,
    /// Which run [default: the running one, else the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The decisions it takes over [default: everything that it can]
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<CapabilityArg>,
    /// Only in this phase of the workflow and its parts
    #[arg(long, value_name = "PHASE", conflicts_with = "role")]
    phase: Option<String>,
    /// Only in the phases of this role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// A setting of the policy; a list as JSON
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(String, GivenSetting)>,
    /// Grant it more than the default: artifacts=PATTERN, fuel=N, memory_mib=N
    #[arg(long = "grant", value_name = "KEY=VALUE", value_parser = grant)]
    grants: Vec<GrantArg>,
    #[command(flatten)]
    fitness: ConformanceArgs,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// One thing that is granted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GrantArg {
    Artifacts(String),
    Fuel(u64),
    MemoryMib(u32),
}

pub(super) fn use_policy(args: UseArgs) -> anyhow::Result<CliExit> {
    let run = args.run.as_deref().map(RunId::new);
    let location = RunLocation::for_writing(&args.location, run.as_ref())?;
    let (view, live) = expect_current(&location, run.as_ref())?;
    let scope = match (&args.phase, &args.role) {
        (Some(phase), _) => PolicyScope::Phase { phase: PhaseId::new(phase) },
        (None, Some(role)) => PolicyScope::Role { role: RoleName::new(role) },
        (None, None) => PolicyScope::Run,
    };
    let decides = CapabilityArg::capabilities(&args.decides);
    let run = Some(view.run.clone());
    let change = match &args.policy {
        None => match ask_host(&location, ControlMessage::RollBackPolicy { run, scope, decides })? {
            ControlReply::Changed(change) => change,
            _ => anyhow::bail!("unexpected reply from the host"),
        },
        Some(reference) => {
            let named = policies::named(reference, &RegistryArgs::of(&args.location))?;
            let settings = named.settings(&args.settings.iter().cloned().collect());
            let is_fallback = named.is_fallback();
            // A file of rules replaces the earlier one: removed rules are gone.
            let is_whole = reference.starts_with(RULES_FILE);
            if !named.built_in {
                let engine = policies::engine(&args.location)?;
                // The host refuses a component that cannot be loaded, and journals that.
                if let Ok(policy) = policies::load(&engine, reference, &named, &settings) {
                    let set = &args.settings;
                    conformance_record::require(
                        args.fitness,
                        &args.location,
                        reference,
                        set,
                        &engine,
                        &policy,
                        &decides,
                    )?;
                }
            }
            let NamedComponent { name, bytes, .. } = named;
            let wanted = PolicyUseRequest {
                run,
                reference: reference.clone(),
                name,
                file: None,
                digest: Digest::of(&bytes),
                settings,
                is_whole,
                grants: granted(&args.grants)?,
                scope,
                decides,
            };
            let bytes = (!is_fallback).then_some(&*bytes);
            block_on(put_in_place(&location.config, wanted, bytes))??
        }
    };
    match args.format.format {
        OutputFormat::Text => {
            stdio::progress(&binding_lines(&change, &args.settings, view.run.as_str(), live, &location.flags))
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&record(&change, &view.run, live))?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&record(&change, &view.run, live))?)?,
    }
    Ok(CliExit::Done)
}

/// The policies that decide from now on, and which of the given settings each has, a line each.
fn binding_lines(
    change: &PolicyChange,
    given: &[(String, GivenSetting)],
    run: &str,
    live: bool,
    flags: &str,
) -> String {
    let PolicyChange { bindings, unchanged, follows, apart, dropped } = change;
    let given: Vec<_> =
        given.iter().map(|(key, value)| format!("{key} = {}", text_format::given(value))).collect();
    let set = if given.is_empty() { String::new() } else { format!(", with {}", given.join(", ")) };
    let mut text = String::new();
    if let Some(binding) = unchanged.first() {
        let decides: Vec<_> = unchanged.iter().map(|binding| binding.capability).collect();
        let _ = writeln!(
            text,
            "{}@{} decides {} there already, with these settings: nothing has changed",
            binding.policy,
            binding.component.short(),
            text_format::list(&decides)
        );
    }
    for group in bindings.chunk_by(|a, b| a.component == b.component && a.scope == b.scope) {
        let Some(binding) = group.first() else { continue };
        let decides: Vec<_> = group.iter().map(|binding| binding.capability).collect();
        let place = match &binding.scope {
            PolicyScope::Run => format!("run {run}"),
            PolicyScope::Role { role } => format!("the phases of {role}, run {run}"),
            PolicyScope::Phase { phase } => format!("phase {phase}, run {run}"),
            PolicyScope::Shadow { .. } => format!("the shadow of run {run}"),
        };
        let place = if *follows { format!("{place}, as in the rest of the run") } else { place };
        let (policy, digest) = (&binding.policy, binding.component.short());
        let _ = writeln!(text, "{policy}@{digest} decides {} in {place}{set}", text_format::list(&decides));
        let refused = binding.grants.lacks(&binding.wants);
        if !refused.is_empty() {
            let flags = grant_flags(&refused, "");
            let _ = writeln!(
                text,
                "{policy} asks for {}; granted: {}; refused: {refused}. To grant it, repeat the command with {flags}",
                binding.wants, binding.grants
            );
        }
    }
    for OwnPolicies { scope, decides } in apart {
        let (scope, decides) = (render::which::scope(scope), text_format::list(decides));
        let _ = writeln!(text, "not in {scope}, which has a policy of its own for {decides}");
    }
    if !dropped.is_empty() {
        let _ = writeln!(
            text,
            "the new component has no setting {}: its value is dropped",
            text_format::list(dropped)
        );
    }
    if bindings.is_empty() {
        return text.trim_end().to_owned();
    }
    text.push_str(&match live {
        true => "from the next decision on".to_owned(),
        false => format!("no host is running it: `baton resume {run}{flags}` continues it"),
    });
    text
}

/// "`--grant fuel=200000000 --grant 'artifacts=reports/*'`": the flags that grant this; `of` comes before each key.
pub(crate) fn grant_flags(refused: &RequestedGrants, of: &str) -> String {
    let artifacts = refused.artifacts.iter().map(|pattern| format!("--grant '{of}artifacts={pattern}'"));
    let fuel = refused.fuel.map(|fuel| format!("--grant {of}fuel={fuel}"));
    let memory = refused.memory_mib.map(|mib| format!("--grant {of}memory_mib={mib}"));
    let flags: Vec<String> = artifacts.chain(fuel).chain(memory).collect();
    format!("`{}`", flags.join(" "))
}

fn record(change: &PolicyChange, run: &RunId, live: bool) -> serde_json::Value {
    let PolicyChange { bindings, unchanged, follows, apart, dropped } = change;
    json!({
        "schema": SCHEMA, "run": run, "live": live, "pins": bindings, "unchanged": unchanged, "follows": follows,
        "apart": apart, "dropped": dropped,
    })
}

/// Reads `KEY=VALUE`.
pub(crate) fn grant(given: &str) -> Result<GrantArg, String> {
    let (key, value) = given.split_once('=').ok_or("expected KEY=VALUE, like artifacts=reports/*")?;
    match key {
        "artifacts" if !value.is_empty() => Ok(GrantArg::Artifacts(value.to_owned())),
        "artifacts" => Err("expected the name of an artifact, in which * stands for anything".to_owned()),
        "fuel" => value.parse().map(GrantArg::Fuel).map_err(|error| format!("fuel: {error}")),
        "memory_mib" => {
            value.parse().map(GrantArg::MemoryMib).map_err(|error| format!("memory_mib: {error}"))
        }
        _ => Err(format!("unknown grant {key}: there are artifacts, fuel and memory_mib")),
    }
}

/// All of it together, held to the bounds of grants.
pub(crate) fn granted(given: &[GrantArg]) -> anyhow::Result<Grants> {
    let mut grants = Grants::default();
    for grant in given {
        match grant {
            GrantArg::Artifacts(pattern) => grants.artifacts.push(pattern.clone()),
            GrantArg::Fuel(fuel) => grants.fuel = Some(*fuel),
            GrantArg::MemoryMib(mib) => grants.memory_mib = Some(*mib),
        }
    }
    grants.check().map_err(|error| UsageError(format!("--grant: {error}")))?;
    Ok(grants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples::binding;
    use baton_runtime::core::input::PolicyBinding;
    use baton_runtime::core::observation::Capability;

    fn of(bindings: impl Into<Vec<PolicyBinding>>) -> PolicyChange {
        PolicyChange { bindings: bindings.into(), ..PolicyChange::default() }
    }

    #[test]
    fn what_is_granted_is_read_and_held_to_its_bounds() {
        // M6
        assert_eq!(grant("artifacts=reports/*"), Ok(GrantArg::Artifacts("reports/*".to_owned())));
        for (given, why) in [
            ("artifacts=", "name of an artifact"),
            ("network=yes", "unknown grant network"),
            ("fuel=much", "fuel"),
            ("fuel", "KEY=VALUE"),
        ] {
            assert!(grant(given).unwrap_err().contains(why), "{given}");
        }
        let error = granted(&[GrantArg::MemoryMib(4000)]).unwrap_err().to_string();
        assert!(error.contains("at most 256"), "{error}");
    }

    #[test]
    fn what_is_refused_is_said_with_the_flags_that_grant_it() {
        // M6
        let mut js = binding("js", Capability::Compaction, PolicyScope::Run);
        js.wants.fuel = Some(200_000_000);
        let text = binding_lines(&of([js.clone()]), &[], "r", true, "");
        let refused = "js asks for fuel 200000000; granted: nothing; refused: fuel 200000000. To grant it, repeat the command \
                       with `--grant fuel=200000000`\n";
        assert!(text.contains(refused), "{text}");
        js.wants.artifacts = vec!["reports/*".to_owned()];
        js.wants.memory_mib = Some(128);
        js.grants.fuel = Some(200_000_000);
        let text = binding_lines(&of([js.clone()]), &[], "r", true, "");
        assert!(text.contains("`--grant 'artifacts=reports/*' --grant memory_mib=128`"), "{text}");
        js.grants = js.wants.clone();
        assert!(!binding_lines(&of([js]), &[], "r", true, "").contains("refused"));
    }

    #[test]
    fn it_says_who_decides_what_from_now_on() {
        // M3
        let build = PolicyScope::Phase { phase: PhaseId::new("build") };
        let bindings = [
            binding("my-split", Capability::Splitting, build.clone()),
            binding("my-split", Capability::Handoff, build),
            binding("resilience", Capability::Exhaustion, PolicyScope::Run),
        ];
        insta::assert_snapshot!(
            "use_live",
            binding_lines(&of(bindings.clone()), &[], "20260212-103000", true, "")
        );
        let apart = OwnPolicies { scope: bindings[0].scope.clone(), decides: vec![Capability::Exhaustion] };
        let dropped = vec!["max-objectives".to_owned()];
        let change = PolicyChange { apart: vec![apart], dropped, ..of(bindings[2..].to_vec()) };
        insta::assert_snapshot!("use_apart", binding_lines(&change, &[], "20260212-103000", true, ""));
        let change = PolicyChange { follows: true, ..of(bindings[..1].to_vec()) };
        insta::assert_snapshot!("use_follows", binding_lines(&change, &[], "20260212-103000", true, ""));
        insta::assert_snapshot!(
            "use_later",
            binding_lines(&of(bindings[2..].to_vec()), &[], "20260212-103000", false, " --workspace w")
        );
    }
}
