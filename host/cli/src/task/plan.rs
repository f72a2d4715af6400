//! A plan in Markdown: headings are phases, boxes are objectives, paths in code spans are files, a line `verify: …` is a
//! check. Reads text, and says where each box is; opens nothing.

use std::collections::BTreeSet;
use std::ops::Range;

use baton_runtime::core::workflow::expected_files_in_spans;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html_folds::HtmlFolds;
use super::plan_lines::{
    as_operand, front_matter, holds, is_disguised_check, is_nearly_box, place_in, split_label, strip_bullet,
    value_after, without,
};

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
    /// Lines that look like a check and are none, with their numbers from 1.
    pub(crate) near_checks: Vec<(usize, String)>,
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
    /// There is other text under the heading, which the agent should read.
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
    let mut checks = CheckLines::default();
    // The level of the last heading with boxes, while those below are parts of it.
    let mut phase_level = None;
    for (index, found) in scan.sections.iter().enumerate() {
        let mut section = PlanSection { heading: found.heading.clone(), ..PlanSection::default() };
        let inside = scan.boxes_of(index);
        section.boxes = inside.iter().map(|one| scan.item(text, one, &mut checks)).collect();
        let outside = scan.outside(found.body.clone(), inside);
        let mut words = String::new();
        let mut has_list = false;
        let mut own_checks = Vec::new();
        for line in outside.iter().flat_map(|range| text.get(range.clone()).unwrap_or_default().lines()) {
            match (scan.check_of(text, line), value_after("depends", line)) {
                (Some(check), _) => own_checks.push(check),
                (None, Some(named)) => section.depends.get_or_insert_default().extend(headings(named)),
                (None, None) => {
                    has_list |= strip_bullet(line).is_some_and(|said| !said.trim().is_empty());
                    words.push_str(line.trim());
                }
            }
        }
        section.has_words = !words.trim_matches(['-', '*', '_', '=', ' ']).is_empty();
        if section.boxes.is_empty() {
            if has_list && !section.heading.is_empty() {
                plan.unboxed.push(section.heading.clone());
            }
            if index <= 1 && plan.title.is_none() && !section.heading.is_empty() {
                plan.title = Some(section.heading);
            }
            phase_level = phase_level.filter(|level| found.level > *level);
            // What stands before the first phase holds for every phase, and a deeper heading belongs to the phase above it.
            let holder = match (plan.sections.last_mut(), phase_level) {
                (None, _) => Some(&mut plan.verify),
                (Some(phase), Some(_)) => Some(&mut phase.verify),
                (Some(_), None) => None,
            };
            if let Some(verify) = holder {
                checks.take(verify, &own_checks);
            }
            continue;
        }
        phase_level = Some(found.level);
        checks.take(&mut section.verify, &own_checks);
        plan.sections.push(section);
    }
    plan.near_checks = scan.near_checks(text, &checks);
    plan
}

/// A check of a line: its command, and where its line says that it is one.
struct CheckLine<'t> {
    at: usize,
    command: &'t str,
}

/// The checks that were taken, by where they are.
#[derive(Default)]
struct CheckLines(BTreeSet<usize>);

impl CheckLines {
    /// All of these must pass as well.
    fn take(&mut self, verify: &mut Option<String>, checks: &[CheckLine<'_>]) {
        for check in checks {
            *verify = Some(joined(verify.take(), check.command));
            self.0.insert(check.at);
        }
    }
}

fn joined(before: Option<String>, check: &str) -> String {
    match before {
        Some(before) => format!("{} && {}", as_operand(&before), as_operand(check)),
        None => check.to_owned(),
    }
}

/// The headings of a line "depends: …"; the word `none` names none.
fn headings(named: &str) -> impl Iterator<Item = String> + '_ {
    let plain = |one: &str| one.trim().trim_matches('`').trim().to_owned();
    named.split([',', ';']).map(plain).filter(|one| !one.is_empty() && !one.eq_ignore_ascii_case("none"))
}

struct SectionSpan {
    heading: String,
    /// Of the heading, from 1; 0 for what stands under none.
    level: usize,
    /// Where the heading is.
    start: usize,
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
    /// Blocks of code and HTML: nothing in them is a check.
    blocks: Vec<Range<usize>>,
    /// Those of which a reader takes the lines for words of the plan: code by its indent alone, and HTML that is no comment.
    plain_blocks: Vec<Range<usize>>,
    /// Words that Markdown shows, outside of code.
    shown: Vec<Range<usize>>,
    /// Those words and code within the line: all that a reader sees of a command.
    legible: Vec<Range<usize>>,
    /// Footnotes and what begins the file between lines `---`: viewers show it elsewhere, or not at all.
    aside: Vec<Range<usize>>,
    /// What HTML elements around it fold away.
    folded: Vec<Range<usize>>,
}

