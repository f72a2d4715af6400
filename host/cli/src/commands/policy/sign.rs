//! `baton policy keygen` and `baton policy sign`: a pair of keys, and a signature of a policy, in the format of cosign.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_registry::{OciReference, SigningKey};
use clap::{Args, ValueHint};
use serde_json::json;

use super::component_info::{remote, signing_key};
use crate::args::OutputFormatArg;
use crate::exit_status::{CliExit, UsageError};
use crate::files::{beside, write_whole};
use crate::policies;
use crate::registries::{self, RegistryArgs};
use crate::render::json_record;
use crate::stdio;

/// Create a key pair for signing policies
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy keygen acme          acme.key, private, signs; acme.pub, public, verifies
  baton policy keygen ~/keys/acme

ECDSA over P-256 in PEM; the private key is PKCS #8, without a password, and only you can read the file.")]
pub(crate) struct KeygenArgs {
    /// Name of the files, without .key and .pub
    #[arg(value_name = "NAME", default_value = "baton", value_hint = ValueHint::FilePath)]
    name: PathBuf,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// Sign a policy, in a registry or in a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy sign oci://registry.example/acme/careful:1.0 --key acme.key
  baton policy sign careful.wasm --key acme.key           writes careful.wasm.sig

Signatures follow cosign's format for keys: in a registry under the tag sha256-….sig, next to existing ones; for a \
file as base64, which `openssl dgst -verify` reads too.")]
pub(crate) struct SignArgs {
    /// A component, or oci://host/name:tag
    #[arg(value_name = "FILE|REFERENCE", value_hint = ValueHint::FilePath)]
    policy: String,
    /// The private key (PEM; `baton policy keygen` makes one)
    #[arg(long, value_name = "KEY.pem", value_hint = ValueHint::FilePath)]
    key: PathBuf,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn keygen(args: KeygenArgs) -> anyhow::Result<CliExit> {
    let (private, public) = (beside(&args.name, "key"), beside(&args.name, "pub"));
    let key = SigningKey::generate()?;
    // The file may be a key that is trusted.
    if public.exists() {
        return Err(taken(&public).into());
    }
    write_new(&private, key.to_pem()?.as_bytes(), 0o600)?;
    write_new(&public, key.public().to_pem()?.as_bytes(), 0o644)
        .inspect_err(|_| drop(std::fs::remove_file(&private)))?;
    let id = key.public().id();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-keygen",
        "private": private.to_string_lossy(),
        "public": public.to_string_lossy(),
        "key": id,
    });
    if !json_record::write(args.format.format, &document)? {
        stdio::progress(&format!(
            "made {} (keep it to yourself) and {} (give it to everybody), key {}",
            private.display(),
            public.display(),
            id.short()
        ));
    }
    Ok(CliExit::Done)
}

fn taken(path: &Path) -> UsageError {
    UsageError(format!("{} exists already; use another name, or move it away", path.display()))
}

fn write_new(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(mode).open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(taken(path).into()),
        file => file.with_context(|| format!("making {}", path.display()))?,
    };
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .with_context(|| format!("writing {}", path.display()))
}

pub(super) fn sign(args: SignArgs) -> anyhow::Result<CliExit> {
    let key = signing_key(&args.key)?;
    let by = key.public().id();
    let signed = |reference: Option<&str>, file: Option<&Path>| {
        json!({
            "schema": json_record::SCHEMA,
            "record": "policy-sign",
            "policy": args.policy,
            "key": by,
            "reference": reference,
            "file": file.map(Path::to_string_lossy),
        })
    };
    if OciReference::is_meant(&args.policy) {
        let reference = remote(&args.policy)?;
        let depot = registries::depot(&args.registry)?;
        let (manifest, _) = depot.registry().sign(&reference, &key)?;
        stdio::progress(&format!("signed {reference} with key {}", by.short()));
        let reference = reference.at(&manifest).to_string();
        if !json_record::write(args.format.format, &signed(Some(&reference), None))? {
            stdio::data(&format!("{reference}\n"))?;
        }
        return Ok(CliExit::Done);
    }
    let named = policies::named(&args.policy, &args.registry)?;
    if named.built_in {
        return Err(UsageError("built-in policies need no signature; name a file".into()).into());
    }
    let signature = beside(&file_of(&args.policy), "sig");
    write_whole(&signature, format!("{}\n", key.sign(&named.bytes)).as_bytes())?;
    if !json_record::write(args.format.format, &signed(None, Some(&signature)))? {
        stdio::progress(&format!("signed {} with key {}: {}", args.policy, by.short(), signature.display()));
    }
    Ok(CliExit::Done)
}

/// The file of a reference, which may have a pin after it.
pub(super) fn file_of(reference: &str) -> PathBuf {
    PathBuf::from(reference.rsplit_once("@sha256:").map_or(reference, |(file, _)| file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn keys_are_private_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("acme");
        let make = || keygen(KeygenArgs { name: name.clone(), format: OutputFormatArg::default() });
        make().unwrap();
        let private = folder.path().join("acme.key");
        assert_eq!(std::fs::metadata(&private).unwrap().permissions().mode() & 0o777, 0o600);
        let before = std::fs::read(&private).unwrap();
        assert_eq!(CliExit::of_error(&make().unwrap_err()), CliExit::Usage);
        std::fs::remove_file(folder.path().join("acme.pub")).unwrap();
        assert!(make().unwrap_err().to_string().contains("acme.key"));
        assert_eq!(std::fs::read(&private).unwrap(), before);
        assert!(!folder.path().join("acme.pub").exists(), "half a pair is none");
    }

    #[test]
    fn the_file_of_a_pinned_reference_is_the_file() {
        assert_eq!(file_of("a.wasm@sha256:00"), Path::new("a.wasm"));
        assert_eq!(file_of("a@b.wasm"), Path::new("a@b.wasm"));
        assert_eq!(beside(Path::new("x/a.wasm"), "sig"), Path::new("x/a.wasm.sig"));
    }
}
