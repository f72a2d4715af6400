//! A scripted model behind the Anthropic Messages API and the OpenAI Responses API on loopback, so that real agent CLIs
//! run without a network, a key or chance. It answers by script and counts tokens by bytes; it understands nothing.
//!
//! One script serves every agent: a turn says what is to happen, and the simulator calls the tool that the agent at hand
//! offers for it, as `Write` for Claude Code and `apply_patch` for Codex. Where an agent replaces its dialogue by a
//! summary, the summary carries the prompt and the turns that are done, so the script goes on where it was.
//!
//! ```no_run
//! use baton_simulator::{ModelScript, ModelTurn, Simulator};
//!
//! let script = ModelScript::new()
//!     .on("[greeting]", [ModelTurn::write("/tmp/hello.txt", "hello\n"), ModelTurn::say("Written.")])
//!     .max_prompt_tokens(60_000);
//! let simulator = Simulator::start(script)?;
//! println!("ANTHROPIC_BASE_URL={0}, base_url of a model provider of Codex: {0}/v1", simulator.url());
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod api_kind;
mod dialogue;
mod failure;
mod messages;
mod model_request;
mod reply;
mod responses;
mod script;
mod server;
mod state;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

pub use api_kind::ApiKind;
pub use failure::ScriptedFailure;
pub use model_request::{ModelRequest, OfferedTool};
pub use script::{ModelScript, ModelTurn};
pub use state::{AnswerKind, ServedRequest};

/// A running simulator. It listens on a free port of the loopback address until it is dropped.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    state: Arc<state::SimulatorState>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Starts to listen, on a thread of its own: it serves tests with and without a runtime alike.
    ///
    /// # Errors
    /// What the system says where no port, thread or runtime is to be had.
    pub fn start(script: ModelScript) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let state = Arc::new(state::SimulatorState::new(script));
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let serving = server::serve(listener, Arc::clone(&state));
        let thread = std::thread::Builder::new().name("simulator".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    served = serving => if let Err(error) = served {
                        eprintln!("the simulator stopped serving: {error}");
                    }
                }
            });
        })?;
        Ok(Self { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// What to set `ANTHROPIC_BASE_URL` to; with `/v1` after it, the `base_url` of a model provider of Codex.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far and how it was answered, in order.
    pub fn requests(&self) -> Vec<ServedRequest> {
        self.state.requests()
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Where nobody listens any more, the thread is already at its end.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
