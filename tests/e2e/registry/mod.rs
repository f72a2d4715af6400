//! Policies through a real registry: pushed, pulled, signed, pinned, tampered with, cut off and used without a network, all by
//! the `baton` binary.
//!
//! `BATON_TEST_REGISTRY` names the program of Debian's package `docker-registry`, which is also looked for on the path. Where
//! there is none, each test says that it is skipped; what a registry may do wrong is tried everywhere, by
//! `host/registry/tests/hostile`.

mod host;

use std::path::PathBuf;
use std::process::Command;

use crate::guests::GuestBuilder;
use crate::support::{CommandOutput, TestWorkspace};
use baton_runtime::core::Digest;
use serde_json::Value;

use host::{CuttableProxy, RegistryServer, files};

/// A registry, and somebody with a policy and a state directory of their own.
struct LocalRegistryFixture {
    stage: TestWorkspace,
    registry: RegistryServer,
}

impl LocalRegistryFixture {
    fn start() -> Option<Self> {
        let registry = RegistryServer::start()?;
        let stage = TestWorkspace::new();
        stage.write("calm.wasm", component("there is room"));
        stage.write("other.wasm", component("there is room enough"));
        Some(Self { stage, registry })
    }

    /// `baton policy` with these arguments.
    #[track_caller]
    fn policy(&self, arguments: &[&str]) -> CommandOutput {
        self.stage.baton(&[&["policy"], arguments].concat())
    }

    /// "oci://127.0.0.1:port/acme/calm", with a tag or a digest behind it.
    fn reference(&self, version: &str) -> String {
        format!("oci://{}/acme/calm{version}", self.registry.host)
    }

    /// Pushes a policy under a tag; gives back what stands on standard output: the reference with its digest.
    #[track_caller]
    fn push(&self, file: &str, tag: &str) -> String {
        let pushed = self.policy(&["push", file, &self.reference(&format!(":{tag}"))]).expect(0);
        pushed.stdout.trim().to_owned()
    }

    /// Where this person keeps what was pulled.
    fn store(&self) -> PathBuf {
        self.stage.path(".local/state/baton/policies")
    }

    #[track_caller]
    fn list(&self) -> Vec<Value> {
        let listed = self.policy(&["list", "--format", "json"]).expect(0);
        let document: Value = serde_json::from_str(&listed.stdout).unwrap();
        assert_eq!((&document["schema"], &document["record"]), (&1.into(), &"policies".into()));
        document["policies"].as_array().unwrap().clone()
    }

    /// The rules of this person.
    fn trust(&self, rules: &str) {
        let folder = self.stage.path(".config/baton");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), format!("[trust]\n{rules}")).unwrap();
    }

    /// The workflow's component as a run would have it.
    #[track_caller]
    fn plan(&self) -> CommandOutput {
        self.run(&["--dry-run", "--format", "json"])
    }

    /// `baton run` with a state directory of this person's own.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        let ended = command
            .args(["run", "job.toml", "--workspace", "work", "--state-dir", ".local/state/baton"])
            .args(arguments)
            .current_dir(self.stage.path(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.stage.path(""))
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null())
            .output();
        ended.unwrap().into()
    }
}

/// A policy for compactions that always gives this reason.
fn component(reason: &str) -> Vec<u8> {
    GuestBuilder::good(reason).build()
}

