//! The questions as traits, and their records under the names of the contract. Each is documented in `wit/`.

use crate::host::Host;

/// The words that observations and decisions share (`wit/types.wit`).
///
/// ```
/// use baton_sdk::types::{Objective, ObjectiveStatus};
///
/// fn open(objectives: &[Objective]) -> usize {
///     objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).count()
/// }
/// assert_eq!(open(&[baton_sdk::sample::objective("lexer", "Write src/lexer.rs")]), 1);
/// ```
pub mod types {
    pub use crate::bindings::shared::baton::policy::types::*;

    /// Most phases are of the workflow.
    impl Default for Origin {
        fn default() -> Self {
            Origin::Workflow
        }
    }

    impl Occupancy {
        /// How full the window is, in percent; nothing where either number is unknown or the window is empty.
        ///
        /// ```
        /// assert_eq!(baton_sdk::sample::occupancy(150_000, 200_000).percent(), Some(75.0));
        /// assert_eq!(baton_sdk::sample::occupancy(150_000, 0).percent(), None);
        /// ```
        pub fn percent(&self) -> Option<f64> {
            match (self.used_tokens, self.window_tokens) {
                (Some(used), Some(window)) if window > 0 => Some(used as f64 * 100.0 / window as f64),
                _ => None,
            }
        }
    }
}

/// How is this session, or why did it stop?
///
/// ```
/// use baton_sdk::exhaustion::{Assessment, Verdict};
///
/// let assessment = Assessment {
///     verdict: Verdict::Stalled,
///     evidence: Vec::new(),
///     warning: None,
///     reason: "nothing was heard for ten minutes".into(),
/// };
/// assert_eq!(assessment.verdict, Verdict::Stalled);
/// ```
pub mod exhaustion {
    pub use crate::bindings::shared::baton::policy::questions::{
        Assessment, Occasion, Quota, QuotaCause, SessionObservation as Observation, Verdict,
    };
}

/// Are the objectives of a prompt done?
///
/// ```
/// use baton_sdk::completion::Decision;
///
/// let decision = Decision { done: vec!["lexer".into()], evidence: Vec::new(), reason: "it was reported".into() };
/// assert_eq!(decision.done, ["lexer"]);
/// ```
pub mod completion {
    pub use crate::bindings::shared::baton::policy::questions::{
        CompletionDecision as Decision, CompletionObservation as Observation,
    };
}

/// What to do about a session that is not well, or whose objectives are not done?
///
/// ```
/// use baton_sdk::recovery::{Action, Decision};
///
/// assert_eq!(Decision::new(Action::Nudge, "it was asked once").action, Action::Nudge);
/// ```
pub mod recovery {
    pub use crate::bindings::shared::baton::policy::questions::{
        RecoveryAction as Action, RecoveryDecision as Decision, RecoveryObservation as Observation,
    };

    impl Decision {
        /// This action, for this reason: one sentence for a person.
        ///
        /// ```
        /// use baton_sdk::recovery::{Action, Decision};
        ///
        /// let decision = Decision::new(Action::Retry, "it broke");
        /// assert_eq!(decision.reason, "it broke");
        /// ```
        pub fn new(action: Action, reason: impl Into<String>) -> Self {
            Self { action, reason: reason.into() }
        }
    }
}

/// Is it time to make room, and how?
///
/// ```
/// use baton_sdk::compaction::{Action, Decision};
///
/// let decision = Decision::new(Action::Compact(Some("Keep the plan.".into())), "75 % of the window are used");
/// assert!(matches!(decision.action, Action::Compact(_)));
/// ```
pub mod compaction {
    pub use crate::bindings::shared::baton::policy::questions::{
        CompactionAction as Action, CompactionDecision as Decision, CompactionObservation as Observation,
    };

