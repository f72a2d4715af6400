//! Credentials for registries, from the Docker config that `docker login` writes. Writes none, and sends none.
//!
//! Where the config names a credential helper, that program is started by the crate that reads the config.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use docker_credential::{CredentialRetrievalError, DockerCredential};

use crate::error::{RegistryError, said};

/// Largest Docker config that is read.
const CONFIG_BYTES_MAX: u64 = 1024 * 1024;

/// Where credentials are looked for.
#[derive(Clone, Debug, Default)]
pub struct RegistryCredentials {
    config: Option<PathBuf>,
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
    /// Nobody's.
    pub fn none() -> Self {
        Self::default()
    }

    /// Those of a Docker config.
    pub fn of(config: PathBuf) -> Self {
        Self { config: Some(config) }
    }

    /// Those of this user: `$DOCKER_CONFIG/config.json`, else `~/.docker/config.json`.
    pub fn of_user(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> Self {
        let named = |name: &str| variable(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let folder = named("DOCKER_CONFIG").or_else(|| Some(named("HOME")?.join(".docker")));
        Self { config: folder.map(|folder| folder.join("config.json")) }
    }

    /// What is known for a host; nothing where there is no config, or the config does not name the host.
    pub(crate) fn for_host(&self, host: &str) -> Result<Option<RegistryLogin>, RegistryError> {
        let failed = |why: String| RegistryError::Credentials { host: host.to_owned(), why };
        let Some(path) = &self.config else { return Ok(None) };
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(format!("{} cannot be read: {error}", path.display()))),
        };
        match docker_credential::get_credential_from_reader(file.take(CONFIG_BYTES_MAX), host) {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                Ok(Some(RegistryLogin::Password { user, password }))
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Some(RegistryLogin::Refresh(token))),
            Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
            // Its own text quotes everything that the helper printed, which may be a secret.
            Err(CredentialRetrievalError::HelperFailure { helper, stdout, .. }) => {
                // What helpers say by convention where they know nothing of a host.
                if stdout.contains("credentials not found") {
                    return Ok(None);
                }
                Err(failed(format!("{helper}, which {} names, failed", path.display())))
            }
            Err(error) => Err(failed(format!("{}: {}", path.display(), said(error.to_string().as_bytes())))),
        }
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