/// The same policy, with so much more in it that it comes in many pieces.
fn large_component() -> Vec<u8> {
    let mut component = component("there is room");
    let (name, data) = (b"ballast", vec![7_u8; 1024 * 1024]);
    let payload = [&[u8::try_from(name.len()).unwrap()], &name[..], &data].concat();
    component.push(0);
    let mut length = payload.len();
    while length >= 0x80 {
        component.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    component.push(u8::try_from(length).unwrap());
    component.extend(payload);
    component
}

/// The digest at the end of a reference.
fn digest(reference: &str) -> &str {
    reference.split_once('@').unwrap().1
}

// M6
#[test]
fn a_policy_goes_to_a_registry_and_comes_back_the_same() {
    let Some(fixture) = LocalRegistryFixture::start() else { return };
    let pushed = fixture.push("calm.wasm", "1");
    assert_eq!(fixture.push("calm.wasm", "1"), pushed, "the same component, the same manifest");
    let again = fixture.push("calm.wasm", "2");
    assert_eq!(digest(&again), digest(&pushed));
    assert_ne!(digest(&fixture.push("other.wasm", "other")), digest(&pushed));

    let bytes = component("there is room");
    let by_digest = fixture.reference(&format!("@{}", digest(&pushed)));
    for (reference, did) in [(fixture.reference(":1"), "pulled"), (by_digest.clone(), "had")] {
        let pulled = fixture.policy(&["pull", &reference, "-o", "back.wasm"]).expect(0);
        assert_eq!(digest(pulled.stdout.trim()), digest(&pushed));
        pulled.says(&[did, "decides compaction", "not signed", Digest::of(&bytes).as_str()]);
        assert_eq!(std::fs::read(fixture.stage.path("back.wasm")).unwrap(), bytes);
    }

    // For programs, a document each.
    fixture.policy(&["keygen", "acme"]).expect(0);
    let reference = fixture.reference(":1");
    for arguments in [
        &["push", "calm.wasm", &reference][..],
        &["pull", &reference, "-o", "back.wasm"],
        &["sign", &reference, "--key", "acme.key"],
    ] {
        let said = fixture.policy(&[arguments, &["--format", "json"]].concat()).expect(0);
        let document: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(document["record"], format!("policy-{}", arguments[0]));
        assert_eq!(digest(document["reference"].as_str().unwrap()), digest(&pushed), "{document}");
    }

    // The layout of other tools for WebAssembly in registries, down to the fields.
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(fixture.registry.blob(digest(&pushed))).unwrap()).unwrap();
    assert_eq!(manifest["schemaVersion"], 2);
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    let layer = manifest["layers"][0]["digest"].as_str().unwrap();
    assert_eq!(std::fs::read(fixture.registry.blob(layer)).unwrap(), bytes);
    let config = fixture.registry.blob(manifest["config"]["digest"].as_str().unwrap());
    let config: Value = serde_json::from_slice(&std::fs::read(config).unwrap()).unwrap();
    assert_eq!((&config["architecture"], &config["os"]), (&"wasm".into(), &"wasip2".into()));
    assert_eq!(config["layerDigests"][0], layer);
    assert_eq!(config["component"]["exports"][0], "baton:policy/compaction@0.1.0");

    // Other commands take a reference wherever they take a file.
    let inspected = fixture.policy(&["inspect", &fixture.reference(":1"), "--format", "json"]).expect(0);
    let inspected: Value = serde_json::from_str(&inspected.stdout).unwrap();
    assert_eq!((&inspected["policy"], &inspected["component"]), (&"calm".into(), &layer.into()));
    fixture.policy(&["check", &fixture.reference(":1"), "--questions", "16"]).expect(0);

    let listed = fixture.list();
    let [by_tag] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!(by_tag["tag"], "1");
    assert_eq!((&by_tag["kept"], &by_tag["pinned"]), (&true.into(), &false.into()));
    assert_eq!((&by_tag["manifest"], &by_tag["decides"][0]), (&digest(&pushed).into(), &"compaction".into()));
}

// M6: a tool that knows nothing of Baton takes the policy along, and every digest stays what it was.
#[test]
fn another_tool_copies_a_policy_byte_by_byte() {
    let Some(fixture) = LocalRegistryFixture::start() else { return };
    let pushed = fixture.push("calm.wasm", "1");
    let remote = |place: &str| format!("docker://{}/{place}/calm:1", fixture.registry.host);
    let arguments = [
        "copy",
        "--insecure-policy",
        "--preserve-digests",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
    ];
    let copied = Command::new("skopeo").args(arguments).args([remote("acme"), remote("mirror")]).output();
    let copied = match copied {
        Err(error) => {
            eprintln!("SKIPPED: skopeo cannot be started ({error}), so no other tool copied the policy");
            return;
        }
        Ok(copied) => copied,
    };
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let mirrored = format!("oci://{}/mirror/calm:1", fixture.registry.host);
    let pulled = fixture.policy(&["pull", &mirrored, "-o", "back.wasm"]).expect(0);
    assert_eq!(digest(pulled.stdout.trim()), digest(&pushed));
    assert_eq!(std::fs::read(fixture.stage.path("back.wasm")).unwrap(), component("there is room"));
}

