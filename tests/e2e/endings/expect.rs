//! What each cell has to show.

use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::{PhaseOrigin, PhaseSummary, RunStatus};
use serde_json::Value;

use crate::cell::{AgentEnding, EvidenceRequirement};
use crate::ending_run::{CASES, CHECK, EndingRun, FILE, words};

/// Exit codes of `baton run`.
const DONE: i32 = 0;
const PAUSED: i32 = 5;

pub(crate) fn everything(ending_run: &EndingRun) {
    expect_invariants(ending_run);
    match ending_run.cell.ending {
        AgentEnding::HandsOff => hands_off(ending_run),
        AgentEnding::ReportsFailed => reports_failed(ending_run),
        AgentEnding::ReportsInProgress => reports_in_progress(ending_run),
        AgentEnding::OutOfContext => out_of_context(ending_run),
        AgentEnding::TouchesNothing => touches_nothing(ending_run),
        AgentEnding::AsksForSplit => asks_for_split(ending_run),
        AgentEnding::Done | AgentEnding::DoneSilently => is_done(ending_run, 1),
        AgentEnding::DoneInOtherWords => is_done(ending_run, 2),
    }
}

/// What holds of every cell: what passes is there, a run that is done has everything, and nothing done is asked for.
fn expect_invariants(ending_run: &EndingRun) {
    let (story, told) = (&ending_run.story, told(ending_run));
    let file = ending_run.stage.read(FILE);
    let found = file.lines().filter(|line| line.starts_with("case ")).count();
    let claims = [
        ("cases passes", item(ending_run, "cases")["passes"] == true),
        ("the run is done", story.view.status == RunStatus::Ended(RunOutcome::Done)),
        ("the exit code is 0", ending_run.ended.code == Some(DONE)),
    ];
    for (claim, is_claimed) in claims {
        let is_true = found == CASES;
        assert_eq!(is_claimed, is_true, "{claim}, with {found} of {CASES} cases in {FILE}; {told}");
    }
    assert!(story.prompts.iter().all(|prompt| prompt.already_done.is_empty()), "{told}");
    // Who asks for a split is asked for it once more, in a part.
    let times = if ending_run.cell.ending == AgentEnding::AsksForSplit { 2 } else { 1 };
    assert_eq!(ending_run.prompts_for("opening").len(), times, "{told}");
    assert_eq!(item(ending_run, "opening")["passes"], true, "{told}");
    ending_run.stage.expect_no_process();
}

/// C12, C17, C20, C23: it is not done, its successor gets the handoff, and finishes.
fn hands_off(ending_run: &EndingRun) {
    let told = told(ending_run);
    ending_run.ended_with(DONE);
    let phase = phase(ending_run);
    let [first, _second] = phase.sessions.as_slice() else { panic!("two sessions; {told}") };
    assert!(["handed-off", "near-capacity"].contains(&first.ending.as_str()), "{:?}; {told}", first.ending);
    let fill = first.used_tokens.zip(first.window_tokens).map(|(used, window)| used * 100 / window);
    assert!(fill.is_some_and(|percent| (80..=85).contains(&percent)), "{fill:?} percent; {told}");

    let [_, second] = ending_run.prompts_for("cases")[..] else { panic!("two prompts; {told}") };
    assert_eq!(second.session, 2, "{told}");
    let handoff = phase.handoffs.iter().find(|handoff| handoff.session == first.id);
    let handoff = handoff.unwrap_or_else(|| panic!("a handoff; {told}"));
    let document = ending_run.stage.read(&handoff.path);
    // It has moved to the archive since.
    let name = handoff.path.rsplit('/').next().unwrap_or_default();
    assert!(second.text.contains(name), "no {name} in {}", second.text);
    for said in [words::STATE, words::NEXT_ACTION] {
        assert!(document.contains(said), "no {said:?} in {document}");
    }
    expect_partial_return(ending_run);
    expect_done_by(ending_run, "cases", by_report(ending_run));
}

