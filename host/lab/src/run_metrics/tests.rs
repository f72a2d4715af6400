//! What a story of notices and inputs comes to, in numbers. No run behind it but its first moment.

use baton_core::decision::{AbstentionRecord, DecisionSource, FaultRecord, Provenance};
use baton_core::facts::ProcessExit;
use baton_core::input::PolicyBinding;
use baton_core::observation::{Capability, EvidenceKind, OccupancyView};
use baton_core::workflow::{AgentKind, ConfigLayer, ConfigSource, PolicyScope, file};
use baton_core::{ActionId, RequestId, Seq};

use super::*;

const WORKFLOW: &str = r#"
name = "two"
goal = "Two things."
[[phases]]
id = "10"
title = "Both"
verify = "true"
[[phases.objectives]]
id = "a"
description = "Write a."
[[phases.objectives]]
id = "b"
description = "Write b."
"#;

/// A run of a workflow at its first moment.
pub(super) fn begun(workflow: &str) -> Run {
    let mut run = Run::new();
    let workflow = Box::new(file::parse(workflow, "w.toml", "/").unwrap());
    let input = Input::Started {
        run: "r1".into(),
        workflow,
        bindings: Vec::new(),
        task_folder: ".".into(),
        utc_offset_minutes: 0,
        assignments: Vec::new(),
    };
    run.apply(&JournaledInput { seq: Seq(1), at: UnixMs(1_000), input }).unwrap();
    run
}

/// Feeds inputs and notices, as a run would give them.
struct MetricsHarness {
    run: Run,
    measuring: MetricsFold,
    seq: Seq,
}

impl MetricsHarness {
    fn new() -> Self {
        let run = begun(WORKFLOW);
        Self { run, measuring: MetricsFold::new(), seq: Seq(1) }
    }

    fn push_events(&mut self, notices: impl IntoIterator<Item = ProgressEvent>) {
        for notice in notices {
            self.push_input(Input::Tick, Some(notice));
        }
    }

    fn push_input(&mut self, input: Input, notice: Option<ProgressEvent>) {
        self.seq = self.seq.next();
        let told = notice.map(|notice| Intent { id: ActionId(1), action: Action::Notify(notice) });
        let stamped = JournaledInput { seq: self.seq, at: UnixMs(1_000 * self.seq.0), input };
        self.measuring.take(&stamped, told.as_slice());
    }

    fn writes(&mut self, session: &str, path: &str) {
        let writes = Some(path.to_owned());
        let event =
            AgentEvent::ToolCall { id: "t".into(), name: "Edit".into(), reads: None, writes, command: None };
        self.push_input(Input::Agent { session: SessionId::new(session), event }, None);
    }

    /// The agent's own protocol does, at the end of a prompt.
    fn says(&mut self, session: &str, code: &str) {
        let event = AgentEvent::PromptEnded { stop_reason: code.to_owned(), is_error: true };
        self.push_input(Input::Agent { session: SessionId::new(session), event }, None);
    }

    fn ends(&mut self, session: &str) {
        let exit = ProcessExit { code: Some(0), signal: None, by_host: false };
        self.push_input(Input::SessionEnded { session: SessionId::new(session), exit }, None);
    }

    fn told(self) -> RunMetrics {
        self.measuring.finish(&self.run, UnixMs(9_000)).unwrap()
    }
}

fn starts(session: &str) -> ProgressEvent {
    ProgressEvent::SessionStarted {
        phase: "10".into(),
        session: session.into(),
        agent: AgentKind::Rehearsal,
        continuation: 0,
        of: 3,
        remaining: Vec::new(),
        max_turns: 0,
        lead: false,
    }
}

fn turn(session: &str, turns: u32) -> ProgressEvent {
    let occupancy = OccupancyView::default();
    ProgressEvent::Turn { phase: "10".into(), session: session.into(), turns, max_turns: 0, occupancy }
}

fn warned(session: &str) -> ProgressEvent {
    let (occupancy, message) = (OccupancyView::default(), "nearly full".into());
    ProgressEvent::Warned { phase: "10".into(), session: session.into(), occupancy, message }
}

