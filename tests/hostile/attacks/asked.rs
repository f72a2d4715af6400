//! What a component does while it is asked, without any import: with its computing, its memory and its answer.

use crate::hostile::attacks::{PolicyAttack, faults, without_effect};
use crate::hostile::guests::{ANSWER, DECISION, GuestBuilder};
use crate::hostile::raw;

/// Stores a list or text (address, length) where the payload of the answer's action is, behind this discriminant.
fn acting(discriminant: u32, address: u32, length: u32) -> String {
    let (is_there, payload, size) = (DECISION + 4, DECISION + 8, DECISION + 12);
    format!(
        "(i32.store8 (i32.const {DECISION}) (i32.const {discriminant}))
         (i32.store8 (i32.const {is_there}) (i32.const 1))
         (i32.store (i32.const {payload}) (i32.const {address}))
         (i32.store (i32.const {size}) (i32.const {length}))
         (i32.const {ANSWER})"
    )
}

/// Answers `offloading` with a list (address, length) of items and no reason, after this.
fn offloading(first: &str, address: u32, length: u32) -> GuestBuilder {
    let size = DECISION + 4;
    let body = format!(
        "{first}
         (i32.store (i32.const {DECISION}) (i32.const {address}))
         (i32.store (i32.const {size}) (i32.const {length}))
         (i32.const {ANSWER})"
    );
    GuestBuilder::new("offloading-policy").body("decide", &body)
}

/// Answers "keep", with a reason of these bytes.
fn because(reason: &[u8]) -> GuestBuilder {
    GuestBuilder::new("compaction-policy").answering(reason.len() as u32).item(&raw::data(1024, reason))
}

pub(crate) fn attacks() -> Vec<PolicyAttack> {
    let mut attacks = computing();
    attacks.extend(memory());
    attacks.extend(answers());
    attacks.extend(afterwards());
    attacks
}

