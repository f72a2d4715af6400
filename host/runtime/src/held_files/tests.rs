//! Of settings of agents, and of the files by which they are started.

use baton_core::Workflow;
use baton_core::workflow::{AgentKind, Role, SandboxLevel, TickedPlan};

use super::*;

// N6
#[test]
fn a_change_is_asked_about_in_every_phase_until_one_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("work");
    fs::create_dir(&tree).unwrap();
    let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
    let held = HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::default());
    // A host that resumes the run knows the open questions.
    let starts = |phase: &str, session: &str| {
        let held = HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::default());
        held.expect_same(&tree, &PhaseId::new(phase), &SessionId::new(session), false)
    };
    held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new("a-1"), false).unwrap();
    for (ordinal, content) in ["{}", "{\"mcpServers\": {}}"].into_iter().enumerate() {
        fs::write(tree.join(".mcp.json"), content).unwrap();
        let first = format!("b-{ordinal}");
        // The question of this phase lets no other phase continue, nor a start that is repeated after a crash.
        for (phase, session) in [("b", first.as_str()), ("c", "c-1"), ("b", first.as_str()), ("d", "d-1")] {
            let why = starts(phase, session).unwrap_err();
            assert!(matches!(&why, HeldFilesError::Changed(paths) if paths == &[".mcp.json"]), "{why}");
        }
        // The user answered the question of `b` with retry, which lets the other phases continue as well.
        starts("b", &format!("b-{ordinal}-again")).unwrap();
        starts("c", "c-1").unwrap();
    }
}

// N6
#[test]
fn a_tree_that_is_made_on_the_way_is_held_to_the_workspace() {
    let place = tempfile::tempdir().unwrap();
    let (work, part) = (place.path().join("work"), place.path().join("part"));
    for folder in [&work, &part] {
        fs::create_dir(folder).unwrap();
    }
    fs::write(work.join(".mcp.json"), "{}").unwrap();
    fs::create_dir(work.join(".claude")).unwrap();
    fs::write(work.join(".claude/settings.local.json"), "{}").unwrap();
    let state = StateDir::open(&place.path().join("state"), &work).unwrap();
    let held = HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::default());
    let starts = |tree: &Path, session: &str| {
        held.expect_same(tree, &PhaseId::new("20a"), &SessionId::new(session), false)
    };
    // The first agent of the run begins in a part, without what git ignores.
    fs::write(part.join(".mcp.json"), "{}").unwrap();
    starts(&part, "s1").unwrap();
    // Files that the sub-phase adds and lands do not become part of the workspace's recorded start.
    fs::write(work.join(".mcp.json"), "{\"mcpServers\": {}}").unwrap();
    starts(&work, "s2").unwrap_err();
    // And files added in the workspace do not become part of a sub-phase's start.
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".mcp.json"), "{\"mcpServers\": {}}").unwrap();
    let why = starts(&other, "s3").unwrap_err();
    assert!(matches!(&why, HeldFilesError::Changed(paths) if paths == &[".mcp.json"]), "{why}");
    starts(&other, "s4").unwrap();
}

