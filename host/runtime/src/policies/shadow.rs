//! Shadows: candidates that are asked the questions of a live run without deciding them (M3). They have a separate engine and
//! thread, a share of one core, and no influence: their answers go to a file, and the run continues whether they answer or not.
//! Questions beyond their share are left out and counted.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use baton_core::decision::{Decision, Fault};
use baton_core::decision_diff::DecisionMatch;
use baton_core::input::PolicyBinding;
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::{GivenSetting, PolicyScope};
use baton_core::{Digest, RequestId, Run, RunId};
use baton_engine::{ComponentGrants as Granted, ConfiguredPolicy, Engine, Evaluation, validate_answer};
use baton_store::{Journal, StateDir};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::config::HostConfig;
use crate::error::RuntimeError;
use crate::policies::{self, RunArtifacts};
use crate::query;

/// Questions that wait for the shadows. A decision takes some ten µs; with this many waiting, the shadows will not catch up.
const QUEUE_LEN: usize = 256;
/// The shadows may use one part in this many of a core, measured in the processor time of their thread.
const CPU_SHARE_DIVISOR: u32 = 10;
/// What they may use at once after a silence: compiling is not counted, and a question of an interpreter takes some ms.
const BURST: Duration = Duration::from_millis(500);
/// Bytes of the file after which nothing more is written: some hundred thousand answers.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Version of the file's lines.
pub const SHADOW_SCHEMA: u32 = 1;
/// Name of the file in the folder of the run.
const FILE: &str = "shadows.jsonl";

/// An answer of a shadow, with the decision that counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShadowAnswer {
    /// Version of the line.
    pub schema: u32,
    /// The question, as the journal numbers it.
    pub request: RequestId,
    /// `interface.function`.
    pub function: String,
    /// Name of the shadow.
    pub policy: String,
    /// Digest of its component.
    pub component: Digest,
    /// Digest of its settings.
    pub settings: Digest,
    /// How the two answers compare.
    pub agreement: DecisionMatch,
    /// Fuel that the shadow used.
    pub fuel: u64,
    /// The answer that counted, if the host would have done something else after the shadow's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Result<Decision, Fault>>,
    /// The shadow's, in the same case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<Result<Decision, Fault>>,
}

/// Everything that the shadows of a run said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShadowReport {
    /// In the order of asking.
    pub answers: Vec<ShadowAnswer>,
    /// Questions that were left out because the shadows had used their share.
    pub left_out: u64,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ShadowLine {
    Answer(Box<ShadowAnswer>),
    LeftOut { schema: u32, left_out: u64 },
}

/// What the thread hears: a question with the answer that counts.
struct ShadowQuery {
    request: RequestId,
    question: Box<PolicyRequest>,
    counted: Result<Decision, Fault>,
}

/// Who may tell the shadows of a question. Cheap to clone, and never waits.
#[derive(Clone)]
pub(crate) struct ShadowSender {
    to: SyncSender<ShadowQuery>,
    left_out: Arc<AtomicU64>,
}

