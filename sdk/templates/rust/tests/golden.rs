//! The decisions that are kept in `golden/`, a file each: the question, and what is decided on it. When one changes on
//! purpose, `BATON_UPDATE_GOLDEN=1 cargo test` writes it anew, and the diff is what a review looks at.

use baton_sdk::golden;

use {{crate}}::{{Type}} as Policy;

#[test]
fn golden_decisions_stand() {
    golden::check::<Policy>("golden");
}
