//! Filters and merge drivers of the user's own git settings run nothing that lies in the work tree.

use std::fs;
use std::path::Path;

use baton_core::WorktreeName;
use baton_workspace::{LandResult, WorktreeBase};

use super::commands::look;
use super::fixture::{WorktreesFixture, of_a_user};

#[tokio::test]
async fn a_filter_of_the_users_own_runs_no_file_of_the_tree() {
    // N6: `nbstripout --install --global` sets `python3 -m nbstripout`, and an agent wrote `nbstripout.py`.
    let user = "[filter \"by-path\"]\n\tclean = sh tools/c.sh\n\trequired = true\n\
                [merge \"by-path\"]\n\tdriver = sh tools/c.sh %A\n\
                [includeIf \"onbranch:evil\"]\n\tpath = more\n";
    if !of_a_user("user_filters::a_filter_of_the_users_own_runs_no_file_of_the_tree", user) {
        return;
    }
    let more = "[filter \"by-module\"]\n\tclean = python3 -m strip\n\tsmudge = cat\n";
    fs::write(Path::new(&std::env::var_os("HOME").unwrap()).join("more"), more).unwrap();
    let world = WorktreesFixture::new();
    let ran = world.dir.path().join("ran-of-tree");
    world.write("tools/c.sh", &format!("echo x >> {}\n", ran.display()));
    world.write("strip.py", &format!("open({:?}, 'w')\n", ran.display().to_string()));
    world.write(".gitattributes", "a.txt merge=by-path\n");
    world.commit("tools");
    // A merge continues without the driver.
    let base = world.checkpoint("20").await;
    let (a, b) = (world.begin("20a", &base).await, world.begin("20b", &base).await);
    a.write("a.txt", "ONE\ntwo\nthree\n");
    b.write("a.txt", "one\ntwo\nTHREE\n");
    world.merge(&a, "20").await;
    world.merge(&b, "20").await;
    assert!(matches!(world.land("20", &base, &[&a, &b]).await, LandResult::Landed { .. }));
    assert_eq!(world.read("a.txt").unwrap(), "ONE\ntwo\nTHREE\n");
    // What goes through a filter is not kept without it.
    world.git(&["checkout", "-q", "-b", "evil"]);
    for filter in ["by-path", "by-module"] {
        world.write(".gitattributes", &format!("s.txt filter={filter}\n"));
        world.write("s.txt", "secret");
        look(&world.root).await;
        let WorktreeBase::Shared { why } = world.base("21", &WorktreeName::workspace()).await else {
            panic!("not refused: {filter}")
        };
        let named = format!("s.txt goes through the filter {filter} of your git settings");
        assert!(why.contains(&named) && why.contains("absolute path"), "{why}");
    }
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
}
