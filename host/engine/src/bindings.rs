//! The types of `wit/`, generated. They are named only where a component is called (`evaluate.rs`, `exports.rs`, `settings.rs`,
//! `layer.rs`), where it calls the host (`imports.rs`, `facts.rs`) and where they are converted (`convert.rs`, `layout.rs`). Observations are
//! borrowed, so that no text is copied on its way into a component.

#![allow(missing_docs, unreachable_pub, unsafe_code, unused_doc_comments, unused_variables, dead_code)] // Generated.
#![allow(clippy::all)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "policy",
    ownership: Borrowing { duplicate_if_necessary: true },
});

pub use baton::policy::{artifacts, log, questions, text, types};
pub use exports::baton::policy::settings;

/// The facts that a component may import.
pub mod facts {
    mod generated {
        wasmtime::component::bindgen!({
            path: "../../wit",
            world: "facts",
            with: {
                "baton:policy/questions@0.1.0": super::super::questions,
            },
        });
    }

    pub use generated::baton::policy::{
        facts_compactions, facts_handoffs, facts_history, facts_turns, facts_waits,
    };
}

/// The same records owned, as they pass from a layer to the next policy and back.
pub mod next {
    mod generated {
        wasmtime::component::bindgen!({ path: "../../wit", world: "next-policy" });
    }

    pub use generated::baton::policy::questions::*;
}
