//! Keys and signatures. A signature of a manifest follows cosign's format: ECDSA over P-256 and SHA-256 of a small JSON
//! document that names the manifest's digest. `trust.rs` decides which keys count.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use baton_core::Digest;
use p256::SecretKey;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{DerSignature, VerifyingKey};
use p256::pkcs8::{DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use serde::{Deserialize, Serialize};

use crate::artifact::json;
use crate::oci_reference::OciReference;

/// The media type of the layer of a signature.
pub const PAYLOAD_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of that layer with the signature itself.
pub const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// The type that the signed document declares.
const PAYLOAD_KIND: &str = "cosign container image signature";

/// Largest signed document: three short texts, and the additions of other tools.
pub(crate) const PAYLOAD_BYTES_MAX: u64 = 64 * 1024;

/// The reason why a key or a signature is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Of cosign's own encrypted kind.
    #[error(
        "it is encrypted, and this version reads only unencrypted keys. `baton policy keygen` makes one, and `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` does as well"
    )]
    Encrypted,
    /// Not a private key of the kind that signs.
    #[error("it is not a private key for ECDSA over P-256 in PEM (PKCS #8): {0}")]
    Private(String),
    /// Not a public key of the kind that signs.
    #[error("it is not a public key for ECDSA over P-256 in PEM: {0}")]
    Public(String),
    /// The system gives no randomness.
    #[error("the system gives no randomness: {0}")]
    Random(String),
}

/// A key that signs. Shown without its secret.
#[derive(Clone)]
pub struct SigningKey(p256::ecdsa::SigningKey);

/// A key that verifies signatures.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl SigningKey {
    /// A fresh one.
    pub fn generate() -> Result<Self, KeyError> {
        loop {
            let mut secret = [0_u8; 32];
            getrandom::fill(&mut secret).map_err(|error| KeyError::Random(error.to_string()))?;
            // About one in 2^32 is not a number of the curve.
            if let Ok(key) = SecretKey::from_slice(&secret) {
                return Ok(Self(key.into()));
            }
        }
    }

    /// Reads PKCS #8 or SEC 1, which `openssl ecparam` writes.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        if pem.contains("BEGIN ENCRYPTED") {
            return Err(KeyError::Encrypted);
        }
        // OpenSSL writes the curve before the key, in a block of its own.
        let pem = pem.find("-----BEGIN EC PRIVATE KEY").map_or(pem, |at| &pem[at..]);
        SecretKey::from_pem(pem.trim())
            .map(|key| Self(key.into()))
            .map_err(|e| KeyError::Private(e.to_string()))
    }

    /// PKCS #8, for its owner only.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let key = SecretKey::from(self.0.as_nonzero_scalar());
        let pem = key.to_pkcs8_pem(LineEnding::LF).map_err(|e| KeyError::Private(e.to_string()))?;
        Ok(pem.to_string())
    }

    /// Its other half.
    pub fn public(&self) -> PublicKey {
        PublicKey(*self.0.verifying_key())
    }

    /// The signature of these bytes: DER in base64, as cosign and OpenSSL have it. Always the same for the same bytes.
    pub fn sign(&self, message: &[u8]) -> String {
        let signature: DerSignature = self.0.sign(message);
        BASE64_STANDARD.encode(signature.as_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {:?})", self.public())
    }
}

impl PublicKey {
    /// Reads "-----BEGIN PUBLIC KEY-----".
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        VerifyingKey::from_public_key_pem(pem.trim()).map(Self).map_err(|e| KeyError::Public(e.to_string()))
    }

    /// "-----BEGIN PUBLIC KEY-----".
    pub fn to_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|e| KeyError::Public(e.to_string()))
    }

    /// The id of a key: the digest of its DER form, which `openssl pkey -pubin -outform DER | sha256sum` gives too.
    pub fn id(&self) -> Digest {
        let der = self.0.to_public_key_der().map(|der| der.as_bytes().to_vec());
        // A key that was read or made can be written.
        Digest::of(der.unwrap_or_default())
    }

    /// Whether its owner signed these bytes; `signature` is DER in base64.
    pub fn has_signed(&self, message: &[u8], signature: &str) -> bool {
        let Ok(der) = BASE64_STANDARD.decode(signature.trim()) else { return false };
        DerSignature::from_bytes(&der).is_ok_and(|signature| self.0.verify(message, &signature).is_ok())
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id().short())
    }
}

/// A signature of a manifest, with the document that it is made over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The document.
    pub payload: String,
    /// DER in base64.
    pub signature: String,
}

#[derive(Serialize, Deserialize)]
struct SignedPayload {
    critical: SignedPayloadCritical,
    /// Further content of its author; all of it is ignored.
    optional: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct SignedPayloadCritical {
    identity: SignedIdentity,
    image: SignedImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Serialize, Deserialize)]
struct SignedIdentity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

#[derive(Serialize, Deserialize)]
struct SignedImage {
    #[serde(rename = "docker-manifest-digest")]
    digest: Digest,
}

impl Signature {
    /// Signs the manifest of this digest at this place.
    pub fn of(key: &SigningKey, reference: &OciReference, manifest: &Digest) -> Self {
        let payload = SignedPayload {
            critical: SignedPayloadCritical {
                identity: SignedIdentity { reference: reference.place() },
                image: SignedImage { digest: manifest.clone() },
                kind: PAYLOAD_KIND.to_owned(),
            },
            optional: None,
        };
        let payload = String::from_utf8_lossy(&json(&payload)).into_owned();
        Self { signature: key.sign(payload.as_bytes()), payload }
    }

