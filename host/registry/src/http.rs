//! One HTTP request and its whole answer, within bounds of size and time. HTTPS everywhere but to this machine and to hosts
//! that a person named; knows nothing of registries.

use std::io::ErrorKind;
use std::time::Duration;

use ureq::Agent;
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Request as HttpRequest};
use ureq::tls::{RootCerts, TlsConfig};

use crate::error::RegistryError;
use crate::oci::is_loopback;

/// Redirects that are followed: a registry sends to a store of blobs, which may send on once or twice.
const REDIRECTS_MAX: u32 = 5;

/// Most of an answer that tells of a failure.
const FAILURE_BYTES_MAX: u64 = 64 * 1024;

/// How long a registry may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until a connection is made.
    pub connect: Duration,
    /// Between one piece of an answer and the next.
    pub silence: Duration,
    /// For a whole answer: who sends a byte now and then keeps nobody waiting for ever.
    pub whole: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        // The largest policy at 60 kB a second comes in time.
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            whole: Duration::from_secs(600),
        }
    }
}

/// Makes requests.
#[derive(Debug)]
pub(crate) struct Http {
    secure: Agent,
    plain: Agent,
    plain_hosts: Vec<String>,
}

/// What is asked.
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    /// What the answer is, for messages, and how large it may be.
    pub(crate) what: &'static str,
    pub(crate) bytes_max: u64,
}

/// What is answered, with whatever status.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the sender said how much there is, and all of it came.
    pub(crate) fn is_whole(&self) -> bool {
        self.header("content-length").and_then(|n| n.parse::<usize>().ok()) == Some(self.body.len())
    }
}

impl Http {
    /// `plain_hosts` are asked by HTTP, like this machine.
    pub(crate) fn new(plain_hosts: Vec<String>, patience: Patience) -> Self {
        let config = || {
            Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(REDIRECTS_MAX)
                // Blobs are often redirected to another host, which gets no credentials.
                .redirect_auth_headers(RedirectAuthHeaders::Never)
                .timeout_connect(Some(patience.connect))
                .timeout_per_read(Some(patience.silence))
                .timeout_per_write(Some(patience.silence))
                .timeout_global(Some(patience.whole))
                .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
        };
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let secure = config().https_only(true).tls_config(tls.clone()).build().new_agent();
        // A proxy would look for this machine on its own side.
        let plain = config().proxy(None).tls_config(tls).build().new_agent();
        // References have their hosts in small letters.
        let plain_hosts = plain_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { secure, plain, plain_hosts }
    }

    /// Whether a host is asked by plain HTTP.
    pub(crate) fn is_plain(&self, host: &str) -> bool {
        is_loopback(host) || self.plain_hosts.iter().any(|plain| plain == host)
    }

    /// "https://host", or "http://host" where that is allowed.
    pub(crate) fn base(&self, host: &str) -> String {
        let scheme = if self.is_plain(host) { "http" } else { "https" };
        format!("{scheme}://{host}")
    }

    /// Whether what is sent to this address is safe from others on the way.
    pub(crate) fn is_safe(&self, url: &str) -> bool {
        url.starts_with("https://") || host_of(url).is_some_and(|host| self.is_plain(host))
    }

    pub(crate) fn send(&self, request: &Request<'_>) -> Result<Answer, RegistryError> {
        let url = || request.url.to_owned();
        let mut http = HttpRequest::builder().method(request.method).uri(request.url);
        for (name, value) in request.headers {
            http = http.header(*name, *value);
        }
        let agent = if request.url.starts_with("https://") { &self.secure } else { &self.plain };
        let unreachable = |why: String| RegistryError::Unreachable { url: url(), why };
        let answer = match request.body {
            None => http.body(()).map_err(|e| unreachable(e.to_string())).map(|http| agent.run(http))?,
            Some(body) => {
                http.body(body).map_err(|e| unreachable(e.to_string())).map(|http| agent.run(http))?
            }
        };
        let answer = answer.map_err(|error| match error {
            ureq::Error::Timeout(which) => RegistryError::TimedOut { url: url(), why: which.to_string() },
            ureq::Error::RequireHttpsOnly(to) => {
                unreachable(format!("it sends on to {to}, which is not HTTPS"))
            }
            // What the other side sent is no TLS, or its certificate is by nobody whom this machine trusts.
            ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => unreachable(format!(
                "no safe connection ({error}). A registry of your own that speaks plain HTTP is named with --insecure, a certificate authority of your own in SSL_CERT_FILE"
            )),
            ureq::Error::Io(error) => unreachable(error.to_string()),
            error => unreachable(error.to_string()),
        })?;
        let (parts, body) = answer.into_parts();
        let status = parts.status.as_u16();
        let success = parts.status.is_success();
        let max = if success { request.bytes_max } else { FAILURE_BYTES_MAX };
        let body = match body.into_with_config().limit(max).read_to_vec() {
            Ok(body) => body,
            // What a failure says is a courtesy.
            Err(_) if !success => Vec::new(),
            Err(ureq::Error::BodyExceedsLimit(_)) => {
                return Err(RegistryError::TooLarge { what: request.what, url: url(), max });
            }
            Err(ureq::Error::Timeout(which)) => {
                return Err(RegistryError::TimedOut { url: url(), why: which.to_string() });
            }
            Err(ureq::Error::Io(error)) => {
                return Err(RegistryError::BrokeOff { url: url(), why: error.to_string() });
            }
            Err(error) => return Err(RegistryError::BrokeOff { url: url(), why: error.to_string() }),
        };
        Ok(Answer { status, headers: parts.headers, body })
    }
}

/// "host:port" of an address.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    // A user before the host is none of ours, and would hide the host.
    (!host.contains('@')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_named_hosts_are_asked_by_plain_http() {
        let http = Http::new(vec!["LAN:5000".into()], Patience::default());
        assert_eq!(http.base("127.0.0.1:5000"), "http://127.0.0.1:5000");
        assert_eq!(http.base("lan:5000"), "http://lan:5000");
        assert_eq!(http.base("lan"), "https://lan");
        assert!(http.is_safe("https://example.org/x") && http.is_safe("http://lan:5000/x"));
        for open in ["http://example.org/x", "http://lan:5000@example.org/x", "ftp://lan:5000", "http:/lan"] {
            assert!(!http.is_safe(open) || open.starts_with("ftp"), "{open}");
        }
    }
}
