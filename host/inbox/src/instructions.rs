//! What agents are told about the inbox, and the fields that each report takes.

/// How to report, with an example of each report: the host writes it to `inbox/README.md`.
pub const INSTRUCTIONS: &str = include_str!("instructions.md");

/// A kind of report, for messages about a wrong one. Reading itself is [`baton_core::input::Report`]'s.
pub(crate) struct Kind {
    /// Value of `report`.
    pub(crate) name: &'static str,
    /// A right one with every field: put a wrong value into it, and it no longer reads.
    pub(crate) example: &'static str,
    /// Each field, what it takes, and whether it must be there.
    pub(crate) fields: &'static [(&'static str, &'static str, bool)],
}

impl Kind {
    /// The fields in one sentence.
    pub(crate) fn allowed(&self) -> String {
        let fields: Vec<_> = self
            .fields
            .iter()
            .map(|(name, takes, required)| {
                format!("{name} ({takes}{})", if *required { "" } else { ", optional" })
            })
            .collect();
        format!("{:?} takes {}, and session (text, optional)", self.name, fields.join(", "))
    }
}

/// Every kind, in the order of the instructions.
pub(crate) const KINDS: [Kind; 4] = [
    Kind {
        name: "objective-update",
        example: r#"{"report": "objective-update", "objective": "parser", "status": "done", "note": "12 tests pass"}"#,
        fields: &[
            ("objective", "id of an objective, as text", true),
            ("status", "one of \"open\", \"in-progress\", \"done\", \"failed\"", true),
            ("note", "text", false),
        ],
    },
    Kind {
        name: "decision-record",
        example: r#"{"report": "decision-record", "decision": "hand-written lexer", "rationale": "the grammar needs two tokens of lookahead"}"#,
        fields: &[("decision", "text", true), ("rationale", "text", true)],
    },
    Kind {
        name: "attempt-record",
        example: r#"{"report": "attempt-record", "approach": "regular expressions", "outcome": "nested quotes cannot be matched"}"#,
        fields: &[("approach", "text", true), ("outcome", "text", true)],
    },
    Kind {
        name: "split-request",
        example: r#"{"report": "split-request", "groups": [{"title": "reading", "objectives": ["lexer", "parser"]}, {"title": "writing", "objectives": ["printer"]}], "rationale": "the two share no files"}"#,
        fields: &[
            ("groups", "list of {\"title\": text, \"objectives\": list of ids}", true),
            ("rationale", "text", true),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn every_example_of_the_instructions_is_a_report() {
        // C19: the schema that agents are shown is the one that is read.
        let examples: Vec<_> = INSTRUCTIONS.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(examples.len(), KINDS.len());
        for (kind, example) in KINDS.iter().zip(examples) {
            assert_eq!(kind.example, example, "the instructions and the table differ");
            assert!(parse::report("x.json", example.as_bytes()).is_ok(), "{example}");
        }
    }
}
