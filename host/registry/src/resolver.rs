//! Resolves a reference in a registry to a component that may be used: from the store if it is pinned and stored, else from the
//! registry. Applies the trust rules before it stores anything. Pins nothing itself.

use baton_core::Digest;

use crate::client::RegistryClient;
use crate::content_store::{ContentStore, ContentStoreEntry};
use crate::error::RegistryError;
use crate::lock::OciPin;
use crate::oci_reference::OciReference;
use crate::sign::Signature;
use crate::trust::{TrustError, TrustResult, TrustRules};

/// The registries, the store of pulled policies, and the trust rules.
#[derive(Debug)]
pub struct PolicyResolver {
    registry: RegistryClient,
    store: ContentStore,
    trust: TrustRules,
}

/// A policy that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedPolicy {
    /// Its name for people.
    pub name: String,
    /// Its component.
    pub bytes: Vec<u8>,
    /// Its pin.
    pub pin: OciPin,
    /// The reason why it is trusted.
    pub verdict: TrustResult,
    /// It came over the network just now.
    pub fetched: bool,
}

impl PolicyResolver {
    /// Makes no request yet.
    pub fn new(registry: RegistryClient, store: ContentStore, trust: TrustRules) -> Self {
        Self { registry, store, trust }
    }

    /// Who asks registries.
    pub fn registry(&self) -> &RegistryClient {
        &self.registry
    }

    /// The store of pulled policies.
    pub fn store(&self) -> &ContentStore {
        &self.store
    }

    /// The policy of a reference. With a pin, or a digest in the reference, exactly that manifest, even if the tag has moved,
    /// and without the network if it was pulled before.
    pub fn get(
        &self,
        reference: &OciReference,
        pin: Option<&OciPin>,
    ) -> Result<ResolvedPolicy, RegistryError> {
        // A digest in the reference is newer than the pin of a lock.
        let pin = pin.filter(|pin| reference.digest().is_none_or(|digest| *digest == pin.manifest));
        let meant = reference.digest().or(pin.map(|pin| &pin.manifest));
        let delivered = match meant.map(|digest| self.store.get(digest)).transpose()?.flatten() {
            Some(kept) => {
                let verdict = self.judge_kept(reference, &kept.entry)?;
                let pin = OciPin { manifest: kept.entry.manifest, component: kept.entry.component };
                let name = reference.short_name().to_owned();
                ResolvedPolicy { name, bytes: kept.bytes, pin, verdict, fetched: false }
            }
            None => {
                let exact = meant.map_or_else(|| reference.clone(), |digest| reference.at(digest));
                self.fetch(reference, &exact)?
            }
        };
        held_to(pin, reference, delivered)
    }

    /// The same without asking a registry: a policy that was pulled before, by digest or by pin.
    ///
    /// # Errors
    /// [`RegistryError::NotPinned`] for a tag without a pin: the policy that was pulled under it may differ from the tag's
    /// current one, which a run would take. [`RegistryError::NotPulled`] if it is not here, and a refusal by the rules.
    pub fn kept(
        &self,
        reference: &OciReference,
        pin: Option<&OciPin>,
    ) -> Result<ResolvedPolicy, RegistryError> {
        let pin = pin.filter(|pin| reference.digest().is_none_or(|digest| *digest == pin.manifest));
        let absent = || RegistryError::NotPulled { reference: reference.to_string() };
        let meant = reference.digest().or(pin.map(|pin| &pin.manifest));
        let meant = meant.ok_or_else(|| RegistryError::NotPinned { reference: reference.to_string() })?;
        let kept = self.store.get(meant)?.ok_or_else(absent)?;
        let verdict = self.judge(reference, &kept.entry)?;
        let found = OciPin { manifest: kept.entry.manifest, component: kept.entry.component };
        let name = reference.short_name().to_owned();
        held_to(
            pin,
            reference,
            ResolvedPolicy { name, bytes: kept.bytes, pin: found, verdict, fetched: false },
        )
    }

    /// Whether the user's rules name the place of a reference.
    pub fn knows(&self, reference: &OciReference) -> bool {
        self.trust.names(reference)
    }

    /// The reason why a policy of the store is trusted now: rules may have changed since it was pulled.
    pub fn judge(
        &self,
        reference: &OciReference,
        entry: &ContentStoreEntry,
    ) -> Result<TrustResult, TrustError> {
        self.trust.judge(reference, &entry.manifest, &entry.signatures)
    }

    fn judge_kept(
        &self,
        reference: &OciReference,
        entry: &ContentStoreEntry,
    ) -> Result<TrustResult, RegistryError> {
        let refused = match self.judge(reference, entry) {
            Ok(verdict) => return Ok(verdict),
            Err(refused) => refused,
        };
        // It may have been signed since. If the registry cannot be asked, the refusal remains.
        let Ok(now) = self.registry.signatures(reference, &entry.manifest) else {
            return Err(refused.into());
        };
        if now.iter().all(|signature| entry.signatures.contains(signature)) {
            return Err(refused.into());
        }
        let verdict = self.trust.judge(reference, &entry.manifest, &now)?;
        self.store.keep_signatures(&entry.manifest, &now)?;
        Ok(verdict)
    }

    fn fetch(&self, reference: &OciReference, exact: &OciReference) -> Result<ResolvedPolicy, RegistryError> {
        let pulled = self.registry.pull(exact)?;
        let signatures = self.signatures(reference, &pulled.manifest)?;
        let verdict = self.trust.judge(reference, &pulled.manifest, &signatures)?;
        self.store.keep(reference, &pulled, &signatures)?;
        let pin = OciPin { manifest: pulled.manifest, component: pulled.component };
        let name = reference.short_name().to_owned();
        Ok(ResolvedPolicy { name, bytes: pulled.bytes, pin, verdict, fetched: true })
    }

    /// The signatures of a manifest. If the rules need none, an error of the registry is ignored.
    fn signatures(
        &self,
        reference: &OciReference,
        manifest: &Digest,
    ) -> Result<Vec<Signature>, RegistryError> {
        match self.registry.signatures(reference, manifest) {
            Err(_) if !self.trust.wants_signatures(reference) => Ok(Vec::new()),
            signatures => signatures,
        }
    }
}

/// Refuses another component than the pinned one.
fn held_to(
    pin: Option<&OciPin>,
    reference: &OciReference,
    delivered: ResolvedPolicy,
) -> Result<ResolvedPolicy, RegistryError> {
    match pin {
        Some(pin) if pin.component != delivered.pin.component => Err(RegistryError::PinMismatch {
            reference: reference.to_string(),
            expected: pin.component.clone(),
            found: delivered.pin.component,
        }),
        _ => Ok(delivered),
    }
}
