//! Files with names in several places (hard links), of which agents can write one: the run's record of them from its start.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::visible::visible_name;

/// How to get copies in the place of such files, by a part of the path of one of them.
const WAYS: [(&str, &str); 4] = [
    ("node_modules", "`package-import-method=copy` for pnpm"),
    (".venv", "`UV_LINK_MODE=copy` for uv"),
    ("site-packages", "`UV_LINK_MODE=copy` for uv"),
    (".git/objects", "`git clone --no-hardlinks` for a clone"),
];
/// The way for all others.
const ANY_WAY: &str = "`cp FILE COPY && mv COPY FILE`";

/// Files that agents can write and that have further names in places that agents cannot write: a change to one of them appears
/// there as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFiles {
    /// How many were found.
    pub files: u64,
    /// Some of them, from different folders: relative to the work tree, or whole paths elsewhere.
    pub examples: Vec<String>,
    /// Number of examined entries, if there are more than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_first: Option<u64>,
}

impl SharedFiles {
    /// Whether the user must be informed about it.
    pub fn is_worth_telling(&self) -> bool {
        self.files > 0 || self.only_first.is_some()
    }
}

impl fmt::Display for SharedFiles {
    /// For people, as a sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entries) = self.only_first {
            write!(f, "of the first {entries} files and folders, ")?;
        }
        match self.files {
            0 => return write!(f, "none has a hard link elsewhere; the others were not looked at"),
            1 => write!(f, "1 file that agents can write has a hard link elsewhere")?,
            files => write!(f, "{files} files that agents can write have hard links elsewhere")?,
        }
        if self.only_first.is_some() {
            write!(f, " or among the rest")?;
        }
        let named: Vec<_> = self.examples.iter().map(|path| visible_name(path)).collect();
        let rest = if self.files > named.len() as u64 { ", …" } else { "" };
        let is_in = |part: &str| self.examples.iter().any(|path| path.contains(part));
        let mut ways: Vec<&str> = Vec::new();
        for (_, way) in WAYS.iter().filter(|(part, _)| is_in(part)) {
            if !ways.contains(way) {
                ways.push(way);
            }
        }
        let is_known = |path: &String| WAYS.iter().any(|(part, _)| path.contains(part));
        if !self.examples.iter().all(is_known) {
            ways.push(ANY_WAY);
        }
        write!(
            f,
            " ({}{rest}): what an agent writes into such a file changes there as well. Make copies of them: {}",
            named.join(", "),
            ways.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_what_is_shared_and_how_to_end_that() {
        // N6
        let of = |files, examples: &[&str]| SharedFiles {
            files,
            examples: examples.iter().map(|path| (*path).to_owned()).collect(),
            only_first: None,
        };
        assert!(!SharedFiles::default().is_worth_telling());
        let said = of(1, &["notes\u{7}.txt"]).to_string();
        assert!(said.starts_with("1 file that agents can write has a hard link elsewhere ("), "{said}");
        assert!(
            !said.contains('\u{7}')
                && said.ends_with("as well. Make copies of them: `cp FILE COPY && mv COPY FILE`")
        );
        let said =
            of(9, &[".git/objects/pack/a", ".venv/lib/site-packages/a.py", "node_modules/a.js"]).to_string();
        assert!(said.contains("9 files") && said.contains("node_modules/a.js, …)"), "{said}");
        assert!(said.ends_with(
            "`package-import-method=copy` for pnpm, `UV_LINK_MODE=copy` for uv, `git clone --no-hardlinks` for a clone"
        ));
        let some = SharedFiles { only_first: Some(200), ..of(2, &["a"]) }.to_string();
        assert!(some.contains(" have hard links elsewhere or among the rest (a, …): "), "{some}");
        let cut = SharedFiles { only_first: Some(200), ..of(0, &[]) };
        assert!(
            cut.is_worth_telling() && cut.to_string().starts_with("of the first 200 files and folders, none")
        );
    }
}