    impl Decision {
        /// This action, for this reason: one sentence for a person.
        ///
        /// ```
        /// use baton_sdk::compaction::{Action, Decision};
        ///
        /// let decision = Decision::new(Action::Keep, "there is room");
        /// assert_eq!(decision.reason, "there is room");
        /// ```
        pub fn new(action: Action, reason: impl Into<String>) -> Self {
            Self { action, reason: reason.into() }
        }
    }
}

/// Which large items need not lie in the context?
///
/// ```
/// use baton_sdk::offloading::Decision;
///
/// assert_eq!(Decision::new(vec!["findings".into()], "9,000 tokens").items, ["findings"]);
/// ```
pub mod offloading {
    pub use crate::bindings::shared::baton::policy::questions::{
        Item, ItemKind, OffloadingDecision as Decision, OffloadingObservation as Observation,
    };

    impl Decision {
        /// These items by id, none of them to keep all, for this reason: one sentence for a person.
        ///
        /// ```
        /// use baton_sdk::offloading::Decision;
        ///
        /// assert!(Decision::new(Vec::new(), "all of it is small").items.is_empty());
        /// ```
        pub fn new(items: Vec<String>, reason: impl Into<String>) -> Self {
            Self { items, reason: reason.into() }
        }
    }
}

/// Is this scope too large, and where are its seams?
///
/// ```
/// use baton_sdk::splitting::{Action, Decision, Order, SubPhase};
///
/// let part = |title: &str, objectives: &[&str]| SubPhase {
///     title: title.into(),
///     objectives: objectives.iter().map(|&id| id.into()).collect(),
///     order: Order::Direct,
///     max_turns: None, // Left to `budgeting`.
/// };
/// let parts = vec![part("Lexer", &["lexer"]), part("Parser", &["parser", "tests"])];
/// assert_eq!(Decision::new(Action::Split(parts), "two seams").reason, "two seams");
/// ```
pub mod splitting {
    pub use crate::bindings::shared::baton::policy::questions::{
        Order, SplitAction as Action, SplitDecision as Decision, SplitGroup as Group, SplitLimits as Limits,
        SplitOccasion as Occasion, SplitRequest as Request, SplitTime as Time,
        SplittingObservation as Observation, SubPhase,
    };

    /// What a workflow says that says nothing.
    impl Default for Time {
        fn default() -> Self {
            Time::During
        }
    }

    impl Decision {
        /// This action, for this reason: one sentence for a person.
        ///
        /// ```
        /// use baton_sdk::splitting::{Action, Decision};
        ///
        /// let decision = Decision::new(Action::Keep, "two objectives are few enough");
        /// assert_eq!(decision.action, Action::Keep);
        /// ```
        pub fn new(action: Action, reason: impl Into<String>) -> Self {
            Self { action, reason: reason.into() }
        }
    }
}

/// How many turns may a scope take?
///
/// ```
/// use baton_sdk::budgeting::TurnBudget;
///
/// let budget = TurnBudget { max_turns: Some(30), reason: "the table's value".into() };
/// assert_eq!(budget.max_turns, Some(30));
/// ```
pub mod budgeting {
    pub use crate::bindings::shared::baton::policy::questions::{
        BudgetingObservation as Observation, TurnBudget, TurnsSpent as Spent,
    };
}

/// What is the next message to an agent?
///
/// ```
/// use baton_sdk::prompting::Prompt;
///
/// let mut opening = baton_sdk::sections::Section::new("opening");
/// opening.line("Write src/lexer.rs.");
/// let prompt = Prompt { sections: vec![opening], left_out: Vec::new(), reason: "one objective".into() };
/// assert_eq!(prompt.text(), "Write src/lexer.rs.\n");
/// ```
pub mod prompting {
    pub use crate::bindings::shared::baton::policy::questions::{
        Artifact, Attempt, Beyond, CommandRun, Commit, Conflict, ContextFile, EntryKind, EntryPoint,
        FileRead, HandoffFinding, HandoffObservation as Observation, HandoffReference, Lesson, LessonKind,
        Prompt, PromptKind as Kind, Remark, ReportedHandoff, Verification, Withheld,
    };
}

