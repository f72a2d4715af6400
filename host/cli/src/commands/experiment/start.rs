//! `baton experiment start`: checks the arms, stores their components, and writes the definition. From then on new runs are
//! enrolled; running ones do not change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use baton_lab::experiment::definition::{HASH_VERSION, SCHEMA, checked_name};
use baton_lab::experiment::{
    AnalysisPlan, ArmSpec, ExperimentArm, ExperimentDefinition, ExperimentStore, ExperimentVersion,
    RunTargeting, UnitKind, VersionState, shares,
};
use baton_runtime::core::grants::Grants;
use baton_runtime::core::ids::{ArmName, ExperimentId};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::workflow::{GivenSetting, Policies};
use baton_runtime::core::{Digest, UnixMs, Workflow};
use baton_runtime::engine::CompiledPolicy;
use baton_runtime::expect_person;
use clap::{Args, ValueEnum, ValueHint};

use super::{at, experiments, said};
use crate::args::{LocationArgs, OutputFormatArg};
use crate::commands::policy::{CapabilityArg, GrantArg, grant, grant_flags, granted, setting};
use crate::config_layers::ConfigLayers;
use crate::conformance_record::ConformanceArgs;
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::policies::PinMode;
use crate::registries::RegistryArgs;
use crate::render::{experiment as render, text_format};
use crate::{conformance_record, experiment_assignment, policies, stdio};

/// Start an experiment: new runs are enrolled from now on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment start split-v2 --control resilience --arm eager=eager.wasm:50 --unit run
  baton experiment start tri --control resilience:60 --arm a=a.wasm:20 --arm b=oci://registry.example/acme/b:1.2:20
  baton experiment start percent --control resilience --arm late=resilience --set late.compact-percent=85
  baton experiment start split-v2 --control resilience --arm eager=better.wasm --new-version
  baton experiment start small --control resilience --arm eager=eager.wasm --workflow nightly --coverage 0.2
  baton experiment start far --control resilience --arm far=foresee.wasm --grant far.fuel=200000000

A number after the last colon is a weight of 100, never a tag: `oci://host/name:50` is the newest of `oci://host/name` with weight \
50, and the tag 50 is written `oci://host/name:50:50`, or better by digest, `oci://host/name@sha256:…`. Arms without \
a weight share the remainder. The components are stored with the definition, so that an arm does not change if its \
file or tag does. Another component, setting or weight makes another experiment: `--new-version` begins it under the \
same name, and each version has its own report.

