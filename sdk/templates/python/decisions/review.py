"""Whether a handoff is fit to start a successor."""

from wit_world import exports
from wit_world.imports import config, text as host_text
from wit_world.imports.questions import Finding, Review as Reviewed, Staleness
from wit_world.imports.types import Span

from settings import integer
from words import LINES, line

SETTINGS = [integer("accept-score", 70, (0, 100), "Points, of 100, that a handoff needs.")]

# A document has at most 32 KiB.
DOCUMENT_BYTES = 64 << 10


class Review(exports.Review):
    def assess(self, observation):
        document = host_text.slice(observation.document, Span(0, DOCUMENT_BYTES))
        findings = [Finding(100, None, f"it contains a secret: {line(one)}") for one in observation.secrets]
        findings += [Finding(10, None, f"it names {line(one)}, which is not there") for one in observation.missing_files]
        dropped = [one for one in observation.open_objectives if one not in document]
        findings += [Finding(20, None, f"it does not name the open objective {line(one)}") for one in dropped]
        # What is over costs nothing more: a document with so many findings has no points left.
        findings = findings[:LINES]
        score = 100 - min(100, sum(finding.cost for finding in findings))
        accepted = not observation.secrets and score >= config.get_integer("accept-score")
        staleness = Staleness.FRESH if observation.commits_since == 0 else Staleness.SLIGHTLY_STALE
        return Reviewed(score, findings, staleness, accepted, f"{score} of 100")
