//! Facts, projections, verification and work trees over real folders and git; one module a subject.
#![forbid(unsafe_code)]

mod lost_work;
mod measure;
mod projection;
mod trees;
mod verify;
