"""Whether a scope is too large, and where its seams are."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import (
    Order,
    SplitAction_Keep,
    SplitAction_Split,
    SplitDecision,
    SplitOccasion_Requested,
    SplitTime,
    SubPhase,
)
from wit_world.imports.types import ObjectiveStatus

from settings import integer

SETTINGS = [integer("objectives-at-most", 4, (1, 100), "Split a phase that has more open objectives than this.")]

# Characters of a part's title.
TITLE_CHARS = 60


class Splitting(exports.Splitting):
    def decide(self, observation):
        open_ids = [one.id for one in observation.objectives if one.status != ObjectiveStatus.DONE]
        most = config.get_integer("objectives-at-most")
        # What is a part already stays whole: the host bounds how deep splits go, and so does this policy.
        if len(open_ids) <= most or observation.phase.depth > 0 or observation.limits.depth == 0:
            return SplitDecision(SplitAction_Keep(), f"{len(open_ids)} open objectives are few enough")
        # The workflow's word holds, unless the agent itself asks for a split: the host refuses another answer.
        is_requested = isinstance(observation.occasion, SplitOccasion_Requested)
        if observation.wish == SplitTime.NEVER and not is_requested:
            return SplitDecision(SplitAction_Keep(), "the workflow leaves it whole")
        parts = divided(open_ids, most, max(observation.limits.parts, 2))
        reason = f"{len(open_ids)} open objectives are more than {most}: {len(parts)} parts"
        return SplitDecision(SplitAction_Split(parts), reason)


def divided(open_ids, most, allowed):
    """Parts of equal size, in the order of the file; every open objective is in exactly one."""
    half, share = -(-len(open_ids) // 2), -(-len(open_ids) // allowed)
    size = max(share, min(most, half))
    chunks = [open_ids[start : start + size] for start in range(0, len(open_ids), size)]
    return [SubPhase(", ".join(ids)[:TITLE_CHARS], ids, Order.DIRECT, None) for ids in chunks]
