//! Components that are refused when they are loaded, by their imports, their exports, or what they are made of.

use std::fmt::Write as _;

use crate::hostile::attacks::{PolicyAttack, in_vain_bytes, refused, refused_bytes};
use crate::hostile::guests::GuestBuilder;
use crate::hostile::raw;

pub(crate) fn attacks() -> Vec<PolicyAttack> {
    let mut attacks = imports();
    attacks.extend(exports());
    attacks.extend(substance());
    attacks.extend(bombs());
    attacks.extend(starts());
    attacks.extend(wants());
    attacks
}

fn imports() -> Vec<PolicyAttack> {
    let good = || GuestBuilder::good("ok");
    let clock = good()
        .with_package("package wasi:clocks@0.2.0; interface wall-clock { now: func() -> u64; }")
        .contract("world imports {", "world imports { import wasi:clocks/wall-clock@0.2.0;")
        .import("wall-clock", "now");
    let other_version = good()
        .with_package("package baton:policy@0.2.0; interface log { shout: func(); }")
        .contract("world imports {", "world imports { import baton:policy/log@0.2.0;")
        .import("log", "shout");
    let unknown = good().contract(
        "len: func(text: text-id) -> u32;",
        "len: func(text: text-id) -> u32; hash: func() -> u32;",
    );
    let other_type = good().contract("len: func(text: text-id) -> u32;", "len: func(text: text-id) -> u64;");
    vec![
        refused(
            "imports-wasi",
            &clock,
            "Import",
            "imports `wasi:clocks/wall-clock@0.2.0`, which no policy may have",
        ),
        refused(
            "imports-another-version",
            &other_version,
            "Import",
            "imports `baton:policy/log@0.2.0`, which this host does not know: it has version 0.1",
        ),
        refused(
            "imports-artifacts-that-were-not-granted",
            &good().import("artifacts", "read"),
            "Import",
            "imports `baton:policy/artifacts@0.1.0`, which was not granted to it",
        ),
        refused(
            "imports-a-function-that-does-not-exist",
            &unknown.import("text", "hash"),
            "Contract",
            "hash",
        ),
        refused("imports-a-function-of-another-type", &other_type.import("text", "len"), "Contract", "len"),
        refused_bytes(
            "imports-an-interface-that-does-not-exist",
            raw::good_with("(import \"baton:policy/clock@0.1.0\" (instance))"),
            "Import",
            "imports `baton:policy/clock@0.1.0`, which baton:policy does not offer",
        ),
        refused_bytes(
            "imports-a-plain-name",
            raw::good_with("(import \"environment\" (func (result string)))"),
            "Import",
            "imports `environment`, which no policy may have",
        ),
        refused_bytes(
            "imports-from-the-network",
            raw::good_with("(import \"url=<https://example.com/more.wasm>\" (func))"),
            "Import",
            "which no policy may have",
        ),
        refused_bytes(
            "imports-the-right-name-of-the-wrong-kind",
            raw::good_with("(import \"baton:policy/log@0.1.0\" (func))"),
            "Contract",
            "baton:policy/log@0.1.0",
        ),
        refused_bytes(
            "imports-a-component",
            raw::good_with("(import \"more\" (component))"),
            "Bounds",
            "passes a component to a component",
        ),
        refused_bytes(
            "imports-a-name-of-50-kb",
            raw::good_with(&format!("(import \"a{}\" (func))", "b".repeat(50_000))),
            "Import",
            "which no policy may have",
        ),
    ]
}