impl ShadowSender {
    /// Sends a question to the shadows, if their queue has room.
    pub(crate) fn send_query(
        &self,
        request: RequestId,
        question: PolicyRequest,
        counted: Result<Decision, Fault>,
    ) {
        let heard = ShadowQuery { request, question: Box::new(question), counted };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.to.try_send(heard) {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What the shadows of a run are made of.
pub(crate) struct ShadowParts {
    pub(crate) journal: Journal,
    pub(crate) artifacts: RunArtifacts,
    /// Compiled components.
    pub(crate) cache: PathBuf,
    /// The folder of the run's own files.
    pub(crate) folder: PathBuf,
}

/// The shadows of a run. No thread is started if there are none.
pub(crate) struct RunShadows {
    parts: Arc<ShadowParts>,
    thread: Option<(ShadowSender, Arc<ShadowControl>, JoinHandle<()>)>,
}

/// Control data for the thread besides questions. The host does not wait for the thread, which checks it before each question.
#[derive(Default)]
struct ShadowControl {
    /// These are the shadows from now on.
    bindings: Mutex<Option<Vec<PolicyBinding>>>,
    /// Nothing is asked any more.
    stop: AtomicBool,
}

impl ShadowControl {
    fn bindings(&self) -> MutexGuard<'_, Option<Vec<PolicyBinding>>> {
        // It is replaced whole, so a poisoned lock is as good as any.
        self.bindings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunShadows {
    pub(crate) fn new(parts: ShadowParts) -> Self {
        Self { parts: Arc::new(parts), thread: None }
    }

    /// Follows the shadow bindings of the run.
    pub(crate) fn follow(&mut self, run: &Run) {
        let bindings: Vec<PolicyBinding> = run
            .bindings()
            .filter(|binding| matches!(binding.scope, PolicyScope::Shadow { .. }))
            .cloned()
            .collect();
        if bindings.is_empty() {
            return;
        }
        if self.thread.is_none() {
            self.thread = start(&self.parts);
        }
        if let Some((_, said, _)) = &self.thread {
            *said.bindings() = Some(bindings);
        }
    }

    /// The sender of questions to the shadows; none if there are no shadows.
    pub(crate) fn teller(&self) -> Option<ShadowSender> {
        self.thread.as_ref().map(|(teller, ..)| teller.clone())
    }

    /// Waits for the current answer, but not for queued questions.
    pub(crate) fn finish(&mut self) {
        let Some((teller, said, thread)) = self.thread.take() else { return };
        said.stop.store(true, Ordering::Relaxed);
        drop(teller);
        let _ = thread.join();
    }
}

fn start(parts: &Arc<ShadowParts>) -> Option<(ShadowSender, Arc<ShadowControl>, JoinHandle<()>)> {
    let (to, line) = sync_channel(QUEUE_LEN);
    let (left_out, said) = (Arc::new(AtomicU64::new(0)), Arc::new(ShadowControl::default()));
    let teller = ShadowSender { to, left_out: Arc::clone(&left_out) };
    let theirs = ShadowWorker { parts: Arc::clone(parts), left_out, said: Arc::clone(&said) };
    let thread = std::thread::Builder::new().name("shadows".to_owned()).spawn(move || {
        if let Err(error) = theirs.answer(&line) {
            // Shadows decide nothing, so only their answers are lost.
            tracing::warn!("the shadows are silent: {error}");
        }
    });
    match thread {
        Ok(thread) => Some((teller, said, thread)),
        Err(error) => {
            tracing::warn!("the shadows have no thread: {error}");
            None
        }
    }
}

/// The thread's side.
struct ShadowWorker {
    parts: Arc<ShadowParts>,
    left_out: Arc<AtomicU64>,
    said: Arc<ShadowControl>,
}

impl ShadowWorker {
    fn answer(&self, line: &Receiver<ShadowQuery>) -> Result<(), RuntimeError> {
        let failed = |error: std::io::Error| RuntimeError::State {
            what: "cannot write the answers of shadows",
            dir: self.parts.folder.clone(),
            source: error.into(),
        };
        // An engine of their own: a shadow that loops takes no place of those that decide.
        let engine = policies::engine(Some(self.parts.cache.clone()))?;
        let mut file = ShadowFile::open(&self.parts.folder).map_err(failed)?;
        let mut shadows: Vec<(Capability, ConfiguredPolicy)> = Vec::new();
        let mut share = CpuShare::begin();
        while let Ok(ShadowQuery { request, question, counted }) = line.recv() {
            let bindings = self.said.bindings().take();
            if let Some(bindings) = bindings {
                shadows = bindings.iter().filter_map(|binding| self.load(&engine, binding)).collect();
                share = CpuShare::begin();
            }
            if self.said.stop.load(Ordering::Relaxed) || !share.is_left() {
                self.left_out.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            let asked = question.query.capability();
            for (_, shadow) in shadows.iter().filter(|(capability, _)| *capability == asked) {
                let answer = compare_decision(request, &question, &counted, shadow);
                file.write(&ShadowLine::Answer(Box::new(answer))).map_err(failed)?;
            }
        }
        let left_out = self.left_out.load(Ordering::Relaxed);
        if left_out > 0 {
            file.write(&ShadowLine::LeftOut { schema: SHADOW_SCHEMA, left_out }).map_err(failed)?;
        }
        file.finish().map_err(failed)
    }

    /// As it is in the journal. One that cannot be loaded is silent.
    fn load(&self, engine: &Engine, binding: &PolicyBinding) -> Option<(Capability, ConfiguredPolicy)> {
        let blob = |digest| self.parts.journal.blob(digest).ok().flatten();
        let loaded = || {
            let component = blob(&binding.component).ok_or("its component is not in the journal")?;
            let settings = blob(&binding.settings).ok_or("its settings are not in the journal")?;
            let settings: std::collections::BTreeMap<String, GivenSetting> =
                serde_json::from_slice(&settings).map_err(|error| error.to_string())?;
            let artifacts = self.parts.artifacts.granted(binding.grants.clone());
            let granted = Granted::of(&binding.grants, Arc::new(artifacts));
            let policy = engine
                .load_granted(&binding.policy, &component, granted)
                .map_err(|error| error.to_string())?;
            let configured = policy.configure(&settings).map_err(|error| error.to_string())?;
            configured.over_built_in().map_err(|error| error.to_string())
        };
        match loaded() {
            Ok(configured) => Some((binding.capability, configured)),
            Err(why) => {
                let why: String = why;
                tracing::warn!("the shadow {} is silent: {why}", binding.policy);
                None
            }
        }
    }
}

fn compare_decision(
    request: RequestId,
    question: &PolicyRequest,
    counted: &Result<Decision, Fault>,
    shadow: &ConfiguredPolicy,
) -> ShadowAnswer {
    let Evaluation { result, fuel, .. } = shadow.evaluate(question);
    // An answer that no run can follow is a fault of a shadow, too.
    let result = validate_answer(question, result);
    let agreement = DecisionMatch::of(&question.query, counted, &result);
    let differs = agreement.is_otherwise();
    ShadowAnswer {
        schema: SHADOW_SCHEMA,
        request,
        function: question.query.function().to_owned(),
        policy: shadow.policy().name().to_owned(),
        component: shadow.policy().digest().clone(),
        settings: shadow.settings_digest().clone(),
        agreement,
        fuel,
        counted: differs.then(|| counted.clone()),
        shadow: result.transpose().filter(|_| differs),
    }
}

/// What of a core the thread may still use.
struct CpuShare {
    since: Instant,
    used_before: Duration,
}

impl CpuShare {
    fn begin() -> Self {
        Self { since: Instant::now(), used_before: core_time() }
    }

    fn is_left(&self) -> bool {
        core_time().saturating_sub(self.used_before) < self.since.elapsed() / CPU_SHARE_DIVISOR + BURST
    }
}

/// For how long this thread has had a core.
fn core_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The file, up to its bound.
struct ShadowFile {
    file: BufWriter<File>,
    bytes: u64,
}

impl ShadowFile {
    fn open(folder: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(FILE))?;
        let bytes = file.metadata()?.len();
        Ok(Self { file: BufWriter::new(file), bytes })
    }

    fn write(&mut self, line: &ShadowLine) -> std::io::Result<()> {
        if self.bytes >= FILE_BYTES_MAX {
            return Ok(());
        }
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        self.bytes += line.len() as u64;
        self.file.write_all(&line)?;
        // A reader of the report during the run sees whole lines.
        self.file.flush()
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// The answers of a run's shadows; of the newest run if none is named. Empty if it has no shadows.
///
/// # Errors
/// As for [`view_of`](crate::view_of), and [`RuntimeError::State`] if the file cannot be read.
pub fn shadows_of(config: &HostConfig, run: Option<&RunId>) -> Result<(RunId, ShadowReport), RuntimeError> {
    let (_, run) = query::journal_of(config, run)?;
    let state = query::find_state(config)?;
    let folder = folder_of(&state, &run);
    let failed = |error: std::io::Error| RuntimeError::State {
        what: "cannot read the answers of shadows",
        dir: folder.clone(),
        source: error.into(),
    };
    let file = match File::open(folder.join(FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((run, ShadowReport::default()));
        }
        file => file.map_err(failed)?,
    };
    let mut story = ShadowReport::default();
    for line in BufReader::new(file).lines() {
        // The last line may be half written; a host that was killed leaves one.
        match serde_json::from_str(&line.map_err(failed)?) {
            Ok(ShadowLine::Answer(answer)) => story.answers.push(*answer),
            Ok(ShadowLine::LeftOut { left_out, .. }) => story.left_out += left_out,
            Err(error) => tracing::debug!(%error, "a line of the shadows' file is passed over"),
        }
    }
    Ok((run, story))
}

/// The folder of the run's own files.
pub(crate) fn folder_of(state: &StateDir, run: &RunId) -> PathBuf {
    state.sessions().join(run.as_str())
}
