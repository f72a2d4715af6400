//! The arguments of a trial, and its rendered results.

use baton_lab::{DecisionDifference, FunctionMatches, MatchCounts, TrialResult};
use baton_runtime::core::decision::{
    Decision, DecisionSource, Fault, Provenance, SplitAction, SplitDecision, SubPhase, TurnBudget, WorkStyle,
};
use baton_runtime::core::workflow::ListEdit;
use baton_runtime::core::{Digest, Seq};

use super::*;
use crate::render::terminal_style::TerminalStyle;

#[test]
fn a_value_is_what_it_looks_like() {
    let value = |given: &str| match setting(given).unwrap().1 {
        GivenSetting::Value(value) => value,
        GivenSetting::Edit(edit) => panic!("{edit:?}"),
    };
    assert_eq!(value("a=2"), SettingValue::Integer(2));
    assert_eq!(value("a=0.5"), SettingValue::Number(0.5));
    assert_eq!(value("a=true"), SettingValue::Flag(true));
    assert_eq!(value("a=time"), SettingValue::Text("time".into()));
    assert_eq!(value("a=\"2\""), SettingValue::Text("2".into()));
    assert_eq!(value("a=[\"x\",\"y\"]"), SettingValue::Texts(vec!["x".into(), "y".into()]));
    assert_eq!(value("a=x=y"), SettingValue::Text("x=y".into()));
    assert!(setting("a").unwrap_err().contains("KEY=VALUE"));
    let edit = setting("a={\"add\": [\"x\"], \"remove\": [\"y\"]}").unwrap().1;
    assert_eq!(edit, GivenSetting::Edit(ListEdit::new(vec!["x".into()], vec!["y".into()])));
    let wrong = setting("a={\"ad\": [\"x\"]}").unwrap_err();
    assert!(wrong.starts_with("the edit of `a`: unknown field `ad`, expected `add` or `remove`"), "{wrong}");
}

#[test]
fn a_file_and_a_run_are_told_apart() {
    assert!(["-", "observation.json", "./seen", "there/is none"].into_iter().all(is_file));
    assert!(!is_file("20260212-103000"));
}

fn keep(reason: &str) -> Result<Decision, Fault> {
    Ok(Decision::Splitting(SplitDecision { action: SplitAction::Keep, reason: reason.into() }))
}

fn split() -> Result<Decision, Fault> {
    let part = |title: &str, objectives: &[&str]| SubPhase {
        title: title.into(),
        objectives: objectives.iter().map(|id| (*id).into()).collect(),
        order: WorkStyle::Direct,
        max_turns: None,
    };
    let sub_phases = vec![part("lexer, parser", &["lexer", "parser"]), part("checker", &["checker"])];
    let reason = "6 objectives are more than the 2 that this house hands to one agent.".into();
    Ok(Decision::Splitting(SplitDecision { action: SplitAction::Split { sub_phases }, reason }))
}