New runs of every workflow in every folder take part unless --workflow or --workspace limits it. If an arm has the component that the files of a run name, it takes the settings of those files, with its own on top: control is then what you have now. For the decisions of the arms, other policies and settings of the files are ignored; the run says so when it begins. An arm that asks for more fuel, memory or artifacts than it is granted is refused.")]
pub(crate) struct ExperimentStartArgs {
    /// Name of the experiment: ASCII letters, digits, `-`, `_`, `.`
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// Control policy: a file, oci://…, or the built-in resilience
    #[arg(long, value_name = "REF[:WEIGHT]", default_value = "resilience")]
    control: String,
    /// A candidate policy and its weight; may be given several times
    #[arg(long = "arm", value_name = "NAME=REF[:WEIGHT]", required = true, value_parser = ArmSpec::named)]
    arms: Vec<ArmSpec>,
    /// The unit of assignment
    #[arg(long, value_enum, default_value_t, value_name = "UNIT")]
    unit: AssignmentUnitArg,
    /// What the arms decide [default: everything that all of them decide]
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<CapabilityArg>,
    /// A setting of an arm's policy; a list as JSON
    #[arg(long = "set", value_name = "ARM.KEY=VALUE", value_parser = arm_setting)]
    settings: Vec<(String, String, GivenSetting)>,
    /// Grant an arm's policy more than the default: `fuel`, `memory_mib` or `artifacts`; may be given several times
    #[arg(long = "grant", value_name = "ARM.KEY=VALUE", value_parser = arm_grant)]
    grants: Vec<(String, GrantArg)>,
    /// Fraction of units to enrol (0–1)
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    coverage: f64,
    /// Seed of the hash that assigns units [default: NAME]
    #[arg(long, value_name = "SEED")]
    seed: Option<String>,
    /// Only runs of the workflow of this name
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Only runs in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    workspace: Option<PathBuf>,
    /// False-positive rate (alpha), however often you look
    #[arg(long, value_name = "SHARE", default_value_t = AnalysisPlan::default().alpha)]
    alpha: f64,
    /// Equivalence margin for completed objectives, relative to control
    #[arg(long, value_name = "SHARE", default_value_t = AnalysisPlan::default().objectives_margin)]
    objectives_margin: f64,
    /// Equivalence margin for tokens, relative to control
    #[arg(long, value_name = "SHARE", default_value_t = AnalysisPlan::default().tokens_margin)]
    tokens_margin: f64,
    /// How much worse the rates of finished runs, faults and timeouts may get before enrolment stops
    #[arg(long, value_name = "SHARE", default_value_t = AnalysisPlan::default().guardrail_margin)]
    guardrail_margin: f64,
    /// Begin the next version of an existing experiment; earlier runs are not counted with its runs
    #[arg(long)]
    new_version: bool,
    #[command(flatten)]
    fitness: ConformanceArgs,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// The unit of assignment, as the command line has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum AssignmentUnitArg {
    /// Each run separately, with its continuations, splits and restarts
    #[default]
    Run,
    /// The same work always gets the same arm
    Task,
}

impl From<AssignmentUnitArg> for UnitKind {
    fn from(unit: AssignmentUnitArg) -> Self {
        match unit {
            AssignmentUnitArg::Run => UnitKind::Run,
            AssignmentUnitArg::Task => UnitKind::Task,
        }
    }
}

fn name(given: &str) -> Result<String, String> {
    checked_name(given).map(|()| given.to_owned())
}

/// `arm.key=value`.
fn arm_setting(given: &str) -> Result<(String, String, GivenSetting), String> {
    let (arm, rest) = given.split_once('.').ok_or("expected ARM.KEY=VALUE, like eager.max-objectives=2")?;
    let (key, value) = setting(rest)?;
    Ok((arm.to_owned(), key, value))
}

/// `arm.key=value`.
fn arm_grant(given: &str) -> Result<(String, GrantArg), String> {
    let (arm, rest) = given.split_once('.').ok_or("expected ARM.KEY=VALUE, like eager.fuel=80000000")?;
    Ok((arm.to_owned(), grant(rest)?))
}

