//! The acceptance test of the secret scanner: samples of every kind are caught, look-alikes are not, and JSON stays JSON.

use proptest::prelude::*;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::rules::checks::patterns;
use super::*;

/// Samples of a kind, each with a seed of its own.
const SAMPLES_EACH: u64 = 3;

/// Generates texts that match an expression, as Gitleaks generates its own test vectors, so that the repository contains
/// nothing that looks like a secret.
struct Sampler(u64);

impl Sampler {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn write(&mut self, hir: &Hir, out: &mut Vec<u8>) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
            HirKind::Capture(capture) => self.write(&capture.sub, out),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part, out)),
            HirKind::Alternation(ways) => {
                let way = self.below(ways.len());
                self.write(&ways[way], out);
            }
            HirKind::Repetition(repetition) => {
                let most = repetition.max.unwrap_or(repetition.min + 3).min(repetition.min + 3);
                let times = repetition.min as usize + self.below((most - repetition.min) as usize + 1);
                (0..times).for_each(|_| self.write(&repetition.sub, out));
            }
            HirKind::Class(class) => {
                let ranges: Vec<(u32, u32)> = match class {
                    Class::Bytes(class) => {
                        class.ranges().iter().map(|r| (r.start().into(), r.end().into())).collect()
                    }
                    Class::Unicode(class) => {
                        class.ranges().iter().map(|r| (r.start().into(), r.end().into())).collect()
                    }
                };
                let all = ranges.iter().flat_map(|&(from, to)| from..=to.min(0x7e));
                let printable: Vec<u8> =
                    all.filter_map(|c| u8::try_from(c).ok()).filter(u8::is_ascii_graphic).collect();
                out.push(match printable.len() {
                    0 => b' ',
                    // Any character at all: the rule's author wrote an unescaped dot, as in "hooks.slack.com".
                    90.. => b'.',
                    n => printable[self.below(n)],
                });
            }
        }
    }
}

fn samples() -> impl Iterator<Item = (&'static str, String)> {
    patterns().flat_map(|(kind, pattern)| {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap();
        (1..=SAMPLES_EACH).map(move |seed| {
            let mut bytes = Vec::new();
            Sampler(SampleSeed::seed(kind, seed)).write(&hir, &mut bytes);
            (kind, String::from_utf8(bytes).unwrap())
        })
    })
}

/// A number that differs from kind to kind and is the same in every run.
struct SampleSeed;

impl SampleSeed {
    fn seed(kind: &str, n: u64) -> u64 {
        let hex = baton_core::Digest::of(format!("{kind} {n}").as_bytes());
        u64::from_str_radix(&hex.hex()[..16], 16).unwrap() | 1
    }
}

/// Keyhog's test vectors of one kind.
#[derive(Deserialize)]
struct SecretVectorKind {
    kind: String,
    service: String,
    severity: String,
    positive: Vec<SecretVector>,
    negative: Vec<SecretVector>,
}

#[derive(Deserialize)]
struct SecretVector {
    text: String,
    credential: Option<String>,
}

/// The vectors that the scanner Keyhog is tested with, all of all kinds: none was written or chosen for Baton, and they are
/// in the package that `rules/Cargo.toml` names, not here. Left out are
/// - the kinds that Keyhog itself calls "info" and "low": names of accounts and resources, public identifiers;
/// - its generic kinds (any word after "password"): Keyhog weighs these with a trained model, Baton with Gitleaks' rule;
/// - credentials that count or spell the alphabet: those are placeholders to both rule sets, and stay readable.
fn vectors() -> Vec<SecretVectorKind> {
    let mut kinds: Vec<SecretVectorKind> =
        serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/secret-vectors.json"))).unwrap();
    kinds.retain(|kind| kind.service != "generic" && !["info", "low"].contains(&kind.severity.as_str()));
    for kind in &mut kinds {
        kind.positive.retain(|vector| {
            let text = vector.credential.as_ref().unwrap_or(&vector.text).to_ascii_lowercase();
            !text.contains("abcdefghijklmnopqrst")
        });
    }
    kinds
}

/// A vector as it comes along: in a note, in a command, and in a line of an agent's stream; each without its secrets.
fn masked_in_places(text: &str) -> [String; 3] {
    let line =
        json!({ "type": "tool_result", "content": [{ "text": format!("$ env\n{text}\n") }] }).to_string();
    let line: Value = serde_json::from_str(&mask_line(&line)).unwrap();
    [
        mask(&format!("- it works with this: {text}\n- next: the tests\n")).into_owned(),
        mask(&format!("#!/bin/sh\nexport {text}\nmake deploy\n")).into_owned(),
        line["content"][0]["text"].as_str().unwrap().to_owned(),
    ]
}

