//! Reads the properties of modes in an Org mode file: in drawers and in `#+PROPERTY:` lines (A10). Ignores all other parts of
//! Org, except the depth of headlines, and uses no file system.
//!
//! A small reader of its own, because the available parsers (they are made for editors and exporters) skip malformed parts, and
//! users trust a budget that is silently skipped.

/// A mode file may have this many bytes; a mistaken path to a diary of years does not fit.
pub const ORG_BYTES_MAX: usize = 1024 * 1024;

/// A property, and the entry that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgProperty {
    /// Line, from 1.
    pub line: usize,
    /// Its name in the file, without colons.
    pub name: String,
    /// Without the spaces around it; may be empty.
    pub value: String,
    /// Index of the entry that it belongs to; 0 for the file before its first headline.
    pub entry: usize,
}

/// A file, as far as properties go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrgOutline {
    /// In the order of the file.
    pub properties: Vec<OrgProperty>,
    /// For each entry, the one above it. The file itself comes first, and is above itself.
    pub parents: Vec<usize>,
}

/// A line that Org would read differently from its evident meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct OrgError {
    /// Line, from 1.
    pub line: usize,
    /// The mistake, and the correction.
    pub what: String,
}

impl OrgOutline {
    /// Every property with this name that an entry has itself or, if it has none, the nearest entry above it. Names of
    /// properties ignore case.
    pub fn inherited(&self, entry: usize, name: &str) -> Option<&OrgProperty> {
        let mut at = entry;
        loop {
            let of_entry =
                |property: &&OrgProperty| property.entry == at && property.name.eq_ignore_ascii_case(name);
            match (self.properties.iter().rev().find(of_entry), self.parents.get(at)) {
                (Some(found), _) => return Some(found),
                (None, Some(above)) if *above != at => at = *above,
                (None, _) => return None,
            }
        }
    }
}

/// Reads the properties of a file.
///
/// # Errors
/// [`OrgError`] at the first drawer that does not end, or that holds something else than properties.
pub fn read(text: &str) -> Result<OrgOutline, OrgError> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut outline = OrgOutline { properties: Vec::new(), parents: vec![0] };
    // Depth and index of the entries that the line is in.
    let mut inside: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let entry = inside.last().map_or(0, |(_, entry)| *entry);
        at += 1;
        if let Some(depth) = headline(line) {
            while inside.last().is_some_and(|(above, _)| *above >= depth) {
                inside.pop();
            }
            outline.parents.push(inside.last().map_or(0, |(_, entry)| *entry));
            inside.push((depth, outline.parents.len() - 1));
        } else if let Some(end) = block(line).and_then(|name| end_of(&lines[at..], &name)) {
            at += end;
        } else if let Some(said) = keyword(line, "property") {
            let (name, value) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
            // In any place, this line is about the whole file.
            outline.properties.push(property(at, name, value, 0));
        } else if is_drawer(line, "properties") {
            at += drawer(&lines[at..], at, entry, &mut outline.properties)?;
        } else if let Some(end) = any_drawer(line).and_then(|()| drawer_end(&lines[at..])) {
            at += end;
        } else if let Some((name, _)) = in_drawer(line).filter(|(name, _)| is_budget_property(name)) {
            let what =
                format!("`{name}` stands outside of a drawer; put it between `:PROPERTIES:` and `:END:`");
            return Err(OrgError { line: at, what });
        }
    }
    Ok(outline)
}

/// The properties of a drawer; gives how many lines it has, its end included.
fn drawer(
    lines: &[&str],
    before: usize,
    entry: usize,
    properties: &mut Vec<OrgProperty>,
) -> Result<usize, OrgError> {
    for (index, line) in lines.iter().enumerate() {
        let number = before + index + 1;
        if is_drawer(line, "end") {
            return Ok(index + 1);
        }
        if headline(line).is_some() {
            break;
        }
        match in_drawer(line) {
            Some((name, value)) => properties.push(property(number, name, value, entry)),
            None => {
                let what =
                    "this is no property; write `:NAME: value`, or end the drawer with `:END:` before it";
                return Err(OrgError { line: number, what: what.to_owned() });
            }
        }
    }
    Err(OrgError {
        line: before,
        what: "this drawer does not end; write `:END:` below its properties".to_owned(),
    })
}

fn property(line: usize, name: &str, value: &str, entry: usize) -> OrgProperty {
    let name = name.trim_end_matches('+').to_owned();
    OrgProperty { line, name, value: value.trim().to_owned(), entry }
}

/// Whether a name is a property of modes, or nearly one.
fn is_budget_property(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.starts_with("MAX_TURN") || name.starts_with("MAX_CONTINUATION")
}

/// How deep a headline is: the stars at the beginning of the line, with a space after them.
fn headline(line: &str) -> Option<usize> {
    let depth = line.bytes().take_while(|byte| *byte == b'*').count();
    let rest = &line[depth..];
    (depth > 0 && (rest.is_empty() || rest.starts_with(' '))).then_some(depth)
}

