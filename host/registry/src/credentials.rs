//! Credentials for registries, from the Docker config that `docker login` writes. Writes none, and sends none.
//!
//! If the config names a credential helper, the caller decides how that program is started: a folder of `PATH` may be writable
//! for agents. The crate that reads the rest of the config would search for it everywhere, and ignores helpers.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use docker_credential::{CredentialRetrievalError, DockerCredential};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{RegistryError, said};

/// Largest Docker config that is read.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// A helper's user name for a token.
const OF_TOKEN: &str = "<token>";

/// Makes the command of a program that is given by name; none if no trusted program has this name.
pub type TrustedCommand = fn(&str) -> Option<Command>;

/// The source of credentials.
#[derive(Clone, Debug, Default)]
pub struct RegistryCredentials {
    config: Option<PathBuf>,
    helpers: Option<TrustedCommand>,
}

/// A Docker config, with its helpers separate from the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DockerConfig {
    cred_helpers: Option<BTreeMap<String, String>>,
    creds_store: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// The output of a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperResponse {
    username: String,
    secret: String,
}

/// How to log in. Shown without its secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum RegistryLogin {
    Password {
        user: String,
        password: String,
    },
    /// Exchanged for a token of short life.
    Refresh(String),
}

impl fmt::Debug for RegistryLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryLogin::Password { user, .. } => write!(f, "Password {{ user: {user:?}, .. }}"),
            RegistryLogin::Refresh(_) => write!(f, "Refresh(..)"),
        }
    }
}

impl RegistryCredentials {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// Those of a Docker config.
    pub fn of(config: PathBuf) -> Self {
        Self { config: Some(config), helpers: None }
    }

