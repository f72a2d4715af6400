//! The script of a rehearsal: TOML in, steps out. Every mistake is named with its line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use baton_core::input::Report;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not there.
    #[error("the rehearsal's script {} cannot be read: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no TOML, or says something that is unknown.
    #[error("the rehearsal's script {} is not valid: {message}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// Line, column and reason.
        message: String,
    },
    /// It says something that makes no sense.
    #[error("the rehearsal's script {}, line {line}: {why}", path.display())]
    Meaning {
        /// Which file.
        path: PathBuf,
        /// Where, from 1.
        line: usize,
        /// What is wrong and what to write instead.
        why: String,
    },
}

/// Reads a script for the sake of its mistakes alone.
pub fn check_script(path: &Path) -> Result<(), ScriptError> {
    Script::read(path).map(drop)
}

/// What the agent does for each objective.
#[derive(Debug, PartialEq)]
pub(super) struct Script {
    /// Size of the context window.
    pub(super) window_tokens: u64,
    /// What the system prompt takes of it.
    pub(super) base_tokens: u64,
    /// What a prompt takes; absent: as long as it is.
    pub(super) prompt_tokens: Option<u64>,
    /// Pause before each step.
    pub(super) pace_ms: u64,
    /// By objective.
    pub(super) objectives: BTreeMap<String, Vec<Step>>,
}

/// One turn of the agent.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) act: Act,
    /// Tokens that it takes, where the script says so.
    pub(super) tokens: Option<u64>,
    /// Left out where this file was there when the prompt began.
    pub(super) unless: Option<String>,
}

