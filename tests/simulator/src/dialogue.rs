//! A dialogue, whatever API it came by: which prompt is being worked on, how far the work has come, and whether the
//! agent asks for a summary. Knows no wire format.

/// Only the beginning of a text is looked at to tell a request for a summary: the instruction stands there.
const INSTRUCTION_BYTES: usize = 6000;

/// How agents ask for a summary of the dialogue, in lower case: Claude Code first, Codex last.
const SUMMARY_PHRASES: [&str; 4] = [
    "create a detailed summary of the conversation",
    "detailed summary of the conversation so far",
    "summarize the conversation",
    "you are performing a context checkpoint compaction",
];

/// How texts begin that agents put among the words of a person and that are no prompt.
const NOTES: [&str; 7] = [
    "<system-reminder>",
    "<local-command-",
    "<command-name>",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md instructions",
];

/// How a side request begins that offers tools all the same: Claude Code asks what a person might type next.
const SIDE_REQUEST_PREFIX: &str = "[SUGGESTION MODE:";

/// A summary carries the prompt, cut to this much, since an agent may forget everything but the summary. Prompts are a
/// few kilobytes; what is longer would make the summary as large as the dialogue that it stands for.
const CARRIED_BYTES: usize = 16 << 10;

/// Before and after the number of turns that are done, and after the prompt, in a summary.
const DONE: &str = "=== Of the prompt below, turns done: ";
const PROMPT: &str = " ===\n";
const END: &str = "\n=== End of the prompt ===";

/// One entry of a dialogue.
pub(crate) enum DialogueEntry {
    /// Texts of a person, or of the agent on behalf of one.
    Person(Vec<String>),
    /// What a call of a tool came to, and texts that were sent along with it.
    Results(Vec<String>),
    /// What the model said or called.
    Model,
    /// A request for a summary that has no words.
    SummaryAsked,
}

/// How the work stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DialogueState {
    /// The prompt that is being worked on.
    pub(crate) prompt: String,
    /// Its turns that are done.
    pub(crate) results: usize,
    /// The agent asks for a summary.
    pub(crate) compaction: bool,
    /// It asks without words, and takes the summary as an item of its own.
    pub(crate) wordless: bool,
    /// The agent asks something of its own, which is no work on the prompt.
    pub(crate) aside: bool,
}

impl DialogueState {
    /// Reads the entries of a dialogue, oldest first.
    pub(crate) fn of(entries: &[DialogueEntry]) -> Self {
        let mut standing = Self::default();
        for (age, entry) in entries.iter().rev().enumerate() {
            match entry {
                DialogueEntry::Model => {}
                DialogueEntry::SummaryAsked => {
                    standing.wordless |= age == 0;
                    standing.compaction |= age == 0;
                }
                DialogueEntry::Results(texts) => {
                    standing.compaction |= age == 0 && texts.iter().any(|text| asks_for_summary(text));
                    standing.results += 1;
                }
                DialogueEntry::Person(texts) => {
                    let asking = texts.iter().position(|text| age == 0 && asks_for_summary(text));
                    standing.compaction |= asking.is_some();
                    if let Some((prompt, done)) = prompt(&texts[..asking.unwrap_or(texts.len())]) {
                        standing.aside = prompt.starts_with(SIDE_REQUEST_PREFIX);
                        standing.prompt = prompt;
                        standing.results += done;
                        break;
                    }
                }
            }
        }
        standing
    }

    /// The summary that the model gives. Where the agent goes on with nothing else, the work goes on where it was.
    pub(crate) fn summary(&self) -> String {
        let prompt = &self.prompt[..self.prompt.floor_char_boundary(CARRIED_BYTES)];
        format!(
            "<analysis>Looked at everything.</analysis>\n<summary>\nA summary by the simulated model: what is done is \
             on disk.\n{DONE}{}{PROMPT}{prompt}{END}\n</summary>",
            self.results
        )
    }
}

fn asks_for_summary(text: &str) -> bool {
    let beginning = text[..text.floor_char_boundary(INSTRUCTION_BYTES)].to_lowercase();
    SUMMARY_PHRASES.iter().any(|phrase| beginning.contains(phrase))
}

