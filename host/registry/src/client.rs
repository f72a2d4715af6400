//! The client of a registry: pull, push, signatures, by the distribution protocol. Checks the digest of everything it receives
//! and stores nothing: `trust.rs` decides about trust, `content_store.rs` stores.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use baton_core::Digest;

use crate::artifact::{
    CONFIG_BYTES_MAX, Descriptor, MANIFEST_TYPE, Manifest, PolicyArtifact, json, media_type,
};
use crate::auth::{self, Challenge, RegistryAccess};
use crate::credentials::RegistryCredentials;
use crate::error::{RegistryError, said};
use crate::http::{HttpClient, RegistryRequest, RegistryResponse, Timeouts, host_of};
use crate::oci_reference::OciReference;
use crate::policy_reference::COMPONENT_BYTES_MAX;
use crate::sign::{
    PAYLOAD_BYTES_MAX, PAYLOAD_TYPE, SIGNATURE_ANNOTATION, Signature, SigningKey, signature_tag,
};

/// Largest manifest, as the specification has it.
const MANIFEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Most signatures of one policy that are read: each costs a request, and a policy has a few publishers at most.
const SIGNATURES_MAX: usize = 32;

/// Options of the client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The source of credentials.
    pub credentials: RegistryCredentials,
    /// "host:port" of registries that are asked by plain HTTP. This machine always is.
    pub plain_http: Vec<String>,
    /// How long a registry may take.
    pub patience: Timeouts,
}

/// Asks registries, and remembers for its lifetime how each lets it in.
#[derive(Debug)]
pub struct RegistryClient {
    http: HttpClient,
    credentials: RegistryCredentials,
    /// The `Authorization` that was last taken, by host, name and access.
    admitted: Mutex<BTreeMap<(String, String, RegistryAccess), String>>,
}

/// A policy as it came: every digest has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledPolicy {
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The digest of the component.
    pub component: Digest,
    /// The component.
    pub bytes: Vec<u8>,
    pub(crate) manifest_bytes: Vec<u8>,
    pub(crate) config_bytes: Vec<u8>,
}

impl RegistryClient {
    /// Makes no request yet.
    pub fn new(options: ClientOptions) -> Self {
        Self {
            http: HttpClient::new(options.plain_http, options.patience),
            credentials: options.credentials,
            admitted: Mutex::default(),
        }
    }

    /// Fetches a policy. A tag is resolved to its current manifest.
    pub fn pull(&self, reference: &OciReference) -> Result<PulledPolicy, RegistryError> {
        let (manifest_bytes, digest) = self.manifest(reference)?;
        let manifest = Manifest::parse(&manifest_bytes, reference)?;
        let layer = manifest.component(reference)?;
        let config_bytes = self.blob(reference, "the config", &manifest.config, CONFIG_BYTES_MAX)?;
        let bytes = self.blob(reference, "the component", layer, COMPONENT_BYTES_MAX)?;
        let component = layer.digest.clone();
        Ok(PulledPolicy { manifest: digest, component, bytes, manifest_bytes, config_bytes })
    }

    /// The digest of the manifest of a policy.
    pub fn resolve(&self, reference: &OciReference) -> Result<Digest, RegistryError> {
        let (bytes, digest) = self.manifest(reference)?;
        Manifest::parse(&bytes, reference)?.component(reference)?;
        Ok(digest)
    }

    /// Puts a policy under a tag. Gives back the digest of its manifest, which is the same each time.
    pub fn push(&self, reference: &OciReference, artifact: &PolicyArtifact) -> Result<Digest, RegistryError> {
        let unfit = |why: &str| RegistryError::Push { reference: reference.to_string(), why: why.to_owned() };
        let digest = artifact.digest();
        if reference.digest().is_some_and(|wanted| *wanted != digest) {
            return Err(unfit("the digest is that of another policy; name a tag"));
        }
        let Some(tag) = reference.tag() else {
            return Err(unfit("it has no tag; write oci://host/name:tag"));
        };
        self.put_blob(reference, &artifact.config)?;
        self.put_blob(reference, &artifact.component)?;
        self.put_manifest(reference, tag, &artifact.manifest)?;
        Ok(digest)
    }

    /// The signatures of a manifest: the content of the tag that cosign gives them. The caller decides whether to trust them.
    pub fn signatures(
        &self,
        reference: &OciReference,
        manifest: &Digest,
    ) -> Result<Vec<Signature>, RegistryError> {
        let Some(found) = self.signature_manifest(reference, manifest)? else { return Ok(Vec::new()) };
        let mut signatures = Vec::new();
        for layer in found.layers.iter().filter(|layer| layer.media_type == PAYLOAD_TYPE).take(SIGNATURES_MAX)
        {
            let Some(signature) = layer.annotations.get(SIGNATURE_ANNOTATION) else { continue };
            let payload = self.blob(reference, "the signed document", layer, PAYLOAD_BYTES_MAX)?;
            // A signed document is text.
            let Ok(payload) = String::from_utf8(payload) else { continue };
            signatures.push(Signature { payload, signature: signature.clone() });
        }
        Ok(signatures)
    }

