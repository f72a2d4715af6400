//! `baton policy new`: a crate with a policy that works, its tests, and the SDK and contract that this binary was built with;
//! with `--extends`, the sources of the built-in policy as well. Builds nothing.

mod languages;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_runtime::core::observation::Capability;
use clap::{Args, ValueEnum, ValueHint};
use include_dir::{Dir, include_dir};
use serde_json::json;

use crate::args::OutputFormatArg;
use crate::exit_status::{CliExit, UsageError};
use crate::render::json_record;
use crate::stdio;

use languages::PolicyLanguage;

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/rust");
/// The own files of a crate that extends the built-in policy; [`SHARED`] is as in every crate.
static EXTENDS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/templates/extends");
/// The files of [`TEMPLATE`] that do not depend on the kind of decision and policy.
const SHARED: [&str; 4] = ["Cargo.toml", "gitignore", "sdk.toml", "tests/golden.rs"];
/// The built-in policy, as a library.
static RESILIENCE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../policies/resilience/src");
/// Its name. No other policy can be extended: only this one is part of the binary.
const BUILT_IN: &str = "resilience";
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../sdk/src");
/// How the SDK is formatted, so that `cargo fmt` in the new crate changes nothing.
const SDK_STYLE: &str = include_str!("../../../../../rustfmt.toml");
/// The guide of the SDK, which is copied with the SDK.
const SDK_GUIDE: &str = include_str!("../../../../../sdk/README.md");
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../wit");

/// The dependencies of the crates, in the versions of the workspace.
const VERSIONS: [(&str, &str); 3] = [("proptest", "1.12"), ("serde_json", "1"), ("wit-bindgen", "0.61")];

/// The contract as one file: the one that names the package comes first.
pub(super) fn print_contract() -> anyhow::Result<CliExit> {
    stdio::data(&contract())?;
    Ok(CliExit::Done)
}

fn contract() -> String {
    let mut files: Vec<&str> = WIT.files().filter_map(|file| file.contents_utf8()).collect();
    files.sort_by_key(|text| !names_package(text));
    files.join("\n")
}

fn names_package(wit: &str) -> bool {
    wit.lines().any(|line| line.starts_with("package "))
}

/// Names that a crate cannot have: words of the language, crates that the new one has already, and words of the SDK.
const RESERVED_NAMES: &str = "\
    abstract alloc as async await baton-policy-resilience baton-sdk baton_policy_resilience baton_sdk become box break \
    budgeting compaction completion const continue core crate do dyn else enum exhaustion extern false final fn for gen \
    handoff if impl in let loop macro match mod move mut offloading override priv proc_macro prompting proptest pub recovery \
    ref return review schema self settings splitting static std struct super test trait true try type typeof unsafe unsized \
    use virtual where while yield";

/// Types that every module has, in addition to those that the template names.
const PRELUDE: &[&str] = &["Box", "Err", "None", "Ok", "Option", "Result", "Self", "Some", "String", "Vec"];

/// Create a crate for a policy of your own
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy new my-split --decides splitting
  baton policy new house-rules --decides exhaustion,prompting
  baton policy new everything
  baton policy new house-style --extends resilience --decides prompting,exhaustion
  baton policy new my-split --decides splitting --language python
  baton policy new my-split --decides splitting --language c

Then, in the new folder:
  cargo test                      natively; no WebAssembly is needed
  baton policy build              makes the component")]
pub(crate) struct NewArgs {
    /// The folder to create; its name is the policy's name
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// What it decides [default: everything]
    #[arg(long, value_name = "DECISION", value_delimiter = ',')]
    decides: Vec<CapabilityArg>,
    /// Build on the built-in policy: ask `resilience` first, and change or add one thing
    #[arg(long, value_name = "POLICY")]
    extends: Option<String>,
    /// Language of the policy
    #[arg(long, value_name = "LANGUAGE", value_enum, default_value_t)]
    language: PolicyLanguage,
    /// Depend on the SDK in this folder, instead of including a copy
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    sdk: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// A decision, as the command line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum CapabilityArg {
    /// How is this session, or why did it stop?
    Exhaustion,
    /// Are the objectives of a prompt done?
    Completion,
    /// What to do about a session that is not well?
    Recovery,
    /// Is it time to make room?
    Compaction,
    /// Which large items need not lie in the context?
    Offloading,
    /// Is this scope too large?
    Splitting,
    /// How many turns may it take?
    Budgeting,
    /// What is the next message to an agent?
    Prompting,
    /// What does a session leave to the next?
    Handoff,
    /// Is a handoff fit to start a successor?
    Review,
}

