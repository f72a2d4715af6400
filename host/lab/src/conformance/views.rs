//! The records that several observations share, as core fills them: sessions, phases, objectives, signals, git. Bounds
//! are those of the workflow file, of core and of the reports of agents. Whole questions are made in `generate.rs`.

use baton_core::facts::{COMMITS_NAMED, Capabilities, OccupancySource, ProcessExit, SignalSource};
use baton_core::observation::{
    Attributes, BudgetView, EvidenceKind, ExpectedFileView, FileState, GitView, IterationView,
    ObjectiveStatus, ObjectiveView, OccupancyView, OriginView, PhaseView, ProgressView, SessionState,
    SessionView, SignalView, StatusReportView, TextSpan, TurnView,
};
use baton_core::{ObjectiveId, PhaseId, Seq, UnixMs};

use super::question_rng::QuestionRng;

/// Declares all variants of an enum. One that is missing does not compile, so that no question leaves it out.
macro_rules! every {
    ($($(#[$doc:meta])* $name:ident: $type:ident = $($variant:ident),+;)*) => {$(
        $(#[$doc])*
        pub(super) const $name: &[$type] = {
            const fn is_listed(value: $type) {
                match value { $($type::$variant => ()),+ }
            }
            let all = &[$($type::$variant),+];
            is_listed(all[0]);
            all
        };
    )*};
}
pub(super) use every;

every! {
    CHANNELS: SignalSource = AgentEvent, ProviderError, AgentText, Terminal, ToolOutput;
    SOURCES: OccupancySource = Unknown, Agent, LastCall, Estimate;
    STATES: SessionState = Starting, Idle, Working, WaitingApproval, WaitingQuota, Compacting, Ended;
    STATUSES: ObjectiveStatus = Open, InProgress, Done, Failed;
}

/// Of a workflow file: objectives of a phase, characters of a text, turns, tokens of a window, levels, tries.
pub(super) const OBJECTIVES: usize = 200;
const TEXT_BYTES: usize = 8000;
/// Of an objective, as the contract bounds them.
const EXPECTED_FILES: usize = 32;
const NOTE_BYTES: usize = 300;
const PATH_BYTES: usize = 300;
pub(super) const TURNS: u32 = 10_000;
const WINDOW_TOKENS: u64 = 10_000_000;
pub(super) const DEPTH: u32 = 4;
const TRIES: u32 = 20;
/// Of core: turns and signals of a session, bytes of the signals together and of the tail of an answer.
const RECENT: usize = 32;
const SIGNALS_BYTES: usize = 8 << 10;
const ANSWER_TAIL_BYTES: usize = 4 << 10;

/// The most signals of an observation.
pub(super) const SIGNALS: usize = 32;

const AGENTS: [&str; 8] = ["claude", "codex", "gemini", "opencode", "acp", "process", "rehearsal", ""];
const FILE_STATES: [FileState; 4] =
    [FileState::Missing, FileState::Unchanged, FileState::Rewritten, FileState::Changed];
/// Of the files that an objective names, in characters of several widths.
const FOLDERS: [&str; 5] = ["parser", "données", "部品", "src", "tests"];
const ROLES: [&str; 4] = ["executor", "reviewer", "planner", "merger"];
const MODES: [&str; 5] = ["eco", "turbo", "standard", "thorough", "swarm"];
const CODES: [&str; 12] = [
    "",
    "end_turn",
    "prompt_too_long",
    "context_length_exceeded",
    "rate_limit",
    "overloaded_error",
    "usage_limit_reached",
    "max_turns",
    "max_tokens",
    "cancelled",
    "api_error",
    "weiß nicht",
];
const HTTP: [u16; 9] = [0, 200, 400, 402, 413, 429, 500, 529, u16::MAX];
const EXITS: [i32; 8] = [0, 1, 53, 129, 130, 143, i32::MAX, i32::MIN];
const FATAL_SIGNALS: [i32; 6] = [1, 2, 6, 9, 11, 15];

pub(super) fn session(rng: &mut QuestionRng, state: SessionState) -> SessionView {
    let prompts = rng.number32(u32::MAX);
    let recent = turns(rng, prompts);
    let last = recent.last().map_or(0, |turn| turn.ordinal);
    let compactions = rng.number32(TRIES);
    SessionView {
        agent: rng.pick(&AGENTS).to_owned(),
        role: rng.pick(&ROLES).to_owned(),
        state,
        capabilities: Capabilities {
            reports_occupancy: rng.coin(),
            compacts: rng.coin(),
            takes_mcp: rng.coin(),
            caps_turns: rng.coin(),
            interrupts: rng.coin(),
            reports_cost: rng.coin(),
        },
        occupancy: OccupancyView {
            used_tokens: rng.maybe(tokens),
            window_tokens: rng.maybe(window),
            source: rng.pick(SOURCES),
            age_ms: rng.number(u64::MAX),
        },
        continuation: rng.number32(TRIES),
        prompts,
        turns: last,
        max_turns: counted(rng, TURNS),
        compactions,
        turns_since_compaction: (compactions > 0).then(|| rng.number32(last)),
        billed_input_tokens: rng.number(u64::MAX),
        billed_output_tokens: rng.number(u64::MAX),
        idle_ms: rng.number(u64::MAX),
        active_ms: rng.number(u64::MAX),
        exit: (state == SessionState::Ended).then(|| exit(rng)),
        recent,
    }
}

/// What agents say of their windows is not to be relied on, so it may be any number.
fn tokens(rng: &mut QuestionRng) -> u64 {
    if rng.one_in(4) { rng.number(u64::MAX) } else { rng.number(2 * 200_000) }
}

pub(super) fn window(rng: &mut QuestionRng) -> u64 {
    if rng.coin() { 200_000 } else { rng.number(WINDOW_TOKENS) }
}

fn exit(rng: &mut QuestionRng) -> ProcessExit {
    match rng.below(3) {
        0 => ProcessExit { code: None, signal: Some(rng.pick(&FATAL_SIGNALS)), by_host: rng.coin() },
        1 => ProcessExit { code: Some(rng.pick(&EXITS)), signal: None, by_host: rng.coin() },
        _ => ProcessExit { code: None, signal: None, by_host: false },
    }
}

/// The newest turns: their ordinals increase by one, their prompts by one or not at all, up to that of the session.
pub(super) fn turns(rng: &mut QuestionRng, prompts: u32) -> Vec<TurnView> {
    let count = u32::try_from(rng.count(RECENT)).unwrap_or(0);
    let before = rng.number32(TURNS);
    let mut prompt = prompts.saturating_sub(count).max(1);
    let mut turn = |ordinal| {
        prompt = prompt.saturating_add(u32::from(rng.one_in(3))).min(prompts.max(1));
        TurnView {
            ordinal,
            prompt,
            used_tokens: rng.maybe(tokens),
            output_tokens: rng.number(u64::MAX),
            tool_calls: rng.number32(u32::MAX),
            rereads: rng.number32(TURNS),
            tool_output_bytes: rng.number(u64::MAX),
            text_bytes: rng.number(u64::MAX),
        }
    };
    (1..=count).map(|n| turn(before + n)).collect()
}

pub(super) fn phase(rng: &mut QuestionRng, progress: ProgressView, depth: u32) -> PhaseView {
    PhaseView {
        id: PhaseId::new(["20", "20a", "20a-a", "20a-a-b", "20a-a-b-c"][depth.min(DEPTH) as usize]),
        title: rng.line(TEXT_BYTES),
        mode: rng.pick(&MODES).to_owned(),
        depth,
        budget: BudgetView {
            turns: counted(rng, TURNS),
            turns_used: rng.number32(u32::MAX),
            continuations: rng.number32(TRIES),
            continuations_used: rng.number32(TRIES),
            retries: rng.number32(TRIES),
            retries_used: rng.number32(TRIES),
        },
        progress,
        expects_files: rng.coin(),
        accept: rng
            .maybe(|rng| rng.pick(&[EvidenceKind::Checked, EvidenceKind::Reported, EvidenceKind::Answer])),
        check: rng.maybe(|_| "cargo test".to_owned()),
        check_passed: rng.maybe(QuestionRng::coin),
        depends_on: rng.number32(TRIES),
        origin: origin(rng),
        complex: rng.coin(),
        iteration: rng.maybe(iteration),
        tree: rng.maybe(|rng| rng.pick(&["20a", "20.merge", "20a.merge-2"]).to_owned()),
    }
}

fn origin(rng: &mut QuestionRng) -> OriginView {
    match rng.below(5) {
        0 => OriginView::Workflow,
        1 => OriginView::Split,
        2 => OriginView::Review,
        3 => OriginView::Merge,
        _ => OriginView::Other(rng.line(40)),
    }
}

fn iteration(rng: &mut QuestionRng) -> IterationView {
    let at_most = 1 + rng.number32(TRIES);
    IterationView { ordinal: 1 + rng.number32(at_most - 1), at_most }
}

/// Of a phase whose objectives are not listed.
pub(super) fn progress(rng: &mut QuestionRng) -> ProgressView {
    let most = (OBJECTIVES / 3) as u32;
    let (done, open, failed) = (rng.number32(most), rng.number32(most), rng.number32(most));
    ProgressView { done, open, failed, done_by_session: rng.number32(done) }
}

pub(super) fn progress_of(rng: &mut QuestionRng, objectives: &[ObjectiveView]) -> ProgressView {
    let count = |wanted: &[ObjectiveStatus]| {
        objectives.iter().filter(|objective| wanted.contains(&objective.status)).count() as u32
    };
    let done = count(&[ObjectiveStatus::Done]);
    ProgressView {
        done,
        open: count(&[ObjectiveStatus::Open, ObjectiveStatus::InProgress]),
        failed: count(&[ObjectiveStatus::Failed]),
        done_by_session: rng.number32(done),
    }
}

/// At least one: a phase without any is refused before a run.
pub(super) fn objectives(rng: &mut QuestionRng) -> Vec<ObjectiveView> {
    let count = rng.count(OBJECTIVES).max(1);
    // Some phases are all open, some all done.
    let statuses = if rng.one_in(4) { &[rng.pick(STATUSES)] } else { STATUSES };
    (0..count).map(|place| objective(rng, place, statuses)).collect()
}

fn objective(rng: &mut QuestionRng, place: usize, statuses: &[ObjectiveStatus]) -> ObjectiveView {
    ObjectiveView {
        id: id(rng, place),
        description: rng.text(TEXT_BYTES),
        status: rng.pick(statuses),
        attempts: rng.number32(u32::MAX),
        files: rng.number32(100),
        expected_files: Vec::new(),
        check: rng.maybe(|_| "sh check.sh".to_owned()),
        check_passed: rng.maybe(QuestionRng::coin),
        reported: rng.maybe(|rng| {
            let status = rng.pick(statuses);
            StatusReportView {
                status,
                note: rng.line(NOTE_BYTES),
                by_session: rng.coin(),
                changed_since: rng.maybe(|rng| rng.number32(9)).filter(|_| status != ObjectiveStatus::Done),
            }
        }),
        done_by: rng.maybe(|rng| {
            rng.pick(&[
                EvidenceKind::Checked,
                EvidenceKind::Reported,
                EvidenceKind::Files,
                EvidenceKind::Answer,
            ])
        }),
    }
}

/// What became of the files of the objectives that a prompt is about.
pub(super) fn set_file_states(
    rng: &mut QuestionRng,
    objectives: &mut [ObjectiveView],
    focus: &[ObjectiveId],
) {
    for objective in objectives.iter_mut().filter(|objective| focus.contains(&objective.id)) {
        objective.expected_files = rng.list(EXPECTED_FILES, expected_file);
    }
}

fn expected_file(rng: &mut QuestionRng) -> ExpectedFileView {
    let state = rng.pick(&FILE_STATES);
    ExpectedFileView { path: rng.line(PATH_BYTES), state }
}

/// The files of every objective of a scope, as a question about splitting has them. Most objectives keep to one folder of a few.
pub(super) fn name_files(rng: &mut QuestionRng, objectives: &mut [ObjectiveView]) {
    let root = rng.pick(&["", "src/", "crates/core/"]);
    let folders = 1 + rng.below(FOLDERS.len());
    for objective in objectives {
        let (own, strays) = (rng.below(folders), rng.one_in(8));
        let files = rng.list(EXPECTED_FILES, |rng| {
            let folder = if strays { rng.below(folders) } else { own };
            let path = match rng.below(16) {
                0 => rng.line(PATH_BYTES),
                1 => "README.md".to_owned(),
                _ => format!("{root}{}/part-{}.rs", FOLDERS[folder], rng.below(100)),
            };
            (rng.try_reserve(path.len()), ExpectedFileView { path, state: rng.pick(&FILE_STATES) })
        });
        objective.expected_files =
            files.into_iter().filter_map(|(has_room, file)| has_room.then_some(file)).collect();
        objective.files = objective.files.max(objective.expected_files.len() as u32);
    }
}

/// Unique by its place; from one character to forty, as a workflow file allows.
fn id(rng: &mut QuestionRng, place: usize) -> ObjectiveId {
    let short = format!("o{place}");
    ObjectiveId::new(match rng.below(4) {
        0 => format!("test-parser.{place}"),
        1 => format!("{short}{:_<width$}", "", width = 40 - short.len()),
        _ => short,
    })
}

/// What is not done; what has failed is still to be done.
pub(super) fn open_ids(objectives: &[ObjectiveView]) -> Vec<ObjectiveId> {
    let open = objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done);
    open.map(|objective| objective.id.clone()).collect()
}

/// Signals, and the window with their texts one after the other.
pub(super) fn signals(rng: &mut QuestionRng, prompts: u32) -> (Vec<SignalView>, String) {
    let mut window = String::new();
    let mut seq = rng.number(1 << 40);
    let signals = (0..rng.count(SIGNALS)).map(|_| {
        let channel = rng.pick(CHANNELS);
        let cap = if channel == SignalSource::AgentText { ANSWER_TAIL_BYTES } else { 2048 };
        let start = window.len();
        window.push_str(&rng.text_of_host(cap.min(SIGNALS_BYTES.saturating_sub(start))));
        seq += 1 + rng.number(3);
        SignalView {
            seq: Seq(seq),
            channel,
            age_ms: rng.number(u64::MAX),
            prompt: rng.number32(prompts),
            code: Some(rng.pick(&CODES).to_owned()).filter(|code| !code.is_empty()),
            status: rng.maybe(|rng| rng.pick(&HTTP)),
            resets_at_ms: rng.maybe(|rng| UnixMs(rng.number(u64::MAX))),
            retrying: rng.coin(),
            text: TextSpan { start: start as u32, end: window.len() as u32 },
        }
    });
    let signals = signals.collect();
    (signals, window)
}

pub(super) fn git(rng: &mut QuestionRng) -> Option<GitView> {
    rng.maybe(|rng| GitView {
        branch: rng.maybe(|rng| rng.line(120)),
        commits_since: rng.number32(u32::MAX),
        dirty_files: rng.number32(10_000),
    })
}

/// A number of which 0 would mean that there is none.
pub(super) fn counted(rng: &mut QuestionRng, most: u32) -> Option<u32> {
    Some(rng.number32(most)).filter(|number| *number > 0)
}

/// Pairs for experiments, of which a policy knows none.
pub(super) fn attributes(rng: &mut QuestionRng) -> Attributes {
    rng.list(6, |rng| (format!("x-{}", rng.number(u64::MAX)), rng.line(40)))
}

pub(super) const COMMITS: usize = COMMITS_NAMED;
