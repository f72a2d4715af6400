//! A plan in Markdown: headings are phases, boxes are objectives, paths in code spans are files, a line `verify: …` is a
//! check. Reads text, and says where each box is; opens nothing.

use std::ops::Range;

use baton_runtime::core::workflow::files_meant;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// What a plan says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarkdownPlan {
    /// Its first heading, where that has no boxes of its own.
    pub(crate) title: Option<String>,
    /// The headings that have boxes, in order, and first the boxes that stand under none.
    pub(crate) sections: Vec<PlanSection>,
    /// The check of every section that has none.
    pub(crate) verify: Option<String>,
    /// Lines that look like a box and are none, with their numbers from 1.
    pub(crate) near_boxes: Vec<(usize, String)>,
    /// Headings below which there is a list and no box: nothing of it is taken for work.
    pub(crate) unboxed: Vec<String>,
}

/// A heading with boxes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlanSection {
    /// The heading; empty where there is none.
    pub(crate) heading: String,
    /// Its boxes.
    pub(crate) boxes: Vec<PlanItem>,
    /// Its check.
    pub(crate) verify: Option<String>,
    /// The headings that must be done before, where a line `depends: …` names them; none of them for `depends: none`.
    pub(crate) depends: Option<Vec<String>>,
    /// Something else stands under the heading, which whoever works on it should read.
    pub(crate) has_words: bool,
}

/// A box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanItem {
    /// What is to be done, all of it.
    pub(crate) text: String,
    /// Its first line.
    pub(crate) line: String,
    /// It is ticked.
    pub(crate) ticked: bool,
    /// Where its mark is: the byte between the brackets.
    pub(crate) mark: usize,
    /// Files that must exist when it is done.
    pub(crate) files: Vec<String>,
    /// Its own check.
    pub(crate) verify: Option<String>,
}

impl MarkdownPlan {
    /// Opens every box.
    pub(crate) fn reopen(&mut self) {
        self.sections.iter_mut().flat_map(|section| &mut section.boxes).for_each(|item| item.ticked = false);
    }

    /// All boxes, each with its heading.
    pub(crate) fn boxes(&self) -> impl Iterator<Item = (&str, &PlanItem)> {
        self.sections
            .iter()
            .flat_map(|section| section.boxes.iter().map(move |item| (section.heading.as_str(), item)))
    }
}

/// Reads a plan.
pub(crate) fn read(text: &str) -> MarkdownPlan {
    let scan = PlanScan::of(text);
    let mut plan = MarkdownPlan { near_boxes: scan.near_boxes(text), ..MarkdownPlan::default() };
    for (index, found) in scan.sections.iter().enumerate() {
        let mut section = PlanSection { heading: found.heading.clone(), ..PlanSection::default() };
        let inside: Vec<&BoxSpan> = scan.boxes.iter().filter(|one| one.section == index).collect();
        let outside = scan.outside(found.body.clone(), &inside);
        let mut words = String::new();
        let mut has_list = false;
        for line in outside.iter().flat_map(|range| text.get(range.clone()).unwrap_or_default().lines()) {
            match (check_of(line), said_after("depends", line)) {
                (Some(check), _) => section.verify = Some(joined(section.verify.take(), check)),
                (None, Some(named)) => section.depends.get_or_insert_default().extend(headings(named)),
                (None, None) => {
                    has_list |= behind_bullet(line).is_some_and(|said| !said.trim().is_empty());
                    words.push_str(line.trim());
                }
            }
        }
        section.has_words = !words.trim_matches(['-', '*', '_', '=', ' ']).is_empty();
        section.boxes = inside.iter().map(|one| scan.item(text, one)).collect();
        if section.boxes.is_empty() {
            if has_list && !section.heading.is_empty() {
                plan.unboxed.push(section.heading.clone());
            }
            if index <= 1 && plan.title.is_none() && !section.heading.is_empty() {
                plan.title = Some(section.heading);
            }
            // What stands before the first phase holds for every phase.
            if plan.sections.is_empty()
                && let Some(check) = section.verify
            {
                plan.verify = Some(joined(plan.verify.take(), &check));
            }
            continue;
        }
        plan.sections.push(section);
    }
    plan
}

