//! `export_policy!`: checks natively that a policy answers what it says, and in a component exports exactly that.

/// Exports a policy's decisions: `export_policy!(MyPolicy: splitting, handoff)`.
///
/// Natively it only checks that the traits are implemented. In a component each named decision becomes an export,
/// and nothing else does.
#[macro_export]
macro_rules! export_policy {
    ($policy:ty: $($decision:ident),+ $(,)?) => {
        $( $crate::__export_decision!($policy, $decision); )+
    };
}

/// One decision of [`export_policy!`]. The export section is emitted here, in the policy's crate, so that a component
/// has the exports it names and no others.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_decision {
    ($policy:ty, exhaustion) => {
        $crate::__export_as!($policy, Exhaustion, exhaustion, __export_exhaustion, {
            fn assess(o: $crate::exhaustion::Observation) -> $crate::exhaustion::Assessment {
                <$policy as $crate::Exhaustion>::assess(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, compaction) => {
        $crate::__export_as!($policy, Compaction, compaction, __export_compaction, {
            fn decide(o: $crate::compaction::Observation) -> $crate::compaction::Decision {
                <$policy as $crate::Compaction>::decide(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, splitting) => {
        $crate::__export_as!($policy, Splitting, splitting, __export_splitting, {
            fn evaluate(o: $crate::splitting::Observation) -> $crate::splitting::Decision {
                <$policy as $crate::Splitting>::evaluate(&$crate::Imports, o)
            }
            fn budget(o: $crate::splitting::Observation, base: u32) -> $crate::splitting::TurnBudget {
                <$policy as $crate::Splitting>::budget(&$crate::Imports, o, base)
            }
        });
    };
    ($policy:ty, handoff) => {
        $crate::__export_as!($policy, Handoff, handoff, __export_handoff, {
            fn brief(o: $crate::handoff::Observation) -> $crate::handoff::Briefing {
                <$policy as $crate::Handoff>::brief(&$crate::Imports, o)
            }
            fn compose(o: $crate::handoff::Observation) -> $crate::handoff::Composition {
                <$policy as $crate::Handoff>::compose(&$crate::Imports, o)
            }
            fn review(o: $crate::handoff::ReviewObservation) -> $crate::handoff::ReviewResult {
                <$policy as $crate::Handoff>::review(&$crate::Imports, o)
            }
        });
    };
    ($policy:ty, settings) => {
        $crate::__export_as!($policy, Settings, settings, __export_settings, {
            fn schema() -> Vec<$crate::settings::Setting> {
                <$policy as $crate::Settings>::schema()
            }
            fn validate(
                given: Vec<(String, $crate::types::SettingValue)>,
            ) -> Result<Vec<(String, $crate::types::SettingValue)>, Vec<$crate::settings::Problem>> {
                <$policy as $crate::Settings>::validate(given)
            }
        });
    };
    ($policy:ty, $other:ident) => {
        compile_error!(concat!(
            "`",
            stringify!($other),
            "` is no decision of baton:policy; it has: exhaustion, compaction, splitting, handoff, settings"
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
