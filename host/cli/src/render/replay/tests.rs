//! How a replay reads: for people at several widths, for programs, and as a page.

use baton_lab::replay::{
    ContextId, ContextWarnings, FunctionMatches, LeadTime, MatchCounts, VerificationSummary,
};
use baton_lab::{CoreDivergence, LabError, PolicyReplayResult};
use baton_runtime::core::{Digest, Seq, SessionId};

use super::*;

fn lead(turns: u32, tokens: u64, seconds: u64) -> LeadTime {
    LeadTime { turns, tokens: Some(tokens), ms: seconds * 1_000 }
}

fn context(
    session: &str,
    outcome: ContextOutcome,
    recorded: WarningOutcome,
    candidate: WarningOutcome,
    off_course: bool,
) -> (RunId, ContextWarnings) {
    let id = ContextId { session: SessionId::new(session), context: 1 };
    let context = ContextWarnings {
        id,
        phase: "20".into(),
        outcome,
        turns: 14,
        recorded,
        candidate: Some(candidate),
        off_course,
    };
    (RunId::new("20260212-103000"), context)
}

fn replayed() -> ReplayResult {
    let contexts = vec![
        context(
            "s1",
            ContextOutcome::Exhausted,
            WarningOutcome::Miss,
            WarningOutcome::Hit { lead: lead(4, 31_000, 95) },
            false,
        ),
        context(
            "s2",
            ContextOutcome::Ended,
            WarningOutcome::Quiet,
            WarningOutcome::FalseAlarm { lead: lead(6, 9_000, 240) },
            false,
        ),
        context(
            "s3",
            ContextOutcome::Censored { because: Censoring::Compacted },
            WarningOutcome::Censored { warned: false },
            WarningOutcome::Censored { warned: true },
            true,
        ),
    ];
    let (mut recorded, mut candidate) = (WarningStats::default(), WarningStats::default());
    for (_, context) in &contexts {
        recorded.count(&context.recorded);
        candidate.count(&context.candidate.unwrap());
    }
    let on_course = MatchCounts { same: 30, reason_differs: 0, differs: 2, faults: 0, abstained: 0 };
    let off_course = MatchCounts { same: 5, ..MatchCounts::default() };
    let run = RunId::new("20260212-103000");
    let departure = FirstDivergence {
        phase: "20".into(),
        seq: Seq(41),
        function: "exhaustion.assess",
        recorded: "the prompt was answered".into(),
        candidate: "it stopped <b>in the middle</b>\u{1b}[2J".into(),
    };
    let sums = RunReplaySummary {
        run: run.clone(),
        questions: 37,
        on_course: 32,
        otherwise: 2,
        off_course: 5,
        recorded,
        candidate: Some(candidate),
    };
    ReplayResult {
        runs: vec![sums],
        functions: [("exhaustion.assess", FunctionMatches { on_course, off_course, not_asked: 0 })].into(),
        departures: vec![(run, departure)],
        contexts,
        contexts_beyond: 4,
        recorded,
        candidate: Some(candidate),
        off_course_contexts: 1,
        questions: 37,
        ..ReplayResult::default()
    }
}

fn with<T>(what: impl FnOnce(PolicyReplayReport<'_>) -> T) -> T {
    let (digest, replayed, decides) = (Digest::of("careful"), replayed(), [Capability::Exhaustion].into());
    let policy = TrialSubject {
        name: "careful",
        component: &digest,
        settings: &digest,
        decides: &[Capability::Exhaustion],
    };
    what(PolicyReplayReport { policy, decides: &decides, replayed: &replayed })
}

#[test]
fn a_person_reads_what_the_warnings_are_worth_first() {
    insta::assert_snapshot!("replay_text", with(|found| found.text(&TerminalStyle::bare(140))));
}

#[test]
fn warnings_of_the_policy_behind_are_not_those_of_a_candidate_that_abstained() {
    let mut replayed = replayed();
    replayed.functions.get_mut("exhaustion.assess").unwrap().on_course.abstained = 1;
    let digest = Digest::of("careful");
    let policy = TrialSubject { name: "careful", component: &digest, settings: &digest, decides: &[] };
    let text = PolicyReplayReport { policy, decides: &BTreeSet::new(), replayed: &replayed }
        .text(&TerminalStyle::bare(400));
    let said =
        "the run with careful first (which left questions to the next policy) would have warned before";
    assert!(text.contains(said) && !text.contains("; careful would have warned"), "{text}");
    assert!(
        with(|found| found.text(&TerminalStyle::bare(400))).contains("; careful would have warned before")
    );
}

#[test]
fn nobody_misses_what_they_are_not_asked_about() {
    let run = replayed().runs.remove(0);
    let silent = RunReplaySummary { candidate: None, ..run.clone() };
    assert_eq!(counts(&run), ["37", "32", "2", "5", "1", "0", "1"]);
    assert_eq!(counts(&silent), ["37", "32", "2", "5", "-", "-", "-"]);
}

#[test]
fn programs_get_a_schema_in_each_record() {
    let (document, lines) = with(|found| (found.json(), found.lines()));
    assert_eq!(lines.len(), 1 + 1 + 1 + 3);
    assert!(lines.iter().chain([&document]).all(|line| line["schema"] == json_record::SCHEMA));
    let mut first = document.clone();
    first["contexts"].as_array_mut().unwrap().truncate(1);
    insta::assert_json_snapshot!("replay_json", first);
}

#[test]
fn a_page_quotes_what_a_policy_wrote() {
    let page = with(|found| found.html());
    assert!(page.contains("it stopped &lt;b&gt;in the middle&lt;/b&gt; [2J"), "{page}");
    for word in ["hit: 4 turns", "false alarm", "compacted", "First divergence of each phase"] {
        assert!(page.contains(word), "{word} is not in:\n{page}");
    }
    assert!(!page.contains("<script") && !page.contains("http:"));
}

#[test]
fn a_verification_says_what_it_rests_on() {
    let fine = PolicyReplayResult { same: 41, faults_same: 2, watchdog: 1, ..PolicyReplayResult::default() };
    let other_engine =
        PolicyReplayResult { same: 12, fuel_not_compared: 12, ..PolicyReplayResult::default() };
    let gone = PolicyReplayResult {
        same: 3,
        unavailable: 1,
        unavailable_because: Some("an artifact that reader was shown is no longer kept".into()),
        ..PolicyReplayResult::default()
    };
    let refused = CoreDivergence::Refused { seq: Seq(7), why: "it was answered before".into() };
    let runs = VerifiedRuns {
        runs: vec![
            ("r1".into(), Ok(VerificationSummary { refold: Ok((120, 60)), decisions: fine })),
            ("r2".into(), Ok(VerificationSummary { refold: Ok((40, 20)), decisions: other_engine })),
            ("r3".into(), Ok(VerificationSummary { refold: Ok((9, 4)), decisions: gone.clone() })),
            ("r4".into(), Ok(VerificationSummary { refold: Err(refused), decisions: gone })),
            ("r5".into(), Err(LabError::QuestionNotFound { run: "r5".into(), seq: Seq(3) })),
        ],
    };
    assert!(!runs.is_complete());
    assert!(runs.lines().iter().all(|line| line["schema"] == json_record::SCHEMA));
    insta::assert_snapshot!("verify_text", runs.text(&TerminalStyle::bare(140)));
}
