//! Empties the inboxes of a run, one in the tree of each phase: reports become inputs, and a file is confirmed only when its
//! report is on disk in the journal. A report that does not fit the run is rejected with the reason, and a notice is sent. Core
//! interprets the reports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use baton_core::facts::{AgentEvent, Refusal, RefusalKind};
use baton_core::input::AgentReport;
use baton_core::progress::ProgressEvent;
use baton_core::view::RunView;
use baton_core::{Digest, Input, Run, SessionId, UnixMs, WorktreeName};
use baton_inbox::{Inbox, InboxError, ReceivedReport, ToolCall};
use baton_store::secrets::mask_line;
use baton_workspace::{RunWorktrees, Workspace};
use serde_json::json;

use crate::clock;
use crate::projection;
use crate::secret_masking;
use crate::tools::artifact_tools::ArtifactTools;
use crate::tools::report_validation;
use crate::tools::review_submission::ReviewSubmission;

/// Rounds of one look. The inbox hands over a bounded number of files at a time; a flood comes with the next looks.
const ROUNDS: usize = 8;

/// Reports that are named where many are rejected at once.
const NAMED_REJECTIONS_MAX: usize = 3;

/// Why a report is rejected that no agent of the run can have written.
const UNATTENDED: &str = "it was written while no agent of this run was at work";

/// The inboxes, with the reports that were taken from them and are not yet journaled.
pub(crate) struct InboxPoller {
    trees: RunWorktrees,
    task_folder: String,
    /// Away while a thread that may block reads them.
    inboxes: Option<BTreeMap<WorktreeName, Inbox>>,
    unconfirmed: Vec<(WorktreeName, String)>,
    /// Reports that were refused, for people.
    refused: Vec<ProgressEvent>,
    /// Paths of links that were reported: each path once.
    exchanged: BTreeSet<PathBuf>,
    /// The last look failed; said once, not every second.
    failure_reported: bool,
}

/// A report whose form is right.
struct InboxReport {
    tree: WorktreeName,
    file: String,
    digest: Digest,
    session: Option<SessionId>,
    call: ToolCall,
}

/// What one look found, in its order.
#[derive(Default)]
struct InboxScan {
    received: Vec<(WorktreeName, ReceivedReport)>,
    /// Reports that were rejected, since no agent was at work in their tree.
    unattended: Vec<String>,
    failed: Option<InboxError>,
}

impl InboxPoller {
    pub(crate) fn open(trees: RunWorktrees, task_folder: &str) -> Result<Self, InboxError> {
        let workspace = WorktreeName::workspace();
        let inbox = trees.at_hand(&workspace).map(|place| inbox_of(place, task_folder)).transpose()?;
        let inboxes = Some(inbox.map(|inbox| (workspace, inbox)).into_iter().collect());
        let task_folder = task_folder.to_owned();
        Ok(Self {
            trees,
            task_folder,
            inboxes,
            unconfirmed: Vec::new(),
            refused: Vec::new(),
            exchanged: BTreeSet::new(),
            failure_reported: false,
        })
    }

    /// Rejects what lies in the inbox and was written later than this, or at all: no agent of the run was at work then, so another one wrote it.
    pub(crate) async fn reject_written_after(&mut self, at: Option<UnixMs>) {
        let after = at.map(|at| at.0);
        self.reject_all(UNATTENDED, move |_, inbox| inbox.reject_written_after(after, UNATTENDED)).await;
    }

    /// Rejects the files in the inbox of a tree in which a session is about to begin and no other one works: read later, they
    /// would be taken for reports of this session.
    pub(crate) async fn reject_before(&mut self, run: &Run, session: &SessionId) {
        let Some(view) = run.view(clock::wall()) else { return };
        let attended = report_validation::attended(run, &view, Some(session));
        let live = projection::live(&view);
        let (trees, task_folder) = (self.trees.clone(), self.task_folder.clone());
        let looked = self.with_inboxes(move |inboxes| {
            let mut look = InboxScan::default();
            sync_inboxes(inboxes, &live, &trees, &task_folder, &mut look);
            look.reject_unattended(inboxes, &attended);
            look.unattended
        });
        let rejected = looked.await.unwrap_or_default();
        self.refuse_all(rejected, UNATTENDED);
    }

    /// Rejects the files that one look has left in the inbox of a tree, or of all, when a session there is over: read later,
    /// they would be taken for reports of the next session.
    pub(crate) async fn reject_rest(&mut self, tree: Option<WorktreeName>) {
        const WHY: &str = "its session ended before Baton could take it";
        let reject =
            move |of: &WorktreeName, inbox: &mut Inbox| match tree.as_ref().is_none_or(|tree| tree == of) {
                true => inbox.reject_waiting(WHY),
                false => Ok(Vec::new()),
            };
        self.reject_all(WHY, reject).await;
    }