fn stopped(session: &str, verdict: &str) -> ProgressEvent {
    ProgressEvent::Stopped {
        phase: "10".into(),
        session: session.into(),
        verdict: verdict.into(),
        evidence: Vec::new(),
        reason: "so".into(),
    }
}

fn compacted(session: &str) -> ProgressEvent {
    ProgressEvent::Compacted {
        phase: "10".into(),
        session: session.into(),
        asked: true,
        before: None,
        after: None,
    }
}

// M5
#[test]
fn an_exhaustion_is_foreseen_with_its_lead_or_missed() {
    let mut story = MetricsHarness::new();
    story.push_events([
        starts("s1"),
        turn("s1", 4),
        warned("s1"),
        turn("s1", 5),
        warned("s1"),
        turn("s1", 7),
    ]);
    story.says("s1", "prompt_too_long");
    story.push_events([stopped("s1", "exhausted"), starts("s2"), turn("s2", 3)]);
    story.says("s2", "context_length_exceeded");
    // Whatever the policy that decided then called it.
    story.push_events([stopped("s2", "failed"), starts("s3"), turn("s3", 3), stopped("s3", "exhausted")]);
    let told = story.told();
    assert_eq!((told.exhaustions, told.missed, told.false_alarms), (2, 1, 0));
    assert_eq!(told.lead_turns, [3], "from the first warning");
    assert_eq!((told.sessions, told.standing), (3, RunResult::Running));
}

// M5
#[test]
fn an_alarm_is_false_only_where_nobody_made_room_and_the_session_is_over() {
    let alarmed = |rest: &dyn Fn(&mut MetricsHarness)| {
        let mut story = MetricsHarness::new();
        story.push_events([starts("s1"), turn("s1", 2), warned("s1"), turn("s1", 3)]);
        rest(&mut story);
        story.told().false_alarms
    };
    assert_eq!(alarmed(&|_| {}), 0, "it is still at work");
    assert_eq!(alarmed(&|story| story.ends("s1")), 1);
    let relieved = |story: &mut MetricsHarness| {
        story.push_events([compacted("s1")]);
        story.ends("s1");
    };
    assert_eq!(alarmed(&relieved), 0, "what would have been, nobody knows");
}

// M5
#[test]
fn turns_after_the_last_objective_of_a_session_that_failed_are_wasted() {
    let done = || ProgressEvent::ObjectiveDone {
        phase: "10".into(),
        objective: "a".into(),
        basis: EvidenceKind::Reported,
        judged_by: None,
        done: 1,
        of: 2,
    };
    let mut story = MetricsHarness::new();
    story.push_events([starts("s1"), turn("s1", 4), done(), turn("s1", 9), stopped("s1", "stalled")]);
    // One that ends as it should has wasted nothing.
    story.push_events([starts("s2"), turn("s2", 6), done(), turn("s2", 7)]);
    story.ends("s2");
    assert_eq!(story.told().wasted_turns, 5);
}

// M5
#[test]
fn a_file_that_a_later_session_writes_again_is_rework_once() {
    let mut story = MetricsHarness::new();
    story.push_events([starts("s1")]);
    for path in ["a.rs", "b.rs", "a.rs"] {
        story.writes("s1", path);
    }
    story.push_events([starts("s2")]);
    for path in ["a.rs", "a.rs", "c.rs"] {
        story.writes("s2", path);
    }
    assert_eq!(story.told().rework_files, 1);
}

