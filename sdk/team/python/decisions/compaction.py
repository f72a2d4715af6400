"""Room in the context before the limit at which an earlier session was exhausted."""

from wit_world import exports
from wit_world.imports import config, facts_history
from wit_world.imports.questions import CompactionAction_Compact, CompactionAction_HandOff, CompactionDecision
from wit_world.imports.types import Capabilities

from settings import number

# As many as the host tells of.
PAST_SESSIONS = 16

SETTING = number(
    "learned-percent",
    80,
    (1, 100),
    "Make room from this percentage of the tokens that exhausted an earlier session of the agent.",
)


class Compaction(exports.Compaction):
    def decide(self, observation):
        session = observation.session
        used = session.occupancy.used_tokens
        past = facts_history.past_sessions(PAST_SESSIONS)
        exhausted = [one for one in past if one.agent == session.agent and one.ended_by == "exhausted"]
        limit = min((one.peak_tokens for one in exhausted if one.peak_tokens), default=None)
        if used is None or limit is None or float(used) * 100 < float(limit) * config.get_number("learned-percent"):
            return None
        compacts = Capabilities.COMPACTS in session.capabilities
        action = CompactionAction_Compact(None) if compacts else CompactionAction_HandOff()
        return CompactionDecision(action, f"{used} tokens are used, and an earlier session was exhausted at {limit}")
