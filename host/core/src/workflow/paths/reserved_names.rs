//! Which names at the top of the task folder the templates take up, so that nothing else writes there. Knows the templates
//! alone: not the folders that Baton names itself.

use super::{PathTemplates, RunNames, fill, of_run};

/// Stands for any later value of a placeholder.
const ANYTHING: char = '*';

/// Names at the top of the task folder that belong to the host, for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservedNames(Vec<String>);

impl PathTemplates {
    /// The names that these templates use.
    pub fn claims(&self, names: RunNames<'_>) -> ReservedNames {
        let mut patterns: Vec<String> = [&self.handoff, &self.index, &self.summary, &self.results]
            .map(|template| pattern(template, names))
            .into_iter()
            .map(|pattern| pattern.split_once('/').map_or(pattern.clone(), |(top, _)| top.to_owned()))
            .collect();
        if !self.handoff.contains('/') {
            // The names of its index, its facts and its later versions begin with its stem, and its archive is in the same
            // folder.
            let handoff = &mut patterns[0];
            let stem = handoff.rsplit_once('.').map_or(handoff.as_str(), |(stem, _)| stem);
            *handoff = format!("{stem}{ANYTHING}");
            patterns.push("archive".to_owned());
        }
        // A template that has only placeholders would match every name.
        patterns.retain(|pattern| pattern.contains(|c| c != ANYTHING));
        ReservedNames(patterns)
    }
}

impl ReservedNames {
    /// Whether a path below the task folder is the host's.
    pub fn hold(&self, path: &str) -> bool {
        let top = path.split_once('/').map_or(path, |(top, _)| top);
        self.0.iter().any(|pattern| matches(pattern, top))
    }
}

/// The known part of a path before a phase, a session or a time is known.
fn pattern(template: &str, names: RunNames<'_>) -> String {
    fill(template, |name| Some(of_run(name, names).unwrap_or_else(|| ANYTHING.to_string())))
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once(ANYTHING) else { return pattern == name };
    let (between, end) = rest.rsplit_once(ANYTHING).unwrap_or(("", rest));
    let Some(mut left) = name.strip_prefix(start).and_then(|left| left.strip_suffix(end)) else {
        return false;
    };
    for piece in between.split(ANYTHING) {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunNames<'_> = RunNames { run: "r1", workflow: "calc", goal: "A calculator." };

    #[test]
    fn the_top_of_every_template_is_taken_up_and_nothing_else() {
        let claims = PathTemplates::default().claims(RUN);
        for path in ["handoffs/x.md", "index.md", "summaries/phase-1.md", "phases/a/b"] {
            assert!(claims.hold(path), "{path}");
        }
        for path in ["notes/handoffs/x.md", "index.html", "handoffs-of-mine.md", "phase-1"] {
            assert!(!claims.hold(path), "{path}");
        }
    }

    #[test]
    fn placeholders_stand_for_what_they_may_become() {
        let paths = PathTemplates {
            handoff: "{phase}-to-{session}.md".to_owned(),
            index: "{workflow}/index.md".to_owned(),
            summary: "of-{phase}-in-{run}/summary.md".to_owned(),
            results: "{phase}".to_owned(),
            ..PathTemplates::default()
        };
        let claims = paths.claims(RUN);
        for path in ["1-to-s1.md", "1-to-s1-facts.json", "archive/1-to-s1.md", "calc/x", "of-1-in-r1/x"] {
            assert!(claims.hold(path), "{path}");
        }
        for path in ["notes.md", "of-1-in-r2/x", "calculations", "of-r1"] {
            assert!(!claims.hold(path), "{path}");
        }
    }
}
