//! Matches answers to requests, in protocols in which only the id connects them. Bounded.

use std::collections::VecDeque;

use crate::wire::{RawJson, truncate_name};

/// Requests under way at a time are one or two; an agent that asks without end must not grow the list.
const KEPT_REQUESTS: usize = 64;

/// Requests that are not answered, by id, each with its kind.
#[derive(Debug)]
pub(crate) struct PendingRequests<K>(VecDeque<(String, K)>);

impl<K> Default for PendingRequests<K> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<K: Copy + PartialEq> PendingRequests<K> {
    /// A request was made.
    pub(crate) fn insert(&mut self, id: RawJson<'_>, kind: K) {
        if self.0.len() == KEPT_REQUESTS {
            self.0.pop_front();
        }
        self.0.push_back((truncate_name(id.0.unwrap_or_default()).to_owned(), kind));
    }

    /// A request was answered: its kind, if that is known.
    pub(crate) fn remove(&mut self, id: RawJson<'_>) -> Option<K> {
        let id = truncate_name(id.0?);
        let at = self.0.iter().position(|(known, _)| *known == id)?;
        self.0.remove(at).map(|(_, kind)| kind)
    }

    /// Whether one of this kind is under way.
    pub(crate) fn any(&self, kind: K) -> bool {
        self.0.iter().any(|(_, known)| *known == kind)
    }
}
