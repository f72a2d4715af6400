//! Rules and their results, with generated keys.

use super::*;
use crate::sign::SigningKey;

fn reference() -> OciReference {
    "oci://registry.example/acme/strict:1".parse().unwrap()
}

fn manifest() -> Digest {
    Digest::of("manifest")
}

fn signed(key: &SigningKey) -> Vec<Signature> {
    vec![Signature::of(key, &reference(), &manifest())]
}

/// Rules as a user writes them, with the keys that they name in a folder.
fn trust(rules: &str, keys: &[(&str, &SigningKey)]) -> Result<TrustRules, TrustError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, key) in keys {
        std::fs::write(folder.path().join(name), key.public().to_pem().unwrap()).unwrap();
    }
    toml::from_str::<TrustConfig>(rules).unwrap().ready(folder.path())
}

// M6
#[test]
fn without_rules_everything_is_taken_and_nothing_is_believed() {
    let trust = trust("", &[]).unwrap();
    assert!(!trust.wants_signatures(&reference()));
    assert_eq!(trust.judge(&reference(), &manifest(), &[]), Ok(TrustResult::Unsigned));
    let by_somebody = signed(&SigningKey::generate().unwrap());
    assert_eq!(
        trust.judge(&reference(), &manifest(), &by_somebody),
        Ok(TrustResult::Unjudged { signatures: 1 })
    );
}

// M6
#[test]
fn a_rule_wants_the_signature_of_one_of_its_keys() {
    let (ours, theirs) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
    let rules = "[[rule]]\nfrom = \"registry.example/acme/*\"\nkeys = [\"old.pub\", \"acme.pub\"]";
    let keys = [("acme.pub", &ours), ("old.pub", &SigningKey::generate().unwrap())];
    let trust = trust(rules, &keys).unwrap();
    let judge = |signatures: &[Signature]| trust.judge(&reference(), &manifest(), signatures);

    assert!(trust.wants_signatures(&reference()));
    let Ok(TrustResult::Signed { by, key }) = judge(&signed(&ours)) else { panic!("signed") };
    assert!(by.ends_with("acme.pub") && key == ours.public().id());
    assert!(matches!(judge(&[]), Err(TrustError::Unsigned { .. })));
    let error = judge(&signed(&theirs)).unwrap_err();
    assert!(
        matches!(error, TrustError::WrongKey { .. }) && error.to_string().contains("acme.pub"),
        "{error}"
    );
    let both = [signed(&theirs), signed(&ours)].concat();
    assert!(judge(&both).is_ok(), "one that counts is enough");

    let moved = vec![Signature::of(&ours, &reference(), &Digest::of("another"))];
    assert!(matches!(judge(&moved), Err(TrustError::OtherManifest { .. })));

    let elsewhere: OciReference = "oci://registry.example/other/strict:1".parse().unwrap();
    assert_eq!(trust.judge(&elsewhere, &manifest(), &[]), Ok(TrustResult::Unsigned));
}

// M6
#[test]
fn what_is_unsigned_is_allowed_or_refused_by_word() {
    let ours = SigningKey::generate().unwrap();
    let keys = [("a.pub", &ours)];
    let lenient =
        trust("[[rule]]\nfrom = \"registry.example\"\nkeys = [\"a.pub\"]\nunsigned = \"allow\"", &keys)
            .unwrap();
    assert_eq!(lenient.judge(&reference(), &manifest(), &[]), Ok(TrustResult::Unsigned));
    let by_another = signed(&SigningKey::generate().unwrap());
    assert!(
        lenient.judge(&reference(), &manifest(), &by_another).is_err(),
        "a wrong signature is worse than none"
    );

    let strict = trust("unsigned = \"refuse\"", &[]).unwrap();
    assert!(matches!(strict.judge(&reference(), &manifest(), &[]), Err(TrustError::Unsigned { .. })));
    assert!(
        matches!(strict.judge(&reference(), &manifest(), &by_another), Err(TrustError::Nobody { .. })),
        "that somebody signed says nothing"
    );

    let nobody = trust("[[rule]]\nfrom = \"*\"", &[]).unwrap();
    assert!(matches!(nobody.judge(&reference(), &manifest(), &by_another), Err(TrustError::Nobody { .. })));
}

#[test]
fn a_key_may_be_written_in_place() {
    let ours = SigningKey::generate().unwrap();
    let pem = ours.public().to_pem().unwrap();
    let rules = format!("[[rule]]\nfrom = \"registry.example/*\"\nkeys = [\"\"\"\n{pem}\"\"\"]");
    assert!(trust(&rules, &[]).unwrap().judge(&reference(), &manifest(), &signed(&ours)).is_ok());
}

#[test]
fn rules_that_say_nothing_are_errors() {
    for (rules, hint) in [
        ("[[rule]]\nfrom = \"\"", "matches nothing"),
        ("[[rule]]\nfrom = \"oci://registry.example/a\"", "matches nothing"),
        ("[[rule]]\nfrom = \"a\"\nkeys = [\"absent.pub\"]", "absent.pub"),
        ("[[rule]]\nfrom = \"a\"\nkeys = [\".\"]", "not a file"),
        ("[[rule]]\nfrom = \"a\"\nkeys = [\"-----BEGIN NOTHING\"]", "not a public key"),
        ("plain_http = [\"http://lan\"]", "http://lan"),
    ] {
        let error = trust(rules, &[]).unwrap_err();
        assert!(error.to_string().contains(hint) && !error.is_refusal(), "{rules}: {error}");
    }
    for unknown in
        ["signed = true", "[[rule]]\nfrom = \"a\"\nkey = \"b\"", "unsigned = \"maybe\"", "[[rule]]"]
    {
        assert!(toml::from_str::<TrustConfig>(unknown).is_err(), "{unknown}");
    }
}

#[test]
fn a_star_stands_for_any_characters() {
    for (pattern, text, does) in [
        ("*", "registry.example/a", true),
        ("registry.example/a", "registry.example/a", true),
        ("registry.example/a", "registry.example/ab", false),
        ("registry.example/a*", "registry.example/ab/c", true),
        ("*.example/*/b", "x.example/a/b", true),
        ("*.example/*/b", "x.example/b", false),
        ("a*a", "a", false),
        ("a*b*c", "abbc", true),
        ("a*bc", "abcbc", true),
        ("", "", true),
        ("", "a", false),
    ] {
        assert_eq!(fits(pattern, text), does, "{pattern} {text}");
    }
}
