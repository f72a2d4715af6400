//! An index that an agent has written itself says nothing of files.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::fixture::WorktreesFixture;

/// The SHA-1 that closes an index.
fn checksum(bytes: &[u8]) -> Vec<u8> {
    let mut sum = Command::new("sha1sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sum.stdin.take().unwrap().write_all(bytes).unwrap();
    let said = String::from_utf8(sum.wait_with_output().unwrap().stdout).unwrap();
    unhexed(said.split(' ').next().unwrap())
}

fn unhexed(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The entry of a file gets the id of other content; what is noted of the file on disk stays.
fn forge(world: &WorktreesFixture, file: &str, id: &str) {
    let place = world.root.join(".git/index");
    let now = unhexed(world.git(&["rev-parse", &format!(":{file}")]).trim());
    let index = std::fs::read(&place).unwrap();
    let at = index.windows(now.len()).position(|bytes| bytes == now).unwrap();
    let mut forged = index[..index.len() - 20].to_vec();
    forged.splice(at..at + now.len(), unhexed(id));
    let sum = checksum(&forged);
    forged.extend(sum);
    std::fs::write(place, forged).unwrap();
}

#[tokio::test]
async fn a_forged_index_hides_no_change_and_makes_none_up() {
    // N6
    let world = WorktreesFixture::new();
    let id = |world: &WorktreesFixture, spec: &str| world.git(&["rev-parse", spec]).trim().to_owned();
    let (old, other) = (id(&world, "HEAD:a.txt"), id(&world, "HEAD:.gitignore"));
    world.trees.note_repository().await.unwrap();
    world.write("a.txt", "one\ntwo\nEVIL\n");
    // What is noted of a file in the second in which the index is written is not believed by git itself.
    std::thread::sleep(Duration::from_millis(1_100));
    world.git(&["add", "a.txt"]);
    std::thread::sleep(Duration::from_millis(1_100));
    world.git(&["update-index", "-q", "--really-refresh"]);
    forge(&world, "a.txt", &old);
    forge(&world, "src/b.txt", &other);
    assert!(!world.status().contains(" M a.txt"), "git itself is deceived: {}", world.status());

    let base = world.checkpoint("20").await;
    assert_eq!(world.git(&["show", &format!("{base}:a.txt")]), "one\ntwo\nEVIL");
    assert_eq!(world.git(&["show", &format!("{base}:src/b.txt")]), "b");
}
