//! One HTTP request and its whole response, within limits of size and time. HTTPS, except for this machine and for hosts that
//! the user named; independent of the registry protocol.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use baton_core::workflow::is_public;
use ureq::config::{Config, RedirectAuthHeaders};
use ureq::http::{HeaderMap, Request as HttpRequest, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, ResponseExt as _};

use crate::error::RegistryError;
use crate::oci_reference::is_loopback;

/// Redirects that are followed: a registry sends to a store of blobs, which may send on once or twice.
const REDIRECTS_MAX: u32 = 5;

/// Largest part of an error response that is read.
const FAILURE_BYTES_MAX: u64 = 64 * 1024;

/// Most addresses that are tried: the capacity of [`ResolvedSocketAddrs`].
const MAX_ADDRESSES: usize = 16;

/// Largest small transfer: everything except components and pushed blobs.
const SMALL_BYTES: u64 = 4 * 1024 * 1024;

/// How long a registry may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection is made.
    pub connect: Duration,
    /// Between one piece of an answer and the next.
    pub silence: Duration,
    /// For a whole manifest, token or signature.
    pub small: Duration,
    /// For a whole answer, so that a server that sends a byte now and then cannot keep a client waiting.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        // The largest policy at 60 kB a second comes in time.
        Self {
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            small: Duration::from_secs(60),
            whole: Duration::from_secs(600),
        }
    }
}

/// Makes requests.
#[derive(Debug)]
pub(crate) struct HttpClient {
    /// For registries of this machine or of a private network.
    near: HttpAgents,
    /// For all other hosts: these agents reach only public addresses, also after a redirect or for a realm.
    far: HttpAgents,
    registries: RegistryAddresses,
    plain_hosts: Vec<String>,
    /// For small transfers, and for a component.
    small: Duration,
    whole: Duration,
}

#[derive(Debug)]
struct HttpAgents {
    secure: Agent,
    plain: Agent,
}

/// A request.
pub(crate) struct RegistryRequest<'a> {
    pub(crate) method: &'static str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(&'static str, &'a str)],
    pub(crate) body: Option<&'a [u8]>,
    /// The kind of the response, for messages, and its largest size.
    pub(crate) what: &'static str,
    pub(crate) bytes_max: u64,
}

/// A response with any status.
#[derive(Debug)]
pub(crate) struct RegistryResponse {
    /// Who answered, after all redirects: "host", or "host:port".
    pub(crate) host: Option<String>,
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl RegistryResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the server declared the length, and all of the body arrived.
    pub(crate) fn is_whole(&self) -> bool {
        self.header("content-length").and_then(|n| n.parse::<usize>().ok()) == Some(self.body.len())
    }
}

impl HttpClient {
    /// `plain_hosts` are asked by HTTP, like this machine.
    pub(crate) fn new(plain_hosts: Vec<String>, patience: Timeouts) -> Self {
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
        let registries = RegistryAddresses::default();
        let agents = |public_only: bool| {
            let agent = |config: Config| {
                let resolver = CheckedResolver {
                    registries: registries.clone(),
                    public_only,
                    system: DefaultResolver::default(),
                };
                Agent::with_parts(config, DefaultConnector::default(), resolver)
            };
            let secure = agent(config().https_only(true).tls_config(tls.clone()).build());
            // A proxy would resolve the name of this machine to itself.
            let plain = agent(config().proxy(None).tls_config(tls.clone()).build());
            HttpAgents { secure, plain }
        };
        // References have their hosts in small letters.
        let plain_hosts = plain_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Self {
            near: agents(false),
            far: agents(true),
            registries,
            plain_hosts,
            small: patience.small.min(patience.whole),
            whole: patience.whole,
        }
    }

    /// Whether a registry is on this machine or in a private network. One that has a public address as well is not: the party that
    /// answers for its name could put it near by one more address.
    fn is_near(&self, host: &str) -> bool {
        let with_port = if is_literal_with_port(host) { host.to_owned() } else { format!("{host}:443") };
        let of_name = || is_all_near(self.registries.look_up(&with_port).iter().map(SocketAddr::ip));
        self.is_plain(host) || of_name()
    }

