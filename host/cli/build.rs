//! Builds the binary anew when a file that it carries along comes or goes: the templates, the SDK and the contract that
//! `baton policy new` writes. Generates nothing.

fn main() {
    for folder in ["sdk/templates", "sdk/src", "wit"] {
        println!("cargo::rerun-if-changed=../../{folder}");
    }
}
