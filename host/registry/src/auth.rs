//! How a registry wants to be logged in to: its challenge, and the token that answers it. Sends credentials only where the
//! registry sends clients to log in, and only over a connection that no third party can read.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::credentials::RegistryLogin;
use crate::error::RegistryError;
use crate::http::{HttpClient, RegistryRequest};

/// Largest answer with a token.
const TOKEN_BYTES_MAX: u64 = 256 * 1024;

/// Who asks, as token servers have it.
const CLIENT: &str = "baton";

/// The access that a request to a repository needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RegistryAccess {
    Pull,
    Push,
}

impl RegistryAccess {
    fn actions(self) -> &'static str {
        match self {
            RegistryAccess::Pull => "pull",
            RegistryAccess::Push => "pull,push",
        }
    }
}

/// The value of a `WWW-Authenticate` header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: String, service: Option<String> },
}

impl Challenge {
    /// Parses one; none if it is of another kind.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Challenge::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let value = |key: &str| parameters(rest).into_iter().find(|(k, _)| k.eq_ignore_ascii_case(key));
        Some(Challenge::Bearer { realm: value("realm")?.1, service: value("service").map(|(_, v)| v) })
    }
}

/// `key="value", key=value`.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((key.trim_matches([' ', ',']).to_owned(), value.trim().to_owned()));
        rest = after;
    }
    found
}

#[derive(Deserialize)]
struct TokenResponse {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

/// The `Authorization` that answers a challenge; none if there are no credentials and no token is issued without them.
pub(crate) fn answer(
    http: &HttpClient,
    challenge: &Challenge,
    host: &str,
    name: &str,
    access: RegistryAccess,
    login: Option<&RegistryLogin>,
) -> Result<Option<String>, RegistryError> {
    let (realm, service) = match (challenge, login) {
        (Challenge::Basic, Some(RegistryLogin::Password { user, password })) => {
            return Ok(Some(basic(user, password)));
        }
        (Challenge::Basic, _) => return Ok(None),
        (Challenge::Bearer { realm, service }, _) => (realm, service),
    };
    if !http.is_safe(realm) {
        return Err(RegistryError::OpenRealm { host: host.to_owned(), realm: realm.clone() });
    }
    let scope = format!("repository:{name}:{}", access.actions());
    let mut query = format!("scope={}", encoded(&scope));
    if let Some(service) = service {
        query.push_str(&format!("&service={}", encoded(service)));
    }
    let ask = |method, url: &str, headers: &[(&'static str, &str)], body| {
        http.send(
            host,
            &RegistryRequest { method, url, headers, body, what: "the token", bytes_max: TOKEN_BYTES_MAX },
        )
    };
    let url = format!("{realm}{}{query}", if realm.contains('?') { '&' } else { '?' });
    let answer = match login {
        None => ask("GET", &url, &[], None)?,
        Some(RegistryLogin::Password { user, password }) => {
            ask("GET", &url, &[("authorization", &basic(user, password))], None)?
        }
        Some(RegistryLogin::Refresh(token)) => {
            let form = format!(
                "grant_type=refresh_token&client_id={CLIENT}&refresh_token={}&{query}",
                encoded(token)
            );
            let headers = [("content-type", "application/x-www-form-urlencoded")];
            ask("POST", realm, &headers, Some(form.as_bytes()))?
        }
    };
    if !answer.is_success() {
        return Ok(None);
    }
    let token: Option<TokenResponse> = serde_json::from_slice(&answer.body).ok();
    let token = token.map(|token| if token.token.is_empty() { token.access_token } else { token.token });
    // A token becomes a header, which may have only visible characters.
    Ok(token
        .filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_graphic()))
        .map(|t| format!("Bearer {t}")))
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

/// A value in a query or a form.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Timeouts;

    #[test]
    fn challenges_are_read() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
        };
        for (header, challenge) in [
            (r#"Basic realm="x""#, Some(Challenge::Basic)),
            ("basic", Some(Challenge::Basic)),
            (
                r#"Bearer realm="https://auth.example/token",service="registry, of example",scope="repository:a:pull""#,
                bearer("https://auth.example/token", Some("registry, of example")),
            ),
            (r#"bearer  service=s, Realm="https://a""#, bearer("https://a", Some("s"))),
            (r#"Bearer realm="unclosed"#, bearer("unclosed", None)),
            ("Bearer service=x", None),
            ("Negotiate", None),
            ("", None),
        ] {
            assert_eq!(Challenge::parse(header), challenge, "{header}");
        }
    }

    #[test]
    fn credentials_never_go_where_others_listen() {
        let http = HttpClient::new(Vec::new(), Timeouts::default());
        let login = RegistryLogin::Password { user: "ada".into(), password: "secret".into() };
        for realm in ["http://auth.example/token", "http://127.0.0.1@auth.example/", "file:///etc/passwd"] {
            let challenge = Challenge::Bearer { realm: realm.into(), service: None };
            let error = answer(&http, &challenge, "example.org", "a", RegistryAccess::Pull, Some(&login))
                .unwrap_err();
            assert!(matches!(error, RegistryError::OpenRealm { .. }), "{error}");
        }
    }

    #[test]
    fn values_are_encoded() {
        assert_eq!(encoded("repository:a/b:pull,push"), "repository%3Aa%2Fb%3Apull%2Cpush");
        assert_eq!(basic("ada", "secret"), "Basic YWRhOnNlY3JldA==");
    }
}