impl PlanScan {
    fn of(text: &str) -> Self {
        let mut scan = Self {
            sections: vec![SectionSpan { heading: String::new(), level: 0, start: 0, body: 0..text.len() }],
            boxes: Vec::new(),
            blocks: Vec::new(),
            plain_blocks: Vec::new(),
            shown: Vec::new(),
            legible: Vec::new(),
            aside: front_matter(text).into_iter().collect(),
            folded: Vec::new(),
        };
        let mut folds = HtmlFolds::default();
        // Of code and of pictures, whose words are not among those of the plan.
        let mut unread = 0_usize;
        let mut items: Vec<(Range<usize>, Option<usize>)> = Vec::new();
        let mut heading: Option<String> = None;
        let mut notes = 0_usize;
        let options = Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
        for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
            match event {
                Event::Start(Tag::FootnoteDefinition(_)) => {
                    if notes == 0 && !holds(&scan.aside, range.start) {
                        scan.aside.push(range);
                    }
                    notes += 1;
                }
                Event::End(TagEnd::FootnoteDefinition) => notes = notes.saturating_sub(1),
                Event::Start(Tag::Heading { level, .. }) if items.is_empty() && notes == 0 => {
                    heading = Some(String::new());
                    if let Some(last) = scan.sections.last_mut() {
                        last.body.end = range.start;
                    }
                    scan.sections.push(SectionSpan {
                        heading: String::new(),
                        level: level as usize,
                        start: range.start,
                        body: range.end..text.len(),
                    });
                }
                Event::End(TagEnd::Heading(_)) if items.is_empty() && notes == 0 => {
                    if let (Some(said), Some(last)) = (heading.take(), scan.sections.last_mut()) {
                        last.heading = said.trim().to_owned();
                    }
                }
                Event::Start(Tag::Item) => items.push((range, None)),
                Event::End(TagEnd::Item) => drop(items.pop()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    unread += 1;
                    if matches!(kind, CodeBlockKind::Indented) {
                        scan.plain_blocks.push(range.clone());
                    }
                    scan.blocks.push(range);
                }
                Event::Start(Tag::HtmlBlock) => {
                    let html = text.get(range.clone()).unwrap_or_default();
                    folds.read(html, range.start, &mut scan.folded);
                    if !html.trim_start().starts_with("<!--") {
                        scan.plain_blocks.push(range.clone());
                    }
                    scan.blocks.push(range);
                }
                Event::InlineHtml(_) => {
                    let html = text.get(range.clone()).unwrap_or_default();
                    folds.read(html, range.start, &mut scan.folded);
                }
                Event::Start(Tag::Image { .. }) => unread += 1,
                Event::End(TagEnd::CodeBlock | TagEnd::Image) => unread = unread.saturating_sub(1),
                Event::TaskListMarker(ticked) if notes == 0 => {
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
                Event::Code(code) => {
                    scan.legible.extend((unread == 0).then(|| range.clone()));
                    let own = items.iter().rev().find_map(|(_, own)| *own);
                    if let Some(heading) = &mut heading {
                        heading.push_str(&code);
                    } else if let Some(found) = own.and_then(|own| scan.boxes.get_mut(own)) {
                        found.spans.push((range.start, code.into_string()));
                    }
                }
                Event::Text(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                    if unread == 0 {
                        scan.legible.push(range.clone());
                        scan.shown.push(range);
                    }
                }
                _ => {}
            }
        }
        folds.end(text.len(), &mut scan.folded);
        scan
    }

