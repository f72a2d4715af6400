//! The keys of a workflow file: the source of its JSON Schema. Checks nothing.
//!
//! Editors show the doc comments of the keys, so they address the author of a workflow.

mod limits;
mod modes;
mod policies;
mod rules;
mod sandbox;
mod value_forms;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

pub(super) use limits::{CONTINUATIONS_MAX, LimitsSchema, NotifySchema};
use limits::{COST_USD_MAX, COST_USD_MIN, TOKENS_MAX};
pub(super) use modes::{ModeSchema, ModesSchema};
pub(super) use policies::{
    CHAIN_MAX, ChoicesSchema, ConfigurationSchema, GrantsSchema, PoliciesSchema, PolicyLinkSchema,
    PolicySchema, PolicyTable, ScopedPoliciesSchema,
};
pub(super) use rules::RulesSchema;
pub(super) use sandbox::SandboxSchema;
pub(super) use value_forms::DurationText;
use value_forms::{NonEmptyText, ObjectiveForm, OneOrMany, commands, one_or_many, one_or_many_said, texts};

use crate::workflow::{
    Acceptance, AgentKind, CommitTime, Mode, Permission, PromptDelivery, SplitTime, expected_files_in,
};

/// Phases of one workflow: its table must stay readable, and a phase with more to do is split at run time.
pub(super) const PHASES_MAX: usize = 200;
/// Objectives of one phase: the observation of a phase must stay small.
pub(super) const OBJECTIVES_MAX: usize = 200;
/// Files of one objective.
pub(super) const FILES_MAX: usize = 100;
/// Context files of one phase, and sections of one: an agent that reads more has no room left for the work.
pub(super) const CONTEXT_MAX: usize = 20;
/// Characters of the heading of a section.
pub(super) const SECTION_CHARS_MAX: usize = 120;
/// Characters of a description: a page or two; a longer text belongs into a file that the agent reads.
pub(super) const TEXT_CHARS_MAX: usize = 8000;
/// Turns of one phase: more than any window survives.
pub(in crate::workflow) const TURNS_MAX: u32 = 10_000;
/// Smallest window that can hold a prompt and an answer; rehearsals use small ones.
pub(super) const WINDOW_TOKENS_MIN: u64 = 500;
/// Ten times the largest window on offer.
pub(super) const WINDOW_TOKENS_MAX: u64 = 10_000_000;
/// Rounds of a loop: more repetitions would not help.
pub(super) const REPEAT_MAX: u32 = 50;
/// Files about modes: there are five modes.
pub(super) const MODE_FILES_MAX: usize = 20;
/// Commands of one `setup`: more than these belong into a script of the project.
pub(super) const SETUP_MAX: usize = 20;
/// Characters of a path before its placeholders are filled: with them still a path that every file system takes.
pub(super) const PATH_CHARS_MAX: usize = 120;

/// A value with its place in the file. In the schema it is the value alone.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct LocatedValue<T>(toml::Spanned<T>);

impl<T> LocatedValue<T> {
    pub(super) fn span(&self) -> Range<usize> {
        self.0.span()
    }

