"""Which objectives of a prompt that was answered are done."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import CompletionDecision
from wit_world.imports.types import ObjectiveStatus

from settings import flag

SETTINGS = [flag("report-needed", False, "Only what the agent reports as done is done; else its answer is enough.")]


class Completion(exports.Completion):
    def decide(self, observation):
        report_needed, objectives = config.get_flag("report-needed"), observation.session.objectives
        done = [one.id for one in objectives if is_done(one.reported, report_needed)]
        return CompletionDecision(done, [], f"{len(done)} of {len(objectives)} objectives are done")


def is_done(reported, report_needed):
    """What this session itself reported counts more than that it answered."""
    if reported is not None and reported.by_session:
        return reported.status == ObjectiveStatus.DONE
    return not report_needed