// M5
#[test]
fn decisions_are_counted_by_policy_with_the_faults_of_those_asked_before() {
    let (fell, decided, quiet) = (Digest::of("arm"), Digest::of("built-in"), Digest::of("quiet"));
    let fault = |fault| FaultRecord {
        by: DecisionSource::Configured,
        policy: "arm".into(),
        component: fell.clone(),
        fault,
        settings: None,
        fuel: None,
        artifacts: Default::default(),
        nested: Vec::new(),
    };
    let label = Provenance {
        by: DecisionSource::BuiltIn,
        capability: Capability::Exhaustion,
        policy: "resilience".into(),
        component: Some(decided.clone()),
        settings: None,
        engine: Digest::of("engine"),
        fuel: 1,
        duration_us: 1,
        artifacts: BTreeMap::new(),
        faults: vec![fault(Fault::Watchdog { limit_ms: 10 }), fault(Fault::OutOfFuel { limit: 1 })],
        abstained: vec![AbstentionRecord {
            by: DecisionSource::Next,
            policy: "quiet".into(),
            component: quiet.clone(),
            settings: Digest::of("{}"),
            fuel: 1,
            artifacts: BTreeMap::new(),
            nested: Vec::new(),
        }],
        nested: Vec::new(),
    };
    let trapped = fault(Fault::Trap { message: "unreachable".into() });
    let again = Provenance { faults: vec![trapped], ..label.clone() };
    let mut story = MetricsHarness::new();
    let result = Err(Fault::OutOfFuel { limit: 1 });
    story.push_input(
        Input::Decided { request_id: RequestId(2), result: result.clone(), label: Box::new(again) },
        None,
    );
    story.push_input(Input::Decided { request_id: RequestId(1), result, label: Box::new(label) }, None);
    let told = story.told();
    assert_eq!((told.decisions, told.faults, told.timeouts), (2, 3, 1));
    let of = |component: &Digest| {
        let [one] = told.policies.iter().filter(|of| of.component == *component).collect::<Vec<_>>()[..]
        else {
            panic!("{:?}", told.policies)
        };
        (one.asked(), one.decided, one.abstained, one.failures.clone())
    };
    let answered = BTreeMap::from([("resilience".to_owned(), 3)]);
    assert_eq!(of(&fell), (3, 0, 0, PolicyFailures { times: 3, trapped: 1, answered }));
    assert_eq!(of(&decided), (2, 2, 0, PolicyFailures::default()));
    assert_eq!(of(&quiet), (2, 0, 2, PolicyFailures::default()));
}

// M5
#[test]
fn the_policy_of_an_arm_is_not_its_component_with_the_settings_of_a_file() {
    let (odd, nine, three) = (Digest::of("odd"), Digest::of("9"), Digest::of("3"));
    let from =
        ConfigSource { layer: ConfigLayer::Experiment, file: "split-v2, arm nine".to_owned(), line: 0 };
    let binding = PolicyBinding {
        capability: Capability::Splitting,
        policy: "odd".to_owned(),
        component: odd.clone(),
        settings: nine.clone(),
        scope: PolicyScope::Run,
        wants: Default::default(),
        grants: Default::default(),
        from,
        then: Vec::new(),
    };
    let label = |capability, settings: &Digest| Provenance {
        by: DecisionSource::Configured,
        capability,
        policy: "odd".into(),
        component: Some(odd.clone()),
        settings: Some(settings.clone()),
        engine: Digest::of("engine"),
        fuel: 1,
        duration_us: 1,
        artifacts: BTreeMap::new(),
        faults: Vec::new(),
        abstained: Vec::new(),
        nested: Vec::new(),
    };
    let mut asking = super::policy_counts::PolicyCounter::default();
    asking.on_run_start(&[binding]);
    asking.count(&label(Capability::Splitting, &nine));
    asking.count(&label(Capability::Splitting, &three));
    asking.count(&label(Capability::Recovery, &nine));
    asking.count(&label(Capability::Splitting, &nine));
    let counted: Vec<_> = asking.finish().into_iter().map(|one| (one.decided, one.arm)).collect();
    assert_eq!(counted, [(2, Some("split-v2, arm nine".to_owned())), (1, None), (1, None)]);
}

// M5
#[test]
fn the_same_work_has_the_same_task_whoever_decides() {
    let read = |text: &str| task_of(&file::parse(text, "w.toml", "/").unwrap());
    let with_policy = format!("{WORKFLOW}\n[policies]\nall = \"builtin:resilience\"\n");
    let other_work = WORKFLOW.replace("Write b.", "Write c.");
    assert_eq!(read(WORKFLOW), read(&with_policy));
    assert_ne!(read(WORKFLOW), read(&other_work));
}
