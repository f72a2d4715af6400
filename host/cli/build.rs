//! Builds the binary again when a file that it carries along comes or goes: the templates, the SDK, the built-in policy and the
//! contract that `baton policy new` writes, and the guides that `baton help` shows. Generates nothing.

fn main() {
    for folder in ["sdk/templates", "sdk/src", "policies/resilience/src", "wit", "host/cli/docs"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
