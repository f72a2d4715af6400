//! The bindings that `wit-bindgen` makes from `wit/`: the shared types and imports once, and each decision once more
//! with those types plugged in. Nothing is written by hand here; `lib.rs` re-exports what a policy author needs.
#![allow(missing_docs, unreachable_pub)]

/// The types that all decisions share, and the functions that a policy may import.
pub mod shared {
    wit_bindgen::generate!({
        path: "../wit",
        world: "imports",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

/// The facts that a policy may import.
pub mod facts {
    wit_bindgen::generate!({
        path: "../wit",
        world: "facts",
        with: {
            "baton:policy/types@0.1.0": crate::bindings::shared::baton::policy::types,
            "baton:policy/questions@0.1.0": crate::bindings::shared::baton::policy::questions,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}

/// The worlds of one question each: its types are those of [`shared`], its exports are the policy's.
macro_rules! question {
    ($($module:ident, $world:tt, $export:tt, $bindings:tt;)+) => {$(
        #[doc = concat!("The world `", $world, "`.")]
        pub mod $module {
            wit_bindgen::generate!({
                path: "../wit",
                world: $world,
                with: {
                    "baton:policy/types@0.1.0": crate::bindings::shared::baton::policy::types,
                    "baton:policy/questions@0.1.0": crate::bindings::shared::baton::policy::questions,
                    "baton:policy/log@0.1.0": crate::bindings::shared::baton::policy::log,
                    "baton:policy/config@0.1.0": crate::bindings::shared::baton::policy::config,
                    "baton:policy/text@0.1.0": crate::bindings::shared::baton::policy::text,
                    "baton:policy/artifacts@0.1.0": crate::bindings::shared::baton::policy::artifacts,
                },
                generate_unused_types: true,
                additional_derives: [PartialEq],
                pub_export_macro: true,
                export_macro_name: $export,
                default_bindings_module: $bindings,
            });
        }
    )+};
}

question! {
    exhaustion, "exhaustion-policy", "__export_exhaustion", "baton_sdk::bindings::exhaustion";
    completion, "completion-policy", "__export_completion", "baton_sdk::bindings::completion";
    recovery, "recovery-policy", "__export_recovery", "baton_sdk::bindings::recovery";
    compaction, "compaction-policy", "__export_compaction", "baton_sdk::bindings::compaction";
    offloading, "offloading-policy", "__export_offloading", "baton_sdk::bindings::offloading";
    splitting, "splitting-policy", "__export_splitting", "baton_sdk::bindings::splitting";
    budgeting, "budgeting-policy", "__export_budgeting", "baton_sdk::bindings::budgeting";
    prompting, "prompting-policy", "__export_prompting", "baton_sdk::bindings::prompting";
    handoff, "handoff-policy", "__export_handoff", "baton_sdk::bindings::handoff";
    review, "review-policy", "__export_review", "baton_sdk::bindings::review";
    settings, "settings-policy", "__export_settings", "baton_sdk::bindings::settings";
}

/// The world `next-policy`: the questions as a layer asks them.
pub mod next {
    wit_bindgen::generate!({
        path: "../wit",
        world: "next-policy",
        with: {
            "baton:policy/types@0.1.0": crate::bindings::shared::baton::policy::types,
            "baton:policy/questions@0.1.0": crate::bindings::shared::baton::policy::questions,
            "baton:policy/log@0.1.0": crate::bindings::shared::baton::policy::log,
            "baton:policy/config@0.1.0": crate::bindings::shared::baton::policy::config,
            "baton:policy/text@0.1.0": crate::bindings::shared::baton::policy::text,
            "baton:policy/artifacts@0.1.0": crate::bindings::shared::baton::policy::artifacts,
        },
        generate_all,
        additional_derives: [PartialEq],
    });
}
