"""How sessions are judged."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports import questions


def assess(channel, words, occasion, answer_bytes=0):
    host(policy, texts=[words])
    signals = [Seen(channel=channel, seq=40, text=types.Span(0, len(words)))]
    seen = Seen(occasion=occasion, signals=signals, window=0, answer_bytes=answer_bytes, files_changed=0)
    return policy.Exhaustion().assess(seen)


class ExhaustionTest(unittest.TestCase):
    def test_a_context_that_is_used_up_is_told_by_the_words(self):
        said = assess(types.Channel.PROVIDER_ERROR, "400: Prompt is too long", questions.Occasion_PromptEnded())
        self.assertEqual(said.verdict, questions.Verdict_Exhausted())
        self.assertEqual(said.evidence[0].text, "400: Prompt is too long")

    def test_what_a_tool_printed_is_no_evidence(self):
        said = assess(types.Channel.TOOL_OUTPUT, "context window", questions.Occasion_PromptEnded(), 9)
        self.assertEqual(said.verdict, questions.Verdict_Answered())

    def test_nobody_who_works_is_given_up(self):
        said = assess(types.Channel.AGENT_TEXT, "the context window is small", questions.Occasion_Turn())
        self.assertEqual(said.verdict, questions.Verdict_Healthy())

    def test_what_ended_without_an_answer_has_failed(self):
        answered = assess(types.Channel.AGENT_TEXT, "It is done.", questions.Occasion_PromptEnded(), 9)
        self.assertEqual(answered.verdict, questions.Verdict_Answered())
        failed = assess(types.Channel.AGENT_TEXT, "", questions.Occasion_PromptEnded())
        self.assertEqual(failed.verdict, questions.Verdict_Failed())