    pub(super) fn get(&self) -> &T {
        self.0.get_ref()
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// Something else at the same place.
    pub(super) fn with<U>(&self, other: U) -> LocatedValue<U> {
        LocatedValue(toml::Spanned::new(self.span(), other))
    }

    pub(super) fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl LocatedValue<String> {
    /// Stands for an omitted value until it is derived.
    fn unsaid() -> Self {
        LocatedValue(toml::Spanned::new(0..0, String::new()))
    }

    /// A derived value, with the place of the thing that it names.
    pub(super) fn derived(span: Range<usize>, text: String) -> Self {
        LocatedValue(toml::Spanned::new(span, text))
    }

    /// Whether the file omits it. A value in the file has quotation marks, and so a length.
    pub(super) fn is_absent(&self) -> bool {
        self.span().is_empty()
    }
}

impl<T: JsonSchema> JsonSchema for LocatedValue<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The smallest workflow, for a user who has none yet.
const SMALLEST: &str = "the smallest workflow has one phase:\n    [[phases]]\n    title = \"Move the parser\"\n    \
                        do = [\"Create crates/parser\", \"Port its tests\"]\n    verify = \"cargo test\"";

/// A workflow of Baton: phases with objectives, who works on them, within which limits, judged by which policies.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Baton workflow", rename = "Workflow")]
#[schemars(extend("x-instead" = {
    "title": "the workflow has a `name`, and a `goal` that every agent reads",
    "id": "name = \"parser\"",
    "description": "goal = \"The parser in its own crate.\"",
    "prompt": "goal = \"…\" for what the whole run is for, and `do` in a phase for what is to be done",
    "do": "what is to be done stands in a phase: [[phases]], and below it do = [\"…\", \"…\"]",
    "objectives": "what is to be done stands in a phase: [[phases]], and below it do = [\"…\", \"…\"]",
    "tasks": "[[phases]], and below it title = \"…\" and do = [\"…\", \"…\"]",
    "steps": "[[phases]], and below it title = \"…\" and do = [\"…\", \"…\"]",
    "stages": "[[phases]], and below it title = \"…\" and do = [\"…\", \"…\"]",
    "verify": "a command that checks a phase stands in it: [[phases]], and below it verify = \"…\"",
    "model": "[roles.executor], and below it model = \"…\"",
    "permission": "[roles.executor], and below it permission = \"edit\"",
    "max_turns": "[roles.executor], and below it max_turns = 200",
    "cost_usd": "[limits], and below it cost_usd = 10.0",
    "wall_time": "[limits], and below it wall_time = \"2h\"",
}))]
pub(super) struct WorkflowSchema {
    /// Short name, fit for a file name. Default: the name of this file.
    #[serde(default = "LocatedValue::unsaid")]
    #[schemars(pattern(r"^[A-Za-z0-9._-]{1,40}$"))]
    pub(super) name: LocatedValue<String>,
    /// What the whole run is for, one sentence. Every agent reads it. Default: the titles of the phases.
    #[serde(default = "LocatedValue::unsaid")]
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub(super) goal: LocatedValue<String>,
    /// How much effort is spent; chooses the column of the table of turns. Default: standard.
    #[serde(default)]
    pub(super) mode: Mode,
    /// The weakest evidence that makes an objective done: "checked" (a `verify` command passed), "reported" (the agent reported it as
    /// done) or "answer" (the agent answered, even if no file changed). Default: the policy decides; the built-in one wants a
    /// report, changed files or, from a role that may not edit, an answer. Evidence against it always wins.
    pub(super) accept: Option<LocatedValue<Acceptance>>,
    /// Whether the `verify` commands of a phase run once before its work begins. A command that passes then shows nothing by passing
    /// afterwards: its objectives are not called checked, and one that changes no file is asked about. Default: false; `baton do`, plans
    /// and `baton init` set it.
    #[serde(default)]
    pub(super) verify_first: bool,
    /// Whether a part of a split is reviewed before it is merged if its phase has no `review` and an objective of the part has no
    /// `verify` of its own. The role `reviewer` does it, or the phase's own role if the workflow has no such role; 70 of 100 passes.
    /// Each review is a session. Default: true.
    pub(super) review_parts: Option<bool>,
    /// The agent of every role that names none. Default: rehearsal. `--agent` wins over it, over every role and phase.
    #[schemars(with = "Option<AgentKind>")]
    pub(super) agent: Option<LocatedValue<String>>,
    /// Where the agents work: "scratch" for a fresh folder under the state directory, "scratch-git" for one that is a git
    /// repository (so that sub-phases get work trees of their own), or a path relative to this
    /// file. Default: the folder that `baton` is called in. `--workspace` wins.
    #[schemars(length(min = 1))]
    pub(super) workspace: Option<LocatedValue<String>>,
    /// A plan in Markdown, relative to this file: a box (`- [ ]`) with the words of an objective is ticked when that is done.
    #[schemars(length(min = 1))]
    pub(super) plan: Option<LocatedValue<String>>,
    /// After what Baton commits what changed in the workspace, with what was done and how that was shown in the message: "phase",
    /// "objective" (between two prompts, and after each phase) or "off" (the default). What was changed before the run began, and new
    /// files that a check makes, are not committed, and no hook is run. Needs git.
    #[serde(default)]
    pub(super) commit: CommitTime,
    /// The branch that Baton makes and checks out for its commits before the first phase: "work/{run}". Default: the one that is checked
    /// out.
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) commit_branch: Option<LocatedValue<String>>,
    /// Who works. `executor` and the roles of the table of turns exist without being named here.
    #[serde(default)]
    pub(super) roles: BTreeMap<String, LocatedValue<RoleSchema>>,
    /// Bounds of the whole run. Reaching a ceiling pauses for a person; nothing is killed for it.
    #[serde(default)]
    pub(super) limits: LimitsSchema,
    /// Which policy decides what. Default: the built-in one decides everything.
    #[serde(default)]
    pub(super) policies: PoliciesSchema,
    /// Where what people and agents read lies in the workspace. Default: below .baton/.
    #[serde(default)]
    pub(super) paths: PathsSchema,
    /// Commands that make the workspace ready for work: setup = ["npm ci"]. They stand in the `init.sh` of the task folder
    /// as they are, so write no secret into them. Baton itself runs them in the work trees that it makes for parts of a
    /// split, and nowhere else.
    #[serde(default, deserialize_with = "texts")]
    #[schemars(with = "OneOrMany<NonEmptyText, 0, SETUP_MAX>")]
    pub(super) setup: Vec<String>,
    /// Who is told when something happens that a person wants to know.
    #[serde(default)]
    pub(super) notify: NotifySchema,
    /// What is different in a mode. Only that of the workflow's own mode takes effect.
    #[serde(default)]
    pub(super) modes: ModesSchema,
    /// Org files with turns and continuations of a mode as properties (`MAX_TURNS_EXECUTOR`, `MAX_CONTINUATIONS`), relative
    /// to this file. Each says its mode by its name (modes/swarm.org) or by a property `MODE`. What this file says itself wins.
    #[serde(default)]
    #[schemars(length(max = MODE_FILES_MAX), inner(length(min = 1)))]
    pub(super) mode_files: Vec<LocatedValue<String>>,
    /// The steps, each with objectives. A phase begins when those it depends on are done; by default one after the other.
    #[schemars(length(min = 1, max = PHASES_MAX), extend("x-hint" = SMALLEST))]
    pub(super) phases: Vec<LocatedValue<PhaseSchema>>,
}

