//! What a handoff points at: the one next action, and the files that matter most with their lines (C15, C16).

use baton_sdk::handoff::Observation;
use baton_sdk::types::{ChangedFile, Objective, ObjectiveStatus};
use baton_sdk::words::{one_line, said};

use super::{LINE_BYTES, PATH_BYTES};

/// Files that are named if the agent named none.
const LARGEST: usize = 3;

/// The agent that reported, by its session.
pub(super) fn who(o: &Observation) -> String {
    match o.reported.as_ref().and_then(|reported| reported.session.as_ref()) {
        Some(session) => format!("agent {}", one_line(session, LINE_BYTES)),
        None => "agent".to_owned(),
    }
}

/// The one step that comes next: the agent's, if the session that ended reported one; else the host names the objective.
pub(super) struct Next<'o> {
    mark: String,
    text: String,
    goal: Option<&'o Objective>,
}

impl<'o> Next<'o> {
    pub(super) fn of(o: &Observation, open: &[&'o Objective]) -> Self {
        let focused = open.iter().find(|objective| o.focus.contains(&objective.id)).or(open.first());
        let objective = focused.copied();
        match reported(o) {
            Some(action) => Self { mark: who(o), text: said(action, LINE_BYTES), goal: objective },
            None => Self { mark: "journal".to_owned(), text: generic(o, objective), goal: None },
        }
    }

    /// With where it is from.
    pub(super) fn marked(&self) -> String {
        format!("{}: {}", self.mark, self.text)
    }

    /// The objective that the step leads to, if the step does not name it itself.
    pub(super) fn goal(&self) -> Option<&'o Objective> {
        self.goal
    }
}

/// What the session that ended would do next. The host forgets the handoff of a session once the next one is at work.
fn reported(o: &Observation) -> Option<&str> {
    let action = o.reported.as_ref().map(|reported| reported.immediate_next_action.trim());
    action.filter(|action| !action.is_empty())
}

fn generic(o: &Observation, objective: Option<&Objective>) -> String {
    let id = |objective: &Objective| one_line(&objective.id, LINE_BYTES);
    match objective {
        Some(objective) if objective.attempts > 0 || objective.status == ObjectiveStatus::InProgress => {
            format!("Finish {}, which was begun: {}", id(objective), said(&objective.description, LINE_BYTES))
        }
        Some(objective) => {
            format!("Start {}: {}", id(objective), said(&objective.description, LINE_BYTES))
        }
        None if o.verification.as_ref().is_some_and(|last| !last.passed) => {
            "Mend what the verification found: every objective is done.".to_owned()
        }
        None => "Run the verification of the phase: every objective is done.".to_owned(),
    }
}

/// A file that matters, and the line if the agent gave one.
pub(super) struct CriticalFile<'o> {
    given: &'o str,
    path: &'o str,
    line: Option<&'o str>,
    by_agent: bool,
}

/// Those that the agent called critical; else the largest files that it changed.
pub(super) fn critical_files(o: &Observation) -> Vec<CriticalFile<'_>> {
    let named = o.reported.as_ref().map_or(&[][..], |reported| &reported.critical_files);
    if !named.is_empty() {
        return named.iter().map(|given| CriticalFile::named(given)).collect();
    }
    let mut largest: Vec<&ChangedFile> = o.changed_files.iter().filter(|file| file.exists).collect();
    largest.sort_by_key(|file| (!file.by_session, std::cmp::Reverse(file.bytes)));
    largest
        .into_iter()
        .take(LARGEST)
        .map(|file| CriticalFile { given: &file.path, path: &file.path, line: None, by_agent: false })
        .collect()
}

impl<'o> CriticalFile<'o> {
    /// "src/printer.rs:40", "src/printer.rs:40-52" or without a line.
    fn named(given: &'o str) -> Self {
        let is_line = |line: &str| {
            line.starts_with(|c: char| c.is_ascii_digit())
                && line.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | ':'))
        };
        let found = given.match_indices(':').find(|(at, _)| is_line(&given[at + 1..]));
        let (path, line) = match found {
            Some((at, _)) => (&given[..at], Some(&given[at + 1..])),
            None => (given, None),
        };
        Self { given, path, line, by_agent: true }
    }

    /// As it was given, with where it is from.
    pub(super) fn marked(&self, agent: &str) -> String {
        match self.by_agent {
            true => format!("{agent}: {}", said(self.given, PATH_BYTES)),
            false => format!("disk: {}", one_line(self.path, PATH_BYTES)),
        }
    }

    /// The place at which the work stands, if the agent named one.
    pub(super) fn located(&self, agent: &str) -> Option<String> {
        let line = self.line.map(|line| format!(", Location: line {}", one_line(line, LINE_BYTES)));
        let path = said(self.path, PATH_BYTES);
        self.by_agent.then(|| format!("{agent}: File: {path}{}", line.unwrap_or_default()))
    }

    /// For the index: the file, and the line.
    pub(super) fn at_line(&self, agent: &str) -> String {
        match (self.by_agent, self.line) {
            (true, Some(line)) => {
                format!("{agent}: {} at line {}", said(self.path, PATH_BYTES), one_line(line, LINE_BYTES))
            }
            _ => self.marked(agent),
        }
    }
}