    /// Those of this user: `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`.
    pub fn of_user(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let named = |name: &str| variable(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let folder = named("DOCKER_CONFIG").or_else(|| Some(named("HOME")?.join(".docker")));
        Self { config: folder.map(|folder| folder.join("config.json")), helpers: None }
    }

    /// The same, with the helpers that the config names. Without this none is started.
    pub fn with_helpers(self, helpers: TrustedCommand) -> Self {
        Self { helpers: Some(helpers), ..self }
    }

    /// The credentials for a host; none if there is no config, or the config does not name the host.
    pub(crate) fn for_host(&self, host: &str) -> Result<Option<RegistryLogin>, RegistryError> {
        let failed = |why: String| RegistryError::Credentials { host: host.to_owned(), why };
        let Some(path) = &self.config else { return Ok(None) };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(format!("{} cannot be read: {error}", path.display()))),
        };
        let in_config = |why: String| failed(format!("{}: {why}", path.display()));
        let config: DockerConfig = serde_json::from_reader(file.take(CONFIG_BYTES_MAX))
            .map_err(|error| in_config(format!("line {} is not that of a Docker config", error.line())))?;
        let is_named = |helper: &&String| !helper.is_empty();
        if let Some(helper) = config.cred_helpers.as_ref().and_then(|of| of.get(host)).filter(is_named) {
            return self.of_helper(helper, host).map_err(in_config);
        }
        let rest = Value::from_iter(config.rest).to_string();
        match docker_credential::get_credential_from_reader(rest.as_bytes(), host) {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                Ok(Some(RegistryLogin::Password { user, password }))
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Some(RegistryLogin::Refresh(token))),
            Err(CredentialRetrievalError::NoCredentialConfigured) => {
                match config.creds_store.as_ref().filter(is_named) {
                    Some(helper) => self.of_helper(helper, host).map_err(in_config),
                    None => Ok(None),
                }
            }
            Err(error) => Err(in_config(said(error.to_string().as_bytes()))),
        }
    }

    /// A helper's credentials for a host. No error contains its output, which may be a secret.
    fn of_helper(&self, helper: &str, host: &str) -> Result<Option<RegistryLogin>, String> {
        let name = format!("docker-credential-{helper}");
        let trusted = self.helpers.filter(|_| !helper.contains('/')).and_then(|command| command(&name));
        let Some(mut command) = trusted else {
            return Err(format!(
                "no program {name} is in a folder of PATH outside of the work tree, where agents write"
            ));
        };
        command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        if let Some(mut stdin) = child.stdin.take() {
            // If it has ended without reading, its exit status says why.
            let _ = stdin.write_all(host.as_bytes());
        }
        let ended = child.wait_with_output().map_err(|error| format!("{name} failed: {error}"))?;
        if !ended.status.success() {
            // The conventional message of helpers that have no credentials for a host.
            return match String::from_utf8_lossy(&ended.stdout).contains("credentials not found") {
                true => Ok(None),
                false => Err(format!("{name} failed")),
            };
        }
        let response: HelperResponse = serde_json::from_slice(&ended.stdout)
            .map_err(|_| format!("{name} printed no user name with a secret"))?;
        Ok(Some(match response.username.as_str() {
            OF_TOKEN => RegistryLogin::Refresh(response.secret),
            _ => RegistryLogin::Password { user: response.username, password: response.secret },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(config: &str) -> (tempfile::TempDir, RegistryCredentials) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, config).unwrap();
        (folder, RegistryCredentials::of(path))
    }

    #[test]
    fn a_docker_config_names_users_and_tokens() {
        // "ada:secret" in base64.
        let (_folder, credentials) = with(
            r#"{"auths": {"registry.example": {"auth": "YWRhOnNlY3JldA=="}, "lan:5000": {"auth": "YTpi", "identitytoken": "long"}, "bad": {"auth": "%"}}}"#,
        );
        let ada = RegistryLogin::Password { user: "ada".into(), password: "secret".into() };
        assert_eq!(credentials.for_host("registry.example").unwrap(), Some(ada.clone()));
        assert_eq!(credentials.for_host("lan:5000").unwrap(), Some(RegistryLogin::Refresh("long".into())));
        assert_eq!(credentials.for_host("example.org").unwrap(), None);
        assert!(credentials.for_host("bad").unwrap_err().to_string().contains("config.json"));
        assert!(!format!("{ada:?}").contains("secret"));
    }

    #[test]
    fn no_config_is_no_credentials_and_a_broken_one_is_an_error() {
        assert_eq!(RegistryCredentials::none().for_host("a").unwrap(), None);
        assert_eq!(RegistryCredentials::of("/nonexistent/config.json".into()).for_host("a").unwrap(), None);
        let (_folder, credentials) = with("{");
        assert!(credentials.for_host("a").is_err());
        let (_folder, credentials) = with(r#"{"credHelpers": {"a": "baton-has-no-such-helper"}}"#);
        assert!(credentials.for_host("a").unwrap_err().to_string().contains("the credentials for a"));
    }

    #[test]
    fn a_helper_is_started_as_the_caller_says() {
        // N6: by its name alone it was looked for in folders of `PATH` that agents write in.
        let config = r#"{"auths": {"stored": {}, "plain": {"auth": "YWRhOnNlY3JldA=="}}, "credsStore": "desktop",
            "credHelpers": {"token": "cloud", "unknown": "cloud", "broken": "cloud", "elsewhere": "x/../evil", "plain": ""}}"#;
        let (_folder, credentials) = with(config);
        for host in ["stored", "token", "elsewhere"] {
            let error = credentials.for_host(host).unwrap_err().to_string();
            assert!(error.contains("no program docker-credential-"), "{host}: {error}");
        }
        let ada = RegistryLogin::Password { user: "ada".into(), password: "secret".into() };
        assert_eq!(credentials.for_host("plain").unwrap(), Some(ada), "no helper is needed");

        let credentials = credentials.with_helpers(|name| {
            let script = r#"case "$0 $1 $(cat)" in
                "docker-credential-desktop get stored") echo '{"ServerURL": "stored", "Username": "eve", "Secret": "s"}';;
                "docker-credential-cloud get token") echo '{"Username": "<token>", "Secret": "long"}';;
                "docker-credential-cloud get unknown") echo 'credentials not found in native keychain'; exit 1;;
                *) echo 'a secret'; exit 1;;
            esac"#;
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script, name]);
            Some(command)
        });
        let eve = RegistryLogin::Password { user: "eve".into(), password: "s".into() };
        assert_eq!(credentials.for_host("stored").unwrap(), Some(eve));
        assert_eq!(credentials.for_host("token").unwrap(), Some(RegistryLogin::Refresh("long".into())));
        assert_eq!(credentials.for_host("unknown").unwrap(), None);
        let broken = credentials.for_host("broken").unwrap_err().to_string();
        assert!(broken.contains("docker-credential-cloud failed") && !broken.contains("secret"), "{broken}");
        let elsewhere = credentials.for_host("elsewhere").unwrap_err().to_string();
        assert!(elsewhere.contains("no program"), "a name is no path: {elsewhere}");
    }

    #[test]
    fn the_config_is_where_docker_has_it() {
        let of = |docker: Option<&str>, home: Option<&str>| {
            RegistryCredentials::of_user(|name| if name == "HOME" { home } else { docker }.map(Into::into))
                .config
        };
        assert_eq!(of(Some("/d"), Some("/h")), Some("/d/config.json".into()));
        assert_eq!(of(Some(""), Some("/h")), Some("/h/.docker/config.json".into()));
        assert_eq!(of(None, None), None);
    }
}
