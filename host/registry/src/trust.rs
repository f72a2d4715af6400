//! The trust in policies: the rules of `[trust]` in a config, and their result for one policy. Fetches nothing.

use std::path::{Path, PathBuf};

use baton_core::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::oci_reference::{OciReference, is_host};
use crate::sign::{KeyError, PublicKey, Signature};

/// Largest file with a key: a key has two hundred bytes.
const KEY_BYTES_MAX: u64 = 16 * 1024;

/// The table `[trust]`, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustConfig {
    /// What becomes of a policy without a signature where no rule is about its place.
    #[serde(default)]
    pub unsigned: UnsignedAction,
    /// Registries that are asked by plain HTTP: "host:port". This machine always is.
    #[serde(default)]
    pub plain_http: Vec<String>,
    /// The first one whose `from` fits a policy is the one that counts.
    #[serde(default, rename = "rule")]
    pub rules: Vec<TrustRule>,
}

/// One `[[trust.rule]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustRule {
    /// Which policies: "host", "host/name", and `*` for any characters, as in "registry.example/acme/*".
    pub from: String,
    /// Whose signature counts: files with public keys, relative to the config, or the keys themselves ("-----BEGIN…").
    #[serde(default)]
    pub keys: Vec<String>,
    /// What becomes of a policy without a signature.
    #[serde(default = "UnsignedAction::refuse")]
    pub unsigned: UnsignedAction,
}

/// What becomes of a policy without a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnsignedAction {
    /// It is taken.
    #[default]
    Allow,
    /// It is not.
    Refuse,
}

impl UnsignedAction {
    fn refuse() -> Self {
        UnsignedAction::Refuse
    }
}

/// The rules with their keys.
#[derive(Clone, Debug, Default)]
pub struct TrustRules {
    unsigned: UnsignedAction,
    rules: Vec<(TrustRule, Vec<TrustedKey>)>,
    /// The only rule is a key that a command names.
    is_by_key: bool,
}

/// A key and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    /// Its file, or the beginning of its digest.
    pub name: String,
    /// The key.
    pub key: PublicKey,
}

/// The reason why a policy is trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "trust")]
pub enum TrustResult {
    /// Its signature is by a key that a rule names.
    Signed {
        /// The name of the key.
        by: String,
        /// Its digest.
        key: Digest,
    },
    /// It has signatures, and no rule is about its place.
    Unjudged {
        /// How many.
        signatures: usize,
    },
    /// It has none, and need not.
    Unsigned,
}

/// The reason why a policy is not trusted, or the rules cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// It has no signature.
    #[error(
        "{reference} is not signed, and {rule} requires a signature. Ask its publisher to sign it (`baton policy sign`), or change the rule"
    )]
    Unsigned {
        /// Which policy.
        reference: String,
        /// The rule that applies.
        rule: String,
    },
    /// No trusted key has signed it.
    #[error(
        "{reference} is signed, but not by {}: none of its {signatures} signatures is by {}. If its publisher has a new key, verify the new key, then add it to {rule}", keys.join(" or "),
        if keys.len() == 1 { "this key" } else { "one of these keys" }
    )]
    WrongKey {
        /// Which policy.
        reference: String,
        /// The rule that applies.
        rule: String,
        /// The keys that are trusted.
        keys: Vec<String>,
        /// How many signatures there are.
        signatures: usize,
    },
    /// The signature is of another manifest.
    #[error(
        "the signature of {reference} by {key} belongs to another policy, {signed}, not to {found}: it may have been forged. Do not use the policy, and tell its publisher"
    )]
    OtherManifest {
        /// Which policy.
        reference: String,
        /// Who signed.
        key: String,
        /// The signed digest.
        signed: Digest,
        /// The actual digest.
        found: Digest,
    },
    /// A rule trusts no key.
    #[error("{reference} is refused: {rule} has no keys, so nothing from there is trusted")]
    Nobody {
        /// Which policy.
        reference: String,
        /// The rule that applies.
        rule: String,
    },
    /// A key cannot be read.
    #[error("cannot use the key {key} of {rule}: {why}")]
    Key {
        /// The key as the rule names it.
        key: String,
        /// The rule with the key.
        rule: String,
        /// The defect.
        why: String,
    },
    /// A rule has no usable `from`.
    #[error("{rule} in [trust] matches nothing: write \"host/name\", where * stands for any characters")]
    From {
        /// The rule.
        rule: String,
    },
    /// The table itself is invalid.
    #[error("[trust] in {}: {why}", path.display())]
    Config {
        /// The config.
        path: PathBuf,
        /// The error, with its line.
        why: String,
    },
    /// A host name is invalid.
    #[error("plain_http in [trust] names {host:?}, which is neither \"host\" nor \"host:port\"")]
    Host {
        /// The given text.
        host: String,
    },
}

impl TrustError {
    /// Whether a policy was refused; otherwise the rules themselves are wrong.
    pub fn is_refusal(&self) -> bool {
        !matches!(self, Self::Key { .. } | Self::From { .. } | Self::Config { .. } | Self::Host { .. })
    }
}

impl TrustConfig {
    /// The table `[trust]` of a config; its other tables are not read here. `path` is for messages.
    pub fn of_config(text: &str, path: &Path) -> Result<Self, TrustError> {
        #[derive(Deserialize)]
        struct ConfigWithTrust {
            #[serde(default)]
            trust: TrustConfig,
        }
        let config: Result<ConfigWithTrust, _> = toml::from_str(text);
        config
            .map(|config| config.trust)
            .map_err(|e| TrustError::Config { path: path.to_owned(), why: e.to_string() })
    }

