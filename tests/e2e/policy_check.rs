//! `baton policy check`, from the outside: a verdict in words and for programs, an exit code, and the engine's own words
//! where a component cannot even be asked.

use crate::guests::GuestBuilder;
use crate::support::TestWorkspace;
use baton_runtime::engine::{CompilerProcess, Engine, EngineConfig};
use serde_json::Value;

#[test]
fn a_policy_that_breaks_no_rule_is_fit() {
    let stage = TestWorkspace::new();
    stage.write("calm.wasm", GuestBuilder::good("there is room").build());
    let ended = stage.baton(&["policy", "check", "calm.wasm", "--questions", "64"]).expect(0);
    let text = ended.stdout;
    assert!(text.starts_with("fit to decide: compaction\n"), "{text}");
    for shown in [
        "decides    compaction",
        "imports    ",
        "exports    baton:policy/compaction@0.1.0",
        "compaction.decide",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
    let again = stage.baton(&["policy", "check", "calm.wasm", "--questions", "64"]).expect(0);
    assert_eq!(again.stdout, text, "the same check says the same");
    // What was compiled is kept for the next check, and for the run that follows.
    let kept = std::fs::read_dir(stage.path(".local/state/baton/aot")).unwrap();
    let compiled =
        kept.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "cwasm"));
    assert_eq!(compiled.count(), 1);
}

#[test]
fn a_policy_that_breaks_a_rule_is_refused_and_shown_with_what() {
    let stage = TestWorkspace::new();
    stage.write("mute.wasm", GuestBuilder::good("").build());
    let json =
        ["policy", "check", "mute.wasm", "--questions", "64", "--format", "json", "--save", "broken.json"];
    let ended = stage.baton(&json).expect(3);
    let record: Value = serde_json::from_str(&ended.stdout).expect("it is JSON");
    assert_eq!((&record["schema"], &record["record"]), (&1.into(), &"policy-check".into()));
    assert_eq!(record["fit"], false);
    let report = &record["conformance"];
    assert!(report["component"].as_str().is_some_and(|digest| digest.starts_with("sha256:")), "{report}");
    assert_eq!((&report["asked"], &report["seed"]), (&64.into(), &1.into()));
    let rules = report["rules"].as_array().expect("rules");
    let broken: Vec<&Value> = rules.iter().filter(|rule| rule["broken"] != 0).collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0]["name"], "gives-reason");
    assert_eq!(broken[0]["counterexample"]["question"]["ask"]["function"], "compaction");

    let saved = std::fs::read_to_string(stage.path("broken.json")).expect("it was saved");
    let saved: Value = serde_json::from_str(&saved).expect("it is JSON");
    assert_eq!(&saved["broken"][0], broken[0]);
}

