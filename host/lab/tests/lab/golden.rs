//! The golden decisions of the reference policies, put to the components that are committed: what the crate's own tests hold
//! natively holds of what is shipped.

use std::path::Path;

use baton_engine::{Engine, EngineConfig};
use baton_lab::golden::{GoldenCase, GoldenResult};

#[test]
fn committed_components_decide_as_their_golden_files_say() {
    // M4
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    let engine = Engine::new(EngineConfig::default()).unwrap();
    let mut complaints = Vec::new();
    let mut stand = 0;
    for entry in std::fs::read_dir(&policies).unwrap() {
        let folder = entry.unwrap().path();
        let component = folder.with_extension("wasm");
        let Ok(files) = std::fs::read_dir(folder.join("golden")) else { continue };
        let Ok(bytes) = std::fs::read(&component) else { continue };
        let name = component.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let policy = engine.load(&name, &bytes).unwrap_or_else(|error| panic!("{error}"));
        for file in files.map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let name = file.display();
            let golden = GoldenCase::parse(&std::fs::read_to_string(&file).unwrap());
            let replayed = golden.and_then(|golden| golden.replay(&policy));
            match replayed {
                Ok(GoldenResult::Matches) => stand += 1,
                other => complaints.push(format!("{name}: {other:?}")),
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(stand > 0, "no golden file stands in {}", policies.display());
}
