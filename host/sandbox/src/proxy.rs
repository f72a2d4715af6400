//! The host's side of the network: a proxy for HTTP and for CONNECT on a socket that only the boundary reaches. It connects to
//! permitted targets, and reports refusals. It does not see the content of a tunnel; TLS does not end here.
//!
//! A name is resolved here, once, and the connection goes to a checked address: if one of a name's addresses does not belong to
//! the open internet, none is used. A name that is not permitted is not resolved.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use baton_core::facts::RefusalKind;
use baton_core::workflow::{NetworkTarget, is_public};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::host_socket::{HostSocket, SocketKey, listen};
use crate::refusals::RefusalSender;

/// A request's head is at most this long.
const HEAD_BYTES: usize = 32 << 10;
/// Fields of a head.
const FIELDS: usize = 128;
/// Connections at a time, of one boundary.
const CONNECTIONS: usize = 256;
/// How long a client may take to send its request, and a server to accept a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// The socket by which the stage inside reaches the proxy. When it is dropped, the proxy ends.
#[derive(Debug)]
pub(crate) struct ProxySocket {
    socket: HostSocket,
    task: JoinHandle<()>,
}

impl Drop for ProxySocket {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ProxySocket {
    /// Serves the permitted targets, on a socket that is made at `path` and loses its name. Call within a runtime of tokio.
    pub(crate) fn open(path: &Path, allowed: Vec<NetworkTarget>, teller: RefusalSender) -> io::Result<Self> {
        let listener = UnixListener::from_std(listen(path)?)?;
        let (socket, key) = HostSocket::unname(path)?;
        Ok(Self { socket, task: tokio::spawn(serve(listener, key, allowed.into(), teller)) })
    }