pub(super) fn start(args: ExperimentStartArgs) -> anyhow::Result<CliExit> {
    expect_person("starting an experiment")?;
    let location = at(args.state_dir.as_deref());
    let experiments = experiments(args.state_dir.as_deref())?;
    let specs: Vec<ArmSpec> = std::iter::once(ArmSpec::of("control", &args.control).map_err(UsageError)?)
        .chain(args.arms.iter().cloned())
        .collect();
    let set = args.settings.iter().map(|(arm, ..)| ("--set", arm));
    let named = set.chain(args.grants.iter().map(|(arm, _)| ("--grant", arm)));
    for (flag, arm) in named {
        if specs.iter().all(|spec| spec.name.as_str() != arm) {
            let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
            return Err(UsageError(format!(
                "{flag} names the unknown arm {arm}; there is {}",
                known.join(", ")
            ))
            .into());
        }
    }
    let fitted = fitted(&specs, &args, &location)?;
    let held = experiments.hold().map_err(said)?;
    let earlier = experiments.find(&args.name).map_err(said)?;
    let mut definition = earlier.clone().unwrap_or_else(|| ExperimentDefinition {
        schema: SCHEMA,
        name: ExperimentId::new(args.name.as_str()),
        seed: args.seed.clone().unwrap_or_else(|| args.name.clone()),
        hash_version: HASH_VERSION,
        unit: args.unit.into(),
        versions: Vec::new(),
    });
    let number = u32::try_from(definition.versions.len()).unwrap_or(u32::MAX).saturating_add(1);
    let version = version(&args, number, fitted.iter().map(|fitted| fitted.arm.clone()).collect(), &fitted)?;
    if let Some(earlier) = &earlier
        && let Some(current) = earlier.current()
    {
        let other = other(earlier, current, &version, &args);
        let is_running = current.is_running();
        match (other, args.new_version) {
            (None, false) if is_running => {
                stdio::progress(&format!("experiment {} is running already, just so", args.name));
                return render::show(earlier, &BTreeMap::new(), args.format.format).map(|()| CliExit::Done);
            }
            (None, false) => {
                return Err(UsageError(format!(
                    "experiment {} has ended; `--new-version` starts its next version, and earlier runs stay with theirs",
                    args.name
                ))
                .into());
            }
            (Some(what), false) => {
                return Err(UsageError(format!(
                    "experiment {} exists already, and {what}. With --new-version it continues as version {number}, \
                     which has its own report; or use another name",
                    args.name
                ))
                .into());
            }
            (_, true) => {
                if earlier.unit != args.unit.into()
                    || args.seed.as_ref().is_some_and(|seed| *seed != earlier.seed)
                {
                    return Err(UsageError(
                        "a new version keeps unit and seed, so that the same units stay together; for another unit or seed, use another name"
                            .to_owned(),
                    )
                    .into());
                }
            }
        }
    } else if args.new_version {
        return Err(
            UsageError(format!("there is no experiment {} yet: leave out --new-version", args.name)).into()
        );
    }
    if let Some(last) = definition.versions.last_mut().filter(|last| last.is_running()) {
        last.state = VersionState::Stopped { at: now(), why: format!("version {number} began") };
    }
    definition.versions.push(version);
    definition.check().map_err(UsageError)?;
    for ValidatedArm { bytes, .. } in &fitted {
        experiments.keep(&definition.name, bytes, &held).map_err(said)?;
    }
    experiments.write(&definition, &held).map_err(said)?;
    drop(held);
    warn_identical_arms(&definition);
    warn_overlaps(&experiments, &definition);
    print_overridden_choices(&definition, &location)?;
    render::show(&definition, &BTreeMap::new(), args.format.format)?;
    Ok(CliExit::Done)
}

/// The differences between the existing definition and the requested one.
fn other(
    earlier: &ExperimentDefinition,
    current: &ExperimentVersion,
    asked: &ExperimentVersion,
    args: &ExperimentStartArgs,
) -> Option<String> {
    if earlier.unit != UnitKind::from(args.unit) {
        return Some(format!("its unit is {}", earlier.unit.name()));
    }
    if args.seed.as_ref().is_some_and(|seed| *seed != earlier.seed) {
        return Some(format!("its seed is {:?}", earlier.seed));
    }
    asked.differs_from(current)
}

fn version(
    args: &ExperimentStartArgs,
    number: u32,
    arms: Vec<ExperimentArm>,
    fitted: &[ValidatedArm],
) -> anyhow::Result<ExperimentVersion> {
    let workspace = args.workspace.as_ref().map(|folder| {
        folder.canonicalize().map_err(|error| UsageError(format!("the folder {}: {error}", folder.display())))
    });
    Ok(ExperimentVersion {
        version: number,
        started_at: now(),
        state: VersionState::Running,
        coverage: args.coverage,
        decides: decides(args, fitted)?,
        arms,
        only: RunTargeting { workflow: args.workflow.clone(), workspace: workspace.transpose()? },
        analysis: AnalysisPlan {
            alpha: args.alpha,
            objectives_margin: args.objectives_margin,
            tokens_margin: args.tokens_margin,
            guardrail_margin: args.guardrail_margin,
        },
    })
}

