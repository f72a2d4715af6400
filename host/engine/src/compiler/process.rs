//! A third-party component is compiled in a separate process, with limits on memory and processor time. A component that passes
//! every bound of `component_limits.rs` and still exceeds these limits ends that process, and the host refuses the component.
//!
//! The process is this same program with arguments of ours ([`compile_main`]). It reads a component from its standard input and writes the
//! code to its standard output. Nothing of the component runs there.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::{Pid, Resource, Rlimit, Signal};
use wasmtime::component::Component;

use crate::engine::wasmtime_config;
use crate::limits::{COMPONENT_BYTES, DecisionLimits};

/// Memory of the process in MiB.
const MEMORY_MIB: u32 = 2048;

/// Processor time of the process, all its threads together, in seconds. Interpreters of 12 and 18 MB take 27 to 46 s in a debug
/// build of this program, and a component that only just passes `component_limits.rs` takes less.
const CPU_SECONDS: u32 = 120;

/// Code that is taken back; the code of an interpreter is some hundred MiB.
const CODE_BYTES: u64 = 1 << 30;

/// Maximum bytes of the process's error message.
const WORDS_BYTES: u64 = 16 << 10;

/// How the process is started that compiles components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompilerProcess {
    /// The program, whose own version of wasmtime has to be that of the engine.
    pub program: PathBuf,
    /// Arguments after which [`compile_main`] is reached; two more follow them.
    pub arguments: Vec<OsString>,
    /// Bound of its memory in MiB.
    pub memory_mib: u32,
    /// Bound of its processor time in seconds, all threads together.
    pub cpu_seconds: u32,
}

/// The compiler process of every engine of this program, unless its configuration names another.
static OF_THIS_PROGRAM: OnceLock<CompilerProcess> = OnceLock::new();

/// Makes every engine that this program sets up from now on compile in a separate process: the program itself, started with
/// these arguments, upon which it must call [`compile_main`]. A second call changes nothing.
pub fn compile_in_subprocess(arguments: Vec<OsString>) {
    OF_THIS_PROGRAM.get_or_init(|| CompilerProcess::of_this_program(arguments));
}

/// The processes that compile now; nothing once no more is compiled.
static COMPILING: Mutex<Option<Vec<Pid>>> = Mutex::new(Some(Vec::new()));

