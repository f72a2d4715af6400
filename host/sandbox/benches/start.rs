//! The cost of a boundary at a start: a program that ends at once, without a boundary and at each level. This program is also
//! the stages.

use std::ffi::OsStr;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};

use baton_core::workflow::{Sandbox, SandboxLevel};
use baton_sandbox::{Boundary, BoundaryRequest, SandboxSupport, sandbox_main};
use criterion::Criterion;

const PROGRAM: &str = "/bin/true";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(OsStr::new("__sandbox")) {
        return sandbox_main(arguments);
    }
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("start without a boundary", |bench| {
        bench.iter(|| black_box(Command::new(PROGRAM).status().unwrap()));
    });
    let sandbox_support = SandboxSupport::look(std::env::var_os("PATH").as_deref());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let tree = root.join("tree");
    std::fs::create_dir(&tree).unwrap();
    for level in [SandboxLevel::Write, SandboxLevel::Strict] {
        if let Err(missing) = sandbox_support.can(level) {
            eprintln!("{missing}");
            continue;
        }
        criterion.bench_function(&format!("start in {}", level.name()), |bench| {
            bench.iter(|| runtime.block_on(async { start(&sandbox_support, level, &root, &tree) }));
        });
    }
    criterion.final_summary();
    ExitCode::SUCCESS
}

/// Makes a boundary, runs the program in it, and takes it away.
fn start(sandbox_support: &SandboxSupport, level: SandboxLevel, root: &Path, tree: &Path) {
    let own_exe = std::env::current_exe().unwrap();
    let sandbox = Sandbox::of(level);
    let wanted = BoundaryRequest {
        home: Some(Path::new("/nonexistent/home")),
        path: Some(OsStr::new("/usr/bin:/bin")),
        ..BoundaryRequest::of(&sandbox, tree, root.join("session/inside"), &own_exe)
    };
    let (boundary, _refused) = Boundary::open(wanted, sandbox_support).unwrap();
    let words = boundary.command();
    let status = Command::new(&words[0]).args(&words[1..]).arg(PROGRAM).status().unwrap();
    assert!(status.success());
}
