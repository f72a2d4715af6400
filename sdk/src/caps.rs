//! How long an answer may be. The host throws an answer away whole that passes a cap, so a policy that may have much to say
//! looks at these first. Of a prompt or document it leaves out [sections](crate::sections) before that.
//!
//! ```
//! use baton_sdk::caps::{REASON_BYTES, cut};
//!
//! assert_eq!(cut(&"because ".repeat(200), REASON_BYTES).len(), REASON_BYTES);
//! ```

/// Bytes of a prompt, a document, an index, and of the instructions of a compaction.
///
/// ```
/// assert_eq!(baton_sdk::caps::TEXT_BYTES, 32_768);
/// ```
pub const TEXT_BYTES: usize = 32 << 10;

/// Bytes of a reason, and of every other short text: a question, a title, an id, a warning, a finding.
///
/// ```
/// assert_eq!(baton_sdk::caps::REASON_BYTES, 1_024);
/// ```
pub const REASON_BYTES: usize = 1 << 10;

/// Entries of a list.
///
/// ```
/// assert_eq!(baton_sdk::caps::ITEMS, 256);
/// ```
pub const ITEMS: usize = 256;

/// Bytes of a piece of evidence; the host cuts what is longer.
///
/// ```
/// assert_eq!(baton_sdk::caps::EVIDENCE_BYTES, 200);
/// ```
pub const EVIDENCE_BYTES: usize = 200;

/// The beginning of a text, at most so many bytes, of whole characters.
///
/// ```
/// use baton_sdk::caps::cut;
///
/// assert_eq!(cut("größer", 3), "gr");
/// assert_eq!(cut("größer", 99), "größer");
/// ```
pub fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
