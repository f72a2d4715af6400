//! Components that are refused when they are loaded, each with an error that says what is wrong and what would be
//! right. What a loaded one does is in the other files.

use baton_core::decision::Fault;
use baton_engine::LoadError;
use baton_engine::limits::START_FUEL;

use crate::guests::Guest;
use crate::{engine, refused, refused_bytes, still_answers};

#[test]
fn imports_wasi() {
    let guest = Guest::good("ok")
        .with_package("package wasi:clocks@0.2.0; interface wall-clock { now: func() -> u64; }")
        .contract("world imports {", "world imports { import wasi:clocks/wall-clock@0.2.0;")
        .import("wall-clock", "now");
    let error = refused(&guest);
    assert!(error.contains("imports `wasi:clocks/wall-clock@0.2.0`, which no policy may have"), "{error}");
}

#[test]
fn imports_a_function_that_the_host_does_not_have() {
    let guest = Guest::good("ok")
        .contract("len: func(text: text-id) -> u32;", "len: func(text: text-id) -> u32; hash: func() -> u32;")
        .import("text", "hash");
    let error = refused(&guest);
    assert!(error.contains("does not fit the contract") && error.contains("hash"), "{error}");
}

#[test]
fn has_a_record_too_many_in_an_answer() {
    let guest = Guest::good("ok").contract(
        "record decision {\n        action: action,",
        "record decision {\n        extra: u32,\n        action: action,",
    );
    let error = refused(&guest);
    assert!(error.contains("does not fit the contract") && error.contains("compaction.decide"), "{error}");
}

#[test]
fn has_a_record_too_many_in_what_it_sees() {
    let guest = Guest::good("ok")
        .contract("compactions: u32,", "compactions: u32,\n        compaction-failures: u32,");
    let error = refused(&guest);
    assert!(error.contains("does not fit the contract") && error.contains("compaction.decide"), "{error}");
}

#[test]
fn lacks_a_function_of_an_interface() {
    let guest = Guest::new("splitting-policy")
        .contract("budget: func(observation: observation, base-turns: u32) -> turn-budget;", "");
    assert!(refused(&guest).contains("it exports splitting without the function budget"));
}

#[test]
fn decides_nothing() {
    let error = refused(&Guest::new("settings-policy"));
    assert!(error.contains("decides nothing") && error.contains("baton:policy/settings@0.1.0"), "{error}");
    assert!(refused_bytes(&wat::parse_str("(component)").unwrap()).contains("it exports: nothing"));
}

#[test]
fn is_not_a_component() {
    let component = Guest::good("ok").build();
    let cases: [(&[u8], &str); 6] = [
        (b"", "an empty file"),
        (&wat::parse_str("(module)").unwrap(), "a core module"),
        (b"(component)", "WebAssembly as text"),
        (b"\x7fELF\x02\x01\x01", "native code, which is never loaded from outside"),
        (b"\0asm\x09\0\x09\0", "WebAssembly of an unknown kind"),
        (b"#!/bin/sh\nrm -rf ~", "something else"),
    ];
    for (bytes, what) in cases {
        let error = refused_bytes(bytes);
        assert!(error.contains(&format!("not a WebAssembly component, but {what};")), "{error}");
    }
    assert!(refused_bytes(&component[..component.len() / 2]).contains("cannot be compiled"));
}

#[test]
fn starts_slowly() {
    let engine = engine();
    let guest = Guest::good("ok").starting_with("(loop $again (br $again))");
    let error = engine.load("hostile", &guest.build()).err().expect("it is refused");
    assert!(
        matches!(error, LoadError::Trial { fault: Fault::OutOfFuel { limit: START_FUEL }, .. }),
        "{error}"
    );
    assert!(
        refused(&Guest::good("ok").starting_with("unreachable"))
            .contains("failed when it was tried: it trapped")
    );
    still_answers(&engine);
}

#[test]
fn traps_when_asked_what_can_be_set() {
    let guest = Guest::new("policy").body("decide", "unreachable");
    assert!(refused(&guest).contains("failed when it was tried: it trapped"));
}
