"""What is split, and into what."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports.questions import SplitOccasion_Boundary, SplitOccasion_PhaseStart, SplitTime

FIVE = ["Write src/lexer.rs.", "Describe `docs/lexer.md`.", "Write src/parser.rs.", "Name it and/or not.", "Write docs/a.md"]
STARTS = SplitOccasion_PhaseStart()


def parts(descriptions, allowed=26, depth=2, wish=SplitTime.DURING, occasion=STARTS):
    host(policy)
    is_open = types.ObjectiveStatus.OPEN
    objectives = [
        Seen(id=f"o{n}", description=words, status=is_open, expected_files=[]) for n, words in enumerate(descriptions, 1)
    ]
    limits, phase = Seen(parts=allowed, depth=depth), Seen(depth=0)
    seen = Seen(occasion=occasion, objectives=objectives, phase=phase, limits=limits, wish=wish)
    decision = policy.Splitting().decide(seen)
    return decision and [[part.title, *part.objectives] for part in decision.action.value]


class SplittingTest(unittest.TestCase):
    def test_one_part_per_folder(self):
        self.assertEqual(parts(FIVE), [["src", "o1", "o3"], ["docs", "o2", "o5"], ["other files", "o4"]])

    def test_it_abstains_from_what_is_small_in_one_folder_or_not_allowed(self):
        self.assertIsNone(parts(FIVE[:4]))
        self.assertIsNone(parts(["Write src/a.rs"] * 9))
        self.assertIsNone(parts(FIVE, allowed=2))
        self.assertIsNone(parts(FIVE, depth=0))
        self.assertIsNone(parts(FIVE, wish=SplitTime.NEVER))
        self.assertIsNone(parts(FIVE, occasion=SplitOccasion_Boundary()))
