//! `baton mcp`: Baton's tools for an MCP client, on stdin and stdout. The host starts it for agents; the user may name it in
//! the settings of their own client.

use std::path::PathBuf;

use baton_runtime::{McpClient, ProxyClient};
use clap::{Args, Subcommand, ValueHint};

use crate::args::LocationArgs;
use crate::exit_status::CliExit;
use crate::location::RunLocation;

/// Serve Baton's tools to an MCP client: progress, decisions, handoff, artifacts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton mcp --workspace ~/app            for your own client: the live run of that folder
  baton mcp --session …/s1/door.json     for the agent of one session; its host does this

In the settings of a client:
  {\"mcpServers\": {\"baton\": {\"command\": \"baton\", \"args\": [\"mcp\", \"--workspace\", \"/home/me/app\"]}}}

It speaks the Model Context Protocol on standard input and output, and ends when its client disconnects. A call is \
answered once it is in the journal. While the host restarts, the call is retried, and counts once.")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// File that the host wrote for a session; without it the tools are a person's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "workspace")]
    session: Option<PathBuf>,
    #[command(flatten)]
    location: LocationArgs,
}

/// What else there is beside the tools.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    Proxy(ProxyArgs),
}

/// Proxy another MCP server, and keep its large results out of the context
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton mcp proxy -- npx -y some-mcp-server .            for your own client
  baton mcp proxy --session …/s1/door.json -- my-server  for the agent of one session

Everything passes through unchanged, except texts of tool results that the offloading policy keeps out of the \
context (more than 20,000 tokens, unless set otherwise). The proxy keeps such a text as an artifact and returns a \
reference with its first ten lines; the tool baton_artifact_load, which the proxy adds, reads ranges of it. With \
--session, the host and its policy decide; without it, the built-in policy does, and `baton artifacts ls mcp-proxy` \
lists the kept texts. If no host answers, results stay as they are. Images, resources and errors are never \
replaced.")]
pub(crate) struct ProxyArgs {
    /// File that the host wrote for a session; without it the client is a person's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "workspace")]
    session: Option<PathBuf>,
    #[command(flatten)]
    location: LocationArgs,
    /// The MCP server and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn mcp(args: McpArgs) -> anyhow::Result<CliExit> {
    if let Some(McpCommand::Proxy(args)) = args.command {
        return proxy(args);
    }
    let client = match args.session {
        Some(file) => McpClient::Session(file),
        None => McpClient::Person(RunLocation::here(&args.location)?.config),
    };
    serve(baton_runtime::mcp(client))
}

fn proxy(args: ProxyArgs) -> anyhow::Result<CliExit> {
    let client = match args.session {
        Some(file) => ProxyClient::Session(file),
        None => ProxyClient::Person(RunLocation::here(&args.location)?.config),
    };
    let Some((command, rest)) = args.command.split_first() else { return Ok(CliExit::Done) };
    serve(baton_runtime::mcp_proxy(client, command, rest))
}

fn serve(service: impl Future<Output = Result<(), baton_runtime::RuntimeError>>) -> anyhow::Result<CliExit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(service);
    // A thread of its own reads stdin and cannot be woken: the client has hung up, so end here.
    runtime.shutdown_background();
    served?;
    Ok(CliExit::Done)
}