#[test]
fn vectors_of_another_scanner_are_caught() {
    // C8
    let (mut all, mut kinds, mut missed) = (0, 0, Vec::new());
    for kind in vectors().iter().filter(|kind| !kind.positive.is_empty()) {
        kinds += 1;
        for vector in &kind.positive {
            let secret = vector.credential.as_deref().unwrap_or(&vector.text);
            for masked in masked_in_places(&vector.text) {
                all += 1;
                if masked.contains(secret) || !masked.contains("[secret: ") {
                    missed.push(format!("{}: {masked}", kind.kind));
                }
            }
        }
    }
    assert!(kinds >= 800 && all >= 5000, "{kinds} kinds, {all} texts");
    let caught = all - missed.len();
    assert!(caught * 100 >= all * 98, "{caught} of {all} of {kinds} kinds: missed {missed:#?}");
}

/// Keyhog's texts that are no finding of the kind they stand with. Most of what is still found there is a secret of
/// another kind, or a key that is longer than its kind allows: nothing to show either.
#[test]
fn most_of_what_another_scanner_leaves_alone_is_left_alone() {
    // C8
    let kinds = vectors();
    let texts: Vec<_> = kinds.iter().flat_map(|kind| &kind.negative).map(|vector| &vector.text).collect();
    let wrong: Vec<_> = texts.iter().filter(|text| !scan(text).is_empty()).collect();
    assert!(texts.len() >= 1500, "{}", texts.len());
    assert!(wrong.len() * 100 <= texts.len() * 7, "{} of {}: {wrong:#?}", wrong.len(), texts.len());
}

#[test]
fn samples_of_every_kind_are_caught() {
    // C8
    let all: Vec<_> = samples().collect();
    let missed: Vec<_> = all.iter().filter(|(_, text)| scan(text).is_empty()).collect();
    let kinds: std::collections::BTreeSet<_> = all.iter().map(|(kind, _)| kind).collect();
    assert!(kinds.len() >= 200 && all.len() >= 600, "{} kinds, {} samples", kinds.len(), all.len());
    let caught = all.len() - missed.len();
    assert!(caught * 100 >= all.len() * 98, "{caught} of {}: missed {missed:#?}", all.len());
}

#[test]
fn what_was_caught_is_gone_from_text_and_from_json() {
    // C8
    for (kind, text) in samples() {
        let Some(found) = scan(&text).into_iter().next() else { continue };
        let secret = &text[found.span];
        let masked = mask(&text);
        assert!(!masked.contains(secret) && masked.contains("[secret: "), "{kind}: {masked}");
        let line = json!({ "type": "tool", "n": 7, "content": [{ "text": format!("it says:\n{text}") }] });
        let masked: Value = serde_json::from_str(&mask_line(&line.to_string())).unwrap();
        let text = masked["content"][0]["text"].as_str().unwrap();
        assert!(!text.contains(secret) && text.contains("[secret: "), "{kind}: {text}");
        assert_eq!((&masked["type"], &masked["n"]), (&line["type"], &line["n"]));
    }
}

/// Hex digits that are not a secret.
fn hex(n: usize) -> String {
    let digest = baton_core::Digest::of(n.to_string().as_bytes());
    digest.hex().chars().cycle().take(n).collect()
}

fn base64(n: usize) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sampler = Sampler(0x9e37_79b9_7f4a_7c15);
    (0..n).map(|_| char::from(alphabet[sampler.below(alphabet.len())])).collect()
}

