//! The endings as scripts of the rehearsal agent.

use crate::cell::{AgentEnding, EvidenceRequirement};
use crate::ending_run::{FILE, OPENING, SPLIT_REQUEST, words};

/// All five cases.
const ALL: [&str; 5] = ["case 1", "case 2", "case 3", "case 4", "case 5"];

/// The file by which the agent knows that it is asked again.
const ASKED: &str = "asked.txt";

/// The script of the agent that ends so.
pub(crate) fn of(ending: AgentEnding, held_to: EvidenceRequirement) -> String {
    let split =
        format!("{{ split = {{ groups = {}, rationale = \"two things\" }}, phase = \"only\" }},", groups());
    let split = if ending == AgentEnding::AsksForSplit { split } else { String::new() };
    let opening =
        format!("[objectives.opening]\nsteps = [{split} {}, {}]\n", write(OPENING, 1), say(words::DONE));
    let is_silent = [AgentEnding::DoneSilently, AgentEnding::DoneInOtherWords].contains(&ending);
    let silent = if is_silent { "report_done = false\n" } else { "" };
    let cases = format!("[objectives.cases]\n{silent}steps = [{}]\n", cases(ending, held_to).join(", "));
    let review =
        "[objectives.\"review-*\"]\nsteps = [{ review = { score = 90, summary = \"as asked for\" } }]\n";
    format!("window_tokens = 100000\n{opening}{cases}{review}")
}

/// The steps for the cases.
fn cases(ending: AgentEnding, held_to: EvidenceRequirement) -> Vec<String> {
    let mut steps = match ending {
        AgentEnding::HandsOff => vec![
            first(&write(FILE, 3)),
            first("{ fill_percent = 82 }"),
            first(&status("in-progress", words::THREE_OF_FIVE)),
            first(&handoff()),
            "{ read_handoff = true }".to_owned(),
        ],
        // Every session ends so.
        AgentEnding::ReportsFailed => return vec![status("failed", words::CANNOT), stop(words::FAILED)],
        AgentEnding::TouchesNothing => return vec![stop(words::POLITE)],
        AgentEnding::ReportsInProgress => vec![
            first(&write(FILE, 2)),
            first(&status("in-progress", words::TWO_OF_FIVE)),
            first(&stop(words::IN_PROGRESS)),
        ],
        AgentEnding::OutOfContext if held_to == EvidenceRequirement::Nothing => {
            vec![first(&stop(words::OUT_OF_CONTEXT))]
        }
        AgentEnding::OutOfContext => vec![first(&write(FILE, 3)), first(&stop(words::OUT_OF_CONTEXT))],
        AgentEnding::DoneInOtherWords => {
            let line = format!("{{ stop = \"{}\", when = \"{ASKED}\" }}", words::LINE);
            return vec![line, write(ASKED, 1), write(FILE, ALL.len()), say(words::OTHER_WORDS)];
        }
        AgentEnding::AsksForSplit | AgentEnding::Done | AgentEnding::DoneSilently => Vec::new(),
    };
    steps.extend([write(FILE, ALL.len()), say(words::DONE)]);
    steps
}

/// The same step, for the first session only.
fn first(step: &str) -> String {
    step.strip_suffix('}').unwrap_or(step).to_owned() + ", session = \"first\" }"
}

fn status(status: &str, note: &str) -> String {
    format!("{{ status = \"{status}\", note = \"{note}\" }}")
}

fn stop(words: &str) -> String {
    format!("{{ stop = \"{words}\" }}")
}

fn handoff() -> String {
    let (state, next) = (words::STATE, words::NEXT_ACTION);
    format!(
        "{{ handoff = {{ current_state = \"{state}\", immediate_next_action = \"{next}\", critical_files = [\"{FILE}\"] }} }}"
    )
}

/// A step that brings a file to so many cases.
fn write(path: &str, cases: usize) -> String {
    format!("{{ append = \"{path}\", lines = {:?} }}", &ALL[..cases])
}

fn say(words: &str) -> String {
    format!("{{ say = \"{words}\" }}")
}

/// The groups of the split request, as TOML.
fn groups() -> String {
    let groups = SPLIT_REQUEST["groups"].as_array().into_iter().flatten();
    let groups: Vec<String> = groups
        .map(|group| format!("{{ title = {}, objectives = {} }}", group["title"], group["objectives"]))
        .collect();
    format!("[{}]", groups.join(", "))
}
