//! An answer as sentences of plain words (A12): without code, quotations and what is introduced as a quotation, in lower
//! case, with contractions written out.

/// One sentence, or one line that stands alone.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// Bytes of the text.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) words: Vec<String>,
    /// It is an item of a list.
    pub(super) listed: bool,
}

/// Stands for a quotation, a path, a piece of code: it says nothing, but it is a thing.
pub(super) const QUOTE: &str = "\u{2039}\u{203a}";
/// Words of a line that introduces somebody's words, or an example, and not the agent's own.
const QUOTING: [&str; 16] = [
    "says", "said", "say", "prints", "printed", "print", "reads", "message", "messages", "phrase", "phrases",
    "text", "wording", "wordings", "example", "examples",
];
/// A full stop behind these ends no sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g", "i.e", "etc", "approx", "vs", "ca", "no", "incl"];

const ABBREVIATION_BYTES: usize = 8;

/// A run of lines that belong together.
struct Block {
    start: usize,
    end: usize,
    listed: bool,
}

/// The sentences of a text, in order.
pub(super) fn sentences(text: &str) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for block in blocks(text) {
        let mut start = block.start;
        for end in ends(&text[block.start..block.end]) {
            let end = block.start + end;
            let words = words(&text[start..end]);
            if !words.is_empty() {
                sentences.push(Sentence { start, end, words, listed: block.listed });
            }
            start = end;
        }
    }
    sentences
}

/// The lines that are the agent's own words, those of a wrapped paragraph together.
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut at, mut fenced, mut wraps, mut quoting) = (0, false, false, false);
    for line in text.split('\n') {
        let (start, end) = (at, at + line.len());
        at = end + 1;
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            (fenced, wraps) = (!fenced, false);
            continue;
        }
        if bare.is_empty() {
            wraps = false;
            continue;
        }
        let marker = list_marker(bare);
        let indented = line.starts_with("    ") || line.starts_with('\t');
        if fenced || bare.starts_with(['>', '|', '│']) || indented && marker == 0 && !wraps {
            wraps = false;
            continue;
        }
        let quoted = quoting;
        // What is introduced is one paragraph, or a whole list.
        quoting = quoting && marker > 0 || bare.ends_with(':') && introduces_a_quotation(bare);
        if quoted {
            continue;
        }
        let goes_on = bare.starts_with(|c: char| c.is_lowercase());
        match blocks.last_mut() {
            Some(block) if wraps && marker == 0 && goes_on => block.end = end,
            _ => blocks.push(Block { start, end, listed: marker > 0 }),
        }
        wraps = !bare.starts_with('#');
    }
    blocks
}

/// Bytes of "- ", "* ", "3. " and the like at the start of a line; 0 where there is none.
fn list_marker(line: &str) -> usize {
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = &line[digits..];
    let marked = if digits == 0 {
        ["- ", "* ", "+ ", "• "].iter().any(|marker| rest.starts_with(marker))
    } else {
        rest.starts_with(". ") || rest.starts_with(") ")
    };
    if marked { digits + 2 } else { 0 }
}

fn introduces_a_quotation(line: &str) -> bool {
    words(line).iter().any(|word| QUOTING.contains(&word.as_str()))
}

/// Where the sentences of a block end.
fn ends(block: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut quotations = Quotations::of(block);
    let mut at = list_marker(block.trim_start()) + block.len() - block.trim_start().len();
    while let Some(c) = block[at..].chars().next() {
        if let Some(end) = quotations.end_of(at) {
            at = end;
            continue;
        }
        let next = at + c.len_utf8();
        if matches!(c, '.' | '!' | '?') && ends_here(&block[..at], &block[next..]) {
            ends.push(next);
        }
        at = next;
    }
    ends.push(block.len());
    ends
}

fn ends_here(before: &str, after: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(ABBREVIATION_BYTES))..];
    let word = near.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let abbreviated = ABBREVIATIONS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let after = after.trim_start_matches(['*', '_', ')', '"', '”']);
    // Chunks of an answer may come without a space between them.
    let joined = || before.ends_with(char::is_lowercase) && after.starts_with(char::is_uppercase);
    !abbreviated && (after.is_empty() || after.starts_with(char::is_whitespace) || joined())
}

