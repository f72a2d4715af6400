"""The section, and where it stands."""

import unittest

from tests.host import host, types
import policy
from wit_world.imports.questions import Prompt


def compose(written, *rules):
    answer = None if written is None else Prompt(written, ["commits"], "one objective")
    host(policy, [("house-rules", types.SettingValue_Texts(list(rules)))], next_answer=answer)
    return policy.Prompting().compose(None)


class PromptingTest(unittest.TestCase):
    def test_the_rules_stand_before_the_last_section_or_at_the_end(self):
        composed = compose("Write it.\n\n## Reporting\nTo inbox.\n", "No TODO comments.", "Tests first.")
        prompt = "Write it.\n\n## House rules\nNo TODO comments.\nTests first.\n\n## Reporting\nTo inbox.\n"
        self.assertEqual(composed, Prompt(prompt, ["commits"], "one objective"))
        self.assertEqual(compose("Write it.\n", "Tests first.").prompt, "Write it.\n\n## House rules\nTests first.\n")

    def test_it_abstains_without_rules_without_a_next_policy_and_without_room(self):
        self.assertIsNone(compose("Write it."))
        self.assertIsNone(compose(None, "Tests first."))
        self.assertIsNone(compose("x" * 32_760, "Tests first."))
