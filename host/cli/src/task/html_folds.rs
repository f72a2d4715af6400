//! Finds what HTML in a plan folds away: a person who reads the plan in a viewer or in a pull request does not see it.

use std::ops::Range;

/// Elements whose content is shown on a click, or never.
const FOLDING: [&str; 24] = [
    "applet",
    "audio",
    "canvas",
    "datalist",
    "details",
    "dialog",
    "frameset",
    "head",
    "iframe",
    "map",
    "math",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "plaintext",
    "rp",
    "select",
    "svg",
    "template",
    "textarea",
    "title",
    "video",
    "xmp",
];
/// Elements that can hide any other of the text.
const STYLING: [&str; 2] = ["script", "style"];
/// Attributes by which any element can be hidden.
const HIDING: [&str; 4] = ["class", "hidden", "popover", "style"];
/// Elements without content.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];
/// Stands for a comment that its piece of HTML does not end: a browser continues it.
const COMMENT: &str = "!--";

/// The elements that are open at a place of a text.
#[derive(Debug, Default)]
pub(super) struct HtmlFolds {
    /// Where the outermost of them began.
    start: usize,
    /// One that hides, and those in it.
    open: Vec<String>,
    /// An element of the text may hide any other.
    is_styled: bool,
}

impl HtmlFolds {
    /// Reads a piece of HTML that begins at `at`, and adds the ranges of elements that it ends.
    pub(super) fn read(&mut self, html: &str, at: usize, folded: &mut Vec<Range<usize>>) {
        let mut rest = html;
        while let Some((_, tag)) = rest.split_once('<') {
            let place = at + (html.len() - tag.len()) - 1;
            if let Some(comment) = tag.strip_prefix(COMMENT) {
                match after_comment(comment) {
                    Some(after) => rest = after,
                    None => {
                        self.open(COMMENT.to_owned(), place);
                        return;
                    }
                }
                continue;
            }
            let (named, ends) = tag.strip_prefix('/').map_or((tag, false), |name| (name, true));
            rest = named;
            let name =
                named.split(|c: char| c.is_whitespace() || "/>".contains(c)).next().unwrap_or_default();
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
                continue;
            }
            let (attributes, after) = split_tag(&named[name.len()..]);
            rest = after;
            let name = name.to_ascii_lowercase();
            let is_folding = FOLDING.contains(&name.as_str());
            if ends {
                // What else is open in it ends with it, but for elements within the line.
                let is_block = is_folding || name == "div";
                let begun = self.open.iter().rposition(|open| *open == name);
                let Some(begun) = begun.filter(|begun| is_block || begun + 1 == self.open.len()) else {
                    continue;
                };
                self.open.truncate(begun);
                if begun == 0 {
                    folded.push(self.start..place);
                }
                continue;
            }
            self.is_styled |= STYLING.contains(&name.as_str());
            let hides = is_folding || attributes.iter().any(|attribute| HIDING.contains(&attribute.as_str()));
            if !VOID.contains(&name.as_str()) && (hides || !self.open.is_empty()) {
                self.open(name, place);
            }
        }
    }

    fn open(&mut self, name: String, place: usize) {
        if self.open.is_empty() {
            self.start = place;
        }
        self.open.push(name);
    }

    /// The text ends here: what is still open folds all of the rest.
    pub(super) fn end(self, at: usize, folded: &mut Vec<Range<usize>>) {
        if self.is_styled {
            folded.clear();
            folded.push(0..at);
        } else if !self.open.is_empty() {
            folded.push(self.start..at);
        }
    }
}

/// What stands behind a comment whose beginning is taken off, where it ends: as browsers see it.
fn after_comment(comment: &str) -> Option<&str> {
    let at_once = [">", "->"].iter().find_map(|end| comment.strip_prefix(end));
    let ends = ["-->", "--!>"].iter().filter_map(|end| Some((comment.find(end)?, end.len())));
    at_once.or_else(|| ends.min().and_then(|(at, length)| comment.get(at + length..)))
}

/// The names of the attributes of a tag whose own name is taken off, and what stands behind the tag.
fn split_tag(tag: &str) -> (Vec<String>, &str) {
    let mut names = vec![String::new()];
    let (mut quote, mut is_value, mut after_equals) = (None, false, false);
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), _) => {
                if c == open {
                    (quote, is_value) = (None, false);
                }
            }
            (None, '>') => return (names, &tag[at + 1..]),
            (None, '"' | '\'') if after_equals => (quote, after_equals) = (Some(c), false),
            (None, '=') if !is_value => (is_value, after_equals) = (true, true),
            (None, _) if c.is_whitespace() => {
                is_value &= after_equals;
                names.push(String::new());
            }
            (None, '/') if !is_value => names.push(String::new()),
            (None, _) => {
                after_equals = false;
                if !is_value && let Some(name) = names.last_mut() {
                    name.push(c.to_ascii_lowercase());
                }
            }
        }
        if quote.is_none() && !is_value && matches!(c, '"' | '\'') {
            names.push(String::new());
        }
    }
    (names, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_elements_hide_is_found_with_elements_inside_and_without_an_end() {
        let fold = |pieces: &[&str]| {
            let (mut folds, mut folded, mut at) = (HtmlFolds::default(), Vec::new(), 0);
            for html in pieces {
                folds.read(html, at, &mut folded);
                at += html.len();
            }
            folds.end(at, &mut folded);
            folded.into_iter().map(|bytes| (bytes.start, bytes.end)).collect::<Vec<_>>()
        };
        assert_eq!(fold(&["a <details><summary>b</summary>", "c</details> d"]), [(2, 32)]);
        assert_eq!(fold(&["<DETAILS open>", "<details>x</details>", "y</details>z"]), [(0, 35)]);
        assert_eq!(fold(&["<p><template>", "x"]), [(3, 14)]);
        assert!(fold(&["<!-- <details> -->x</details><b>", "<detail>y"]).is_empty());
        // N6
        assert_eq!(fold(&["<div hidden>", "<div></div>y", "</div>z"]), [(0, 24)]);
        assert_eq!(fold(&["<span style=\"x\">a</span>b"]), [(0, 17)]);
        assert_eq!(fold(&["<span hidden><b></span>b"]), [(0, 24)]);
        assert_eq!(fold(&["<details><a title=\"</details>\">", "x"]), [(0, 32)]);
        assert_eq!(fold(&["<a title=a\"><svg>", "x"]), [(12, 18)]);
        assert_eq!(fold(&["<!--><svg>-->", "x"]), [(5, 14)]);
        assert_eq!(fold(&["<div>\n<!--\n", "x"]), [(6, 12)]);
        assert_eq!(fold(&["a<style>b</style>", "x"]), [(0, 18)]);
        assert!(
            fold(&["Vec<String>, <br class='a'><p align=\"center\">a <a id=hidden href=style>"]).is_empty()
        );
    }
}
