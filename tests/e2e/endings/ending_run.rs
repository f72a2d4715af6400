//! A cell is played: the workflow, its agent, one `baton run`, and what is left of it. Expects nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::agent::{self, PromptRecord};
use crate::cell::{AgentEnding, EndingCase, EvidenceRequirement, FakeAgentKind};
use crate::script;
use crate::support::{CommandOutput, JournalSummary, TestWorkspace};

/// How many cases the objective `cases` asks for, each a line of the file.
pub(crate) const CASES: usize = 5;

/// The file of the objective `cases`. It is there before, without a case.
pub(crate) const FILE: &str = "src/x.txt";

/// The file of the objective `opening`, which every agent does before it.
pub(crate) const OPENING: &str = "src/opening.txt";

/// The command of the objective that is held to a check.
pub(crate) const CHECK: &str = "sh check.sh";

/// Fails until all cases are there.
const CHECK_SCRIPT: &str =
    "found=$(grep -c '^case ' src/x.txt)\necho \"$found of 5 cases are there\"\ntest \"$found\" -eq 5\n";

/// As an agent asks for a split through a file.
pub(crate) static SPLIT_REQUEST: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "report": "split-request",
        "rationale": "they are two things",
        "groups": [
            { "title": "The opening", "objectives": ["opening"] },
            { "title": "The cases", "objectives": ["cases"] },
        ],
    })
});

/// What agents say. Only one of these is about a context.
pub(crate) mod words {
    pub(crate) const THREE_OF_FIVE: &str = "3 of 5 cases done";
    pub(crate) const TWO_OF_FIVE: &str = "2 of 5 cases done";
    pub(crate) const STATE: &str = "3 of 5 cases done: cases 1, 2 and 3 are in src/x.txt.";
    pub(crate) const NEXT_ACTION: &str = "Append case 4 to src/x.txt, then case 5.";
    pub(crate) const HANDED_OFF: &str =
        "I have written down where I am for the session after me, and stop here with two cases left.";
    pub(crate) const CANNOT: &str = "this cannot be done: case 4 contradicts case 5";
    pub(crate) const FAILED: &str =
        "I could not do this. The fourth case contradicts the fifth one, so the five cannot all be written.";
    pub(crate) const IN_PROGRESS: &str =
        "I have written two of the five cases so far, and stop here for now with three of them left.";
    pub(crate) const OUT_OF_CONTEXT: &str = "I have reached my context limit. Remaining: cases 4 and 5.";
    pub(crate) const POLITE: &str =
        "Thank you for the clear description. I have read all of it, and it looks good to me as it is.";
    pub(crate) const SPLIT: &str =
        "These two have nothing to do with each other, so I asked for a split and stop here.";
    pub(crate) const DONE: &str =
        "Everything that was asked for is written, and I have looked it over once more.";
    pub(crate) const OTHER_WORDS: &str =
        "I put the cases into src/x.txt, which reads well now from end to end.";
    /// What the prompt says that asks for no more than a word.
    pub(crate) const ASKED: &str = "If yes, report it as done";
    pub(crate) const LINE: &str = "Done: cases";
}

/// What is left of a cell.
pub(crate) struct EndingRun {
    pub(crate) cell: EndingCase,
    pub(crate) stage: TestWorkspace,
    pub(crate) ended: CommandOutput,
    /// Every prompt, as the agents saw them.
    pub(crate) prompts: Vec<PromptRecord>,
    pub(crate) story: JournalSummary,
    /// `work-items.json`.
    pub(crate) items: Value,
    /// `baton status --format json`.
    pub(crate) status: Value,
}