    async fn reject_all(
        &mut self,
        why: &str,
        mut reject: impl FnMut(&WorktreeName, &mut Inbox) -> Result<Vec<String>, InboxError> + Send + 'static,
    ) {
        let rejected = self.with_inboxes(move |inboxes| {
            inboxes.iter_mut().map(|(tree, inbox)| reject(tree, inbox)).collect::<Vec<_>>()
        });
        for found in rejected.await.into_iter().flatten() {
            match found {
                Ok(files) => self.refuse_all(files, why),
                Err(error) => tracing::warn!("{error}"),
            }
        }
    }

    /// Tells of a flood in a line.
    fn refuse_all(&mut self, mut files: Vec<String>, why: &str) {
        if let Some(more) = files.len().checked_sub(NAMED_REJECTIONS_MAX).filter(|more| *more > 0) {
            files.truncate(NAMED_REJECTIONS_MAX);
            files.push(format!("{more} more reports"));
        }
        files.into_iter().for_each(|file| self.refuse(file, why.to_owned()));
    }

    /// What was reported since the last look and fits the run, in order.
    pub(crate) async fn collect(
        &mut self,
        run: &Run,
        artifact_tools: &ArtifactTools,
        at_once: bool,
    ) -> Vec<Input> {
        let view = run.view(clock::wall());
        let refused = |tree: &WorktreeName, session: Option<SessionId>, digest: Digest, why: &str| {
            let session = session.or_else(|| report_validation::only_session_in(view.as_ref()?, tree));
            Input::Reported {
                session,
                digest,
                report: AgentReport::Refused { why: mask_line(why).into_owned() },
            }
        };
        let (found, bad) = self.scan(run, view.as_ref(), at_once).await;
        let mut inputs = self.tell_exchanged(run, view.as_ref());
        inputs.extend(bad.into_iter().map(|(tree, digest, why)| refused(&tree, None, digest, &why)));
        for InboxReport { tree, file, digest, session, call } in found {
            let address = digest.clone();
            // A report from a separate tree can only be from the session that works there.
            let session = session.or_else(|| report_validation::only_session_in(view.as_ref()?, &tree));
            // Whose work a refused report is about, as far as it says so.
            let mut of_one = None;
            let fits = view.as_ref().map_or(Ok(()), |view| {
                session
                    .as_ref()
                    .map_or(Ok(()), |session| report_validation::is_from(view, session, &tree))?;
                if matches!(call, ToolCall::ReviewSubmit(_)) {
                    report_validation::check_review_author(view, session.as_ref(), &tree)?;
                }
                let is_done = report_validation::check_done_author(view, session.as_ref(), &tree, &call);
                is_done.inspect_err(|_| of_one.clone_from(&session))?;
                report_validation::check(view, session.as_ref(), &call)
            });
            let taken = match (fits, call, &view) {
                (Ok(()), ToolCall::ReviewSubmit(said), Some(view)) => {
                    review(digest, ReviewSubmission::of(view, session.as_ref(), &said), artifact_tools).await
                }
                (Ok(()), call, _) => {
                    self.input(digest, session, &tree, call, artifact_tools).await.map(|input| vec![input])
                }
                (Err(why), ..) => Err(why),
            };
            match taken {
                Ok(taken) => {
                    self.unconfirmed.push((tree, file));
                    inputs.extend(taken);
                }
                Err(why) => {
                    inputs.push(refused(&tree, of_one, address, &why));
                    self.reject(tree, file, why).await;
                }
            }
        }
        inputs
    }

    /// Links that an agent has put in place of the host's own folders, which were removed: recorded as a refusal of the agent's
    /// session, or as a notice to people if the session is unknown.
    fn tell_exchanged(&mut self, run: &Run, view: Option<&RunView>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for exchanged in self.trees.take_exchanged() {
            tracing::warn!("removed {exchanged}");
            if !self.exchanged.insert(exchanged.root.join(&exchanged.path)) {
                continue;
            }
            let works_there = |session: &&SessionId| {
                let tree = view.map(|view| report_validation::session_worktree(view, Some(session)));
                let place = tree.and_then(|tree| self.trees.at_hand(&tree));
                place.is_some_and(|place| place.root() == exchanged.root)
            };
            let mut live = run.live_sessions().into_iter().filter(works_there);
            match (live.next().cloned(), live.next()) {
                (Some(session), None) => {
                    let refusal = Refusal { kind: RefusalKind::Host, target: format!("putting {exchanged}") };
                    inputs.push(Input::Agent {
                        session,
                        event: secret_masking::mask_event(AgentEvent::Refused(refusal)),
                    });
                }
                _ => {
                    let file = exchanged.path.display().to_string();
                    self.refused
                        .push(ProgressEvent::ReportRefused { file, why: format!("{exchanged} was removed") });
                }
            }
        }
        inputs
    }

