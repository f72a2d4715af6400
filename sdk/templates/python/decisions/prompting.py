"""What the next message to an agent says."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import Prompt

from settings import text
from words import line, listed, objective, section

SETTINGS = [text("rules", "", "What every prompt says at its end.")]


class Prompting(exports.Prompting):
    def compose(self, observation):
        in_focus = [one for one in observation.objectives if one.id in observation.focus]
        lines = [f"Goal of the whole run: {line(observation.goal)}", ""]
        if observation.because:
            lines += [f"Why you are asked: {line(observation.because)}", ""]
        if observation.newest_handoff:
            lines += [f"Read {line(observation.newest_handoff.path)} first.", ""]
        lines += ["Do this:", *listed(map(objective, in_focus))]
        sections = [section("task", None, lines)]
        if rules := config.get_text("rules"):
            sections.append(section("rules", None, ["", rules], 1))
        return Prompt(sections, [], f"{len(in_focus)} objectives are in focus")