fn label() -> Provenance {
    Provenance {
        by: DecisionSource::Configured,
        capability: Capability::Splitting,
        policy: "resilience".into(),
        component: Some(Digest::of("resilience")),
        settings: Some(Digest::of("settings")),
        engine: Digest::of("engine"),
        fuel: 100,
        duration_us: 5,
        artifacts: Default::default(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    }
}

fn difference(
    seq: u64,
    sample: SampleQuestion,
    recorded: Result<Decision, Fault>,
    candidate: Result<Decision, Fault>,
) -> DecisionDifference {
    DecisionDifference {
        seq: Seq(seq),
        phase: Some("build".into()),
        question: sample.question(),
        recorded,
        label: label(),
        candidate,
        off_course: seq > 100,
    }
}

fn tried() -> TrialResult {
    let of = |same, reason_differs, differs, faults| MatchCounts {
        same,
        reason_differs,
        differs,
        faults,
        abstained: 0,
    };
    let (evaluate, budget) = (of(34, 2, 1, 1), of(2, 0, 0, 0));
    let turns = |max_turns| Ok(Decision::Budgeting(TurnBudget { max_turns, reason: "A table.".into() }));
    TrialResult {
        functions: [
            ("prompting.compose", FunctionMatches { not_asked: 12, ..FunctionMatches::default() }),
            (
                "budgeting.decide",
                FunctionMatches { on_course: budget, off_course: of(0, 0, 1, 0), not_asked: 0 },
            ),
            (
                "splitting.decide",
                FunctionMatches { on_course: evaluate, off_course: of(7, 0, 0, 0), not_asked: 0 },
            ),
        ]
        .into(),
        differences: vec![
            difference(
                17,
                SampleQuestion::Split,
                keep("6 objectives fit into one window."),
                Err(Fault::OutOfFuel { limit: 1000 }),
            ),
            difference(41, SampleQuestion::Split, keep("6 objectives fit into one window."), split()),
            difference(112, SampleQuestion::Budget, turns(Some(25)), turns(Some(1))),
        ],
        differences_beyond: 3,
        ..TrialResult::default()
    }
}

fn policy<'a>(component: &'a Digest, decides: &'a [Capability]) -> TrialSubject<'a> {
    TrialSubject { name: "my-split", component, settings: component, decides }
}

#[test]
fn a_trial_reads_as_a_person_would_tell_it() {
    let (digest, run) = (Digest::of("my-split"), RunId::new("20260212-103000"));
    let told = |can: &[Capability], tried: &TrialResult, width| {
        let policy = policy(&digest, can);
        let decides = can.iter().copied().collect();
        RunTrialReport { run: &run, policy, decides: &decides, tried }
            .text(&TerminalStyle { wrap: true, ..TerminalStyle::bare(width) })
    };
    let scope = [Capability::Splitting, Capability::Budgeting];
    insta::assert_snapshot!("try_run_120", told(&scope, &tried(), 120));
    insta::assert_snapshot!("try_run_80", told(&scope, &tried(), 80));

    let same = FunctionMatches {
        on_course: MatchCounts { same: 9, ..MatchCounts::default() },
        ..FunctionMatches::default()
    };
    let same = TrialResult { functions: [("splitting.decide", same)].into(), ..TrialResult::default() };
    let abstained = FunctionMatches {
        on_course: MatchCounts { same: 1, abstained: 9, ..MatchCounts::default() },
        ..FunctionMatches::default()
    };
    let abstained = TrialResult {
        functions: [("splitting.decide", abstained)].into(),
        abstained_from: [(digest.clone(), 4), (Digest::of("other"), 5)].into(),
        ..TrialResult::default()
    };
    let text = told(&[Capability::Splitting], &abstained, 300);
    let first =
        "my-split would have decided 1 of 10 splitting questions the same way, and abstained from 9\n";
    assert!(text.starts_with(first), "{text}");
    let own = "Of the questions that it abstained from, 4 were decided in the run by my-split itself";
    assert!(text.contains(own), "{text}");

    let both = [Capability::Splitting, Capability::Compaction];
    insta::assert_snapshot!("try_run_same", told(&both, &same, 120));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let (digest, run) = (Digest::of("my-split"), RunId::new("20260212-103000"));
    let (decides, tried) = ([Capability::Splitting, Capability::Budgeting].into(), tried());
    for width in [80, 100, 160] {
        let found = RunTrialReport {
            run: &run,
            policy: policy(&digest, &[Capability::Splitting, Capability::Budgeting]),
            decides: &decides,
            tried: &tried,
        };
        for line in found.text(&TerminalStyle { wrap: true, ..TerminalStyle::bare(width) }).lines() {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn a_program_gets_the_counts_and_each_question() {
    let (digest, run) = (Digest::of("my-split"), RunId::new("20260212-103000"));
    let (decides, tried) = ([Capability::Splitting, Capability::Budgeting].into(), tried());
    let found = RunTrialReport {
        run: &run,
        policy: policy(&digest, &[Capability::Splitting, Capability::Budgeting]),
        decides: &decides,
        tried: &tried,
    };
    let document = found.json();
    let lines: Vec<_> = found.lines().collect();
    assert_eq!(lines.len(), 1 + tried.differences.len());
    assert!(lines.iter().chain([&document]).all(|line| line["schema"] == json_record::SCHEMA));
    let first = &document["differences"][0];
    assert_eq!(first["question"], written(&SampleQuestion::Split.question()));
    let mut head = lines.into_iter().next().unwrap();
    head["difference"] = first.clone();
    head["difference"]["question"] = "as --on takes it".into();
    insta::assert_json_snapshot!("try_run_json", head);
}

#[test]
fn an_answer_to_one_question_stands_beside_the_built_in_one() {
    let digest = Digest::of("my-split");
    let (question, label) = (SampleQuestion::Split.question(), label());
    let told = |candidate: Result<Option<Decision>, Fault>, current: &Result<Decision, Fault>| {
        let policy = policy(&digest, &[Capability::Splitting, Capability::Budgeting]);
        let question = &question;
        QuestionTrialReport { question, policy, candidate: &candidate, fuel: 99, current, label: &label }
            .text(&TerminalStyle::bare(100))
    };
    let texts = [
        told(split().map(Some), &keep("6 objectives fit into one window.")),
        told(keep("So.").map(Some), &keep("6 objectives fit into one window.")),
        told(keep("So.").map(Some), &keep("So.")),
        told(Err(Fault::Trap { message: "unreachable".into() }), &keep("So.")),
        told(Ok(None), &keep("6 objectives fit into one window.")),
    ];
    insta::assert_snapshot!("try_question", texts.join("\n"));
}
