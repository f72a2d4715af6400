//! The agents of the matrix but the rehearsal: one program that speaks four protocols. What it does with a prompt is the
//! same in each (`fake_agent.rs`); the protocols say only that, and how full its window is.

mod fake_agent;
mod lines;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cell::{AgentEnding, EvidenceRequirement, FakeAgentKind};
use fake_agent::FakeAgent;
pub(crate) use fake_agent::{PROMPTS, PromptRecord};

/// The word that makes this executable an agent. After it: kind, ending, what it is held to, and the folder of its log.
pub(crate) const COMMAND: &str = "__agent";

/// The size of its window.
pub(crate) const WINDOW_TOKENS: u64 = 200_000;

pub(crate) fn main(args: impl Iterator<Item = String>) -> ExitCode {
    let args: Vec<String> = args.take(4).collect();
    let Some((kind, agent)) = told(&args) else {
        eprintln!("usage: {COMMAND} KIND ENDING HELD-TO FOLDER, not {args:?}");
        return ExitCode::from(2);
    };
    match kind {
        FakeAgentKind::Claude => lines::serve(|line| lines::claude(line, &agent)),
        FakeAgentKind::Codex => lines::serve(|line| lines::codex(line, &agent)),
        FakeAgentKind::Acp => lines::serve(|line| lines::acp(line, &agent)),
        FakeAgentKind::Process => {
            let mut prompt = String::new();
            if std::io::stdin().read_to_string(&mut prompt).is_err() {
                return ExitCode::FAILURE;
            }
            let answer = agent.prompt(&prompt);
            println!("{}", answer.words);
            println!(
                "{{\"baton\":{{\"used_tokens\":{},\"window_tokens\":{WINDOW_TOKENS}}}}}",
                answer.used_tokens
            );
        }
        // It is built in.
        FakeAgentKind::Rehearsal => return ExitCode::from(2),
    }
    ExitCode::SUCCESS
}

/// What the arguments say.
fn told(args: &[String]) -> Option<(FakeAgentKind, FakeAgent)> {
    let [kind, ending, held_to, folder] = args else { return None };
    let (kind, ending) = (FakeAgentKind::of_name(kind)?, AgentEnding::of_name(ending)?);
    let process = match kind {
        // Each of its prompts is a process, and the relay that starts them is the session.
        FakeAgentKind::Process => std::os::unix::process::parent_id(),
        _ => std::process::id(),
    };
    let folder = PathBuf::from(folder);
    Some((kind, FakeAgent::start(ending, EvidenceRequirement::of_name(held_to)?, folder, process)))
}
