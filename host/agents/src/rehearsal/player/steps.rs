//! Plays one step: its writes, questions, calls and failures. The player decides when a step is played.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::super::context_window::tokens;
use super::super::faults::{delete_all, ignore_sigterm, leave_behind};
use super::super::step::{ConflictChoice, ScriptStep, StepAction};
use super::{
    AcpStdio, ParsedPrompt, PromptAbort, SHOWN_BYTES, ScriptPlayer, TURN_TOKENS, io_failure, rate_limit,
};

impl ScriptPlayer<'_> {
    pub(super) fn step(
        &mut self,
        step: &ScriptStep,
        at: (&str, usize),
        brief: &ParsedPrompt,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let name = format!("{}-{}", at.0, at.1);
        let cost = |text: &str| step.tokens.unwrap_or_else(|| tokens(text));
        match &step.act {
            StepAction::Say(text) => self.say(text, wire),
            StepAction::Write { path, content } => self.write(path, content, cost(content), wire),
            StepAction::Append { path, lines } => self.append(path, lines, step.tokens, wire),
            StepAction::Edit { path, from, to } => self.edit(path, from, to, cost(to), wire),
            StepAction::Resolve { path, keep } => self.resolve(path, *keep, step.tokens, wire),
            StepAction::Result { content } => match brief.result.as_ref().and_then(|path| path.to_str()) {
                Some(path) => self.write(path, content, cost(content), wire),
                None => self.say("Nobody asks me for a file with my result.", wire),
            },
            StepAction::Gather { path } => self.gather(path, &brief.results, step.tokens, wire),
            StepAction::Read { path } => self.read(path, step.tokens, wire),
            StepAction::ReadHandoff => match brief.handoff.as_ref().and_then(|path| path.to_str()) {
                Some(path) => self.read(path, step.tokens, wire),
                None => self.say("No session has left a handoff for me.", wire),
            },
            StepAction::Fill { percent } => self.fill(*percent, wire),
            StepAction::Stop(words) => self.say(words, wire),
            StepAction::Think => self.think("Thinking it over.", step.tokens.unwrap_or(TURN_TOKENS), wire),
            StepAction::Ask { title, kind } => self.ask(title, kind, wire),
            StepAction::Report(report) => {
                self.turn(TURN_TOKENS, TURN_TOKENS, wire)?;
                self.report(&name, report, brief).map_err(|error| io_failure(&error))
            }
            StepAction::Tool { name, arguments } => self.call_tool(name, arguments, wire),
            StepAction::Split { .. }
            | StepAction::Review { .. }
            | StepAction::Status { .. }
            | StepAction::Handoff(_) => self.call_or_report(&step.act, at.0, &name, brief, wire),
            StepAction::RateLimit { resets_in_ms, times } => {
                let count = self.rate_limits_sent.entry((at.0.to_owned(), at.1)).or_default();
                if *count >= *times {
                    return Ok(());
                }
                *count += 1;
                Err(PromptAbort::Failed(rate_limit(*resets_in_ms)))
            }
            StepAction::Exit(code) => Err(PromptAbort::Exit(*code)),
            StepAction::Hang => loop {
                std::thread::park();
            },
            StepAction::Garbage(bytes) => {
                wire.garbage(*bytes);
                Ok(())
            }
            StepAction::Grandchildren => leave_behind().map_err(|error| io_failure(&error)),
            StepAction::IgnoreSigterm => ignore_sigterm().map_err(|error| io_failure(&error)),
            StepAction::DeleteWorkspace => {
                delete_all(Path::new("."));
                Ok(())
            }
        }
    }

    fn read(
        &mut self,
        path: &str,
        tokens_of_step: Option<u64>,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let content = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let content = content.unwrap_or_default();
        let cost = tokens_of_step.unwrap_or_else(|| tokens(&content));
        self.tool("read", "read", path, cost, wire, || {
            let shown = baton_streams::cut(&content, SHOWN_BYTES);
            Ok(format!("{cost} tokens of {path}, beginning with:\n{shown}"))
        })
    }

    /// Thinks until `percent` percent of the window are full; does nothing if they are already.
    fn fill(&mut self, percent: u64, wire: &mut AcpStdio) -> Result<(), PromptAbort> {
        match self.window.missing(percent) {
            0 => Ok(()),
            missing => self.think("Working on, until the window is as full as that.", missing, wire),
        }
    }

    fn write(
        &mut self,
        path: &str,
        content: &str,
        cost: u64,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        if fs::read(path).is_ok_and(|found| found == content.as_bytes()) {
            // Written all the same: an objective with a file requires that the agent has written it.
            let _ = fs::write(path, content);
            return self.note(&format!("{path} is already there."), wire);
        }
        self.tool("write", "edit", path, cost, wire, || {
            make_parent(path)?;
            fs::write(path, content)?;
            Ok(format!("wrote {} bytes", content.len()))
        })
    }

    fn append(
        &mut self,
        path: &str,
        lines: &[String],
        cost: Option<u64>,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let found = fs::read_to_string(path).unwrap_or_default();
        let missing: Vec<&str> = lines
            .iter()
            .map(String::as_str)
            .filter(|line| !found.lines().any(|known| known == *line))
            .collect();
        if missing.is_empty() {
            return self.note(&format!("{path} already says so."), wire);
        }
        let cost = cost.unwrap_or_else(|| tokens(&missing.concat()));
        self.tool("append", "edit", path, cost, wire, || {
            make_parent(path)?;
            let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
            for line in &missing {
                writeln!(file, "{line}")?;
            }
            Ok(format!("appended {} lines", missing.len()))
        })
    }

    fn edit(
        &mut self,
        path: &str,
        from: &str,
        to: &str,
        cost: u64,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let found = fs::read_to_string(path).unwrap_or_default();
        if !found.contains(from) && found.contains(to) {
            return self.note(&format!("{path} already says so."), wire);
        }
        self.tool("edit", "edit", path, cost, wire, || {
            if !found.contains(from) {
                return Err(io::Error::new(io::ErrorKind::NotFound, format!("{from:?} is not in it")));
            }
            fs::write(path, found.replacen(from, to, 1))?;
            Ok("one place changed".to_owned())
        })
    }

    fn resolve(
        &mut self,
        path: &str,
        keep: ConflictChoice,
        cost: Option<u64>,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let found = fs::read_to_string(path).unwrap_or_default();
        let resolved = resolve_conflict_markers(&found, keep);
        if resolved == found {
            return self.say(&format!("{path} has no conflict."), wire);
        }
        self.write(path, &resolved, cost.unwrap_or_else(|| tokens(&resolved)), wire)
    }

    fn gather(
        &mut self,
        path: &str,
        results: &[PathBuf],
        cost: Option<u64>,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let texts: Vec<String> = results.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
        if texts.is_empty() {
            return self.say("There are no results to bring together.", wire);
        }
        let whole = texts.concat();
        self.write(path, &whole, cost.unwrap_or_else(|| tokens(&whole)), wire)
    }

    /// Through the host's tool if the host gave a server, else through a file.
    fn call_or_report(
        &mut self,
        act: &StepAction,
        objective: &str,
        name: &str,
        brief: &ParsedPrompt,
        wire: &mut AcpStdio,
    ) -> Result<(), PromptAbort> {
        let Some((tool, arguments)) = act.call(objective) else { return Ok(()) };
        if self.server.is_some() {
            self.call_tool(tool, &arguments, wire)?;
        } else {
            self.turn(tokens(&arguments.to_string()), TURN_TOKENS, wire)?;
            let mut report = arguments;
            report["report"] = tool.replace('_', "-").into();
            self.put_report(name, report, brief).map_err(|error| io_failure(&error))?;
        }
        match act {
            StepAction::Split { groups, .. } => {
                let said = format!(
                    "This is too much for one session: I ask for it to be split into {}.",
                    groups.len()
                );
                self.say(&said, wire)
            }
            StepAction::Handoff(_) => {
                self.say("I have written down what my successor needs, and stop here.", wire)
            }
            _ => Ok(()),
        }
    }
}

