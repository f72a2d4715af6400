"""When the agent says that its context is used up."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports import questions

ENDED = questions.Occasion_PromptEnded()


def assess(channel, words, occasion=ENDED, prompt=2):
    host(policy, texts=[words])
    signal = Seen(channel=channel, seq=40, prompt=prompt, text=types.Span(0, len(words)))
    return policy.Exhaustion().assess(Seen(occasion=occasion, session=Seen(prompts=2), signals=[signal], window=0))


class ExhaustionTest(unittest.TestCase):
    def test_its_own_words_count_at_the_end_of_a_prompt_or_session(self):
        said = assess(types.Channel.AGENT_TEXT, "It is done, but my context is full.")
        self.assertEqual(said.verdict, questions.Verdict_Exhausted())
        self.assertEqual(said.evidence, [types.Evidence(types.Channel.AGENT_TEXT, 40, "my context is full")])
        self.assertIsNotNone(assess(types.Channel.AGENT_TEXT, "Kontext voll.", questions.Occasion_SessionEnded()))

    def test_the_words_of_others_of_another_time_and_about_something_else_do_not(self):
        self.assertIsNone(assess(types.Channel.TOOL_OUTPUT, "My context is full."))
        self.assertIsNone(assess(types.Channel.AGENT_TEXT, "My context is full.", questions.Occasion_Turn()))
        self.assertIsNone(assess(types.Channel.AGENT_TEXT, "My context is full.", ENDED, 1))
        self.assertIsNone(assess(types.Channel.AGENT_TEXT, "The context window is small."))
