"""Which large items need not lie in the context."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import OffloadingDecision

from settings import integer

SETTINGS = [
    integer("offload-tokens", 20_000, (1, 10_000_000), "An item of more tokens than this becomes a reference.")
]


class Offloading(exports.Offloading):
    def decide(self, observation):
        most = config.get_integer("offload-tokens")
        items = [item.id for item in observation.items if item.tokens > most]
        return OffloadingDecision(items, f"{len(items)} of {len(observation.items)} items have more than {most} tokens")