fn joined(before: Option<String>, check: &str) -> String {
    match before {
        Some(before) => format!("{before} && {check}"),
        None => check.to_owned(),
    }
}

/// The command of a line "verify: …".
fn check_of(line: &str) -> Option<&str> {
    let rest = said_after("verify", line)?;
    let command = rest.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(rest).trim();
    (!command.is_empty()).then_some(command)
}

/// What a line says after a word and a colon; nothing where it begins with another word, or says nothing.
fn said_after<'l>(word: &str, line: &'l str) -> Option<&'l str> {
    let line = line.trim().trim_start_matches(['-', '+', '>', ' ']);
    let line = line.trim_start_matches(['*', '_', ' ']);
    let begin = line.get(..word.len()).filter(|begin| begin.eq_ignore_ascii_case(word))?;
    let rest = line[begin.len()..].trim_start_matches(['*', '_']).strip_prefix(':')?;
    let rest = rest.trim_start_matches(['*', '_']).trim();
    (!rest.is_empty()).then_some(rest)
}

/// The headings of a line "depends: …"; the word `none` names none.
fn headings(named: &str) -> impl Iterator<Item = String> + '_ {
    let plain = |one: &str| one.trim().trim_matches('`').trim().to_owned();
    named.split([',', ';']).map(plain).filter(|one| !one.is_empty() && !one.eq_ignore_ascii_case("none"))
}

struct SectionSpan {
    heading: String,
    body: Range<usize>,
}

struct BoxSpan {
    section: usize,
    ticked: bool,
    mark: usize,
    /// The item without its box.
    text: Range<usize>,
    /// Code spans of its own: where each is, and what it says.
    spans: Vec<(usize, String)>,
}

/// Where everything is.
struct PlanScan {
    sections: Vec<SectionSpan>,
    boxes: Vec<BoxSpan>,
    /// Code blocks: nothing in them is a check.
    blocks: Vec<Range<usize>>,
}

