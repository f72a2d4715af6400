//! The backstop: a thread that moves wasmtime's epoch on while a decision is being made, and sleeps otherwise.
//! What a decision may cost is fuel's business; this ends only what fuel does not see.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Coarse on purpose: a backstop of two seconds need not be exact, and each tick wakes a core.
const TICK_MS: u64 = 50;

/// Ticks without a decision after which the thread sleeps until it is called: decisions come in bursts, and waking
/// a thread for each would cost as much as the decision.
const IDLE_TICKS: u32 = 40;

/// The ticking thread; it ends when this is dropped.
pub(crate) struct Watchdog {
    shared: Arc<WatchdogState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct WatchdogState {
    watched: AtomicU32,
    asleep: AtomicBool,
    stop: AtomicBool,
}

impl Watchdog {
    /// Starts the thread. Errors where the system gives none.
    pub(crate) fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        Self::start_with(engine, Duration::from_millis(TICK_MS), IDLE_TICKS)
    }

    fn start_with(engine: wasmtime::Engine, tick: Duration, idle_ticks: u32) -> std::io::Result<Self> {
        let shared = Arc::new(WatchdogState::default());
        let thread = thread::Builder::new().name("policy-watchdog".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run(&engine, tick, idle_ticks)
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Ticks, from now, until the deadline: one more than fits, since the current tick is partly over.
    pub(crate) fn deadline_ticks(limit_ms: u64) -> u64 {
        limit_ms.div_ceil(TICK_MS).saturating_add(1)
    }

    /// Keeps the epoch moving until the guard is dropped.
    pub(crate) fn watch(&self) -> WatchGuard<'_> {
        // Either this thread sees that the other is asleep, or the other sees that something is watched: both
        // write before they read.
        self.shared.watched.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.wake();
        }
        WatchGuard(self)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl WatchdogState {
    fn run(&self, engine: &wasmtime::Engine, tick: Duration, idle_ticks: u32) {
        let mut idle = 0;
        while !self.stop.load(SeqCst) {
            idle = if self.watched.load(SeqCst) > 0 { 0 } else { idle + 1 };
            if idle < idle_ticks {
                thread::park_timeout(tick);
                engine.increment_epoch();
                continue;
            }
            self.asleep.store(true, SeqCst);
            while self.watched.load(SeqCst) == 0 && !self.stop.load(SeqCst) {
                thread::park();
            }
            self.asleep.store(false, SeqCst);
        }
    }
}

/// Something is being watched.
pub(crate) struct WatchGuard<'a>(&'a Watchdog);

impl Drop for WatchGuard<'_> {
    fn drop(&mut self) {
        self.0.shared.watched.fetch_sub(1, SeqCst);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A tick that panicked has nothing to tell: the fuel limit holds without it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It would hang, were a wake-up lost: either side waits for the other, many times.
    #[test]
    fn it_sleeps_when_nothing_is_watched_and_wakes_when_something_is() {
        let watchdog =
            Watchdog::start_with(wasmtime::Engine::default(), Duration::from_micros(10), 1).unwrap();
        let wait_until_asleep = |asleep| {
            while watchdog.shared.asleep.load(SeqCst) != asleep {
                thread::yield_now();
            }
        };
        for _ in 0..200 {
            wait_until_asleep(true);
            let _watch = watchdog.watch();
            wait_until_asleep(false);
        }
    }

    #[test]
    fn a_deadline_is_never_too_early() {
        assert_eq!(Watchdog::deadline_ticks(TICK_MS), 2);
        assert_eq!(Watchdog::deadline_ticks(TICK_MS + 1), 3);
        assert_eq!(Watchdog::deadline_ticks(0), 1);
    }
}