    /// Reads the keys. Relative paths start from `base`, the folder of the config.
    pub fn ready(&self, base: &Path) -> Result<TrustRules, TrustError> {
        if let Some(host) = self.plain_http.iter().find(|host| !is_host(host)) {
            return Err(TrustError::Host { host: host.clone() });
        }
        let mut rules = Vec::new();
        for rule in &self.rules {
            if rule.from.is_empty() || rule.from.contains("://") {
                return Err(TrustError::From { rule: named(&rule.from) });
            }
            let keys = rule.keys.iter().map(|key| {
                read_key(key, base).map_err(|why| TrustError::Key {
                    key: if is_inline(key) { "written there".to_owned() } else { key.clone() },
                    rule: named(&rule.from),
                    why,
                })
            });
            rules.push((rule.clone(), keys.collect::<Result<_, _>>()?));
        }
        Ok(TrustRules { unsigned: self.unsigned, rules, is_by_key: false })
    }
}

impl TrustedKey {
    /// Reads one from a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let pem = read_bounded(path).map_err(|e| format!("{name}: {e}"))?;
        PublicKey::from_pem(&pem).map(|key| Self { name, key }).map_err(|e: KeyError| e.to_string())
    }
}

impl TrustRules {
    /// Trusts only policies that this key has signed.
    pub fn only(key: TrustedKey) -> Self {
        let rule = TrustRule { from: "*".into(), keys: Vec::new(), unsigned: UnsignedAction::Refuse };
        Self { unsigned: UnsignedAction::Refuse, rules: vec![(rule, vec![key])], is_by_key: true }
    }

    /// Whether a rule is about the place of a policy.
    pub fn names(&self, reference: &OciReference) -> bool {
        self.rule(reference).is_some()
    }

    /// Whether signatures decide anything about a policy.
    pub fn wants_signatures(&self, reference: &OciReference) -> bool {
        self.rule(reference).map_or(self.unsigned == UnsignedAction::Refuse, |_| true)
    }

    /// Whether a policy with these signatures is trusted.
    pub fn judge(
        &self,
        reference: &OciReference,
        manifest: &Digest,
        signatures: &[Signature],
    ) -> Result<TrustResult, TrustError> {
        let of_it = || reference.at(manifest).to_string();
        let Some((rule, keys)) = self.rule(reference) else {
            return match (signatures.len(), self.unsigned) {
                (0, UnsignedAction::Refuse) => {
                    Err(TrustError::Unsigned { reference: of_it(), rule: "`unsigned` in [trust]".into() })
                }
                (0, UnsignedAction::Allow) => Ok(TrustResult::Unsigned),
                (_, UnsignedAction::Refuse) => {
                    Err(TrustError::Nobody { reference: of_it(), rule: "[trust] outside its rules".into() })
                }
                (signatures, UnsignedAction::Allow) => Ok(TrustResult::Unjudged { signatures }),
            };
        };
        let rule_name = if self.is_by_key { "--key".to_owned() } else { named(&rule.from) };
        if signatures.is_empty() && rule.unsigned == UnsignedAction::Allow {
            return Ok(TrustResult::Unsigned);
        }
        if keys.is_empty() {
            return match rule.unsigned {
                UnsignedAction::Allow => Ok(TrustResult::Unjudged { signatures: signatures.len() }),
                UnsignedAction::Refuse => Err(TrustError::Nobody { reference: of_it(), rule: rule_name }),
            };
        }
        if signatures.is_empty() {
            return Err(TrustError::Unsigned { reference: of_it(), rule: rule_name });
        }
        let mut of_another = None;
        for signature in signatures {
            let Some(by) = keys.iter().find(|trusted| signature.is_by(&trusted.key)) else { continue };
            match signature.manifest() {
                Some(signed) if signed == *manifest => {
                    return Ok(TrustResult::Signed { by: by.name.clone(), key: by.key.id() });
                }
                Some(signed) => of_another = Some((by.name.clone(), signed)),
                None => {}
            }
        }
        Err(match of_another {
            Some((key, signed)) => {
                TrustError::OtherManifest { reference: of_it(), key, signed, found: manifest.clone() }
            }
            None => TrustError::WrongKey {
                reference: of_it(),
                rule: rule_name,
                keys: keys.iter().map(|key| key.name.clone()).collect(),
                signatures: signatures.len(),
            },
        })
    }

    fn rule(&self, reference: &OciReference) -> Option<&(TrustRule, Vec<TrustedKey>)> {
        let place = reference.place();
        self.rules.iter().find(|(rule, _)| {
            let pattern = rule.from.to_ascii_lowercase();
            fits(&pattern, &place) || (!pattern.contains('/') && fits(&format!("{pattern}/*"), &place))
        })
    }
}

fn named(from: &str) -> String {
    format!("the rule for {from:?}")
}

fn is_inline(key: &str) -> bool {
    key.trim_start().starts_with("-----BEGIN")
}

fn read_key(key: &str, base: &Path) -> Result<TrustedKey, String> {
    if is_inline(key) {
        let key = PublicKey::from_pem(key).map_err(|e| e.to_string())?;
        return Ok(TrustedKey { name: key.id().short().to_owned(), key });
    }
    let path: PathBuf = base.join(key);
    TrustedKey::read(&path)
}

/// A small text file.
fn read_bounded(path: &Path) -> std::io::Result<String> {
    use std::io::Read as _;
    let mut text = String::new();
    // Checked before it is opened: opening a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    std::fs::File::open(path)?.take(KEY_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether a text matches a pattern, in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        // The earliest match leaves most for the rest.
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
