//! The calls as tools: names, titles, annotations, the schemas that clients show, and the reading of arguments with an
//! error that names the argument at fault. The descriptions are the comments in `tool_requests.rs`.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::tool_requests::{
    ArtifactList, ArtifactLoad, ArtifactSave, AttemptRecord, ContextStatus, DecisionRecord, GotchaRecord,
    HandoffWrite, ObjectiveUpdate, PatternRecord, ReviewSubmit, SplitRequest, ToolCall,
};

/// The problem of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The faulty argument, if there is one (`groups[0].objectives`).
    pub field: Option<String>,
    /// Its problem.
    pub message: String,
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.field {
            Some(field) => write!(f, "{field}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A tool, and how its arguments are read.
struct ToolDefinition {
    name: &'static str,
    title: &'static str,
    /// It changes nothing.
    reads: bool,
    /// Once more with the same arguments changes nothing more.
    idempotent: bool,
    schema: fn() -> Map<String, Value>,
    read: fn(Value) -> Result<ToolCall, ArgumentError>,
}

/// A row of the table below.
macro_rules! entry {
    ($name:literal, $title:literal, $request:ident, $reads:literal, $idempotent:literal) => {
        ToolDefinition {
            name: $name,
            title: $title,
            reads: $reads,
            idempotent: $idempotent,
            schema: schema::<$request>,
            read: |arguments| typed::<$request>(arguments).map(ToolCall::$request),
        }
    };
}

/// Every tool, in the order in which clients list them.
static ENTRIES: [ToolDefinition; 12] = [
    entry!("objective_update", "Say where an objective stands", ObjectiveUpdate, false, true),
    entry!("decision_record", "Record a decision", DecisionRecord, false, true),
    entry!("attempt_record", "Record what did not work", AttemptRecord, false, true),
    entry!("gotcha_record", "Record a trap", GotchaRecord, false, true),
    entry!("pattern_record", "Record a pattern", PatternRecord, false, true),
    entry!("handoff_write", "Write the handoff", HandoffWrite, false, true),
    entry!("split_request", "Ask for a split", SplitRequest, false, true),
    entry!("review_submit", "Submit a review", ReviewSubmit, false, true),
    entry!("artifact_save", "Keep an artifact", ArtifactSave, false, true),
    entry!("artifact_load", "Read an artifact", ArtifactLoad, true, true),
    entry!("artifact_list", "List artifacts", ArtifactList, true, true),
    entry!("context_status", "Ask where you stand", ContextStatus, true, true),
];

/// The tools as clients see them.
pub(crate) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| ENTRIES.iter().map(tool).collect());

/// The names of the tools, in the order of the list.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// The tool that reads an artifact, as an entry of a list of tools, under another name and description: the proxy adds it to
/// the tools of any server (`proxy.rs`).
pub(crate) fn load_tool(name: &str, description: &str) -> Value {
    let known = TOOLS.iter().find(|tool| tool.name == "artifact_load");
    let mut tool = serde_json::to_value(known).unwrap_or_default();
    tool["name"] = name.into();
    tool["description"] = description.into();
    tool
}

fn tool(entry: &ToolDefinition) -> Tool {
    let mut schema = (entry.schema)();
    let description = match schema.remove("description") {
        Some(Value::String(text)) => text.replace('\n', " "),
        _ => entry.title.to_owned(),
    };
    // Noise to a model: the name of a Rust type, and which dialect the schema is in.
    schema.remove("title");
    schema.remove("$schema");
    let annotations = ToolAnnotations::with_title(entry.title)
        .read_only(entry.reads)
        .destructive(false)
        .idempotent(entry.idempotent)
        .open_world(false);
    Tool::new(entry.name, description, Arc::<JsonObject>::new(schema))
        .with_title(entry.title)
        .with_annotations(annotations)
}

fn schema<T: JsonSchema>() -> Map<String, Value> {
    // Without references: not every client resolves them.
    let generator = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = generator.into_generator().into_root_schema_for::<T>();
    let mut schema = match schema.to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    // A request without fields has none in its schema, and some clients insist on the key.
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema
}

fn typed<T: DeserializeOwned>(arguments: Value) -> Result<T, ArgumentError> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let field = (path != ".").then_some(path);
        ArgumentError { field, message: error.into_inner().to_string() }
    })
}

/// Reads a call from the name of a tool and its arguments, and checks its form.
pub(crate) fn read(name: &str, arguments: Map<String, Value>) -> Result<ToolCall, ArgumentError> {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else {
        let names: Vec<&str> = tool_names().collect();
        let message = format!("there is no tool {name:?}; there are {}", names.join(", "));
        return Err(ArgumentError { field: None, message });
    };
    let fields = fields(entry);
    if let Some(unknown) = arguments.keys().find(|key| !fields.iter().any(|field| field.takes(key))) {
        return Err(ArgumentError { field: Some(unknown.clone()), message: "unknown field".to_owned() });
    }
    if let Some(missing) =
        fields.iter().find(|field| field.required && !arguments.keys().any(|key| field.takes(key)))
    {
        return Err(ArgumentError { field: Some(missing.name.clone()), message: "it is missing".to_owned() });
    }
    let call = (entry.read)(Value::Object(arguments))?;
    call.check()?;
    Ok(call)
}

/// The arguments of a tool, in one sentence; empty for an unknown name.
pub(crate) fn takes(name: &str) -> String {
    let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) else { return String::new() };
    let fields = fields(entry);
    if fields.is_empty() {
        return "nothing".to_owned();
    }
    let fields: Vec<String> = fields
        .iter()
        .map(|field| {
            format!("{} ({}{})", field.name, field.kind, if field.required { "" } else { ", optional" })
        })
        .collect();
    fields.join(", ")
}

/// An argument, as the schema has it.
struct ToolArgument {
    name: String,
    kind: String,
    required: bool,
}

impl ToolArgument {
    /// The files of the inbox may use `text` for the content of an artifact.
    fn takes(&self, key: &str) -> bool {
        self.name == key || (self.name == "content" && key == "text")
    }
}

fn fields(entry: &ToolDefinition) -> Vec<ToolArgument> {
    let schema = (entry.schema)();
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten();
    fields
        .map(|(name, schema)| ToolArgument {
            name: name.clone(),
            kind: kind(schema),
            required: required(name),
        })
        .collect()
}

/// A type in a word or two.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return format!("one of {}", words.join(", "));
    }
    let named = match &schema["type"] {
        Value::Array(types) => types.iter().find_map(|one| one.as_str().filter(|one| *one != "null")),
        one => one.as_str(),
    };
    match named {
        Some("string") => "text".to_owned(),
        Some("integer") => "number".to_owned(),
        Some("array") => format!("list of {}", plural(&schema["items"])),
        Some("object") => {
            let fields = schema["properties"].as_object();
            let fields = fields.into_iter().flatten();
            let fields: Vec<String> =
                fields.map(|(name, schema)| format!("{name:?}: {}", kind(schema))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.unwrap_or("value").to_owned(),
    }
}

fn plural(items: &Value) -> String {
    match items["type"].as_str() {
        Some("string") => "texts".to_owned(),
        _ => kind(items),
    }
}
