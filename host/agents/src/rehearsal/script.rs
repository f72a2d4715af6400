//! The script of a rehearsal: TOML in, steps out. Every mistake is named with its line.
//!
//! ```toml
//! window_tokens = 8000      # of the context; base_tokens and prompt_tokens are what the system and a prompt take of it
//! pace_ms = 100             # before each step
//!
//! [objectives.parser]       # what is done for an objective, one turn a step
//! steps = [
//!     { split = { groups = [{ title = "a", objectives = ["parser"] }], rationale = "too much" }, phase = "20" },
//!     { write = "src/parser.sh", content = "broken", unless = "src/parser.sh" },  # fails first,
//!     { write = "src/parser.sh", content = "right", when = "src/parser.sh" },     # passes when it is asked again
//! ]
//!
//! [objectives.cases]        # hands off when it is full; its successor reads that, and finishes
//! steps = [
//!     { fill_percent = 80, session = "first" },     # "first" or "successor"
//!     { status = "in-progress", note = "3 of 5 cases done", session = "first" },   # nothing is reported beside it
//!     { handoff = { current_state = "…", immediate_next_action = "…" }, session = "first" },   # ends the prompt
//!     { read_handoff = true },
//! ]
//!
//! [objectives.lexer]
//! report_done = false       # does its steps, and does not say so; true by default, where no `status` says otherwise
//! steps = [{ stop = "I have reached my context limit." }]    # last words; they end the prompt
//!
//! [objectives."review-*"]   # a pattern, for what the host asks for by itself; an id that is written out comes first
//! steps = [{ review = { score = [40, 90], summary = "nearly", findings = ["src/parser.sh:1 is broken"] } }]
//!
//! [objectives."merge-*"]
//! steps = [{ resolve = "notes.md" }]    # keep = "both", "ours" or "theirs"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::step::{RawStep, ScriptStep};

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// It is not there.
    #[error("cannot read the rehearsal script {}: {source}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not TOML, or has an unknown key.
    #[error("the rehearsal script {} is not valid: {message}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// Line, column and reason.
        message: String,
    },
    /// It says something that makes no sense.
    #[error("the rehearsal script {}, line {line}: {why}", path.display())]
    Invalid {
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
    RehearsalScript::read(path).map(drop)
}

/// What the agent does for each objective.
#[derive(Debug, PartialEq)]
pub(super) struct RehearsalScript {
    /// Size of the context window.
    pub(super) window_tokens: u64,
    /// What the system prompt takes of it.
    pub(super) base_tokens: u64,
    /// What a prompt takes; absent: as long as it is.
    pub(super) prompt_tokens: Option<u64>,
    /// Pause before each step.
    pub(super) pace_ms: u64,
    /// By objective, or by a pattern of objectives.
    pub(super) objectives: BTreeMap<String, ObjectiveScript>,
}

/// What the agent does for an objective.
#[derive(Debug, PartialEq)]
pub(super) struct ObjectiveScript {
    pub(super) steps: Vec<ScriptStep>,
    /// Whether it reports the objective done after the last step, if no step has reported another status.
    pub(super) report_done: bool,
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
    #[serde(default = "yes")]
    report_done: bool,
    steps: Vec<Spanned<RawStep>>,
}

fn yes() -> bool {
    true
}

impl RehearsalScript {
    /// The script of an objective: its own, else that of the most specific matching pattern.
    pub(super) fn objective(&self, objective: &str) -> Option<&ObjectiveScript> {
        let own = self.objectives.get(objective);
        let of_pattern = || {
            let fitting = self.objectives.iter().filter(|(pattern, _)| matches(pattern, objective));
            fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, script)| script)
        };
        own.or_else(of_pattern)
    }

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
            ScriptError::Invalid { path: path.to_owned(), line, why }
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
            let mut steps: Vec<ScriptStep> = Vec::new();
            for step in objective.steps {
                let at = step.span().start;
                if steps.last().is_some_and(ScriptStep::always_ends_the_prompt) {
                    let why = "this step is never played: the one before it ends the prompt. Give that one a \
                               condition (session, when, unless, phase), or leave this one out";
                    return Err(wrong(at, why.to_owned()));
                }
                steps.push(step.into_inner().into_step().map_err(|why| wrong(at, why))?);
            }
            objectives.insert(id, ObjectiveScript { steps, report_done: objective.report_done });
        }
        let RawScript { window_tokens, base_tokens, prompt_tokens, pace_ms, .. } = raw;
        Ok(Self { window_tokens, base_tokens, prompt_tokens, pace_ms, objectives })
    }
}

