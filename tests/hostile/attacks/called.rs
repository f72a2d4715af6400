//! What a component does with the functions that the host lends it: too often, with too much, with what is not there.

use crate::hostile::attacks::{PolicyAttack, faults, without_effect};
use crate::hostile::guests::{ANSWER, DECISION, GuestBuilder};
use crate::hostile::raw;

/// A body that calls something again and again.
fn flood(call: &str) -> String {
    format!("(loop $again {call} (global.set $heap (i32.const 65536)) (br $again)) unreachable")
}

/// A call with an answer in memory: its arguments, then the address of the answer.
fn call(name: &str, arguments: &[u32]) -> String {
    let arguments: String = arguments.iter().map(|argument| format!("(i32.const {argument}) ")).collect();
    format!("(call ${name} {arguments} (i32.const {DECISION}))")
}

/// As many texts of one byte, which all lie at the same place.
fn texts(at: u32, count: usize) -> String {
    let entry = raw::words(&[1024, 1]);
    raw::data(at, &entry.repeat(count))
}

pub(crate) fn attacks() -> Vec<PolicyAttack> {
    let mut attacks = floods();
    attacks.extend(searches());
    attacks.extend(strange());
    attacks
}

fn floods() -> Vec<PolicyAttack> {
    let flooding = |interface, name, call: &str| GuestBuilder::deciding(&flood(call)).import(interface, name);
    let fuel = "40000000 units of fuel";
    let log = "(call $write (i32.const 2) (i32.const 1024) (i32.const 3))";
    vec![
        faults("floods-the-log", &flooding("log", "write", log).data(1024, "hey"), "OutOfFuel", fuel),
        faults(
            "floods-the-log-with-long-lines",
            &GuestBuilder::deciding(
                "(drop (memory.grow (i32.const 4)))
                 (loop $again (call $write (i32.const 0) (i32.const 200000) (i32.const 131000)) (br $again)) unreachable",
            )
            .import("log", "write"),
            "OutOfFuel",
            fuel,
        ),
        faults(
            "logs-a-megabyte",
            &GuestBuilder::deciding(
                "(drop (memory.grow (i32.const 20)))
                 (call $write (i32.const 0) (i32.const 0) (i32.const 1048576)) unreachable",
            )
            .import("log", "write"),
            "TooLarge",
            "more than 131072 bytes",
        ),
        faults(
            "logs-what-is-no-text",
            &GuestBuilder::deciding("(call $write (i32.const 1) (i32.const 1024) (i32.const 2)) unreachable")
                .import("log", "write")
                .item(&raw::data(1024, b"\xff\xff")),
            "Invalid",
            "utf-8",
        ),
        faults(
            "logs-at-a-level-that-does-not-exist",
            &GuestBuilder::deciding("(call $write (i32.const 9) (i32.const 0) (i32.const 0)) unreachable")
                .import("log", "write"),
            "Invalid",
            "discriminant",
        ),
        faults(
            "logs-beyond-its-memory",
            &GuestBuilder::deciding("(call $write (i32.const 1) (i32.const 0x7fffffff) (i32.const 100)) unreachable")
                .import("log", "write"),
            "Invalid",
            "out of bounds",
        ),
        faults("floods-with-lengths", &flooding("text", "len", "(drop (call $len (i32.const 0)))"), "OutOfFuel", fuel),
        faults(
            "floods-with-slices",
            &flooding("text", "slice", &call("slice", &[0, 0, u32::MAX])),
            "OutOfFuel",
            fuel,
        ),
        faults(
            "floods-with-searches",
            &flooding("text", "find-any", &call("find-any", &[0, 0, u32::MAX, 4096, 1, 256]))
                .data(1024, "h")
                .item(&texts(4096, 1)),
            "OutOfFuel",
            fuel,
        ),
        // As deep as it gets, it calls the host at each level.
        faults(
            "calls-from-the-bottom-of-its-stack",
            &GuestBuilder::deciding("(drop (call $len (i32.const 0))) (call $compaction.decide (local.get 0))").import("text", "len"),
            "Trap",
            "call stack exhausted",
        ),
    ]
}

