//! Ticks the boxes of a plan as their objectives are done. The plan is a person's, who may edit it meanwhile: one byte of it
//! changes, found again each time, and what was written since it was read is never overwritten.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use baton_runtime::core::observation::{EvidenceKind, ObjectiveStatus};
use baton_runtime::core::view::{ObjectiveSummary, PhaseOrigin, RunView};
use baton_runtime::core::workflow::{PlanBox, TickedPlan};
use baton_runtime::core::{ObjectiveId, Workflow};
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use super::plan::{self, PlanItem};

/// Times that a plan is read again because it was written meanwhile.
const TRIES: u32 = 5;
/// A plan that has grown beyond this is left alone.
const PLAN_BYTES_MAX: u64 = 4 << 20;

/// The boxes of a run that was made from a plan.
pub(crate) struct PlanBoxes {
    path: PathBuf,
    boxes: Vec<PlanBox>,
    /// Objectives that were done when it was last looked at.
    done: BTreeSet<ObjectiveId>,
    /// What was said already.
    reported: BTreeSet<String>,
    /// Where it is kept which were done, so that a box which a person opens is not ticked again by the next host.
    state_file: Option<PathBuf>,
}

/// How the plan stands at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlanProgress {
    pub(crate) ticked: usize,
    pub(crate) all: usize,
    /// Boxes that are open and no objective of the run.
    pub(crate) beyond: usize,
    /// Boxes that are ticked, and the run has not done their objectives: a person or an agent has ticked them.
    pub(crate) not_done: usize,
    /// Boxes whose objectives the run has not done, and that the plan has no more.
    pub(crate) gone: usize,
}

impl PlanBoxes {
    /// The boxes of a run, where it has any.
    pub(crate) fn of(workflow: Workflow) -> Option<Self> {
        let TickedPlan { path, boxes } = workflow.plan?;
        let (done, reported) = (BTreeSet::new(), BTreeSet::new());
        Some(Self { path: path.into(), boxes, done, reported, state_file: None })
    }

    /// The same, going on from what was ticked before.
    #[must_use]
    pub(crate) fn with_state_file(self, state_file: Option<PathBuf>) -> Self {
        let known = state_file
            .as_ref()
            .and_then(|state_file| fs::read_to_string(state_file).ok())
            .unwrap_or_default();
        Self { done: known.lines().map(ObjectiveId::from).collect(), state_file, ..self }
    }

    /// The plan.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Ticks what is done since the last look, and opens what is open again. Gives what a person should know, once.
    pub(crate) fn sync_with_view(&mut self, view: &RunView) -> Vec<String> {
        let done = done(view);
        if done == self.done {
            return Vec::new();
        }
        let changed = |one: &&PlanBox| done.contains(&one.objective) != self.done.contains(&one.objective);
        let wanted: Vec<(PlanBox, bool)> = self
            .boxes
            .iter()
            .filter(changed)
            .map(|one| (one.clone(), done.contains(&one.objective)))
            .collect();
        self.done = done;
        let name = self.path.display();
        let mut told = match set(&self.path, &wanted) {
            Ok(missing) => {
                self.save_state();
                let told = |line| format!("{name} no longer has the box \"{line}\"; its objective is done");
                missing.into_iter().map(told).collect()
            }
            Err(error) => vec![format!("cannot tick the boxes of {name}: {error}")],
        };
        told.retain(|line| self.reported.insert(line.clone()));
        told
    }

    /// Where that fails, the worst is that a box is ticked once more.
    fn save_state(&self) {
        let Some(state_file) = &self.state_file else { return };
        let lines: String = self.done.iter().map(|id| format!("{id}\n")).collect();
        let _ = state_file
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| fs::write(state_file, lines));
    }

    /// The plan as it is now; nothing where it cannot be read.
    pub(crate) fn standing(&self, view: &RunView) -> Option<PlanProgress> {
        let plan = plan::read(&String::from_utf8(read(&self.path).ok()?).ok()?);
        let done = done(view);
        let ours = |heading: &str, item: &PlanItem| {
            self.boxes
                .iter()
                .find(|one| one.line == item.line && (one.heading == heading || one.heading.is_empty()))
        };
        let is_ours = |heading: &str, item: &PlanItem| ours(heading, item).is_some();
        let is_there = |one: &PlanBox| {
            plan.boxes().any(|(heading, item)| {
                ours(heading, item).is_some_and(|ours| ours.objective == one.objective)
            })
        };
        let is_done = |heading: &str, item: &PlanItem| {
            ours(heading, item).is_none_or(|one| done.contains(&one.objective))
        };
        Some(PlanProgress {
            ticked: plan.boxes().filter(|(_, item)| item.ticked).count(),
            all: plan.boxes().count(),
            beyond: plan.boxes().filter(|(heading, item)| !item.ticked && !is_ours(heading, item)).count(),
            not_done: plan.boxes().filter(|(heading, item)| item.ticked && !is_done(heading, item)).count(),
            gone: self.boxes.iter().filter(|one| !done.contains(&one.objective) && !is_there(one)).count(),
        })
    }
}