fn computing() -> Vec<PolicyAttack> {
    let deciding = |body: &str| GuestBuilder::deciding(body);
    let spread = (0..20)
        .map(|function| format!("(func $f{function} (call $f{}) (call $f{}))", (function + 1) % 20, function))
        .collect::<String>();
    vec![
        faults("loops", &deciding("(loop $again (br $again)) unreachable"), "OutOfFuel", "40000000 units of fuel"),
        // Filling memory is paid for by the byte.
        faults(
            "fills-its-memory-again-and-again",
            &deciding("(loop $again (memory.fill (i32.const 0) (i32.const 0) (i32.const 60000)) (br $again)) unreachable"),
            "OutOfFuel",
            "40000000 units of fuel",
        ),
        faults("traps", &deciding("unreachable"), "Trap", "unreachable"),
        faults("divides-by-zero", &deciding("(i32.div_u (i32.const 1) (i32.const 0))"), "Trap", "divide by zero"),
        faults(
            "casts-what-is-no-number",
            &deciding("(i32.trunc_f64_s (f64.const nan))"),
            "Trap",
            "invalid conversion to integer",
        ),
        faults("recurses", &deciding("(call $compaction.decide (local.get 0))"), "Trap", "call stack exhausted"),
        faults(
            "recurses-by-many-functions",
            &deciding("(call $f0) unreachable").item(&spread),
            "Trap",
            "call stack exhausted",
        ),
        faults(
            "calls-through-an-empty-table",
            &deciding("(call_indirect (result i32) (i32.const 3))").item("(table 10 funcref)"),
            "Trap",
            "uninitialized element",
        ),
        faults(
            "remembers-nothing",
            &deciding(
                "(if (global.get $asked) (then (return (i32.const 0)))) (global.set $asked (i32.const 1)) unreachable",
            )
            .item("(global $asked (mut i32) (i32.const 0))"),
            "Trap",
            "unreachable",
        ),
        without_effect(
            "counts-its-calls",
            &deciding(
                "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
                 (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
                 (i32.const 60)",
            )
            .item("(global $calls (mut i32) (i32.const 0))"),
        ),
    ]
}

fn memory() -> Vec<PolicyAttack> {
    let grow = "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable";
    let tables = "(loop $more (br_if $more (i32.ge_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0)))) unreachable";
    vec![
        faults("eats-memory", &GuestBuilder::deciding(grow), "OutOfMemory", "8388608 bytes of memory"),
        faults(
            "grows-all-at-once",
            &GuestBuilder::deciding(
                "(if (i32.lt_s (memory.grow (i32.const 60000)) (i32.const 0)) (then unreachable)) unreachable",
            ),
            "OutOfMemory",
            "8388608 bytes of memory",
        ),
        faults(
            "grows-a-table",
            &GuestBuilder::deciding(tables).item("(table $t 0 funcref)"),
            "Trap",
            "unreachable",
        ),
        faults(
            "fills-beyond-its-memory",
            &GuestBuilder::deciding(
                "(memory.fill (i32.const 0) (i32.const 1) (i32.const 0x200000)) unreachable",
            ),
            "Trap",
            "out of bounds memory access",
        ),
        faults(
            "reads-beyond-its-memory",
            &GuestBuilder::deciding("(i32.load (i32.const 0xfffffff0))"),
            "Trap",
            "out of bounds memory access",
        ),
    ]
}

fn answers() -> Vec<PolicyAttack> {
    // A hundred ids, each the same MiB of its memory: 100 MB that cost the guest one.
    let shared_mib = "(local $i i32)
         (drop (memory.grow (i32.const 32)))
         (memory.fill (i32.const 131072) (i32.const 97) (i32.const 1048576))
         (loop $next
            (i32.store (i32.add (i32.const 4096) (i32.mul (local.get $i) (i32.const 8))) (i32.const 131072))
            (i32.store (i32.add (i32.const 4100) (i32.mul (local.get $i) (i32.const 8))) (i32.const 1048576))
            (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))";
    let keep = |bytes: u32| GuestBuilder::new("compaction-policy").answering(bytes);
    vec![
        faults("answers-100-mb", &offloading(shared_mib, 4096, 100), "TooLarge", "more than 131072 bytes"),
        faults(
            "answers-a-million-items",
            &offloading("(drop (memory.grow (i32.const 124)))", 64, 1_000_000),
            "TooLarge",
            "more than 131072 bytes",
        ),
        faults(
            "answers-a-thousand-items",
            &offloading("", 4096, 1000),
            "Invalid",
            "a list of 1000 entries, at most 256",
        ),
        faults(
            "answers-a-list-whose-length-overflows",
            &offloading("", 64, 0x2000_0001),
            "Invalid",
            "out of bounds",
        ),
        faults("answers-a-list-out-of-bounds", &offloading("", 0xffff_fff0, 2), "Invalid", "out of bounds"),
        faults("answers-a-list-that-is-misaligned", &offloading("", 4097, 1), "Invalid", "aligned"),
        faults("answers-a-page-of-reason", &because(&[b'x'; 1025]), "TooLarge", "more than 1024 bytes"),
        faults("answers-a-reason-of-100-kb", &because(&[b'x'; 60_000]), "TooLarge", "more than 1024 bytes"),
        faults("answers-more-than-its-memory", &keep(u32::MAX), "Invalid", "out of bounds"),
        faults("answers-what-is-no-text", &because(b"\xff\xfe"), "Invalid", "utf-8"),
        faults("answers-half-a-character", &because(b"caf\xc3"), "Invalid", "utf-8"),
        faults("answers-a-surrogate", &because(b"\xed\xa0\x80"), "Invalid", "utf-8"),
        faults("answers-an-overlong-character", &because(b"\xc0\xaf"), "Invalid", "utf-8"),
        faults(
            "answers-out-of-bounds",
            &GuestBuilder::deciding("(i32.const 0x7ffffff0)"),
            "Invalid",
            "out of bounds",
        ),
        faults(
            "answers-at-the-end-of-its-memory",
            &GuestBuilder::deciding("(i32.const 131068)"),
            "Invalid",
            "out of bounds",
        ),
        faults(
            "answers-where-nothing-may-be",
            &GuestBuilder::deciding("(i32.const 65)"),
            "Invalid",
            "aligned",
        ),
        faults(
            "answers-a-variant-that-does-not-exist",
            &GuestBuilder::deciding(&acting(9, 0, 0)),
            "Invalid",
            "discriminant",
        ),
        // Every byte of an answer is the guest's: whatever it points to lies in its own memory.
        without_effect("answers-with-its-own-code", &GuestBuilder::deciding(&acting(1, 0, 64))),
    ]
}

fn afterwards() -> Vec<PolicyAttack> {
    let good = || GuestBuilder::good("ok");
    vec![
        faults("traps-after-it-answered", &good().after_return("unreachable"), "Trap", "unreachable"),
        faults(
            "loops-after-it-answered",
            &good().after_return("(loop $again (br $again))"),
            "OutOfFuel",
            "40000000 units of fuel",
        ),
        faults(
            "calls-the-host-after-it-answered",
            &good().after_return("(drop (call $len (i32.const 0)))").import("text", "len"),
            "Trap",
            "cannot leave component instance",
        ),
        faults(
            "hands-out-memory-that-it-does-not-have",
            &good().realloc("(i32.const 0x7ffffff0)"),
            "Invalid",
            "beyond end of memory",
        ),
        faults("hands-out-crooked-memory", &good().realloc("(i32.const 65537)"), "Invalid", "aligned"),
        faults(
            "loops-while-it-hands-out-memory",
            &good().realloc("(loop $again (br $again)) unreachable"),
            "OutOfFuel",
            "40000000 units of fuel",
        ),
        faults("traps-while-it-hands-out-memory", &good().realloc("unreachable"), "Trap", "unreachable"),
        faults(
            "calls-the-host-while-it-hands-out-memory",
            &good().realloc("(call $len (i32.const 0))").import("text", "len"),
            "Trap",
            "cannot leave component instance",
        ),
        // What it is told lies in one heap, then: it confuses nobody but itself.
        without_effect("hands-out-the-same-memory-twice", &good().realloc("(i32.const 65536)")),
    ]
}
