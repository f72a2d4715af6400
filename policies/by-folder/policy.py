"""Splits along folders: agents that work in different folders do not meet. Decides `splitting` alone, in Python.

What makes parallel work dear is merging it. The third source says to divide by context boundaries (C14); in most
repositories those are folders. So:

- An objective belongs to the folder of the first file that its description names, up to `folder-depth` steps from the top.
  Tests that mirror the sources go with them: `tests/parser/` counts as `parser`, `src/parser/` as well.
- Objectives that name no file stay together, in a part of their own.
- A phase with more than `objectives-at-most` open objectives is split when it begins, one part a folder. An agent's request
  is met in the same way, whatever groups it names: it knows its scope, the folders know the repository.
- Where the workflow allows fewer parts than there are folders, the smallest ones are put together.
- A phase without a continuation left is split along its folders as well, or a person is asked.
- Where the workflow says `split = "never"`, only an agent's request splits.
"""

import re

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import (
    Order,
    SplitAction_AskPerson,
    SplitAction_Keep,
    SplitAction_Split,
    SplitDecision,
    SplitOccasion_Boundary,
    SplitOccasion_OutOfContinuations,
    SplitOccasion_Requested,
    SplitTime,
    SubPhase,
)
from wit_world.imports.types import ObjectiveStatus

from settings import answer, integer, texts

Settings = answer(
    [
        integer("objectives-at-most", 4, (1, 200), "A phase with more open objectives than this is split when it begins."),
        integer("folder-depth", 1, (1, 8), "Steps from the top that tell one folder from another."),
        texts(
            "roots",
            ["src", "lib", "tests", "test", "spec", "docs"],
            "Folders at the top that say nothing of what is in them: the next step counts.",
        ),
    ]
)

# Characters of a description that are searched: a file that matters stands at its beginning.
READ_CHARS = 400
# Characters of a folder in a title.
TITLE_CHARS = 60
# A path: steps and a name with an ending.
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.\w+")


class Splitting(exports.Splitting):
    def decide(self, observation):
        left = [one for one in observation.objectives if one.status != ObjectiveStatus.DONE]
        stuck = isinstance(observation.occasion, SplitOccasion_OutOfContinuations)
        asked = isinstance(observation.occasion, SplitOccasion_Requested)
        if isinstance(observation.occasion, SplitOccasion_Boundary):
            return SplitDecision(SplitAction_Keep(), "what has begun is not divided")
        if not (stuck or asked) and len(left) <= config.get_integer("objectives-at-most"):
            return SplitDecision(SplitAction_Keep(), f"{len(left)} open objectives are few enough")
        folders = by_folder(left)
        reason = whole(observation, folders, asked)
        if reason:
            if not stuck:
                return SplitDecision(SplitAction_Keep(), reason)
            question = f"Phase {observation.phase.id} has no continuation left, and {reason}. Continue it, or leave it?"
            return SplitDecision(SplitAction_AskPerson(question), f"no continuation is left, and {reason}")
        parts = within(folders, max(observation.limits.parts, 2))
        return SplitDecision(SplitAction_Split([part(*one) for one in parts]), f"{len(left)} open objectives in {len(folders)} folders")


def whole(observation, folders, asked):
    """Why the phase stays whole; None where it is split. The workflow's `split = "never"` holds, except for an agent's request."""
    if observation.wish == SplitTime.NEVER and not asked:
        return "the workflow leaves it whole"
    if len(folders) < 2:
        return "all of it is in one folder"
    if observation.phase.depth >= observation.limits.depth:
        return "the workflow allows no deeper split"
    return None


def by_folder(objectives):
    """Folders with the ids of what is in them, in the order in which they are named first."""
    depth, roots = config.get_integer("folder-depth"), config.get_texts("roots")
    folders = {}
    for objective in objectives:
        folders.setdefault(folder(objective.description, depth, roots), []).append(objective.id)
    return list(folders.items())


def folder(description, depth, roots):
    """The folder of the first file; the file itself, without its ending, where it lies in none."""
    found = PATH.search(description[:READ_CHARS])
    if not found:
        return ""
    *steps, name = found.group().split("/")
    while steps and steps[0] in roots:
        del steps[0]
    return "/".join(steps[:depth]) or re.sub(r"[_-]?tests?$", "", name.split(".")[0])


def within(folders, allowed):
    """As many as are allowed: the two smallest become one, until it fits."""
    folders = list(folders)
    while len(folders) > allowed:
        one, other = sorted(sorted(range(len(folders)), key=lambda place: len(folders[place][1]))[:2])
        (name, ids), (more, others) = folders[one], folders.pop(other)
        folders[one] = (f"{name}, {more}", ids + others)
    return folders


def part(name, ids):
    title = name[:TITLE_CHARS] or "everything else"
    return SubPhase(title, ids, Order.MINI_PLAN if len(ids) > 1 else Order.DIRECT, None)
