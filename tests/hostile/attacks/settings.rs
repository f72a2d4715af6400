//! What a component does where it is asked what can be set.

use crate::hostile::attacks::{PolicyAttack, not_configured, refused};
use crate::hostile::guests::{DECISION, GuestBuilder};
use crate::hostile::raw;

/// Where the settings of a schema are written down.
const SCHEMA: u32 = 2048;

/// One setting: where its key and its words lie, and the default, a list of texts.
fn setting(key: (u32, u32), doc: (u32, u32), texts: (u32, u32)) -> Vec<u8> {
    let none = [0; 8];
    raw::words(&[
        key.0, key.1, doc.0, doc.1, 4, 0, texts.0, texts.1, none[0], none[1], 0, 0, 0, 0, 0, 0, 0, 0,
    ])
}

/// Everything that a policy may be asked, with so many settings.
fn with_schema(count: u32, settings: &[u8]) -> GuestBuilder {
    GuestBuilder::new("policy").body("schema", &pointing(SCHEMA, count)).item(&raw::data(SCHEMA, settings))
}

/// Answers with a list.
fn pointing(at: u32, count: u32) -> String {
    let size = DECISION + 4;
    format!(
        "(i32.store (i32.const {DECISION}) (i32.const {at})) (i32.store (i32.const {size}) (i32.const {count}))
         (i32.const {DECISION})"
    )
}

pub(crate) fn attacks() -> Vec<PolicyAttack> {
    let mut attacks = schemas();
    attacks.extend(defaults());
    attacks
}

fn schemas() -> Vec<PolicyAttack> {
    let schema = |body: &str| GuestBuilder::new("policy").body("schema", body);
    let one = |key: &str| {
        let key_bytes = key.len() as u32;
        with_schema(1, &setting((1024, key_bytes), (0, 0), (0, 0))).item(&raw::data(1024, key.as_bytes()))
    };
    let invalid = "gave an answer that is not valid";
    vec![
        refused(
            "traps-when-asked-what-can-be-set",
            &schema("unreachable"),
            "Trial",
            "it trapped: wasm `unreachable`",
        ),
        refused(
            "loops-when-asked-what-can-be-set",
            &schema("(loop $again (br $again)) unreachable"),
            "Trial",
            "it used up its 40000000 units of fuel",
        ),
        refused("has-a-million-settings", &schema(&pointing(64, 1_000_000)), "Trial", "out of bounds"),
        refused(
            "has-2000-settings",
            &schema(&format!("(drop (memory.grow (i32.const 99))) {}", pointing(64, 2000))),
            "Trial",
            "more than 131072 bytes",
        ),
        refused(
            "has-300-settings",
            &with_schema(300, &setting((1024, 1), (0, 0), (0, 0)).repeat(300)).data(1024, "k"),
            "Trial",
            "its schema has 300 settings, at most 256 are read",
        ),
        refused(
            "has-a-setting-twice",
            &with_schema(2, &setting((1024, 1), (0, 0), (0, 0)).repeat(2)).data(1024, "k"),
            "Trial",
            "two of its settings are called \"k\"",
        ),
        refused("has-a-setting-without-a-name", &one(""), "Trial", invalid),
        refused("has-a-setting-with-a-name-for-the-terminal", &one("\u{1b}[2J"), "Trial", invalid),
        refused("has-a-setting-with-a-name-of-a-page", &one(&"k".repeat(1000)), "Trial", invalid),
        refused(
            "explains-a-setting-with-50-kb",
            &with_schema(1, &setting((1024, 1), (4096, 50_000), (0, 0))).data(1024, "k"),
            "Trial",
            "more than 1024 bytes",
        ),
    ]
}

fn defaults() -> Vec<PolicyAttack> {
    let patterns = with_schema(1, &setting((1024, 1), (0, 0), (8192, 2000))).data(1024, "k");
    vec![not_configured(
        "has-a-default-of-2000-patterns",
        &patterns,
        "Refused",
        "2000 patterns of 0 bytes together are too many",
    )]
}