    /// The word by which the first stage finds it.
    pub(crate) fn word(&self) -> OsString {
        self.socket.word()
    }
}

async fn serve(listener: UnixListener, key: SocketKey, allowed: Arc<[NetworkTarget]>, teller: RefusalSender) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let (allowed, teller) = (Arc::clone(&allowed), teller.clone());
                tokio::spawn(async move {
                    let _place = place;
                    if let Err(error) = converse(client, &key, &allowed, &teller).await {
                        tracing::debug!(%error, "a connection of the sandbox's proxy broke");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "the sandbox's proxy accepts nobody just now");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// A client's request.
struct ProxyRequest {
    host: String,
    port: u16,
    /// For a server that is reached by plain HTTP: the head, as the server gets it.
    head: Option<Vec<u8>>,
    /// The bytes after the head.
    rest: Vec<u8>,
}

async fn converse(
    mut client: UnixStream,
    key: &SocketKey,
    allowed: &[NetworkTarget],
    teller: &RefusalSender,
) -> io::Result<()> {
    // Another session of the user may be allowed less.
    let mut said = SocketKey::default();
    timeout(PATIENCE, client.read_exact(&mut said)).await??;
    if said != *key {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let wanted = match timeout(PATIENCE, read(&mut client)).await? {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return Ok(()),
        Err(why) => return refuse(&mut client, "400 Bad Request", &why).await,
    };
    let ProxyRequest { host, port, head, rest } = wanted;
    let mut server = match reach(&host, port, allowed).await {
        Ok(server) => server,
        Err(ConnectError::Refused(why)) => {
            teller.tell(RefusalKind::Network, &format!("{host}:{port}{why}"));
            let said = format!("Baton's sandbox does not allow {host}:{port}{why}");
            return refuse(&mut client, "403 Forbidden", &said).await;
        }
        Err(ConnectError::Failed(error)) => {
            return refuse(&mut client, "502 Bad Gateway", &format!("{host}:{port}: {error}")).await;
        }
    };
    match head {
        Some(head) => server.write_all(&head).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await.map(|_| ())
}

async fn refuse(client: &mut UnixStream, status: &str, why: &str) -> io::Result<()> {
    let body = format!("{}\n", why.replace(char::is_control, "?"));
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes()).await?;
    client.shutdown().await
}

/// Reads a head. None if the client has left; the error describes a malformed head.
async fn read(client: &mut UnixStream) -> Result<Option<ProxyRequest>, String> {
    let mut bytes = Vec::new();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(&bytes) {
            Ok(httparse::Status::Complete(end)) => {
                let mut wanted = wanted(&request)?;
                wanted.rest = bytes[end..].to_vec();
                return Ok(Some(wanted));
            }
            Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => {}
            Ok(httparse::Status::Partial) => return Err("the head of the request is too long".to_owned()),
            Err(error) => return Err(format!("this is no request: {error}")),
        }
        let read = client.read_buf(&mut bytes).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Ok(None);
        }
    }
}

fn wanted(request: &httparse::Request<'_, '_>) -> Result<ProxyRequest, String> {
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    if method == "CONNECT" {
        let (host, port) = place(target, None).ok_or("CONNECT needs a host and a port")?;
        return Ok(ProxyRequest { host, port, head: None, rest: Vec::new() });
    }
    let Some(beyond) = target.strip_prefix("http://") else {
        return Err("this is a proxy: it takes CONNECT, and http:// with a host".to_owned());
    };
    let path = beyond.find(['/', '?', '#']).unwrap_or(beyond.len());
    let (host, port) = place(&beyond[..path], Some(80)).ok_or("the address has no host")?;
    let path = match &beyond[path..] {
        path if path.starts_with('/') => path.to_owned(),
        path => format!("/{path}"),
    };
    // One request per connection: further ones would not be checked.
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nConnection: close\r\nHost: {}\r\n",
        &beyond[..beyond.find(['/', '?', '#']).unwrap_or(beyond.len())]
    );
    let mut head_bytes = std::mem::take(&mut head).into_bytes();
    for field in request.headers.iter() {
        let name = field.name.to_ascii_lowercase();
        if !matches!(name.as_str(), "connection" | "host" | "keep-alive" | "upgrade")
            && !name.starts_with("proxy-")
        {
            head_bytes.extend_from_slice(field.name.as_bytes());
            head_bytes.extend_from_slice(b": ");
            head_bytes.extend_from_slice(field.value);
            head_bytes.extend_from_slice(b"\r\n");
        }
    }
    head_bytes.extend_from_slice(b"\r\n");
    Ok(ProxyRequest { host, port, head: Some(head_bytes), rest: Vec::new() })
}

/// "host:port", "[::1]:port".
fn place(text: &str, default: Option<u16>) -> Option<(String, u16)> {
    if text.contains('@') {
        return None;
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some((host.to_owned(), port.or(default)?))
}

/// Whether it is an address of this machine, whichever it is: a local program can listen there.
fn is_own(address: IpAddr) -> bool {
    std::net::UdpSocket::bind(SocketAddr::new(address, 0)).is_ok()
}

/// The reason why there is no connection.
enum ConnectError {
    /// The text after the place.
    Refused(String),
    Failed(io::Error),
}

async fn reach(host: &str, port: u16, allowed: &[NetworkTarget]) -> Result<TcpStream, ConnectError> {
    if !allowed.iter().any(|target| target.allows(host, port)) {
        return Err(ConnectError::Refused(String::new()));
    }
    let addresses = match host.parse::<IpAddr>() {
        // A rule that names the very address means it.
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => {
            let found = timeout(PATIENCE, lookup_host((host, port))).await;
            let found: Vec<SocketAddr> = found
                .map_err(|late| ConnectError::Failed(late.into()))?
                .map_err(ConnectError::Failed)?
                .collect();
            if let Some(private) =
                found.iter().find(|address| !is_public(address.ip()) || is_own(address.ip()))
            {
                let mut why = String::new();
                // Nothing fails that writes into a text.
                let _ =
                    write!(why, " (the name leads to {}, which is not of the open internet)", private.ip());
                return Err(ConnectError::Refused(why));
            }
            found
        }
    };
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match timeout(PATIENCE, TcpStream::connect(address)).await {
            Ok(Ok(server)) => {
                // Small messages of a model's stream are not held back.
                let _ = server.set_nodelay(true);
                return Ok(server);
            }
            Ok(Err(error)) => last = error,
            Err(late) => last = late.into(),
        }
    }
    Err(ConnectError::Failed(last))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::host_socket::HostSocketAddress;

    fn targets(allowed: &[&str]) -> Vec<NetworkTarget> {
        allowed.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The answer of a proxy with these permissions to a request, and its reports.
    async fn asked(allowed: &[&str], request: &str) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let (teller, mut refused) = RefusalSender::new();
        let proxy = ProxySocket::open(&path, targets(allowed), teller).unwrap();
        let address = HostSocketAddress::of_host(&proxy.word()).unwrap();
        let mut stream = UnixStream::connect(address.path()).await.unwrap();
        stream.write_all(&address.key).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        drop(proxy);
        let mut told = Vec::new();
        while let Ok(refusal) = refused.try_recv() {
            told.push(refusal.target);
        }
        (said, told)
    }

    /// A server that returns the request, once.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = vec![0; 4096];
            let read = stream.read(&mut asked).await.unwrap();
            stream.write_all(&asked[..read]).await.unwrap();
        });
        address
    }

    #[tokio::test]
    async fn what_is_named_is_reached_and_nothing_else() {
        // N6
        let there = echo().await;
        let (said, told) =
            asked(&[&there.to_string()], &format!("CONNECT {there} HTTP/1.1\r\n\r\nhello")).await;
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("\r\n\r\nhello"), "{said}");
        assert_eq!(told, [""; 0]);

        let there = echo().await;
        let request = format!(
            "GET http://{there}/a?b HTTP/1.1\r\nHost: evil\r\nProxy-Authorization: x\r\nA: b\r\n\r\n"
        );
        let (said, _) = asked(&[&there.to_string()], &request).await;
        let expected = format!("GET /a?b HTTP/1.1\r\nConnection: close\r\nHost: {there}\r\nA: b\r\n\r\n");
        assert_eq!(said, expected);

        for (host, named) in [
            (format!("localhost:{}", there.port()), format!("localhost:{}", there.port())),
            ("[::1]:80".to_owned(), "::1:80".to_owned()),
            ("169.254.169.254:80".to_owned(), "169.254.169.254:80".to_owned()),
            ("2130706433:80".to_owned(), "2130706433:80".to_owned()),
            ("github.com:22".to_owned(), "github.com:22".to_owned()),
        ] {
            let request = format!("CONNECT {host} HTTP/1.1\r\n\r\n");
            let (said, told) = asked(&[&there.to_string(), "github.com"], &request).await;
            assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
            assert_eq!(told, [named]);
        }
    }

    #[tokio::test]
    async fn the_proxy_of_a_boundary_serves_nobody_else() {
        // N6: a session at `write` without a network reached the permitted targets of a strict one at the same time.
        let there = echo().await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let (teller, mut refused) = RefusalSender::new();
        let proxy = ProxySocket::open(&path, targets(&[&there.to_string()]), teller).unwrap();
        assert!(!path.exists(), "the socket has a name");
        let address = HostSocketAddress::of_host(&proxy.word()).unwrap();
        let request = format!("CONNECT {there} HTTP/1.1\r\n\r\n");
        for key in [&[][..], &SocketKey::default(), &address.key[1..]] {
            let mut stream = UnixStream::connect(address.path()).await.unwrap();
            stream.write_all(&[key, request.as_bytes()].concat()).await.unwrap();
            let mut said = Vec::new();
            // Unread data makes it end with an error.
            let _ = stream.read_to_end(&mut said).await;
            assert_eq!(said, b"", "{key:?}");
        }
        assert!(refused.try_recv().is_err());
        drop(proxy);
        tokio::task::yield_now().await;
        assert!(UnixStream::connect(address.path()).await.is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_although_it_is_allowed() {
        let there = echo().await;
        let name = format!("localhost:{}", there.port());
        let (said, told) = asked(&[&name], &format!("CONNECT {name} HTTP/1.1\r\n\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 403 "), "{said}");
        assert!(told[0].contains("not of the open internet"), "{told:?}");
    }

    #[tokio::test]
    async fn what_is_no_request_is_answered_and_never_sent_on() {
        for request in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT x HTTP/1.1\r\n\r\n",
            "CONNECT a@b:1 HTTP/1.1\r\n\r\n",
            "GET https://x/ HTTP/1.1\r\n\r\n",
            "\u{1}\r\n\r\n",
        ] {
            let (said, _) = asked(&["x"], request).await;
            assert!(said.starts_with("HTTP/1.1 400 "), "{request}: {said}");
        }
    }
}
