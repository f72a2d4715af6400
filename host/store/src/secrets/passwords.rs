//! Plain passwords: the values of names such as `password` or `DB_PASS`. The sets of rules leave these out, or ask for stronger
//! keys than people choose. A value counts only if it looks chosen: not a placeholder, a type, a reference to another place, or
//! a piece of code.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::SecretMatch;

/// The kind of these secrets. Every rule of a set is more specific.
pub(super) const KIND: &str = "generic-password";

/// Least bytes of a password in quotes, and of one without them.
const QUOTED_BYTES: usize = 6;
const BARE_BYTES: usize = 8;
/// A longer value is not a password that a person chose.
const MOST_BYTES: usize = 128;

/// The end of a name, and the operator that assigns the value.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(passw(?:or)?d|passphrase|passcode|pass|pwd)\\?["'`]?[ \t]*(?:=>|:=|==?|:)[ \t]*"#)
        .expect("the expression is part of the program")
});

/// Words in a value that make it a placeholder, the name of something, or a hash.
const PLACEHOLDER_WORDS: [&str; 42] = [
    "admin",
    "argon",
    "bar",
    "bcrypt",
    "change",
    "changeme",
    "changeit",
    "default",
    "demo",
    "dummy",
    "env",
    "example",
    "fake",
    "field",
    "fixme",
    "foo",
    "hidden",
    "hash",
    "hashed",
    "id",
    "input",
    "insert",
    "key",
    "md",
    "mock",
    "none",
    "null",
    "pass",
    "pbkdf",
    "placeholder",
    "pwd",
    "redacted",
    "replace",
    "sample",
    "scrypt",
    "secret",
    "sha",
    "string",
    "test",
    "todo",
    "vault",
    "your",
];

/// Adds the passwords of a piece that begins at `offset` of its text.
pub(super) fn scan(piece: &str, offset: usize, found: &mut Vec<SecretMatch>) {
    for set in ASSIGNMENT.captures_iter(piece) {
        let (Some(whole), Some(name)) = (set.get(0), set.get(1)) else { continue };
        if !is_name(&piece[..name.start()], name.as_str()) {
            continue;
        }
        if let Some(span) = value(piece, whole.end()) {
            found.push(SecretMatch { kind: KIND, span: offset + span.start..offset + span.end });
        }
    }
}

/// "pass" and "pwd" alone are other words ("pass: 12 tests", `PWD=/home`); after a separator they are names.
fn is_name(before: &str, name: &str) -> bool {
    let is_short = name.eq_ignore_ascii_case("pass") || name.eq_ignore_ascii_case("pwd");
    !is_short || before.ends_with(['_', '-'])
}

/// The range of the value that begins at `from`, if it is a password.
fn value(piece: &str, from: usize) -> Option<Range<usize>> {
    let rest = &piece[from..];
    // In a string of JSON the quotes are escaped.
    let begins = from + rest.len() - rest.strip_prefix('\\').unwrap_or(rest).len();
    match piece[begins..].chars().next()? {
        quote @ ('"' | '\'' | '`') => {
            let start = begins + 1;
            let inside = &piece[start..];
            let len = inside.find([quote, '\\', '\n'])?;
            let is_password = len >= QUOTED_BYTES && is_chosen(&inside[..len]);
            is_password.then_some(start..start + len)
        }
        _ => {
            let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '\\' | ',' | ';');
            let word = rest.split(ends).next().unwrap_or_default();
            let is_password = word.len() >= BARE_BYTES && is_chosen(word) && !is_code(word);
            is_password.then_some(from..from + word.len())
        }
    }
}

/// A letter, a digit or a mark, and nothing of a placeholder.
fn is_chosen(value: &str) -> bool {
    let any = |is: fn(char) -> bool| value.chars().any(is);
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    value.len() <= MOST_BYTES
        && any(char::is_alphabetic)
        && any(|c| c.is_ascii_digit() || "!@#$%^&*+=?~".contains(c))
        && !any(char::is_whitespace)
        && !any(|c| matches!(c, '<' | '>' | '{' | '}' | '[' | ']' | '(' | ')' | '…'))
        && !value.starts_with(['$', '%', '/', '.', '@', '#', '*', '-', '~', ':', '=', '!', '&', '|'])
        && !value.contains("://")
        && !(is_plain && value.to_ascii_lowercase().contains("passw"))
        && !words(value).any(|word| PLACEHOLDER_WORDS.contains(&word.as_str()))
        && value.chars().filter(|c| !matches!(c, 'x' | 'X' | '*')).count() > 2
}

