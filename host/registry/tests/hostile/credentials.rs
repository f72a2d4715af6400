//! The destinations that get credentials, and those that never do.

use std::path::Path;

use baton_core::Digest;
use baton_registry::{ClientOptions, PolicyArtifact, RegistryClient, RegistryCredentials, RegistryError};

use crate::fake_registry::{FakeRegistry, FakeResponse};
use crate::{COMPONENT, RegistryFixture, is_component, options};

/// Credentials of "ada:secret" for a host.
fn ada(folder: &Path, host: &str) -> RegistryCredentials {
    let config = folder.join("config.json");
    std::fs::write(&config, format!(r#"{{"auths": {{"{host}": {{"auth": "YWRhOnNlY3JldA=="}}}}}}"#)).unwrap();
    RegistryCredentials::of(config)
}

#[test]
fn credentials_go_to_their_registry_and_nowhere_else() {
    let (fixture, elsewhere) = (RegistryFixture::new(), FakeRegistry::start());
    let folder = tempfile::tempdir().unwrap();
    let registry = RegistryClient::new(ClientOptions {
        credentials: ada(folder.path(), &fixture.fake.host),
        ..options()
    });
    let blob = format!("/v2/acme/strict/blobs/{}", Digest::of(COMPONENT));
    elsewhere.put(&blob, "application/octet-stream", COMPONENT);

    // Basic credentials, and a layer that is on another host.
    let location = format!("http://{}{blob}", elsewhere.host);
    fixture.fake.twist(move |seen| match &seen.authorization {
        None => Some(FakeResponse::of(401, "").with("www-authenticate", "Basic realm=\"x\"")),
        Some(_) if is_component(&seen.path) => {
            Some(FakeResponse::of(307, "").with("location", location.clone()))
        }
        Some(_) => None,
    });
    assert_eq!(registry.pull(&fixture.reference).unwrap().bytes, COMPONENT);
    let there = fixture.fake.seen();
    assert!(there.iter().any(|seen| seen.authorization.as_deref() == Some("Basic YWRhOnNlY3JldA==")));
    assert_eq!(there.iter().filter(|seen| seen.authorization.is_none()).count(), 1, "asked once");
    let seen = elsewhere.seen();
    assert!(seen.len() == 1 && seen[0].authorization.is_none(), "{seen:?}");

    // A token of a server that the registry names; the password goes there alone.
    let realm = format!("http://{}/token", elsewhere.host);
    elsewhere.twist(|seen| {
        assert!(seen.path.contains("scope=repository%3Aacme%2Fstrict%3Apull"), "{}", seen.path);
        let known = seen.authorization.as_deref() == Some("Basic YWRhOnNlY3JldA==");
        Some(if known { FakeResponse::of(200, r#"{"token":"abc"}"#) } else { FakeResponse::of(401, "") })
    });
    fixture.fake.twist(move |seen| {
        let challenge = format!("Bearer realm=\"{realm}\",service=\"s\"");
        let admitted = seen.authorization.as_deref() == Some("Bearer abc");
        (!admitted).then(|| FakeResponse::of(401, "").with("www-authenticate", challenge))
    });
    let registry = RegistryClient::new(ClientOptions {
        credentials: ada(folder.path(), &fixture.fake.host),
        ..options()
    });
    assert_eq!(registry.pull(&fixture.reference).unwrap().bytes, COMPONENT);
    let anonymous = RegistryClient::new(options()).pull(&fixture.reference).unwrap_err();
    assert!(matches!(anonymous, RegistryError::Unauthorized { had_credentials: false, .. }), "{anonymous}");

    // An upload that is sent to another host takes no credentials along.
    let other = format!("http://{}/upload", elsewhere.host);
    elsewhere.twist(|_| Some(FakeResponse::of(201, "")));
    elsewhere.seen();
    fixture.fake.twist(move |seen| match seen.method.as_str() {
        _ if seen.authorization.is_none() => {
            Some(FakeResponse::of(401, "").with("www-authenticate", "Basic realm=\"x\""))
        }
        "POST" => Some(FakeResponse::of(202, "").with("location", other.clone())),
        _ => None,
    });
    let registry = RegistryClient::new(ClientOptions {
        credentials: ada(folder.path(), &fixture.fake.host),
        ..options()
    });
    registry.push(&fixture.reference, &PolicyArtifact::new(b"\0asm: new".to_vec(), &[], &[])).unwrap();
    let seen = elsewhere.seen();
    assert!(!seen.is_empty() && seen.iter().all(|seen| seen.authorization.is_none()), "{seen:?}");
}

#[test]
fn a_host_that_a_redirect_leads_to_gets_no_credentials_by_a_challenge_of_its_own() {
    // N6. Seen in another client: CVE-2020-15157.
    let (fixture, elsewhere) = (RegistryFixture::new(), FakeRegistry::start());
    let folder = tempfile::tempdir().unwrap();
    let location = format!("http://{}/blob", elsewhere.host);
    fixture.fake.twist(move |seen| {
        is_component(&seen.path).then(|| FakeResponse::of(307, "").with("location", location.clone()))
    });
    let realm = format!("http://{}/token", elsewhere.host);
    for challenge in [format!("Bearer realm=\"{realm}\""), "Basic realm=\"x\"".to_owned()] {
        elsewhere.twist(move |_| Some(FakeResponse::of(401, "").with("www-authenticate", challenge.clone())));
        let credentials = ada(folder.path(), &fixture.fake.host);
        let registry = RegistryClient::new(ClientOptions { credentials, ..options() });
        registry.pull(&fixture.reference).unwrap_err();
        let seen = elsewhere.seen();
        assert!(seen.len() == 1 && seen[0].authorization.is_none(), "{seen:?}");
    }
    assert!(fixture.fake.seen().iter().all(|seen| seen.authorization.is_none()));
}
