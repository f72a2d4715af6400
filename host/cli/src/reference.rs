//! The pages of `docs/reference` that have a source: commands, keys of a workflow, exit codes. `UPDATE_REFERENCE=1 cargo test
//! --workspace --locked --bin baton -- reference` writes them; without it the test compares.

use std::path::Path;

use baton_runtime::core::workflow::file;
use serde_json::Value;

use crate::command_line;
use crate::exit_status::CliExit;

const GENERATED: &str = "<!-- Generated. See CONTRIBUTING.md; do not edit. -->\n";

/// Every command with its help, as `--help` prints it.
fn commands() -> String {
    let mut root = command_line::command().term_width(100);
    root.build();
    let mut page = format!("# Commands: every one with its arguments, options and examples\n\n{GENERATED}");
    page.push_str(&format!(
        "\n## baton\n\n```text\n{}\n```\n",
        root.render_long_help().to_string().trim_end()
    ));
    for command in root.get_subcommands() {
        describe(&mut page, command.clone(), "baton");
    }
    page
}

fn describe(page: &mut String, mut command: clap::Command, parent: &str) {
    let name = format!("{parent} {}", command.get_name());
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", help.join("\n")));
    for below in command.get_subcommands() {
        describe(page, below.clone(), &name);
    }
}

fn exit_codes() -> String {
    let rows: Vec<String> =
        CliExit::ALL.iter().map(|exit| format!("| {} | {} |", exit.code(), exit.meaning())).collect();
    let rows = rows.join("\n");
    format!("# Exit codes: how a command ended\n\n{GENERATED}\n| code | meaning |\n|---:|---|\n{rows}\n")
}

/// Every key of a workflow file, a table for each kind of table in it.
fn workflow() -> String {
    let schema = file::schema();
    let mut page = format!(
        "# Workflow keys: every key of a workflow file\n\n{GENERATED}\nThe same as JSON Schema: `baton schema`. The guide: \
         [workflow](../workflow.md). A key in **bold** is required.\n\n## Top level\n\n"
    );
    page.push_str(&table(&schema));
    if let Some(kinds) = schema["$defs"].as_object() {
        for (name, kind) in kinds {
            page.push_str(&format!("\n## {name}\n\n"));
            if let Some(description) = kind["description"].as_str() {
                page.push_str(&format!("{}\n\n", joined(description)));
            }
            page.push_str(&table(kind));
            if let Some(choices) = kind["oneOf"].as_array() {
                page.push_str("| value | meaning |\n|---|---|\n");
                for choice in choices {
                    page.push_str(&values(choice));
                }
            } else if kind["properties"].is_null() {
                page.push_str(&format!("Type: {}.\n", type_of(kind)));
            }
        }
    }
    page
}

/// The rows of one choice, which is one constant or a list of them.
fn values(choice: &Value) -> String {
    let constants: Vec<&Value> = match (&choice["const"], choice["enum"].as_array()) {
        (Value::Null, Some(several)) => several.iter().collect(),
        (constant, _) => vec![constant],
    };
    let meaning = joined(choice["description"].as_str().unwrap_or_default());
    constants.iter().map(|constant| format!("| `{constant}` | {meaning} |\n")).collect()
}

fn table(kind: &Value) -> String {
    let Some(keys) = kind["properties"].as_object() else { return String::new() };
    let required: Vec<&str> =
        kind["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut rows = "| key | type | meaning |\n|---|---|---|\n".to_owned();
    for (key, of) in keys {
        let key = if required.contains(&key.as_str()) { format!("**`{key}`**") } else { format!("`{key}`") };
        let meaning = joined(of["description"].as_str().unwrap_or_default());
        rows.push_str(&format!("| {key} | {} | {meaning} |\n", type_of(of)));
    }
    rows
}

/// The type of a value in a few words, with a link to its own table if it has one.
fn type_of(of: &Value) -> String {
    if let Some(name) = of["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    let alternatives = of["anyOf"].as_array().or_else(|| of["oneOf"].as_array());
    if let Some(alternatives) = alternatives {
        let is_null = |one: &&Value| one["type"] == "null";
        let all: Vec<String> = alternatives.iter().filter(|one| !is_null(one)).map(type_of).collect();
        return all.join(" or ");
    }
    if let Some(constant) = of.get("const") {
        return format!("`{constant}`");
    }
    let name = |name: &str| match name {
        "array" => format!("list of {}", type_of(&of["items"])),
        "object" if of["additionalProperties"].is_object() => {
            format!("table of {}", type_of(&of["additionalProperties"]))
        }
        "object" => "table".to_owned(),
        name => name.to_owned(),
    };
    match &of["type"] {
        Value::String(one) => name(one),
        Value::Array(several) => {
            let known = several.iter().filter_map(Value::as_str).filter(|one| *one != "null");
            known.map(name).collect::<Vec<_>>().join(" or ")
        }
        _ => "any value".to_owned(),
    }
}

/// A description as one line of a table.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
fn the_reference_is_what_the_sources_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference");
    let is_update = std::env::var_os("UPDATE_REFERENCE").is_some_and(|value| value == "1");
    for (name, page) in
        [("commands.md", commands()), ("workflow.md", workflow()), ("exit-codes.md", exit_codes())]
    {
        let path = folder.join(name);
        if is_update {
            std::fs::write(&path, &page).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == page,
            "{} is not what the sources say; run: UPDATE_REFERENCE=1 cargo test --workspace --locked --bin baton -- reference",
            path.display()
        );
    }
}
