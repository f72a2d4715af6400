//! The layers below a workflow: the configuration of the user and the `baton.toml` of the workspace. They are read once, before
//! a run begins, and frozen with it: an agent's changes in its workspace have no effect on its own run. Core defines their
//! keys.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use baton_registry::LockError;
use baton_runtime::core::Workflow;
use baton_runtime::core::visible::visible_name;
use baton_runtime::core::workflow::file::{
    FILE_BYTES_MAX, ParsedWorkflow, parse_policies_file, parse_sandbox_file,
};
use baton_runtime::core::workflow::{
    ConfigLayer, ConfigSource, Policies, PolicyChoice, PolicyLayerFile, Sandbox, SandboxError, SandboxLevel,
};

use crate::exit_status::UsageError;
use crate::registries;
use crate::render::text_format;

/// The file of a workspace, only in its root: the file of a folder above does not apply.
pub(crate) const WORKSPACE_FILE: &str = "baton.toml";
/// Of what it chooses, this much is shown when a run begins.
const CHOICES_SHOWN_MAX: usize = 12;
/// Settings that determine when work counts as done, and whether the user is asked.
const COMPLETION_SETTINGS: [&str; 4] = ["accept", "accept-score", "max-asks", "after-failed-report"];
/// The file of a user, in the folder of configurations.
const USER_FILE: &str = "baton/config.toml";

/// The files that were looked for, the farthest first.
pub(crate) struct ConfigLayers {
    files: Vec<LayerFile>,
}

/// A file that was looked for.
pub(crate) struct LayerFile {
    pub(crate) layer: ConfigLayer,
    pub(crate) path: PathBuf,
    /// Its policies; none if there is no such file.
    pub(crate) said: Option<PolicyLayerFile>,
    /// Its sandbox.
    sandbox: Option<Sandbox>,
}

impl ConfigLayers {
    /// Reads the existing files. A run in a fresh folder has no workspace to read yet.
    pub(crate) fn read(workspace: Option<&Path>) -> anyhow::Result<ConfigLayers> {
        let user = user_config().map(|path| (ConfigLayer::User, path));
        let workspace = workspace.map(|folder| (ConfigLayer::Workspace, folder.join(WORKSPACE_FILE)));
        let files = user.into_iter().chain(workspace).map(|(layer, path)| {
            let text = read(&path)?;
            let origin = path.to_string_lossy();
            let said = text.as_deref().map(|text| {
                let base = folder_of(&path).to_string_lossy();
                parse_policies_file(text, &origin, &base, layer, &mut read_beside)
            });
            let sandbox =
                text.as_deref().map(|text| parse_sandbox_file(text, &origin)).transpose()?.flatten();
            Ok(LayerFile { layer, said: said.transpose()?, sandbox, path })
        });
        let layers = ConfigLayers { files: files.collect::<anyhow::Result<_>>()? };
        // The same file has the trusted keys of its user; a mistake there is reported with the others.
        registries::check_trust()?;
        Ok(layers)
    }

    /// The workflow with these layers below it.
    pub(crate) fn beneath(&self, reading: ParsedWorkflow) -> Workflow {
        reading.over(self.said())
    }

    /// The floor of every role: the sandbox of the user's file, which the workspace's can only tighten.
    pub(crate) fn floor(&self) -> Result<Sandbox, SandboxError> {
        let mut floor = Sandbox::default();
        for file in &self.files {
            if let Some(said) = file.sandbox.clone() {
                floor = match file.layer {
                    ConfigLayer::User => said,
                    _ => said.of_folder_over(&floor, &file.path.to_string_lossy())?,
                };
            }
        }
        Ok(floor)
    }

    /// The sandbox of the user's own file, at this level at least. No folder can change it.
    pub(crate) fn own_floor(&self, at_least: SandboxLevel) -> Sandbox {
        let own = self.files.iter().find(|file| file.layer == ConfigLayer::User);
        let mut floor = own.and_then(|file| file.sandbox.clone()).unwrap_or_default();
        floor.level = floor.level.max(at_least);
        floor
    }

    /// The nearest file that has such a list of the sandbox.
    pub(crate) fn source_of_list(&self, has: impl Fn(&Sandbox) -> bool) -> Option<&Path> {
        let said = self.files.iter().rev().find(|file| file.sandbox.as_ref().is_some_and(&has));
        said.map(|file| file.path.as_path())
    }

    /// The layers, the farthest first.
    pub(crate) fn said(&self) -> impl Iterator<Item = PolicyLayerFile> {
        self.files.iter().filter_map(|file| file.said.clone())
    }

    /// The files that were looked for, the farthest first.
    pub(crate) fn files(&self) -> &[LayerFile] {
        &self.files
    }
}