    /// Whether a host is reached by plain HTTP.
    pub(crate) fn is_plain(&self, host: &str) -> bool {
        is_loopback(host) || self.plain_hosts.iter().any(|plain| plain == host)
    }

    /// "https://host", or "http://host" if that is allowed.
    pub(crate) fn base(&self, host: &str) -> String {
        let scheme = if self.is_plain(host) { "http" } else { "https" };
        format!("{scheme}://{host}")
    }

    /// Whether data that is sent to this address is protected from others on the way.
    pub(crate) fn is_safe(&self, url: &str) -> bool {
        url.starts_with("https://") || host_of(url).is_some_and(|host| self.is_plain(host))
    }

    /// `registry` is the host that this request is for: other hosts that it leads to may be no nearer than this one.
    pub(crate) fn send(
        &self,
        registry: &str,
        request: &RegistryRequest<'_>,
    ) -> Result<RegistryResponse, RegistryError> {
        let url = || request.url.to_owned();
        let mut http = HttpRequest::builder().method(request.method).uri(request.url);
        for (name, value) in request.headers {
            http = http.header(*name, *value);
        }
        let agents = if self.is_near(registry) { &self.near } else { &self.far };
        let agent = if request.url.starts_with("https://") { &agents.secure } else { &agents.plain };
        let whole = if request.bytes_max <= SMALL_BYTES { self.small } else { self.whole };
        let unreachable = |why: String| RegistryError::Unreachable { url: url(), why };
        let answer = match request.body {
            None => {
                let http = http.body(()).map_err(|e| unreachable(e.to_string()))?;
                agent.run(agent.configure_request(http).timeout_global(Some(whole)).build())
            }
            Some(body) => {
                let http = http.body(body).map_err(|e| unreachable(e.to_string()))?;
                agent.run(agent.configure_request(http).timeout_global(Some(whole)).build())
            }
        };
        let answer = answer.map_err(|error| match error {
            ureq::Error::Timeout(which) => RegistryError::TimedOut { url: url(), why: which.to_string() },
            ureq::Error::RequireHttpsOnly(to) => {
                unreachable(format!("it sends on to {to}, which is not HTTPS"))
            }
            // The other side did not speak TLS, or no issuer that this machine trusts signed its certificate.
            ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => unreachable(format!(
                "no safe connection ({error}). A registry of your own that speaks plain HTTP is named with --insecure, a certificate authority of your own in SSL_CERT_FILE"
            )),
            ureq::Error::Io(error) => unreachable(error.to_string()),
            error => unreachable(error.to_string()),
        })?;
        let host = host_of(&answer.get_uri().to_string()).map(str::to_owned);
        let (parts, body) = answer.into_parts();
        let status = parts.status.as_u16();
        let success = parts.status.is_success();
        let max = if success { request.bytes_max } else { FAILURE_BYTES_MAX };
        let body = match body.into_with_config().limit(max).read_to_vec() {
            Ok(body) => body,
            // The body of an error response is optional.
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
        Ok(RegistryResponse { host, status, headers: parts.headers, body })
    }
}

/// The addresses of registries, each looked up once: the address that decides whether a registry is near is also the one that
/// the request uses. Otherwise a name whose address changes a moment later would be near for the check and far for the request,
/// or the other way round.
#[derive(Clone, Debug, Default)]
struct RegistryAddresses(Arc<Mutex<HashMap<String, Vec<SocketAddr>>>>);

impl RegistryAddresses {
    /// Of "host:port"; empty if there are none. A failed lookup is repeated the next time.
    fn look_up(&self, host: &str) -> Vec<SocketAddr> {
        if let Some(known) = self.known(host) {
            return known;
        }
        let found: Vec<SocketAddr> = host.to_socket_addrs().into_iter().flatten().collect();
        if found.is_empty() {
            return found;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(host.to_owned()).or_insert(found).clone()
    }

    fn known(&self, host: &str) -> Option<Vec<SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host).cloned()
    }
}

