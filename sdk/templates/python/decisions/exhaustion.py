"""How a session is, or why it stopped."""

from wit_world import exports
from wit_world.imports import questions as seen, text
from wit_world.imports.types import Channel, Evidence

from settings import texts

SETTINGS = [
    texts(
        "exhausted-phrases",
        ["prompt is too long", "context window", "context length"],
        "What an agent or its provider says when the context is used up, in any case.",
    )
]

# Characters of a signal that are quoted as evidence.
QUOTED_CHARS = 50


class Exhaustion(exports.Exhaustion):
    def assess(self, observation):
        # While it works it may still recover; only what has ended is judged.
        if not isinstance(observation.occasion, (seen.Occasion_PromptEnded, seen.Occasion_SessionEnded)):
            return assessment(seen.Verdict_Healthy(), [], "it works")
        # What a tool printed is no evidence: an agent may read a file about context windows.
        for signal in observation.signals:
            if signal.channel == Channel.TOOL_OUTPUT:
                continue
            if text.find_setting(observation.window, signal.text, "exhausted-phrases", 1):
                words = text.slice(observation.window, signal.text)[:QUOTED_CHARS]
                evidence = Evidence(signal.channel, signal.seq, words)
                return assessment(seen.Verdict_Exhausted(), [evidence], "its context is used up")
        if observation.answer_bytes > 0 or observation.files_changed > 0:
            return assessment(seen.Verdict_Answered(), [], "it answered")
        return assessment(seen.Verdict_Failed(), [], "it ended without an answer")


def assessment(verdict, evidence, reason):
    return seen.Assessment(verdict, evidence, None, reason)