/// The quotations and pieces of code of a stretch. A mark without its counterpart is looked for once.
struct Quotations<'t> {
    text: &'t str,
    /// Marks that no counterpart follows any more.
    alone: Vec<char>,
}

impl<'t> Quotations<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, alone: Vec::new() }
    }

    /// The end of a quotation that begins here.
    fn end_of(&mut self, at: usize) -> Option<usize> {
        let open = self.text[at..].chars().next()?;
        let close: &[char] = match open {
            '`' => &['`'],
            '"' => &['"'],
            '“' => &['”', '"'],
            '«' => &['»'],
            '\'' | '‘' if !self.text[..at].ends_with(char::is_alphanumeric) => &['\'', '’'],
            _ => return None,
        };
        if self.alone.contains(&open) {
            return None;
        }
        let end = self.counterpart(at + open.len_utf8(), close);
        if end.is_none() {
            self.alone.push(open);
        }
        end
    }

    /// Behind the first of these marks. A single one is an apostrophe, unless a word ends there.
    fn counterpart(&self, from: usize, close: &[char]) -> Option<usize> {
        let mut previous = ' ';
        for (offset, c) in self.text[from..].char_indices() {
            let end = from + offset + c.len_utf8();
            let apostrophe = matches!(c, '\'' | '’')
                && (previous.is_whitespace() || self.text[end..].starts_with(char::is_alphanumeric));
            if close.contains(&c) && !apostrophe {
                return Some(end);
            }
            previous = c;
        }
        None
    }
}

/// The words of a stretch; `,`, `:` and `;` stand for every mark between clauses.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quotations = Quotations::of(text);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let next = at + c.len_utf8();
        if let Some(end) = quotations.end_of(at) {
            words.push(QUOTE.to_owned());
            at = end;
        } else if c.is_alphanumeric() {
            let end = word_end(text, at);
            put(&text[at..end], text[end..].starts_with('('), &mut words);
            at = end;
            // "89 %" is "89%".
            if let Some(word) = words.last_mut().filter(|word| word.ends_with(|c: char| c.is_ascii_digit()))
                && text[end..].starts_with([' ', '\u{a0}'])
                && text[end..].trim_start().starts_with('%')
            {
                word.push('%');
            }
        } else {
            let dash = c == '-' && text[..at].ends_with(' ') && text[next..].starts_with(' ');
            match c {
                ',' | '(' | ')' => words.push(",".to_owned()),
                ':' => words.push(":".to_owned()),
                ';' | '—' | '–' | '…' | '·' | '|' | '→' => words.push(";".to_owned()),
                _ if dash => words.push(";".to_owned()),
                _ => {}
            }
            at = next;
        }
    }
    words
}

/// The end of a word, a number, a path or a name in code.
fn word_end(text: &str, start: usize) -> usize {
    let mut end = start;
    while let Some(c) = text[end..].chars().next() {
        let next = end + c.len_utf8();
        let rest = &text[next..];
        let joins = match c {
            '\'' | '’' | '.' | '/' | '_' | '-' => rest.starts_with(char::is_alphanumeric),
            ':' => {
                rest.starts_with(':') || text[..end].ends_with(':') && rest.starts_with(char::is_alphanumeric)
            }
            c => c == '%' || c.is_alphanumeric(),
        };
        if !joins {
            break;
        }
        end = next;
    }
    end
}

fn put(word: &str, called: bool, words: &mut Vec<String>) {
    // Most words are letters and nothing else.
    if !called && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        let lower = word.to_ascii_lowercase();
        match in_two(&lower) {
            Some((first, second)) => words.extend([first.to_owned(), second.to_owned()]),
            None => words.push(lower),
        }
        return;
    }
    let lower = word.to_lowercase().replace('’', "'");
    if let Some(share) = lower.split_once('/').and_then(|(part, whole)| share(part, whole)) {
        words.extend(share);
        return;
    }
    let number = lower.starts_with(|c: char| c.is_ascii_digit());
    let code = called || lower.contains(['_', '/']) || lower.contains("::") || lower.contains('.') && !number;
    if code && !ABBREVIATIONS.contains(&lower.as_str()) {
        words.push(QUOTE.to_owned());
        return;
    }
    for part in lower.split('-').filter(|part| !part.is_empty()) {
        written_out(part, words);
    }
}