// M6
#[test]
fn what_is_no_policy_or_no_place_is_refused_with_a_reason() {
    let Some(mut fixture) = LocalRegistryFixture::start() else { return };
    fixture.stage.write("text.wasm", "no component");
    fixture.policy(&["push", "text.wasm", &fixture.reference(":1")]).expect(3).says(&["text.wasm"]);
    fixture.policy(&["push", "calm.wasm", &fixture.reference("")]).expect(2).says(&["neither a tag"]);
    fixture.policy(&["push", "calm.wasm", "registry.example/calm:1"]).expect(2).says(&["oci://"]);
    let absent = fixture.reference(":absent");
    fixture.policy(&["pull", &absent]).expect(2).says(&[&absent, "the tag was removed"]);
    let gone = fixture.reference(&format!("@{}", Digest::of("gone")));
    fixture.policy(&["pull", &gone]).expect(2).says(&["the policy with this digest was removed"]);
    fixture.registry.stop();
    fixture
        .policy(&["pull", &fixture.reference(":1")])
        .expect(1)
        .says(&["cannot reach", &fixture.registry.host]);
    assert!(files(&fixture.store()).is_empty());
}

// M6
#[test]
fn what_was_tampered_with_is_refused_and_nothing_of_it_is_kept() {
    let Some(fixture) = LocalRegistryFixture::start() else { return };
    let pushed = fixture.push("calm.wasm", "1");
    let manifest = fixture.registry.blob(digest(&pushed));
    let layer = fixture.registry.blob(Digest::of(component("there is room")).as_str());
    for (file, what) in [(layer, "the component of"), (manifest, "")] {
        let good = std::fs::read(&file).unwrap();
        let mut bad = good.clone();
        // A digit of a digest, or a byte of code: still of the same length, and the manifest still JSON.
        let at = bad.len() - 20;
        bad[at] = if bad[at] == b'0' { b'1' } else { b'0' };
        std::fs::write(&file, bad).unwrap();
        for reference in [fixture.reference(":1"), fixture.reference(&format!("@{}", digest(&pushed)))] {
            let refused = fixture.policy(&["pull", &reference, "-o", "back.wasm"]);
            assert_ne!(refused.code, Some(0), "{}", refused.stderr);
            if !what.is_empty() {
                refused.expect(3).says(&[what, "was changed in the registry or in transit"]);
            }
            assert!(files(&fixture.store()).is_empty() && !fixture.stage.path("back.wasm").exists());
        }
        std::fs::write(&file, good).unwrap();
    }
    fixture.policy(&["pull", &fixture.reference(":1")]).expect(0);

    // And what was tampered with here.
    let blob = fixture.store().join("sha256").join(Digest::of(component("there is room")).hex());
    std::fs::write(&blob, "another").unwrap();
    let exact = fixture.reference(&format!("@{}", digest(&pushed)));
    fixture.policy(&["inspect", &exact]).expect(3).says(&["has changed since it was pulled", "Delete it"]);
    assert!(fixture.list()[0]["refused"].as_str().unwrap().contains("has changed since it was pulled"));
    std::fs::remove_file(&blob).unwrap();
    fixture.policy(&["inspect", &exact]).expect(0);
}

// M6
#[test]
fn only_what_somebody_trusted_has_signed_is_taken() {
    let Some(fixture) = LocalRegistryFixture::start() else { return };
    let pushed = fixture.push("calm.wasm", "1");
    let reference = fixture.reference(":1");
    for name in ["acme", "mallory"] {
        fixture.policy(&["keygen", name]).expect(0);
    }
    let verify = |key: &str| {
        fixture.policy(&["verify", &reference, "--key", &format!("{key}.pub"), "--format", "json"])
    };

    verify("acme").expect(3).says(&["is not signed, and --key requires a signature", &reference]);
    fixture.policy(&["verify", &reference]).expect(3);
    let signed = fixture.policy(&["sign", &reference, "--key", "mallory.key"]).expect(0);
    assert_eq!(digest(signed.stdout.trim()), digest(&pushed));
    verify("acme").expect(3).says(&["not by acme.pub"]);
    fixture.policy(&["sign", &reference, "--key", "acme.key"]).expect(0);
    let verified: Value = serde_json::from_str(&verify("acme").expect(0).stdout).unwrap();
    assert_eq!((&verified["record"], &verified["verified"]), (&"policy-verify".into(), &true.into()));
    assert_eq!(
        (&verified["verdict"]["by"], &verified["manifest"]),
        (&"acme.pub".into(), &digest(&pushed).into())
    );
    verify("mallory").expect(0);

    // By the rules of a config, with the key beside it.
    let from = format!("[[rule]]\nfrom = \"{}/acme/*\"\nkeys = [\"acme.pub\"]", fixture.registry.host);
    let rules = from.replace("[[rule]]", "[[trust.rule]]");
    fixture.trust(&rules);
    std::fs::copy(fixture.stage.path("acme.pub"), fixture.stage.path(".config/baton/acme.pub")).unwrap();
    fixture.policy(&["verify", &reference]).expect(0);
    fixture.policy(&["pull", &reference]).expect(0).says(&["signed by ", "acme.pub"]);
    fixture.push("other.wasm", "2");
    let unsigned = fixture.policy(&["pull", &fixture.reference(":2"), "-o", "back.wasm"]).expect(3);
    unsigned.says(&["is not signed", "/acme/*", "baton policy sign"]);
    fixture.policy(&["sign", &fixture.reference(":2"), "--key", "mallory.key"]).expect(0);
    fixture.policy(&["pull", &fixture.reference(":2")]).expect(3).says(&["signed, but not by", "acme.pub"]);
    assert!(!fixture.stage.path("back.wasm").exists());
    assert!(fixture.list().iter().all(|row| row["tag"] != "2"), "what was refused is not kept");

    // What was kept before a rule is held to it as well.
    fixture.trust(&rules.replace("acme.pub", "mallory.pub"));
    std::fs::copy(fixture.stage.path("other.wasm"), fixture.stage.path(".config/baton/mallory.pub")).unwrap();
    fixture.policy(&["inspect", &reference]).expect(2).says(&["mallory.pub", "cannot use the key"]);
    fixture.trust("signed = true");
    fixture.policy(&["inspect", &reference]).expect(2).says(&["config.toml", "signed"]);
}