/// A role: which agent works, and what it may do.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Role")]
pub(super) struct RoleSchema {
    /// Which agent. Default: the workflow's.
    #[schemars(with = "Option<AgentKind>")]
    pub(super) agent: Option<LocatedValue<String>>,
    /// Which model. Default: the agent's own choice. A `process` names its model in its command.
    #[schemars(length(min = 1))]
    pub(super) model: Option<LocatedValue<String>>,
    /// What the agent may do without asking: "read-only", "edit" (files of the workspace; the default) or "full"
    /// (whatever the agent's own sandbox allows, commands included). A `process` knows no permissions: what its command
    /// may do, it does.
    pub(super) permission: Option<LocatedValue<Permission>>,
    /// Commands that the agent may run without asking, beside what `permission` allows: allow = ["python3 -m unittest*"]. `*` stands for words in
    /// which nothing means anything to a shell. What `verify` runs is allowed to roles that may edit. Not for `process`.
    #[schemars(with = "Option<Vec<String>>")]
    pub(super) allow: Option<LocatedValue<Vec<String>>>,
    /// Size of the context window in tokens, where the agent does not say it.
    #[schemars(range(min = WINDOW_TOKENS_MIN, max = WINDOW_TOKENS_MAX))]
    pub(super) window_tokens: Option<u64>,
    /// Turns for a phase to begin with. Default: the table's value for this role and the workflow's mode. While objectives or files
    /// move, a phase gets more.
    #[schemars(range(min = 1, max = TURNS_MAX))]
    pub(super) max_turns: Option<u32>,
    /// Turns that a phase gets at most. Default: ten times what it begins with, for each of its objectives. The same as `max_turns` for
    /// a hard cap.
    #[schemars(range(min = 1, max = TURNS_MAX))]
    #[schemars(with = "Option<u32>")]
    pub(super) turn_ceiling: Option<LocatedValue<u32>>,
    /// Names of environment variables that the agent inherits, beside the few it always gets.
    #[serde(default)]
    pub(super) env: Vec<LocatedValue<String>>,
    /// The agent's executable: a bare name is looked up on PATH, a path is relative to this file. Default: the agent's
    /// own name. For `claude` and `codex`; the other agents have it in their command, or need none.
    #[schemars(length(min = 1))]
    pub(super) program: Option<LocatedValue<String>>,
    /// What the rehearsal agent plays, relative to this file. Only for `rehearsal`.
    #[schemars(length(min = 1))]
    pub(super) script: Option<LocatedValue<String>>,
    /// Further arguments for the agent, after those that Baton gives: args = ["-c", "model_reasoning_effort=low"]
    pub(super) args: Option<LocatedValue<Vec<String>>>,
    /// Whether the program gets a terminal. Only for `process`. Default: false.
    pub(super) pty: Option<LocatedValue<bool>>,
    /// How the program gets its prompt: "stdin", which ends with the prompt (the default), or "argument", the last one.
    /// Only for `process`.
    pub(super) prompt: Option<LocatedValue<PromptDelivery>>,
    /// Whose quota the agent uses, for `[limits.providers]`: agents of one provider wait for its limits together. Default: the
    /// kind of the agent.
    #[schemars(length(min = 1))]
    pub(super) provider: Option<LocatedValue<String>>,
    /// How far the agent is confined: "off" (the default), "write" (it writes only into its tree), "strict" (it sees only the
    /// system, its tree and its own settings, and reaches only what `network` names), or a table with more:
    /// { level = "strict", network = ["api.anthropic.com", "github.com"] }. See `sandbox.md` of the guides.
    #[schemars(with = "Option<SandboxSchema>")]
    pub(super) sandbox: Option<LocatedValue<SandboxSchema>>,
    /// MCP servers that the agent gets beside Baton's own tools, by the name that it calls them by. Not for `process`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, ServerSchema>")]
    pub(super) mcp: BTreeMap<String, LocatedValue<ServerSchema>>,
    /// Which policy decides what about the phases of this role, where no phase says more.
    #[schemars(with = "Option<ScopedPoliciesSchema>")]
    pub(super) policies: Option<LocatedValue<ScopedPoliciesSchema>>,
}