impl CapabilityArg {
    pub(crate) fn capability(self) -> Capability {
        match self {
            CapabilityArg::Exhaustion => Capability::Exhaustion,
            CapabilityArg::Completion => Capability::Completion,
            CapabilityArg::Recovery => Capability::Recovery,
            CapabilityArg::Compaction => Capability::Compaction,
            CapabilityArg::Offloading => Capability::Offloading,
            CapabilityArg::Splitting => Capability::Splitting,
            CapabilityArg::Budgeting => Capability::Budgeting,
            CapabilityArg::Prompting => Capability::Prompting,
            CapabilityArg::Handoff => Capability::Handoff,
            CapabilityArg::Review => Capability::Review,
        }
    }

    /// Those that a command line names, in its order.
    pub(crate) fn capabilities(named: &[Self]) -> Vec<Capability> {
        named.iter().map(|decides| decides.capability()).collect()
    }

    fn name(self) -> &'static str {
        self.capability().name()
    }
}

pub(super) fn new(args: NewArgs) -> anyhow::Result<CliExit> {
    let name = crate_name(&args.folder)?;
    let decides: Vec<&str> = match args.decides.as_slice() {
        [] => CapabilityArg::value_variants().iter().map(|decides| decides.name()).collect(),
        some => {
            let mut some = some.to_vec();
            some.sort();
            some.dedup();
            some.into_iter().map(CapabilityArg::name).collect()
        }
    };
    let extends = is_extension(args.extends.as_deref(), args.language)?;
    let sdk = match &args.sdk {
        Some(folder) => Some(
            folder
                .canonicalize()
                .map_err(|error| UsageError(format!("there is no SDK in {}: {error}", folder.display())))?,
        ),
        None => None,
    };
    if std::fs::read_dir(&args.folder).is_ok_and(|mut files| files.next().is_some()) || args.folder.is_file()
    {
        let folder = args.folder.display();
        return Err(UsageError(format!("{folder} exists already; name a new or empty folder")).into());
    }
    let files = match (args.language, &sdk) {
        (PolicyLanguage::Rust, _) => files(&name, &decides, sdk.as_deref(), extends),
        (_, Some(_)) => {
            return Err(UsageError("--sdk is for --language rust; other languages need no SDK".into()).into());
        }
        (language, None) => languages::files(language, &name, &decides),
    };
    write(&args.folder, &files).with_context(|| format!("making {}", args.folder.display()))?;
    let folder = args.folder.display();
    let next = args.language.next();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "policy-new",
        "policy": name,
        "folder": args.folder.to_string_lossy(),
        "decides": decides,
        "extends": extends.then_some(BUILT_IN),
        "next": next,
    });
    if !json_record::write(args.format.format, &document)? {
        let next: String = next.iter().map(|command| format!("\n  {command}")).collect();
        let decides = listed(&decides);
        let what = if extends { format!("extends {BUILT_IN} and decides") } else { "decides".to_owned() };
        stdio::progress(&format!("made {folder}: a policy that {what} {decides}\n\n  cd {folder}{next}"));
    }
    Ok(CliExit::Done)
}

/// Whether the built-in policy is to be extended. Another one cannot be, nor can it be in another language than its own.
fn is_extension(extends: Option<&str>, language: PolicyLanguage) -> anyhow::Result<bool> {
    let Some(policy) = extends else { return Ok(false) };
    if policy.strip_prefix("builtin:").unwrap_or(policy) != BUILT_IN {
        return Err(UsageError(format!(
            "--extends {policy}: only the built-in policy can be extended; write --extends {BUILT_IN}. Any other \
             policy can follow your own in a list of the workflow, like splitting = [\"my.wasm\", \"other.wasm\"]"
        ))
        .into());
    }
    if language != PolicyLanguage::Rust {
        return Err(UsageError(format!(
            "--extends {BUILT_IN} works with --language rust only, since {BUILT_IN} is a Rust library; a policy in another \
             language can abstain and leave the answer to it, like prompting = [\"my.wasm\", \"builtin:{BUILT_IN}\"]"
        ))
        .into());
    }
    Ok(true)
}

/// The name of the crate, from that of its folder.
fn crate_name(folder: &Path) -> anyhow::Result<String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let fits = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    if !fits {
        return Err(UsageError(format!(
            "{name:?} cannot be the name of a crate; use small letters, digits and dashes, like my-split"
        ))
        .into());
    }
    if RESERVED_NAMES.split(' ').any(|taken| taken == name) {
        return Err(UsageError(format!(
            "{name:?} is reserved by Rust or by the SDK; add a word, like my-{name}"
        ))
        .into());
    }
    Ok(name)
}