fn searches() -> Vec<PolicyAttack> {
    let searching = |patterns: u32, count: u32| {
        let body = format!(
            "(drop (memory.grow (i32.const 124))) {} unreachable",
            call("find-any", &[0, 0, 10, patterns, count, 9])
        );
        GuestBuilder::deciding(&body).import("text", "find-any")
    };
    let setting = |length: u32| {
        let body = format!("{} unreachable", call("find-setting", &[0, 0, 10, 1024, length, 9]));
        GuestBuilder::deciding(&body).import("text", "find-setting").data(1024, &"colour".repeat(100))
    };
    vec![
        faults(
            "searches-for-a-million-patterns",
            &searching(4096, 1_000_000),
            "TooLarge",
            "more than 131072 bytes",
        ),
        faults(
            "searches-for-2000-patterns",
            &searching(4096, 2000),
            "Trap",
            "2000 patterns of 0 bytes together",
        ),
        faults(
            "searches-for-more-patterns-than-it-can-pay",
            &searching(2048, 1000).data(1024, &"x".repeat(32)).item(&{
                let entry = raw::words(&[1024, 32]);
                raw::data(2048, &entry.repeat(1000))
            }),
            "OutOfFuel",
            "40000000 units of fuel",
        ),
        faults("searches-for-patterns-out-of-bounds", &searching(0x7fff_fff0, 9), "Invalid", "out of bounds"),
        faults(
            "searches-for-a-setting-that-it-does-not-have",
            &setting(6),
            "Trap",
            "asked for the setting \"colour\" as texts, but it is not in its schema",
        ),
        faults(
            "searches-for-a-setting-with-a-long-name",
            &setting(600),
            "Trap",
            "asked for the setting \"colour",
        ),
    ]
}

fn strange() -> Vec<PolicyAttack> {
    let slice_of_nothing = format!(
        "{} (if (i32.add (call $len (i32.const 77)) (i32.load (i32.const {}))) (then unreachable))
         (i64.store (i32.const {DECISION}) (i64.const 0)) (i32.const {ANSWER})",
        call("slice", &[77, 5, 4]),
        DECISION + 4
    );
    let into = |address: u32| {
        GuestBuilder::deciding(&format!(
            "(call $slice (i32.const 0) (i32.const 0) (i32.const 9) (i32.const {address})) unreachable"
        ))
        .import("text", "slice")
    };
    vec![
        faults(
            "asks-for-a-setting-that-it-does-not-have",
            &GuestBuilder::deciding("(drop (call $get-flag (i32.const 1024) (i32.const 6))) unreachable")
                .import("config", "get-flag")
                .data(1024, "colour"),
            "Trap",
            "asked for the setting \"colour\" as a flag, but it is not in its schema",
        ),
        faults(
            "asks-for-a-setting-whose-name-is-no-text",
            &GuestBuilder::deciding("(drop (call $get-flag (i32.const 1024) (i32.const 1))) unreachable")
                .import("config", "get-flag")
                .item(&raw::data(1024, b"\xff")),
            "Invalid",
            "utf-8",
        ),
        faults(
            "asks-for-a-setting-with-a-name-for-the-terminal",
            &GuestBuilder::deciding("(drop (call $get-flag (i32.const 1024) (i32.const 4))) unreachable")
                .import("config", "get-flag")
                .item(&raw::data(1024, b"\x1b[2J")),
            "Trap",
            "\\u{1b}[2J",
        ),
        faults("takes-an-answer-out-of-bounds", &into(0x7fff_fff0), "Invalid", "out of bounds"),
        faults("takes-an-answer-at-a-crooked-place", &into(65), "Invalid", "aligned"),
        // Ids that name no text are empty texts, and ranges are clipped: nothing to trap on.
        without_effect(
            "reads-texts-that-do-not-exist",
            &GuestBuilder::deciding(&slice_of_nothing).import("text", "len").import("text", "slice"),
        ),
        without_effect(
            "reads-beyond-a-text",
            &GuestBuilder::deciding(&format!(
                "{} (i64.store (i32.const {DECISION}) (i64.const 0)) (i32.const {ANSWER})",
                call("slice", &[0, u32::MAX - 3, u32::MAX])
            ))
            .import("text", "slice"),
        ),
    ]
}
