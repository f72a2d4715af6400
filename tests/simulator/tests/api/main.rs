//! The simulator as an HTTP client sees it, by either API: replies, streams, errors, token counts.

mod http;
mod messages;
mod responses;
