//! A model as a TOML file: the parser names every mistake by line and key, and the writer adds the meaning of every number.
//! Opens no file.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Model, ModelParam, ParamSource};

/// Characters of a line of comment.
const COMMENT_CHARS: usize = 110;

/// Maximum number of mistakes in an error; further ones are left out.
const PROBLEMS_MAX: usize = 20;

/// One mistake in a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDiagnostic {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key that it is about; empty if it is about the whole file.
    pub key: String,
    /// What is wrong, and what would be right.
    pub what: String,
}

/// A file that is not a valid model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ModelError {
    /// Name of the file, as the caller gave it.
    pub origin: String,
    /// What is wrong, in the order of the file; never empty, at most 20.
    pub problems: Vec<ModelDiagnostic>,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{}:{}:{}: {}", self.origin, problem.line, problem.column, problem.what)?;
        }
        Ok(())
    }
}

impl Model {
    /// Reads a model; what the text does not say keeps its default. `origin` is what messages call the file.
    ///
    /// # Errors
    /// [`ModelError`] names every unknown key, every value that is not a number and every number out of its bounds.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ModelError> {
        let mut reading = ModelReader { text, model: Model::default(), problems: Vec::new() };
        let (document, mistakes) = DeTable::parse_recoverable(text);
        for mistake in mistakes {
            let at = mistake.span().map_or(0, |span| span.start);
            reading.problem(at, "", format!("this is not TOML: {}", mistake.message().replace('\n', ", ")));
        }
        if reading.problems.is_empty() {
            reading.take(document.get_ref());
        }
        let ModelReader { model, mut problems, .. } = reading;
        if problems.is_empty() {
            return Ok(model);
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.truncate(PROBLEMS_MAX);
        Err(ModelError { origin: origin.to_owned(), problems })
    }

    /// The model as a file. `remarks` are comments on single numbers, by key, such as their source. Without a remark, the
    /// source of the default is written.
    pub fn to_toml(&self, remarks: &BTreeMap<&str, String>) -> String {
        let mut text = String::from(
            "# A model for `baton simulate`. What is left out is as it is here without a fit.\n",
        );
        for (section, about) in Model::SECTIONS {
            text.push('\n');
            comment(&mut text, about.trim());
            text.push_str(&format!("[{section}]\n"));
            for param in of_section(section) {
                let value = self.get(param.key).unwrap_or(param.default);
                comment(&mut text, &format!("{} {}", param.doc, remark(param, value, remarks)));
                text.push_str(&format!("{} = {}\n", name_of(param), shown(value)));
            }
        }
        text
    }
}

fn remark(param: &ModelParam, value: f64, remarks: &BTreeMap<&str, String>) -> String {
    match (remarks.get(param.key), param.source) {
        (Some(remark), _) => format!("{remark}."),
        (None, _) if value != param.default => format!("Given; by default {}.", shown(param.default)),
        (None, ParamSource::Measured(by)) => format!("As in {by}."),
        (None, ParamSource::Assumed) => "An assumption.".to_owned(),
    }
}

/// Four digits of a number that was estimated are more than are known.
fn shown(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > COMMENT_CHARS {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

fn of_section(section: &str) -> impl Iterator<Item = &'static ModelParam> {
    let prefix = format!("{section}.");
    Model::PARAMS.iter().filter(move |param| param.key.starts_with(&prefix))
}

/// The key within its section.
fn name_of(param: &ModelParam) -> &'static str {
    param.key.split_once('.').map_or(param.key, |(_, name)| name)
}

struct ModelReader<'t> {
    text: &'t str,
    model: Model,
    problems: Vec<ModelDiagnostic>,
}

impl ModelReader<'_> {
    fn take(&mut self, document: &DeTable<'_>) {
        for (name, value) in document {
            let section = name.get_ref().as_ref();
            if !Model::SECTIONS.iter().any(|(known, _)| *known == section) {
                let known = Model::SECTIONS.iter().map(|(known, _)| *known);
                let what = format!("there is no section `{section}`: {}", nearest(section, known));
                self.problem(name.span().start, section, what);
                continue;
            }
            let DeValue::Table(table) = value.get_ref() else {
                let what = format!("`{section}` is a section: write [{section}]");
                self.problem(value.span().start, section, what);
                continue;
            };
            for (name, value) in table {
                self.number(section, name, value);
            }
        }
    }

    fn number(
        &mut self,
        section: &str,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
    ) {
        let key = format!("{section}.{}", name.get_ref());
        let Some(param) = Model::PARAMS.iter().find(|param| param.key == key) else {
            let known = of_section(section).map(name_of);
            let what = format!("there is no `{key}`: {}", nearest(name.get_ref(), known));
            return self.problem(name.span().start, &key, what);
        };
        let number = match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number as f64)
            }
            DeValue::Float(number) => number.as_str().parse::<f64>().ok().filter(|number| number.is_finite()),
            _ => None,
        };
        let (least, most) = (param.least, param.most);
        match number {
            None => self.problem(
                value.span().start,
                &key,
                format!("`{key}` is a number from {} to {}", shown(least), shown(most)),
            ),
            Some(number) if !(least..=most).contains(&number) => self.problem(
                value.span().start,
                &key,
                format!("`{key}` is {}, and must be from {} to {}", shown(number), shown(least), shown(most)),
            ),
            Some(number) => {
                self.model.set(&key, number);
            }
        }
    }

    fn problem(&mut self, at: usize, key: &str, what: String) {
        let at = (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.problems.push(ModelDiagnostic {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            key: key.to_owned(),
            what,
        });
    }
}

/// "did you mean `x`?" if one of the names is similar, else the list of them.
fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> String {
    /// Below this two words have hardly a letter in common.
    const ALIKE: f64 = 0.75;
    let names: Vec<&str> = names.collect();
    let alike = names.iter().map(|name| (strsim::jaro_winkler(given, name), *name));
    match alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("one of {}", names.join(", ")),
    }
}
