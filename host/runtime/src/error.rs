//! Everything that can go wrong for the host itself. What goes wrong for an agent or a policy is an input of the run,
//! never an error here.

use std::path::PathBuf;

use baton_core::action::RunOutcome;
use baton_core::input::PauseAnswer;
use baton_core::{ActionId, Digest, RunId, Seq};

/// A failure of a layer below, with its own message and chain.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Why the host cannot fulfil a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// Another host works in this workspace.
    #[error(
        "another baton{} works in {}: watch it with `baton attach`, end it with `baton stop`, or wait until it is done",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(),
        workspace.display()
    )]
    Busy {
        /// The other host, if it has already written down its process id.
        pid: Option<u32>,
        /// The workspace.
        workspace: PathBuf,
    },
    /// A policy, or one of its settings, was refused. Nothing was spawned and nothing journaled.
    #[error("policy {policy} is refused: {why}")]
    PolicyRefused {
        /// Its reference in the workflow.
        policy: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A role asks for a sandbox that this machine does not have. Nothing was spawned and nothing journaled.
    #[error("[roles.{role}]: {missing}")]
    NoSandbox {
        /// The role.
        role: baton_core::RoleName,
        /// What is missing.
        missing: baton_sandbox::UnsupportedLevel,
    },
    /// The policy engine cannot be used at all.
    #[error("cannot evaluate policies here: {0}")]
    Engine(BoxedError),
    /// A component that a run is bound to is not in its journal.
    #[error(
        "run {run} is pinned to the component {digest} of policy {policy}, and the journal does not contain it: the \
         state directory was changed from outside; restore it, or start the workflow again with `baton run --restart`"
    )]
    ComponentMissing {
        /// Which run.
        run: RunId,
        /// Name of the policy.
        policy: String,
        /// What is missing.
        digest: Digest,
    },
    /// The run is unknown.
    #[error("there is no run {run} in {}: `baton status --all` lists the runs", workspace.display())]
    NoSuchRun {
        /// Which was asked for.
        run: RunId,
        /// The workspace.
        workspace: PathBuf,
    },
    /// The workspace has no runs.
    #[error("nothing has run in {} yet: `baton do 'WHAT IS TO BE DONE'`, or `baton run PLAN.md`, begins", workspace.display())]
    NoRuns {
        /// The workspace.
        workspace: PathBuf,
    },
    /// The run is over; there is nothing to resume.
    #[error("run {run} is over ({}); repeat the command that began it to start a new one", word(*.ending))]
    AlreadyEnded {
        /// The run that was asked for.
        run: RunId,
        /// How it ended.
        ending: RunOutcome,
    },
    /// No host ever ran it.
    #[error(
        "run {run} is an imported recording and cannot be resumed; `baton policy try POLICY --on {run}` tries \
         another policy on it"
    )]
    ImportedRun {
        /// The run that was asked for.
        run: RunId,
    },
    /// No host works on the run, so no process can take the request.
    #[error("no run is active in {}: nothing to {what}", workspace.display())]
    NoHost {
        /// The workspace.
        workspace: PathBuf,
        /// What was asked for.
        what: &'static str,
    },
    /// The run has no artifact of this name.
    #[error(
        "run {run} has no artifact {name:?}{}{}; `baton artifacts ls {run}` lists what it has",
        version.map(|version| format!(" in version {version}")).unwrap_or_default(),
        nearest.as_ref().map(|nearest| format!("; did you mean {nearest:?}?")).unwrap_or_default()
    )]
    NoSuchArtifact {
        /// Which run.
        run: RunId,
        /// The name that was asked for.
        name: String,
        /// The version that was asked for; absent for the newest.
        version: Option<u32>,
        /// The most similar name, if there is one.
        nearest: Option<String>,
    },
    /// The run does not ask this.
    #[error("{}", no_question(run, *asked, open))]
    NoSuchQuestion {
        /// Which run.
        run: RunId,
        /// The question that was answered, if one was named.
        asked: Option<ActionId>,
        /// The questions that are open.
        open: Vec<ActionId>,
    },
    /// The question cannot be answered so.
    #[error("question {question} cannot be answered with `{}`: it takes {}", choice.name(), names(.choices))]
    NoSuchChoice {
        /// The question.
        question: ActionId,
        /// The answer that was given.
        choice: PauseAnswer,
        /// The answers that it takes.
        choices: Vec<PauseAnswer>,
    },
    /// The merges of a run cannot be reverted.
    #[error("cannot undo run {run}: {source}")]
    UndoRefused {
        /// Which run.
        run: RunId,
        /// What the layer below said.
        source: BoxedError,
    },
    /// The workspace cannot be used.
    #[error("cannot use the workspace {}: {source}", workspace.display())]
    Workspace {
        /// Its folder.
        workspace: PathBuf,
        /// What the layer below said.
        source: BoxedError,
    },
    /// The state directory cannot be used.
    #[error("{what} in the state directory {}: {source}", dir.display())]
    State {
        /// What was tried.
        what: &'static str,
        /// The state directory.
        dir: PathBuf,
        /// What the layer below said.
        source: BoxedError,
    },
    /// The journal took no more entries during the run. The agents were ended.
    #[error(
        "the journal of run {run} cannot be written any more: {source}. {}",
        journal_stop_hint(run, *intact)
    )]
    JournalStopped {
        /// Which run.
        run: RunId,
        /// The last entry that is known to be on disk.
        intact: Seq,
        /// What the layer below said.
        source: BoxedError,
    },
    /// The journal holds an entry that cannot follow the ones before it.
    #[error(
        "entry {seq} of run {run} does not fit the ones before it ({why}): the journal was changed from outside, or comes from another version of baton"
    )]
    BrokenJournal {
        /// Which run.
        run: RunId,
        /// Which entry.
        seq: Seq,
        /// What core said.
        why: String,
    },
    /// The host did something that its own state machine refuses.
    #[error(
        "run {run} cannot continue: {why}. This is a bug in Baton; please report it. The agents were ended and the \
         journal is intact; `baton resume {run}` tries again"
    )]
    Impossible {
        /// Which run.
        run: RunId,
        /// What happened.
        why: String,
    },
    /// The control socket cannot be opened or reached.
    #[error("{what} the control socket {}: {source}", path.display())]
    Control {
        /// What was tried.
        what: &'static str,
        /// The path of the socket.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file of a session cannot be read.
    #[error(
        "cannot read the session file {}: {source}; the host writes it when it starts a session, so use the path \
         that the run gave its agent, or leave --session out to work with the live run of a workspace",
        path.display()
    )]
    Session {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The tools could not be served.
    #[error("{0}")]
    Mcp(BoxedError),
    /// The host answered a control message with a refusal.
    #[error("the host refused: {0}")]
    Refused(String),
    /// A dry run did not come to an end.
    #[error("the dry run was stopped after {inputs} inputs: a policy of this workflow never lets it end")]
    DryRunDidNotEnd {
        /// How many were tried.
        inputs: u32,
    },
}

