//! What the agent does with a prompt: it works in its folder, reports through the inbox that the prompt names, and logs
//! what it was asked.

use std::cell::Cell;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::WINDOW_TOKENS;
use crate::cell::{AgentEnding, EvidenceRequirement};
use crate::ending_run::{CASES, FILE, OPENING, SPLIT_REQUEST, words};

/// Files in the folder of the log: the process of each session, and every prompt.
const SESSIONS: &str = "sessions";
pub(crate) const PROMPTS: &str = "prompts.jsonl";

/// How full the window of an agent that hands off is.
const FULL_PERCENT: u64 = 82;

/// A prompt that an agent got.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PromptRecord {
    /// Which session, from 1.
    pub(crate) session: usize,
    /// The objectives that it asks for.
    pub(crate) focus: Vec<String>,
    pub(crate) text: String,
}

impl PromptRecord {
    pub(crate) fn new(session: usize, text: &str) -> Self {
        let below = text.lines().skip_while(|line| !line.starts_with("## Your objective")).skip(1);
        let items = below.take_while(|line| !line.starts_with('#'));
        let ids = items.filter_map(|line| line.strip_prefix("- [")?.split_once(']').map(|(id, _)| id));
        Self { session, focus: ids.map(str::to_owned).collect(), text: text.to_owned() }
    }
}

/// The last words of a prompt, and how full the window is after it.
pub(super) struct FakeAnswer {
    pub(super) words: String,
    pub(super) used_tokens: u64,
    /// A file that it wrote, which agents show as a call of a tool.
    pub(super) wrote: Option<&'static str>,
}

/// One session.
pub(super) struct FakeAgent {
    ending: AgentEnding,
    held_to: EvidenceRequirement,
    folder: PathBuf,
    /// From 1.
    session: usize,
    reports: Cell<u32>,
}

impl FakeAgent {
    /// Counts the sessions by their processes.
    pub(super) fn start(
        ending: AgentEnding,
        held_to: EvidenceRequirement,
        folder: PathBuf,
        process: u32,
    ) -> Self {
        let known = folder.join(SESSIONS);
        let is_it = |line: &str| line == process.to_string();
        let sessions = || fs::read_to_string(&known).unwrap_or_default();
        if !sessions().lines().any(is_it) {
            append(&known, &process.to_string());
        }
        let session = sessions().lines().position(is_it).map_or(0, |at| at + 1);
        Self { ending, held_to, folder, session, reports: Cell::new(0) }
    }

    pub(super) fn prompt(&self, text: &str) -> FakeAnswer {
        let asked = PromptRecord::new(self.session, text);
        append(&self.folder.join(PROMPTS), &serde_json::to_string(&asked).unwrap_or_default());
        let inbox = text.lines().find_map(|line| line.strip_prefix("Report to:"));
        let inbox = inbox.map(|path| PathBuf::from(path.trim().trim_matches('`')));
        let mut answer = FakeAnswer { words: String::new(), used_tokens: WINDOW_TOKENS / 10, wrote: None };
        let before = [OPENING, FILE].map(|file| fs::read(file).ok());
        for objective in &asked.focus {
            let said = match (self.ending, self.session) {
                (AgentEnding::AsksForSplit, 1) => {
                    self.report(inbox.as_deref(), SPLIT_REQUEST.clone());
                    words::SPLIT
                }
                _ if objective.starts_with("review-") => {
                    let summary = "It holds what was asked for.";
                    let review = json!({ "report": "review-submit", "score": 90, "summary": summary });
                    self.report(inbox.as_deref(), review);
                    words::DONE
                }
                _ if objective != "cases" => self.finish(inbox.as_deref(), objective, true),
                (AgentEnding::DoneInOtherWords, _) if text.contains(words::ASKED) => words::LINE,
                (AgentEnding::ReportsFailed | AgentEnding::TouchesNothing, _) | (_, 1) => {
                    self.end(inbox.as_deref(), &mut answer)
                }
                _ => self.finish(inbox.as_deref(), objective, true),
            };
            said.clone_into(&mut answer.words);
        }
        let mut files = [OPENING, FILE].into_iter().zip(before);
        let written = files.rfind(|(file, before)| fs::read(file).ok() != *before);
        answer.wrote = written.map(|(file, _)| file);
        answer
    }

    /// Ends the prompt for the cases as the test wants it.
    fn end(&self, inbox: Option<&Path>, answer: &mut FakeAnswer) -> &'static str {
        let update = |status: &str, note: &str| {
            let objective = "cases";
            json!({ "report": "objective-update", "objective": objective, "status": status, "note": note })
        };
        match self.ending {
            AgentEnding::HandsOff => {
                work(FILE, 3);
                self.report(inbox, update("in-progress", words::THREE_OF_FIVE));
                let handoff = json!({
                    "report": "handoff-write", "current_state": words::STATE,
                    "immediate_next_action": words::NEXT_ACTION, "critical_files": [FILE],
                });
                self.report(inbox, handoff);
                answer.used_tokens = WINDOW_TOKENS * FULL_PERCENT / 100;
                words::HANDED_OFF
            }
            AgentEnding::ReportsFailed => {
                self.report(inbox, update("failed", words::CANNOT));
                words::FAILED
            }
            AgentEnding::ReportsInProgress => {
                work(FILE, 2);
                self.report(inbox, update("in-progress", words::TWO_OF_FIVE));
                words::IN_PROGRESS
            }
            AgentEnding::OutOfContext => {
                if self.held_to != EvidenceRequirement::Nothing {
                    work(FILE, 3);
                }
                words::OUT_OF_CONTEXT
            }
            AgentEnding::TouchesNothing => words::POLITE,
            AgentEnding::DoneSilently => self.finish(inbox, "cases", false),
            AgentEnding::DoneInOtherWords => {
                self.finish(inbox, "cases", false);
                words::OTHER_WORDS
            }
            AgentEnding::Done | AgentEnding::AsksForSplit => self.finish(inbox, "cases", true),
        }
    }

    /// Does all of an objective.
    fn finish(&self, inbox: Option<&Path>, objective: &str, reports: bool) -> &'static str {
        match objective {
            "opening" => work(OPENING, 1),
            "cases" => work(FILE, CASES),
            _ => {}
        }
        if reports {
            let done = json!({ "report": "objective-update", "objective": objective, "status": "done" });
            self.report(inbox, done);
        }
        words::DONE
    }

    /// As the README of the inbox says how: whole, by its last name.
    fn report(&self, inbox: Option<&Path>, report: Value) {
        let Some(inbox) = inbox else { return };
        let number = self.reports.replace(self.reports.get() + 1);
        let name = format!("{}-{}-{number}", self.session, std::process::id());
        let half = inbox.join(format!(".{name}.half"));
        // A report that cannot be written is missed by the test.
        let _ = fs::write(&half, report.to_string())
            .and_then(|()| fs::rename(&half, inbox.join(format!("{name}.json"))));
    }
}

/// Brings a file to so many cases.
fn work(path: &str, cases: usize) {
    let found = fs::read_to_string(path).unwrap_or_default();
    for case in (1..=cases).map(|number| format!("case {number}")) {
        if !found.lines().any(|line| line == case) {
            append(Path::new(path), &case);
        }
    }
}

/// A line at the end of a file, in one piece.
fn append(path: &Path, line: &str) {
    let file = fs::File::options().append(true).create(true).open(path);
    // A line that cannot be written is missed by the test.
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}
