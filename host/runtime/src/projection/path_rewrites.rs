//! Corrects the paths of archived files where an archived document names them, so that no reference is dead. Replaces exact
//! paths only: text that merely resembles one of them is not changed. The store keeps every document as it was written.

/// Old and new paths of files of this run, workspace-relative.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PathRewrites(Vec<(String, String)>);

impl FromIterator<(String, String)> for PathRewrites {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self(pairs.into_iter().filter(|(before, now)| before != now).collect())
    }
}

impl PathRewrites {
    /// The text with every path that moved as it is now.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (before, now) in &self.0 {
            if text.contains(before.as_str()) {
                text = replace_path(&text, before, now);
            }
        }
        text
    }
}

fn replace_path(text: &str, before: &str, now: &str) -> String {
    let mut new = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, _) in text.match_indices(before) {
        let end = at + before.len();
        new.push_str(&text[copied..at]);
        new.push_str(if stands_alone(&text[..at], &text[end..]) { now } else { before });
        copied = end;
    }
    new + &text[copied..]
}

/// Whether the text between these is a whole path. A full stop ends a sentence, unless a name continues after it.
fn stands_alone(left: &str, right: &str) -> bool {
    let belongs = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_');
    let mut after = right.chars();
    let goes_on = match after.next() {
        Some('.') => after.next().is_some_and(belongs),
        Some(c) => belongs(c),
        None => false,
    };
    !goes_on && !left.ends_with(|c: char| belongs(c) || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    // C21
    #[test]
    fn whole_paths_are_corrected_and_nothing_else() {
        let pair = |name: &str| (format!("t/h/{name}"), format!("t/h/archive/{name}"));
        let moves: PathRewrites = [pair("a.md"), pair("a-facts.json")].into_iter().collect();
        for (text, corrected) in [
            ("- t/h/a-facts.json: all", "- t/h/archive/a-facts.json: all"),
            ("see `t/h/a.md`, t/h/a.md.", "see `t/h/archive/a.md`, t/h/archive/a.md."),
            ("{\"facts\":\"t/h/a-facts.json\"}", "{\"facts\":\"t/h/archive/a-facts.json\"}"),
            ("t/h/a.md", "t/h/archive/a.md"),
        ] {
            assert_eq!(moves.apply(text), corrected);
            assert_eq!(moves.apply(corrected), corrected, "once is enough");
        }
        for other in
            ["t/h/b.md", "/x/t/h/a.md", "xt/h/a.md", "t/h/a.md.orig", "t/h/a.mdx", "t/h/a.md/b", "ü t/h/"]
        {
            assert_eq!(moves.apply(other), other);
        }
    }
}
