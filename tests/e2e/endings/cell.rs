//! The cells of the matrix: which agent, how it ends, and what it is held to.

/// What kind of agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FakeAgentKind {
    Claude,
    Codex,
    Acp,
    Process,
    Rehearsal,
}

/// How its first session ends its prompt for `cases`. Later sessions finish the work, unless the way says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentEnding {
    /// Does three of the five cases, reports so, writes a handoff and stops at 82 % of its window.
    HandsOff,
    /// Reports that it cannot be done. Every session does.
    ReportsFailed,
    /// Does two cases, reports `in-progress`, and stops, as often as it is asked.
    ReportsInProgress,
    /// Says that its context is used up, in words of its own. Where it is held to something it has done three cases.
    OutOfContext,
    /// Answers politely, changes nothing and reports nothing. Every session does.
    TouchesNothing,
    /// Asks for its phase to be split, before it does anything.
    AsksForSplit,
    /// Does the work and reports it.
    Done,
    /// Does the work and says so, without a report.
    DoneSilently,
    /// Does the work, and says only once it is asked that all of it is done.
    DoneInOtherWords,
}

/// What the objective is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvidenceRequirement {
    Nothing,
    /// A file that is there before, and has to change.
    Files,
    /// A command that fails until the work is there.
    Check,
}

/// One test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndingCase {
    pub(crate) kind: FakeAgentKind,
    pub(crate) ending: AgentEnding,
    pub(crate) held_to: EvidenceRequirement,
}

/// Rows of a table of names.
type NameTable<T, const N: usize> = [(T, &'static str); N];

const KINDS: NameTable<FakeAgentKind, 5> = [
    (FakeAgentKind::Claude, "claude"),
    (FakeAgentKind::Codex, "codex"),
    (FakeAgentKind::Acp, "acp"),
    (FakeAgentKind::Process, "process"),
    (FakeAgentKind::Rehearsal, "rehearsal"),
];

const ENDINGS: NameTable<AgentEnding, 9> = [
    (AgentEnding::HandsOff, "hands_off_at_80_percent"),
    (AgentEnding::ReportsFailed, "reports_failed"),
    (AgentEnding::ReportsInProgress, "reports_in_progress"),
    (AgentEnding::OutOfContext, "says_it_is_out_of_context"),
    (AgentEnding::TouchesNothing, "touches_nothing"),
    (AgentEnding::AsksForSplit, "asks_for_a_split"),
    (AgentEnding::Done, "is_really_done"),
    (AgentEnding::DoneSilently, "is_done_without_a_report"),
    (AgentEnding::DoneInOtherWords, "is_done_in_other_words"),
];

const HELD_TO: NameTable<EvidenceRequirement, 3> = [
    (EvidenceRequirement::Nothing, "nothing"),
    (EvidenceRequirement::Files, "files"),
    (EvidenceRequirement::Check, "check"),
];

fn name<T: PartialEq + Copy, const N: usize>(names: &NameTable<T, N>, wanted: T) -> &'static str {
    names.iter().find(|(known, _)| *known == wanted).map_or("", |(_, name)| *name)
}

impl FakeAgentKind {
    pub(crate) fn name(self) -> &'static str {
        name(&KINDS, self)
    }

    /// The kind of this name.
    pub(crate) fn of_name(wanted: &str) -> Option<Self> {
        KINDS.iter().find(|(_, name)| *name == wanted).map(|(kind, _)| *kind)
    }
}

impl AgentEnding {
    pub(crate) fn name(self) -> &'static str {
        name(&ENDINGS, self)
    }

    /// The ending of this name.
    pub(crate) fn of_name(wanted: &str) -> Option<Self> {
        ENDINGS.iter().find(|(_, name)| *name == wanted).map(|(ending, _)| *ending)
    }
}

impl EvidenceRequirement {
    pub(crate) fn name(self) -> &'static str {
        name(&HELD_TO, self)
    }

    /// What is held to by this name.
    pub(crate) fn of_name(wanted: &str) -> Option<Self> {
        HELD_TO.iter().find(|(_, name)| *name == wanted).map(|(held_to, _)| *held_to)
    }
}

impl EndingCase {
    /// Every cell, agent by agent.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().flat_map(|(kind, _)| {
            ENDINGS.iter().flat_map(|(ending, _)| {
                HELD_TO.iter().map(|(held_to, _)| Self { kind: *kind, ending: *ending, held_to: *held_to })
            })
        })
    }

    /// The name of the test.
    pub(crate) fn name(self) -> String {
        format!("{}::{}::held_to_{}", self.kind.name(), self.ending.name(), self.held_to.name())
    }
}
