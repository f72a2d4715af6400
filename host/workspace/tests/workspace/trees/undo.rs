//! What a run landed, taken back.

use baton_workspace::{LandResult, UndoChangeKind, UndoOutcome, UndoSummary};

use super::fixture::WorktreesFixture;

async fn undo(world: &WorktreesFixture) -> UndoSummary {
    match world.trees.undo(false).await.unwrap() {
        UndoOutcome::Undone(undone) => undone,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_branch_moves_back_over_every_landing() {
    // D3: baton undo
    let mut world = WorktreesFixture::new();
    let (before, head) = (world.files(), world.git(&["rev-parse", "HEAD"]));
    for phase in ["20", "21"] {
        let landing = world.split(phase, |a, b| {
            a.write(&format!("new-{phase}.txt"), "new");
            b.write("a.txt", phase);
        });
        assert!(matches!(landing.await, LandResult::Landed { committed: true, .. }));
    }
    let landed = world.git(&["rev-parse", "HEAD"]);
    let everything = world.everything();
    let UndoOutcome::Undone(planned) = world.trees.undo(true).await.unwrap() else { panic!() };
    assert_eq!(world.everything(), everything, "a look changes nothing");
    let undone = undo(&world).await;
    assert_eq!(UndoSummary { kept: String::new(), ..undone.clone() }, planned);
    assert_eq!(undone.phases, ["21", "20"]);
    let moved = undone.branch.unwrap();
    assert_eq!(
        (moved.name.as_str(), moved.from.as_str(), moved.to.as_str()),
        ("main", landed.as_str(), head.as_str())
    );
    let kinds: Vec<_> = undone.files.iter().map(|file| (file.path.as_str(), file.kind)).collect();
    let expected = [
        ("a.txt", UndoChangeKind::Reverted),
        ("new-20.txt", UndoChangeKind::Removed),
        ("new-21.txt", UndoChangeKind::Removed),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(
        (world.files(), world.status(), world.git(&["rev-parse", "HEAD"])),
        (before, String::new(), head)
    );
    assert_eq!(world.git(&["show", &format!("{}:new-21.txt", undone.kept)]), "new");
    world.restart();
    assert_eq!(world.trees.undo(false).await.unwrap(), UndoOutcome::Nothing);
}

#[tokio::test]
async fn what_came_after_it_stays() {
    let world = WorktreesFixture::new();
    world
        .split("20", |a, b| {
            a.write("new.txt", "new");
            b.write("a.txt", "ONE\ntwo\nthree\n");
        })
        .await;
    world.write("a.txt", "ONE\ntwo\nthree\nmine\n");
    world.write("mine.txt", "mine");
    world.commit("mine");
    let head = world.git(&["rev-parse", "HEAD"]);
    let undone = undo(&world).await;
    assert_eq!(undone.branch, None);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.status(), " M a.txt\n D new.txt");
    assert_eq!(world.read("a.txt").unwrap(), "one\ntwo\nthree\nmine\n");
    assert_eq!(world.trees.undo(false).await.unwrap(), UndoOutcome::Nothing);
}

#[tokio::test]
async fn uncommitted_work_from_before_is_as_it_was() {
    let world = WorktreesFixture::new();
    world.write("a.txt", "one\ntwo\nthree\nmine\n");
    world.write("untracked.txt", "mine");
    let before = world.everything();
    let landing = world.split("20", |a, b| {
        a.write("a.txt", "ONE\ntwo\nthree\nmine\n");
        b.remove("untracked.txt");
    });
    assert!(matches!(landing.await, LandResult::Landed { committed: false, .. }));
    undo(&world).await;
    assert_eq!(world.everything(), before);
}

#[tokio::test]
async fn what_does_not_fit_is_named_and_nothing_changes() {
    let world = WorktreesFixture::new();
    world
        .split("20", |a, b| {
            a.write("new.txt", "new");
            b.write("a.txt", "ONE\ntwo\nthree\n");
        })
        .await;
    world.write("a.txt", "ONE!\ntwo\nthree\n");
    let before = world.everything();
    let refused = world.trees.undo(false).await.unwrap();
    assert_eq!(refused, UndoOutcome::Conflicted { files: vec!["a.txt".into()] });
    assert_eq!(world.everything(), before);
    world.write("a.txt", "ONE\ntwo\nthree\n");
    assert_eq!(
        undo(&world).await.branch.map(|moved| moved.name).as_deref(),
        Some("main"),
        "once it fits, it goes"
    );
}

#[tokio::test]
async fn an_undo_that_a_crash_cut_short_is_finished() {
    let mut world = WorktreesFixture::new();
    let (before, head) = (world.files(), world.git(&["rev-parse", "HEAD"]));
    world
        .split("20", |a, b| {
            a.write("new.txt", "new");
            b.write("a.txt", "A\n");
        })
        .await;
    let landed = world.git(&["rev-parse", "HEAD"]);
    undo(&world).await;
    world.forget_ref("undo/1/done");
    world.forget_ref("landed/1/undone");
    world.git(&["reset", "-q", "--hard", &landed]);
    world.write("a.txt", "one\ntwo\nthree\n");
    world.restart();
    world.trees.undo(false).await.unwrap();
    assert_eq!(
        (world.files(), world.status(), world.git(&["rev-parse", "HEAD"])),
        (before, String::new(), head)
    );
}

#[tokio::test]
async fn where_nothing_landed_there_is_nothing_to_take_back() {
    let world = WorktreesFixture::new();
    assert_eq!(world.trees.undo(false).await.unwrap(), UndoOutcome::Nothing);
    world.checkpoint("20").await;
    assert_eq!(world.trees.undo(false).await.unwrap(), UndoOutcome::Nothing);
    let plain = WorktreesFixture::at("plain");
    std::fs::remove_dir_all(plain.root.join(".git")).unwrap();
    assert_eq!(plain.trees.undo(false).await.unwrap(), UndoOutcome::Nothing);
}