/// Ends the processes that compile, and starts no more: for a program that is about to end. A caller that waits for one gets a
/// refusal.
pub fn stop_compiling() {
    for process in compiling().take().unwrap_or_default() {
        // A process that has ended by itself meanwhile was not reaped yet, so its id is not used again.
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
}

fn compiling() -> MutexGuard<'static, Option<Vec<Pid>>> {
    COMPILING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why there is no code.
#[derive(Debug)]
pub(crate) enum CompileError {
    /// It cannot be compiled; with the compiler's message.
    Unfit(String),
    /// It exceeds the limits on memory or time.
    TooMuch(String),
}

impl CompilerProcess {
    /// The process that [`compile_in_subprocess`] set.
    pub(crate) fn of_every_engine() -> Option<Self> {
        OF_THIS_PROGRAM.get().cloned()
    }

    /// This same program, even if its file was replaced meanwhile, with the limits for third-party components.
    fn of_this_program(arguments: Vec<OsString>) -> Self {
        let program = if cfg!(target_os = "linux") {
            PathBuf::from("/proc/self/exe")
        } else {
            std::env::current_exe().unwrap_or_default()
        };
        Self { program, arguments, memory_mib: MEMORY_MIB, cpu_seconds: CPU_SECONDS }
    }

    /// Compiles a component. Blocks until it is done.
    pub(crate) fn compile(&self, wasm: &wasmtime::Engine, bytes: &[u8]) -> Result<Component, CompileError> {
        let failed = |error: io::Error| {
            CompileError::Unfit(format!("the process that compiles it, {}: {error}", self.program.display()))
        };
        let mut child = self.start().map_err(failed)?;
        let answer = exchange(&mut child, bytes);
        if answer.is_err() {
            // The process may be blocked on its output.
            let _ = child.kill();
        }
        let process = Pid::from_child(&child);
        if let Some(others) = &mut *compiling() {
            others.retain(|other| *other != process);
        }
        let status = child.wait().map_err(failed)?;
        let (code, words) = answer.map_err(failed)?;
        if !status.success() {
            return Err(self.refusal(status, &words));
        }
        // Only this program wrote it, just now, and no code of the component had run.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize(wasm, &code) };
        component.map_err(|error| CompileError::Unfit(format!("{error:#}")))
    }

    fn start(&self) -> io::Result<Child> {
        let mut compiling = compiling();
        let Some(others) = &mut *compiling else {
            return Err(io::Error::other("it is not started: the program is about to end"));
        };
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .args([self.memory_mib.to_string(), self.cpu_seconds.to_string()])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        others.push(Pid::from_child(&child));
        Ok(child)
    }

    fn refusal(&self, status: ExitStatus, words: &str) -> CompileError {
        let Self { memory_mib, cpu_seconds, .. } = self;
        match status.signal() {
            Some(signal) if signal == Signal::XCPU.as_raw() || signal == Signal::KILL.as_raw() => {
                CompileError::TooMuch(format!(
                    "compiling it takes more than {cpu_seconds} s of processor time"
                ))
            }
            _ if words.contains(NO_MEMORY) || words.contains(NO_MAPPING) => {
                CompileError::TooMuch(format!("compiling it takes more than {memory_mib} MiB of memory"))
            }
            Some(signal) => {
                CompileError::TooMuch(format!("the process that compiles it was ended by signal {signal}"))
            }
            None => CompileError::Unfit(words.to_owned()),
        }
    }
}

/// Messages of Rust when an allocation fails, and of the system when a mapping fails.
const NO_MEMORY: &str = "memory allocation of";
const NO_MAPPING: &str = "Cannot allocate memory";

/// Sends the component to the process, and reads the code and its messages.
fn exchange(child: &mut Child, bytes: &[u8]) -> io::Result<(Vec<u8>, String)> {
    let (Some(mut input), Some(output), Some(words)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("it has no standard streams"));
    };
    std::thread::scope(|scope| {
        let given = scope.spawn(move || input.write_all(bytes));
        let said = scope.spawn(move || {
            let mut said = Vec::new();
            words.take(WORDS_BYTES).read_to_end(&mut said).map(|_| said)
        });
        let mut code = Vec::new();
        let read = output.take(CODE_BYTES + 1).read_to_end(&mut code)?;
        if read as u64 > CODE_BYTES {
            return Err(io::Error::other(format!("it makes more than {CODE_BYTES} bytes of code")));
        }
        // One that ends before it has read everything says why by how it ends.
        let _ = given.join();
        let said = said.join().unwrap_or_else(|_| Ok(Vec::new()))?;
        Ok((code, String::from_utf8_lossy(&said).into_owned()))
    })
}

/// Main function of the compiling process; its arguments are MiB of memory and seconds of processor time. If the component
/// cannot be compiled, it exits with 1 and writes the reason to standard error.
pub fn compile_main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter().map(|argument| argument.to_str()?.parse::<u64>().ok());
    let (Some(Some(memory_mib)), Some(Some(cpu_seconds))) = (arguments.next(), arguments.next()) else {
        eprintln!("the arguments are MiB of memory and seconds of processor time");
        return ExitCode::FAILURE;
    };
    match compile(memory_mib, cpu_seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn compile(memory_mib: u64, cpu_seconds: u64) -> Result<(), String> {
    confine(memory_mib, cpu_seconds).map_err(|error| format!("cannot limit itself: {error}"))?;
    super::lower_priority();
    let mut bytes = Vec::new();
    io::stdin()
        .take(COMPONENT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read the component: {error}"))?;
    let wasm = wasmtime::Engine::new(&wasmtime_config(&DecisionLimits::default(), 1))
        .map_err(|error| format!("{error:#}"))?;
    let code = wasm.precompile_component(&bytes).map_err(|error| format!("{error:#}"))?;
    io::stdout().write_all(&code).map_err(|error| format!("cannot write the code: {error}"))
}

/// From here on this process has no more than this.
fn confine(memory_mib: u64, cpu_seconds: u64) -> io::Result<()> {
    // No caller waits for the code any more.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let limit = |resource: Resource, most: u64| {
        rustix::process::setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
    };
    limit(Resource::Core, 0)?;
    limit(Resource::Cpu, cpu_seconds)?;
    // The engine's pool reserves addresses that are never used, so the limit is on writable memory.
    limit(Resource::Data, memory_mib.saturating_mul(1 << 20))?;
    Ok(())
}