// M6
#[test]
fn a_file_is_signed_for_everybody_who_can_read_base64() {
    let stage = TestWorkspace::new();
    stage.write("calm.wasm", component("there is room"));
    stage.baton(&["policy", "keygen", "acme"]).expect(0);
    stage.baton(&["policy", "sign", "calm.wasm", "--key", "acme.key"]).expect(0);
    let verify = ["policy", "verify", "calm.wasm", "--key", "acme.pub"];
    let said = stage.baton(&verify).expect(0).stdout;
    assert!(said.starts_with("verified: calm.wasm") && said.contains("signed by acme.pub"), "{said}");
    stage.write("calm.wasm", component("there is no room"));
    stage.baton(&verify).expect(3).says(&["calm.wasm.sig", "the file changed since"]);
    std::fs::remove_file(stage.path("calm.wasm.sig")).unwrap();
    stage.baton(&verify).expect(2).says(&["calm.wasm.sig", "baton policy sign"]);
    stage.baton(&["policy", "verify", "calm.wasm"]).expect(2).says(&["--key"]);
    stage.baton(&["policy", "sign", "calm.wasm", "--key", "acme.pub"]).expect(2).says(&["not a private key"]);
}

// M6
#[test]
fn a_workflow_pins_what_it_uses_and_needs_no_network_afterwards() {
    let Some(mut fixture) = LocalRegistryFixture::start() else { return };
    let workflow = |reference: &str| {
        format!(
            "name = \"job\"\ngoal = \"Show what decides.\"\n[policies]\ncompaction = \"{reference}\"\n\
             [roles.executor]\nscript = \"script.toml\"\n[[phases]]\nid = \"only\"\n\
             objectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n"
        )
    };
    let writes = "window_tokens = 100000\n[objectives.a]\nsteps = [{ write = \"a.txt\", content = \"a\" }]\n";
    fixture.stage.write("script.toml", writes);
    let first = fixture.push("calm.wasm", "1");
    let reference = fixture.reference(":1");
    fixture.stage.write("job.toml", workflow(&reference));
    let lock = || std::fs::read_to_string(fixture.stage.path("baton.lock")).unwrap_or_default();
    let calm = Digest::of(component("there is room"));

    fixture.plan().expect(2).says(&["is not pinned", "baton policy lock"]);
    // What was pulled under the tag is not what a run would take once the tag has moved.
    fixture.push("other.wasm", "1");
    fixture.policy(&["pull", &reference]).expect(0);
    assert_eq!(fixture.push("calm.wasm", "1"), first);
    fixture.plan().expect(2).says(&["is not pinned"]);
    fixture.policy(&["which", "job.toml"]).expect(2).says(&["is not pinned"]);
    assert_eq!(lock(), "", "a plan begins nothing, asks nobody and pins nothing");
    let run = fixture.run(&[]).expect(0);
    run.says(&["pinned", &reference, digest(&first), "not signed", "baton.lock"]);
    assert!(lock().contains(digest(&first)) && lock().contains(calm.as_str()), "{}", lock());

    // The tag moves; the pin does not, until a person says so.
    fixture.policy(&["keygen", "acme"]).expect(0);
    fixture.policy(&["sign", &reference, "--key", "acme.key"]).expect(0);
    let verify = || fixture.policy(&["verify", &reference, "--key", "acme.pub"]).expect(0).stdout;
    let verified = verify();
    assert!(verified.contains("this is what baton.lock pins here"), "{verified}");
    assert!(!verified.contains("the tag leads elsewhere"), "{verified}");
    let second = fixture.push("other.wasm", "1");
    let verified = verify();
    let moved = verified.split("the tag leads elsewhere now: ").nth(1).unwrap_or_default();
    assert!(verified.contains(digest(&first)) && moved.contains(digest(&second)), "{verified}");
    assert!(moved.contains("is not signed"), "{verified}");
    let plan = fixture.plan().expect(0).stdout;
    assert!(plan.contains(calm.as_str()), "{plan}");
    let pinned = fixture.list();
    let pinned: Vec<_> = pinned.iter().filter(|row| row["pinned"] == true).collect();
    assert_eq!((pinned.len(), &pinned[0]["manifest"]), (1, &digest(&first).into()));
    let moved = fixture.policy(&["lock", "job.toml"]).expect(0);
    moved.says(&["moved", digest(&first), digest(&second), "pinned 1 component"]);
    assert!(fixture.plan().expect(0).stdout.contains(Digest::of(component("there is room enough")).as_str()));

    // Without a network, from the plan to the run.
    fixture.registry.stop();
    let offline = fixture.run(&["--restart"]).expect(0);
    assert!(!offline.stderr.contains("pinned"), "{}", offline.stderr);
    fixture.policy(&["inspect", &reference]).expect(0);
    fixture.policy(&["lock", "job.toml"]).expect(1).says(&["cannot reach"]);
    assert!(lock().contains(digest(&second)), "a lock that failed changed nothing");
}