// N6
#[test]
fn what_an_earlier_run_left_is_asked_about_once_in_the_next_run() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("work");
    fs::create_dir_all(tree.join(".claude")).unwrap();
    let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
    let settings = tree.join(".claude/settings.json");
    let write = |allowed: &str| {
        fs::write(&settings, format!("{{\"permissions\": {{\"allow\": [{allowed}]}}}}")).unwrap();
    };
    let of =
        |run: &str, is_held: bool| HeldFiles::of(&state, &RunId::new(run), is_held, StartedFiles::default());
    let starts = |held: &HeldFiles, session: &str| {
        held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new(session), false)
    };
    let is_asked_once = |held: &HeldFiles| {
        for _ in 0..2 {
            let why = starts(held, "s1").unwrap_err();
            let is_it = |paths: &[String]| paths == [".claude/settings.json"];
            assert!(matches!(&why, HeldFilesError::LeftChanged(paths) if is_it(paths)), "{why}");
        }
        starts(held, "s2").unwrap();
        starts(held, "s3").unwrap();
    };
    // Runs whose agents may change settings are asked about what another one left, and about nothing else.
    for (ordinal, (is_held, has_ended)) in
        [(true, true), (false, true), (true, false), (false, false)].into_iter().enumerate()
    {
        write("");
        let first = of(&format!("r-{ordinal}a"), true);
        starts(&first, "s1").unwrap();
        write("\"Bash(*)\"");
        if has_ended {
            first.note_end().unwrap();
        }
        let next = of(&format!("r-{ordinal}b"), is_held);
        is_asked_once(&next);
        next.note_end().unwrap();
        let later = of(&format!("r-{ordinal}c"), is_held);
        starts(&later, "s1").unwrap();
        later.note_end().unwrap();
    }
    // A change by the user after the end of a run does not count as an agent's.
    let first = of("r-8", true);
    starts(&first, "s1").unwrap();
    write("");
    first.note_end().unwrap();
    write("\"Bash(ls)\"");
    starts(&of("r-9", true), "s1").unwrap();
}

#[test]
fn settings_that_are_too_many_are_asked_about_at_each_start() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("work");
    let folder = tree.join(".claude/cache");
    fs::create_dir_all(&folder).unwrap();
    let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
    let held = HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::default());
    let starts = |phase: &str, session: &str| {
        held.expect_same(&tree, &PhaseId::new(phase), &SessionId::new(session), false)
    };
    starts("a", "a-1").unwrap();
    // They count again by each path that leads to them.
    (0..6_000).for_each(|ordinal| fs::write(folder.join(format!("f{ordinal}")), "").unwrap());
    std::os::unix::fs::symlink(".", folder.join("again")).unwrap();
    let named = |paths: &[String]| paths.iter().any(|path| path == ".claude: too many entries");
    let why = starts("b", "b-1").unwrap_err();
    assert!(matches!(&why, HeldFilesError::Changed(paths) if named(paths)), "{why}");
    starts("b", "b-2").unwrap();
    let why = starts("c", "c-1").unwrap_err();
    assert!(matches!(&why, HeldFilesError::TooMany(paths) if named(paths)), "{why}");
    assert!(why.needs_a_person());
    starts("c", "c-2").unwrap();
}

#[test]
fn a_note_of_a_host_before_leads_to_one_question() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("work");
    fs::create_dir_all(tree.join(".opencode/node_modules/dep")).unwrap();
    let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
    let held = HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::default());
    let starts = |session: &str| held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new(session), false);
    let accepted = BTreeMap::from([(".claude/tool".into(), "100755 5000000 1700000000".to_owned())]);
    let file = held.record_path(&tree);
    fs::create_dir_all(&held.folder).unwrap();
    write_record(&file, &HeldNote::of(accepted)).unwrap();
    let why = starts("a-1").unwrap_err();
    let paths = [".claude/tool", ".opencode/node_modules"];
    assert!(matches!(&why, HeldFilesError::Changed(found) if found == &paths), "{why}");
    starts("a-2").unwrap();
    starts("a-3").unwrap();
}

/// A run in `work` whose agents without a sandbox are started by these files, and its host.
fn host_of_started(place: &Path, files: &[&str], plan: Option<&str>) -> impl Fn() -> HeldFiles + use<> {
    let work = place.join("work");
    fs::create_dir_all(&work).unwrap();
    let mut workflow = Workflow::default();
    let mut confined = Role::of(AgentKind::Claude);
    confined.sandbox.level = SandboxLevel::Write;
    confined.sandbox.protect = files.iter().map(|file| work.join(file).display().to_string()).collect();
    workflow.roles.insert("weak".into(), confined);
    workflow.roles.insert("free".into(), Role::of(AgentKind::Claude));
    workflow.plan =
        plan.map(|plan| TickedPlan { path: work.join(plan).display().to_string(), boxes: Vec::new() });
    let state = StateDir::open(&place.join("state"), &work).unwrap();
    move || HeldFiles::of(&state, &RunId::new("r-7f"), true, StartedFiles::of(&workflow, &work))
}