    /// The check of a line "verify: …" of the plan, if Markdown shows the line as words.
    fn check_of<'t>(&self, text: &str, line: &'t str) -> Option<CheckLine<'t>> {
        let (word, rest) = split_label("verify", line)?;
        let command = rest.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).unwrap_or(rest).trim();
        let at = place_in(text, word);
        let is_seen = holds(&self.shown, at) && !holds(&self.folded, at) && !holds(&self.aside, at);
        // A line that ends with `\` continues in the next one.
        let is_whole = !command.is_empty() && !command.ends_with('\\');
        let end = at + line.len() - place_in(line, word);
        (is_seen && is_whole && self.is_legible(text, at..end)).then_some(CheckLine { at, command })
    }

    /// Whether Markdown shows all of a line, but for the marks of emphasis and escapes: no comment, no tag, no target of a link.
    fn is_legible(&self, text: &str, line: Range<usize>) -> bool {
        let from = self.legible.partition_point(|range| range.end <= line.start);
        let to = self.legible.partition_point(|range| range.start < line.end);
        let unseen = without(line, self.legible.get(from..to).unwrap_or_default().to_vec());
        let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '\\' | ':');
        unseen.into_iter().all(|range| text.get(range).is_some_and(|unseen| unseen.chars().all(is_mark)))
    }

    /// Lines that a reader takes for a check, and that are not one of these: without a command, in a place that belongs to no phase, in a
    /// heading, or indented so far that Markdown takes them for code.
    fn near_checks(&self, text: &str, taken: &CheckLines) -> Vec<(usize, String)> {
        let mut near = Vec::new();
        let mut start = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            let range = start..start + line.len();
            start = range.end;
            let from =
                self.sections.partition_point(|section| section.level == 0 || section.start < range.start);
            let is_near = match self.sections.get(from).filter(|next| range.contains(&next.start)) {
                Some(next) => {
                    split_label("verify", &next.heading).is_some() && self.boxes_of(from).is_empty()
                }
                None => match split_label("verify", line) {
                    Some((word, _)) => {
                        let at = place_in(text, word);
                        let is_seen = holds(&self.shown, at) || holds(&self.plain_blocks, at);
                        is_seen && !taken.0.contains(&at)
                    }
                    None => {
                        let from = self.legible.partition_point(|shown| shown.end <= range.start);
                        let is_seen = self.legible.get(from).is_some_and(|shown| shown.start < range.end);
                        is_seen && is_disguised_check(line)
                    }
                },
            };
            if is_near {
                near.push((index + 1, line.trim().to_owned()));
            }
        }
        near
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
            let is_code = || self.is_in_block(range.start);
            if is_nearly_box(line) && !is_box() && !is_code() {
                near.push((index + 1, line.trim().to_owned()));
            }
        }
        near
    }

    /// What of a range is in no box and in no block of code or HTML.
    fn outside(&self, body: Range<usize>, boxes: &[BoxSpan]) -> Vec<Range<usize>> {
        let mut holes: Vec<Range<usize>> =
            boxes.iter().map(|one| one.mark.saturating_sub(1)..one.text.end).collect();
        let from = self.blocks.partition_point(|block| block.end <= body.start);
        let to = self.blocks.partition_point(|block| block.start < body.end);
        holes.extend(self.blocks.get(from..to).unwrap_or_default().iter().cloned());
        without(body, holes)
    }

    /// The boxes of a section: they are in the order of the text.
    fn boxes_of(&self, section: usize) -> &[BoxSpan] {
        let from = self.boxes.partition_point(|one| one.section < section);
        let to = self.boxes.partition_point(|one| one.section <= section);
        self.boxes.get(from..to).unwrap_or_default()
    }

    /// The boxes whose mark is behind a place, and before another one.
    fn boxes_between(&self, mark: usize, end: usize) -> &[BoxSpan] {
        let from = self.boxes.partition_point(|one| one.mark <= mark);
        let to = self.boxes.partition_point(|one| one.mark < end);
        self.boxes.get(from..to).unwrap_or_default()
    }

    fn is_in_block(&self, at: usize) -> bool {
        holds(&self.blocks, at)
    }

    fn item(&self, text: &str, found: &BoxSpan, checks: &mut CheckLines) -> PlanItem {
        // A box within it is an objective of its own; the bullet before that box goes with it.
        let nested = self.boxes_between(found.mark, found.text.end).iter();
        let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let holes = nested.map(|other| line_start(other.mark)..other.text.end).collect();
        let mut lines: Vec<&str> = Vec::new();
        let mut verify = None;
        for range in without(found.text.clone(), holes) {
            for line in text.get(range).unwrap_or_default().lines() {
                match self.check_of(text, line) {
                    Some(check) => checks.take(&mut verify, &[check]),
                    None => lines.push(line),
                }
            }
        }
        let whole = dedented(&lines);
        let line = whole.lines().next().unwrap_or_default().trim().to_owned();
        let files = files_of(&line, text, found);
        PlanItem { text: whole, line, ticked: found.ticked, mark: found.mark, files, verify }
    }
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
    expected_files_in_spans(line, spans)
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
        assert!(["# A\n\nJust words.\n", ""].iter().all(|text| read(text).sections.is_empty()));
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

    // A11
    #[test]
    fn a_check_is_taken_or_named() {
        let plan = |after: &str| read(&format!("# Goal\n\n## A\n\n- [ ] Do `x.txt`\n\n{after}"));
        for taken in [
            "verify: `false`\n",
            "1. verify: `false`\n",
            "> **Verify:** false\n",
            "### Check\n\nverify: `false`\n",
            "### Notes\n\nWords.\n\n#### Check\n\n- verify: false\n",
        ] {
            let plan = plan(taken);
            assert_eq!(
                (plan.sections[0].verify.as_deref(), &plan.near_checks[..]),
                (Some("false"), &[][..]),
                "{taken}"
            );
        }
        for (named, line) in [
            ("## Verification\n\nverify: `false`\n", 9),
            ("## Notes\n\n### Check\n\nverify: `false`\n", 11),
            ("verify:\n\n```sh\nfalse\n```\n", 7),
            ("### verify: `false`\n", 7),
            ("verify: `false`\n---\n", 7),
            ("Words.\n\n    verify: false\n", 9),
            ("<details>\n\nverify: false\n\n</details>\n", 9),
            ("<div>\nverify: false\n</div>\n", 8),
            ("`verify: false`\n", 7),
            ("- [ ] verify: `false`\n", 7),
            ("verify\\: false\n", 7),
            ("verify: true; \\\n  false\n", 7),
        ] {
            let plan = plan(named);
            let lines: Vec<usize> = plan.near_checks.iter().map(|(line, _)| *line).collect();
            assert_eq!((&plan.sections[0].verify, lines), (&None, vec![line]), "{named}");
        }
        for neither in
            ["```\nverify: false\n```\n", "Verify that it works.\n", "## Verify: all\n\n- [ ] Do `y.txt`\n"]
        {
            let plan = plan(neither);
            assert_eq!((&plan.sections[0].verify, plan.near_checks), (&None, vec![]), "{neither}");
        }
        let whole = read("- [ ] One\n\nverify: `a # b`\n\n## Verification\n\nverify: `c`\n");
        assert_eq!(whole.sections[0].verify.as_deref(), Some("(\na # b\n) && (c)"));
    }

    // N6
    #[test]
    fn what_markdown_does_not_show_is_no_check() {
        for hidden in [
            "<!--\nverify: touch x\n-->\n\n## A\n\n- [ ] One\n",
            "## A\n\n- [ ] One\n  <!-- a\n  verify: touch x\n  -->\n",
            "## A\n\nWords <!-- a\nverify: touch x\n--> more.\n\n- [ ] One\n",
            "## A\n\n[c]: # \"a\nverify: touch x\n\"\n\n- [ ] One\n",
            "## A\n\n![a\nverify: touch x\n](b.png)\n\n- [ ] One\n",
        ] {
            let plan = read(&format!("# Goal\n\n{hidden}"));
            let checks = plan
                .sections
                .iter()
                .flat_map(|section| section.boxes.iter().map(|item| &item.verify).chain([&section.verify]));
            assert!(checks.chain([&plan.verify]).all(Option::is_none), "{hidden}: {plan:?}");
            assert_eq!(plan.near_checks, [], "{hidden}");
        }
        for named in [
            "## A\n\n- [ ] One\n\nverify: true <!-- ; touch x # -->\n",
            "## A\n\n- [ ] One\n  verify: true [ ](#;touch$IFS/tmp/x;)\n",
            "## A\n\n- [ ] One\n\nverify: true <b title=';touch x'>\n",
            "[^c]: note\nverify: touch x\n\n## A\n\n- [ ] One\n",
            "Words <style>\nverify: touch x\n</style>\n\n## A\n\n- [ ] One\n",
            "<div hidden>\n\nverify: touch x\n\n</div>\n\n## A\n\n- [ ] One\n",
        ] {
            let plan = read(&format!("# Goal\n\n{named}"));
            assert!(!format!("{plan:?}").contains("verify: Some"), "{named}");
            assert_eq!(plan.near_checks.len(), 1, "{named}");
        }
        let folded = read(
            "# Goal\n\n## A\n\n- [ ] One\n\n  <details>\n\n  verify: touch x\n\n  </details>\n\nverify: true\n",
        );
        assert_eq!(
            (folded.sections[0].verify.as_deref(), folded.near_checks.len()),
            (Some("true"), 1),
            "{folded:?}"
        );
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
        fn no_text_makes_the_reader_panic(text in "([-#*`> \\[\\]xé\n:]|verify:|- \\[ \\] |\n\n|<!--|-->|</?details>){0,60}") {
            for (_, item) in read(&text).boxes() {
                let mark = text.as_bytes().get(item.mark).copied();
                proptest::prop_assert!(matches!(mark, Some(b' ' | b'x' | b'X')), "{:?}", item);
            }
        }
    }
}