    /// Whether the owner of this key made it, for any manifest.
    pub fn is_by(&self, key: &PublicKey) -> bool {
        key.has_signed(self.payload.as_bytes(), &self.signature)
    }

    /// The signed manifest; none if it is not a signature of one. Trust it only if a trusted key made the signature.
    pub fn manifest(&self) -> Option<Digest> {
        let payload: SignedPayload = serde_json::from_str(&self.payload).ok()?;
        (payload.critical.kind == PAYLOAD_KIND).then_some(payload.critical.image.digest)
    }
}

/// The tag next to a manifest that has its signatures.
pub(crate) fn signature_tag(manifest: &Digest) -> String {
    format!("sha256-{}.sig", manifest.hex())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn key(n: u8) -> SigningKey {
        SigningKey(SecretKey::from_slice(&[n; 32]).unwrap().into())
    }

    fn signature(key: &SigningKey) -> Signature {
        let reference = "oci://example.org/acme/strict:1".parse().unwrap();
        Signature::of(key, &reference, &Digest::of("manifest"))
    }

    #[test]
    fn keys_are_written_and_read() {
        let key = SigningKey::generate().unwrap();
        let pem = key.to_pem().unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        assert_eq!(SigningKey::from_pem(&pem).unwrap().public(), key.public());
        let public = key.public().to_pem().unwrap();
        assert!(public.starts_with("-----BEGIN PUBLIC KEY-----\n"));
        assert_eq!(PublicKey::from_pem(&public).unwrap(), key.public());
        assert!(!format!("{key:?}").contains(pem.lines().nth(1).unwrap()));
    }

    #[test]
    fn what_is_no_key_is_refused_by_what_it_is() {
        let private = key(1).to_pem().unwrap();
        let public = key(1).public().to_pem().unwrap();
        assert!(SigningKey::from_pem(&public).unwrap_err().to_string().contains("not a private key"));
        assert!(PublicKey::from_pem(&private).unwrap_err().to_string().contains("not a public key"));
        for text in ["", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            assert!(SigningKey::from_pem(text).is_err() && PublicKey::from_pem(text).is_err());
        }
        let encrypted = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
        assert_eq!(SigningKey::from_pem(encrypted).unwrap_err(), KeyError::Encrypted);
    }

    #[test]
    fn only_the_owner_has_signed_and_only_this() {
        let (ours, other) = (key(1), key(2));
        let made = signature(&ours);
        assert_eq!(made, signature(&ours), "the same key signs the same document the same way");
        assert!(made.is_by(&ours.public()) && !made.is_by(&other.public()));
        assert_eq!(made.manifest(), Some(Digest::of("manifest")));
        let changed =
            Signature { payload: made.payload.replace("example.org", "example.com"), ..made.clone() };
        assert!(!changed.is_by(&ours.public()));
        for broken in ["", "AAAA", "not base64", "MAYCAQACAQA="] {
            assert!(
                !Signature { signature: broken.into(), ..made.clone() }.is_by(&ours.public()),
                "{broken}"
            );
        }
        for payload in ["", "{}", &made.payload.replace("cosign", "other")] {
            assert_eq!(Signature { payload: payload.to_owned(), ..made.clone() }.manifest(), None);
        }
    }

    // The document that cosign signs, character by character.
    #[test]
    fn the_document_is_the_one_of_cosign() {
        assert_eq!(
            signature(&key(1)).payload,
            format!(
                r#"{{"critical":{{"identity":{{"docker-reference":"example.org/acme/strict"}},"image":{{"docker-manifest-digest":"{}"}},"type":"cosign container image signature"}},"optional":null}}"#,
                Digest::of("manifest")
            )
        );
        assert_eq!(
            signature_tag(&Digest::of("")),
            "sha256-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855.sig"
        );
    }

    /// Runs OpenSSL; none if it is not installed.
    fn openssl(arguments: &[&str]) -> Option<(bool, String)> {
        match Command::new("openssl").args(arguments).output() {
            Ok(output) => {
                Some((output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned()))
            }
            Err(error) => {
                eprintln!(
                    "SKIPPED: openssl cannot be started ({error}), so nobody else looked at the signature"
                );
                None
            }
        }
    }

    // M6: another implementation accepts the signature, and keys work in both directions.
    #[test]
    fn openssl_agrees() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let made = signature(&key(1));
        std::fs::write(path("payload"), &made.payload).unwrap();
        std::fs::write(path("other"), made.payload.replace("example", "sample")).unwrap();
        std::fs::write(path("sig"), BASE64_STANDARD.decode(&made.signature).unwrap()).unwrap();
        std::fs::write(path("pub.pem"), key(1).public().to_pem().unwrap()).unwrap();
        let verify = |file: &str| {
            openssl(&[
                "dgst",
                "-sha256",
                "-verify",
                &path("pub.pem"),
                "-signature",
                &path("sig"),
                &path(file),
            ])
        };
        let Some((verified, _)) = verify("payload") else { return };
        assert!(verified);
        assert!(!verify("other").unwrap().0, "another document is not signed");

        for (made_by, arguments) in [
            ("PKCS #8", &["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out"][..]),
            ("SEC 1", &["ecparam", "-name", "prime256v1", "-genkey", "-out"][..]),
        ] {
            let file = path("theirs.pem");
            assert!(openssl(&[arguments, &[file.as_str()]].concat()).unwrap().0, "{made_by}");
            let theirs = SigningKey::from_pem(&std::fs::read_to_string(&file).unwrap()).unwrap();
            let public = openssl(&["pkey", "-in", &file, "-pubout"]).unwrap().1;
            assert_eq!(PublicKey::from_pem(&public).unwrap(), theirs.public(), "{made_by}");
        }
    }
}
