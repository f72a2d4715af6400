//! The words of a shell's commands as the shell joins them, as far as the text determines them. Runs nothing and looks nothing
//! up.

use std::collections::{HashMap, VecDeque};

/// Commands within words and within words of these, of which more are not followed.
const DEPTH_MAX: usize = 4;
/// Bytes that variables and braces put into words. Words after that are unknown.
const ADDED_BYTES_MAX: usize = 1 << 20;
/// A longer value of a variable is not remembered.
const VALUE_BYTES_MAX: usize = 512;
/// Words that one word with braces expands to.
const ALTERNATIVES_MAX: usize = 32;
/// By one of these, a word can be a command or be joined in another way when it is read once more.
const SPECIAL: &str = "'\"\\$`;|&()<>{}";
/// Stands for an unknown text.
const UNKNOWN: &str = "*";

/// The words of a command and of all commands in it, in the order of [`commands_of`].
///
/// ```
/// use baton_core::shell_words::words_of;
/// let words = words_of(r#"cd "$PWD"/a\ b && sh -c 'sh ~/x.sh'"#, "/w", Some("/home/me"));
/// assert_eq!(words, ["cd", "/w/a b", "sh", "-c", "sh ~/x.sh", "/w/a", "b", "sh", "/home/me/x.sh"]);
/// ```
pub fn words_of(command: &str, folder: &str, home: Option<&str>) -> Vec<String> {
    commands_of(command, folder, home).into_iter().flatten().collect()
}

/// The commands in a text for a shell, each as its words: those of the text itself first, then those in its substitutions and
/// in its words (`sh -c '…'`), which are parsed as well. The commands start in `folder`, an absolute path. It is the value of
/// `$PWD`, `$(pwd)` and of an unknown variable or substitution at the beginning of a word, a value or an entry of a list
/// (`$ROOT/a`, `X=$ROOT/a`); elsewhere such a value is `*`. `~` and `$HOME` become `home`, a variable that the text itself sets
/// becomes its value, `${X:-a}` becomes `a`. A pattern stays as it is.
pub fn commands_of(command: &str, folder: &str, home: Option<&str>) -> Vec<Vec<String>> {
    let mut reader = ShellReader {
        folder,
        home,
        left: ADDED_BYTES_MAX,
        values: HashMap::new(),
        inner: VecDeque::from([(command.to_owned(), 0)]),
        commands: Vec::new(),
        words: Vec::new(),
    };
    while let Some((text, depth)) = reader.inner.pop_front() {
        reader.read(&text, depth);
    }
    reader.commands
}

struct ShellReader<'p> {
    folder: &'p str,
    home: Option<&'p str>,
    /// Bytes that may still be put in the place of variables and braces.
    left: usize,
    /// Variables that the text sets.
    values: HashMap<String, String>,
    /// Texts that are not read yet, with their depth.
    inner: VecDeque<(String, usize)>,
    commands: Vec<Vec<String>>,
    /// Of the command that is being read.
    words: Vec<String>,
}

