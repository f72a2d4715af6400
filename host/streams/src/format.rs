//! The formats by name, and the decoder of each.

use std::fmt;
use std::str::FromStr;

use crate::{
    AcpDecoder, ClaudeDecoder, CodexAppServerDecoder, CodexExecDecoder, Decoder, GeminiDecoder,
    OpencodeDecoder, PlainDecoder,
};

/// A format of an agent's stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamFormat {
    /// `claude -p --output-format stream-json`.
    Claude,
    /// `codex exec --json`.
    CodexExec,
    /// `codex app-server`: JSON-RPC on stdio.
    CodexAppServer,
    /// Any agent of the Agent Client Protocol.
    Acp,
    /// `opencode run --format json`.
    Opencode,
    /// `gemini -o stream-json`.
    Gemini,
    /// Plain text of any process.
    Text,
}

impl StreamFormat {
    /// All of them.
    pub const ALL: [StreamFormat; 7] = [
        StreamFormat::Claude,
        StreamFormat::CodexExec,
        StreamFormat::CodexAppServer,
        StreamFormat::Acp,
        StreamFormat::Opencode,
        StreamFormat::Gemini,
        StreamFormat::Text,
    ];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            StreamFormat::Claude => "claude",
            StreamFormat::CodexExec => "codex-exec",
            StreamFormat::CodexAppServer => "codex-app-server",
            StreamFormat::Acp => "acp",
            StreamFormat::Opencode => "opencode",
            StreamFormat::Gemini => "gemini",
            StreamFormat::Text => "text",
        }
    }

    /// A decoder that has seen nothing yet.
    pub fn decoder(self) -> Box<dyn Decoder + Send> {
        match self {
            StreamFormat::Claude => Box::new(ClaudeDecoder::new()),
            StreamFormat::CodexExec => Box::new(CodexExecDecoder::new()),
            StreamFormat::CodexAppServer => Box::new(CodexAppServerDecoder::new()),
            StreamFormat::Acp => Box::new(AcpDecoder::new()),
            StreamFormat::Opencode => Box::new(OpencodeDecoder::new()),
            StreamFormat::Gemini => Box::new(GeminiDecoder::new()),
            StreamFormat::Text => Box::new(PlainDecoder::new()),
        }
    }
}

impl fmt::Display for StreamFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not that of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" is no stream format; {}the formats are {}", meant(name), StreamFormat::ALL.map(StreamFormat::name).join(", "))]
pub struct UnknownFormat {
    /// The name as it was given.
    pub name: String,
}

/// "did you mean codex-exec or codex-app-server? ", or nothing: an agent may have several formats.
fn meant(name: &str) -> String {
    let alike = |format: &StreamFormat| {
        !name.is_empty() && (format.name().starts_with(name) || name.starts_with(format.name()))
    };
    let names: Vec<&str> =
        StreamFormat::ALL.iter().filter(|format| alike(format)).map(|format| format.name()).collect();
    match names.as_slice() {
        [] => String::new(),
        names => format!("did you mean {}? ", names.join(" or ")),
    }
}

impl FromStr for StreamFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = StreamFormat::ALL.into_iter().find(|format| format.name() == name);
        named.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_another_is_refused_with_the_choice() {
        for format in StreamFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = "codex".parse::<StreamFormat>().unwrap_err().to_string();
        assert!(
            error.contains("\"codex\" is no stream format; did you mean codex-exec or codex-app-server?"),
            "{error}"
        );
        let other = "claude-code".parse::<StreamFormat>().unwrap_err().to_string();
        assert!(other.contains("did you mean claude?"), "{other}");
        assert!(!"x".parse::<StreamFormat>().unwrap_err().to_string().contains("did you mean"));
    }
}
