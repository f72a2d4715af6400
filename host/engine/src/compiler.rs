//! Compiles components on separate threads with a low priority, so that concurrent decisions are not slowed down.
//! `component_limits.rs` says which components may be compiled. Third-party components are compiled in a separate process
//! (`process.rs`).

use std::sync::atomic::{AtomicUsize, Ordering};

use wasmtime::component::Component;

mod process;

pub(crate) use process::CompileError;
pub use process::{CompilerProcess, compile_in_subprocess, compile_main, stop_compiling};

/// The niceness: a third of the weight of normal threads. With less weight, compiling
/// would take far too long while agents run builds.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Of the threads.
const NAME: &str = "policy-compiler";

/// Components that are being compiled now, by any engine of this program.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// Whether this program compiles a component now: it was in no cache.
pub fn is_compiling() -> bool {
    AT_WORK.load(Ordering::Relaxed) > 0
}

/// Held while a component is compiled.
pub(crate) struct CompilationGuard;

impl CompilationGuard {
    pub(crate) fn begin() -> Self {
        AT_WORK.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for CompilationGuard {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Compiles a component. On this thread if no other can be started.
///
/// The calling thread sleeps meanwhile. If a worker of another rayon pool waited for these threads itself, it would take up its
/// pool's next job instead, while it still holds its locks.
pub(crate) fn compile(wasm: &wasmtime::Engine, bytes: &[u8]) -> wasmtime::Result<Component> {
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|_| NAME.to_owned())
        .start_handler(|_| lower_priority())
        .build();
    let here = || Component::from_binary(wasm, bytes);
    let Ok(threads) = threads else { return here() };
    std::thread::scope(|scope| {
        let waiting = std::thread::Builder::new().name(NAME.to_owned());
        match waiting.spawn_scoped(scope, || threads.install(here)) {
            Ok(compiled) => compiled.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => here(),
        }
    })
}

/// Gives this thread, and those that it starts, a low priority. Linux has one for each thread; elsewhere it would be that of the whole process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    // If the system refuses, the compiler keeps its normal priority, and only slows down other threads.
    let _ = rustix::process::setpriority_process(None, NICE);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn whoever_waits_for_a_compilation_takes_up_nothing_else() {
        let wasm = wasmtime::Engine::default();
        let (compiles, took_up) = (AtomicBool::new(false), AtomicBool::new(false));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        one.scope(|scope| {
            scope.spawn(|scope| {
                scope.spawn(|_| took_up.store(compiles.load(Ordering::SeqCst), Ordering::SeqCst));
                compiles.store(true, Ordering::SeqCst);
                compile(&wasm, crate::builtin_bytes()).unwrap();
                compiles.store(false, Ordering::SeqCst);
            });
        });
        assert!(!took_up.into_inner());
    }
}