impl PlanScan {
    fn of(text: &str) -> Self {
        let mut scan = Self {
            sections: vec![SectionSpan { heading: String::new(), body: 0..text.len() }],
            boxes: Vec::new(),
            blocks: Vec::new(),
        };
        let mut items: Vec<(Range<usize>, Option<usize>)> = Vec::new();
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TASKLISTS).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) if items.is_empty() => {
                    heading = Some(String::new());
                    if let Some(last) = scan.sections.last_mut() {
                        last.body.end = range.start;
                    }
                    scan.sections.push(SectionSpan { heading: String::new(), body: range.end..text.len() });
                }
                Event::End(TagEnd::Heading(_)) if items.is_empty() => {
                    if let (Some(said), Some(last)) = (heading.take(), scan.sections.last_mut()) {
                        last.heading = said.trim().to_owned();
                    }
                }
                Event::Start(Tag::Item) => items.push((range, None)),
                Event::End(TagEnd::Item) => drop(items.pop()),
                Event::Start(Tag::CodeBlock(_)) => scan.blocks.push(range),
                Event::TaskListMarker(ticked) => {
                    if let Some((item, own)) = items.last_mut() {
                        *own = Some(scan.boxes.len());
                        scan.boxes.push(BoxSpan {
                            section: scan.sections.len().saturating_sub(1),
                            ticked,
                            mark: range.start + 1,
                            text: range.end..item.end,
                            spans: Vec::new(),
                        });
                    }
                }
                Event::Code(code) => match &mut heading {
                    Some(heading) => heading.push_str(&code),
                    None => {
                        let own = items.iter().rev().find_map(|(_, own)| *own);
                        if let Some(found) = own.and_then(|own| scan.boxes.get_mut(own)) {
                            found.spans.push((range.start, code.into_string()));
                        }
                    }
                },
                Event::Text(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        scan
    }

    /// Lines that begin like a box outside of code, and that Markdown does not take for one: `- [] x`, `-[ ] x`, `[ ] x`.
    fn near_boxes(&self, text: &str) -> Vec<(usize, String)> {
        let mut near = Vec::new();
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let range = start..start + line.len();
            start = range.end;
            let is_box = || {
                let from = self.boxes.partition_point(|one| one.mark < range.start);
                self.boxes.get(from).is_some_and(|one| range.contains(&one.mark))
            };
            let is_code = || self.blocks.iter().any(|block| block.contains(&range.start));
            if is_nearly_box(line) && !is_box() && !is_code() {
                near.push((index + 1, line.trim().to_owned()));
            }
        }
        near
    }

    /// What of a range is in no box and in no code block.
    fn outside(&self, body: Range<usize>, boxes: &[&BoxSpan]) -> Vec<Range<usize>> {
        let mut holes: Vec<Range<usize>> =
            boxes.iter().map(|one| one.mark.saturating_sub(1)..one.text.end).collect();
        holes.extend(self.blocks.iter().cloned());
        without(body, holes)
    }

    fn item(&self, text: &str, found: &BoxSpan) -> PlanItem {
        // A box within it is an objective of its own; the bullet before that box goes with it.
        let nested =
            self.boxes.iter().filter(|other| other.mark > found.mark && found.text.contains(&other.mark));
        let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let holes = nested.map(|other| line_start(other.mark)..other.text.end).collect();
        let mut lines: Vec<&str> = Vec::new();
        let mut verify = None;
        for range in without(found.text.clone(), holes) {
            let in_block = |line: &str| {
                let at = line.as_ptr() as usize - text.as_ptr() as usize;
                self.blocks.iter().any(|block| block.contains(&at))
            };
            for line in text.get(range).unwrap_or_default().lines() {
                match check_of(line) {
                    Some(check) if !in_block(line) => verify = Some(joined(verify, check)),
                    _ => lines.push(line),
                }
            }
        }
        let whole = dedented(&lines);
        let line = whole.lines().next().unwrap_or_default().trim().to_owned();
        let files = files_of(&line, text, found);
        PlanItem { text: whole, line, ticked: found.ticked, mark: found.mark, files, verify }
    }
}

/// What stands behind the bullet or the number of a list, where a line begins with one.
fn behind_bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match number.len() < line.len() {
        true => number.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    }
}

