"""Whether the agent itself says that its context is used up."""

from wit_world import exports
from wit_world.imports import text
from wit_world.imports.questions import Assessment, Occasion_PromptEnded, Occasion_SessionEnded, Verdict_Exhausted
from wit_world.imports.types import Channel, Evidence

from settings import texts

SETTING = texts(
    "own-words",
    [
        "my context is full",
        "my context window is full",
        "my context is used up",
        "i have run out of context",
        "i am out of context",
        "kontext voll",
    ],
    "What an agent says of itself when its context is used up; ASCII letters match in either case.",
)


class Exhaustion(exports.Exhaustion):
    def assess(self, observation):
        if not isinstance(observation.occasion, (Occasion_PromptEnded, Occasion_SessionEnded)):
            return None
        for signal in reversed(observation.signals):
            if signal.channel == Channel.AGENT_TEXT and signal.prompt == observation.session.prompts:
                return assessment(observation.window, signal)
        return None


def assessment(window, last):
    hits = text.find_setting(window, last.text, "own-words", 1)
    if not hits:
        return None
    evidence = Evidence(last.channel, last.seq, text.slice(window, hits[0].at))
    return Assessment(Verdict_Exhausted(), [evidence], None, "the agent says that its context is used up")