/// The objectives whose boxes are to be ticked.
fn done(view: &RunView) -> BTreeSet<ObjectiveId> {
    let of_workflow = view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Workflow);
    let objectives = of_workflow.flat_map(|phase| &phase.objectives);
    objectives.filter(|one| is_to_tick(one)).map(|one| one.id.clone()).collect()
}

/// A box is ticked for good in the eyes of the next run: so its objective is done, and the check that it is held to has passed, or a
/// person has accepted it.
fn is_to_tick(objective: &ObjectiveSummary) -> bool {
    let is_shown = !objective.has_check
        || objective.check_passed == Some(true)
        || objective.done_by == Some(EvidenceKind::Accepted);
    objective.status == ObjectiveStatus::Done && is_shown
}

/// Sets the marks, and gives the lines of boxes that are gone.
fn set(path: &Path, wanted: &[(PlanBox, bool)]) -> io::Result<Vec<String>> {
    for _ in 0..TRIES {
        let before = read(path)?;
        let text = std::str::from_utf8(&before)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no longer UTF-8"))?;
        let mut after = before.clone();
        let missing = mark(text, &mut after, wanted);
        if after == before || replace_contents(path, &before, &after)? {
            return Ok(missing);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another program keeps writing it"))
}

/// Marks boxes in a copy of the text; gives the lines of those that are not there.
fn mark(text: &str, copy: &mut [u8], wanted: &[(PlanBox, bool)]) -> Vec<String> {
    let plan = plan::read(text);
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut missing = Vec::new();
    for (one, ticked) in wanted {
        let like = |strict: bool| -> Vec<&PlanItem> {
            plan.boxes()
                .filter(|(heading, item)| item.line == one.line && (!strict || *heading == one.heading))
                .map(|(_, item)| item)
                .collect()
        };
        let mut found = like(true);
        if found.is_empty() {
            // The heading may have another name by now; a line that stands once is known by itself.
            found = like(false);
            found.truncate(if found.len() == 1 { 1 } else { 0 });
        }
        let open = found.iter().find(|item| item.ticked != *ticked && taken.insert(item.mark));
        match open {
            Some(item) => copy[item.mark] = if *ticked { b'x' } else { b' ' },
            None if found.is_empty() => missing.push(one.line.clone()),
            // Another writer was first.
            None => {}
        }
    }
    missing
}

/// The bytes of a plan that is a file of its own: nothing that an agent has put there instead is followed.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let other = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_owned());
    if fs::canonicalize(path)? != path {
        return Err(other("a link has pointed elsewhere since the run began"));
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(i32::try_from(flags).unwrap_or(0)).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(other("it is no longer a file"));
    }
    let mut bytes = Vec::new();
    file.take(PLAN_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > PLAN_BYTES_MAX {
        true => Err(other("it has become too large")),
        false => Ok(bytes),
    }
}

/// Puts new bytes in place of the old ones; false if it was written meanwhile, which then stays.
fn replace_contents(path: &Path, before: &[u8], after: &[u8]) -> io::Result<bool> {
    let beside = beside(path);
    let permissions = fs::metadata(path)?.permissions();
    let mut file: File =
        OpenOptions::new().write(true).create_new(true).mode(permissions.mode() & 0o7777).open(&beside)?;
    let written =
        file.write_all(after).and_then(|()| file.set_permissions(permissions)).and_then(|()| file.sync_all());
    drop(file);
    let done = written.and_then(|()| exchange_files(path, &beside, before));
    // What is beside now is what was read, or what was not put in place.
    let _ = fs::remove_file(&beside);
    done
}

/// Both names change their files at once, so that nothing that was saved in between is gone: it is then beside, and put back.
fn exchange_files(path: &Path, beside: &Path, before: &[u8]) -> io::Result<bool> {
    if fs::read(path)? != before {
        return Ok(false);
    }
    let swap = || renameat_with(CWD, path, CWD, beside, RenameFlags::EXCHANGE);
    match swap() {
        Ok(()) => {}
        // A file system that cannot do so: the look just now has to be enough.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::rename(beside, path)?;
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    }
    if fs::read(beside)? == before {
        return Ok(true);
    }
    swap()?;
    Ok(false)
}

/// Where the new bytes are until they are in place: in the nearest `.baton`, so that no measurement of the folder meanwhile takes them
/// for work; beside the plan where there is none on its file system.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".baton-{}", std::process::id()));
    let folder = |path: &Path| fs::symlink_metadata(path).ok().filter(Metadata::is_dir);
    let device = path.parent().and_then(folder).map(|folder| folder.dev());
    let own = path.ancestors().skip(1).map(|above| above.join(".baton"));
    match own.into_iter().find(|own| folder(own).is_some_and(|own| Some(own.dev()) == device)) {
        Some(own) => own.join(name),
        None => path.with_file_name(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(heading: &str, line: &str) -> PlanBox {
        PlanBox { objective: line.into(), heading: heading.into(), line: line.into() }
    }

    fn plan(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(folder.path()).unwrap().join("PLAN.md");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn what_is_not_in_place_yet_lies_where_nobody_takes_it_for_work() {
        let (folder, path) = plan("- [ ] a\n");
        assert_eq!(beside(&path).parent(), path.parent());
        let inner = path.with_file_name("docs").join("PLAN.md");
        fs::create_dir_all(inner.parent().unwrap()).unwrap();
        let own = path.with_file_name(".baton");
        fs::create_dir(&own).unwrap();
        for path in [&path, &inner] {
            assert_eq!(beside(path).parent(), Some(own.as_path()));
        }
        fs::remove_dir(&own).unwrap();
        std::os::unix::fs::symlink(folder.path(), &own).unwrap();
        assert_eq!(beside(&path).parent(), path.parent(), "no link is followed");
    }

    #[test]
    fn one_byte_changes_and_everything_else_stays() {
        let text = "# P\r\n\r\n## A\r\n\r\n* [ ] One\r\n* [ ] Two  \r\n\r\n## B\r\n1. [ ] One\r\n";
        let (_folder, path) = plan(text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(set(&path, &[(one("B", "One"), true)]).unwrap(), Vec::<String>::new());
        assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("1. [ ]", "1. [x]"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        set(&path, &[(one("B", "One"), false)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_a_person_has_changed_is_found_again_or_told() {
        let (_folder, path) = plan("New words.\n\n## Other name\n- [ ] New\n- [ ] One\n- [x] Two\n");
        let wanted = [(one("A", "One"), true), (one("A", "Two"), true), (one("A", "Gone"), true)];
        assert_eq!(set(&path, &wanted).unwrap(), ["Gone"]);
        let now = fs::read_to_string(&path).unwrap();
        assert_eq!(now, "New words.\n\n## Other name\n- [ ] New\n- [x] One\n- [x] Two\n");
    }

    #[test]
    fn boxes_with_the_same_words_are_ticked_one_each() {
        let (_folder, path) = plan("- [ ] Test\n- [ ] Test\n- [ ] Test\n");
        set(&path, &[(one("", "Test"), true), (one("", "Test"), true)]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "- [x] Test\n- [x] Test\n- [ ] Test\n");
    }

    #[test]
    fn words_that_were_saved_meanwhile_are_put_back() {
        let (_folder, path) = plan("- [ ] One\n");
        assert!(!replace_contents(&path, b"something older", b"- [x] One\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "- [ ] One\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_that_an_agent_puts_there_is_not_followed() {
        let (_folder, path) = plan("- [ ] One\n");
        let victim = path.with_file_name("victim.md");
        fs::rename(&path, &victim).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        let refused = set(&path, &[(one("", "One"), true)]).unwrap_err();
        assert!(refused.to_string().contains("link"), "{refused}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "- [ ] One\n");
    }
}
