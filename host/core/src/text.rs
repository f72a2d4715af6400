//! A long text that travels by reference: the journal keeps its digest, the blob store its bytes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::Digest;

/// A text and its content address. Serialised as digest and length alone; [`TextBlob::body`] is then empty until
/// [`TextBlob::hydrate`] gives it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextBlob {
    digest: Digest,
    bytes: u64,
    #[serde(skip)]
    body: Option<Arc<str>>,
}

impl TextBlob {
    /// Wraps a text and computes its address.
    pub fn new(body: impl Into<Arc<str>>) -> Self {
        let body = body.into();
        Self { digest: Digest::of(body.as_bytes()), bytes: body.len() as u64, body: Some(body) }
    }

    /// The content address.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Length in bytes, known even if the body is not loaded.
    pub fn len_bytes(&self) -> u64 {
        self.bytes
    }

    /// The text, if it is loaded.
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// Gives the body back after reading. Refuses a body of another digest.
    pub fn hydrate(&mut self, body: impl Into<Arc<str>>) -> Result<(), Digest> {
        let body = body.into();
        let found = Digest::of(body.as_bytes());
        if found != self.digest {
            return Err(found);
        }
        self.body = Some(body);
        Ok(())
    }
}

impl Default for TextBlob {
    fn default() -> Self {
        Self::new("")
    }
}

impl From<String> for TextBlob {
    fn from(body: String) -> Self {
        Self::new(body)
    }
}

impl From<&str> for TextBlob {
    fn from(body: &str) -> Self {
        Self::new(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_reference_is_serialised() {
        let text = TextBlob::new("a long text");
        let json = serde_json::to_string(&text).unwrap();
        assert!(!json.contains("long"));
        let mut back: TextBlob = serde_json::from_str(&json).unwrap();
        assert_eq!(back.body(), None);
        assert!(back.hydrate("another text").is_err());
        back.hydrate("a long text").unwrap();
        assert_eq!(back, text);
    }
}
