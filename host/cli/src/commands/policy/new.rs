//! `baton policy new`: a crate with a policy that works, its tests, and the SDK and contract that this binary was built with.
//! Builds nothing.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_runtime::core::observation::Capability;
use clap::{Args, ValueEnum, ValueHint};
use include_dir::{Dir, include_dir};

use crate::exit::{Exit, Usage};
use crate::out;

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/rust");
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/src");
/// How the SDK is formatted: whoever formats the new crate leaves it as it is.
const SDK_STYLE: &str = include_str!("../../../../../rustfmt.toml");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../wit");

/// What the crates are built with, as the workspace has it.
const VERSIONS: [(&str, &str); 3] = [("insta", "1.49"), ("strsim", "0.11"), ("wit-bindgen", "0.61")];

/// Make a crate with a policy of your own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy new my-split --decides splitting
  baton policy new house-rules --decides exhaustion,handoff
  baton policy new everything

Then, in the new folder:
  cargo test                      natively; no WebAssembly is needed
  baton policy build              makes the component")]
pub(crate) struct NewArgs {
    /// The folder to make; its name is the policy's
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// What it decides; everything where nothing is said
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<Decides>,
    /// Depend on the SDK in this folder, instead of bringing a copy along
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    sdk: Option<PathBuf>,
}

/// A decision, as the command line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Decides {
    /// How is this session, or why did it stop?
    Exhaustion,
    /// Is it time to make room?
    Compaction,
    /// Is this scope too large?
    Splitting,
    /// What does the next session get?
    Handoff,
}

impl Decides {
    pub(super) fn capability(self) -> Capability {
        match self {
            Decides::Exhaustion => Capability::Exhaustion,
            Decides::Compaction => Capability::Compaction,
            Decides::Splitting => Capability::Splitting,
            Decides::Handoff => Capability::Handoff,
        }
    }

    fn name(self) -> &'static str {
        self.capability().name()
    }
}

pub(super) fn new(args: NewArgs) -> anyhow::Result<Exit> {
    let name = crate_name(&args.folder)?;
    let decides: Vec<&str> = match args.decides.as_slice() {
        [] => Decides::value_variants().iter().map(|decides| decides.name()).collect(),
        some => {
            let mut some = some.to_vec();
            some.sort();
            some.dedup();
            some.into_iter().map(Decides::name).collect()
        }
    };
    let sdk = match &args.sdk {
        Some(folder) => Some(
            folder
                .canonicalize()
                .map_err(|error| Usage(format!("there is no SDK in {}: {error}", folder.display())))?,
        ),
        None => None,
    };
    if std::fs::read_dir(&args.folder).is_ok_and(|mut files| files.next().is_some()) || args.folder.is_file()
    {
        let folder = args.folder.display();
        return Err(
            Usage(format!("{folder} is there already; name a folder that is not, or an empty one")).into()
        );
    }
    let files = files(&name, &decides, sdk.as_deref());
    write(&args.folder, &files).with_context(|| format!("making {}", args.folder.display()))?;
    let folder = args.folder.display();
    out::progress(&format!(
        "made {folder}: a policy that decides {}\n\n  cd {folder}\n  cargo test\n  baton policy build",
        listed(&decides)
    ));
    Ok(Exit::Done)
}

/// The name of the crate, from that of its folder.
fn crate_name(folder: &Path) -> anyhow::Result<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
        && name != "baton-sdk";
    match fits {
        true => Ok(name),
        false => Err(Usage(format!(
            "{name:?} cannot be the name of a crate; use small letters, digits and dashes, like my-split"
        ))
        .into()),
    }
}

/// "splitting", "splitting and handoff", "exhaustion, splitting and handoff".
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., second_last, last] => {
            let first: String = first.iter().map(|word| format!("{word}, ")).collect();
            format!("{first}{second_last} and {last}")
        }
        words => words.concat(),
    }
}