/// An agent without a sandbox begins.
fn begins(held: &HeldFiles, tree: &Path, phase: &str, session: &str) -> Result<(), HeldFilesError> {
    held.expect_same(tree, &PhaseId::new(phase), &SessionId::new(session), false)
}

fn expect_refused(began: Result<(), HeldFilesError>, expected: &[&str], has_settings: bool) {
    let why = began.unwrap_err();
    assert!(why.needs_a_person());
    let HeldFilesError::StartChanged { with_settings, paths } = &why else { panic!("{why}") };
    assert_eq!(
        (paths.iter().map(String::as_str).collect::<Vec<_>>(), *with_settings),
        (expected.to_vec(), has_settings)
    );
}

// N6
#[test]
fn a_changed_file_by_which_an_agent_without_a_sandbox_is_started_is_asked_about_once() {
    let place = tempfile::tempdir().unwrap();
    let host =
        host_of_started(place.path(), &["agent.sh", "GNUmakefile", "agentd", "PLAN.md"], Some("PLAN.md"));
    let work = place.path().join("work");
    let write = |name: &str, content: &str| fs::write(work.join(name), content).unwrap();
    fs::create_dir(work.join("agentd")).unwrap();
    for name in ["agent.sh", "agentd/lib.py", "PLAN.md"] {
        write(name, "one");
    }
    host().note_start().unwrap();
    // The host ticks the plan, and Python compiles.
    write("PLAN.md", "- [x] one");
    fs::create_dir(work.join("agentd/__pycache__")).unwrap();
    write("agentd/__pycache__/lib.pyc", "");
    write("other.sh", "work");
    begins(&host(), &work, "a", "a-0").unwrap();
    let changes: [(&str, &dyn Fn()); 5] = [
        ("agent.sh", &|| write("agent.sh", "two")),
        ("GNUmakefile", &|| write("GNUmakefile", "new")),
        ("agentd/lib.py", &|| write("agentd/lib.py", "two")),
        ("agent.sh", &|| {
            write("other.sh", "two");
            fs::remove_file(work.join("agent.sh")).unwrap();
            std::os::unix::fs::symlink("other.sh", work.join("agent.sh")).unwrap();
        }),
        ("GNUmakefile", &|| fs::remove_file(work.join("GNUmakefile")).unwrap()),
    ];
    for (ordinal, (name, change)) in changes.into_iter().enumerate() {
        change();
        let again = format!("a-{ordinal}-again");
        // A confined agent may start: it runs them within its sandbox. An unconfined one starts in no phase.
        let (phase, session) = (PhaseId::new("w"), SessionId::new("w-1"));
        host().expect_same(&work, &phase, &session, true).unwrap();
        for (phase, session) in [("a", "a-1"), ("b", "b-1"), ("a", "a-1")] {
            expect_refused(begins(&host(), &work, phase, session), &[name], false);
        }
        begins(&host(), &work, "a", &again).unwrap();
        begins(&host(), &work, "b", "b-1").unwrap();
    }
    // The target of a link is the file that is run.
    write("other.sh", "three");
    expect_refused(begins(&host(), &work, "a", "a-9"), &["agent.sh"], false);
    // One question is about all that has changed.
    write(".mcp.json", "{}");
    expect_refused(begins(&host(), &work, "a", "a-9"), &["agent.sh", ".mcp.json"], true);
    begins(&host(), &work, "a", "a-10").unwrap();
}

