//! What a registry may do to a client that pulls from it, and what follows: a clear error, nothing kept, and a good pull
//! afterwards. Every registry here is a few lines on this machine; `tests/e2e/registry/mod.rs` has a real one.

#![allow(missing_docs)]

mod credentials;
mod fake_registry;

use std::path::Path;
use std::time::Duration;

use baton_core::Digest;
use baton_registry::trust::{TrustConfig, TrustError, TrustResult, TrustRules, TrustedKey};
use baton_registry::{
    ClientOptions, ContentStore, MANIFEST_TYPE, OciPin, OciReference, PolicyArtifact, PolicyResolver,
    RegistryClient, RegistryError, SigningKey, Timeouts,
};

use fake_registry::{FakeRegistry, FakeResponse, ResponseEnding};

const COMPONENT: &[u8] = b"\0asm: a policy, for all that a registry knows";

/// A registry with a policy in it, and a client that pulls.
struct RegistryFixture {
    fake: FakeRegistry,
    state: tempfile::TempDir,
    reference: OciReference,
    manifest: Digest,
}

fn artifact() -> PolicyArtifact {
    PolicyArtifact::new(COMPONENT.to_vec(), &["baton:policy/types@0.1.0".into()], &[])
}

fn options() -> ClientOptions {
    ClientOptions::default()
}

impl RegistryFixture {
    fn new() -> Self {
        let fake = FakeRegistry::start();
        let reference: OciReference = format!("oci://{}/acme/strict:1", fake.host).parse().unwrap();
        let manifest = RegistryClient::new(options()).push(&reference, &artifact()).unwrap();
        fake.seen();
        Self { fake, state: tempfile::tempdir().unwrap(), reference, manifest }
    }

    fn depot(&self, trust: TrustRules) -> PolicyResolver {
        PolicyResolver::new(RegistryClient::new(options()), ContentStore::below(self.state.path()), trust)
    }

    /// The error of a pull; nothing may be stored of it, and the next pull from a good registry must succeed.
    #[track_caller]
    fn fails(&self, trust: TrustRules) -> RegistryError {
        self.fails_with(options(), trust)
    }

    #[track_caller]
    fn fails_with(&self, options: ClientOptions, trust: TrustRules) -> RegistryError {
        let depot =
            PolicyResolver::new(RegistryClient::new(options), ContentStore::below(self.state.path()), trust);
        let error = depot.get(&self.reference, None).unwrap_err();
        assert_eq!(files(self.state.path()), Vec::<String>::new(), "something is left of: {error}");
        self.fake.behave();
        let delivered = self.depot(TrustRules::default()).get(&self.reference, None);
        assert_eq!(delivered.unwrap().bytes, COMPONENT, "a good pull afterwards");
        error
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { waiting.push(path) } else { found.push(path.display().to_string()) }
        }
    }
    found
}

fn is_component(path: &str) -> bool {
    path.ends_with(&format!("blobs/{}", artifact().component()))
}

// M6
#[test]
fn a_policy_is_pulled_by_tag_and_by_digest_and_then_without_a_network() {
    let fixture = RegistryFixture::new();
    let depot = fixture.depot(TrustRules::default());
    let by_tag = depot.get(&fixture.reference, None).unwrap();
    assert_eq!((by_tag.name.as_str(), by_tag.bytes.as_slice()), ("strict", COMPONENT));
    assert_eq!(by_tag.pin, OciPin { manifest: fixture.manifest.clone(), component: Digest::of(COMPONENT) });
    assert!(by_tag.fetched);
    fixture.fake.seen();

    let exact = fixture.reference.at(&fixture.manifest);
    let again = depot.get(&exact, None).unwrap();
    let pinned = depot.get(&fixture.reference, Some(&by_tag.pin)).unwrap();
    assert_eq!((again.fetched, pinned.fetched), (false, false));
    assert_eq!((&again.bytes, &pinned.bytes), (&by_tag.bytes, &by_tag.bytes));
    assert!(fixture.fake.seen().is_empty(), "nobody was asked");

    let RegistryFixture { fake, .. } = fixture;
    drop(fake);
    assert!(depot.get(&exact, None).is_ok());
    let unpinned = depot.get(&fixture.reference, None).unwrap_err();
    assert!(matches!(unpinned, RegistryError::Unreachable { .. }), "{unpinned}");
}

