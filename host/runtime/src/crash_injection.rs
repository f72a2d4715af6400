//! A hook for the crash tests, and for nothing else: ends this process by SIGKILL at a named point, or makes the journal run
//! out of room. Without its variables it does nothing.
//!
//! | variable | meaning |
//! |---|---|
//! | `BATON_KILL_AT=before-commit:N` | before the N-th commit of the journal, everything of it written |
//! | `BATON_KILL_AT=commit:N` | after the N-th commit, before the host acts on it |
//! | `BATON_KILL_AT=effect-before:N` | before the N-th durable intent is performed |
//! | `BATON_KILL_AT=effect-after:N` | after it was performed, before its outcome is known |
//! | `BATON_JOURNAL_PAGES=N` | the journal may have N pages of 4 KiB, as on a disk that is full beyond them |

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use baton_store::{CommitHook, JournalOptions};
use rustix::process::{Signal, getpid, kill_process};

/// Where to die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrashPoint {
    BeforeCommit,
    Commit,
    EffectBefore,
    EffectAfter,
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct CrashInjection {
    crash_at: Option<(CrashPoint, u64)>,
    pages: Option<u32>,
    effects: Arc<AtomicU64>,
}

impl CrashInjection {
    /// Reads the hook's variables; one that cannot be read is the same as none.
    pub(crate) fn from_environment(environment: &BTreeMap<OsString, OsString>) -> Self {
        let get = |name: &str| environment.get(OsStr::new(name)).and_then(|value| value.to_str());
        Self {
            crash_at: get("BATON_KILL_AT").and_then(parse),
            pages: get("BATON_JOURNAL_PAGES").and_then(|pages| pages.parse().ok()),
            effects: Arc::default(),
        }
    }

    /// What the journal is opened with.
    pub(crate) fn journal_options(&self) -> JournalOptions {
        let hook = |point: CrashPoint| {
            let (_, at) = self.crash_at.filter(|(wanted, _)| *wanted == point)?;
            let hook: CommitHook = Box::new(move |ordinal| {
                if ordinal == at {
                    kill_self();
                }
            });
            Some(hook)
        };
        JournalOptions {
            before_commit: hook(CrashPoint::BeforeCommit),
            after_commit: hook(CrashPoint::Commit),
            max_pages: self.pages,
        }
    }

    /// Called before each durable intent is performed; gives the ordinal to hand to [`CrashInjection::effect_done`].
    pub(crate) fn effect_begins(&self) -> u64 {
        let ordinal = self.effects.fetch_add(1, Ordering::Relaxed) + 1;
        if self.crash_at == Some((CrashPoint::EffectBefore, ordinal)) {
            kill_self();
        }
        ordinal
    }

    /// Called after it was performed.
    pub(crate) fn effect_done(&self, ordinal: u64) {
        if self.crash_at == Some((CrashPoint::EffectAfter, ordinal)) {
            kill_self();
        }
    }
}

fn parse(text: &str) -> Option<(CrashPoint, u64)> {
    let (point, ordinal) = text.split_once(':')?;
    let point = match point {
        "before-commit" => CrashPoint::BeforeCommit,
        "commit" => CrashPoint::Commit,
        "effect-before" => CrashPoint::EffectBefore,
        "effect-after" => CrashPoint::EffectAfter,
        _ => return None,
    };
    Some((point, ordinal.parse().ok()?))
}

/// As the kernel would do it when memory runs out: no destructor runs, nothing is flushed.
fn kill_self() {
    let _ = kill_process(getpid(), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_point_with_a_number_arms_the_hook() {
        assert_eq!(parse("commit:3"), Some((CrashPoint::Commit, 3)));
        assert_eq!(parse("effect-after:12"), Some((CrashPoint::EffectAfter, 12)));
        for nothing in ["", "commit", "commit:", "commit:x", "nowhere:1"] {
            assert_eq!(parse(nothing), None, "{nothing}");
        }
        assert!(CrashInjection::from_environment(&BTreeMap::new()).journal_options().after_commit.is_none());
    }
}