/// The file of rules of host/cli/docs/policies.md is fit; what abstains from everything and is no file of rules is not.
#[test]
fn the_documented_rules_are_fit_and_a_component_that_only_abstains_is_not() {
    let stage = TestWorkspace::new();
    let docs = include_str!("../../host/cli/docs/policies.md");
    let rules = docs.split("# house.toml\n").nth(1).and_then(|rest| rest.split("```").next());
    stage.write("house.toml", rules.expect("the guide has a file of rules"));
    let ended = stage.baton(&["policy", "check", "rules:house.toml", "--questions", "200"]).expect(0);
    assert!(ended.stdout.starts_with("fit to decide: exhaustion, recovery, "), "{}", ended.stdout);
    for said in ["no rule of the file applies", "recovery.decide", "baton policy try"] {
        assert!(ended.stdout.contains(said), "{}", ended.stdout);
    }
    stage.write("mute.wasm", GuestBuilder::abstaining().build());
    let ended = stage.baton(&["policy", "check", "mute.wasm", "--questions", "64"]).expect(3);
    assert!(
        ended
            .stdout
            .starts_with("not shown to be fit: it abstained from every question of compaction.decide"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_policy_that_answers_nothing_is_not_asked_for_ever() {
    let stage = TestWorkspace::new();
    stage.write("trap.wasm", GuestBuilder::deciding("unreachable").build());
    let ended = stage.baton(&["policy", "check", "trap.wasm"]).expect(3);
    let text = ended.stdout;
    assert!(text.starts_with("not fit to decide: 1 of "), "{text}");
    assert!(text.contains("of 10000") && text.contains("trapped"), "{text}");
}

/// A component of a few functions, each as much straight code as one may have: within every bound, and much to compile.
fn straight_code(functions: u32) -> Vec<u8> {
    fn leb(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number > 0x7f {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }
    let section = |id: u8, body: &[u8]| [&[id][..], &leb(body.len()), body].concat();
    let count = leb(functions as usize);
    let body = [&[0, 0x20, 0][..], &[0x69; 1_000_000], &[0x0b]].concat(); // local.get 0, i32.popcnt, …, end
    let code = [&leb(body.len())[..], &body].concat().repeat(functions as usize);
    let module = [
        b"\0asm\x01\0\0\0",
        &section(1, b"\x01\x60\x01\x7f\x01\x7f")[..], // One type: a number to a number.
        &section(3, &[&count[..], &vec![0; functions as usize]].concat()),
        &section(10, &[&count[..], &code].concat()),
    ];
    [b"\0asm\x0d\0\x01\0", &section(1, &module.concat())[..]].concat()
}

// N6: what passes every bound and still takes more than there is ends the process that compiles it, and nobody else.
#[test]
fn compiling_takes_no_more_than_its_process_may() {
    let process = |memory_mib, cpu_seconds| CompilerProcess {
        program: env!("CARGO_BIN_EXE_baton").into(),
        arguments: vec!["__compile".into()],
        memory_mib,
        cpu_seconds,
    };
    let load = |compiler: CompilerProcess, bytes: &[u8]| {
        let engine =
            Engine::new(EngineConfig { compiler: Some(compiler), ..EngineConfig::default() }).unwrap();
        engine
            .load("stranger", bytes)
            .map(|policy| policy.decides().to_vec())
            .map_err(|error| error.to_string())
    };
    let little = load(process(192, 600), &straight_code(20)).unwrap_err();
    assert_eq!(little, "policy stranger: is not compiled: compiling it takes more than 192 MiB of memory");
    let short = load(process(4096, 1), &straight_code(20)).unwrap_err();
    assert_eq!(short, "policy stranger: is not compiled: compiling it takes more than 1 s of processor time");
    let broken = load(process(2048, 600), b"\0asm\x0d\0\x01\0\x01\x01\0").unwrap_err();
    assert!(broken.starts_with("policy stranger: cannot be compiled: "), "{broken}");
    let nobody = CompilerProcess { program: "/no/such/program".into(), ..process(2048, 600) };
    let nobody = load(nobody, &GuestBuilder::good("ok").build()).unwrap_err();
    assert!(nobody.contains("/no/such/program"), "{nobody}");
    let made = load(process(2048, 600), &GuestBuilder::good("ok").build()).unwrap();
    assert!(!made.is_empty());
}

#[test]
fn what_is_no_policy_is_refused_in_the_words_of_the_engine() {
    let stage = TestWorkspace::new();
    stage.write("text.wasm", "(component)");
    stage.baton(&["policy", "check", "text.wasm"]).expect(3).says(&["not a WebAssembly component"]);

    let wasi = GuestBuilder::good("ok")
        .with_package("package wasi:clocks@0.2.0; interface wall-clock { now: func() -> u64; }")
        .contract("world imports {", "world imports { import wasi:clocks/wall-clock@0.2.0;")
        .import("wall-clock", "now");
    stage.write("wasi.wasm", wasi.build());
    stage.baton(&["policy", "check", "wasi.wasm"]).expect(3).says(&["wasi:clocks/wall-clock@0.2.0"]);

    stage.baton(&["policy", "check", "nowhere.wasm"]).expect(2).says(&["nowhere.wasm"]);
}

#[test]
fn what_must_be_granted_is_said() {
    let stage = TestWorkspace::new();
    let reads = GuestBuilder::good("there is room").import("artifacts", "names");
    stage.write("reads.wasm", reads.build());
    let text = stage.baton(&["policy", "check", "reads.wasm", "--questions", "8"]).expect(0).stdout;
    assert!(text.contains("baton:policy/artifacts@0.1.0  must be granted"), "{text}");
}

#[test]
fn golden_decisions_are_written_held_and_told_where_they_part() {
    // M4
    let stage = TestWorkspace::new();
    stage.write("calm.wasm", GuestBuilder::good("there is room").build());
    stage.write("curt.wasm", GuestBuilder::good("room").build());
    let check = |policy: &str, more: &[&str]| {
        let check = ["policy", "check", policy, "--questions", "8", "--golden", "golden"];
        stage.baton(&[check.as_slice(), more].concat())
    };
    check("calm.wasm", &[]).expect(2).says(&["cannot list golden"]);
    std::fs::create_dir(stage.path("golden")).expect("it is made");
    check("calm.wasm", &[]).expect(2).says(&["there is no golden file (*.json) in golden"]);

    let question = stage.baton(&["policy", "try", "--sample", "compaction"]).expect(0).stdout;
    stage.write("golden/calm.json", &question);
    let text = check("calm.wasm", &[]).expect(3).stdout;
    assert!(text.contains("has no decision yet; --update writes it"), "{text}");
    let text = check("calm.wasm", &["--update"]).expect(0).stdout;
    assert!(text.contains("golden     1 of 1 stand in golden, 1 written"), "{text}");
    let text = check("calm.wasm", &[]).expect(0).stdout;
    assert!(text.contains("golden     1 of 1 stand in golden\n"), "{text}");

    let text = check("curt.wasm", &[]).expect(3).stdout;
    assert!(text.starts_with("not fit to decide: 1 of 1 golden decisions does not stand\n"), "{text}");
    let record: Value = serde_json::from_str(&check("curt.wasm", &["--format", "json"]).expect(3).stdout)
        .expect("it is JSON");
    let parted = &record["golden"]["parted"][0];
    assert_eq!(parted["file"], "golden/calm.json");
    assert_eq!(parted["why"][0], "decision.answer.reason was \"there is room\", and is \"room\"");

    stage.write("golden/calm.json", question.replacen("\"attributes\"", "\"attribute\"", 1));
    check("calm.wasm", &[]).expect(2).says(&["golden/calm.json: ask.observation", "attribute"]);
}

#[test]
fn a_policy_that_is_not_fit_is_not_taken_unless_a_person_insists() {
    let stage = TestWorkspace::new();
    stage.write("trap.wasm", GuestBuilder::deciding("unreachable").build());
    let push = ["policy", "push", "trap.wasm", "oci://127.0.0.1:1/acme/trap:1"];
    stage.baton(&push).expect(3).says(&["not fit to decide", "--unchecked"]);
    // The second answer comes from what the first check found.
    stage.baton(&push).expect(3).says(&["not fit to decide"]);
    let start = ["experiment", "start", "harm", "--arm", "bad=trap.wasm"];
    stage.baton(&start).expect(3).says(&["not fit to decide"]);
    stage.baton(&[&start[..], &["--unchecked"]].concat()).expect(0).says(&["used unchecked"]);
    // That is kept with the arm, and so with each run that gets it.
    let shown = stage.baton(&["experiment", "show", "harm", "--format", "json"]).expect(0).stdout;
    let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
    let arms = shown["definition"]["versions"][0]["arms"].as_array().unwrap();
    let unchecked: Vec<_> =
        arms.iter().map(|arm| (arm["name"].as_str(), arm["unchecked"].as_bool())).collect();
    assert_eq!(unchecked, [(Some("control"), None), (Some("bad"), Some(true))]);
}
