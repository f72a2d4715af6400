//! `export_policy!`: checks natively that a policy answers what it says, and in a component exports exactly that.

/// Exports a policy's decisions.
///
/// Natively it checks that the traits are implemented, and implements `Policy` with them for the tests. In a component
/// each named decision becomes an export, and nothing else does.
///
/// ```
/// use baton_sdk::prelude::*;
///
/// pub struct Calm;
///
/// impl Compaction for Calm {
///     fn decide(_: &impl Host, _: compaction::Observation) -> Option<compaction::Decision> {
///         Some(compaction::Decision::new(compaction::Action::Keep, "there is always room"))
///     }
/// }
///
/// export_policy!(Calm: compaction);
/// ```
#[macro_export]
macro_rules! export_policy {
    ($policy:ty: $($decision:ident),+ $(,)?) => {
        $( $crate::__export_decision!($policy, $decision); )+

        #[cfg(not(target_arch = "wasm32"))]
        impl $crate::Policy for $policy {
            fn answer(host: &impl $crate::Host, ask: $crate::Ask) -> Option<$crate::Answer> {
                $(
                    let ask = match $crate::by::$decision::<$policy>(host, ask) {
                        Ok(answer) => return Some(answer),
                        Err(ask) => ask,
                    };
                )+
                drop(ask);
                None
            }

            fn schema() -> Vec<$crate::settings::Setting> {
                $crate::__schema!($policy, $($decision)+)
            }
        }
    };
}

/// The schema of a policy that exports `settings`; that of one that does not is empty.
#[doc(hidden)]
#[macro_export]
macro_rules! __schema {
    ($policy:ty, settings $($rest:ident)*) => {
        <$policy as $crate::Settings>::schema()
    };
    ($policy:ty, $other:ident $($rest:ident)*) => {
        $crate::__schema!($policy, $($rest)*)
    };
    ($policy:ty,) => {
        Vec::new()
    };
}

/// One decision of [`export_policy!`]. The export section is emitted here, in the policy's crate, so that a component
/// has the exports it names and no others.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_decision {
    ($policy:ty, exhaustion) => {
        $crate::__export_as!($policy, Exhaustion, exhaustion, __export_exhaustion, {
            fn assess(o: $crate::exhaustion::Observation) -> Option<$crate::exhaustion::Assessment> {
                <$policy as $crate::Exhaustion>::assess(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, completion) => {
        $crate::__export_as!($policy, Completion, completion, __export_completion, {
            fn decide(o: $crate::completion::Observation) -> Option<$crate::completion::Decision> {
                <$policy as $crate::Completion>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, recovery) => {
        $crate::__export_as!($policy, Recovery, recovery, __export_recovery, {
            fn decide(o: $crate::recovery::Observation) -> Option<$crate::recovery::Decision> {
                <$policy as $crate::Recovery>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, offloading) => {
        $crate::__export_as!($policy, Offloading, offloading, __export_offloading, {
            fn decide(o: $crate::offloading::Observation) -> Option<$crate::offloading::Decision> {
                <$policy as $crate::Offloading>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, compaction) => {
        $crate::__export_as!($policy, Compaction, compaction, __export_compaction, {
            fn decide(o: $crate::compaction::Observation) -> Option<$crate::compaction::Decision> {
                <$policy as $crate::Compaction>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, splitting) => {
        $crate::__export_as!($policy, Splitting, splitting, __export_splitting, {
            fn decide(o: $crate::splitting::Observation) -> Option<$crate::splitting::Decision> {
                <$policy as $crate::Splitting>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, budgeting) => {
        $crate::__export_as!($policy, Budgeting, budgeting, __export_budgeting, {
            fn decide(o: $crate::budgeting::Observation) -> Option<$crate::budgeting::TurnBudget> {
                <$policy as $crate::Budgeting>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, prompting) => {
        $crate::__export_as!($policy, Prompting, prompting, __export_prompting, {
            fn compose(o: $crate::prompting::Observation) -> Option<$crate::prompting::Prompt> {
                <$policy as $crate::Prompting>::compose(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, handoff) => {
        $crate::__export_as!($policy, Handoff, handoff, __export_handoff, {
            fn compose(o: $crate::handoff::Observation) -> Option<$crate::handoff::Composition> {
                <$policy as $crate::Handoff>::compose(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, review) => {
        $crate::__export_as!($policy, Review, review, __export_review, {
            fn assess(o: $crate::review::Observation) -> Option<$crate::review::Review> {
                <$policy as $crate::Review>::assess(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, settings) => {
        $crate::__export_as!($policy, Settings, settings, __export_settings, {
            fn schema() -> Vec<$crate::settings::Setting> {
                <$policy as $crate::Settings>::schema()
            }
        });
    };
    ($policy:ty, $other:ident) => {
        compile_error!(concat!(
            "`",
            stringify!($other),
            "` is no decision of baton:policy; it has: exhaustion, completion, recovery, compaction, offloading, splitting, budgeting, prompting, handoff, review, settings"
        ));
    };
}

/// The part of an export that all decisions have in common.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_as {
    ($policy:ty, $trait:ident, $module:ident, $export:ident, { $($body:tt)* }) => {
        const _: () = {
            const fn answers<P: $crate::$trait>() {}
            answers::<$policy>();
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Exported;
            impl $crate::bindings::$module::exports::baton::policy::$module::Guest for Exported { $($body)* }
            $crate::bindings::$module::$export!(Exported with_types_in $crate::bindings::$module);
        };
    };
}