/// "baton.toml of this folder chooses how the work is judged: team.wasm, accept = "answer"; …": for a user who has the folder from others.
/// Nothing where it says nothing.
pub(crate) fn workspace_choices_notice(policies: &Policies) -> Option<String> {
    let of_folder: Vec<PolicyChoice> = policies.choices_of(ConfigLayer::Workspace).cloned().collect();
    (!of_folder.is_empty()).then(|| describe_choices(&of_folder))
}

/// The same for these choices: components first, which can decide in any way, then the settings of completion.
pub(crate) fn describe_choices(choices: &[PolicyChoice]) -> String {
    let mut all: Vec<(usize, String)> = Vec::new();
    for choice in choices {
        let name = |component: &str| component.rsplit('/').next().unwrap_or(component).to_owned();
        let component = choice.component.as_deref().map(|component| (0, name(component)));
        let set = choice.settings.iter().map(|(key, value)| {
            let rank = COMPLETION_SETTINGS
                .iter()
                .position(|decisive| decisive == key)
                .unwrap_or(COMPLETION_SETTINGS.len());
            (rank + 1, format!("{key} = {}", text_format::given(value)))
        });
        all.extend(component.into_iter().chain(set));
    }
    all.sort_by_key(|(rank, _)| *rank);
    let mut said: Vec<String> = Vec::new();
    // The folder may be untrusted, and a file name may contain any characters.
    for one in all.into_iter().map(|(_, one)| visible_name(&one).into_owned()) {
        if !said.contains(&one) {
            said.push(one);
        }
    }
    format!(
        "{WORKSPACE_FILE} of this folder chooses how the work is judged: {} (`baton policy which` shows it all)",
        text_format::first_of(&said, CHOICES_SHOWN_MAX)
    )
}

/// Adds the file and line to an error about a policy: the place that names it, or that has a setting which it does not accept.
pub(crate) fn placed(policies: &Policies) -> impl Fn(anyhow::Error) -> anyhow::Error + use<> {
    let choices: Vec<PolicyChoice> = policies.choices().cloned().collect();
    move |error| {
        let mut places: Vec<String> = Vec::new();
        for choice in choices_in_error(&choices, &error) {
            let ConfigSource { file, line, .. } = &choice.from;
            let place = format!("{file}:{line}");
            if !file.is_empty() && !places.contains(&place) {
                places.push(place);
            }
        }
        if places.is_empty() { error } else { error.context(places.join(", ")) }
    }
}

/// The choices that an error is about.
fn choices_in_error<'c>(choices: &'c [PolicyChoice], error: &anyhow::Error) -> Vec<&'c PolicyChoice> {
    let said = error.to_string();
    let pinned = match error.downcast_ref::<LockError>() {
        Some(LockError::Changed { reference, .. }) => Some(reference),
        _ => None,
    };
    let is_named = |choice: &PolicyChoice| {
        let Some(component) = &choice.component else { return false };
        said.contains(component.as_str()) || pinned.is_some_and(|key| Path::new(component).ends_with(key))
    };
    let sets = |choice: &PolicyChoice| {
        let wrong = choice.settings.keys().any(|key| said.contains(&format!("setting `{key}`")));
        wrong && (choice.component.is_none() || is_named(choice))
    };
    let setting: Vec<&PolicyChoice> = choices.iter().filter(|choice| sets(choice)).collect();
    if setting.is_empty() { choices.iter().filter(|choice| is_named(choice)).collect() } else { setting }
}

/// The configuration of the user, if its place is known.
pub(crate) fn user_config() -> Option<PathBuf> {
    user_file(|name| std::env::var_os(name))
}

/// `$XDG_CONFIG_HOME/baton/config.toml`, else `~/.config/baton/config.toml`. By the rule of the XDG base directories a path
/// that is not absolute is ignored.
fn user_file(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let config_home = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config_home.join(USER_FILE))
}

/// The folder that paths in a file start from.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// The text of a file of rules that a layer names.
fn read_beside(path: &str) -> Result<String, String> {
    read_named(Path::new(path))
}

/// The text of a file of rules, or the reason why it cannot be read.
pub(crate) fn read_named(path: &Path) -> Result<String, String> {
    let text = read(path).map_err(|error| error.to_string())?;
    text.ok_or_else(|| "there is no such file".to_owned())
}

