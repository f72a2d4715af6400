"""Whether to make room in the context between two prompts."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import CompactionAction_Compact, CompactionAction_Keep, CompactionDecision

from settings import number

SETTINGS = [number("compact-percent", 70, (1, 99), "Compact from this occupancy, in percent of the window.")]


class Compaction(exports.Compaction):
    def decide(self, observation):
        used, window = observation.session.occupancy.used_tokens, observation.session.occupancy.window_tokens
        if used is None or not window:
            return CompactionDecision(CompactionAction_Keep(), "nobody knows how full the window is")
        percent, threshold = used * 100 / window, config.get_number("compact-percent")
        if percent < threshold:
            return CompactionDecision(CompactionAction_Keep(), f"{int(percent)} % of the window are used")
        reason = f"{int(percent)} % of the window are used, and {int(threshold)} % are allowed"
        return CompactionDecision(CompactionAction_Compact(None), reason)