    /// Signs the current manifest of a reference, and adds the signature to the existing ones. Returns the signed digest and
    /// the signature.
    pub fn sign(
        &self,
        reference: &OciReference,
        key: &SigningKey,
    ) -> Result<(Digest, Signature), RegistryError> {
        let digest = self.resolve(reference)?;
        let signature = Signature::of(key, reference, &digest);
        let mut layer = Descriptor::of(PAYLOAD_TYPE, signature.payload.as_bytes());
        layer.annotations = BTreeMap::from([(SIGNATURE_ANNOTATION.to_owned(), signature.signature.clone())]);
        let mut layers =
            self.signature_manifest(reference, &digest)?.map(|there| there.layers).unwrap_or_default();
        if layers.contains(&layer) {
            return Ok((digest, signature));
        }
        layers.push(layer);
        let config = signature_config(&layers);
        self.put_blob(reference, signature.payload.as_bytes())?;
        self.put_blob(reference, &config)?;
        let manifest = Manifest::new(Descriptor::of(SIGNATURE_CONFIG_TYPE, &config), layers);
        self.put_manifest(reference, &signature_tag(&digest), &manifest.to_bytes())?;
        Ok((digest, signature))
    }

    fn signature_manifest(
        &self,
        reference: &OciReference,
        manifest: &Digest,
    ) -> Result<Option<Manifest>, RegistryError> {
        let beside = reference.tagged(signature_tag(manifest));
        match self.manifest(&beside) {
            Ok((bytes, _)) => Manifest::parse(&bytes, &beside).map(Some),
            Err(RegistryError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The bytes of a manifest, with its digest.
    fn manifest(&self, reference: &OciReference) -> Result<(Vec<u8>, Digest), RegistryError> {
        let url = format!("{}/manifests/{}", self.repository(reference), reference.wanted());
        let request = RegistryRequest {
            method: "GET",
            url: &url,
            headers: &[("accept", MANIFEST_TYPE)],
            body: None,
            what: "the manifest",
            bytes_max: MANIFEST_BYTES_MAX,
        };
        let answer = self.ask(reference, RegistryAccess::Pull, &request)?;
        if answer.status == 404 {
            return Err(RegistryError::NotFound { reference: reference.to_string() });
        }
        expect_success(&answer, &url)?;
        let kind = answer.header("content-type").unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if kind != MANIFEST_TYPE {
            return Err(media_type(reference, "manifest", MANIFEST_TYPE, kind));
        }
        let found = Digest::of(&answer.body);
        let told = || answer.header("docker-content-digest").and_then(|digest| digest.parse().ok());
        if let Some(expected) = reference.digest().cloned().or_else(told).filter(|digest| *digest != found) {
            let reference = reference.to_string();
            return Err(RegistryError::WrongDigest { what: "the manifest", reference, expected, found });
        }
        Ok((answer.body, found))
    }

    /// A blob as its descriptor has it.
    fn blob(
        &self,
        reference: &OciReference,
        what: &'static str,
        descriptor: &Descriptor,
        bytes_max: u64,
    ) -> Result<Vec<u8>, RegistryError> {
        let url = format!("{}/blobs/{}", self.repository(reference), descriptor.digest);
        let request = RegistryRequest { method: "GET", url: &url, headers: &[], body: None, what, bytes_max };
        let answer = self.ask(reference, RegistryAccess::Pull, &request)?;
        if answer.status == 404 {
            let why = format!("{what}, {}, is not in the registry", descriptor.digest);
            return Err(RegistryError::Manifest { reference: reference.to_string(), why });
        }
        expect_success(&answer, &url)?;
        let found = Digest::of(&answer.body);
        if found == descriptor.digest {
            return Ok(answer.body);
        }
        if (answer.body.len() as u64) < descriptor.size && !answer.is_whole() {
            let why = format!("{} of {} bytes came", answer.body.len(), descriptor.size);
            return Err(RegistryError::BrokeOff { url, why });
        }
        let (reference, expected) = (reference.to_string(), descriptor.digest.clone());
        Err(RegistryError::WrongDigest { what, reference, expected, found })
    }

    fn put_blob(&self, reference: &OciReference, bytes: &[u8]) -> Result<(), RegistryError> {
        let (digest, repository) = (Digest::of(bytes), self.repository(reference));
        let url = format!("{repository}/blobs/{digest}");
        let ask = |method, url: &str, headers: &[(&'static str, &str)], body| {
            let what = "the answer";
            let request = RegistryRequest { method, url, headers, body, what, bytes_max: MANIFEST_BYTES_MAX };
            self.ask(reference, RegistryAccess::Push, &request)
        };
        if ask("HEAD", &url, &[], None)?.is_success() {
            return Ok(());
        }
        let url = format!("{repository}/blobs/uploads/");
        let started = ask("POST", &url, &[], Some(&[]))?;
        expect_success(&started, &url)?;
        let location = started.header("location").unwrap_or_default();
        let url = match location {
            whole if whole.starts_with("https://") || whole.starts_with("http://") => whole.to_owned(),
            path if path.starts_with('/') => format!("{}{path}", self.http.base(reference.host())),
            _ => {
                let why = "its reply names no place to upload to".to_owned();
                return Err(RegistryError::Push { reference: reference.to_string(), why });
            }
        };
        if !self.http.is_safe(&url) {
            let why = format!("it sends the upload to {}, which is not HTTPS", said(url.as_bytes()));
            return Err(RegistryError::Push { reference: reference.to_string(), why });
        }
        let url = format!("{url}{}digest={digest}", if url.contains('?') { '&' } else { '?' });
        let put = ask("PUT", &url, &[("content-type", "application/octet-stream")], Some(bytes))?;
        expect_success(&put, &url)
    }

    fn put_manifest(&self, reference: &OciReference, tag: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        let url = format!("{}/manifests/{tag}", self.repository(reference));
        let request = RegistryRequest {
            method: "PUT",
            url: &url,
            headers: &[("content-type", MANIFEST_TYPE)],
            body: Some(bytes),
            what: "the answer",
            bytes_max: MANIFEST_BYTES_MAX,
        };
        let answer = self.ask(reference, RegistryAccess::Push, &request)?;
        expect_success(&answer, &url)?;
        let kept: Option<Digest> =
            answer.header("docker-content-digest").and_then(|digest| digest.parse().ok());
        match kept {
            Some(found) if found != Digest::of(bytes) => Err(RegistryError::WrongDigest {
                what: "the manifest",
                reference: reference.to_string(),
                expected: Digest::of(bytes),
                found,
            }),
            _ => Ok(()),
        }
    }

    /// One request, and a second one with credentials if the first is challenged.
    fn ask(
        &self,
        reference: &OciReference,
        access: RegistryAccess,
        request: &RegistryRequest<'_>,
    ) -> Result<RegistryResponse, RegistryError> {
        // An upload, or by a redirect anything, may be sent to another host, which has no business with our credentials.
        let is_own = host_of(request.url) == Some(reference.host());
        let key = (reference.host().to_owned(), reference.name().to_owned(), access);
        let admitted = || self.admitted.lock().unwrap_or_else(PoisonError::into_inner);
        let known = is_own.then(|| admitted().get(&key).cloned()).flatten();
        let answer = self.send(reference.host(), request, known.as_deref())?;
        if !matches!(answer.status, 401 | 403) || !is_own || answer.host.as_deref() != Some(reference.host())
        {
            return Ok(answer);
        }
        let login = self.credentials.for_host(reference.host())?;
        let refused = || RegistryError::Unauthorized {
            host: reference.host().to_owned(),
            what: match access {
                RegistryAccess::Pull => format!("to give {}", reference.name()),
                RegistryAccess::Push => format!("to take {}", reference.name()),
            },
            had_credentials: login.is_some(),
        };
        let headers = answer.headers.get_all("www-authenticate").iter();
        let challenges: Vec<Challenge> =
            headers.filter_map(|header| Challenge::parse(header.to_str().ok()?)).collect();
        let bearer = challenges.iter().find(|challenge| matches!(challenge, Challenge::Bearer { .. }));
        let challenge = bearer.or(challenges.first()).ok_or_else(refused)?;
        let authorization =
            auth::answer(&self.http, challenge, reference.host(), reference.name(), access, login.as_ref())?
                .ok_or_else(refused)?;
        let answer = self.send(reference.host(), request, Some(&authorization))?;
        if matches!(answer.status, 401 | 403) {
            return Err(refused());
        }
        admitted().insert(key, authorization);
        Ok(answer)
    }

    fn send(
        &self,
        host: &str,
        request: &RegistryRequest<'_>,
        authorization: Option<&str>,
    ) -> Result<RegistryResponse, RegistryError> {
        let mut headers = request.headers.to_vec();
        headers.extend(authorization.map(|value| ("authorization", value)));
        self.http.send(host, &RegistryRequest { headers: &headers, ..*request })
    }

    fn repository(&self, reference: &OciReference) -> String {
        format!("{}/v2/{}", self.http.base(reference.host()), reference.name())
    }
}

/// The media type of the config of signatures: cosign stores them as an image without files.
const SIGNATURE_CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";

fn signature_config(layers: &[Descriptor]) -> Vec<u8> {
    let digests: Vec<&Digest> = layers.iter().map(|layer| &layer.digest).collect();
    json(&serde_json::json!({
        "architecture": "",
        "config": {},
        "created": "0001-01-01T00:00:00Z",
        "os": "",
        "rootfs": { "diff_ids": digests, "type": "layers" },
    }))
}

fn expect_success(answer: &RegistryResponse, url: &str) -> Result<(), RegistryError> {
    if answer.is_success() {
        return Ok(());
    }
    Err(RegistryError::Status { status: answer.status, url: url.to_owned(), said: said(&answer.body) })
}