fn look_alikes() -> Vec<String> {
    let uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let (sha1, sha256, sha512) = (hex(40), hex(64), base64(86));
    let mut texts: Vec<String> = [
        "pass `--api-key sk-…` or set OPENAI_API_KEY",
        "keys begin with sk- and are shown once",
        "ANTHROPIC_API_KEY=test-key",
        "api_key = \"test-key\"",
        "token: ${GITHUB_TOKEN}",
        "token: ${{ secrets.NPM_TOKEN }}",
        "password: \"{{ vault_password }}\"",
        "export AWS_ACCESS_KEY_ID=<your access key>",
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "let key = event.key();",
        "public_key_algorithm: ed25519",
        "the JWT has three parts: header.payload.signature",
        "eyJhbGciOiJIUzI1NiJ9 is the header of a JWT",
        "color: #ff00aa; background: #00ff0080;",
        "usage: used_tokens=61000 window_tokens=200000",
        "max_tokens: 8192, cache_read_input_tokens: 120394",
        "\"token_count\": 20231, \"tokens_by\": \"tiktoken:o200k_base\"",
        "-----BEGIN PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN RSA PRIVATE KEY----- goes into the file",
        "git@github.com:rust-lang/cargo.git",
        "https://example.com/a/b?page=2&sort=name#key",
        "postgres://localhost:5432/app",
        "ssh-ed25519 is the key type to use",
        "secret santa: who gives what to whom",
        "password: ************",
        "password = None",
        "passwd: files systemd",
        "foreign_key = \"customer_id\"",
        "keyboard_layout=de-nodeadkeys",
        "accessToken: string;",
        "const API_KEY = process.env.API_KEY;",
        "client_secret: os.environ[\"CLIENT_SECRET\"]",
        "error[E0433]: failed to resolve: use of undeclared type `SecretKey`",
        "0123456789abcdefghijklmnopqrstuvwxyz",
        "ghp_ is the prefix of a token of GitHub",
        "xoxb- is the prefix of a bot token",
        "The quick brown fox jumps over the lazy dog.",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.extend([
        format!("sha256:{sha256}"),
        format!("{{\"digest\":\"sha256:{sha256}\",\"bytes\":812,\"name\":\"handoffs/a.md\"}}"),
        format!("commit {sha1}\nAuthor: A <a@example.com>"),
        format!("{} refs/heads/main", sha1),
        format!("index {}..{} 100644", &sha1[..7], &sha1[8..15]),
        format!("checksum = \"{sha256}\""),
        format!("name = \"serde\"\nversion = \"1.0.0\"\nchecksum = \"{sha256}\""),
        format!("\"integrity\": \"sha512-{sha512}==\""),
        format!("  integrity sha512-{sha512}=="),
        format!("resolved \"https://registry.example.org/a/-/a-1.0.0.tgz#{sha1}\""),
        format!("golang.org/x/net v0.1.0 h1:{}=", base64(43)),
        format!("golang.org/x/net v0.1.0/go.mod h1:{}=", base64(43)),
        format!("    --hash=sha256:{sha256} \\"),
        format!("uuid {uuid}"),
        format!("\"session_id\":\"{uuid}\""),
        format!("\"request_id\": \"req_{}\"", &base64(60).replace(['+', '/'], "a")[..24]),
        format!("\"id\":\"toolu_01{}\"", &base64(60).replace(['+', '/'], "b")[..22]),
        format!("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{}", base64(400)),
        format!("<img src=\"data:image/gif;base64,R0lGODlh{}\">", base64(120)),
        format!("![logo](data:image/svg+xml;base64,PHN2Zy{})", base64(90)),
        format!("\"sha\": \"{sha1}\", \"md5\": \"{}\"", hex(32)),
        format!("ETag: \"{}\"", hex(32)),
        format!("image: registry.example.com/app@sha256:{sha256}"),
        format!("blake3 {sha256}  src/main.rs"),
        format!("{}  target/release/baton", sha256),
    ]);
    texts
}

#[test]
fn look_alikes_are_left_alone() {
    // C8
    let texts = look_alikes();
    assert!(texts.len() >= 60, "{}", texts.len());
    let wrong: Vec<_> =
        texts.iter().map(|text| (text, scan(text))).filter(|(_, found)| !found.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for text in &texts {
        assert!(matches!(mask(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn a_whole_lock_file_is_left_alone() {
    // C8
    for lock in [include_str!("../../../../Cargo.lock"), include_str!("../../rules/Cargo.lock")] {
        assert!(lock.matches("checksum = ").count() > 100);
        assert_eq!(scan(lock), []);
    }
}

#[test]
fn a_secret_is_found_wherever_it_lies_in_a_long_text() {
    let key = format!("AKIA{}", "Q3J7XWZ2LMNB4VTR");
    for at in [0, PIECE_BYTES - 10, PIECE_BYTES - OVERLAP_BYTES, 3 * PIECE_BYTES] {
        let text = format!("{}\nid {key} ü\n{}", "ü ".repeat(at / 3), "x ".repeat(PIECE_BYTES / 2));
        let found = scan(&text);
        assert_eq!(found.len(), 1, "at {at}");
        assert_eq!(&text[found[0].span.clone()], key);
        assert_eq!(found[0].kind, "aws-access-token");
    }
}

#[test]
fn a_key_that_a_tool_printed_with_escapes_is_masked_too() {
    let body = base64(400);
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
    let inner = json!({ "path": "id_rsa", "content": pem }).to_string();
    let line = json!({ "arguments": inner, "next": "-----BEGIN RSA PRIVATE KEY-----" }).to_string();
    let masked = mask_line(&line);
    assert!(!masked.contains(&body[..100]), "{masked}");
    let outer: Value = serde_json::from_str(&masked).unwrap();
    assert!(outer["arguments"].is_string() && outer["next"].is_string());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any line: JSON stays JSON of the same shape, masked text stays masked, and nothing panics.
    #[test]
    fn masking_keeps_json_and_is_done_once(
        before in "[ -~\\nüß\u{1F600}\"\\\\]{0,40}", after in "[ -~\\nüß\"\\\\]{0,40}", which in 0_usize..600,
    ) {
        let (_, secret) = samples().nth(which).unwrap();
        let value = json!({ "a": format!("{before}{secret}{after}"), "b": [after, 1, null], "c": { "token": secret } });
        let line = value.to_string();
        let masked = mask_line(&line).into_owned();
        let back: Value = serde_json::from_str(&masked).unwrap();
        prop_assert_eq!(back.as_object().unwrap().len(), 3);
        prop_assert!(back["a"].is_string() && back["b"][1] == 1 && back["c"]["token"].is_string());
        let text = format!("{before}{secret}{after}");
        let once = mask(&text).into_owned();
        prop_assert_eq!(mask(&once).into_owned(), once);
    }
}
