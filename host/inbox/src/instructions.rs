//! The instructions for agents about the inbox, and which reports it takes.

/// How to report, with an example of each report: the host writes it to `inbox/README.md`.
pub const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Values of `report`, in the order of the instructions: each is a tool that reports, with hyphens in its name. A tool that
/// queries is useless in a file, since a file gets no answer.
pub(crate) const KINDS: [&str; 9] = [
    "objective-update",
    "decision-record",
    "attempt-record",
    "gotcha-record",
    "pattern-record",
    "handoff-write",
    "split-request",
    "review-submit",
    "artifact-save",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{report_parser, tool_names};

    #[test]
    fn every_example_of_the_instructions_is_a_report() {
        // C19: the schema that agents see is also the one of the parser.
        let examples: Vec<_> = INSTRUCTIONS.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(examples.len(), KINDS.len());
        for (kind, example) in KINDS.iter().zip(examples) {
            assert!(example.starts_with(&format!("{{\"report\": \"{kind}\"")), "{example}");
            let read = report_parser::report("x.json", example.as_bytes());
            assert!(read.is_ok(), "{example}: {:?}", read.unwrap_err().problem);
        }
    }

    #[test]
    fn both_doors_take_the_same_reports() {
        let asks = ["artifact_load", "artifact_list", "context_status"];
        let says: Vec<String> =
            tool_names().filter(|name| !asks.contains(name)).map(|name| name.replace('_', "-")).collect();
        assert_eq!(says, KINDS);
    }
}