/// "2/5" is "2 of 5", and "197k/200k" a percentage.
fn share(part: &str, whole: &str) -> Option<Vec<String>> {
    let tokens = |text: &str| text.strip_suffix('k').and_then(|thousands| thousands.parse::<f64>().ok());
    if let Some((part, whole)) = tokens(part).zip(tokens(whole)).filter(|(_, whole)| *whole > 0.0) {
        return Some(vec![format!("{}%", (part * 100.0 / whole) as u64)]);
    }
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    (digits(part) && digits(whole)).then(|| vec![part.to_owned(), "of".to_owned(), whole.to_owned()])
}

/// "can't" is "can not", "i've" is "i have"; a possessive loses its ending.
fn written_out(word: &str, words: &mut Vec<String>) {
    const ENDINGS: [(&str, &str); 6] =
        [("n't", "not"), ("'ve", "have"), ("'m", "am"), ("'ll", "will"), ("'d", "would"), ("'re", "are")];
    if let Some((first, second)) = in_two(word) {
        words.extend([first.to_owned(), second.to_owned()]);
        return;
    }
    for (ending, second) in ENDINGS {
        if let Some(first) = word.strip_suffix(ending).filter(|first| !first.is_empty()) {
            words.extend([first.to_owned(), second.to_owned()]);
            return;
        }
    }
    words.push(word.strip_suffix("'s").unwrap_or(word).to_owned());
}

/// The two words of a contraction that has no regular ending, or is written without its apostrophe.
fn in_two(word: &str) -> Option<(&'static str, &'static str)> {
    Some(match word {
        "cannot" | "can't" | "cant" => ("can", "not"),
        "won't" | "wont" => ("will", "not"),
        "couldnt" => ("could", "not"),
        "didnt" => ("did", "not"),
        "doesnt" => ("does", "not"),
        "dont" => ("do", "not"),
        "isnt" => ("is", "not"),
        "wasnt" => ("was", "not"),
        "havent" => ("have", "not"),
        "hasnt" => ("has", "not"),
        "im" => ("i", "am"),
        "ive" => ("i", "have"),
        "it's" => ("it", "is"),
        "that's" => ("that", "is"),
        "there's" => ("there", "is"),
        "here's" => ("here", "is"),
        "what's" => ("what", "is"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<String> {
        sentences(text).iter().map(|sentence| sentence.words.join(" ").replace(QUOTE, "Q")).collect()
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        assert_eq!(
            said("I've read lib.rs, e.g. 2.5 of it. Can't go on!\nNext: tests\nand docs"),
            ["i have read Q , e.g 2.5 of it", "can not go on", "next : tests and docs"]
        );
        assert_eq!(said("It is open.I stop - now"), ["it is open", "i stop ; now"]);
    }

    #[test]
    fn what_is_quoted_says_nothing() {
        assert_eq!(said("It says \"I am. Full\" and `x. y`"), ["it says Q and Q"]);
        assert_eq!(said("The log says:\n\nI am full\n\nFixed"), ["the log says :", "fixed"]);
        assert_eq!(
            said("Phrases:\n- I am full\n- so am I\n> me too\n```\nand me\n```\n| I |"),
            ["phrases :"]
        );
        assert_eq!(said("the agents' 'full' window"), ["the agents Q window"]);
    }

    #[test]
    fn no_text_breaks_the_sentences() {
        for text in
            ["", "'", "\"", "`", "“”", "1. ", "- ", "é.É", "'é'", "a:::b", "%%", "\u{2019}s", "x-", "i'd've"]
        {
            for sentence in sentences(text) {
                assert!(text.get(sentence.start..sentence.end).is_some(), "{text}");
            }
        }
    }
}