    /// Notices to people about refused reports.
    pub(crate) fn refusals(&mut self) -> Vec<ProgressEvent> {
        std::mem::take(&mut self.refused)
    }

    /// The well-formed reports; and for those that are already in `rejected/`, their original path, their address and the
    /// mistake.
    async fn scan(
        &mut self,
        run: &Run,
        view: Option<&RunView>,
        at_once: bool,
    ) -> (Vec<InboxReport>, Vec<(WorktreeName, Digest, String)>) {
        let Some(inboxes) = self.inboxes.take() else { return Default::default() };
        let live = view.map(projection::live).unwrap_or_default();
        let attended = view.map(|view| report_validation::attended(run, view, None)).unwrap_or_default();
        let (trees, task_folder) = (self.trees.clone(), self.task_folder.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let (mut inboxes, mut look) = (inboxes, InboxScan::default());
            sync_inboxes(&mut inboxes, &live, &trees, &task_folder, &mut look);
            look.reject_unattended(&mut inboxes, &attended);
            look.at(&mut inboxes, &attended, at_once);
            (inboxes, look)
        })
        .await;
        // After a panic in there, this run has no inboxes: further reports of agents do not count, files in the workspace still
        // do.
        let Ok((inboxes, mut look)) = looked else {
            tracing::error!("reading the inbox failed; no more reports are read until `baton resume`");
            return Default::default();
        };
        self.inboxes = Some(inboxes);
        self.refuse_all(std::mem::take(&mut look.unattended), UNATTENDED);
        if let Some(error) = &look.failed
            && !self.failure_reported
        {
            tracing::warn!("{error}");
        }
        self.failure_reported = look.failed.is_some();
        let (mut fine, mut bad) = (Vec::new(), Vec::new());
        for (tree, received) in look.received {
            let (file, digest) = (received.file, received.writing);
            for (n, call) in received.records.into_iter().enumerate() {
                let digest = Digest::of(format!("{digest} {n}"));
                fine.push(InboxReport {
                    tree: tree.clone(),
                    file: file.clone(),
                    digest,
                    session: None,
                    call,
                });
            }
            match received.result {
                Ok((session, call)) => fine.push(InboxReport { tree, file, digest, session, call }),
                Err(problem) => {
                    bad.push((tree, digest, problem.to_string()));
                    if !received.unfinished {
                        self.refuse(file, problem.to_string());
                    }
                }
            }
        }
        (fine, bad)
    }

    /// The input that a report becomes. An artifact is kept first, so that the journal never names a missing one.
    async fn input(
        &self,
        digest: Digest,
        session: Option<SessionId>,
        tree: &WorktreeName,
        call: ToolCall,
        artifact_tools: &ArtifactTools,
    ) -> Result<Input, String> {
        if let Some(report) = secret_masking::mask_report(&call) {
            return Ok(Input::Reported { session, digest, report });
        }
        let ToolCall::ArtifactSave(save) = call else {
            return Err("nothing is answered here; only reports are taken".to_owned());
        };
        let (artifact_tools, from, tree) = (artifact_tools.clone(), session.clone(), tree.clone());
        let saved = tokio::task::spawn_blocking(move || artifact_tools.save(from, &tree, &save)).await;
        let artifact = saved.unwrap_or_else(|_| Err("keeping it failed; try again".to_owned()))?;
        // The same file may be written again when the file that it names has changed.
        let digest = Digest::of(json!([digest, artifact.name, artifact.version]).to_string());
        Ok(Input::Reported { session, digest, report: AgentReport::ArtifactSaved { artifact } })
    }

    async fn reject(&mut self, tree: WorktreeName, file: String, why: String) {
        let (name, reason) = (file.clone(), why.clone());
        self.with_inboxes(move |inboxes| {
            if let Some(Err(error)) = inboxes.get_mut(&tree).map(|inbox| inbox.reject(&name, &reason)) {
                tracing::warn!("{error}");
            }
        })
        .await;
        self.refuse(file, why);
    }

    /// Runs a task that may block; none if the inboxes are lost.
    async fn with_inboxes<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut BTreeMap<WorktreeName, Inbox>) -> T + Send + 'static,
    ) -> Option<T> {
        let mut inboxes = self.inboxes.take()?;
        let worked = tokio::task::spawn_blocking(move || {
            let result = work(&mut inboxes);
            (inboxes, result)
        });
        let (inboxes, result) = worked.await.ok()?;
        self.inboxes = Some(inboxes);
        Some(result)
    }

    fn refuse(&mut self, file: String, why: String) {
        tracing::warn!(file, "a report was refused: {why}");
        self.refused.push(ProgressEvent::ReportRefused { file, why });
    }

    /// Everything that was collected is on disk.
    pub(crate) async fn confirm(&mut self) {
        if self.unconfirmed.is_empty() {
            return;
        }
        let files = std::mem::take(&mut self.unconfirmed);
        self.with_inboxes(move |inboxes| {
            for (tree, file) in files {
                if let Some(Err(error)) = inboxes.get_mut(&tree).map(|inbox| inbox.confirm(&file)) {
                    // It comes again, and counts once.
                    tracing::warn!("{error}");
                }
            }
        })
        .await;
    }
}