// N6
#[test]
fn a_tree_that_is_made_on_the_way_is_started_from_as_the_workspace_was() {
    let place = tempfile::tempdir().unwrap();
    let host = host_of_started(place.path(), &["agent.sh", "ignored.sh"], None);
    let (work, part) = (place.path().join("work"), place.path().join("part"));
    fs::create_dir(&part).unwrap();
    let write = |tree: &Path, name: &str, content: &str| fs::write(tree.join(name), content).unwrap();
    write(&work, "agent.sh", "one");
    write(&work, "ignored.sh", "one");
    host().note_start().unwrap();
    write(&part, "agent.sh", "two");
    // A confined agent began there first.
    let (phase, session) = (PhaseId::new("p"), SessionId::new("p-0"));
    host().expect_same(&part, &phase, &session, true).unwrap();
    expect_refused(begins(&host(), &part, "p", "p-1"), &["agent.sh"], false);
    write(&part, "agent.sh", "one");
    begins(&host(), &part, "p", "p-1").unwrap();
    // Its command can name a file of the workspace.
    write(&work, "ignored.sh", "two");
    let whole = work.join("ignored.sh").display().to_string();
    expect_refused(begins(&host(), &part, "p", "p-2"), &[&whole], false);
    begins(&host(), &part, "p", "p-3").unwrap();
    // Who has accepted it for the workspace is not asked for the part.
    write(&work, "ignored.sh", "three");
    expect_refused(begins(&host(), &work, "w", "w-1"), &["ignored.sh"], false);
    begins(&host(), &work, "w", "w-2").unwrap();
    begins(&host(), &part, "p", "p-4").unwrap();
}

// N6
#[test]
fn a_run_that_an_older_host_began_is_held_to_what_stands_when_it_is_taken_up() {
    let place = tempfile::tempdir().unwrap();
    let host = host_of_started(place.path(), &["agent.sh"], None);
    let work = place.path().join("work");
    let held = host();
    fs::create_dir_all(&held.folder).unwrap();
    let old = r#"{"accepted": {}, "asked": {"a": {"session": "a-1", "settings": {}}}, "ended": {}, "left": {}, "is_held": true}"#;
    fs::write(held.record_path(&work), old).unwrap();
    fs::write(work.join("agent.sh"), "one").unwrap();
    held.note_start().unwrap();
    begins(&host(), &work, "a", "a-1").unwrap();
    fs::write(work.join("agent.sh"), "two").unwrap();
    expect_refused(begins(&host(), &work, "a", "a-2"), &["agent.sh"], false);
}

// N6
#[test]
fn files_are_held_where_some_agents_of_a_run_are_confined_and_others_are_not() {
    let place = tempfile::tempdir().unwrap();
    let of = |levels: &[SandboxLevel]| {
        let mut workflow = Workflow::default();
        for (ordinal, level) in levels.iter().enumerate() {
            let mut role = Role::of(AgentKind::Claude);
            role.sandbox.level = *level;
            workflow.roles.insert(format!("role-{ordinal}").as_str().into(), role);
        }
        workflow.protect(&[place.path().join("agent.sh").display().to_string(), "/etc/passwd".to_owned()]);
        StartedFiles::of(&workflow, place.path())
    };
    use SandboxLevel::{Off, Strict, Write};
    for levels in [&[Off, Off][..], &[Write, Strict], &[Strict], &[Off]] {
        assert!(of(levels).is_empty(), "{levels:?}");
    }
    for levels in [&[Off, Write][..], &[Strict, Off]] {
        assert!(!of(levels).is_empty(), "{levels:?}");
    }
    // Agents of such a run may change settings, and no file by which one without a sandbox is started.
    let tree = place.path().join("work");
    fs::create_dir(&tree).unwrap();
    let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
    let mut workflow = Workflow::default();
    workflow.roles.insert("free".into(), Role::of(AgentKind::Claude));
    let mut strict = Role::of(AgentKind::Claude);
    strict.sandbox.level = Strict;
    strict.sandbox.protect = vec!["agent.sh".to_owned()];
    workflow.roles.insert("strict".into(), strict);
    let held = HeldFiles::of(&state, &RunId::new("r-7f"), false, StartedFiles::of(&workflow, &tree));
    held.note_start().unwrap();
    fs::write(tree.join(".mcp.json"), "{}").unwrap();
    begins(&held, &tree, "a", "a-1").unwrap();
    fs::write(tree.join("agent.sh"), "new").unwrap();
    expect_refused(begins(&held, &tree, "a", "a-2"), &["agent.sh"], false);
    begins(&held, &tree, "a", "a-3").unwrap();
    held.note_end().unwrap();
}