/// A11: a report of failure is never overruled. One more session tries, and then a person is asked, in the agent's words.
fn reports_failed(ending_run: &EndingRun) {
    let told = told(ending_run);
    ending_run.ended_with(PAUSED);
    assert_eq!(phase(ending_run).sessions.len(), 2, "{told}");
    let sessions: Vec<_> = ending_run.prompts_for("cases").iter().map(|prompt| prompt.session).collect();
    assert_eq!(sessions, [1, 2], "{told}");
    assert!(question(ending_run).contains(words::CANNOT), "{:?}", question(ending_run));
    assert!(ending_run.ended.stderr.contains(words::CANNOT), "{told}");
    expect_not_done(ending_run);
}

/// A11: it is asked for the rest once more, by name, and never taken for done before it is.
fn reports_in_progress(ending_run: &EndingRun) {
    let told = told(ending_run);
    let of_first: Vec<_> =
        ending_run.prompts_for("cases").into_iter().filter(|prompt| prompt.session == 1).collect();
    assert_eq!(of_first.len(), 2, "{told}");
    assert!(of_first[1].text.contains("[cases]"), "{}", of_first[1].text);
    match ending_run.ended.code {
        Some(DONE) => {
            assert!(phase(ending_run).sessions.len() > 1, "{told}");
            expect_done_by(ending_run, "cases", by_report(ending_run));
        }
        _ => {
            ending_run.ended_with(PAUSED);
            expect_not_done(ending_run);
        }
    }
}

/// A6, A12: its words are believed where work is left, and another session finishes.
fn out_of_context(ending_run: &EndingRun) {
    let told = told(ending_run);
    ending_run.ended_with(DONE);
    let [first, _second] = phase(ending_run).sessions.as_slice() else { panic!("two sessions; {told}") };
    assert_eq!(first.ending, "exhausted", "{told}");
    let sessions: Vec<_> = ending_run.prompts_for("cases").iter().map(|prompt| prompt.session).collect();
    assert_eq!(sessions, [1, 2], "{told}");
    expect_partial_return(ending_run);
    expect_done_by(ending_run, "cases", by_report(ending_run));
}

/// A4, A11, A13: it is asked once more, told what is missing, and then a person is.
fn touches_nothing(ending_run: &EndingRun) {
    let told = told(ending_run);
    ending_run.ended_with(PAUSED);
    let prompts = ending_run.prompts_for("cases");
    let of_first = prompts.iter().filter(|prompt| prompt.session == 1).count();
    match ending_run.cell.held_to {
        // A check may be tried more than once.
        EvidenceRequirement::Check => assert!(of_first >= 2, "{told}"),
        // A file that did not change is given to another session once.
        EvidenceRequirement::Files => assert_eq!((of_first, prompts.len()), (2, 4), "{told}"),
        EvidenceRequirement::Nothing => assert_eq!((of_first, prompts.len()), (2, 2), "{told}"),
    }
    let again = &prompts[1].text;
    assert!(again.contains("[cases]"), "{again}");
    let missing = match ending_run.cell.held_to {
        EvidenceRequirement::Nothing => "cases",
        EvidenceRequirement::Files => FILE,
        EvidenceRequirement::Check => CHECK,
    };
    assert!(again.contains(missing), "no {missing:?} in {again}");
    assert!(question(ending_run).contains(missing), "no {missing:?} in {:?}", question(ending_run));
    expect_not_done(ending_run);
}

/// C26, D2: it is split as it was asked for, and each part is really done.
fn asks_for_split(ending_run: &EndingRun) {
    let told = told(ending_run);
    ending_run.ended_with(DONE);
    let parts = ending_run.story.view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Split);
    let held: Vec<Vec<&str>> =
        parts.map(|part| part.objectives.iter().map(|objective| objective.id.as_str()).collect()).collect();
    assert_eq!(held, [["opening"], ["cases"]], "{told}");
    assert_eq!(ending_run.prompts_for("cases").len(), 1, "{told}");
    let asked = returned(ending_run, "s1");
    assert_eq!(
        (&asked["status"], &asked["errors"]),
        (&"completed".into(), &Value::Array(Vec::new())),
        "{asked:#}"
    );
    expect_done_by(ending_run, "cases", by_report(ending_run));
}

