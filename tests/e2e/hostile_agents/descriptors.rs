//! An agent that looks for descriptors that the host left open.

use super::job_of_shell;

#[test]
fn an_agent_has_its_streams_and_nothing_of_the_host() {
    let stage = job_of_shell("ls -l /proc/self/fd > descriptors; echo done > a.txt; echo 'Done: a'", "");
    stage.baton(&["run", "job.toml"]).expect(0);
    let listed = stage.read("descriptors");
    let descriptors = listed.lines().filter_map(|line| line.split_once(" -> "));
    let beyond_streams = descriptors.filter_map(|(what, target)| {
        let number: u32 = what.rsplit(' ').next()?.parse().ok()?;
        (number > 2).then_some(target)
    });
    // The last one is the folder that is being listed.
    let leaked: Vec<_> =
        beyond_streams.filter(|target| *target != "/dev/null" && !target.starts_with("/proc/")).collect();
    assert!(leaked.is_empty() && listed.contains(" 1 -> ") && !listed.contains("pagemap"), "{listed}");
}