/// An MCP server, started by the agent in the workspace.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "McpServer")]
pub(super) struct ServerSchema {
    /// Program and arguments: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
    #[schemars(length(min = 1))]
    pub(super) command: Vec<String>,
    /// Variables that it gets beside the agent's own. A secret belongs into the role's `env`, by its name alone.
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    /// Whether results that the compaction policy finds too large are kept as artifacts, with a reference in the context.
    /// Default: true.
    pub(super) offload: Option<bool>,
}

/// Where files of a run lie. A path may have placeholders: {run}, {workflow} and {slug} (the goal in a few words) anywhere,
/// {phase} in the files of a phase, {ordinal}, {session} and {timestamp} in handoffs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Paths")]
pub(super) struct PathsSchema {
    /// The task folder, relative to the workspace. Default: ".baton/{run}", which git ignores; no other folder is ignored.
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) folder: Option<LocatedValue<String>>,
    /// A handoff, relative to the task folder. Default: "handoffs/phase-{phase}-handoff-{timestamp}.md".
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) handoff: Option<LocatedValue<String>>,
    /// The newest handoff index of every open phase, relative to the task folder. Default: "index.md".
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) index: Option<LocatedValue<String>>,
    /// The summary of a phase, relative to the task folder. Default: "summaries/phase-{phase}.md".
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) summary: Option<LocatedValue<String>>,
    /// What a phase came to so far, relative to the task folder. Default: "phases/phase-{phase}-results.md".
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) results: Option<LocatedValue<String>>,
}

