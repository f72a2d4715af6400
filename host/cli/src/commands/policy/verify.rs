//! `baton policy verify`: is a policy signed by a trusted key? Keeps one that is, and changes nothing else.

use std::path::{Path, PathBuf};

use baton_registry::trust::{TrustResult, TrustRules, TrustedKey};
use baton_registry::{LOCK_FILE, OciReference, PolicyLock, RegistryError};
use baton_runtime::core::Digest;
use clap::{Args, ValueHint};
use serde_json::json;

use super::component_info::remote;
use super::sign::file_of;
use crate::args::{OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::files::beside;
use crate::policies::{self, refused};
use crate::registries::{self, RegistryArgs};
use crate::render::json_record;
use crate::render::terminal_style::{self, Tone};
use crate::stdio;

/// Largest signature of a file: base64 of some seventy bytes.
const SIGNATURE_BYTES_MAX: u64 = 4 * 1024;

/// Verify who signed a policy, in a registry or in a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy verify oci://registry.example/acme/careful:1.0 --key acme.pub
  baton policy verify oci://registry.example/acme/careful:1.0        by [trust] in your config
  baton policy verify careful.wasm --key acme.pub           by careful.wasm.sig beside it

Exits with 0 only if a trusted key signed it.")]
pub(crate) struct VerifyArgs {
    /// A component, or oci://host/name:tag
    #[arg(value_name = "FILE|REFERENCE", value_hint = ValueHint::FilePath)]
    policy: String,
    /// The public key that has to have signed it (PEM)
    #[arg(long, value_name = "PUB.pem", value_hint = ValueHint::FilePath)]
    key: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// The results.
struct SignatureVerification {
    component: Digest,
    /// Of a policy in a registry.
    manifest: Option<Digest>,
    verdict: TrustResult,
    /// The manifest that `baton.lock` pins, if that is the verified one.
    pinned: Option<Digest>,
    /// If the tag has moved: its new target, and the state of that one's signatures.
    moved_tag: Option<String>,
}

pub(super) fn verify(args: VerifyArgs) -> anyhow::Result<CliExit> {
    let key = args.key.as_deref().map(TrustedKey::read).transpose().map_err(UsageError)?;
    let verified = match OciReference::is_meant(&args.policy) {
        true => of_registry(&args, key)?,
        false => of_file(&args.policy, key, &args.registry)?,
    };
    let is_signed = matches!(verified.verdict, TrustResult::Signed { .. });
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-verify",
        "policy": args.policy,
        "component": verified.component,
        "manifest": verified.manifest,
        "verified": is_signed,
        "verdict": verified.verdict,
        "pinned": verified.pinned,
        "tag_now": verified.moved_tag,
    });
    match args.format.format {
        OutputFormat::Text => {
            let look = terminal_style::stdout();
            let (word, tone) = if is_signed { ("verified", Tone::Good) } else { ("not verified", Tone::Bad) };
            let (word, why) = (look.paint(tone, word), registries::verdict(&verified.verdict));
            let digest = verified.manifest.as_ref().unwrap_or(&verified.component);
            let pinned = if verified.pinned.is_some() { "\nthis is what baton.lock pins here" } else { "" };
            let tag = verified.moved_tag.map(|now| format!("\nthe tag leads elsewhere now: {now}"));
            let tag = tag.unwrap_or_default();
            stdio::data(&format!("{word}: {}  {digest}\n{why}{pinned}{tag}\n", args.policy))?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    if !is_signed {
        stdio::progress(
            "no rule refuses it, so it would still be used; require a signature with --key PUB.pem, or with a rule in [trust]",
        );
    }
    Ok(if is_signed { CliExit::Done } else { CliExit::PolicyRefused })
}

fn of_registry(args: &VerifyArgs, key: Option<TrustedKey>) -> anyhow::Result<SignatureVerification> {
    let reference = remote(&args.policy)?;
    let depot = match key {
        Some(key) => registries::resolver_with_trust(&args.registry, TrustRules::only(key))?,
        None => registries::depot(&args.registry)?,
    };
    // The version that this folder pinned is verified.
    let pin = PolicyLock::read(Path::new(LOCK_FILE))?.oci(&reference);
    let delivered = depot.get(&reference, pin.as_ref())?;
    let moved_tag = pin.as_ref().and_then(|pin| match depot.get(&reference, None) {
        Ok(now) if now.pin.manifest == pin.manifest => None,
        Ok(now) => Some(format!("{} ({})", now.pin.manifest, registries::verdict(&now.verdict))),
        Err(RegistryError::Trust(error)) if error.is_refusal() => Some(error.to_string()),
        // Of a registry that cannot be reached nothing is known.
        Err(_) => None,
    });
    let (manifest, component) = (Some(delivered.pin.manifest), delivered.pin.component);
    let pinned = pin.map(|pin| pin.manifest);
    Ok(SignatureVerification { component, manifest, verdict: delivered.verdict, pinned, moved_tag })
}

fn of_file(
    reference: &str,
    key: Option<TrustedKey>,
    registry: &RegistryArgs,
) -> anyhow::Result<SignatureVerification> {
    use std::io::Read as _;
    let Some(key) = key else {
        return Err(UsageError(
            "the rules of [trust] apply to registries; for a file, name the key with --key PUB.pem".into(),
        )
        .into());
    };
    let named = policies::named(reference, registry)?;
    let path = beside(&file_of(reference), "sig");
    let unread = |error: std::io::Error| {
        UsageError(format!(
            "the signature {}: {error}; `baton policy sign {reference} --key KEY.pem` makes one",
            path.display()
        ))
    };
    let mut signature = String::new();
    let file = std::fs::File::open(&path).map_err(unread)?;
    file.take(SIGNATURE_BYTES_MAX).read_to_string(&mut signature).map_err(unread)?;
    if !key.key.has_signed(&named.bytes, &signature) {
        let why = format!(
            "{} is not by {} over these bytes: another key signed it, or the file changed since",
            path.display(),
            key.name
        );
        return Err(refused(reference, &why).into());
    }
    let verdict = TrustResult::Signed { by: key.name, key: key.key.id() };
    let component = Digest::of(&named.bytes);
    Ok(SignatureVerification { component, manifest: None, verdict, pinned: None, moved_tag: None })
}
