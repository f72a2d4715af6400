"""What to do about a session that is not well, or whose objectives are not done."""

from wit_world import exports
from wit_world.imports import config, questions as seen
from wit_world.imports.types import Capabilities

from settings import integer

SETTINGS = [
    integer("nudges-at-most", 1, (0, 10), "So often a session is prompted again before a new one takes over.")
]

CONTINUED = (seen.Verdict_Exhausted, seen.Verdict_HandedOff, seen.Verdict_TurnLimit, seen.Verdict_BudgetLimit)


class Recovery(exports.Recovery):
    def decide(self, observation):
        session, verdict = observation.session.session, observation.assessment.verdict
        may_nudge = session.exit is None and observation.session.nudges < config.get_integer("nudges-at-most")
        interrupts = Capabilities.INTERRUPTS in session.capabilities
        if isinstance(verdict, seen.Verdict_Quota):
            return seen.RecoveryDecision(seen.RecoveryAction_Wait(), "a provider's limit is waited for")
        if isinstance(verdict, CONTINUED):
            return seen.RecoveryDecision(seen.RecoveryAction_HandOff(), "a new session continues from its handoff")
        if isinstance(verdict, seen.Verdict_Stalled) and may_nudge and interrupts:
            return seen.RecoveryDecision(seen.RecoveryAction_Interrupt(), "it is silent, and is asked to go on")
        if isinstance(verdict, (seen.Verdict_Answered, seen.Verdict_Truncated)) and may_nudge:
            return seen.RecoveryDecision(seen.RecoveryAction_Nudge(), "it is asked for what is missing")
        return seen.RecoveryDecision(seen.RecoveryAction_Retry(), "a new session tries again")