/// Finds addresses: those of a registry that were looked up before, and none of this machine or a private network if it is `public_only`.
#[derive(Debug)]
struct CheckedResolver {
    registries: RegistryAddresses,
    public_only: bool,
    system: DefaultResolver,
}

impl CheckedResolver {
    fn known(&self, uri: &Uri) -> Option<ResolvedSocketAddrs> {
        let default = if uri.scheme_str() == Some("http") { 80 } else { 443 };
        let host = format!("{}:{}", uri.host()?, uri.port_u16().unwrap_or(default));
        let mut addresses = self.system.empty();
        self.registries.known(&host)?.into_iter().take(MAX_ADDRESSES).for_each(|found| addresses.push(found));
        Some(addresses)
    }
}

impl Resolver for CheckedResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = match self.known(uri) {
            Some(known) => known,
            None => self.system.resolve(uri, config, timeout)?,
        };
        // The user's own proxy may have any address; the proxy itself resolves the other names.
        let is_proxy = config.proxy().is_some_and(|proxy| uri.host() == Some(proxy.host()));
        if !self.public_only || is_proxy || found.iter().all(|found| is_public(found.ip())) {
            return Ok(found);
        }
        let host = uri.host().unwrap_or_default();
        Err(ureq::Error::Io(std::io::Error::new(
            ErrorKind::PermissionDenied,
            format!("the registry sends on to {host}, which is on this machine or in a private network"),
        )))
    }
}

/// Whether a host has a port: "host:443", "[::1]:443".
fn is_literal_with_port(host: &str) -> bool {
    host.rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

/// "host:port" of an address.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    // Registries have no user before the host; it would hide the host.
    (!host.contains('@')).then_some(host)
}

/// Whether there are addresses, and all of them are of this machine or a private network.
fn is_all_near(mut addresses: impl Iterator<Item = IpAddr>) -> bool {
    let is_near = |address: IpAddr| !is_public(address);
    addresses.next().is_some_and(is_near) && addresses.all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_and_named_hosts_are_asked_by_plain_http() {
        let http = HttpClient::new(vec!["LAN:5000".into()], Timeouts::default());
        assert_eq!(http.base("127.0.0.1:5000"), "http://127.0.0.1:5000");
        assert_eq!(http.base("lan:5000"), "http://lan:5000");
        assert_eq!(http.base("lan"), "https://lan");
        assert!(http.is_safe("https://example.org/x") && http.is_safe("http://lan:5000/x"));
        for open in ["http://example.org/x", "http://lan:5000@example.org/x", "ftp://lan:5000", "http:/lan"] {
            assert!(!http.is_safe(open) || open.starts_with("ftp"), "{open}");
        }
    }

    #[test]
    fn what_a_far_registry_sends_on_to_is_no_nearer() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let http = HttpClient::new(Vec::new(), Timeouts::default());
        for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
            let url = format!("http://{host}:{port}/secret");
            let request = RegistryRequest {
                method: "GET",
                url: &url,
                headers: &[],
                body: None,
                what: "x",
                bytes_max: 10,
            };
            let error = http.send("93.184.215.14:443", &request).unwrap_err().to_string();
            assert!(error.contains("on this machine or in a private network"), "{error}");
        }
        assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody was asked");
        let addresses = |texts: &[&str]| is_all_near(texts.iter().map(|text| text.parse().unwrap()));
        assert!(
            addresses(&["10.0.0.1", "::1"]) && !addresses(&["93.184.215.14", "10.0.0.1"]) && !addresses(&[])
        );
        assert!(http.is_near("127.0.0.1:5000") && http.is_near("10.0.0.1") && !http.is_near("93.184.215.14"));
    }
}