/// The prompt in the texts of a person, and its turns that a summary says are done.
fn prompt(texts: &[String]) -> Option<(String, usize)> {
    let texts: Vec<&str> = texts
        .iter()
        .map(String::as_str)
        .filter(|text| !text.trim().is_empty() && !NOTES.iter().any(|note| text.starts_with(note)))
        .collect();
    let summary = texts.iter().rposition(|text| text.contains(DONE));
    match summary {
        Some(last) if last + 1 == texts.len() => parse_carried_prompt(texts[last]),
        Some(earlier) => Some((texts[earlier + 1..].join("\n"), 0)),
        None if texts.is_empty() => None,
        None => Some((texts.join("\n"), 0)),
    }
}

/// The prompt that a summary carries.
fn parse_carried_prompt(text: &str) -> Option<(String, usize)> {
    let (_, rest) = text.rsplit_once(DONE)?;
    let (done, rest) = rest.split_once(PROMPT)?;
    let prompt = rest.split_once(END).map_or(rest, |(prompt, _)| prompt);
    Some((prompt.to_owned(), done.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(texts: &[&str]) -> DialogueEntry {
        DialogueEntry::Person(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    fn result() -> DialogueEntry {
        DialogueEntry::Results(Vec::new())
    }

    #[test]
    fn results_count_from_the_last_prompt_and_notes_are_none() {
        let entries = [
            person(&["first"]),
            DialogueEntry::Model,
            result(),
            person(&["<system-reminder>x</system-reminder>", "second"]),
            person(&["<environment_context>y</environment_context>"]),
            result(),
            result(),
        ];
        let standing = DialogueState::of(&entries);
        assert_eq!((standing.prompt.as_str(), standing.results), ("second", 2));
        assert!(!standing.compaction && !standing.aside);
        assert_eq!(DialogueState::of(&[]), DialogueState::default());
    }

    #[test]
    fn the_work_goes_on_where_a_summary_left_it() {
        let instruction = "You are performing a CONTEXT CHECKPOINT COMPACTION.";
        let mut entries =
            vec![person(&["the prompt\nwith two lines"]), result(), result(), person(&[instruction])];
        let asked = DialogueState::of(&entries);
        assert!(asked.compaction && !asked.wordless);
        entries[3] = DialogueEntry::SummaryAsked;
        let wordless = DialogueState::of(&entries);
        assert!(wordless.compaction && wordless.wordless);
        assert_eq!(wordless.summary(), asked.summary());

        let wrapped = format!("Another model worked on it:\n{}\nGo on.", asked.summary());
        let gone_on =
            DialogueState::of(&[person(&["the prompt\nwith two lines"]), person(&[&wrapped]), result()]);
        assert_eq!((gone_on.prompt.as_str(), gone_on.results), ("the prompt\nwith two lines", 3));
        // And a summary of a summary carries both on.
        let again = DialogueState::of(&[person(&[&gone_on.summary()])]);
        assert_eq!((again.prompt, again.results), (gone_on.prompt, 3));
        // A new prompt counts from its own beginning.
        let anew = DialogueState::of(&[person(&[&wrapped, "another prompt"]), result()]);
        assert_eq!((anew.prompt.as_str(), anew.results), ("another prompt", 1));
    }

    #[test]
    fn an_instruction_beside_a_prompt_or_a_result_is_told() {
        let instruction = "Your task is to create a detailed summary of the conversation so far.";
        let beside = DialogueState::of(&[person(&["the prompt", instruction])]);
        assert_eq!((beside.prompt.as_str(), beside.compaction), ("the prompt", true));
        let after = DialogueState::of(&[
            person(&["the prompt"]),
            DialogueEntry::Results(vec![instruction.to_owned()]),
        ]);
        assert_eq!((after.prompt.as_str(), after.results, after.compaction), ("the prompt", 1, true));
        assert!(DialogueState::of(&[person(&["[SUGGESTION MODE: what next?]"])]).aside);
    }
}