impl ShellReader<'_> {
    fn read(&mut self, text: &str, depth: usize) {
        // None between words.
        let mut word: Option<String> = None;
        let (mut is_quoted, mut braces) = (false, 0_usize);
        let mut has_braces = false;
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = after;
            match c {
                '"' => {
                    is_quoted = !is_quoted;
                    word.get_or_insert_default();
                }
                '\\' => {
                    let Some(next) = after.chars().next() else { break };
                    rest = &after[next.len_utf8()..];
                    if next != '\n' {
                        let word = word.get_or_insert_default();
                        if is_quoted && !"$`\"\\".contains(next) {
                            word.push(c);
                        }
                        word.push(next);
                    }
                }
                '`' | '$' => {
                    rest = self.substituted(c, after, is_quoted, word.get_or_insert_default(), depth);
                }
                _ if is_quoted => word.get_or_insert_default().push(c),
                '\'' => {
                    let end = after.find('\'').unwrap_or(after.len());
                    word.get_or_insert_default().push_str(&after[..end]);
                    rest = after.get(end + 1..).unwrap_or_default();
                }
                '~' if begins_value(word.as_deref())
                    && after
                        .chars()
                        .next()
                        .is_none_or(|next| "/:;|&()<>".contains(next) || next.is_whitespace()) =>
                {
                    let value = self.home.unwrap_or("~");
                    self.add(value, word.get_or_insert_default());
                }
                '#' if word.is_none() => {
                    rest = &after[after.find('\n').unwrap_or(after.len())..];
                }
                '{' if after.starts_with('}') => {
                    word.get_or_insert_default().push_str("{}");
                    rest = &after[1..];
                }
                '{' if braces > 0 || is_list(after) => {
                    word.get_or_insert_default().push(c);
                    (braces, has_braces) = (braces + 1, true);
                }
                '}' if braces > 0 => {
                    word.get_or_insert_default().push(c);
                    braces -= 1;
                }
                _ if c.is_whitespace() || ";|&(){}<>".contains(c) => {
                    self.end_word(&mut word, std::mem::take(&mut has_braces), text, depth);
                    braces = 0;
                    if !"<>".contains(c) && (c == '\n' || !c.is_whitespace()) {
                        self.end_command();
                    }
                }
                _ => word.get_or_insert_default().push(c),
            }
        }
        self.end_word(&mut word, has_braces, text, depth);
        self.end_command();
    }

    /// Reads on after a `$` or a backtick: returns the rest of the text.
    fn substituted<'t>(
        &mut self,
        mark: char,
        after: &'t str,
        is_quoted: bool,
        word: &mut String,
        depth: usize,
    ) -> &'t str {
        let next = after.chars().next();
        if mark == '`' {
            let (inner, rest) = until_backtick(after);
            self.add_output(&inner, word, depth);
            return rest;
        }
        match next {
            Some('(') => {
                let (inner, rest) = until_closed(&after[1..], '(', ')');
                self.add_output(inner, word, depth);
                rest
            }
            Some('{') => {
                let (inner, rest) = until_closed(&after[1..], '{', '}');
                self.add_parameter(inner, word, depth);
                rest
            }
            Some('\'') if !is_quoted => {
                let (text, rest) = with_escapes(&after[1..]);
                word.push_str(&text);
                rest
            }
            // `$"…"` is text in quotes.
            Some('"') if !is_quoted => after,
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let is_within = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = after.find(|c| !is_within(c)).unwrap_or(after.len());
                self.add_value(&after[..end], word);
                &after[end..]
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.add_unknown(word);
                &after[1..]
            }
            _ => {
                word.push(mark);
                after
            }
        }
    }

    /// Adds the output of a substitution to a word. Its own command is parsed as well.
    fn add_output(&mut self, inner: &str, word: &mut String, depth: usize) {
        let plain: Vec<&str> = inner.split_whitespace().take(4).collect();
        match plain.as_slice() {
            ["pwd"] | ["pwd", _] | ["git", "rev-parse", "--show-toplevel"] => self.add(self.folder, word),
            _ => self.add_unknown(word),
        }
        if depth < DEPTH_MAX {
            self.inner.push_back((inner.to_owned(), depth + 1));
        }
    }

    /// Adds the value of the text between `${` and `}`.
    fn add_parameter(&mut self, inner: &str, word: &mut String, depth: usize) {
        // `${env:HOME}` in settings of editors
        let inner = inner.strip_prefix("env:").unwrap_or(inner);
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, behind) = inner.split_at(end);
        let behind = behind.strip_prefix(':').unwrap_or(behind);
        let default = behind.strip_prefix(['-', '=', '+']).filter(|_| !name.is_empty());
        let Some(default) = default.filter(|_| self.value_of(name).is_none() || behind.starts_with('+'))
        else {
            return self.add_value(name, word);
        };
        let mut reader = ShellReader {
            folder: self.folder,
            home: self.home,
            left: self.left,
            values: std::mem::take(&mut self.values),
            inner: VecDeque::new(),
            commands: Vec::new(),
            words: Vec::new(),
        };
        if depth < DEPTH_MAX {
            reader.read(default, depth + 1);
        }
        self.left = reader.left;
        self.values = reader.values;
        self.inner.extend(reader.inner);
        let mut words = reader.commands.into_iter().flatten();
        word.push_str(&words.next().unwrap_or_default());
        // More than one word: a default in quotes would be one.
        words.for_each(|more| {
            word.push(' ');
            word.push_str(&more);
        });
    }

    fn value_of(&self, name: &str) -> Option<String> {
        match name {
            "HOME" | "userHome" => self.home.map(str::to_owned),
            "PWD" => Some(self.folder.to_owned()),
            _ => self.values.get(name).cloned(),
        }
    }

    fn add_value(&mut self, name: &str, word: &mut String) {
        match self.value_of(name) {
            Some(value) => self.add(&value, word),
            // Such variables mostly contain the path of the folder, under the name of an agent.
            None if !word.contains('/') && (name.ends_with("_DIR") || name.ends_with("_ROOT")) => {
                self.add(self.folder, word);
            }
            None => self.add_unknown(word),
        }
    }

    fn add_unknown(&mut self, word: &mut String) {
        match begins_value(Some(word)) {
            true => self.add(self.folder, word),
            false => self.add(UNKNOWN, word),
        }
    }

    fn add(&mut self, value: &str, word: &mut String) {
        match self.left.checked_sub(value.len()) {
            Some(left) => {
                self.left = left;
                word.push_str(value);
            }
            None => word.push_str(UNKNOWN),
        }
    }

    fn end_word(&mut self, word: &mut Option<String>, has_braces: bool, text: &str, depth: usize) {
        let Some(word) = word.take().filter(|word| !word.is_empty()) else { return };
        if let Some((name, value)) = word.split_once('=')
            && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && value.len() <= VALUE_BYTES_MAX
        {
            self.values.insert(name.to_owned(), value.to_owned());
        }
        let is_special = |c: char| c.is_whitespace() || SPECIAL.contains(c);
        if depth < DEPTH_MAX && word != text && word != "{}" && word.contains(is_special) {
            self.inner.push_back((word.clone(), depth + 1));
        }
        if has_braces {
            let mut found = Vec::new();
            alternatives(&word, &mut found);
            for word in found {
                if let Some(left) = self.left.checked_sub(word.len()) {
                    self.left = left;
                    self.words.push(word);
                }
            }
        }
        self.words.push(word);
    }

    fn end_command(&mut self) {
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

/// Whether a path can begin after this part of a word.
fn begins_value(word: Option<&str>) -> bool {
    word.is_none_or(|word| word.is_empty() || word.ends_with(['=', ':']))
}

/// Whether an opened brace stands for several words (`{a,b}`).
fn is_list(after: &str) -> bool {
    let end = after.find(|c: char| c.is_whitespace() || "{};|&()<>'\"`".contains(c));
    end.is_some_and(|end| after[end..].starts_with(['{', '}']) && after[..end].contains(','))
}

/// The words that a word with braces expands to.
fn alternatives(word: &str, found: &mut Vec<String>) {
    let mut left = vec![word.to_owned()];
    while let Some(word) = left.pop() {
        if found.len() + left.len() >= ALTERNATIVES_MAX {
            break;
        }
        // The innermost ones first.
        let end = word.find('}');
        let begin = end.and_then(|end| word[..end].rfind('{'));
        match begin.zip(end) {
            Some((begin, end)) => {
                let of = |part: &str| format!("{}{part}{}", &word[..begin], &word[end + 1..]);
                left.extend(word[begin + 1..end].split(',').take(ALTERNATIVES_MAX).map(of));
            }
            None => found.push(word),
        }
    }
}

/// A text up to its backtick, and the text after it. Without a backtick, the first has everything.
fn until_backtick(text: &str) -> (String, &str) {
    let mut inner = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '`' => return (inner, &text[at + 1..]),
            '\\' => match chars.next() {
                Some((_, next)) if "`\\$".contains(next) => inner.push(next),
                Some((_, next)) => inner.extend([c, next]),
                None => {}
            },
            _ => inner.push(c),
        }
    }
    (inner, "")
}