// M5, M6
#[test]
fn an_arm_from_a_registry_is_what_its_tag_meant_at_the_start_and_needs_no_network() {
    let Some(mut fixture) = LocalRegistryFixture::start() else { return };
    fixture.push("calm.wasm", "1");
    let arm = format!("calm={}:50", fixture.reference(":1"));
    let begin = ["experiment", "start", "calmer", "--control", "resilience", "--arm", &arm, "--unit", "run"];
    fixture.stage.baton(&begin).expect(0);
    // The tag moves, and the registry is gone: what is compared stays what it was.
    fixture.push("other.wasm", "1");
    fixture.registry.stop();

    let workflow = "name = \"job\"\ngoal = \"Show what decides.\"\n[roles.executor]\nscript = \"script.toml\"\n\
                    [[phases]]\nid = \"only\"\n\
                    objectives = [{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }]\n";
    let steps = "[{ write = \"a.txt\", content = \"done\" }]";
    fixture.stage.write("job.toml", workflow);
    fixture.stage.write("script.toml", format!("window_tokens = 100000\n[objectives.a]\nsteps = {steps}\n"));
    let calm = Digest::of(component("there is room"));
    // Twenty draws of an even chance: not once in a million times is the arm not among them.
    let drawn = (0..20).any(|_| {
        fixture.run(&[]).expect(0).says(&["enrolled in experiment calmer: arm "]);
        let which = fixture.policy(&["which", "--run", "--workspace", "work"]).expect(0).stdout;
        which.contains("experiment  calmer, arm calm") && which.contains(calm.short())
    });
    assert!(drawn);
}

// M6
#[test]
fn a_wire_that_is_cut_leaves_nothing_half() {
    let Some(fixture) = LocalRegistryFixture::start() else { return };
    fixture.stage.write("large.wasm", large_component());
    fixture.push("large.wasm", "1");
    let wire = CuttableProxy::to(&fixture.registry.host);
    let reference = format!("oci://{}/acme/calm:1", wire.host);
    for bytes in [10, 700, 300_000] {
        wire.cut_after(bytes);
        let cut = fixture.policy(&["pull", &reference, "-o", "back.wasm"]).expect(1);
        assert!(cut.stderr.contains(&wire.host), "{}", cut.stderr);
        assert!(files(&fixture.store()).is_empty() && !fixture.stage.path("back.wasm").exists(), "{bytes}");
    }
    wire.cut_after(300_000);
    fixture.policy(&["pull", &reference]).expect(1).says(&["closed before the transfer completed"]);
    wire.cut_after(usize::MAX);
    fixture.policy(&["pull", &reference, "-o", "back.wasm"]).expect(0);
    assert_eq!(std::fs::read(fixture.stage.path("back.wasm")).unwrap(), large_component());
}
