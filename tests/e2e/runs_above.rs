//! A run in a folder above changes what a run below reads or runs: the next one asks, whichever workspace it has (N6).

use std::fs;

use crate::support::TestWorkspace;
use crate::task_sources::baton;

/// How the folder above has the files of the workflow below.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Listing {
    Plain,
    Repository,
    Ignored,
    OtherRepository,
}

// N6
#[test]
fn what_a_run_in_a_folder_above_changes_is_asked_about() {
    for listing in [Listing::Plain, Listing::Repository, Listing::Ignored, Listing::OtherRepository] {
        let mut stage = TestWorkspace::new();
        let top = stage.workspace.clone();
        let below = top.join("flows/work");
        fs::create_dir_all(&below).unwrap();
        let write = |name: &str, text: &str| fs::write(top.join(name), text).unwrap();
        let job = |name: &str| {
            format!(
                "name = \"{name}\"\nagent = \"process:sh agent.sh\"\n[[phases]]\ntitle = \"One\"\ndo = [\"Write `a.txt`\"]\n"
            )
        };
        let does =
            |more: &str| format!("cat > /dev/null\necho x >> a.txt\n{more}\necho 'Done: write-a-txt'\n");
        write("flows/job.toml", &job("job"));
        write("flows/work/agent.sh", &does(""));
        write("top.toml", &job("top"));
        write("agent.sh", &does(""));
        if listing == Listing::OtherRepository {
            stage.workspace = top.join("flows");
            stage.make_repository();
            stage.workspace.clone_from(&top);
        }
        if listing != Listing::Plain {
            write(".gitignore", if listing == Listing::Ignored { "flows\n" } else { "" });
            stage.make_repository();
        }
        let mut run = |above: bool, flags: &[&str]| {
            stage.workspace.clone_from(if above { &top } else { &below });
            let file = if above { "top.toml" } else { "../job.toml" };
            baton(&stage, &[&["run", file][..], flags].concat())
        };
        run(false, &[]).expect(0);
        // A run above that leaves it alone, and what a person writes after it.
        run(true, &[]).expect(0);
        write("flows/job.toml", &format!("{}verify = \"touch mine\"\n", job("job")));
        run(false, &[]).expect(0);
        assert!(below.join("mine").exists(), "{listing:?}");
        write("flows/job.toml", &job("job"));
        let changes = [
            ("echo 'verify = \"touch ran\"' >> flows/job.toml", "job.toml"),
            ("echo '# more' >> flows/work/agent.sh", "agent.sh"),
        ];
        // Which file it is, makes no difference to how the folder above has it.
        let tried = if listing == Listing::Plain { &changes[..] } else { &changes[..1] };
        for &(change, named) in tried {
            write("agent.sh", &does(change));
            run(true, &["--accept-changes"]).expect(0);
            let refused = run(false, &[]).expect(2);
            let of_top = format!(" of {} worked", top.canonicalize().unwrap().display());
            refused.says(&[named, "changed while run", &of_top, "--accept-changes"]);
            assert!(!below.join("ran").exists(), "{listing:?}");
            // Once a person has accepted it, it is theirs.
            write("flows/job.toml", &job("job"));
            run(false, &["--accept-changes"]).expect(0);
        }
    }
}
