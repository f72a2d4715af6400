//! A client of one request, and what it got. Knows neither API.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use baton_simulator::Simulator;
use serde_json::Value;

pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: String,
}

impl HttpReply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Type and data of each event of a stream.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Posts a body.
pub(crate) fn send(simulator: &Simulator, path: &str, body: &str) -> HttpReply {
    request(simulator, "POST", path, body)
}

pub(crate) fn request(simulator: &Simulator, method: &str, path: &str, body: &str) -> HttpReply {
    let address = simulator.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let length = body.len();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    let body = if head.contains("transfer-encoding: chunked") { joined(body) } else { body.to_owned() };
    HttpReply { status: head[9..12].parse().unwrap(), head, body }
}

/// Joins the chunks of a chunked body.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body.push_str(&rest[..size]);
        chunks = rest[size..].strip_prefix("\r\n").unwrap();
    }
    body
}
