"""What prompts and handoffs say."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy

DONE, OPEN = types.ObjectiveStatus.DONE, types.ObjectiveStatus.OPEN
SEEN = Seen(
    goal="A parser for the little language.",
    because="",
    handoff_path="",
    now="2026-03-01T12:00:00Z",
    phase=Seen(title="Build\nthe parser"),
    objectives=[
        Seen(id="lexer", description="Write src/lexer.rs", status=DONE),
        Seen(id="parser", description="Write src/parser.rs", status=OPEN),
    ],
    focus=["parser"],
    changed_files=[],
)


def review(document, **changes):
    host(policy, texts=[document])
    asked = dict(document=0, secrets=[], missing_files=[], open_objectives=["parser"], commits_since=0)
    return policy.Handoff().review(Seen(**(asked | changes)))


class HandoffTest(unittest.TestCase):
    def test_a_first_prompt_names_what_is_in_focus(self):
        host(policy)
        prompt = policy.Handoff().brief(SEEN).prompt
        self.assertIn("- parser: Write src/parser.rs", prompt)
        self.assertNotIn("lexer", prompt)

    def test_a_document_is_accepted_by_its_own_review(self):
        host(policy)
        document = policy.Handoff().compose(SEEN).document
        self.assertTrue(document.startswith("# Handoff of Build the parser\n"))
        self.assertEqual(review(document).score, 100)

    def test_a_secret_is_never_accepted_and_an_objective_that_is_left_out_costs(self):
        self.assertFalse(review("# parser", secrets=["an API key"]).accepted)
        self.assertEqual(review("# nothing").score, 80)