// M6
#[test]
fn the_same_component_is_the_same_push() {
    let fixture = RegistryFixture::new();
    let other: OciReference = format!("oci://{}/acme/strict:2", fixture.fake.host).parse().unwrap();
    let again = RegistryClient::new(options()).push(&other, &artifact());
    assert_eq!(again.unwrap(), fixture.manifest);
    let uploads = fixture.fake.seen().into_iter().filter(|seen| seen.method == "POST").count();
    assert_eq!(uploads, 0, "the blobs are there already");
}

// M6
#[test]
fn what_other_tools_push_is_pulled() {
    let fixture = RegistryFixture::new();
    let folder = "/v2/acme/strict";
    // The fields that tools for WebAssembly write, with those that Baton has no use for.
    let config = format!(
        r#"{{"created":"2026-01-02T03:04:05.678901234Z","author":null,"architecture":"wasm","os":"wasip2","layerDigests":["{}"],"component":{{"exports":[],"imports":[],"target":null}}}}"#,
        Digest::of(COMPONENT)
    );
    let manifest = format!(
        r#"{{ "schemaVersion": 2, "artifactType": "application/vnd.wasm.config.v0+json",
  "config": {{ "mediaType": "application/vnd.wasm.config.v0+json", "digest": "{}", "size": {}, "data": "e30=" }},
  "layers": [ {{ "mediaType": "application/wasm", "digest": "{}", "size": {}, "urls": ["http://127.0.0.1:1/"] }} ],
  "annotations": {{ "org.opencontainers.image.version": "1" }} }}"#,
        Digest::of(&config),
        config.len(),
        Digest::of(COMPONENT),
        COMPONENT.len()
    );
    let blob = format!("{folder}/blobs/{}", Digest::of(&config));
    fixture.fake.put(&blob, "application/octet-stream", config.as_bytes());
    fixture.fake.put(&format!("{folder}/manifests/1"), MANIFEST_TYPE, manifest.as_bytes());
    let delivered = fixture.depot(TrustRules::default()).get(&fixture.reference, None).unwrap();
    assert_eq!((delivered.bytes.as_slice(), &delivered.pin.manifest), (COMPONENT, &Digest::of(&manifest)));
    // And is stored byte by byte, so that its digest stays the published one.
    assert!(
        !fixture.depot(TrustRules::default()).get(&fixture.reference, Some(&delivered.pin)).unwrap().fetched
    );
}

// M6
#[test]
fn what_was_changed_is_refused() {
    let what = |error: &RegistryError| match error {
        RegistryError::WrongDigest { what, .. } => *what,
        other => panic!("{other}"),
    };
    // A layer of the same length, and of another one.
    for changed in [COMPONENT.iter().rev().copied().collect::<Vec<_>>(), b"short".to_vec(), vec![0; 10_000]] {
        let fixture = RegistryFixture::new();
        fixture
            .fake
            .twist(move |seen| is_component(&seen.path).then(|| FakeResponse::of(200, changed.clone())));
        assert_eq!(what(&fixture.fails(TrustRules::default())), "the component");
    }
    let fixture = RegistryFixture::new();
    let config = Digest::of(artifact().config());
    fixture.fake.twist(move |seen| seen.path.ends_with(config.as_str()).then(|| FakeResponse::of(200, "{}")));
    assert_eq!(what(&fixture.fails(TrustRules::default())), "the config");

    // Another manifest than the requested one, though itself valid.
    let mut fixture = RegistryFixture::new();
    let other = PolicyArtifact::new(b"\0asm: another".to_vec(), &[], &[]);
    fixture.reference = fixture.reference.at(&fixture.manifest);
    fixture.fake.twist(move |seen| {
        let reply = || FakeResponse::of(200, other.manifest()).with("content-type", MANIFEST_TYPE);
        seen.path.contains("/manifests/sha256:").then(reply)
    });
    assert_eq!(what(&fixture.fails(TrustRules::default())), "the manifest");

    // A registry whose header declares another digest.
    let fixture = RegistryFixture::new();
    fixture.fake.twist(|seen| {
        let reply = FakeResponse::of(200, artifact().manifest()).with("content-type", MANIFEST_TYPE);
        let reply = reply.with("docker-content-digest", Digest::of("another").as_str());
        seen.path.ends_with("manifests/1").then_some(reply)
    });
    assert_eq!(what(&fixture.fails(TrustRules::default())), "the manifest");
}