/// The name of the type that is the policy. One that the template has a use for already gets a word more.
fn type_name(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    let kind: String = name.split(['-', '_']).map(capital).collect();
    let is_word =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == kind);
    let mut templates = [&TEMPLATE, &EXTENDS].into_iter().flat_map(texts);
    if PRELUDE.contains(&kind.as_str()) || templates.any(|(_, text)| is_word(text)) {
        return kind + "Policy";
    }
    kind
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
fn files(name: &str, decides: &[&str], sdk: Option<&Path>, extends: bool) -> Vec<(PathBuf, String)> {
    let each = |line: &dyn Fn(&str) -> String, between: &str| {
        decides.iter().map(|decision| line(decision)).collect::<Vec<_>>().join(between)
    };
    // In the order in which rustfmt has them.
    let mut modules: Vec<String> = decides.iter().map(|decision| format!("mod {decision};\n")).collect();
    modules.sort();
    let sdk_folder = sdk.map_or_else(|| "sdk".to_owned(), |folder| folder.display().to_string());
    let sdk_beside = sdk.map_or_else(|| "../sdk".to_owned(), |folder| folder.display().to_string());
    let extended = format!(
        "# The built-in policy, as a library: without the feature `export` it exports nothing.\n\
         baton-policy-{BUILT_IN} = {{ path = \"{BUILT_IN}\", default-features = false }}\n"
    );
    let mut words = vec![
        ("name", name.to_owned()),
        ("crate", name.replace('-', "_")),
        ("Type", type_name(name)),
        ("decides", listed(decides)),
        ("modules", modules.concat()),
        ("settings", each(&|decision| format!("schema.extend({decision}::settings());"), "\n        ")),
        ("exports", each(&str::to_owned, ", ")),
        ("policies", each(&|decision| format!("{decision} = \"{name}.wasm\""), "\n")),
        ("guide", format!("{sdk_folder}/README.md")),
        ("extended", if extends { extended } else { String::new() }),
        ("sdk", sdk_folder),
        ("sdk-beside", sdk_beside),
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
    let unused: Vec<&str> = CapabilityArg::value_variants()
        .iter()
        .map(|decides| decides.name())
        .filter(|decision| !decides.contains(decision))
        .collect();
    let is_shared = |path: &Path| SHARED.iter().any(|shared| path == Path::new(shared));
    let mut template = texts(&TEMPLATE);
    if extends {
        template.retain(|(path, _)| is_shared(path));
        template.extend(texts(&EXTENDS));
    }
    let mut files = Vec::new();
    for (path, text) in template {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let of_unused = |decision: &&str| stem == **decision || stem.starts_with(&format!("{decision}-"));
        if unused.iter().any(of_unused) {
            continue;
        }
        let path = match path.to_string_lossy().as_ref() {
            "gitignore" => PathBuf::from(".gitignore"),
            "sdk.toml" => PathBuf::from("sdk/Cargo.toml"),
            "resilience.toml" => PathBuf::from("resilience/Cargo.toml"),
            _ => path,
        };
        files.push((path, fill(text)));
    }
    let bring = |below: &'static str, dir| {
        texts(dir).into_iter().map(move |(path, text)| (Path::new(below).join(path), text.to_owned()))
    };
    if extends {
        files.extend(bring("resilience/src", &RESILIENCE));
        files.push((PathBuf::from("resilience/rustfmt.toml"), SDK_STYLE.to_owned()));
    }
    if sdk.is_some() {
        files.retain(|(path, _)| !path.starts_with("sdk"));
    } else {
        files.extend(
            bring("sdk/src", &SDK)
                .chain(bring("wit", &WIT).filter(|(path, _)| !path.starts_with("wit/released"))),
        );
        files.push((PathBuf::from("sdk/rustfmt.toml"), SDK_STYLE.to_owned()));
        files.push((PathBuf::from("sdk/README.md"), SDK_GUIDE.to_owned()));
    }
    files
}

/// The text files of an embedded folder, with those of the folders in it.
fn texts(dir: &Dir<'static>) -> Vec<(PathBuf, &'static str)> {
    let own = dir.files().filter_map(|file| Some((file.path().to_owned(), file.contents_utf8()?)));
    own.chain(dir.dirs().flat_map(texts)).collect()
}

/// All of it or nothing: written next to the target first, then moved there.
fn write(folder: &Path, files: &[(PathBuf, String)]) -> std::io::Result<()> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let part = folder.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = write_into(&part, files).and_then(|()| {
        if folder.exists() {
            std::fs::remove_dir(folder)?;
        }
        std::fs::rename(&part, folder)
    });
    if written.is_err() {
        // The error is reported; what is left of the folder would only be in the way.
        let _ = std::fs::remove_dir_all(&part);
    }
    written
}

