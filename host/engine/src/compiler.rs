//! Compiles components on threads of its own, behind everything else that the machine has to do: whoever makes decisions at
//! the same time is not to notice. What may be compiled is `bounds.rs`'s business.

use wasmtime::component::Component;

/// How far behind: a third of the weight of everything else. Less would be no end of waiting where agents build things.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Compiles a component. Where there are no threads to be had, on this one.
pub(crate) fn compile(wasm: &wasmtime::Engine, bytes: &[u8]) -> wasmtime::Result<Component> {
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|_| "policy-compiler".to_owned())
        .start_handler(|_| step_back())
        .build();
    match threads {
        Ok(threads) => threads.install(|| Component::from_binary(wasm, bytes)),
        Err(_) => Component::from_binary(wasm, bytes),
    }
}

/// Gives this thread a low priority. Linux has one for each thread; elsewhere it would be that of the whole process.
fn step_back() {
    #[cfg(target_os = "linux")]
    // A system that refuses leaves the compiler where it was, in nobody's way but the neighbours'.
    let _ = rustix::process::setpriority_process(None, NICE);
}