/// What does a session leave to the one after it?
///
/// ```
/// use baton_sdk::handoff::Continuer;
///
/// assert_ne!(Continuer::Successor, Continuer::Lead);
/// ```
pub mod handoff {
    pub use crate::bindings::shared::baton::policy::questions::{
        Artifact, Attempt, Beyond, CommandRun, Commit, Composition, Conflict, ContextFile, Continuer,
        EntryKind, EntryPoint, FileRead, HandoffFinding, HandoffObservation as Observation, HandoffReference,
        Lesson, LessonKind, PromptKind as Kind, Remark, ReportedHandoff, Staleness, Verification, Withheld,
    };

    /// Nothing more is recorded.
    impl Default for Beyond {
        fn default() -> Self {
            Self { changed_files: 0, attempts: 0, decisions: 0, gotchas: 0, patterns: 0 }
        }
    }

    /// Nothing of any kind.
    impl Default for Withheld {
        fn default() -> Self {
            Self { attempts: 0, decisions: 0, gotchas: 0, patterns: 0, commands: 0, reads: 0 }
        }
    }

    impl HandoffReference {
        /// A handoff of this path, fresh, that was not looked at again.
        ///
        /// ```
        /// let newest = baton_sdk::handoff::HandoffReference::fresh("docs/handoffs/build-1.md");
        /// assert_eq!(newest.staleness, baton_sdk::review::Staleness::Fresh);
        /// ```
        pub fn fresh(path: impl Into<String>) -> Self {
            Self { path: path.into(), staleness: Staleness::Fresh, found: None }
        }
    }
}

/// Is a handoff document fit to start a successor?
///
/// ```
/// use baton_sdk::review::Finding;
///
/// let finding = Finding { cost: 20, line: Some(3), text: "it names no next action".into() };
/// assert!(finding.cost <= 100);
/// ```
pub mod review {
    pub use crate::bindings::shared::baton::policy::questions::{
        Finding, Review, ReviewObservation as Observation, Staleness,
    };
}

/// What can be set?
///
/// ```
/// use baton_sdk::{schema, settings::Setting};
///
/// let setting: Setting = schema::integer("objectives-at-most", 4, 1..=100, "Split a phase that has more.");
/// assert_eq!(setting.key, "objectives-at-most");
/// ```
pub mod settings {
    pub use crate::bindings::settings::exports::baton::policy::settings::Setting;
}

/// Answers `exhaustion`: how a session is, or why it stopped.
///
/// ```
/// use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Verdict};
/// use baton_sdk::prelude::*;
///
/// struct Trusting;
///
/// impl Exhaustion for Trusting {
///     fn assess(_: &impl Host, o: Observation) -> Option<Assessment> {
///         let verdict = match o.occasion {
///             Occasion::PromptEnded | Occasion::SessionEnded => Verdict::Answered,
///             _ => Verdict::Healthy,
///         };
///         let reason = "whatever ends was answered".into();
///         Some(Assessment { verdict, evidence: Vec::new(), warning: None, reason })
///     }
/// }
///
/// export_policy!(Trusting: exhaustion);
/// ```
pub trait Exhaustion {
    /// Judges one session. The verdict may be `Healthy` only while the session lives.
    fn assess(host: &impl Host, observation: exhaustion::Observation) -> Option<exhaustion::Assessment>;
}

