//! Replay of core: the recorded inputs are applied again, and core's intents must equal the recorded ones, row by row. Stops at
//! the first difference, since everything after it follows from another state.

use std::collections::VecDeque;

use baton_core::run::IllegalInput;
use baton_core::{Action, Intent, Run, Seq};
use baton_store::JournalEntry;

/// A run that folded to exactly the recorded state.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreReplayResult {
    /// Inputs applied.
    pub inputs: u64,
    /// Intents compared.
    pub intents: u64,
    /// The state at the end of the journal.
    pub run: Run,
}

/// The first difference between a journal and its replay.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CoreDivergence {
    /// Core refuses an input that it accepted when the run was recorded.
    #[error("core refuses what it took when it was recorded: {why}")]
    Refused {
        /// The input.
        seq: Seq,
        /// Core's reason.
        why: String,
    },
    /// Core wants something else, or nothing any more.
    #[error(
        "entry {seq}: recorded was {}, replayed is {}", name(Some(recorded)), name(replayed.as_deref())
    )]
    Other {
        /// The recorded intent.
        seq: Seq,
        /// The recorded intent itself.
        recorded: Box<Intent>,
        /// What is wanted now, if anything.
        replayed: Option<Box<Intent>>,
    },
    /// Core wants something that was not wanted then.
    #[error("after entry {seq}: nothing was recorded, replayed is {}", name(Some(replayed)))]
    More {
        /// The input from which it follows.
        seq: Seq,
        /// What is wanted now.
        replayed: Box<Intent>,
    },
}

impl CoreDivergence {
    /// Where in the journal it is.
    pub fn seq(&self) -> Seq {
        match self {
            CoreDivergence::Refused { seq, .. }
            | CoreDivergence::Other { seq, .. }
            | CoreDivergence::More { seq, .. } => *seq,
        }
    }
}

fn name(intent: Option<&Intent>) -> String {
    match intent {
        Some(intent) => format!("{} (intent {})", intent.action.name(), intent.id),
        None => "nothing".to_owned(),
    }
}

/// Takes the entries of one run in order and compares as it goes; keeps nothing but the state.
#[derive(Debug)]
pub struct CoreReplay {
    run: Run,
    last_input: Seq,
    /// What core wanted after the last input and the journal has not confirmed yet.
    expected: VecDeque<Intent>,
    inputs: u64,
    intents: u64,
    diverged: Option<CoreDivergence>,
}

impl Default for CoreReplay {
    fn default() -> Self {
        Self::new()
    }
}

impl CoreReplay {
    /// Before the first entry.
    pub fn new() -> Self {
        Self {
            run: Run::new(),
            last_input: Seq(0),
            expected: VecDeque::new(),
            inputs: 0,
            intents: 0,
            diverged: None,
        }
    }

    /// Takes the next entry. After the first difference it looks at no more.
    pub fn take(&mut self, entry: JournalEntry) {
        if self.diverged.is_none() {
            self.diverged = self.compare(entry).err();
        }
    }

    /// What came of it, at the end of the journal.
    pub fn finish(mut self) -> Result<CoreReplayResult, CoreDivergence> {
        if self.diverged.is_none() {
            self.diverged = self.check_confirmed().err();
        }
        match self.diverged {
            Some(divergence) => Err(divergence),
            None => Ok(CoreReplayResult { inputs: self.inputs, intents: self.intents, run: self.run }),
        }
    }

    fn compare(&mut self, entry: JournalEntry) -> Result<(), CoreDivergence> {
        match entry {
            JournalEntry::Input(stamped) => {
                self.check_confirmed()?;
                let refused =
                    |e: IllegalInput| CoreDivergence::Refused { seq: stamped.seq, why: e.to_string() };
                let intents = self.run.apply(&stamped).map_err(refused)?;
                // Notices to the user are not journaled.
                self.expected.extend(intents.into_iter().filter(|i| !matches!(i.action, Action::Notify(_))));
                self.last_input = stamped.seq;
                self.inputs += 1;
            }
            JournalEntry::Intent { seq, intent, .. } => {
                let replayed = self.expected.pop_front();
                if replayed.as_ref() != Some(&intent) {
                    let replayed = replayed.map(Box::new);
                    return Err(CoreDivergence::Other { seq, recorded: Box::new(intent), replayed });
                }
                self.intents += 1;
            }
        }
        Ok(())
    }

    /// An input and its intents are one transaction: before the next input, and at the end, all of them must be recorded.
    fn check_confirmed(&mut self) -> Result<(), CoreDivergence> {
        match self.expected.pop_front() {
            None => Ok(()),
            Some(replayed) => {
                Err(CoreDivergence::More { seq: self.last_input, replayed: Box::new(replayed) })
            }
        }
    }
}
