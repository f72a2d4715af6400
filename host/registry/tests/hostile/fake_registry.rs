//! A small fake registry on this machine, which tests can make misbehave. It implements the part of the distribution protocol
//! that Baton uses, with one request per connection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use baton_core::Digest;
use baton_registry::MANIFEST_TYPE;

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct FakeResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) then: ResponseEnding,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseEnding {
    /// As it should.
    Close,
    /// The connection is closed after half of the body.
    CutInHalf,
    /// Nothing more comes, and the connection stays open.
    Silence,
    /// The body never ends.
    Endless,
}

/// Misbehaviour: a response, or none if the registry answers normally.
type ResponseOverride = Box<dyn Fn(&RecordedRequest) -> Option<FakeResponse> + Send + Sync>;

/// The content of the registry: manifests and blobs by path, with their media types.
type FakeContents = Mutex<BTreeMap<String, (String, Vec<u8>)>>;

/// The registry. It stops when it is dropped.
pub(crate) struct FakeRegistry {
    pub(crate) host: String,
    shared: Arc<FakeRegistryState>,
    thread: Option<JoinHandle<()>>,
}

struct FakeRegistryState {
    contents: FakeContents,
    seen: Mutex<Vec<RecordedRequest>>,
    twist: Mutex<Option<ResponseOverride>>,
    over: AtomicBool,
}

impl FakeResponse {
    pub(crate) fn of(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), then: ResponseEnding::Close }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub(crate) fn then(self, then: ResponseEnding) -> Self {
        Self { then, ..self }
    }
}

impl FakeRegistry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(FakeRegistryState {
            contents: Mutex::default(),
            seen: Mutex::default(),
            twist: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if of_thread.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&of_thread);
                // A silent client must not keep others waiting.
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { host, shared, thread: Some(thread) }
    }

    /// From now on it answers so.
    pub(crate) fn twist(
        &self,
        twist: impl Fn(&RecordedRequest) -> Option<FakeResponse> + Send + Sync + 'static,
    ) {
        *self.shared.twist.lock().unwrap() = Some(Box::new(twist));
    }

    /// From now on it behaves.
    pub(crate) fn behave(&self) {
        *self.shared.twist.lock().unwrap() = None;
    }

    /// Takes the requests received so far.
    pub(crate) fn seen(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.shared.seen.lock().unwrap())
    }

    /// Puts something there.
    pub(crate) fn put(&self, path: &str, media_type: &str, bytes: &[u8]) {
        self.shared.contents.lock().unwrap().insert(path.to_owned(), (media_type.to_owned(), bytes.to_vec()));
    }
}

impl Drop for FakeRegistry {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.host));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn serve(stream: TcpStream, shared: &FakeRegistryState) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(()) };
    let (mut length, mut authorization) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let seen = RecordedRequest { method, path, authorization, body };
    shared.seen.lock().unwrap().push(seen.clone());
    let twisted = shared.twist.lock().unwrap().as_ref().and_then(|twist| twist(&seen));
    let reply = twisted.unwrap_or_else(|| registry(&seen, &shared.contents));
    write(stream, &seen, &reply)
}

/// The normal response of a registry.
fn registry(seen: &RecordedRequest, contents: &FakeContents) -> FakeResponse {
    let mut contents = contents.lock().unwrap();
    match seen.method.as_str() {
        "GET" | "HEAD" => match contents.get(&seen.path) {
            Some((media_type, bytes)) => {
                FakeResponse::of(200, bytes.clone()).with("content-type", media_type)
            }
            None => FakeResponse::of(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#),
        },
        "POST" => FakeResponse::of(202, "").with("location", format!("{}1?state=x", seen.path)),
        _ => {
            let digest = Digest::of(&seen.body);
            if let Some((folder, asked)) = seen.path.split_once("/uploads/1?state=x&digest=") {
                if asked != digest.as_str() {
                    return FakeResponse::of(400, "DIGEST_INVALID");
                }
                let blob = ("application/octet-stream".to_owned(), seen.body.clone());
                contents.insert(format!("{folder}/{digest}"), blob);
            } else {
                let (folder, _) = seen.path.rsplit_once('/').unwrap();
                let manifest = (MANIFEST_TYPE.to_owned(), seen.body.clone());
                contents.insert(format!("{folder}/{digest}"), manifest.clone());
                contents.insert(seen.path.clone(), manifest);
            }
            FakeResponse::of(201, "").with("docker-content-digest", digest.as_str())
        }
    }
}

fn write(mut stream: TcpStream, seen: &RecordedRequest, reply: &FakeResponse) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if reply.then != ResponseEnding::Endless {
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    if seen.method == "HEAD" {
        return Ok(());
    }
    match reply.then {
        ResponseEnding::Close => stream.write_all(&reply.body),
        ResponseEnding::CutInHalf => stream.write_all(&reply.body[..reply.body.len() / 2]),
        ResponseEnding::Silence => {
            stream.write_all(&reply.body[..reply.body.len() / 2])?;
            // Until the waiting client has given up.
            stream.read(&mut [0]).map(drop)
        }
        ResponseEnding::Endless => loop {
            stream.write_all(&[0; 64 * 1024])?;
        },
    }
}