/// Every file of the crate, by its path in it.
fn files(name: &str, decides: &[&str], sdk: Option<&Path>) -> Vec<(PathBuf, String)> {
    let each = |line: &dyn Fn(&str) -> String, between: &str| {
        decides.iter().map(|decision| line(decision)).collect::<Vec<_>>().join(between)
    };
    let kind: String = name
        .split(['-', '_'])
        .map(|word| {
            word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>()
        })
        .collect();
    // In the order in which rustfmt has them.
    let mut modules: Vec<String> = decides.iter().map(|decision| format!("mod {decision};\n")).collect();
    modules.sort();
    let mut words = vec![
        ("name", name.to_owned()),
        ("crate", name.replace('-', "_")),
        ("Type", kind),
        ("decides", listed(decides)),
        ("modules", modules.concat()),
        ("settings", each(&|decision| format!("schema.extend({decision}::settings());"), "\n        ")),
        ("exports", each(&str::to_owned, ", ")),
        ("policies", each(&|decision| format!("{decision} = \"{name}.wasm\""), "\n")),
        ("sdk", sdk.map_or_else(|| "sdk".to_owned(), |folder| folder.display().to_string())),
        ("sdk-version", env!("CARGO_PKG_VERSION").to_owned()),
        ("rust-version", env!("CARGO_PKG_RUST_VERSION").to_owned()),
        ("license", env!("CARGO_PKG_LICENSE").to_owned()),
    ];
    words.extend(VERSIONS.map(|(name, version)| (name, version.to_owned())));
    let fill = |text: &str| {
        words
            .iter()
            .fold(text.to_owned(), |text, (word, value)| text.replace(&format!("{{{{{word}}}}}"), value))
    };
    let unused: Vec<&str> = Decides::value_variants()
        .iter()
        .map(|decides| decides.name())
        .filter(|decision| !decides.contains(decision))
        .collect();
    let mut files = Vec::new();
    for (path, text) in texts(&TEMPLATE) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let of_unused = |decision: &&str| stem == **decision || stem.starts_with(&format!("{decision}__"));
        if unused.iter().any(of_unused) {
            continue;
        }
        let path = match path.to_string_lossy().as_ref() {
            "gitignore" => PathBuf::from(".gitignore"),
            "sdk.toml" => PathBuf::from("sdk/Cargo.toml"),
            _ => path,
        };
        files.push((path, fill(text)));
    }
    if sdk.is_some() {
        files.retain(|(path, _)| !path.starts_with("sdk"));
    } else {
        let bring = |below: &'static str, dir| {
            texts(dir).into_iter().map(move |(path, text)| (Path::new(below).join(path), text.to_owned()))
        };
        files.extend(bring("sdk/src", &SDK).chain(bring("wit", &WIT)));
        files.push((PathBuf::from("sdk/rustfmt.toml"), SDK_STYLE.to_owned()));
    }
    files
}

/// The text files of an embedded folder, with those of the folders in it.
fn texts(dir: &Dir<'static>) -> Vec<(PathBuf, &'static str)> {
    let own = dir.files().filter_map(|file| Some((file.path().to_owned(), file.contents_utf8()?)));
    own.chain(dir.dirs().flat_map(texts)).collect()
}

/// All of it or nothing: beside the place first, then moved there.
fn write(folder: &Path, files: &[(PathBuf, String)]) -> std::io::Result<()> {
    let part = folder.with_extension("part");
    if part.exists() {
        std::fs::remove_dir_all(&part)?;
    }
    for (path, text) in files {
        let path = part.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    if folder.exists() {
        std::fs::remove_dir(folder)?;
    }
    std::fs::rename(part, folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_is_built_with_what_the_workspace_is_built_with() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
        let workspace = std::fs::read_to_string(manifest).unwrap();
        for (name, version) in VERSIONS {
            let lines = [format!("{name} = \"{version}\""), format!("{name} = {{ version = \"{version}\"")];
            assert!(lines.iter().any(|line| workspace.contains(line)), "{name} {version}");
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for decides in [&["splitting"][..], &["exhaustion", "compaction", "splitting", "handoff"]] {
            for (path, text) in files("my-split", decides, None) {
                let is_template = !path.starts_with("sdk/src") && !path.starts_with("wit");
                assert!(!is_template || !text.contains("{{"), "{}: {text}", path.display());
            }
        }
    }

    #[test]
    fn one_decision_brings_the_files_of_one() {
        let paths: Vec<String> = files("my-split", &["splitting"], None)
            .into_iter()
            .map(|(path, _)| path.display().to_string())
            .filter(|path| !path.starts_with("sdk/src") && !path.starts_with("wit"))
            .collect();
        insta::assert_snapshot!("files_of_a_splitter", paths.join("\n"));
    }

    #[test]
    fn a_name_that_is_no_crate_is_refused() {
        for name in ["My", "1st", "a b", "", "baton-sdk", "über"] {
            let error = crate_name(Path::new(name)).unwrap_err();
            assert_eq!(Exit::of_error(&error), Exit::Usage, "{name}");
        }
        assert_eq!(crate_name(Path::new("/tmp/my-split")).unwrap(), "my-split");
    }
}