/// A text without conflict markers, with the kept side of each conflict.
fn resolve_conflict_markers(text: &str, keep: ConflictChoice) -> String {
    /// The side of a conflict that a line belongs to.
    #[derive(Clone, Copy, PartialEq)]
    enum ConflictSide {
        None,
        Ours,
        Base,
        Theirs,
    }
    let mut side = ConflictSide::None;
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        let mark = |mark: &str| line.trim_end() == mark || line.starts_with(&format!("{mark} "));
        side = match side {
            ConflictSide::None if mark("<<<<<<<") => ConflictSide::Ours,
            ConflictSide::Ours if mark("|||||||") => ConflictSide::Base,
            ConflictSide::Ours | ConflictSide::Base if mark("=======") => ConflictSide::Theirs,
            ConflictSide::Theirs if mark(">>>>>>>") => ConflictSide::None,
            _ => {
                let dropped = match side {
                    ConflictSide::None => false,
                    ConflictSide::Ours => keep == ConflictChoice::Theirs,
                    ConflictSide::Base => true,
                    ConflictSide::Theirs => keep == ConflictChoice::Ours,
                };
                if !dropped {
                    kept.push_str(line);
                }
                side
            }
        };
    }
    kept
}

fn make_parent(path: &str) -> io::Result<()> {
    Path::new(path).parent().map_or(Ok(()), fs::create_dir_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_conflicts_go_and_what_is_kept_stays() {
        let text = "one\n<<<<<<< HEAD\nours\n||||||| base\nold\n=======\ntheirs\n>>>>>>> b\ntwo\n=======\n";
        assert_eq!(resolve_conflict_markers(text, ConflictChoice::Both), "one\nours\ntheirs\ntwo\n=======\n");
        assert_eq!(resolve_conflict_markers(text, ConflictChoice::Ours), "one\nours\ntwo\n=======\n");
        assert_eq!(resolve_conflict_markers(text, ConflictChoice::Theirs), "one\ntheirs\ntwo\n=======\n");
        assert_eq!(resolve_conflict_markers("plain\n", ConflictChoice::Both), "plain\n");
    }
}