// M6
#[test]
fn a_registry_that_dies_or_is_silent_leaves_nothing_half() {
    for then in [ResponseEnding::CutInHalf, ResponseEnding::Silence] {
        for of_component in [true, false] {
            let fixture = RegistryFixture::new();
            fixture.fake.twist(move |seen| {
                let (hit, body) = match of_component {
                    true => (is_component(&seen.path), COMPONENT.to_vec()),
                    false => (seen.path.ends_with("manifests/1"), artifact().manifest().to_vec()),
                };
                hit.then(|| FakeResponse::of(200, body).with("content-type", MANIFEST_TYPE).then(then))
            });
            if then == ResponseEnding::CutInHalf {
                let error = fixture.fails(TrustRules::default());
                assert!(matches!(error, RegistryError::BrokeOff { .. }), "{error}");
                continue;
            }
            let patience = Timeouts { silence: Duration::from_millis(200), ..Timeouts::default() };
            let error = fixture.fails_with(ClientOptions { patience, ..options() }, TrustRules::default());
            assert!(matches!(error, RegistryError::TimedOut { .. }), "{error}");
        }
    }
}

#[test]
fn what_never_ends_is_not_read_to_the_end() {
    let fixture = RegistryFixture::new();
    fixture.fake.twist(|seen| {
        is_component(&seen.path).then(|| FakeResponse::of(200, "").then(ResponseEnding::Endless))
    });
    let error = fixture.fails(TrustRules::default());
    assert!(matches!(error, RegistryError::TooLarge { what: "the component", .. }), "{error}");
    let fixture = RegistryFixture::new();
    fixture.fake.twist(|seen| {
        let reply =
            || FakeResponse::of(200, "").with("content-type", MANIFEST_TYPE).then(ResponseEnding::Endless);
        seen.path.ends_with("manifests/1").then(reply)
    });
    let error = fixture.fails(TrustRules::default());
    assert!(matches!(error, RegistryError::TooLarge { what: "the manifest", .. }), "{error}");
}

#[test]
fn what_is_no_policy_and_what_is_not_there_are_told_apart() {
    let index = "application/vnd.oci.image.index.v1+json";
    let text = String::from_utf8(artifact().manifest().to_vec()).unwrap();
    let image = text.replace("vnd.wasm.config.v0", "vnd.oci.image.config.v1");
    let absent = text.replace(Digest::of(COMPONENT).as_str(), Digest::of("absent").as_str());
    for (media_type, body, hint) in [
        (index, "{}".to_owned(), "manifest is \"application/vnd.oci.image.index"),
        ("text/html", "<html>".to_owned(), "text/html"),
        (MANIFEST_TYPE, image, "config is"),
        (MANIFEST_TYPE, absent, "is not in the registry"),
        (MANIFEST_TYPE, "{\u{1b}[2J".to_owned(), "is not a policy artifact"),
    ] {
        let fixture = RegistryFixture::new();
        fixture.fake.twist(move |seen| {
            let reply = || FakeResponse::of(200, body.clone()).with("content-type", media_type);
            seen.path.ends_with("manifests/1").then(reply)
        });
        let error = fixture.fails(TrustRules::default());
        assert!(error.is_refusal() && error.to_string().contains(hint), "{hint}: {error}");
        assert!(!error.to_string().contains('\u{1b}'));
    }
    for (status, hint) in [(404, "the tag was removed"), (500, "answers 500"), (401, "docker login")] {
        let fixture = RegistryFixture::new();
        fixture.fake.twist(move |_| Some(FakeResponse::of(status, "").with("www-authenticate", "Basic")));
        let error = fixture.fails(TrustRules::default()).to_string();
        assert!(error.contains(hint), "{error}");
    }
}

