//! What the model replies, whatever API it goes by: text, a call of a tool, a summary, or nothing for ever. Finds the
//! tool of the agent that does what the script wants.

use serde_json::{Value, json};

use crate::model_request::{ModelRequest, OfferedTool};
use crate::script::ModelStep;

/// How long Codex waits for a command before it lets the model go on; the longest that it allows.
const COMMAND_MS: u64 = 30_000;

/// Codex's search for tools, which has no name of its own.
pub(crate) const SEARCH: &str = "tool_search";

/// How much of a command's output Codex hands to the model.
const OUTPUT_TOKENS: u64 = 20_000;

/// What a reply holds.
pub(crate) enum ReplyBlock {
    Text(String),
    Call(ReplyToolCall),
    /// A summary of the dialogue.
    Summary(String),
    /// The reply begins and never goes on.
    Hang,
}

/// A call of a tool.
pub(crate) struct ReplyToolCall {
    pub(crate) tool: OfferedTool,
    pub(crate) input: ToolCallInput,
}

/// What a tool is given.
pub(crate) enum ToolCallInput {
    Object(Value),
    Text(String),
}

impl ReplyBlock {
    /// The text of the block as a stream carries it.
    pub(crate) fn streamed(&self) -> String {
        match self {
            ReplyBlock::Text(text) | ReplyBlock::Summary(text) => text.clone(),
            ReplyBlock::Call(ReplyToolCall { input: ToolCallInput::Object(object), .. }) => {
                object.to_string()
            }
            ReplyBlock::Call(ReplyToolCall { input: ToolCallInput::Text(text), .. }) => text.clone(),
            ReplyBlock::Hang => String::new(),
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        (self.streamed().len() as u64).div_ceil(4) + 1
    }
}

/// Tokens of a prompt, and how many of them the last request of the dialogue had already: those come from the cache.
#[derive(Clone, Copy)]
pub(crate) struct PromptUsage {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
}

/// What a step of the script comes to. Where the agent offers no tool for it, the model says so.
pub(crate) fn block(step: ModelStep, asked: &ModelRequest) -> ReplyBlock {
    let (wanted, call) = match step {
        ModelStep::Say(text) => return ReplyBlock::Text(text),
        ModelStep::Hang => return ReplyBlock::Hang,
        ModelStep::Write { path, content } => ("write a file".to_owned(), write(&path, &content, asked)),
        ModelStep::Read { path } => ("read a file".to_owned(), read(&path, asked)),
        ModelStep::Run { command } => ("run a command".to_owned(), run(&command, asked)),
        ModelStep::Call { tool, input } => (format!("call {tool}"), offered(&tool, input, asked)),
        ModelStep::Mcp { server, tool, input } => {
            (format!("call {tool} of {server}"), of_server(&server, &tool, input, asked))
        }
        ModelStep::Find { server, tools } => ("search for tools".to_owned(), find(&server, &tools, asked)),
    };
    call.map_or_else(
        || {
            let names: Vec<_> = asked.tools.iter().map(|tool| tool.name.as_str()).collect();
            ReplyBlock::Text(format!(
                "The script wants to {wanted}, but the agent offers only {}.",
                names.join(", ")
            ))
        },
        ReplyBlock::Call,
    )
}

fn write(path: &str, content: &str, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let by_tool = offered("Write", json!({"file_path": path, "content": content}), asked);
    by_tool.or_else(|| patch(path, content, asked)).or_else(|| {
        let folder = std::path::Path::new(path).parent().map(|folder| folder.display().to_string());
        let folder = quoted(&folder.unwrap_or_default());
        run(&format!("mkdir -p {folder} && printf '%s' {} > {}", quoted(content), quoted(path)), asked)
    })
}

/// Codex's `apply_patch`, which writes whole lines only.
fn patch(path: &str, content: &str, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let tool = asked.tool("apply_patch").filter(|tool| tool.freeform)?.clone();
    let lines: String = content.strip_suffix('\n')?.split('\n').map(|line| format!("+{line}\n")).collect();
    let input = ToolCallInput::Text(format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"));
    Some(ReplyToolCall { tool, input })
}

fn read(path: &str, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let by_tool = offered("Read", json!({ "file_path": path }), asked);
    by_tool.or_else(|| run(&format!("cat {}", quoted(path)), asked))
}

/// The agent's own way to run a command: Claude Code's `Bash`, or what Codex offers for the model at hand.
fn run(command: &str, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let script = format!(
        "const r = await tools.exec_command({{cmd: {}, yield_time_ms: {COMMAND_MS}, max_output_tokens: \
         {OUTPUT_TOKENS}}}); text(r.output ?? JSON.stringify(r));",
        json!(command)
    );
    let exec = json!({"cmd": command, "yield_time_ms": COMMAND_MS, "max_output_tokens": OUTPUT_TOKENS});
    offered("Bash", json!({"command": command, "description": "a step of the script"}), asked)
        .or_else(|| offered("exec_command", exec, asked))
        .or_else(|| offered("shell_command", json!({ "command": command }), asked))
        .or_else(|| offered("shell", json!({"command": ["bash", "-lc", command]}), asked))
        .or_else(|| offered("exec", Value::String(script), asked))
}

fn offered(name: &str, input: Value, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let tool = asked.tool(name)?.clone();
    let input = match input {
        Value::String(text) if tool.freeform => ToolCallInput::Text(text),
        input => ToolCallInput::Object(input),
    };
    Some(ReplyToolCall { tool, input })
}

/// A tool of an MCP server: one with the server in its name, or in a group of that name.
fn of_server(server: &str, name: &str, input: Value, asked: &ModelRequest) -> Option<ReplyToolCall> {
    let whole = format!("mcp__{server}__{name}");
    let group = [server.to_owned(), format!("mcp__{server}"), format!("mcp__{server}__")];
    let fits = |tool: &&OfferedTool| {
        tool.name == whole
            || (tool.name == name
                && tool.namespace.as_ref().is_some_and(|namespace| group.contains(namespace)))
    };
    let tool = asked.tools.iter().find(fits)?.clone();
    Some(ReplyToolCall { tool, input: ToolCallInput::Object(input) })
}

/// Claude Code's search, which takes names, or Codex's, which takes words.
fn find(server: &str, tools: &[String], asked: &ModelRequest) -> Option<ReplyToolCall> {
    let names: Vec<String> = tools.iter().map(|tool| format!("mcp__{server}__{tool}")).collect();
    let select = json!({ "query": format!("select:{}", names.join(",")), "max_results": tools.len() });
    let words = json!({ "query": format!("{server} {}", tools.join(" ")), "limit": tools.len() });
    offered("ToolSearch", select, asked).or_else(|| offered(SEARCH, words, asked))
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api_kind::ApiKind;

    fn asked(tools: &[(&str, bool)]) -> ModelRequest {
        let tool = |&(name, freeform): &(&str, bool)| OfferedTool {
            name: name.to_owned(),
            namespace: None,
            freeform,
        };
        let mut asked = ApiKind::Responses.read(&Value::Null);
        asked.tools = tools.iter().map(tool).collect();
        asked
    }

    fn write(content: &str, tools: &[(&str, bool)]) -> (String, String) {
        let step = ModelStep::Write { path: "/w/it's".to_owned(), content: content.to_owned() };
        let block = block(step, &asked(tools));
        let name = match &block {
            ReplyBlock::Call(call) => call.tool.name.clone(),
            _ => String::new(),
        };
        (name, block.streamed())
    }

    #[test]
    fn a_file_is_written_by_what_the_agent_offers() {
        let codex = [("exec_command", false), ("apply_patch", true)];
        let patch = "*** Begin Patch\n*** Add File: /w/it's\n+a\n+b\n*** End Patch\n";
        assert_eq!(write("a\nb\n", &codex), ("apply_patch".to_owned(), patch.to_owned()));
        let (tool, input) = write("no end of line", &codex);
        let command = r"mkdir -p '/w' && printf '%s' 'no end of line' > '/w/it'\''s'";
        assert_eq!(tool, "exec_command");
        assert_eq!(serde_json::from_str::<Value>(&input).unwrap()["cmd"], command);
        let (tool, input) = write("a\n", &[("shell", false)]);
        assert_eq!(tool, "shell");
        assert_eq!(serde_json::from_str::<Value>(&input).unwrap()["command"][0], "bash");
        assert!(
            write("a\n", &[("exec", true)]).1.starts_with("const r = await tools.exec_command({cmd: \"mkdir")
        );
        let report =
            || ModelStep::Mcp { server: "baton".to_owned(), tool: "say".to_owned(), input: json!({}) };
        let by_name = asked(&[("say", false), ("mcp__baton__say", false)]);
        let ReplyBlock::Call(call) = block(report(), &by_name) else { panic!("it is offered") };
        assert_eq!(call.tool.name, "mcp__baton__say");
        let mut in_group = asked(&[("say", false), ("say", false)]);
        in_group.tools[1].namespace = Some("mcp__baton".to_owned());
        let ReplyBlock::Call(call) = block(report(), &in_group) else { panic!("it is offered") };
        assert_eq!(call.tool, in_group.tools[1]);
        let nothing = block(ModelStep::Run { command: "true".to_owned() }, &asked(&[("view_image", false)]));
        assert_eq!(
            nothing.streamed(),
            "The script wants to run a command, but the agent offers only view_image."
        );
    }
}