impl InboxScan {
    /// Rejects reports in trees in which no agent is at work.
    fn reject_unattended(
        &mut self,
        inboxes: &mut BTreeMap<WorktreeName, Inbox>,
        attended: &BTreeSet<WorktreeName>,
    ) {
        for (_, inbox) in inboxes.iter_mut().filter(|(tree, _)| !attended.contains(tree)) {
            match inbox.reject_waiting(UNATTENDED) {
                Ok(files) => self.unattended.extend(files),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Reads the inboxes of these trees, the workspace's first.
    fn at(
        &mut self,
        inboxes: &mut BTreeMap<WorktreeName, Inbox>,
        attended: &BTreeSet<WorktreeName>,
        at_once: bool,
    ) {
        for (tree, inbox) in inboxes.iter_mut().filter(|(tree, _)| attended.contains(tree)) {
            for round in 0..ROUNDS {
                match inbox.scan(at_once && round == 0) {
                    Ok(found) if found.is_empty() => break,
                    Ok(found) => self.received.extend(found.into_iter().map(|one| (tree.clone(), one))),
                    Err(error) => {
                        self.failed = Some(error);
                        break;
                    }
                }
            }
        }
    }
}

/// The inbox of a place. Its folders are opened by the workspace, which follows no link that an agent has put there.
fn inbox_of(place: Workspace, task_folder: &str) -> Result<Inbox, InboxError> {
    let root = place.root().to_owned();
    Inbox::open(&root, task_folder, Box::new(move |path| place.own_folder(path)), mask_line)
}

/// Opens the inboxes of trees in which a session works now, and forgets those of removed trees.
fn sync_inboxes(
    inboxes: &mut BTreeMap<WorktreeName, Inbox>,
    live: &[WorktreeName],
    trees: &RunWorktrees,
    task_folder: &str,
    look: &mut InboxScan,
) {
    let places: BTreeMap<&WorktreeName, _> =
        live.iter().filter_map(|tree| Some((tree, trees.at_hand(tree)?))).collect();
    inboxes.retain(|tree, _| tree.is_workspace() || places.contains_key(tree));
    for (tree, place) in places {
        if inboxes.contains_key(tree) {
            continue;
        }
        match inbox_of(place, task_folder) {
            Ok(inbox) => {
                inboxes.insert(tree.clone(), inbox);
            }
            Err(error) => look.failed = Some(error),
        }
    }
}

/// The inputs that a review becomes: the whole review is kept, then core gets the artifact and the report. The last of these
/// ends the reviewing phase.
async fn review(
    digest: Digest,
    review: Result<ReviewSubmission, String>,
    artifact_tools: &ArtifactTools,
) -> Result<Vec<Input>, String> {
    let (review, artifact_tools) = (review?, artifact_tools.clone());
    let session = review.session();
    let kept = tokio::task::spawn_blocking(move || review.save(&artifact_tools)).await;
    let (artifact, says) = kept.unwrap_or_else(|_| Err("keeping it failed; try again".to_owned()))?;
    let there = Digest::of(json!([digest, artifact.name]).to_string());
    let reports = [(there, AgentReport::ArtifactSaved { artifact }), (digest, says)];
    let input = |(digest, report)| Input::Reported { session: session.clone(), digest, report };
    Ok(reports.map(input).into())
}
