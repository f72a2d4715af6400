//! What README shows of the lab is what its commands print, to the letter: the simulation, its picture, and the import. What a
//! live run shows there has times in it, and is held elsewhere.

use std::path::{Path, PathBuf};

use crate::support::Stage;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The words of the command in README that begins so, with examples where they really are, and what is shown below it until
/// something is left out, or the block ends.
fn session(command: &str) -> (Vec<String>, String) {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let from = readme.find(&format!("$ baton {command}")).expect("README shows it");
    let mut lines = readme[from..].lines();
    let mut words = String::new();
    for line in lines.by_ref() {
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        words.push_str(part);
        if !goes_on {
            break;
        }
    }
    let shown: Vec<&str> =
        lines.take_while(|line| !line.starts_with('…') && !line.starts_with("```")).collect();
    let words = words.split_whitespace().skip(2);
    let place = |word: &str| match word.starts_with("host/") {
        true => root().join(word).display().to_string(),
        false => word.to_owned(),
    };
    (words.map(place).collect(), shown.join("\n"))
}

fn said(arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Stage::new().baton(&arguments).expect(0).stdout
}

// M5
#[test]
fn the_simulation_and_its_picture_are_what_the_command_gives() {
    let (command, shown) = session("simulate");
    let printed = said(&command);
    assert!(shown.lines().count() > 20, "{shown}");
    assert!(printed.starts_with(&format!("{shown}\n")), "README shows:\n{shown}\n\nprinted is:\n{printed}");

    let drawn = said(&[command, vec!["--format".into(), "svg".into()]].concat());
    let picture = std::fs::read_to_string(root().join("host/cli/examples/report.svg")).unwrap();
    assert_eq!(drawn, picture);
}

// M5
#[test]
fn the_import_is_what_the_command_gives() {
    let (command, shown) = session("import host");
    let printed = said(&command);
    // The place of this stage stands behind the last line.
    assert!(
        shown.lines().count() > 5 && printed.starts_with(&shown),
        "README shows:\n{shown}\n\nprinted is:\n{printed}"
    );
}
