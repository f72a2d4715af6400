//! The engine over real components: the contract, decisions, the cache, swaps, and guests that do harm; one module a subject.
#![forbid(unsafe_code)]

mod cache;
mod common;
mod contract;
mod decisions;
mod growth;
#[path = "../../../../tests/hostile/mod.rs"]
mod hostile;
mod reuse;
mod swap;
