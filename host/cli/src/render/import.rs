//! The results of an import, and the source of an imported run: for people and programs. Reads no recording.

use baton_lab::{ImportNote, ImportReport};
use baton_runtime::core::RunId;
use baton_runtime::core::workflow::ImportedRecording;
use serde_json::{Value, json};

use super::terminal_style::{TerminalStyle, Tone};
use super::{json_record, text_format};

/// Verdicts that are shown; the last ones say how it ended.
const VERDICTS_SHOWN: usize = 10;

/// "Imported from build.jsonl (claude, sha256:3f2a91c05d7e…), a recording without times: those shown are evenly spaced".
pub(crate) fn provenance(imported: &ImportedRecording) -> String {
    let files: Vec<String> = imported
        .files
        .iter()
        .map(|file| format!("{} ({}, sha256:{}…)", file.name, imported.format, file.digest.short()))
        .collect();
    let times = match imported.times_are_made_up {
        true => ", a recording without times: those shown are evenly spaced",
        false => "",
    };
    format!("Imported from {}{times}. It is a recording and cannot be resumed.", files.join(", "))
}

/// An import that is kept.
pub(crate) struct ImportSummary<'a> {
    /// The run.
    pub(crate) run: &'a RunId,
    /// The results.
    pub(crate) report: &'a ImportReport,
    /// It was there before.
    pub(crate) already_imported: bool,
    /// The flags that a later command needs to find the same location.
    pub(crate) flags: &'a str,
}

impl ImportSummary<'_> {
    /// For people: what it is, how it went, what could not be known, what to type next.
    pub(crate) fn text(&self, look: &TerminalStyle) -> String {
        let report = self.report;
        let names: Vec<&str> = report.imported.files.iter().map(|file| file.name.as_str()).collect();
        let (names, format) = (names.join(", "), &report.imported.format);
        let run = look.paint(Tone::Strong, self.run.as_str());
        if self.already_imported {
            return format!("{names} is already imported as {run}\n");
        }
        let (word, tone) = text_format::run(report.status);
        let mut text = format!(
            "{names} ({format}) is now run {run}: {}, {} of {} in {}\n",
            look.paint(tone, word),
            report.prompts,
            text_format::count(report.prompts_recorded, "recorded prompt"),
            text_format::count(report.sessions, "session"),
        );
        let hidden = report.verdicts.len().saturating_sub(VERDICTS_SHOWN);
        if hidden > 0 {
            text.push_str(&look.paint(Tone::Dim, &format!("  … {hidden} verdicts before\n")));
        }
        for verdict in &report.verdicts[hidden..] {
            let line = format!(
                "  line {}  {}: {}",
                verdict.line,
                verdict.verdict,
                text_format::in_words(&verdict.reason)
            );
            text.push_str(&format!("{}\n", look.wrap(&line, 4)));
        }
        for note in &report.notes {
            text.push_str(&self.note(look, "note", note));
        }
        if report.notes_beyond > 0 {
            text.push_str(&look.paint(Tone::Dim, &format!("  … and {} more notes\n", report.notes_beyond)));
        }
        if let Some(stopped) = &report.stopped {
            text.push_str(&self.note(look, "ends", stopped));
        }
        if report.masked_lines > 0 {
            let masked = format!("secrets were masked in {} of its lines", report.masked_lines);
            text.push_str(&format!("  {}: {masked}\n", look.paint(Tone::Warn, "note")));
        }
        if report.imported.times_are_made_up {
            text.push_str("  note: it has no times of its own; those of the run are evenly spaced\n");
        }
        let next = format!("baton replay {} --verify{}", self.run, self.flags);
        text.push_str(&format!("Next       {}\n", look.paint(Tone::Strong, &next)));
        text
    }

    fn note(&self, look: &TerminalStyle, word: &str, note: &ImportNote) -> String {
        let several = self.report.imported.files.len() > 1;
        let place =
            if several { format!("{}:{}", note.file, note.line) } else { format!("line {}", note.line) };
        let tone = if word == "ends" { Tone::Warn } else { Tone::Dim };
        format!("  {}: {}\n", look.paint(tone, word), look.wrap(&format!("{place}: {}", note.what), 4))
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "schema": json_record::SCHEMA,
            "record": "import",
            "run": self.run,
            "already": self.already_imported,
            "report": self.report,
        })
    }

    /// Several in one document.
    pub(crate) fn json_of(all: &[ImportSummary<'_>]) -> Value {
        let imports: Vec<Value> = all.iter().map(ImportSummary::json).collect();
        json!({ "schema": json_record::SCHEMA, "record": "imports", "imports": imports })
    }
}

#[cfg(test)]
mod tests {
    use baton_lab::ImportedVerdict;
    use baton_runtime::core::Digest;
    use baton_runtime::core::action::RunOutcome;
    use baton_runtime::core::view::RunStatus;
    use baton_runtime::core::workflow::ImportedFile;

    use super::*;

    fn report() -> ImportReport {
        let note = |line, what: &str| ImportNote { file: "build.jsonl".into(), line, what: what.into() };
        let verdict = |line, prompt, verdict, reason: &str| ImportedVerdict {
            file: "build.jsonl".into(),
            line,
            session: Some("s1".into()),
            prompt,
            verdict,
            reason: reason.into(),
        };
        let file = ImportedFile { name: "build.jsonl".into(), digest: Digest::of("build"), bytes: 48_112 };
        ImportReport {
            imported: ImportedRecording {
                format: "claude".into(),
                files: vec![file],
                times_are_made_up: true,
            },
            status: RunStatus::Ended(RunOutcome::Unfinished),
            sessions: 1,
            sessions_recorded: 1,
            prompts: 2,
            prompts_recorded: 3,
            events: 214,
            entries: 391,
            decisions: 40,
            decisions_of_the_recording: 1,
            masked_lines: 2,
            verdicts: vec![
                verdict(61, 1, "completed", "the prompt was answered"),
                verdict(
                    118,
                    2,
                    "exhausted",
                    "the context window is used up: prompt_too_long (Prompt is too long)",
                ),
            ],
            notes: vec![note(
                61,
                "resilience would have compacted the context: the context is 84% full (168k of 200k tokens)",
            )],
            notes_beyond: 3,
            stopped: Some(note(
                119,
                "the recorded agent goes on in the same session, and the run has ended it",
            )),
        }
    }

    #[test]
    fn an_import_is_told_with_what_was_decided_and_where_it_ends() {
        let (run, report) = (RunId::new("import-3f2a91c05d7e"), report());
        let said = |already_imported| {
            let flags = " --state-dir /srv/state";
            ImportSummary { run: &run, report: &report, already_imported, flags }
                .text(&TerminalStyle::bare(100))
        };
        let provenance = provenance(&report.imported);
        insta::assert_snapshot!("import", [said(false), said(true), provenance].join("\n"));
    }
}
