//! Facts, projections, verification and work trees over real folders and git; one module a subject.
#![forbid(unsafe_code)]

mod assess;
mod projection;
mod trees;
mod verify;