/// Answers `completion`: which objectives of a prompt that was answered are done.
///
/// ```
/// use baton_sdk::completion::{Decision, Observation};
/// use baton_sdk::prelude::*;
///
/// struct Reported;
///
/// impl Completion for Reported {
///     fn decide(_: &impl Host, o: Observation) -> Option<Decision> {
///         let is_reported = |objective: &&Objective| {
///             objective.reported.as_ref().is_some_and(|said| said.status == ObjectiveStatus::Done)
///         };
///         let done = o.session.objectives.iter().filter(is_reported).map(|o| o.id.clone()).collect();
///         Some(Decision { done, evidence: Vec::new(), reason: "what is reported is believed".into() })
///     }
/// }
///
/// export_policy!(Reported: completion);
/// ```
pub trait Completion {
    /// The objectives that are done, of those that the prompt is about.
    fn decide(host: &impl Host, observation: completion::Observation) -> Option<completion::Decision>;
}

/// Answers `recovery`: what to do about a session that is not well, or whose objectives are not done.
///
/// ```
/// use baton_sdk::exhaustion::Verdict;
/// use baton_sdk::prelude::*;
/// use baton_sdk::recovery::{Action, Decision, Observation};
///
/// struct Reviewer;
///
/// impl Recovery for Reviewer {
///     fn decide(_: &impl Host, o: Observation) -> Option<Decision> {
///         // All else is for the next policy to say.
///         let failed = o.assessment.verdict == Verdict::Failed && o.session.phase.budget.retries_used > 0;
///         let senior = o.other_roles.into_iter().find(|role| role == "senior").filter(|_| failed)?;
///         Some(Decision::new(Action::OtherRole(senior), "it failed twice"))
///     }
/// }
///
/// export_policy!(Reviewer: recovery);
/// ```
pub trait Recovery {
    /// What to do; the host bounds it.
    fn decide(host: &impl Host, observation: recovery::Observation) -> Option<recovery::Decision>;
}

/// Answers `offloading`: which large items become references.
///
/// ```
/// use baton_sdk::offloading::{Decision, Observation};
/// use baton_sdk::prelude::*;
///
/// struct Spare;
///
/// impl Offloading for Spare {
///     fn decide(_: &impl Host, o: Observation) -> Option<Decision> {
///         let large = o.items.iter().filter(|item| item.tokens > 20_000);
///         Some(Decision::new(large.map(|item| item.id.clone()).collect(), "more than 20,000 tokens each"))
///     }
/// }
///
/// export_policy!(Spare: offloading);
/// ```
pub trait Offloading {
    /// Ids of what to replace by a reference and a preview.
    fn decide(host: &impl Host, observation: offloading::Observation) -> Option<offloading::Decision>;
}

/// Answers `compaction`: whether to make room between two prompts, and how.
///
/// ```
/// use baton_sdk::compaction::{Action, Decision, Observation};
/// use baton_sdk::prelude::*;
///
/// struct HandsOff;
///
/// impl Compaction for HandsOff {
///     fn decide(_: &impl Host, o: Observation) -> Option<Decision> {
///         Some(match o.session.occupancy.percent() {
///             Some(percent) if percent > 80.0 => Decision::new(Action::HandOff, "a fresh session does better"),
///             _ => Decision::new(Action::Keep, "there is room, or nobody knows"),
///         })
///     }
/// }
///
/// export_policy!(HandsOff: compaction);
/// ```
pub trait Compaction {
    /// Keep, compact or hand off.
    fn decide(host: &impl Host, observation: compaction::Observation) -> Option<compaction::Decision>;
}

/// Answers `splitting`: whether a scope is too large, and where its seams are.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::splitting::{Action, Decision, Observation};
///
/// struct Asking;
///
/// impl Splitting for Asking {
///     fn decide(_: &impl Host, o: Observation) -> Option<Decision> {
///         Some(match o.objectives.len() {
///             many @ 10.. => Decision::new(Action::AskPerson(format!("Split {many} objectives?")), "it is large"),
///             _ => Decision::new(Action::Keep, "it is small enough"),
///         })
///     }
/// }
///
/// export_policy!(Asking: splitting);
/// ```
pub trait Splitting {
    /// Keep, split into sub-phases, or ask a person.
    fn decide(host: &impl Host, observation: splitting::Observation) -> Option<splitting::Decision>;
}

