//! Recordings of real agents become runs: their verdicts are those of the labels, they replay exactly, and no content of a file
//! breaks the import.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use baton_core::UnixMs;
use baton_core::action::RunOutcome;
use baton_core::facts::ProcessExit;
use baton_core::view::RunStatus;
use baton_engine::{BUILTIN_NAME, Engine, EngineConfig, builtin_bytes};
use baton_lab::{
    Import, ImportError, ImportFormat, ImportOutcome, ImportRequest, Importer, RecordedFile, RecordingTime,
    StreamFormat, ask_again, refold, verify,
};
use baton_store::{Journal, StateDir, StoreError};
use serde_json::Value;

const MOMENT: RecordingTime = RecordingTime { at: UnixMs(1_770_892_200_000), utc_offset_minutes: 0 };

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams")
}

fn engine() -> Engine {
    Engine::new(EngineConfig::default()).unwrap()
}

fn exit_of(code: i64) -> ProcessExit {
    let code = i32::try_from(code).unwrap();
    match code {
        ..0 => ProcessExit { code: None, signal: Some(-code), by_host: false },
        code => ProcessExit { code: Some(code), signal: None, by_host: false },
    }
}

fn request<'a>(files: &'a [RecordedFile<'a>]) -> ImportRequest<'a> {
    ImportRequest { files, format: None, goal: None, window_tokens: None, moment: MOMENT }
}

/// One file, without anything else known.
fn import(importer: &Importer, name: &str, bytes: &[u8]) -> Result<Import, ImportError> {
    importer.import(&request(&[RecordedFile { name, bytes, stderr: None, exit: None }]))
}

fn refusal(importer: &Importer, bytes: &[u8]) -> String {
    import(importer, "turns.jsonl", bytes).unwrap_err().to_string()
}

/// A workspace with a state directory.
fn place() -> (tempfile::TempDir, StateDir) {
    let dir = tempfile::tempdir().unwrap();
    let workspace = dir.path().join("work");
    fs::create_dir(&workspace).unwrap();
    let state = StateDir::open(&dir.path().join("state"), &workspace).unwrap();
    (dir, state)
}

fn labels() -> BTreeMap<String, Value> {
    let read = |name| fs::read(fixtures().join(name)).unwrap();
    let parse = |name| serde_json::from_slice::<BTreeMap<String, Value>>(&read(name)).unwrap();
    let mut labels = parse("labels.json");
    labels.extend(parse("labels-more.json"));
    labels
}

#[test]
fn every_labelled_recording_becomes_a_run_that_ends_as_its_label_says_and_replays_exactly() {
    let engine = engine();
    let importer = Importer::new(&engine).unwrap();
    let (_dir, state) = place();
    let mut runs = Vec::new();
    let mut wrong = Vec::new();
    for (name, label) in &labels() {
        let path = fixtures().join(format!("{name}.jsonl"));
        let bytes = fs::read(&path).unwrap();
        let stderr = fs::read(path.with_extension("stderr.txt")).ok();
        let exit = label["exit"].as_i64().map(exit_of);
        let file = RecordedFile { name, bytes: &bytes, stderr: stderr.as_deref(), exit };
        // One that printed nothing on its standard output has no format that could be found out.
        let is_mute = bytes.is_empty();
        let format = is_mute.then_some(ImportFormat::Stream(StreamFormat::Claude));
        let files = [file];
        let request = ImportRequest { format, ..request(&files) };
        let made = match importer.import(&request) {
            Ok(made) => made,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let last = made.report().verdicts.last().map(|last| last.verdict).unwrap_or_default();
        let (folder, written) = (name.split('-').next().unwrap_or_default(), &made.report().imported.format);
        let folder = folder.split('/').next().unwrap_or_default();
        assert!(written.starts_with(folder), "{name} is taken for {written}");
        if last != label["label"] {
            wrong.push(format!("{name}: {last}, not {}: {:#?}", label["label"], made.report()));
        }
        runs.push(made.run().clone());
        assert_eq!(made.keep(&state).unwrap(), ImportOutcome::New, "{name}");
    }
    assert_eq!(wrong, Vec::<String>::new(), "of {}", runs.len());
    assert!(runs.len() > 70);

    let policy = engine.load(BUILTIN_NAME, builtin_bytes()).unwrap().configure(&BTreeMap::new()).unwrap();
    let policies = [policy];
    let journal = Journal::open_read_only(&state).unwrap();
    let mut same = 0;
    for run in &runs {
        let found = verify(&journal, run, ask_again(&policies, engine.digest())).unwrap();
        assert!(found.is_exact() && found.decisions.unavailable == 0, "{run}: {found:?}");
        same += found.decisions.same;
    }
    assert!(same > 300, "{same}");
}

/// Two sessions: the first is used up in its second prompt, the next one finishes.
const TWO_SESSIONS: &str = r#"{"session":"a","prompt":"","at":"2026-02-12T10:30:00Z","turn":1,"text":"I have read everything that there is to read, and I know what to change.","tool":"Read","reads":"a.rs","used_tokens":90000,"window_tokens":200000,"input_tokens":90000,"output_tokens":200}
{"turn":1,"stop":"end_turn"}
{"prompt":"go on","turn":2,"at":"2026-02-12T10:31:00Z","tool":"Write","writes":"b.rs","used_tokens":185000,"window_tokens":200000}
{"turn":3,"at":"2026-02-12T10:40:00Z","error":{"code":"context_length_exceeded","status":400,"text":"prompt is too long"},"stop":"error"}
{"session":"b","at":"2026-02-12T11:00:00Z","turn":1,"text":"I have written the rest of b.rs, and its tests pass.","writes":"b.rs","tool":"Write","used_tokens":20000,"window_tokens":200000,"stop":"end_turn"}
{"exit":0}
"#;

fn verdicts(made: &Import) -> Vec<&'static str> {
    made.report().verdicts.iter().map(|verdict| verdict.verdict).collect()
}

#[test]
fn a_log_of_turns_is_a_run_with_its_sessions_prompts_and_times() {
    let engine = engine();
    let importer = Importer::new(&engine).unwrap();
    let (_dir, state) = place();
    let made = import(&importer, "relay.jsonl", TWO_SESSIONS.as_bytes()).unwrap();
    let report = made.report().clone();
    assert_eq!(verdicts(&made), ["completed", "exhausted", "completed"], "{report:#?}");
    assert_eq!((report.sessions, report.prompts, report.prompts_recorded), (2, 3, 3));
    assert_eq!(report.status, RunStatus::Ended(RunOutcome::Done), "{report:#?}");
    assert!(!report.imported.times_are_made_up && report.stopped.is_none(), "{report:#?}");
    let run = made.run().clone();
    made.keep(&state).unwrap();
    let journal = Journal::open_read_only(&state).unwrap();
    let measured = baton_lab::run_metrics::measure(&journal, &run).unwrap();
    assert_eq!(
        (measured.objectives, measured.completed, measured.claimed),
        (2, 0, 2),
        "what was exhausted was finished by the next, and nothing has checked it"
    );
    assert_eq!((measured.sessions, measured.exhaustions, measured.handoffs), (2, 1, 1));
    assert_eq!(measured.started_at, UnixMs(1_770_892_200_000));
    assert!(measured.active_ms >= 30 * 60 * 1000, "the times are the recorded ones: {measured:?}");
    assert!(refold(&journal, &run).unwrap().is_ok());
}

#[test]
fn the_same_recording_is_the_same_run_and_is_kept_once() {
    let importer = Importer::new(&engine()).unwrap();
    let (_dir, state) = place();
    let make = || import(&importer, "relay.jsonl", TWO_SESSIONS.as_bytes()).unwrap();
    let run = make().run().clone();
    assert!(!make().exists_in(&state).unwrap());
    let lock = state.lock().unwrap();
    let busy = make().keep(&state).unwrap_err();
    assert!(matches!(busy, ImportError::Store(StoreError::Locked { .. })), "{busy}");
    drop(lock);
    assert_eq!(make().keep(&state).unwrap(), ImportOutcome::New);
    let rows = || {
        let journal = Journal::open_read_only(&state).unwrap();
        (journal.runs().unwrap().len(), journal.last_seq(&run).unwrap())
    };
    let before = rows();
    assert_eq!(make().keep(&state).unwrap(), ImportOutcome::AlreadyImported);
    assert_eq!((before.0, rows()), (1, before));
    assert!(make().exists_in(&state).unwrap());
    let other = TWO_SESSIONS.replace("go on", "go on!");
    assert_ne!(import(&importer, "relay.jsonl", other.as_bytes()).unwrap().run(), &run);
}

#[test]
fn where_a_policy_would_have_gone_another_way_the_recording_decides_or_the_run_ends() {
    let importer = Importer::new(&engine()).unwrap();
    // The window fills up and the agent continues: the recording has no handoff or compaction, so the run has none either.
    let full = r#"{"prompt":"","turn":1,"text":"The first half is written, and its tests pass on this machine.","used_tokens":185000,"window_tokens":200000,"stop":"end_turn"}
{"prompt":"","turn":2,"text":"The second half is written, and its tests pass on this machine.","used_tokens":190000,"window_tokens":200000,"stop":"end_turn"}
"#;
    let made = import(&importer, "full.jsonl", full.as_bytes()).unwrap();
    let report = made.report();
    assert_eq!((verdicts(&made), report.prompts), (vec!["completed", "completed"], 2), "{report:#?}");
    assert_eq!(report.decisions_of_the_recording, 1, "{report:#?}");
    let told = format!("{:?}", report.notes);
    assert!(told.contains("resilience would have handed off to a new session"), "{told}");
    let (_dir, state) = place();
    let run = made.run().clone();
    made.keep(&state).unwrap();
    let found = verify(&Journal::open_read_only(&state).unwrap(), &run, |_: &_, _: &_| {
        baton_lab::ReplayedAnswer::Unavailable { why: "nobody is asked here".to_owned() }
    });
    let found = found.unwrap();
    assert!(found.is_exact() && found.decisions.host_fallback == 1, "{found:?}");

    // The verdict is exhausted, and the recording continues in the same session: it does not show what a new session would have
    // done.
    let lines: Vec<&str> = TWO_SESSIONS.lines().collect();
    let on = lines[4].replace("\"session\":\"b\",", "").replace("\"turn\":1", "\"turn\":4");
    let goes_on = [lines[..4].join("\n"), on].join("\n");
    let made = import(&importer, "goes-on.jsonl", goes_on.as_bytes()).unwrap();
    let report = made.report();
    let stopped = report.stopped.clone().unwrap();
    assert_eq!((stopped.line, report.prompts, report.prompts_recorded), (5, 2, 3), "{report:#?}");
    assert!(stopped.what.contains("goes on in the same session"), "{stopped:?}");
    assert_eq!(report.status, RunStatus::Ended(RunOutcome::Unfinished));
}

#[test]
fn a_recording_that_ends_in_a_wait_is_set_aside() {
    let importer = Importer::new(&engine()).unwrap();
    let (_dir, state) = place();
    let limit = r#"{"prompt":"","turn":1,"at":1770892200000,"text":"I begin.","error":{"code":"usage_limit_reached","status":429,"text":"You've hit your usage limit","resets_at":1770899400000},"stop":"error","exit":1}
"#;
    let made = import(&importer, "limit.jsonl", limit.as_bytes()).unwrap();
    assert_eq!(verdicts(&made), ["quota"]);
    assert_eq!(made.report().status, RunStatus::Ended(RunOutcome::Interrupted));
    let stopped = made.report().stopped.clone().unwrap();
    assert!(stopped.what.contains("while a provider's limit is waited for"), "{stopped:?}");
    let run = made.run().clone();
    made.keep(&state).unwrap();
    let journal = Journal::open_read_only(&state).unwrap();
    let folded = refold(&journal, &run).unwrap().unwrap();
    assert!(folded.run.is_set_aside() && folded.run.live_sessions().is_empty());
    let measured = baton_lab::run_metrics::measure(&journal, &run).unwrap();
    assert_eq!(measured.quota_wait_ms, 0, "nothing is waited for that nobody recorded");
}

#[test]
fn what_is_broken_is_told_with_its_place_and_secrets_do_not_come_along() {
    let importer = Importer::new(&engine()).unwrap();
    let good = r#"{"turn":1,"text":"one"}"#;
    let with = |line: &str| refusal(&importer, format!("{good}\n{line}\n").as_bytes());
    let unknown = with(r#"{"turn":2,"colour":"red"}"#);
    assert!(
        unknown.starts_with("turns.jsonl:2: ") && unknown.contains("unknown field `colour`"),
        "{unknown}"
    );
    let nested = with(r#"{"turn":2,"error":{"stauts":429}}"#);
    assert!(nested.starts_with("turns.jsonl:2: error") && nested.contains("`stauts`"), "{nested}");
    let kind = with(r#"{"turn":2,"used_tokens":"many"}"#);
    assert!(kind.starts_with("turns.jsonl:2: used_tokens: invalid type"), "{kind}");
    assert!(with(r#"{"turn":2,"at":"yesterday"}"#).starts_with("turns.jsonl:2: at: "));
    assert!(with(r#"{"turn":0,"text":"back"}"#).contains("turn: 0 comes after 1"));
    assert!(with(r#"{"turn":2,"cost_usd":-1.5}"#).contains("cost_usd: -1.5 is no cost"));
    assert!(with(r#"{"turn":2,"te"#).starts_with("turns.jsonl:2: "));
    assert_eq!(refusal(&importer, b"\n \n"), "turns.jsonl is empty: there is nothing to import");
    assert!(refusal(&importer, b"hello\n").contains("say which with --as"));
    let not_text = refusal(&importer, &[good.as_bytes(), b"\n{\"text\":\"\xff\"}"].concat());
    assert!(not_text.starts_with("turns.jsonl:2: is no text"), "{not_text}");

    let stream = fs::read(fixtures().join("claude/success.jsonl")).unwrap();
    let cut = refusal(&importer, &stream[..stream.len() - 20]);
    assert!(cut.contains("the line breaks off"), "{cut}");

    let token = ["ghp", "_", "1234567890abcdefghijABCDEFGHIJ123456"].concat();
    let secret =
        format!("{{\"turn\":1,\"text\":\"the token is {token} and it works\",\"stop\":\"end_turn\"}}\n");
    let made = import(&importer, "secret.jsonl", secret.as_bytes()).unwrap();
    assert_eq!(made.report().masked_lines, 1);
    let (_dir, state) = place();
    let run = made.run().clone();
    made.keep(&state).unwrap();
    let journal = Journal::open_read_only(&state).unwrap();
    let rows: Vec<String> = journal.read(&run).unwrap().map(|row| format!("{:?}", row.unwrap())).collect();
    assert!(!rows.join("\n").contains(&token) && rows.join("\n").contains("[secret: "));
}

/// Imports these bytes and checks the journal: it has a whole run that folds again, or nothing.
fn whole_or_nothing(importer: &Importer, bytes: &[u8]) {
    let (_dir, state) = place();
    match import(importer, "any.jsonl", bytes) {
        Ok(made) => {
            let run = made.run().clone();
            made.keep(&state).unwrap();
            let journal = Journal::open_read_only(&state).unwrap();
            assert!(refold(&journal, &run).unwrap().is_ok());
        }
        Err(error) => {
            assert!(!matches!(error, ImportError::Impossible { .. }), "{error}");
            assert!(!state.journal().exists());
        }
    }
}

#[test]
fn any_part_of_a_recording_is_a_whole_run_or_none() {
    let importer = Importer::new(&engine()).unwrap();
    for name in
        ["claude/interrupt", "codex/app-server-429-retry", "acp-claude-0.100/compact", "gemini/quota-day"]
    {
        let bytes = fs::read(fixtures().join(name).with_extension("jsonl")).unwrap();
        let ends: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
        let step = ends.len().div_ceil(12);
        for end in ends.iter().step_by(step) {
            whole_or_nothing(&importer, &bytes[..*end]);
            whole_or_nothing(&importer, &bytes[..end.saturating_sub(7)]);
        }
    }
    for line in 0..=TWO_SESSIONS.lines().count() {
        let part: String = TWO_SESSIONS.lines().take(line).map(|line| format!("{line}\n")).collect();
        whole_or_nothing(&importer, part.as_bytes());
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]

    #[test]
    fn lines_in_any_order_and_with_anything_between_are_a_whole_run_or_none(
        picks in proptest::collection::vec((0_usize..7, 0_usize..40), 1..12),
        garbage in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..24),
    ) {
        let importer = IMPORTER.get_or_init(|| Importer::new(&engine()).unwrap());
        let claude = fs::read_to_string(fixtures().join("claude/rate-limit-429-forever.jsonl")).unwrap();
        let (relay, claude): (Vec<&str>, Vec<&str>) = (TWO_SESSIONS.lines().collect(), claude.lines().collect());
        let mut bytes = Vec::new();
        let is_stream = picks[0].1 % 2 == 0;
        for (kind, n) in picks {
            match kind {
                0 if n % 5 == 0 => bytes.extend_from_slice(&garbage),
                _ if is_stream => bytes.extend_from_slice(claude[n % claude.len()].as_bytes()),
                _ => bytes.extend_from_slice(relay[n % relay.len()].as_bytes()),
            }
            bytes.push(b'\n');
        }
        whole_or_nothing(importer, &bytes);
    }
}

static IMPORTER: std::sync::OnceLock<Importer> = std::sync::OnceLock::new();