/// A step with objectives.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Phase")]
#[schemars(extend("x-instead" = {
    "name": "title = \"Move the parser\" says what a phase is about; its id is made of it",
    "prompt": "do = [\"Create crates/parser\", \"Port its tests\"] says what is to be done",
    "description": "title = \"…\" says what a phase is about, and do = [\"…\", \"…\"] what is to be done",
    "goal": "title = \"…\" says what a phase is about; `goal` stands at the top of the file",
    "objective": "do = [\"…\", \"…\"] says what is to be done",
    "task": "do = [\"…\", \"…\"] says what is to be done",
    "tasks": "do = [\"…\", \"…\"] says what is to be done",
    "steps": "do = [\"…\", \"…\"] says what is to be done",
    "todo": "do = [\"…\", \"…\"] says what is to be done",
    "files": "files belong to an objective: do = [{ description = \"…\", files = [\"src/a.rs\"] }]",
    "check": "verify = \"cargo test\" is the command that must exit 0",
    "test": "verify = \"cargo test\" is the command that must exit 0",
    "command": "verify = \"cargo test\" is the command that must exit 0",
    "needs": "depends_on = [\"survey\"]",
    "requires": "depends_on = [\"survey\"]",
    "after": "depends_on = [\"survey\"]",
    "model": "give the phase a role, and say in [roles.NAME]: model = \"…\"",
    "permission": "give the phase a role, and say in [roles.NAME]: permission = \"edit\"",
    "max_turns": "give the phase a role, and say in [roles.NAME]: max_turns = 200",
    "timeout": "wall_time = \"30m\"",
}))]
pub(super) struct PhaseSchema {
    /// Unique in the workflow. Default: some words of the title.
    #[serde(default = "LocatedValue::unsaid")]
    #[schemars(pattern(r"^[A-Za-z0-9._-]{1,40}$"))]
    pub(super) id: LocatedValue<String>,
    /// What it is about. Default: the id, or what is to be done first.
    #[schemars(length(min = 1, max = 200))]
    pub(super) title: Option<String>,
    /// Phases that must be done before, by their ids; a phase that has none is named by its title. [] waits for none. Default:
    /// the phase above it, if no phase of the file says `depends_on` and `parallel` is 1; else none.
    #[serde(default, deserialize_with = "one_or_many_said")]
    #[schemars(with = "OneOrMany<String, 0, PHASES_MAX>")]
    pub(super) depends_on: Option<Vec<LocatedValue<String>>>,
    /// Who works on it. Default: executor.
    pub(super) role: Option<LocatedValue<String>>,
    /// Another agent for this phase alone. It takes over what its role may do, not the role's options for its own agent
    /// (model, window, program, arguments); for those, give the phase a role.
    #[schemars(with = "Option<AgentKind>")]
    pub(super) agent: Option<LocatedValue<String>>,
    /// Command that must exit 0 in the workspace when the objectives are done; run by `sh -c`. Of a phase that was split, it
    /// is run where the parts came together. Of a list, all must exit 0.
    #[serde(default, deserialize_with = "commands")]
    #[schemars(with = "OneOrMany<NonEmptyText, 1, SETUP_MAX>")]
    pub(super) verify: Option<String>,
    /// Who says whether it is good enough once the commands have passed: a role, or a role with the score of 100 that
    /// satisfies it: { role = "reviewer-deep", score = 80 }. Default of the score: 70. A part of a split is reviewed for itself
    /// as well.
    pub(super) review: Option<LocatedValue<ReviewSchema>>,
    /// Where to begin again while this phase finds the work not good enough: { from = "plan", at_most = 5 } walks the phases
    /// from `plan` to this one until its `verify` or `review` is content, five times at most.
    pub(super) repeat: Option<RepeatSchema>,
    /// After what its work is committed. Default: what the workflow says.
    pub(super) commit: Option<CommitTime>,
    /// Known to be complex work: a policy may allow it more turns.
    #[serde(default)]
    pub(super) complex: bool,
    /// When a policy may split this phase: "ahead" (before its first session already), "during" (while it is worked on, and before
    /// only if its size leaves no doubt) or "never". If an agent asks for a split, the policy judges it anyway. Default: during.
    #[serde(default)]
    pub(super) split: SplitTime,
    /// Wall time of this phase ("90s", "30m", "2h").
    #[serde(default)]
    #[schemars(with = "value_forms::DurationForm")]
    pub(super) wall_time: Option<LocatedValue<DurationText>>,
    /// Billed tokens of this phase.
    #[schemars(range(min = 1, max = TOKENS_MAX))]
    pub(super) tokens: Option<u64>,
    /// Cost of this phase in US dollars.
    #[schemars(range(min = COST_USD_MIN, max = COST_USD_MAX))]
    pub(super) cost_usd: Option<f64>,
    /// Continuations of this phase, where they differ from the run's.
    #[schemars(range(min = 0, max = CONTINUATIONS_MAX))]
    pub(super) continuations: Option<u32>,
    /// Further commands that make the workspace ready for this phase, after those of the whole workflow.
    #[serde(default, deserialize_with = "texts")]
    #[schemars(with = "OneOrMany<NonEmptyText, 0, SETUP_MAX>")]
    pub(super) setup: Vec<String>,
    /// Files of the codebase to read before the work, with the sections to focus on:
    /// context = [{ file = "docs/design.md", sections = ["Parser", "Errors"] }]. Prompts name them; nothing is embedded.
    #[serde(default)]
    #[schemars(length(max = CONTEXT_MAX))]
    pub(super) context: Vec<ContextSchema>,
    /// Which policy decides what about this phase, with every part that it is split into.
    pub(super) policies: Option<ScopedPoliciesSchema>,
    /// What is to be done, at least one thing: do = ["Create crates/parser", "Write `docs/parser.md`"]. Paths between backticks are the
    /// files of the objective: they must be there when it is done. One that has other files, or a check of its own, is a table: do = [{ description = "Create crates/parser", files = ["crates/parser/Cargo.toml"] }]
    #[serde(default, rename = "do", deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<ObjectiveForm, 1, OBJECTIVES_MAX>")]
    pub(super) to_do: Vec<LocatedValue<ObjectiveSchema>>,
    /// The same as `do`, for tables of their own: `[[phases.objectives]]`.
    #[serde(default, deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<ObjectiveForm, 1, OBJECTIVES_MAX>")]
    pub(super) objectives: Vec<LocatedValue<ObjectiveSchema>>,
}

