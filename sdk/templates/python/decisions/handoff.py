"""What a session leaves to the one after it."""

from datetime import datetime, timezone

from wit_world import exports
from wit_world.imports.questions import Composition, Continuer
from wit_world.imports.types import ObjectiveStatus

from words import line, listed, objective, section

SETTINGS = []


class Handoff(exports.Handoff):
    def compose(self, observation):
        is_done = [one.status == ObjectiveStatus.DONE for one in observation.objectives]
        done = [objective(one) for one, done in zip(observation.objectives, is_done) if done]
        left = [objective(one) for one, done in zip(observation.objectives, is_done) if not done]
        files = [f"- `{line(file.path)}`" for file in observation.changed_files]
        document = [
            section("title", None, [f"# Handoff of {line(observation.phase.title)}"]),
            section("done", "Done", listed(done)),
            section("next", "Immediate next action", listed(left)),
            section("files", "Changed files", listed(files), 1),
        ]
        at = datetime.fromtimestamp(observation.asked_at_ms / 1000, timezone.utc)
        index = [section("index", None, [f"- {at:%Y-%m-%dT%H:%M:%SZ}: {line(observation.phase.title)}"])]
        reason = "objectives and files, as the host knows them"
        return Composition(document, index, Continuer.SUCCESSOR, [], reason)