/// The text of a file, if there is one. The workspace may be from a stranger: a pipe is not waited for, and a
/// file without an end is not read to it.
fn read(path: &Path) -> Result<Option<String>, UsageError> {
    let unreadable = |error: io::Error| UsageError(format!("{} cannot be read: {error}", path.display()));
    let metadata = match path.metadata() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        metadata => metadata.map_err(unreadable)?,
    };
    if !metadata.is_file() {
        return Err(UsageError(format!("{} is not a file", path.display())));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    // One byte more than may be there, so that the reader of the text sees that it is too long.
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use baton_runtime::RuntimeError;
    use baton_runtime::core::Digest;

    use super::*;

    #[test]
    fn the_user_is_asked_where_xdg_says() {
        let with = |xdg: Option<&str>, home: Option<&str>| {
            user_file(|name| match name {
                "XDG_CONFIG_HOME" => xdg.map(OsString::from),
                _ => home.map(OsString::from),
            })
        };
        assert_eq!(with(Some("/x"), Some("/h")), Some("/x/baton/config.toml".into()));
        assert_eq!(with(Some("relative"), Some("/h")), Some("/h/.config/baton/config.toml".into()));
        assert_eq!(with(None, Some("/h")), Some("/h/.config/baton/config.toml".into()));
        assert_eq!(with(None, None), None);
    }

    #[test]
    fn an_error_about_a_policy_says_where_it_was_chosen() {
        // M4
        let user = "[policies]\nall = \"mine.wasm\"\nsettings = { a = 1, b = 1 }\nhandoff = \"other.wasm\"";
        let flow = "[policies]\nsplitting = { settings = { b = 2 } }";
        let mut policies = Policies::default();
        policies.lay([
            parse_policies_file(user, "/c/config.toml", "/c", ConfigLayer::User, &mut read_beside).unwrap(),
            parse_policies_file(flow, "/w/baton.toml", "/w", ConfigLayer::Workspace, &mut read_beside)
                .unwrap(),
        ]);
        let says = |error: anyhow::Error| placed(&policies)(error).to_string();
        let refused = |policy: &str, why: &str| {
            says(RuntimeError::PolicyRefused { policy: policy.into(), why: why.into() }.into())
        };
        assert_eq!(refused("/c/other.wasm", "it decides nothing"), "/c/config.toml:4");
        assert_eq!(refused("/c/mine.wasm", "setting `a`: there is none"), "/c/config.toml:3");
        assert_eq!(refused("/c/mine.wasm", "setting `b`: too small"), "/c/config.toml:3, /w/baton.toml:2");
        assert_eq!(refused("/x/new.wasm", "why"), "policy /x/new.wasm is refused: why");
        let error = placed(&policies)(
            RuntimeError::PolicyRefused { policy: "/c/other.wasm".into(), why: "no".into() }.into(),
        );
        assert!(error.downcast_ref::<RuntimeError>().is_some(), "its kind decides the exit code");
        let changed = LockError::Changed {
            reference: "other.wasm".into(),
            expected: Digest::of("a"),
            found: Digest::of("b"),
        };
        assert_eq!(says(changed.into()), "/c/config.toml:4");
    }

    #[test]
    fn what_a_folder_chooses_is_told_with_what_decides_first() {
        // N6
        let said = |settings: usize| {
            let many: String = (0..settings).map(|n| format!("a-{n:02} = {n}, ")).collect();
            let folder = format!(
                "[policies]\nsettings = {{ {many}max-asks = 0, accept = \"answer\" }}\nsplitting = \"own/split.wasm\""
            );
            let mut policies = Policies::default();
            policies.lay([parse_policies_file(
                &folder,
                "/w/baton.toml",
                "/w",
                ConfigLayer::Workspace,
                &mut read_beside,
            )
            .unwrap()]);
            workspace_choices_notice(&policies).unwrap()
        };
        let few = said(9);
        let decisive = "is judged: split.wasm, accept = \"answer\", max-asks = 0, a-00 = 0, ";
        assert!(few.contains(decisive) && few.contains("a-08 = 8 (`baton policy which`"), "{few}");
        let many = said(30);
        assert!(many.contains(decisive) && many.contains(" and 21 more (`baton policy which`"), "{many}");
        assert_eq!(workspace_choices_notice(&Policies::default()), None);
    }

    #[test]
    fn only_a_file_of_a_sensible_size_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(WORKSPACE_FILE);
        assert!(read(&path).unwrap().is_none());
        assert!(read(&path.join("below")).unwrap().is_none());
        std::fs::write(&path, "#").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("#"));
        assert!(read(&path.join("below")).unwrap().is_none());
        assert!(read(folder.path()).unwrap_err().to_string().contains("is not a file"));
        File::create(&path).unwrap().set_len(FILE_BYTES_MAX as u64 * 2).unwrap();
        assert_eq!(read(&path).unwrap().map(|text| text.len()), Some(FILE_BYTES_MAX + 1));
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains(WORKSPACE_FILE));
    }
}