/// `self.password2`, `module::PASS1`, `count+1`: without quotes it may be a piece of code.
fn is_code(word: &str) -> bool {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
    word.contains("::") || (word.contains('.') && word.chars().all(is_path)) || word.ends_with(':')
}

/// The runs of letters, in small ones.
fn words(value: &str) -> impl Iterator<Item = String> {
    let runs = value.split(|c: char| !c.is_ascii_alphabetic());
    runs.filter(|run| !run.is_empty()).map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::super::{mask, mask_line, scan};

    fn secrets(text: &str) -> Vec<&str> {
        scan(text).into_iter().map(|found| &text[found.span]).collect()
    }

    #[test]
    fn plain_passwords_are_caught() {
        // C8
        for (text, secret) in [
            ("password = \"hunter2hunter2\"", "hunter2hunter2"),
            ("password='hunter2'", "hunter2"),
            ("DB_PASS=hunter2hunter2", "hunter2hunter2"),
            ("export MYSQL_PWD=s3cr3tz0ne && make", "s3cr3tz0ne"),
            ("{\"user\": \"joe\", \"password\": \"Tr0ub4dor&3\"}", "Tr0ub4dor&3"),
            ("spring.datasource.password=k1ttens-and-tea", "k1ttens-and-tea"),
            ("password: hunter2hunter2", "hunter2hunter2"),
            ("dbPassword := `pa$$w0rd!9`", "pa$$w0rd!9"),
            ("if password == \"hunter2hunter2\" {", "hunter2hunter2"),
            ("'passwd' => 'wh4tever!',", "wh4tever!"),
            ("the config has password = \"MyPassword123!\" in it", "MyPassword123!"),
        ] {
            assert_eq!(secrets(text), [secret], "{text}");
            assert!(!mask(text).contains(secret), "{text}");
        }
    }

    #[test]
    fn a_password_in_a_string_of_json_is_masked_and_the_line_stays_json() {
        // C8
        let inner = serde_json::json!({ "password": "hunter2hunter2", "n": 1 }).to_string();
        for content in
            [inner.clone(), format!("- it uses {inner}"), "DB_PASS=hunter2hunter2\nnext".to_owned()]
        {
            let line = serde_json::json!({ "type": "text", "text": content }).to_string();
            let masked = mask_line(&line).into_owned();
            assert!(!masked.contains("hunter2") && masked.contains("[secret: "), "{masked}");
            assert!(serde_json::from_str::<serde_json::Value>(&masked).is_ok(), "{masked}");
        }
    }

    #[test]
    fn names_types_references_and_placeholders_are_left_alone() {
        // C8
        for text in [
            "password = \"\"",
            "password = \"<your password>\"",
            "password = \"changeme\"",
            "password = \"changeme123\"",
            "password: \"your-password-1\"",
            "password = os.environ[\"DB_PASSWORD1\"]",
            "password = os.environ.get('DB_PASS')",
            "password: string",
            "password: Option<String>,",
            "password: str = Field(min_length=8)",
            "password = None",
            "password = get_password(user1)",
            "password = config.db.password1",
            "password=self.password2",
            "password=${DB_PASS}",
            "password = \"$DB_PASS_1\"",
            "password: \"{{ vault_password_1 }}\"",
            "password: ********",
            "\"password\": \"xxxxxxxx1\"",
            "\"password\": \"test1234\"",
            "password: argon2id",
            "password: /run/secrets/db1",
            "PWD=/home/joe/work1",
            "pass: 12 tests, fail: 0",
            "PASSWORD_MIN_LENGTH=12345678",
            "password_hash = \"1a2b3c4d5e6f\"",
            "type=\"password\" name=\"pw1\"",
            "Enter password: then press enter",
            "password = \"[secret: generic-password]\"",
        ] {
            assert_eq!(secrets(text), [""; 0], "{text}");
        }
    }
}
