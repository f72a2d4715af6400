//! The decoders over recordings, mutations of them and hostile bytes; one module a subject.
#![forbid(unsafe_code)]

mod codex;
mod formats;
mod fuzz;
mod hostile;
mod recordings;