/// An arm whose component was loaded, held to the contract and tried.
struct ValidatedArm {
    arm: ExperimentArm,
    bytes: Vec<u8>,
    decides: Vec<Capability>,
}

fn fitted(
    specs: &[ArmSpec],
    args: &ExperimentStartArgs,
    location: &LocationArgs,
) -> anyhow::Result<Vec<ValidatedArm>> {
    let weights = shares(specs).map_err(UsageError)?;
    let engine = policies::engine(location)?;
    let decides = CapabilityArg::capabilities(&args.decides);
    let mut fitted = Vec::new();
    for (spec, weight) in specs.iter().zip(weights) {
        let named = policies::named(&spec.reference, &RegistryArgs::of(location))?;
        let given = args.settings.iter().filter(|(arm, ..)| *arm == spec.name.as_str());
        let set: Vec<_> = given.map(|(_, key, value)| (key.clone(), value.clone())).collect();
        let settings = named.settings(&set.iter().cloned().collect());
        let configured = policies::load(&engine, &spec.reference, &named, &settings)?;
        let grants = granted_to(&spec.name, configured.policy(), &args.grants)?;
        if !named.built_in {
            conformance_record::require(
                args.fitness,
                location,
                &spec.reference,
                &set,
                &engine,
                &configured,
                &decides,
            )?;
        }
        fitted.push(ValidatedArm {
            arm: ExperimentArm {
                name: spec.name.clone(),
                reference: spec.reference.clone(),
                policy: named.name,
                component: Digest::of(&named.bytes),
                weight,
                settings,
                grants,
                unchecked: args.fitness.unchecked && !named.built_in,
            },
            decides: configured.policy().decides().to_vec(),
            bytes: named.bytes.into_owned(),
        });
    }
    Ok(fitted)
}

/// The grants of an arm. An arm that gets less than it requests would be measured by its failures.
fn granted_to(
    arm: &ArmName,
    policy: &CompiledPolicy,
    given: &[(String, GrantArg)],
) -> anyhow::Result<Grants> {
    let given = given.iter().filter(|(name, _)| name == arm.as_str()).map(|(_, grant)| grant.clone());
    let (grants, wants) = (granted(&given.collect::<Vec<_>>())?, policy.wants());
    let refused = grants.lacks(wants);
    if refused.is_empty() {
        return Ok(grants);
    }
    let (policy, flags) = (policy.name(), grant_flags(&refused, &format!("{arm}.")));
    Err(UsageError(format!(
        "arm {arm}: {policy} asks for {wants}; granted: {grants}; refused: {refused}. To grant it, repeat the command with {flags}"
    ))
    .into())
}

/// What every arm decides. An arm that cannot decide it would leave it to another policy, and then what is compared?
fn decides(args: &ExperimentStartArgs, fitted: &[ValidatedArm]) -> Result<Vec<Capability>, UsageError> {
    let can = |capability: &Capability| fitted.iter().all(|arm| arm.decides.contains(capability));
    if !args.decides.is_empty() {
        let asked = CapabilityArg::capabilities(&args.decides);
        let found: Vec<Capability> = Capability::ALL.into_iter().filter(|one| asked.contains(one)).collect();
        for capability in &found {
            if let Some(not) = fitted.iter().find(|arm| !arm.decides.contains(capability)) {
                let able = text_format::list(&not.decides.iter().collect::<Vec<_>>());
                return Err(UsageError(format!(
                    "arm {} does not decide {capability}, only {able}",
                    not.arm.name
                )));
            }
        }
        return Ok(found);
    }
    let all: Vec<Capability> = Capability::ALL.into_iter().filter(can).collect();
    if all.is_empty() {
        let each: Vec<String> = fitted
            .iter()
            .map(|arm| {
                format!(
                    "{} decides {}",
                    arm.arm.name,
                    text_format::list(&arm.decides.iter().collect::<Vec<_>>())
                )
            })
            .collect();
        return Err(UsageError(format!("the arms have no decision in common: {}", each.join("; "))));
    }
    let left: Vec<&Capability> = Capability::ALL
        .iter()
        .filter(|one| !can(one) && fitted[1..].iter().any(|arm| arm.decides.contains(one)))
        .collect();
    if !left.is_empty() {
        stdio::progress(&format!(
            "not every arm decides {}: the workflow's policies do, and the experiment does not cover it",
            text_format::list(&left)
        ));
    }
    Ok(all)
}

