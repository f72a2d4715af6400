//! What agents write into the inbox, and the service over it; one module a subject.
#![forbid(unsafe_code)]

mod scan;
mod service;
