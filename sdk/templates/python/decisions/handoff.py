"""What the next prompt says, and what a session leaves to the one after it."""

from wit_world import exports
from wit_world.exports.handoff import Briefing, Composition, Continuer, Finding, ReviewResult, Staleness
from wit_world.imports import config, text as host_text
from wit_world.imports.types import ObjectiveStatus, Span

from settings import text

SETTINGS = [text("rules", "", "What every prompt says at its end.")]

# Whatever is asked, an answer has an end: characters of a line of somebody's words, and lines of a list.
LINE_CHARS = 120
LINES = 60
# A document has at most 32 KiB.
DOCUMENT_BYTES = 64 << 10


class Handoff(exports.Handoff):
    def brief(self, observation):
        in_focus = [one for one in observation.objectives if one.id in observation.focus]
        lines = [f"Goal of the whole run: {line(observation.goal)}", ""]
        if observation.because:
            lines += [f"Why you are asked: {line(observation.because)}", ""]
        if observation.handoff_path:
            lines += [f"Read {line(observation.handoff_path)} first.", ""]
        lines += ["Do this:", *listed(map(objective, in_focus)), "", config.get_text("rules")]
        prompt = "\n".join(lines).rstrip() + "\n"
        return Briefing(prompt, [], f"{len(in_focus)} objectives are in focus")

    def compose(self, observation):
        is_done = [one.status == ObjectiveStatus.DONE for one in observation.objectives]
        done = [objective(one) for one, done in zip(observation.objectives, is_done) if done]
        left = [objective(one) for one, done in zip(observation.objectives, is_done) if not done]
        files = [f"- `{line(file.path)}`" for file in observation.changed_files]
        document = [f"# Handoff of {line(observation.phase.title)}"]
        for heading, lines in [("Done", done), ("Immediate next action", left), ("Changed files", files)]:
            document += [f"## {heading}", *listed(lines)]
        index = f"- {observation.now}: {line(observation.phase.title)}\n"
        reason = "objectives and files, as the host knows them"
        return Composition("\n".join(document) + "\n", index, Continuer.SUCCESSOR, [], reason)

    def review(self, observation):
        document = host_text.slice(observation.document, Span(0, DOCUMENT_BYTES))
        findings = [Finding(100, 0, f"it contains a secret: {line(one)}") for one in observation.secrets]
        findings += [Finding(10, 0, f"it names {line(one)}, which is not there") for one in observation.missing_files]
        dropped = [one for one in observation.open_objectives if one not in document]
        findings += [Finding(20, 0, f"it does not name the open objective {line(one)}") for one in dropped]
        # What is over costs nothing more: a document with so many findings has no points left.
        findings = findings[:LINES]
        score = 100 - min(100, sum(finding.cost for finding in findings))
        staleness = Staleness.FRESH if observation.commits_since == 0 else Staleness.SLIGHTLY_STALE
        return ReviewResult(score, findings, staleness, score >= 70, f"{score} of 100")


def objective(one):
    return f"- {line(one.id)}: {line(one.description)}"


def listed(lines):
    lines = list(lines)
    return lines if len(lines) <= LINES else [*lines[:LINES], f"- and {len(lines) - LINES} more"]


def line(words):
    """Words of others, on one line: they cannot pass for a heading or for another item."""
    return " ".join(words[:LINE_CHARS].split())