/// A11: it gets no more prompts than it takes to say that it is done, and what it is done by is said.
fn is_done(ending_run: &EndingRun, prompts: usize) {
    let told = told(ending_run);
    ending_run.ended_with(DONE);
    assert_eq!(phase(ending_run).sessions.len(), 1, "{told}");
    assert_eq!(ending_run.prompts_for("cases").len(), prompts, "{told}");
    assert_eq!(ending_run.prompts.len(), prompts + 1, "{told}");
    let is_reported =
        ending_run.cell.ending == AgentEnding::Done || ending_run.cell.held_to == EvidenceRequirement::Check;
    let by = if is_reported { by_report(ending_run) } else { "files" };
    expect_done_by(ending_run, "cases", by);
    expect_done_by(ending_run, "opening", "reported");
}

/// The first session returned that it handed on, and to what (C17, C26).
fn expect_partial_return(ending_run: &EndingRun) {
    let first = returned(ending_run, "s1");
    let error = &first["errors"][0];
    let found = [&first["status"], &first["partial_progress"]["stage"], &error["type"]];
    assert_eq!(found, ["partial", "context_exhaustion_handoff", "context_exhaustion"], "{first:#}");
    assert_eq!(error["recoverable"], true, "{first:#}");
    let path = first["partial_progress"]["handoff_path"].as_str();
    assert!(path.is_some_and(|path| ending_run.stage.workspace.join(path).exists()), "{first:#}");
}

/// What a session returned.
fn returned(ending_run: &EndingRun, session: &str) -> Value {
    let run = &ending_run.story.view.run;
    serde_json::from_str(&ending_run.stage.read(&format!(".baton/{run}/returns/{session}.json"))).unwrap()
}

/// By what an objective is done that its agent has reported done: a check that passed counts for more.
fn by_report(ending_run: &EndingRun) -> &'static str {
    if ending_run.cell.held_to == EvidenceRequirement::Check { "checked" } else { "reported" }
}

/// The same is said in the workspace and by the host (A11).
fn expect_done_by(ending_run: &EndingRun, objective: &str, by: &str) {
    assert_eq!(item(ending_run, objective)["done_by"], by, "in work-items.json; {}", told(ending_run));
    assert_eq!(row(ending_run, objective)["done_by"], by, "in the status; {}", told(ending_run));
}

/// It does not pass, and is done by nothing.
fn expect_not_done(ending_run: &EndingRun) {
    assert_eq!(item(ending_run, "cases")["passes"], false, "{}", told(ending_run));
    assert!(
        item(ending_run, "cases").get("done_by").is_none_or(Value::is_null),
        "{}",
        item(ending_run, "cases")
    );
    assert_ne!(row(ending_run, "cases")["status"], "done", "{}", told(ending_run));
}

/// The phase of the workflow.
fn phase(ending_run: &EndingRun) -> &PhaseSummary {
    &ending_run.story.view.phases[0]
}

/// The question that the run waits with.
fn question(ending_run: &EndingRun) -> &str {
    match ending_run.story.view.questions.as_slice() {
        [question] => &question.text,
        questions => panic!("{questions:?} is not one question; {}", told(ending_run)),
    }
}

/// An item of `work-items.json`.
fn item<'s>(ending_run: &'s EndingRun, id: &str) -> &'s Value {
    let items = ending_run.items["items"].as_array().into_iter().flatten();
    items.into_iter().find(|item| item["id"] == id).unwrap_or(&Value::Null)
}

/// An objective in the status. Where its phase was split the part has the last word.
fn row<'s>(ending_run: &'s EndingRun, id: &str) -> &'s Value {
    fn rows<'v>(value: &'v Value, id: &str, found: &mut Vec<&'v Value>) {
        match value {
            Value::Object(fields) => {
                if value["id"] == id && fields.contains_key("status") {
                    found.push(value);
                }
                fields.values().for_each(|value| rows(value, id, found));
            }
            Value::Array(values) => values.iter().for_each(|value| rows(value, id, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    rows(&ending_run.status, id, &mut found);
    found.pop().unwrap_or(&Value::Null)
}

/// Everything that a person needs who looks for the reason of a failure.
fn told(ending_run: &EndingRun) -> String {
    let prompts =
        ending_run.prompts.iter().map(|prompt| format!("session {}: {:?}\n", prompt.session, prompt.focus));
    let prompts: String = prompts.collect();
    format!("ended with {:?}\n{prompts}--- stderr\n{}", ending_run.ended.code, ending_run.ended.stderr)
}

impl EndingRun {
    fn ended_with(&self, code: i32) {
        assert_eq!(self.ended.code, Some(code), "{}", told(self));
    }
}
