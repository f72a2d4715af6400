"""What prompts say."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host
import policy

SEEN = Seen(
    goal="A parser for the little language.",
    because="",
    newest_handoff=None,
    objectives=[
        Seen(id="lexer", description="Write src/lexer.rs"),
        Seen(id="parser", description="Write src/parser.rs"),
    ],
    focus=["parser"],
)


class PromptingTest(unittest.TestCase):
    def test_a_first_prompt_names_what_is_in_focus(self):
        host(policy)
        prompt = policy.Prompting().compose(SEEN).sections[0].blocks[0].value
        self.assertIn("- parser: Write src/parser.rs", prompt)
        self.assertNotIn("lexer", prompt)
