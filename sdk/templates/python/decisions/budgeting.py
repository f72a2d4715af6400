"""How many turns a scope may take."""

from wit_world import exports
from wit_world.imports import config
from wit_world.imports.questions import TurnBudget

from settings import integer

SETTINGS = [integer("extra-turns-percent", 0, (0, 900), "Turns beyond those of the table, in percent of them.")]


class Budgeting(exports.Budgeting):
    def decide(self, observation):
        percent = 100 + config.get_integer("extra-turns-percent")
        if observation.base_turns is None:
            return TurnBudget(None, "the table sets no cap")
        turns = min(-(-observation.base_turns * percent // 100), 2**32 - 1)
        return TurnBudget(turns, f"{percent} % of the table's value")
