"""What a session leaves to the one after it."""

from datetime import datetime, timezone

from wit_world import exports
from wit_world.imports.questions import Composition, Continuer
from wit_world.imports.types import ObjectiveStatus

from words import line, listed, objective

SETTINGS = []


class Handoff(exports.Handoff):
    def compose(self, observation):
        is_done = [one.status == ObjectiveStatus.DONE for one in observation.objectives]
        done = [objective(one) for one, done in zip(observation.objectives, is_done) if done]
        left = [objective(one) for one, done in zip(observation.objectives, is_done) if not done]
        files = [f"- `{line(file.path)}`" for file in observation.changed_files]
        document = [f"# Handoff of {line(observation.phase.title)}"]
        for heading, lines in [("Done", done), ("Immediate next action", left), ("Changed files", files)]:
            document += [f"## {heading}", *listed(lines)]
        at = datetime.fromtimestamp(observation.asked_at_ms / 1000, timezone.utc)
        index = f"- {at:%Y-%m-%dT%H:%M:%SZ}: {line(observation.phase.title)}\n"
        reason = "objectives and files, as the host knows them"
        return Composition("\n".join(document) + "\n", index, Continuer.SUCCESSOR, [], reason)