/// A file of the codebase that says what an agent must know.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Context")]
pub(super) struct ContextSchema {
    /// The file, relative to the workspace.
    #[schemars(length(min = 1, max = PATH_CHARS_MAX))]
    pub(super) file: LocatedValue<String>,
    /// Headings of the sections to focus on. Default: the whole file.
    #[serde(default)]
    #[schemars(length(max = CONTEXT_MAX), inner(length(min = 1, max = SECTION_CHARS_MAX)))]
    pub(super) sections: Vec<LocatedValue<String>>,
}

/// One thing to get done.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[schemars(rename = "Objective")]
#[schemars(extend("x-instead" = {
    "name": "`id` names an objective, and may be left out; `description` says what is to be done",
    "title": "description = \"…\" says what is to be done",
    "prompt": "description = \"…\" says what is to be done",
    "do": "description = \"…\" says what is to be done",
    "text": "description = \"…\" says what is to be done",
    "task": "description = \"…\" says what is to be done",
    "goal": "description = \"…\" says what is to be done",
    "check": "verify = \"cargo test\" is the command that must exit 0",
    "test": "verify = \"cargo test\" is the command that must exit 0",
    "command": "verify = \"cargo test\" is the command that must exit 0",
    "depends_on": "phases depend on phases: put the objective into a phase of its own",
}))]
pub(super) struct ObjectiveSchema {
    /// Unique in the workflow. Default: some words of the description.
    #[serde(default = "LocatedValue::unsaid")]
    #[schemars(pattern(r"^[A-Za-z0-9._-]{1,40}$"))]
    pub(super) id: LocatedValue<String>,
    /// What is to be done. It never changes during a run.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub(super) description: String,
    /// Files that must exist afterwards, relative to the workspace.
    #[serde(default, deserialize_with = "one_or_many")]
    #[schemars(with = "OneOrMany<String, 0, FILES_MAX>")]
    pub(super) files: Vec<LocatedValue<String>>,
    /// Command that must exit 0 when it is done; run by `sh -c`, whichever phase or part of one holds the objective. Of a list,
    /// all must exit 0.
    #[serde(default, deserialize_with = "commands")]
    #[schemars(with = "OneOrMany<NonEmptyText, 1, SETUP_MAX>")]
    pub(super) verify: Option<String>,
}

impl ObjectiveSchema {
    /// An objective that is written as its description alone: the paths between its backticks are its files.
    fn of(description: &str) -> Self {
        let named = expected_files_in(description).into_iter().take(FILES_MAX);
        let files = named.map(|path| LocatedValue::derived(0..0, path)).collect();
        Self { id: LocatedValue::unsaid(), description: description.to_owned(), files, verify: None }
    }

    /// An objective that is written as a table.
    fn of_table<'de, D: serde::Deserializer<'de>>(table: D) -> Result<Self, D::Error> {
        Self::deserialize(table)
    }
}

/// A reviewer: a role, or a table with the score that satisfies it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Review")]
pub(super) enum ReviewSchema {
    /// The role of the reviewer.
    Role(#[schemars(length(min = 1))] String),
    /// A reviewer with a score.
    Set(ReviewTable),
}

impl ReviewSchema {
    /// The role that it names.
    pub(super) fn role(&self) -> &str {
        match self {
            ReviewSchema::Role(role) => role,
            ReviewSchema::Set(table) => &table.role,
        }
    }
}

/// A reviewer, and the score that satisfies it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewTable {
    /// Who reviews.
    #[schemars(length(min = 1))]
    pub(super) role: String,
    /// A score from here on passes, of 100. Default: 70.
    #[schemars(range(min = 1, max = 100))]
    pub(super) score: Option<u32>,
}

/// A loop over phases.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Repeat")]
pub(super) struct RepeatSchema {
    /// The first phase of the loop, which stands before this one.
    pub(super) from: LocatedValue<String>,
    /// Times that the loop is walked at most, the first included.
    #[schemars(range(min = 1, max = REPEAT_MAX))]
    pub(super) at_most: u32,
}
