"""A large phase whose objectives name files in several top folders: one part per folder."""

import re

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import Order, SplitAction_Split, SplitDecision, SplitOccasion_PhaseStart, SplitTime, SubPhase
from wit_world.imports.types import ObjectiveStatus

from settings import integer

# Characters of a part's title.
TITLE_CHARS = 60
# The part of the objectives that name no folder.
REST = "other files"
# Marks around a path in a sentence.
AROUND = "\"'`()[]<>,;:!?"

SETTING = integer(
    "objectives-at-most",
    4,
    (1, 100),
    "Split a phase that has more open objectives than this, and in more than one top folder.",
)


class Splitting(exports.Splitting):
    def decide(self, observation):
        is_allowed = observation.phase.depth < observation.limits.depth and observation.wish != SplitTime.NEVER
        if not isinstance(observation.occasion, SplitOccasion_PhaseStart) or not is_allowed:
            return None
        still_open = [one for one in observation.objectives if one.status != ObjectiveStatus.DONE]
        if len(still_open) <= config.get_integer("objectives-at-most"):
            return None
        # In the order in which the objectives name them.
        parts = {}
        for one in still_open:
            parts.setdefault(folder(one), []).append(one.id)
        folders = len(parts) - (None in parts)
        if folders < 2 or len(parts) > observation.limits.parts:
            return None
        reason = f"{len(still_open)} open objectives name files in {folders} folders: {len(parts)} parts"
        split = [SubPhase((of or REST)[:TITLE_CHARS], ids, Order.DIRECT, None) for of, ids in parts.items()]
        return SplitDecision(SplitAction_Split(split), reason)


def folder(objective):
    """The top folder of the first file that an objective names."""
    if objective.expected_files:
        return top(objective.expected_files[0].path)
    found = map(named, re.split(r"[ \t\r\n]", objective.description))
    return next(filter(None, found), None)


def named(word):
    """The top folder of a word that is a path: it has a folder, and its last name has a dot or is empty."""
    path = word.strip(AROUND)
    last = path.rstrip(".").split("/")[-1]
    if "://" in path or (last and "." not in last):
        return None
    return top(path)


def top(path):
    """The first folder of a relative path."""
    first, slash, _ = path.removeprefix("./").partition("/")
    return first if slash and first else None
