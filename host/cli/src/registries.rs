//! Opens registries for a command: the store of pulled policies, the user's credentials, and the user's trust rules. Fetches
//! nothing itself.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_registry::trust::{TrustConfig, TrustResult, TrustRules};
use baton_registry::{
    ClientOptions, ContentStore, OciPin, OciReference, PolicyResolver, RegistryClient, RegistryCredentials,
    RegistryError, ResolvedPolicy, Timeouts,
};
use baton_runtime::sandbox::{find_trusted, own_trusted_path};
use clap::{Args, ValueHint};

use crate::args::LocationArgs;
use crate::exit_status::UsageError;
use crate::{config_layers, location};

/// How registries are asked, and where what they give is kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegistryArgs {
    /// Ask this registry by plain HTTP, as this machine always is; may be given several times
    #[arg(long, value_name = "HOST[:PORT]")]
    insecure: Vec<String>,
    /// Folder that keeps pulled policies [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
}

impl RegistryArgs {
    /// The location of the store of pulled policies.
    pub(crate) fn location(&self) -> LocationArgs {
        LocationArgs { state_dir: self.state_dir.clone(), ..LocationArgs::default() }
    }

    /// The default options, with the store of this location.
    pub(crate) fn of(location: &LocationArgs) -> Self {
        Self { insecure: Vec::new(), state_dir: location.state_dir.clone() }
    }
}

/// Registries, the store of pulled policies, and the trust rules.
pub(crate) fn depot(args: &RegistryArgs) -> anyhow::Result<PolicyResolver> {
    let (rules, base) = rules()?;
    let trust = rules.ready(&base).map_err(RegistryError::from)?;
    depot_with(args, rules, trust)
}

/// The same, with other keys than the user's rules name.
pub(crate) fn resolver_with_trust(args: &RegistryArgs, trust: TrustRules) -> anyhow::Result<PolicyResolver> {
    depot_with(args, rules()?.0, trust)
}

fn depot_with(args: &RegistryArgs, rules: TrustConfig, trust: TrustRules) -> anyhow::Result<PolicyResolver> {
    let options = ClientOptions {
        credentials: RegistryCredentials::of_user(|name| std::env::var_os(name))
            .with_helpers(trusted_command),
        plain_http: args.insecure.iter().cloned().chain(rules.plain_http).collect(),
        patience: Timeouts::default(),
    };
    Ok(PolicyResolver::new(
        RegistryClient::new(options),
        ContentStore::below(&location::state_root(&args.location())?),
        trust,
    ))
}

/// The command of a program, found outside of all folders that agents write in, like the programs that it starts by name.
fn trusted_command(name: &str) -> Option<Command> {
    let mut command = Command::new(find_trusted(name, std::env::var_os("PATH").as_deref())?);
    command.env("PATH", own_trusted_path());
    Some(command)
}

/// Resolves references of a workflow to registries. Rules and credentials are read on first use.
pub(crate) struct RemotePolicies<'a> {
    location: &'a LocationArgs,
    depot: OnceCell<PolicyResolver>,
}

impl<'a> RemotePolicies<'a> {
    pub(crate) fn new(location: &'a LocationArgs) -> Self {
        Self { location, depot: OnceCell::new() }
    }

    /// The policy of a reference; see [`PolicyResolver::get`].
    pub(crate) fn get(
        &self,
        reference: &OciReference,
        pin: Option<&OciPin>,
    ) -> anyhow::Result<ResolvedPolicy> {
        Ok(self.depot()?.get(reference, pin)?)
    }

    /// The same for pulled policies; see [`PolicyResolver::kept`].
    pub(crate) fn kept(
        &self,
        reference: &OciReference,
        pin: Option<&OciPin>,
    ) -> anyhow::Result<ResolvedPolicy> {
        Ok(self.depot()?.kept(reference, pin)?)
    }

    /// Refuses to contact a registry that only a file of the folder names.
    pub(crate) fn expect_known(&self, reference: &OciReference, by: &Path) -> anyhow::Result<()> {
        if self.depot()?.knows(reference) {
            return Ok(());
        }
        let by = by.display().to_string();
        Err(RegistryError::Unknown { reference: reference.to_string(), by }.into())
    }

    fn depot(&self) -> anyhow::Result<&PolicyResolver> {
        if let Some(depot) = self.depot.get() {
            return Ok(depot);
        }
        let opened = depot(&RegistryArgs::of(self.location))?;
        Ok(self.depot.get_or_init(|| opened))
    }
}

/// Whether the user's rules can be followed, before any registry is asked.
pub(crate) fn check_trust() -> anyhow::Result<()> {
    let (rules, base) = rules()?;
    rules.ready(&base).map_err(RegistryError::from)?;
    Ok(())
}

/// The user's rules, and the folder that their paths start from. Without a config there are none.
fn rules() -> anyhow::Result<(TrustConfig, PathBuf)> {
    let Some(path) = config_layers::user_config() else { return Ok(Default::default()) };
    let base = path.parent().unwrap_or(Path::new("/")).to_owned();
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let rules = TrustConfig::of_config(&text, &path).map_err(RegistryError::from)?;
            Ok((rules, base))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((TrustConfig::default(), base)),
        Err(error) => {
            Err(UsageError(format!("the config {} cannot be read: {error}", path.display())).into())
        }
    }
}

/// "signed by acme.pub".
pub(crate) fn verdict(verdict: &TrustResult) -> String {
    match verdict {
        TrustResult::Signed { by, .. } => format!("signed by {by}"),
        TrustResult::Unjudged { signatures: 1 } => "1 signature, and no rule says whose counts".to_owned(),
        TrustResult::Unjudged { signatures } => {
            format!("{signatures} signatures, and no rule says whose count")
        }
        TrustResult::Unsigned => "not signed".to_owned(),
    }
}