/// Whether a line begins with brackets around nothing or an x. What is a link is none.
fn is_nearly_box(line: &str) -> bool {
    let line = behind_bullet(line).unwrap_or(line).trim_start();
    let Some((inside, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
        return false;
    };
    matches!(inside.trim(), "" | "x" | "X") && !rest.trim().is_empty() && !rest.starts_with(['(', '[', ':'])
}

/// A range without others.
fn without(whole: Range<usize>, mut holes: Vec<Range<usize>>) -> Vec<Range<usize>> {
    holes.sort_by_key(|hole| hole.start);
    let mut left = Vec::new();
    let mut at = whole.start;
    for hole in holes {
        if hole.start > at && hole.start < whole.end {
            left.push(at..hole.start);
        }
        at = at.max(hole.end);
    }
    if at < whole.end {
        left.push(at..whole.end);
    }
    left
}

/// Lines of an item, the first as it is and the others without the margin that they have in common.
fn dedented(lines: &[&str]) -> String {
    let margin = |line: &&&str| line.len() - line.trim_start().len();
    let rest = || lines.iter().skip(1).filter(|line| !line.trim().is_empty());
    let margin = rest().map(|line| margin(&line)).min().unwrap_or_default();
    let mut text = lines.first().map_or("", |line| line.trim()).to_owned();
    for line in lines.iter().skip(1) {
        text.push('\n');
        text.push_str(line.get(margin..).unwrap_or_default().trim_end());
    }
    text.trim().to_owned()
}

/// The paths in code spans that must be there when the box is done.
fn files_of(line: &str, text: &str, found: &BoxSpan) -> Vec<String> {
    let spans = found
        .spans
        .iter()
        .map(|(at, span)| (text.get(found.text.start..*at).unwrap_or_default(), span.as_str()));
    files_meant(line, spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Split the parser\n\nWhy: it is slow.\n\nverify: `cargo check`\n\n## Survey\n\n- [x] Read `src/parser.rs`\n\
                        - [ ] Write `notes/plan.md`, see `docs/design.md`\n\n## Move\n\nMind the callers.\n\n\
                        - [ ] Create `crates/parser/Cargo.toml`\n      with the code of\n      the old one\n\
                        \x20 verify: cargo test -p parser\n  - [ ] Move `src/a.rs` to `crates/parser/src/a.rs`\n\
                        1. [ ] Remove `src/parser.rs`\n\n```\n- [ ] not a box\nverify: no\n```\n\n**Verify:** `cargo test`\n";

    #[test]
    fn headings_boxes_files_and_checks_are_read() {
        let plan = read(PLAN);
        insta::assert_debug_snapshot!(plan);
        for (_, item) in plan.boxes() {
            let mark = &PLAN[item.mark - 1..item.mark + 2];
            assert_eq!(mark, if item.ticked { "[x]" } else { "[ ]" });
        }
    }

    #[test]
    fn boxes_need_no_heading_and_words_are_no_boxes() {
        let plan = read("- [ ] One\n- two\n* [X] Three\n");
        assert_eq!(plan.sections.len(), 1);
        assert_eq!(plan.sections[0].heading, "");
        let boxes: Vec<(&str, bool)> =
            plan.boxes().map(|(_, item)| (item.line.as_str(), item.ticked)).collect();
        assert_eq!(boxes, [("One", false), ("Three", true)]);
        assert_eq!(read("# A\n\nJust words.\n").sections, []);
        assert_eq!(read("").sections, []);
    }

    #[test]
    fn what_is_nearly_a_box_is_named_and_a_list_without_boxes_too() {
        let plan = read(
            "# Docs\n\n- [x] One\n- [] Two\n-[ ] Three\n* [ x ] Four\n[ ] Five\n1. [] Six\n\n```\n- [] no\n```\n\n\
             [x](https://example.org) is a link\n- [ ](a.md) too\n- []: nothing\n\n## Release\n- Tag the version\n\n## Why\nWords.\n",
        );
        let near: Vec<usize> = plan.near_boxes.iter().map(|(line, _)| *line).collect();
        assert_eq!(near, [4, 5, 6, 7, 8], "{:?}", plan.near_boxes);
        assert_eq!(plan.unboxed, ["Release"]);
        assert_eq!(read(PLAN).near_boxes, []);
    }

    #[test]
    fn a_section_names_the_headings_before_it() {
        let plan =
            read("## A\n- [ ] a\n\n## B\ndepends: none\n- [ ] b\n\n## C\n- [ ] c\n\n**Depends:** A, `B`\n");
        let depends: Vec<_> = plan.sections.iter().map(|section| section.depends.clone()).collect();
        assert_eq!(depends, [None, Some(vec![]), Some(vec!["A".to_owned(), "B".to_owned()])]);
        assert!(plan.sections.iter().all(|section| !section.has_words), "it is nothing to read");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "([-#*`> \\[\\]xé\n:]|verify:|- \\[ \\] |\n\n){0,60}") {
            for (_, item) in read(&text).boxes() {
                let mark = text.as_bytes().get(item.mark).copied();
                proptest::prop_assert!(matches!(mark, Some(b' ' | b'x' | b'X')), "{:?}", item);
            }
        }
    }
}
