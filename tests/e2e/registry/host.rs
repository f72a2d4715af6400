//! A real registry on this machine, started for one test and stopped with it; and a wire to it that can be cut.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use baton_runtime::core::Digest;

/// What Debian's package is called, and its program.
const PROGRAM: &str = "docker-registry";

/// A registry. It is killed when it is dropped.
pub(crate) struct RegistryServer {
    child: Child,
    folder: tempfile::TempDir,
    /// "127.0.0.1:port".
    pub(crate) host: String,
}

/// The program of `BATON_TEST_REGISTRY`, or of the path; where there is none, that is said.
fn program() -> Option<OsString> {
    let named = std::env::var_os("BATON_TEST_REGISTRY").filter(|program| !program.is_empty());
    let on_path = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())
    };
    let found = named.or_else(|| on_path().map(PathBuf::into_os_string));
    if found.is_none() {
        eprintln!(
            "SKIPPED: no registry. BATON_TEST_REGISTRY names no program, and {PROGRAM} is not on the path; \
             Debian's package of this name has it"
        );
    }
    found
}

impl RegistryServer {
    /// Starts one, where there is a program.
    pub(crate) fn start() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::Builder::new().prefix("baton-registry-").tempdir().unwrap();
        let config = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: {{rootdirectory: {:?}}}}}\n\
             http: {{addr: \"127.0.0.1:0\"}}\n",
            folder.path().join("blobs")
        );
        std::fs::write(&config, text).unwrap();
        let mut child = Command::new(&program)
            .arg("serve")
            .arg(&config)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let host = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "the registry ended before it listened");
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect();
            }
        };
        // Its log is read to the end, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Some(Self { child, folder, host })
    }

    /// The file in which it keeps a blob.
    pub(crate) fn blob(&self, digest: &str) -> PathBuf {
        let digest: Digest = digest.parse().unwrap();
        let blobs = self.folder.path().join("blobs/docker/registry/v2/blobs/sha256");
        blobs.join(&digest.hex()[..2]).join(digest.hex()).join("data")
    }

    pub(crate) fn stop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for RegistryServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A wire to a registry: what goes over it arrives, until it is cut.
pub(crate) struct CuttableProxy {
    pub(crate) host: String,
    shared: Arc<CuttableProxyState>,
}

struct CuttableProxyState {
    to: String,
    /// How many bytes of one answer still come through.
    bytes_max: AtomicUsize,
    over: AtomicBool,
}

impl CuttableProxy {
    pub(crate) fn to(host: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(CuttableProxyState {
            to: host.to_owned(),
            bytes_max: AtomicUsize::new(usize::MAX),
            over: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if of_thread.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&of_thread);
                std::thread::spawn(move || drop(carry(stream, &shared)));
            }
        });
        Self { host: own, shared }
    }

    /// From now on each connection is cut after so many bytes of answers.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.shared.bytes_max.store(bytes, Ordering::SeqCst);
    }
}

impl Drop for CuttableProxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.host));
    }
}

/// Carries one connection both ways.
fn carry(client: TcpStream, shared: &CuttableProxyState) -> std::io::Result<()> {
    let registry = TcpStream::connect(&shared.to)?;
    let (mut from_client, mut to_registry) = (client.try_clone()?, registry.try_clone()?);
    std::thread::spawn(move || {
        drop(std::io::copy(&mut from_client, &mut to_registry));
        drop(to_registry.shutdown(Shutdown::Write));
    });
    let (mut registry, mut client) = (registry, client);
    let mut buffer = [0; 16 * 1024];
    let mut left = shared.bytes_max.load(Ordering::SeqCst);
    while left > 0 {
        let read = registry.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        let carried = read.min(left);
        client.write_all(&buffer[..carried])?;
        left -= carried;
    }
    drop(registry.shutdown(Shutdown::Both));
    client.shutdown(Shutdown::Both)
}

/// Every file below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => waiting.push(path),
                path => found.push(path),
            }
        }
    }
    found
}
