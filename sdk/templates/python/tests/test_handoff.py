"""What handoffs say."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy

DONE, OPEN = types.ObjectiveStatus.DONE, types.ObjectiveStatus.OPEN
SEEN = Seen(
    asked_at_ms=1_772_366_400_000,
    phase=Seen(title="Build\nthe parser"),
    objectives=[
        Seen(id="lexer", description="Write src/lexer.rs", status=DONE),
        Seen(id="parser", description="Write src/parser.rs", status=OPEN),
    ],
    changed_files=[],
)


class HandoffTest(unittest.TestCase):
    def test_a_document_names_what_is_done_and_what_is_open(self):
        host(policy)
        document = policy.Handoff().compose(SEEN).document
        title, done, left, _ = [section.blocks[0].value for section in document]
        self.assertEqual(title, "# Handoff of Build the parser\n")
        self.assertIn("- lexer: ", done)
        self.assertIn("- parser: ", left)