/// What is done in a step.
#[derive(Debug, PartialEq)]
pub(super) enum Act {
    /// Write a file, whole.
    Write { path: String, content: String },
    /// Append lines to a file that are not in it yet.
    Append { path: String, lines: Vec<String> },
    /// Answer something.
    Say(String),
    /// Call a tool that reads a file; what comes back fills so many tokens.
    Read { path: String },
    /// Think.
    Think,
    /// Ask the host for permission, and say what came of it.
    Ask { title: String, kind: String },
    /// Report something else than a finished objective.
    Report(Report),
    /// Call a tool of the MCP server that the host has given.
    Tool { name: String, arguments: Value },
    /// Answer the prompt with a rate limit, so many times in a process.
    RateLimit { resets_in_ms: u64, times: u32 },
    /// End the process.
    Exit(u8),
    /// Never answer again.
    Hang,
    /// Print so many bytes that are no message, on one line.
    Garbage(u64),
    /// Leave two processes behind: one in the own process group, one in another.
    Grandchildren,
    /// Take no notice of SIGTERM from here on.
    IgnoreSigterm,
    /// Delete everything in the workspace that can be deleted.
    DeleteWorkspace,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    window_tokens: u64,
    #[serde(default)]
    base_tokens: u64,
    prompt_tokens: Option<u64>,
    #[serde(default)]
    pace_ms: u64,
    #[serde(default)]
    objectives: BTreeMap<String, RawObjective>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawObjective {
    steps: Vec<Spanned<RawStep>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    write: Option<String>,
    append: Option<String>,
    say: Option<String>,
    read: Option<String>,
    think_tokens: Option<u64>,
    ask: Option<String>,
    report: Option<Report>,
    tool: Option<RawTool>,
    rate_limit: Option<RawRateLimit>,
    exit: Option<u8>,
    #[serde(default)]
    hang: bool,
    garbage: Option<u64>,
    #[serde(default)]
    spawn_grandchild: bool,
    #[serde(default)]
    ignore_sigterm: bool,
    #[serde(default)]
    delete_workspace: bool,

    content: Option<String>,
    lines: Option<Vec<String>>,
    kind: Option<String>,
    tokens: Option<u64>,
    unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    name: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRateLimit {
    resets_in_ms: u64,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

/// What a step may say, for the error of one that says nothing or too much.
const ACTS: &str = "write, append, say, read, think_tokens, ask, report, tool, rate_limit, exit, hang, garbage, \
                    spawn_grandchild, ignore_sigterm, delete_workspace";

impl Script {
    pub(super) fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let raw: RawScript = toml::from_str(text)
            .map_err(|error| ScriptError::Syntax { path: path.to_owned(), message: error.to_string() })?;
        let wrong = |at: usize, why: String| {
            let line =
                text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            ScriptError::Meaning { path: path.to_owned(), line, why }
        };
        let first = raw.base_tokens.saturating_add(raw.prompt_tokens.unwrap_or(0));
        if first >= raw.window_tokens {
            let why = format!(
                "a first prompt of {first} tokens leaves no room in {} window_tokens",
                raw.window_tokens
            );
            return Err(wrong(0, why));
        }
        let mut objectives = BTreeMap::new();
        for (id, objective) in raw.objectives {
            let mut steps = Vec::new();
            for step in objective.steps {
                let at = step.span().start;
                steps.push(step.into_inner().understand().map_err(|why| wrong(at, why))?);
            }
            objectives.insert(id, steps);
        }
        let RawScript { window_tokens, base_tokens, prompt_tokens, pace_ms, .. } = raw;
        Ok(Self { window_tokens, base_tokens, prompt_tokens, pace_ms, objectives })
    }
}

impl RawStep {
    fn understand(mut self) -> Result<Step, String> {
        let (tokens, unless) = (self.tokens.take(), self.unless.take());
        let mut acts = Vec::new();
        if let Some(path) = self.write.take() {
            let (path, content) = (inside(path)?, self.text("write")?.join("\n"));
            let content = if content.ends_with('\n') { content } else { content + "\n" };
            acts.push(Act::Write { path, content });
        }
        if let Some(path) = self.append.take() {
            let lines =
                self.text("append")?.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
            acts.push(Act::Append { path: inside(path)?, lines });
        }
        if let Some(title) = self.ask.take() {
            acts.push(Act::Ask { title, kind: self.kind.take().unwrap_or_else(|| "execute".to_owned()) });
        }
        acts.extend(self.say.take().map(Act::Say));
        acts.extend(self.read.take().map(|path| Act::Read { path }));
        acts.extend(self.report.take().map(Act::Report));
        let tool = |tool: RawTool| Act::Tool { name: tool.name, arguments: Value::Object(tool.arguments) };
        acts.extend(self.tool.take().map(tool));
        acts.extend(self.exit.map(Act::Exit));
        acts.extend(self.garbage.map(Act::Garbage));
        let limit =
            |limit: RawRateLimit| Act::RateLimit { resets_in_ms: limit.resets_in_ms, times: limit.times };
        acts.extend(self.rate_limit.take().map(limit));
        acts.extend(self.hang.then_some(Act::Hang));
        acts.extend(self.spawn_grandchild.then_some(Act::Grandchildren));
        acts.extend(self.ignore_sigterm.then_some(Act::IgnoreSigterm));
        acts.extend(self.delete_workspace.then_some(Act::DeleteWorkspace));
        let thinks = self.think_tokens;
        acts.extend(thinks.map(|_| Act::Think));
        if self.content.is_some() || self.lines.is_some() {
            return Err("content and lines belong to a step with write or append".to_owned());
        }
        if self.kind.is_some() {
            return Err("kind belongs to a step with ask".to_owned());
        }
        let count = acts.len();
        match (acts.pop(), count) {
            (Some(act), 1) => Ok(Step { act, tokens: thinks.or(tokens), unless }),
            (_, 0) => Err(format!("this step does nothing; it needs one of: {ACTS}")),
            _ => Err(format!("this step does {count} things; write one step for each of them")),
        }
    }

    /// The text of a step that writes, in pieces.
    fn text(&mut self, act: &str) -> Result<Vec<String>, String> {
        match (self.content.take(), self.lines.take()) {
            (Some(content), None) => Ok(vec![content]),
            (None, Some(lines)) => Ok(lines),
            (None, None) => Err(format!("{act} needs what to write: content = \"…\" or lines = [\"…\"]")),
            (Some(_), Some(_)) => Err(format!("{act} takes content or lines, not both")),
        }
    }
}

/// A script that is handed around must not write where nobody expects it.
fn inside(path: String) -> Result<String, String> {
    let normal = Path::new(&path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if normal && !path.is_empty() {
        Ok(path)
    } else {
        Err(format!("{path:?} is not a path inside the workspace"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Script, String> {
        Script::parse(text, Path::new("x.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_are_understood() {
        let script = parse(
            "window_tokens = 8000\nbase_tokens = 1000\n[objectives.a]\nsteps = [\n  { write = \"a/b\", lines = [\"1\", \
             \"2\"] },\n  { read = \"c\", tokens = 7, unless = \"a/b\" },\n  { rate_limit = { resets_in_ms = 5 } },\n]\n",
        )
        .unwrap();
        let steps = &script.objectives["a"];
        assert_eq!(steps[0].act, Act::Write { path: "a/b".to_owned(), content: "1\n2\n".to_owned() });
        assert_eq!((steps[1].tokens, steps[1].unless.as_deref()), (Some(7), Some("a/b")));
        assert_eq!(steps[2].act, Act::RateLimit { resets_in_ms: 5, times: 1 });
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let of = |steps: &str| {
            parse(&format!("window_tokens = 9\n[objectives.a]\nsteps = [\n{steps}\n]\n")).unwrap_err()
        };
        assert!(of("{ say = \"a\" },\n{ }").contains("line 5: this step does nothing"));
        assert!(of("{ say = \"a\", hang = true }").contains("line 4: this step does 2 things"));
        assert!(of("{ write = \"../a\", content = \"\" }").contains("not a path inside the workspace"));
        assert!(of("{ write = \"a\" }").contains("write needs what to write"));
        assert!(of("{ sya = \"a\" }").contains("unknown field `sya`"));
        assert!(of("{ sya = \"a\" }").contains("line 4"));
        assert!(parse("window_tokens = 9\nbase_tokens = 9").unwrap_err().contains("leaves no room"));
    }
}