// M6
#[test]
fn only_what_a_trusted_key_has_signed_is_kept() {
    let (ours, theirs) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let trust = || TrustRules::only(TrustedKey { name: "acme.pub".into(), key: ours.public() });
    let registry = RegistryClient::new(options());

    let fixture = RegistryFixture::new();
    let error = fixture.fails(trust());
    assert!(matches!(error, RegistryError::Trust(TrustError::Unsigned { .. })), "{error}");

    let fixture = RegistryFixture::new();
    registry.sign(&fixture.reference, &theirs).unwrap();
    let error = fixture.fails(trust());
    assert!(matches!(error, RegistryError::Trust(TrustError::WrongKey { .. })), "{error}");

    // The second signature is added to the first, and signing again adds none.
    for _ in 0..2 {
        assert_eq!(registry.sign(&fixture.reference, &ours).unwrap().0, fixture.manifest);
    }
    assert_eq!(registry.signatures(&fixture.reference, &fixture.manifest).unwrap().len(), 2);
    let delivered = fixture.depot(trust()).get(&fixture.reference, None).unwrap();
    assert!(matches!(delivered.verdict, TrustResult::Signed { by, .. } if by == "acme.pub"));

    // A signature of another policy, stored as one of this policy.
    let fixture = RegistryFixture::new();
    let other: OciReference = format!("oci://{}/acme/other:1", fixture.fake.host).parse().unwrap();
    let second = PolicyArtifact::new(b"\0asm: another".to_vec(), &[], &[]);
    registry.push(&other, &second).unwrap();
    registry.sign(&other, &ours).unwrap();
    let (from, to) = (second.digest(), fixture.manifest.clone());
    fixture.fake.twist(move |seen| {
        let path = seen.path.strip_prefix("/v2/acme/strict/manifests/sha256-")?;
        assert_eq!(path, format!("{}.sig", to.hex()));
        Some(
            FakeResponse::of(307, "")
                .with("location", format!("/v2/acme/other/manifests/sha256-{}.sig", from.hex())),
        )
    });
    // The blob of the signature is stored with the other policy, so that this registry also serves it here.
    let signed = registry.signatures(&other, &second.digest()).unwrap().remove(0);
    let blob = format!("/v2/acme/strict/blobs/{}", Digest::of(&signed.payload));
    fixture.fake.put(&blob, "application/octet-stream", signed.payload.as_bytes());
    let error = fixture.fails(trust());
    assert!(matches!(error, RegistryError::Trust(TrustError::OtherManifest { .. })), "{error}");
}

// M6
#[test]
fn rules_hold_for_what_is_kept_too() {
    let ours = SigningKey::generate().unwrap();
    let fixture = RegistryFixture::new();
    let pin = fixture.depot(TrustRules::default()).get(&fixture.reference, None).unwrap().pin;
    let strict = || {
        let rules: TrustConfig = toml::from_str("unsigned = \"refuse\"").unwrap();
        rules.ready(Path::new("/")).unwrap()
    };
    let refused = fixture.depot(strict()).get(&fixture.reference, Some(&pin)).unwrap_err();
    assert!(matches!(refused, RegistryError::Trust(TrustError::Unsigned { .. })), "{refused}");

    // Signed after it was pulled: the signature is fetched, kept, and enough without a network.
    RegistryClient::new(options()).sign(&fixture.reference, &ours).unwrap();
    let trust = || TrustRules::only(TrustedKey { name: "acme.pub".into(), key: ours.public() });
    let (depot, believed) =
        (fixture.depot(trust()), |depot: &PolicyResolver| depot.get(&fixture.reference, Some(&pin)));
    assert!(!believed(&depot).unwrap().fetched);
    fixture.fake.seen();
    assert!(believed(&depot).is_ok() && fixture.fake.seen().is_empty());
}

// M6
#[test]
fn a_tag_that_moved_leads_to_what_was_pinned() {
    let fixture = RegistryFixture::new();
    let depot = fixture.depot(TrustRules::default());
    let pin = depot.get(&fixture.reference, None).unwrap().pin;
    let newer = PolicyArtifact::new(b"\0asm: newer".to_vec(), &[], &[]);
    RegistryClient::new(options()).push(&fixture.reference, &newer).unwrap();
    assert_eq!(depot.get(&fixture.reference, Some(&pin)).unwrap().bytes, COMPONENT);
    // Also for a client that never pulled it.
    let elsewhere = tempfile::tempdir().unwrap();
    let fresh = PolicyResolver::new(
        RegistryClient::new(options()),
        ContentStore::below(elsewhere.path()),
        TrustRules::default(),
    );
    assert_eq!(fresh.get(&fixture.reference, Some(&pin)).unwrap().bytes, COMPONENT);
    assert_eq!(depot.get(&fixture.reference, None).unwrap().pin.manifest, newer.digest());

    let crossed = OciPin { component: Digest::of("other"), ..pin };
    let error = depot.get(&fixture.reference, Some(&crossed)).unwrap_err();
    assert!(matches!(error, RegistryError::PinMismatch { .. }), "{error}");
}
