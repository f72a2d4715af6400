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

/// The world `exhaustion-policy`.
pub mod exhaustion {
    wit_bindgen::generate!({
        path: "../wit",
        world: "exhaustion-policy",
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
        export_macro_name: "__export_exhaustion",
        default_bindings_module: "baton_sdk::bindings::exhaustion",
    });
}

/// The world `compaction-policy`.
pub mod compaction {
    wit_bindgen::generate!({
        path: "../wit",
        world: "compaction-policy",
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
        export_macro_name: "__export_compaction",
        default_bindings_module: "baton_sdk::bindings::compaction",
    });
}

/// The world `splitting-policy`.
pub mod splitting {
    wit_bindgen::generate!({
        path: "../wit",
        world: "splitting-policy",
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
        export_macro_name: "__export_splitting",
        default_bindings_module: "baton_sdk::bindings::splitting",
    });
}

/// The world `budgeting-policy`.
pub mod budgeting {
    wit_bindgen::generate!({
        path: "../wit",
        world: "budgeting-policy",
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
        export_macro_name: "__export_budgeting",
        default_bindings_module: "baton_sdk::bindings::budgeting",
    });
}

/// The world `prompting-policy`.
pub mod prompting {
    wit_bindgen::generate!({
        path: "../wit",
        world: "prompting-policy",
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
        export_macro_name: "__export_prompting",
        default_bindings_module: "baton_sdk::bindings::prompting",
    });
}

/// The world `handoff-policy`.
pub mod handoff {
    wit_bindgen::generate!({
        path: "../wit",
        world: "handoff-policy",
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
        export_macro_name: "__export_handoff",
        default_bindings_module: "baton_sdk::bindings::handoff",
    });
}

/// The world `review-policy`.
pub mod review {
    wit_bindgen::generate!({
        path: "../wit",
        world: "review-policy",
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
        export_macro_name: "__export_review",
        default_bindings_module: "baton_sdk::bindings::review",
    });
}

/// The world `settings-policy`.
pub mod settings {
    wit_bindgen::generate!({
        path: "../wit",
        world: "settings-policy",
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
        export_macro_name: "__export_settings",
        default_bindings_module: "baton_sdk::bindings::settings",
    });
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