/// A text up to its closing character, and the text after that. Without one, the first has everything.
fn until_closed(text: &str, opens: char, closes: char) -> (&str, &str) {
    let (mut depth, mut is_quoted) = (0_usize, false);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '"' => is_quoted = !is_quoted,
            '\'' if !is_quoted => drop(chars.find(|(_, c)| *c == '\'')),
            // In quotes as well: `$(a "$(b)")`.
            _ if c == opens => depth += 1,
            _ if c == closes && depth > 0 => depth -= 1,
            _ if c == closes => return (&text[..at], &text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    (text, "")
}

/// The text of `$'…'` after its first quote, and the text after its last one.
fn with_escapes(text: &str) -> (String, &str) {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\'' {
            return (plain, rest);
        }
        let Some(kind) = rest.chars().next().filter(|_| c == '\\') else {
            plain.push(c);
            continue;
        };
        rest = &rest[kind.len_utf8()..];
        let (radix, digits, first) = match kind {
            'x' => (16, 2, 0),
            'u' => (16, 4, 0),
            'U' => (16, 8, 0),
            '0'..='7' => (8, 2, kind.to_digit(8).unwrap_or_default()),
            _ => {
                plain.push(match kind {
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' | 'E' => '\u{1b}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'v' => '\u{b}',
                    other => other,
                });
                continue;
            }
        };
        let mut code = first;
        for _ in 0..digits {
            let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(radix)) else { break };
            code = code.wrapping_mul(radix).wrapping_add(digit);
            rest = &rest[1..];
        }
        plain.extend(char::from_u32(code));
    }
    (plain, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<String> {
        words_of(command, "/w", Some("/h"))
    }

    // N6
    #[test]
    fn a_word_is_what_a_shell_joins() {
        for (command, expected) in [
            (r#"sh "my tools/b.sh""#, &["sh", "my tools/b.sh", "my", "tools/b.sh"] as &[&str]),
            (r"sh tools\/b.sh my\ x", &["sh", "tools/b.sh", "my x", "my", "x"]),
            (r#"sh to"ols"/'b'.sh"#, &["sh", "tools/b.sh"]),
            (r"$'to\x6f\154s/b\u002esh'", &["tools/b.sh"]),
            ("a;b|c&d(e)f<g>h\ni", &["a", "b", "c", "d", "e", "f", "g", "h", "i"]),
            ("{ a; } {tools/b.sh}", &["a", "tools/b.sh"]),
            ("-exec sh {} \\;", &["-exec", "sh", "{}", ";"]),
            ("a\\\nb # don't\nc '' #x", &["ab", "c"]),
            (
                "sh $PWD/a ${PWD}/b `pwd`/c $(pwd -P)/d",
                &["sh", "/w/a", "/w/b", "/w/c", "/w/d", "pwd", "pwd", "-P"],
            ),
            (
                "~/a $HOME/b \"${HOME}/c\" X=~/d '~/e' f~/g",
                &["/h/a", "/h/b", "/h/c", "X=/h/d", "~/e", "f~/g"],
            ),
            ("$CLAUDE_PROJECT_DIR/a ${workspaceFolder}/b -C$X_DIR/c", &["/w/a", "/w/b", "-C/w/c"]),
            ("$(git rev-parse --show-toplevel)/a", &["/w/a", "git", "rev-parse", "--show-toplevel"]),
            ("${X:-tools}/a ${X-$PWD}/b ${HOME:-x}/c", &["tools/a", "/w/b", "/h/c"]),
            ("D=tools; sh $D/a ${D:-x}/b", &["D=tools", "sh", "tools/a", "tools/b"]),
            ("sh tools/$1.sh $X/a b/$(c d)", &["sh", "tools/*.sh", "/w/a", "b/*", "c", "d"]),
            ("sh t/*.sh '?'", &["sh", "t/*.sh", "?"]),
            ("a $ b$ \"$\" $", &["a", "$", "b$", "$", "$"]),
        ] {
            let found = words(command);
            for word in expected {
                assert!(found.iter().any(|one| one == word), "{command}: {word} in {found:?}");
            }
        }
        assert_eq!(words("sh to\"ols\"/b"), ["sh", "tools/b"]);
        assert_eq!(words("tools/{a,b{1,2}}.sh")[..4].iter().filter(|word| word.ends_with(".sh")).count(), 4);
        assert!(words("tools/{a,b{1,2}}.sh").contains(&"tools/b2.sh".to_owned()));
        assert_eq!(words_of("~/a $HOME/b", "/w", None), ["~/a", "/w/b"]);
    }

    // N6
    #[test]
    fn commands_in_commands_are_read_as_well() {
        let nested = r#"bash "$(dirname "$(git rev-parse --git-dir)")/t/a.sh" && X=y sh -c 'cd t; sh -c "sh \"c d\""'"#;
        let found = commands_of(nested, "/w", None);
        let is_in = |words: &[&str]| found.iter().any(|command| command == words);
        assert!(is_in(&["bash", "/w/t/a.sh"]), "{found:?}");
        assert!(is_in(&["dirname", "/w"]), "{found:?}");
        assert!(is_in(&["git", "rev-parse", "--git-dir"]), "{found:?}");
        assert!(is_in(&["cd", "t"]), "{found:?}");
        assert!(is_in(&["sh", "c d"]), "{found:?}");
        assert_eq!(commands_of("a b; c | d > e", "/w", None), [vec!["a", "b"], vec!["c"], vec!["d", "e"]]);
    }

    // N6: work and words stay in proportion to the text.
    #[test]
    fn a_long_or_unfinished_command_is_bounded() {
        for part in [
            "$(", "${", "${X:-", "`", "'", "\"", "\\", "{a,", "{", "$'", "A=$A$A;", "$PWD", "(", "~:",
            "$'\\u",
        ] {
            let text = part.repeat(20_000);
            let long = "/long".repeat(100);
            let found = words_of(&text, &long, Some(&long));
            let bytes: usize = found.iter().map(String::len).sum();
            assert!(bytes <= (DEPTH_MAX + 1) * (2 * text.len() + ADDED_BYTES_MAX), "{part}: {bytes}");
        }
        for text in ["", "a\\", "ä$ö/é`ß", "$'\\x", "$'\\xZZ\\777\\UFFFFFFFF", "${}", "$()", "${ä}"] {
            drop(words(text));
        }
    }
}