impl EndingRun {
    pub(crate) fn play(cell: EndingCase) -> Self {
        let stage = TestWorkspace::new();
        let role = role(cell, &stage);
        stage.write("job.toml", workflow(cell, &role));
        fs::create_dir(stage.workspace.join("src")).unwrap();
        fs::write(stage.workspace.join(FILE), "The cases:\n").unwrap();
        fs::write(stage.workspace.join("check.sh"), CHECK_SCRIPT).unwrap();
        if cell.ending == AgentEnding::AsksForSplit {
            stage.make_repository();
        }
        let ended = stage.baton(&["run", "job.toml"]);
        let story = stage.story();
        let items = stage.read(&format!(".baton/{}/work-items.json", story.view.run));
        let status = stage.baton(&["status", "--format", "json"]).expect(0).stdout;
        let prompts = match cell.kind {
            FakeAgentKind::Rehearsal => prompts_of_rehearsals(&stage, &story),
            _ => lines(&fs::read_to_string(stage.path(agent::PROMPTS)).unwrap_or_default()),
        };
        let json = |text: &str| serde_json::from_str(text).unwrap();
        let (items, status) = (json(&items), json(&status));
        Self { cell, stage, ended, prompts, story, items, status }
    }

    /// The prompts that ask for an objective.
    pub(crate) fn prompts_for(&self, objective: &str) -> Vec<&PromptRecord> {
        let asks = |prompt: &&PromptRecord| prompt.focus.iter().any(|id| id == objective);
        self.prompts.iter().filter(asks).collect()
    }
}

/// The lines of the role: the rehearsal with its script, or the program of the tests with its arguments.
fn role(cell: EndingCase, stage: &TestWorkspace) -> String {
    let EndingCase { kind, ending, held_to } = cell;
    if kind == FakeAgentKind::Rehearsal {
        stage.write("script.toml", script::of(ending, held_to));
        return "agent = \"rehearsal\"\nscript = \"script.toml\"".to_owned();
    }
    let (own, folder) = (std::env::current_exe().unwrap(), stage.path("."));
    let script = format!(
        "#!/bin/sh\nexec '{}' {} {} {} {} '{}'\n",
        own.display(),
        agent::COMMAND,
        kind.name(),
        ending.name(),
        held_to.name(),
        folder.display()
    );
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    match kind {
        FakeAgentKind::Acp | FakeAgentKind::Process => format!("agent = \"{}:./agent.sh\"", kind.name()),
        _ => format!("agent = \"{}\"\nprogram = \"./agent.sh\"", kind.name()),
    }
}

/// One phase with `opening`, which every agent does and reports, and `cases`, which the cell is about.
fn workflow(cell: EndingCase, role: &str) -> String {
    let held_to = match cell.held_to {
        EvidenceRequirement::Nothing => String::new(),
        EvidenceRequirement::Files => format!("files = [\"{FILE}\"]\n"),
        EvidenceRequirement::Check => format!("verify = \"{CHECK}\"\n"),
    };
    format!(
        "name = \"job\"\ngoal = \"Show how an agent ends.\"\n[roles.executor]\n{role}\n[limits]\nbackoff = \"0s\"\nwall_time = \"5m\"\n\
         [[phases]]\nid = \"only\"\ntitle = \"An opening and five cases\"\n\
         [[phases.objectives]]\nid = \"opening\"\ndescription = \"Write the opening.\"\n\
         [[phases.objectives]]\nid = \"cases\"\ndescription = \"Write five cases, one a line.\"\n{held_to}"
    )
}

fn lines(text: &str) -> Vec<PromptRecord> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What the host kept of what it told its sessions.
fn prompts_of_rehearsals(stage: &TestWorkspace, story: &JournalSummary) -> Vec<PromptRecord> {
    let sessions = stage.state().sessions().join(story.view.run.as_str());
    let mut prompts = Vec::new();
    for session in 1.. {
        let Ok(told) = fs::read_to_string(sessions.join(format!("s{session}/stdin.jsonl"))) else { break };
        let told = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        prompts.extend(told.filter(|message| message["method"] == "session/prompt").map(|message| {
            PromptRecord::new(session, message["params"]["prompt"][0]["text"].as_str().unwrap_or_default())
        }));
    }
    prompts
}
