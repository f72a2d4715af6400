"""The section, and where it stands."""

import unittest

from tests.host import host, types
import policy
from wit_world.imports.questions import Block_Markdown, Prompt, Section


def section(name, heading, text):
    return Section(name, heading, [Block_Markdown(text)], 0)


OPENING = section("opening", None, "Write it.\n")
REPORTING = section("reporting", "Reporting", "To inbox.\n")


def prompt(*sections):
    return Prompt(list(sections), ["commits"], "one objective")


def compose(answer, *rules):
    host(policy, [("house-rules", types.SettingValue_Texts(list(rules)))], next_answer=answer)
    return policy.Prompting().compose(None)


class PromptingTest(unittest.TestCase):
    def test_the_rules_stand_before_the_last_section_or_at_the_end(self):
        composed = compose(prompt(OPENING, REPORTING), "No TODO comments.", "Tests first.")
        rules = section("house-rules", "House rules", "No TODO comments.\nTests first.")
        self.assertEqual(composed, prompt(OPENING, rules, REPORTING))
        composed = compose(prompt(OPENING), "Tests first.")
        self.assertEqual(composed, prompt(OPENING, section("house-rules", "House rules", "Tests first.")))

    def test_it_abstains_without_rules_and_without_a_next_policy(self):
        self.assertIsNone(compose(prompt(OPENING)))
        self.assertIsNone(compose(None, "Tests first."))
