//! `baton policy`: the components that judge how a run continues. Each command is in a file of its own; pinning is here.

mod build;
mod check;
mod component_info;
mod inspect;
mod list;
mod new;
mod pull;
mod push;
mod shadow;
mod sign;
mod try_policy;
mod use_policy;
mod verify;
mod which;

use std::path::PathBuf;

use baton_runtime::expect_person;
use clap::{Args, Subcommand, ValueHint};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::render::{json_record, text_format};
use crate::task::{Task, folder_of};
use crate::{policies, stdio};

use build::BuildArgs;
use check::PolicyCheckArgs;
use inspect::InspectArgs;
use list::PolicyListArgs;
pub(crate) use new::CapabilityArg;
use new::NewArgs;
use pull::PullArgs;
use push::PushArgs;
use shadow::ShadowArgs;
use sign::{KeygenArgs, SignArgs};
use try_policy::PolicyTryArgs;
pub(crate) use try_policy::{asked_about, setting};
use use_policy::UseArgs;
pub(crate) use use_policy::{GrantArg, grant, grant_flags, granted};
use verify::VerifyArgs;
use which::WhichArgs;

/// Write, inspect and share policies: the components that make the decisions of a run
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton policy new my-split --decides splitting
                                        a crate with a policy that works, and its tests
  baton policy build my-split           its component
  baton policy check my-split.wasm      whether it keeps the rules of the contract
  baton policy try my-split.wasm        on the decisions of the newest run
  baton policy use my-split.wasm        in a live run, from its next decision on
  baton policy which workflow.toml      which policy decides what in it, and which file says so
  baton policy shadow                   what the shadow policies would have decided
  baton policy inspect                  the built-in policy, with everything that can be set
  baton policy inspect careful.wasm     a component of your own
  baton policy lock workflow.toml       pins the components of a workflow by digest
  baton policy push my-split.wasm oci://registry.example/acme/my-split:1
  baton policy pull oci://registry.example/acme/my-split:1
  baton policy sign oci://registry.example/acme/my-split:1 --key acme.key
  baton policy verify oci://registry.example/acme/my-split:1 --key acme.pub
  baton policy list                     what was pulled, and what is pinned here
  baton policy wit >baton-policy.wit    the contract, for a language without a template")]
pub(crate) enum PolicyCommand {
    New(NewArgs),
    Build(BuildArgs),
    Check(PolicyCheckArgs),
    Try(PolicyTryArgs),
    Use(UseArgs),
    Shadow(ShadowArgs),
    Which(WhichArgs),
    Inspect(InspectArgs),
    Lock(LockArgs),
    Push(PushArgs),
    Pull(PullArgs),
    Keygen(KeygenArgs),
    Sign(SignArgs),
    Verify(VerifyArgs),
    List(PolicyListArgs),
    /// Print the contract as one WIT file, for a language without a template
    #[command(after_help = "\
Examples:
  mkdir -p wit/deps/baton-policy
  baton policy wit >wit/deps/baton-policy/baton-policy.wit

From there to a component, in a language that has a compiler for WebAssembly:

1. Write a world of your own beside `deps/`, in wit/world.wit. Export an interface for each decision, and `settings`; import \
`types`, `questions`, and what you read (`config`, `text`, `log`, `facts-…`):
  package team:policies;
  world guest {
      import baton:policy/types@0.1.0;
      import baton:policy/questions@0.1.0;
      import baton:policy/config@0.1.0;
      export baton:policy/splitting@0.1.0;
      export baton:policy/settings@0.1.0;
  }
2. Generate bindings, in C if your language has no generator: wit-bindgen c wit --out-dir gen
   You define `exports_baton_policy_splitting_decide` and `exports_baton_policy_settings_schema`; the core module exports them as \
`baton:policy/splitting@0.1.0#decide` and so on, beside its memory and `cabi_realloc` (gen/guest.c has that one).
3. Compile for WebAssembly without WASI (a target like wasm32-freestanding, no entry): the host refuses a component that imports \
anything but the contract.
4. Make the component: wasm-tools component new policy.core.wasm -o policy.wasm
5. baton policy check policy.wasm

host/cli/docs/policy-from-wit.md in the sources of baton has all of it, with an example in Zig that builds.")]
    Wit,
}

/// Pin the components of a workflow, and of the layers beneath it, by digest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy lock workflow.toml

Each is pinned in the `baton.lock` next to the file that names it. From then on, `baton run` refuses a component \
whose bytes have changed, and takes a registry's component from what was pulled, even if its tag has moved.")]
pub(crate) struct LockArgs {
    /// The workflow file
    #[arg(value_name = "WORKFLOW.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn policy(command: PolicyCommand) -> anyhow::Result<CliExit> {
    match command {
        PolicyCommand::New(args) => new::new(args),
        PolicyCommand::Build(args) => build::build(args),
        PolicyCommand::Check(args) => check::check(args),
        PolicyCommand::Try(args) => try_policy::attempt(args),
        PolicyCommand::Use(args) => use_policy::use_policy(args),
        PolicyCommand::Shadow(args) => shadow::shadow(args),
        PolicyCommand::Which(args) => which::which(args),
        PolicyCommand::Inspect(args) => inspect::inspect(args),
        PolicyCommand::Lock(args) => lock(args),
        PolicyCommand::Push(args) => push::push(args),
        PolicyCommand::Pull(args) => pull::pull(args),
        PolicyCommand::Keygen(args) => sign::keygen(args),
        PolicyCommand::Sign(args) => sign::sign(args),
        PolicyCommand::Verify(args) => verify::verify(args),
        PolicyCommand::List(args) => list::list(args),
        PolicyCommand::Wit => new::print_contract(),
    }
}

fn lock(args: LockArgs) -> anyhow::Result<CliExit> {
    // One of these locks may concern every folder: the one next to the user's own configuration.
    expect_person("pinning policies")?;
    let (workflow, _) = Task::of_file(&args.file).parse_with_layers(&args.location)?;
    let pinned = policies::lock(&workflow, &folder_of(&args.file)?, &args.location)?;
    let locks: Vec<Value> = pinned
        .iter()
        .map(|(lock, pinned)| json!({ "file": lock.to_string_lossy(), "components": pinned }))
        .collect();
    let document = json!({ "schema": json_record::SCHEMA, "record": "policy-lock", "locks": locks });
    if !json_record::write(args.format.format, &document)? {
        for (lock, pinned) in pinned {
            let pinned = text_format::count(pinned, "component");
            stdio::progress(&format!("pinned {pinned} in {}", lock.display()));
        }
    }
    Ok(CliExit::Done)
}