/// Says where two experiments would decide the same: the one that was started earlier does.
/// A trial of the method itself is allowed, but it is seldom meant.
fn warn_identical_arms(definition: &ExperimentDefinition) {
    let Some(version) = definition.current() else { return };
    let is_alike = |one: &ExperimentArm, other: &ExperimentArm| {
        (&one.component, &one.settings) == (&other.component, &other.settings)
    };
    for (index, arm) in version.arms.iter().enumerate() {
        if let Some(other) = version.arms[..index].iter().find(|other| is_alike(other, arm)) {
            stdio::progress(&format!(
                "{} and {} are the same component with the same settings: whatever they differ by will be chance",
                other.name, arm.name
            ));
        }
    }
}

fn warn_overlaps(experiments: &ExperimentStore, definition: &ExperimentDefinition) {
    for line in experiment_assignment::overlaps(experiments, definition) {
        stdio::progress(&line);
    }
}

/// Prints which runs are enrolled, and the choices in the files of the user and the folder that have no effect in them.
fn print_overridden_choices(definition: &ExperimentDefinition, args: &LocationArgs) -> anyhow::Result<()> {
    let Some(version) = definition.current() else { return Ok(()) };
    let RunTargeting { workflow, workspace } = &version.only;
    if workflow.is_none() && workspace.is_none() {
        stdio::progress(
            "new runs of every workflow in every folder take part; --workflow and --workspace limit it to some, with --new-version",
        );
    }
    let mut location = RunLocation::here(args)?;
    if let Some(folder) = workspace {
        location.config.workspace.clone_from(folder);
    }
    let folder = location.config.workspace.clone();
    let mut policies = Policies::default();
    policies.lay(ConfigLayers::read(Some(&folder))?.said());
    let files = Workflow { policies, ..Workflow::default() };
    // Unreadable components are reported by the run.
    let Ok(bundle) = policies::bundle(&files, &folder, args, PinMode::Leave) else { return Ok(()) };
    for arm in &version.arms {
        let aside = experiment_assignment::set_aside(&location.config, &files, &bundle, version, arm);
        if !aside.is_empty() {
            stdio::progress(&format!(
                "arm {} overrides {}: they do not apply in its runs, except where it abstains",
                arm.name,
                text_format::list(&aside)
            ));
        }
    }
    Ok(())
}

fn now() -> UnixMs {
    experiment_assignment::now()
}

#[cfg(test)]
mod tests {
    use baton_runtime::core::workflow::SettingValue;

    use super::*;

    // M5
    #[test]
    fn a_setting_of_an_arm_names_it() {
        let (arm, key, value) = arm_setting("late.compact-percent=85").unwrap();
        assert_eq!(
            (arm.as_str(), key.as_str(), value),
            ("late", "compact-percent", SettingValue::Integer(85).into())
        );
        assert!(arm_setting("compact-percent=85").unwrap_err().contains("ARM.KEY=VALUE"));
        assert_eq!(arm_grant("late.fuel=7").unwrap(), ("late".to_owned(), GrantArg::Fuel(7)));
        assert!(arm_grant("fuel=7").unwrap_err().contains("ARM.KEY=VALUE"));
        assert!(name("with space").is_err() && name("split-v2").is_ok());
    }
}
