//! The network inside of a strict boundary: connections to a port of its own loopback are forwarded to the host's proxy.
//! Permitted targets on the machine's own loopback are reachable at their own addresses as well.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::host_socket::HostSocketAddress;

/// Only a refusal of the proxy is longer than this.
const ANSWER_BYTES: usize = 4096;

/// Listens on a port of the loopback and gives its address. The tasks run until the runtime ends.
pub(crate) async fn listen(proxy: HostSocketAddress, loopback: &[SocketAddr]) -> io::Result<SocketAddr> {
    let proxy = Arc::new(proxy);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let own = listener.local_addr()?;
    tokio::spawn(serve(listener, Arc::clone(&proxy), None));
    for address in loopback {
        let listener = TcpListener::bind(address).await?;
        tokio::spawn(serve(listener, Arc::clone(&proxy), Some(*address)));
    }
    Ok(own)
}

async fn serve(listener: TcpListener, proxy: Arc<HostSocketAddress>, to: Option<SocketAddr>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let proxy = Arc::clone(&proxy);
                tokio::spawn(async move {
                    // The client sees that the connection is closed.
                    let _ = carry(client, &proxy, to).await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn carry(mut client: TcpStream, proxy: &HostSocketAddress, to: Option<SocketAddr>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut host = UnixStream::connect(proxy.path()).await?;
    host.write_all(&proxy.key).await?;
    if let Some(to) = to {
        host.write_all(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= ANSWER_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            answer.push(host.read_u8().await?);
        }
        if !answer.starts_with(b"HTTP/1.1 200 ") {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    copy_bidirectional(&mut client, &mut host).await.map(|_| ())
}
