"""Which handoffs are accepted."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host
import policy


def assess(document, **changes):
    host(policy, texts=[document])
    asked = dict(document=0, secrets=[], missing_files=[], open_objectives=["parser"], commits_since=0)
    return policy.Review().assess(Seen(**(asked | changes)))


class ReviewTest(unittest.TestCase):
    def test_a_document_that_names_what_is_open_is_accepted(self):
        self.assertEqual(assess("- parser: half of it").score, 100)
        self.assertEqual(assess("# nothing").score, 80)

    def test_a_secret_is_never_accepted(self):
        self.assertFalse(assess("# parser", secrets=["an API key"]).accepted)