/// Answers `budgeting`: how many turns a scope may take.
///
/// ```
/// use baton_sdk::budgeting::{Observation, TurnBudget};
/// use baton_sdk::prelude::*;
///
/// struct Generous;
///
/// impl Budgeting for Generous {
///     fn decide(_: &impl Host, o: Observation) -> Option<TurnBudget> {
///         Some(TurnBudget { max_turns: o.base_turns.map(|turns| turns.saturating_mul(2)), reason: "twice the table's value".into() })
///     }
/// }
///
/// export_policy!(Generous: budgeting);
/// ```
pub trait Budgeting {
    /// Turns for this scope.
    fn decide(host: &impl Host, observation: budgeting::Observation) -> Option<budgeting::TurnBudget>;
}

/// Answers `prompting`: what the next message to an agent says.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::prompting::{Observation, Prompt};
/// use baton_sdk::sections::Section;
///
/// struct Terse;
///
/// impl Prompting for Terse {
///     fn compose(_: &impl Host, o: Observation) -> Option<Prompt> {
///         let mut focus = Section::new("focus");
///         o.focus.iter().for_each(|id| focus.line(id));
///         Some(Prompt { sections: vec![focus], left_out: Vec::new(), reason: "the focus".into() })
///     }
/// }
///
/// export_policy!(Terse: prompting);
/// ```
pub trait Prompting {
    /// The prompt, of which 32 KiB are sent.
    fn compose(host: &impl Host, observation: prompting::Observation) -> Option<prompting::Prompt>;
}

/// Answers `handoff`: what a session leaves to its successor.
///
/// ```
/// use baton_sdk::handoff::{Composition, Continuer, Observation};
/// use baton_sdk::prelude::*;
/// use baton_sdk::sections::Section;
///
/// struct Titled;
///
/// impl Handoff for Titled {
///     fn compose(_: &impl Host, o: Observation) -> Option<Composition> {
///         let mut title = Section::new("title");
///         title.line(&format!("# {}", o.phase.title));
///         Some(Composition {
///             document: vec![title],
///             index: Vec::new(),
///             continuer: Continuer::Successor,
///             left_out: Vec::new(),
///             reason: "a title".into(),
///         })
///     }
/// }
///
/// export_policy!(Titled: handoff);
/// ```
pub trait Handoff {
    /// The document and index that a session leaves, and who continues.
    fn compose(host: &impl Host, observation: handoff::Observation) -> Option<handoff::Composition>;
}

/// Answers `review`: whether a handoff document is fit to start a successor.
///
/// ```
/// use baton_sdk::prelude::*;
/// use baton_sdk::review::{self, Observation, Staleness};
///
/// struct Secretive;
///
/// impl Review for Secretive {
///     fn assess(_: &impl Host, o: Observation) -> Option<review::Review> {
///         Some(review::Review {
///             score: 100,
///             findings: Vec::new(),
///             staleness: Staleness::Fresh,
///             accepted: o.secrets.is_empty(),
///             reason: "only secrets are looked for".into(),
///         })
///     }
/// }
///
/// export_policy!(Secretive: review);
/// ```
pub trait Review {
    /// Whether it is accepted, and what is wrong with it.
    fn assess(host: &impl Host, observation: review::Observation) -> Option<review::Review>;
}

/// Answers `settings`: what can be set. Asked once before a run starts; it reads no host.
///
/// ```
/// use baton_sdk::prelude::*;
///
/// struct Calm;
///
/// impl Settings for Calm {
///     fn schema() -> Vec<settings::Setting> {
///         vec![schema::number("compact-percent", 70.0, 1.0..=99.0, "Compact from this occupancy, in percent.")]
///     }
/// }
///
/// export_policy!(Calm: settings);
/// ```
pub trait Settings {
    /// Every setting, with its default and bounds. The host holds what is given to them.
    fn schema() -> Vec<settings::Setting>;
}
