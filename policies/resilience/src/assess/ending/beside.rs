//! What an agent says beside the line that all is done (A11).
//!
//! The line is the agent's word, and prose takes it back in ever new ways: "its content is for Marta", "line 5 reads `????`", "refresh
//! is the exception that proves the rule". No list of such words is ever complete, and the shape of such sentences is that of finished
//! work. So beside the line stands what plain claims are made of, or nothing; an agent that says more is asked for the line alone. Where
//! it claims the whole of the work, or begins with yes, it may say more, in words that speak of nothing open.

use super::lexicon::Work;
use super::line::belongs_to_it;
use super::newest;
use super::plain::{claims_all, clauses, is_all_read, says_nothing_left};
use super::topic::Topic;
use super::words::{Sentence, words};

/// Marks of lines in which no sentence is looked for: quotations, rows of tables, code.
const UNREAD: [char; 5] = ['>', '|', '│', '`', '~'];

/// The first words beside the line that leave open whether all is done: of the answer as it was given, and as it is read. `is_troubled`: some of them speak of what is not done.
pub(super) fn unclear(
    (shown, text): (&str, &str),
    work: &Work,
    topic: &Topic,
    is_troubled: bool,
) -> Option<String> {
    let is_beside = |line: &&str| !belongs_to_it(line) && work.courtesy.at(&words(line), 0).is_none();
    let lines = shown.lines().zip(text.lines()).filter(|(_, line)| is_beside(line));
    let (shown, beside): (Vec<&str>, Vec<&str>) = lines.unzip();
    let (shown, said) = (shown.join("\n"), beside.join("\n"));
    let sentences = newest(&said);
    // "The parser is done" names the objective itself.
    let is_made_of_plain_words = |said: &[String]| {
        let mut said = said.to_vec();
        said.retain(|word| !topic.ids.contains(word));
        work.is_plain(&said, topic)
    };
    let is_plain = |sentence: &Sentence| {
        is_made_of_plain_words(&sentence.words) && topic.names_all_code(&said[sentence.start..sentence.end])
    };
    let settles = |(at, sentence): (usize, &Sentence)| {
        let affirms = at == 0 && sentence.words.first().is_some_and(|word| word == "yes");
        let claims = |clause: &[String]| claims_all(clause, topic) && is_made_of_plain_words(clause);
        affirms && is_plain(sentence)
            || clauses(&sentence.words).any(claims)
            || says_nothing_left(&sentence.words)
    };
    let is_read = !beside.iter().any(|line| line.trim_start().starts_with(UNREAD));
    if is_read && !is_troubled && sentences.iter().enumerate().any(settles) {
        return None;
    }
    let unclear = sentences.iter().find(|sentence| !is_plain(sentence));
    let unclear = unclear.map(|sentence| shown[sentence.start..sentence.end].trim());
    let unread = || shown.lines().next().filter(|_| !is_all_read(&said, &sentences));
    unclear.or_else(unread).map(|words| words.trim().to_owned())
}
