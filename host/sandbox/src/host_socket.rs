//! A socket of the host that only the stages of one boundary reach. It has no name: the socket and a key are among the
//! descriptors of the host, where a stage reads them before it is confined. A confined program cannot: Landlock denies it
//! access to processes outside, and in a strict boundary they are not visible. The key excludes a program that found the socket
//! while it still had its name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, memfd_create, openat};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::sys;

/// The first message on each connection.
pub(crate) type SocketKey = [u8; KEY_BYTES];
/// Its length.
pub(crate) const KEY_BYTES: usize = 32;
/// Bytes of a socket's path that every system takes.
const SOCKET_PATH_BYTES: usize = 100;

/// A socket, by a name that is short enough for its address.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = if path.as_os_str().len() <= SOCKET_PATH_BYTES {
        UnixListener::bind(path)?
    } else {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = File::open(folder)?;
        let short = format!("/proc/self/fd/{}", folder.as_raw_fd());
        UnixListener::bind(Path::new(&short).join(name))?
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The host's data of such a socket, apart from its listener.
#[derive(Debug)]
pub(crate) struct HostSocket {
    socket: OwnedFd,
    key: OwnedFd,
}

impl HostSocket {
    /// Removes the name of a socket at `path`, in a folder that is otherwise empty, and returns its key.
    pub(crate) fn unname(path: &Path) -> io::Result<(Self, SocketKey)> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat(CWD, path, flags, Mode::empty())?;
        fs::remove_file(path)?;
        let mut key = SocketKey::default();
        getrandom::fill(&mut key).map_err(io::Error::other)?;
        let mut kept = File::from(memfd_create("baton-key", MemfdFlags::CLOEXEC)?);
        kept.write_all(&key)?;
        Ok((Self { socket, key: kept.into() }, key))
    }

    /// The word by which the first stage finds it.
    pub(crate) fn word(&self) -> OsString {
        let process = std::process::id();
        format!("{process}:{}:{}", self.socket.as_raw_fd(), self.key.as_raw_fd()).into()
    }
}

/// How a stage reaches a socket of the host.
#[derive(Debug)]
pub(crate) struct HostSocketAddress {
    socket: SocketPlace,
    /// The first message that the host expects.
    pub(crate) key: SocketKey,
}

/// The place of the socket.
#[derive(Debug)]
enum SocketPlace {
    /// Among the descriptors of the host.
    OfHost(PathBuf),
    /// Among those of this process.
    Inherited(OwnedFd),
}

impl HostSocketAddress {
    /// Of the first stage, which is not confined yet: by the word of the host.
    pub(crate) fn of_host(word: &OsStr) -> io::Result<Self> {
        let [process, socket, key] = numbers::<u32, 3>(word)?;
        let of_host = |number: u32| PathBuf::from(format!("/proc/{process}/fd/{number}"));
        let mut said = SocketKey::default();
        File::open(of_host(key))?.read_exact(&mut said)?;
        Ok(Self { socket: SocketPlace::OfHost(of_host(socket)), key: said })
    }

    /// A path that leads to it, for as long as this is there.
    pub(crate) fn path(&self) -> PathBuf {
        match &self.socket {
            SocketPlace::OfHost(path) => path.clone(),
            SocketPlace::Inherited(socket) => PathBuf::from(format!("/proc/self/fd/{}", socket.as_raw_fd())),
        }
    }

    /// The same for the program that this process becomes, and a word for it. Both descriptors stay open until then.
    pub(crate) fn hand_on(&self) -> io::Result<([OwnedFd; 2], String)> {
        let socket = openat(CWD, self.path(), OFlags::PATH, Mode::empty())?;
        let (read, mut write) = io::pipe()?;
        write.write_all(&self.key)?;
        let key = OwnedFd::from(read);
        fcntl_setfd(&key, FdFlags::empty())?;
        let word = format!("{}:{}", socket.as_raw_fd(), key.as_raw_fd());
        Ok(([socket, key], word))
    }

    /// Of the stage that got such a word. Nothing that it starts inherits the descriptors.
    pub(crate) fn inherited(word: &OsStr) -> io::Result<Self> {
        let [socket, key] = numbers::<i32, 2>(word)?;
        if socket <= libc::STDERR_FILENO || key <= libc::STDERR_FILENO || socket == key {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (socket, key) = (sys::inherited(socket)?, sys::inherited(key)?);
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        let mut said = SocketKey::default();
        File::from(key).read_exact(&mut said)?;
        Ok(Self { socket: SocketPlace::Inherited(socket), key: said })
    }
}

/// The numbers of a word.
fn numbers<T: std::str::FromStr, const N: usize>(word: &OsStr) -> io::Result<[T; N]> {
    let parts = word.to_str().unwrap_or_default().split(':').map(|number| number.parse().ok());
    let numbers = parts.collect::<Option<Vec<T>>>().and_then(|numbers| numbers.try_into().ok());
    numbers.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_socket_without_a_name_is_reached_by_its_words() {
        // N6
        let place = tempfile::tempdir().unwrap();
        // Longer than an address may be.
        let folder = place.path().join("a".repeat(SOCKET_PATH_BYTES));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("s");
        let listener = listen(&path).unwrap();
        listener.set_nonblocking(false).unwrap();
        let (socket, key) = HostSocket::unname(&path).unwrap();
        assert!(!path.exists(), "the socket has a name");
        let first = HostSocketAddress::of_host(&socket.word()).unwrap();
        let (open, word) = first.hand_on().unwrap();
        assert!(open.iter().all(|open| !rustix::io::fcntl_getfd(open).unwrap().contains(FdFlags::CLOEXEC)));
        // As another process has them.
        let numbers = open.map(std::os::fd::IntoRawFd::into_raw_fd);
        assert_eq!(word, format!("{}:{}", numbers[0], numbers[1]));
        let next = HostSocketAddress::inherited(OsStr::new(&word)).unwrap();
        let SocketPlace::Inherited(held) = &next.socket else { panic!("{next:?}") };
        assert!(rustix::io::fcntl_getfd(held).unwrap().contains(FdFlags::CLOEXEC));
        for address in [&first, &next] {
            let mut stream = UnixStream::connect(address.path()).unwrap();
            stream.write_all(&address.key).unwrap();
            let mut said = SocketKey::default();
            listener.accept().unwrap().0.read_exact(&mut said).unwrap();
            assert_eq!((said, address.key), (key, key));
        }
    }

    #[test]
    fn a_word_of_something_else_leads_nowhere() {
        // N6
        for word in ["", "-", "1:2", "1:2:3:4", "self:0:0", "-1:0:0", "1:x:2", "../1:0:0", "4000000:3:4"] {
            assert!(HostSocketAddress::of_host(OsStr::new(word)).is_err(), "{word}");
        }
        for word in ["", "-", "0:1", "2:3", "3:3", "-3:4", "3", "4000000:4000001", "3:4:5"] {
            assert!(HostSocketAddress::inherited(OsStr::new(word)).is_err(), "{word}");
        }
    }
}