fn exports() -> Vec<PolicyAttack> {
    let good = || GuestBuilder::good("ok");
    let decides = "baton:policy/compaction@0.1.0";
    let nothing = "(component $empty) (instance $e (instantiate $empty))";
    let calls = "(core module $m (func (export \"f\"))) (core instance $i (instantiate $m))
                 (func $f (canon lift (core func $i \"f\")))";
    vec![
        refused_bytes("exports-nothing", raw::component(""), "NoDecision", "it exports: nothing"),
        refused(
            "decides-nothing",
            &GuestBuilder::new("settings-policy"),
            "NoDecision",
            "baton:policy/settings@0.1.0",
        ),
        refused_bytes(
            "exports-another-version",
            raw::component(&format!("{nothing} (export \"baton:policy/compaction@0.2.0\" (instance $e))")),
            "NoDecision",
            "it exports: baton:policy/compaction@0.2.0",
        ),
        refused_bytes(
            "exports-a-function-for-an-interface",
            raw::component(&format!("{calls} (export \"{decides}\" (func $f))")),
            "Contract",
            "it exports compaction without the function decide",
        ),
        refused_bytes(
            "exports-an-empty-interface",
            raw::component(&format!("{nothing} (export \"{decides}\" (instance $e))")),
            "Contract",
            "it exports compaction without the function decide",
        ),
        refused_bytes(
            "exports-an-instance-for-a-function",
            raw::component(&format!(
                "{nothing} (instance $x (export \"decide\" (instance $e))) (export \"{decides}\" (instance $x))"
            )),
            "Contract",
            "compaction.decide",
        ),
        refused_bytes(
            "exports-a-function-of-another-type",
            raw::component(&format!(
                "{calls} (instance $x (export \"decide\" (func $f))) (export \"{decides}\" (instance $x))"
            )),
            "Contract",
            "compaction.decide",
        ),
        refused_bytes(
            "exports-a-name-twice",
            raw::component(&format!(
                "{nothing} (export \"{decides}\" (instance $e)) (export \"{decides}\" (instance $e))"
            )),
            "Compile",
            "conflicts with previous name",
        ),
        refused_bytes(
            "exports-900-names",
            raw::component(&(0..900).fold(nothing.to_owned(), |text, n| {
                format!("{text} (export \"a-name-that-is-rather-long-{n}\" (instance $e))")
            })),
            "NoDecision",
            "it exports: a-name-that-is-rather-long-0",
        ),
        refused(
            "answers-a-record-with-one-field-more",
            &good().contract(
                "record compaction-decision {\n        action: compaction-action,",
                "record compaction-decision {\n        extra: u32,\n        action: compaction-action,",
            ),
            "Contract",
            "compaction.decide",
        ),
        refused(
            "sees-a-record-with-one-field-more",
            &good().contract("compactions: u32,", "compactions: u32,\n        compaction-failures: u32,"),
            "Contract",
            "compaction.decide",
        ),
        refused(
            "sees-a-field-of-another-type",
            &good().contract("compactions: u32,", "compactions: u64,"),
            "Contract",
            "compaction.decide",
        ),
        refused(
            "answers-a-variant-with-one-case-more",
            &good()
                .contract("        hand-off,\n    }", "        hand-off,\n        delete-everything,\n    }"),
            "Contract",
            "compaction.decide",
        ),
        refused(
            "lacks-a-function-of-an-interface",
            &GuestBuilder::new("splitting-policy").contract(
                "decide: func(observation: splitting-observation)",
                "evaluate: func(observation: splitting-observation)",
            ),
            "Contract",
            "it exports splitting without the function decide",
        ),
    ]
}

fn substance() -> Vec<PolicyAttack> {
    let good = GuestBuilder::good("ok").build();
    let mut no_component = vec![
        ("is-empty", Vec::new(), "an empty file"),
        ("is-a-core-module", wat::parse_str("(module)").expect("text"), "a core module"),
        ("is-text", b"(component)".to_vec(), "WebAssembly as text"),
        (
            "is-native-code",
            b"\x7fELF\x02\x01\x01".to_vec(),
            "native code, which is never loaded from outside",
        ),
        ("is-of-an-unknown-version", b"\0asm\x09\0\x09\0".to_vec(), "WebAssembly of an unknown kind"),
        ("is-a-script", b"#!/bin/sh\nrm -rf ~".to_vec(), "something else"),
    ]
    .into_iter()
    .map(|(name, bytes, what)| refused_bytes(name, bytes, "NotAComponent", what))
    .collect::<Vec<_>>();
    let memory = |more: &str| {
        raw::good_with(&format!("(core module $more {more}) (core instance (instantiate $more))"))
    };
    no_component.extend([
        refused_bytes("is-cut-short", good[..good.len() / 2].to_vec(), "Compile", "cannot be compiled"),
        refused_bytes(
            "is-too-large",
            [good.as_slice(), &vec![0; 64 << 20]].concat(),
            "TooLarge",
            "at most 67108864",
        ),
        refused("begins-with-too-much-memory", &GuestBuilder::good("").pages(200), "Trial", "memory"),
        refused(
            "begins-with-more-memory-than-the-pool-has",
            &GuestBuilder::good("").pages(60_000),
            "Compile",
            "memory",
        ),
        refused_bytes("has-two-memories", memory("(memory 1)"), "Compile", "memories"),
        refused_bytes("has-shared-memory", memory("(memory 1 1 shared)"), "Compile", "threads"),
        refused_bytes("has-five-tables", memory(&"(table 1 funcref)".repeat(5)), "Compile", "tables"),
        refused_bytes("has-a-huge-table", memory("(table 5000000 funcref)"), "Compile", "table"),
        refused_bytes(
            "has-a-hundred-core-instances",
            raw::good_with(&format!(
                "(core module $more) {}",
                "(core instance (instantiate $more))".repeat(100)
            )),
            "Compile",
            "101 core module instances",
        ),
    ]);
    no_component
}

/// Small to write down and large to compile.
fn bombs() -> Vec<PolicyAttack> {
    let deep = (1..200).fold("(type $t0 (list u8))".to_owned(), |mut text, level| {
        let _ = write!(text, "(type $t{level} (list $t{}))", level - 1);
        text
    });
    let functions = |count: usize| raw::good_with(&format!("(core module {})", "(func)".repeat(count)));
    let looping = |kind: &str, variables: usize, loops: usize| {
        let function = format!("{kind} {}) {}", "i32 ".repeat(variables), "(loop)".repeat(loops));
        raw::good_with(&format!("(core module (func {function}))"))
    };
    // Blocks in one another, and branches to them that each find other values in the variables.
    let branching = |block: &str, depth: usize, variables: usize, branches: usize| {
        let branch = |n: usize| {
            let (one, other, to) = (n % variables, (n + 1) % variables, n % depth);
            format!(
                "(local.set {one} (i32.add (local.get {one}) (local.get {other}))) (br_if {to} (local.get {one}))"
            )
        };
        let branches: String = (0..branches).map(branch).collect();
        let (opened, ended) = (format!("{block} ").repeat(depth), "end ".repeat(depth));
        let variables = "i32 ".repeat(variables);
        raw::good_with(&format!("(core module (func (local {variables}) {opened} {branches} {ended}))"))
    };
    let many = |count: usize| "i32 ".repeat(count);
    // A thousand values in the few bytes that name a type.
    let valued = |function: &str| {
        let types = format!(
            "(type $many (func (result {}))) (type $through (func (param {}) (result {})))",
            many(1000),
            many(1000),
            many(1000)
        );
        raw::good_with(&format!("(core module {types} (func $all (type $many) unreachable) {function})"))
    };
    let taking = |kind: &str| {
        let (taken, drops) = (many(1000), "drop ".repeat(1000));
        let blocks = format!("{kind} (param {taken})").repeat(500) + &drops + &"end ".repeat(500);
        raw::good_with(&format!("(core module (func unreachable {blocks}))"))
    };
    let code = |bytes: usize| raw::good_with(&format!("(core module (func {}))", "nop ".repeat(bytes)));
    vec![
        refused_bytes(
            "unfolds-to-a-billion-instances",
            raw::component(&raw::doubling(30)),
            "Bounds",
            "unfold to more than 1000 instances",
        ),
        refused_bytes(
            "unfolds-by-an-alias",
            raw::component(
                "(component $a) (component $b
                    (alias outer 1 $a (component $c))
                    (component $d (alias outer 1 $c (component $e)) (instance (instantiate $e)) (instance (instantiate $e)))
                    (instance (instantiate $d)) (instance (instantiate $d)))
                 (import \"nothing\" (func))",
            ),
            "Import",
            "imports `nothing`",
        ),
        refused_bytes(
            "unfolds-what-it-is-handed",
            raw::component(
                "(component $a) (component $b (import \"c\" (component $c)) (instance (instantiate $c)))
                 (instance (instantiate $b (with \"c\" (component $a))))",
            ),
            "Bounds",
            "passes a component to a component",
        ),
        refused_bytes("has-types-200-deep", raw::good_with(&deep), "Compile", "type nesting is too deep"),
        refused_bytes("has-60000-functions", functions(60_000), "Bounds", "more than 50000 functions"),
        refused_bytes("has-a-function-of-a-megabyte", code(1_100_000), "Bounds", "at most 1048576 are compiled"),
        refused_bytes(
            "has-many-variables-in-many-loops",
            looping("(local", 1000, 4000),
            "Bounds",
            "too many variables in too many branches and loops",
        ),
        refused_bytes(
            "has-many-parameters-in-many-loops",
            looping("(param", 900, 4000),
            "Bounds",
            "too many variables in too many branches and loops",
        ),
        refused_bytes(
            "has-loops-2000-deep-with-branches-out-of-them",
            branching("loop", 2000, 500, 20_000),
            "Bounds",
            "too many variables in too many branches and loops",
        ),
        refused_bytes(
            "branches-back-to-few-loops-too-often",
            branching("loop", 10, 500, 8000),
            "Bounds",
            "too many variables in too many branches and loops",
        ),
        refused_bytes(
            "has-one-function-with-too-many-branches",
            branching("block", 500, 500, 20_000),
            "Bounds",
            "too many variables in too many branches and loops",
        ),
        refused_bytes(
            "calls-for-a-thousand-results",
            valued(&format!("(func {})", "(call $all) unreachable ".repeat(1000))),
            "Bounds",
            "1000 results or parameters of a block, at most 16",
        ),
        refused_bytes(
            "passes-a-thousand-values-through",
            valued("(func $pass (type $through) unreachable)"),
            "Bounds",
            "1000 results",
        ),
        refused_bytes("takes-a-thousand-values-into-blocks", taking("block"), "Bounds", "1000 results"),
        refused_bytes("takes-a-thousand-values-into-loops", taking("loop"), "Bounds", "1000 results"),
        refused_bytes(
            "has-functions-of-a-thousand-parameters",
            raw::good_with(&format!(
                "(core module (type $t (func (param {}))) {})",
                many(1000),
                "(func (type $t) unreachable)".repeat(300)
            )),
            "Bounds",
            "more than 250000 parameters together",
        ),
        refused_bytes(
            "makes-resources",
            raw::good_with("(type $r (resource (rep i32))) (core func $new (canon resource.new $r))"),
            "Bounds",
            "it creates resources",
        ),
        in_vain_bytes("has-components-5000-deep", raw::good_with_nested(5000)),
        in_vain_bytes("has-ten-thousand-functions", functions(10_000)),
        in_vain_bytes("has-a-custom-section-of-10-mb", raw::good_with_section("noise", &vec![7; 10 << 20])),
    ]
}

fn starts() -> Vec<PolicyAttack> {
    let good = || GuestBuilder::good("ok");
    vec![
        refused(
            "never-ends-to-start",
            &good().starting_with("(loop $again (br $again))"),
            "Trial",
            "failed when it was tried: it used up its 20000000 units of fuel",
        ),
        refused("traps-when-it-starts", &good().starting_with("unreachable"), "Trial", "it trapped"),
        refused(
            "recurses-when-it-starts",
            &good().item("(func $start call $start) (start $start)"),
            "Trial",
            "call stack exhausted",
        ),
        refused(
            "has-data-out-of-bounds",
            &good().item("(data (i32.const 0x7ffffff0) \"beyond\")"),
            "Trial",
            "out of bounds",
        ),
        refused(
            "calls-the-host-when-it-starts",
            &good()
                .starting_with("(drop (call $get-flag (i32.const 0) (i32.const 0)))")
                .import("config", "get-flag"),
            "Trial",
            "uninitialized element",
        ),
    ]
}

/// What it says of itself is a courtesy, and has to be said rightly.
fn wants() -> Vec<PolicyAttack> {
    let says = |section: &[u8]| raw::good_with_section("baton:wants", section);
    let mut twice = says(br#"{"schema":1}"#);
    raw::append_section(&mut twice, "baton:wants", br#"{"schema":1,"artifacts":["*"]}"#);
    let mut lies = GuestBuilder::good("ok").import("artifacts", "read").build();
    raw::append_section(&mut lies, "baton:wants", br#"{"schema":1}"#);
    vec![
        refused_bytes(
            "wants-nothing-and-imports-artifacts",
            lies,
            "Import",
            "imports `baton:policy/artifacts@0.1.0`, which was not granted to it",
        ),
        refused_bytes("wants-what-is-no-json", says(b"{\"schema\":"), "Wants", "baton:wants"),
        refused_bytes("wants-what-is-no-text", says(b"\xff\xfe"), "Wants", "baton:wants"),
        refused_bytes("wants-what-nobody-has", says(br#"{"schema":1,"network":["*"]}"#), "Wants", "network"),
        refused_bytes("wants-in-a-future-version", says(br#"{"schema":9}"#), "Wants", "version 9"),
        refused_bytes(
            "wants-too-much-memory",
            says(br#"{"schema":1,"memory_mib":100000}"#),
            "Wants",
            "at most 256",
        ),
        refused_bytes("wants-with-10-mb", says(&vec![b' '; 10 << 20]), "Wants", "at most 16384 are read"),
        refused_bytes("wants-ten-thousand-deep", says(&[b'['; 16_000]), "Wants", "baton:wants"),
        refused_bytes("wants-twice", twice, "Wants", "it has two sections"),
        // Wanting alone gives nothing.
        in_vain_bytes(
            "wants-everything-that-there-is",
            says(br#"{"schema":1,"artifacts":["*"],"fuel":1000000000}"#),
        ),
    ]
}