fn write_into(folder: &Path, files: &[(PathBuf, String)]) -> std::io::Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(())
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
            for extends in [false, true] {
                for (path, text) in files("my-split", decides, None, extends) {
                    assert!(is_brought(&path) || !text.contains("{{"), "{}: {text}", path.display());
                }
            }
        }
    }

    /// The file is copied from the sources of Baton as it is.
    fn is_brought(path: &Path) -> bool {
        ["sdk/src", "resilience/src", "wit"].iter().any(|folder| path.starts_with(folder))
    }

    fn paths(decides: &[&str], extends: bool) -> String {
        let files = files("my-split", decides, None, extends).into_iter();
        let paths = files.map(|(path, _)| path).filter(|path| !is_brought(path));
        paths.map(|path| path.display().to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn one_decision_brings_the_files_of_one() {
        insta::assert_snapshot!("files_of_a_splitter", paths(&["splitting"], false));
        insta::assert_snapshot!("files_of_an_extension", paths(&["prompting"], true));
    }

    #[test]
    fn an_extension_depends_on_the_library_and_on_the_sdk_that_is_named() {
        let manifest = |path: &str, sdk: Option<&str>, extends| {
            let files = files("my-split", &["prompting"], sdk.map(Path::new), extends);
            files.into_iter().find_map(|(found, text)| (found == Path::new(path)).then_some(text))
        };
        let own = manifest("Cargo.toml", None, true).unwrap();
        let library = "baton-policy-resilience = { path = \"resilience\", default-features = false }\n";
        assert!(own.contains(library), "{own}");
        for (sdk, path) in [(None, "../sdk"), (Some("/my/sdk"), "/my/sdk")] {
            let library = manifest("resilience/Cargo.toml", sdk, true).unwrap();
            assert!(library.contains(&format!("baton-sdk = {{ path = \"{path}\" }}\n")), "{library}");
        }
        assert!(manifest("resilience/Cargo.toml", None, false).is_none());
        assert!(!manifest("Cargo.toml", None, false).unwrap().contains("resilience"));
    }

    #[test]
    fn only_the_built_in_policy_is_extended_and_only_in_its_language() {
        assert!(!is_extension(None, PolicyLanguage::Python).unwrap());
        for policy in ["resilience", "builtin:resilience"] {
            assert!(is_extension(Some(policy), PolicyLanguage::Rust).unwrap());
        }
        for (policy, language, says) in [
            ("torch", PolicyLanguage::Rust, "write --extends resilience"),
            ("resilience", PolicyLanguage::Python, "--language rust only"),
        ] {
            let error = is_extension(Some(policy), language).unwrap_err();
            assert_eq!(CliExit::of_error(&error), CliExit::Usage, "{policy}");
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn a_name_that_is_no_crate_is_refused() {
        for name in ["My", "1st", "a b", "", "baton-sdk", "über", "type", "splitting"] {
            let error = crate_name(Path::new(name)).unwrap_err();
            assert_eq!(CliExit::of_error(&error), CliExit::Usage, "{name}");
        }
        assert_eq!(crate_name(Path::new("/tmp/my-split")).unwrap(), "my-split");
    }

    #[test]
    fn a_type_is_called_after_the_crate_and_like_nothing_else() {
        assert_eq!(type_name("my-split"), "MySplit");
        assert_eq!(type_name("house_rules-2"), "HouseRules2");
        for (name, kind) in
            [("decision", "DecisionPolicy"), ("resilience", "ResiliencePolicy"), ("vec", "VecPolicy")]
        {
            assert_eq!(type_name(name), kind);
        }
    }

    #[test]
    fn the_contract_as_one_file_is_a_package() {
        let mut resolve = wit_parser::Resolve::default();
        let package = resolve.push_str("baton-policy.wit", &contract()).expect("it is WIT");
        resolve.select_world(&[package], Some("policy")).expect("it has the world of all questions");
    }

    #[test]
    fn the_world_of_the_page_for_other_languages_stands_beside_the_contract() {
        let page = include_str!("../../../docs/policy-from-wit.md");
        let (_, world) = page.split_once("```wit\n").expect("it shows a world");
        let (world, _) = world.split_once("```").expect("it ends");
        let mut resolve = wit_parser::Resolve::default();
        resolve.push_str("deps/baton-policy/baton-policy.wit", &contract()).expect("it is WIT");
        let package = resolve.push_str("world.wit", world).unwrap_or_else(|wrong| panic!("{wrong:#}"));
        let world = resolve.select_world(&[package], Some("guest")).expect("it is named as in the build");
        assert_eq!((resolve.worlds[world].imports.len(), resolve.worlds[world].exports.len()), (3, 2));
    }
}