/// The value of a line `#+NAME: …`.
fn keyword<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (key, value) = line.trim_start().strip_prefix("#+")?.split_once(':')?;
    key.eq_ignore_ascii_case(name).then(|| value.trim())
}

/// The word of a line `#+BEGIN_EXAMPLE`: the content of such a block is text.
fn block(line: &str) -> Option<String> {
    let word = line.trim_start().strip_prefix("#+")?.split_whitespace().next()?.to_ascii_lowercase();
    word.strip_prefix("begin_").map(str::to_owned)
}

/// The number of lines up to the end of a block, its end included. A block without an end does not count.
fn end_of(lines: &[&str], name: &str) -> Option<usize> {
    let end = format!("#+end_{name}");
    let ends = |line: &&str| line.trim().eq_ignore_ascii_case(&end);
    lines.iter().take_while(|line| headline(line).is_none()).position(ends).map(|index| index + 1)
}

fn is_drawer(line: &str, name: &str) -> bool {
    let word = line.trim().strip_prefix(':').and_then(|rest| rest.strip_suffix(':'));
    word.is_some_and(|word| word.eq_ignore_ascii_case(name))
}

/// The beginning of a drawer that is not one of properties.
fn any_drawer(line: &str) -> Option<()> {
    let word = line.trim().strip_prefix(':')?.strip_suffix(':')?;
    let plain = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    (plain && !word.is_empty() && !word.eq_ignore_ascii_case("end")).then_some(())
}

fn drawer_end(lines: &[&str]) -> Option<usize> {
    let own = lines.iter().take_while(|line| headline(line).is_none());
    own.into_iter().position(|line| is_drawer(line, "end")).map(|index| index + 1)
}

/// Name and value of a line `:NAME: value`.
fn in_drawer(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().strip_prefix(':')?.split_once(':')?;
    let parted = value.is_empty() || value.starts_with(char::is_whitespace);
    (parted && !name.is_empty() && !name.contains(char::is_whitespace)).then_some((name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(usize, String, String)> {
        let outline = read(text).unwrap();
        outline.properties.into_iter().map(|p| (p.line, p.name, p.value)).collect()
    }

    #[test]
    fn properties_of_the_file_and_of_headlines_are_read() {
        // A10
        let text = "#+TITLE: Swarm\n#+property: MAX_CONTINUATIONS 2\n:PROPERTIES:\n:MODE: swarm\n:END:\n\n* Budgets\n  :PROPERTIES:\n  \
                    :MAX_TURNS_EXECUTOR:   40\n  :Custom+: x: y\n  :END:\n* Notes\n  :LOGBOOK:\n  - anything\n  :END:\nText: with colons\n";
        let expected = [
            (2, "MAX_CONTINUATIONS", "2"),
            (4, "MODE", "swarm"),
            (9, "MAX_TURNS_EXECUTOR", "40"),
            (10, "Custom", "x: y"),
        ];
        assert_eq!(
            names(text),
            expected.map(|(line, name, value)| (line, name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn what_is_text_is_no_property() {
        let text = "#+begin_example\n:PROPERTIES:\n:MAX_TURNS_EXECUTOR: 1\n:END:\n#+END_EXAMPLE\n# :MAX_TURNS_EXECUTOR: 2\n:END:\n";
        assert!(names(text).is_empty());
        assert!(names("#+BEGIN_SRC sh\nnever ends\n* Headline\n").is_empty());
    }

    #[test]
    fn an_entry_has_what_those_above_it_have() {
        let text = ":PROPERTIES:\n:MODE: eco\n:END:\n* A\n:PROPERTIES:\n:MODE: swarm\n:END:\n** B\n:PROPERTIES:\n:X: 1\n:END:\n* C\n";
        let outline = read(text).unwrap();
        let mode = |entry| outline.inherited(entry, "mode").map(|property| property.value.as_str());
        assert_eq!(
            [mode(0), mode(1), mode(2), mode(3)],
            [Some("eco"), Some("swarm"), Some("swarm"), Some("eco")]
        );
        assert_eq!(outline.inherited(2, "none"), None);
    }

    #[test]
    fn what_org_would_not_read_is_refused_with_its_line() {
        let line = |text: &str| read(text).unwrap_err().line;
        assert_eq!(line("* A\n:PROPERTIES:\n:X: 1\n"), 2);
        assert_eq!(line(":PROPERTIES:\n:X: 1\n* A\n:END:\n"), 1);
        assert_eq!(line(":PROPERTIES:\nMAX_TURNS_EXECUTOR: 1\n:END:\n"), 2);
        assert_eq!(line("* A\nText\n:MAX_TURNS_EXECUTOR: 1\n"), 3);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[:#*+A-Za-z_\\n é]{0,200}") {
            let _ = read(&text);
        }
    }
}