/// Whether a text matches a pattern: `*` matches any text, including the empty one.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use baton_core::observation::ObjectiveStatus;

    use super::super::step::{SessionKind, StepAction};
    use super::*;

    fn parse(text: &str) -> Result<RehearsalScript, String> {
        RehearsalScript::parse(text, Path::new("x.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn steps_are_understood() {
        let script = parse(
            "window_tokens = 8000\nbase_tokens = 1000\n[objectives.a]\nsteps = [\n  { write = \"a/b\", lines = [\"1\", \
             \"2\"] },\n  { read = \"c\", tokens = 7, unless = \"a/b\" },\n  { rate_limit = { resets_in_ms = 5 } },\n]\n",
        )
        .unwrap();
        let steps = &script.objectives["a"].steps;
        assert_eq!(steps[0].act, StepAction::Write { path: "a/b".to_owned(), content: "1\n2\n".to_owned() });
        assert_eq!((steps[1].tokens, steps[1].unless.as_deref()), (Some(7), Some("a/b")));
        assert_eq!(steps[2].act, StepAction::RateLimit { resets_in_ms: 5, times: 1 });
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

    #[test]
    fn what_the_host_asks_for_by_itself_is_found_by_pattern() {
        let script = parse(
            "window_tokens = 9\n[objectives]\n\"review-*\" = { steps = [{ say = \"any\" }] }\n\"review-20a-*\" = { steps = \
             [{ say = \"20a\" }] }\nreview-20a-2 = { steps = [{ say = \"own\" }] }\n\"*-x-*-y\" = { steps = [{ say = \"xy\" }] }",
        )
        .unwrap();
        let said = |id: &str| match script.objective(id).map(|script| &script.steps[0].act) {
            Some(StepAction::Say(said)) => said.as_str(),
            _ => "-",
        };
        let ids = ["review-7-1", "review-20a-1", "review-20a-2", "a-x-b-y", "a-x-y", "a-x-b-yz", "review"];
        assert_eq!(ids.map(said), ["any", "20a", "own", "xy", "-", "-", "-"]);
    }

    #[test]
    fn steps_for_splits_and_conflicts_are_understood() {
        let of = |step: &str| {
            let script = parse(&format!("window_tokens = 9\n[objectives.a]\nsteps = [\n{step}\n]\n"))?;
            Ok::<_, String>(
                script.objectives.into_values().flat_map(|script| script.steps).next().map(|step| step.act),
            )
        };
        let split = of(
            "{ split = { groups = [{ title = \"t\", objectives = [\"a\"] }], rationale = \"r\" }, phase = \"20\" }",
        );
        assert!(matches!(split, Ok(Some(StepAction::Split { groups, .. })) if groups[0].title == "t"));
        let review = of("{ review = { score = 60, summary = \"s\" } }");
        assert!(matches!(review, Ok(Some(StepAction::Review { scores, .. })) if scores == [60]));
        let edit = of("{ edit = \"f\", from = \"a\", to = \"b\", when = \"f\" }");
        assert!(
            matches!(edit, Ok(Some(StepAction::Edit { from, to, .. })) if (from.as_str(), to.as_str()) == ("a", "b"))
        );
        assert!(matches!(of("{ resolve = \"f\", keep = \"theirs\" }"), Ok(Some(StepAction::Resolve { .. }))));
        let wrong = |step: &str| of(step).unwrap_err();
        assert!(wrong("{ edit = \"f\", from = \"a\" }").contains("edit needs"));
        assert!(wrong("{ say = \"f\", to = \"a\" }").contains("belong to a step with edit"));
        assert!(wrong("{ say = \"f\", keep = \"ours\" }").contains("belongs to a step with resolve"));
        assert!(wrong("{ review = { score = [], summary = \"s\" } }").contains("needs a score"));
        assert!(wrong("{ gather = \"../x\" }").contains("not a path inside"));
    }

    #[test]
    fn endings_are_understood_and_their_mistakes_are_named() {
        // A11, C23
        let of = |steps: &str| parse(&format!("window_tokens = 9\n[objectives.a]\nsteps = [\n{steps}\n]\n"));
        let handoff = "{ handoff = { current_state = \"3 of 5\", immediate_next_action = \"case 4\" }";
        let script = of(&format!(
            "{{ fill_percent = 80 }},\n{{ status = \"in-progress\", note = \"3 of 5\" }},\n{handoff}, session = \
             \"first\" }},\n{{ read_handoff = true, session = \"successor\" }},\n{{ stop = \"Enough.\" }}"
        ));
        let script = script.unwrap();
        let steps = &script.objectives["a"].steps;
        assert_eq!(steps[0].act, StepAction::Fill { percent: 80 });
        let (status, note) = (ObjectiveStatus::InProgress, "3 of 5".to_owned());
        assert_eq!(steps[1].act, StepAction::Status { status, note });
        assert!(matches!(&steps[2].act, StepAction::Handoff(said) if said.immediate_next_action == "case 4"));
        let sessions = [steps[2].session, steps[3].session, steps[4].session];
        assert_eq!(sessions, [Some(SessionKind::First), Some(SessionKind::Successor), None]);
        assert!(steps[4].always_ends_the_prompt() && !steps[2].always_ends_the_prompt());
        let silent = parse("window_tokens = 9\n[objectives.a]\nreport_done = false\nsteps = []\n").unwrap();
        assert!(script.objectives["a"].report_done && !silent.objectives["a"].report_done);

        for (steps, mistakes) in [
            ("{ fill_percent = 101 }", ["line 4", "fill_percent is from 1 to 100, not 101"]),
            ("{ status = \"blocked\" }", ["line 4", "unknown variant `blocked`"]),
            ("{ say = \"x\", note = \"y\" }", ["line 4", "note belongs to a step with status"]),
            (
                "{ say = \"x\" },\n{ handoff = { current_state = \"y\" } }",
                ["line 5", "`immediate_next_action`"],
            ),
            ("{ say = \"x\", session = \"second\" }", ["line 4", "unknown variant `second`"]),
            ("{ stop = \"x\" },\n{ say = \"y\" }", ["line 5", "never played"]),
        ] {
            let said = of(steps).unwrap_err();
            assert!(mistakes.iter().all(|mistake| said.contains(mistake)), "{said}");
        }
        let wrong = parse("window_tokens = 9\n[objectives.a]\nreport = false\nsteps = []\n").unwrap_err();
        assert!(wrong.contains("line 3") && wrong.contains("unknown field `report`"), "{wrong}");
    }
}