fn word(ending: RunOutcome) -> &'static str {
    match ending {
        RunOutcome::Done => "all objectives are done",
        RunOutcome::Unfinished => "some objectives stay open",
        RunOutcome::Interrupted => "a person stopped it",
    }
}

fn names(choices: &[PauseAnswer]) -> String {
    let names: Vec<String> = choices.iter().map(|c| format!("`{}`", c.name())).collect();
    names.join(", ")
}

fn no_question(run: &RunId, asked: Option<ActionId>, open: &[ActionId]) -> String {
    let ids: Vec<String> = open.iter().map(ActionId::to_string).collect();
    let ids = ids.join(", ");
    match (asked, open) {
        (None, []) => format!("run {run} has no open question"),
        (Some(question), []) => format!("run {run} has no open question, and so no question {question}"),
        (None, _) => format!("run {run} has several open questions: name one with --question, of {ids}"),
        (Some(question), _) => format!("run {run} has no open question {question}; open are {ids}"),
    }
}

/// What is kept of a run whose journal stopped, and what to do.
fn journal_stop_hint(run: &RunId, intact: Seq) -> String {
    match intact {
        Seq(0) => "Nothing of the run is kept, and no agent was started. Make room, repair the disk or end what holds the lock, then start it again"
            .to_owned(),
        _ => format!(
            "It is intact up to entry {intact}; the agents were ended. Make room, repair the disk or end what holds the lock, then `baton resume {run}`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_where_and_what_to_do() {
        let busy = RuntimeError::Busy { pid: Some(42), workspace: "/w".into() }.to_string();
        assert!(busy.contains("process 42") && busy.contains("/w") && busy.contains("baton stop"), "{busy}");
        let choice = RuntimeError::NoSuchChoice {
            question: ActionId(7),
            choice: PauseAnswer::Raise,
            choices: vec![PauseAnswer::Retry, PauseAnswer::Skip],
        };
        assert_eq!(
            choice.to_string(),
            "question 7 cannot be answered with `raise`: it takes `retry`, `skip`"
        );
    }
}
