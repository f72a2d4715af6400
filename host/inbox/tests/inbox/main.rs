//! Files that agents write into the inbox, and the service over it; one module per subject.
#![forbid(unsafe_code)]

mod scan;
mod service;
