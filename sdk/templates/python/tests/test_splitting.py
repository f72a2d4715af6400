"""What is split, and into what."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports.questions import SplitAction_Keep, SplitOccasion_Boundary, SplitTime


def decide(count, parts=26, depth=2, wish=SplitTime.DURING):
    host(policy)
    objectives = [Seen(id=f"o{n + 1}", status=types.ObjectiveStatus.OPEN) for n in range(count)]
    limits = Seen(parts=parts, depth=depth)
    phase, occasion = Seen(depth=0), SplitOccasion_Boundary()
    seen = Seen(occasion=occasion, objectives=objectives, phase=phase, limits=limits, wish=wish)
    return policy.Splitting().decide(seen)


class SplittingTest(unittest.TestCase):
    def test_a_small_phase_is_kept(self):
        self.assertEqual(decide(4).action, SplitAction_Keep())

    def test_every_open_objective_is_in_one_part_and_there_are_as_many_as_may_be(self):
        for count in range(5, 60):
            for allowed in (2, 3, 8):
                parts = decide(count, parts=allowed).action.value
                self.assertTrue(2 <= len(parts) <= allowed)
                given = [id for part in parts for id in part.objectives]
                self.assertEqual(given, [f"o{n + 1}" for n in range(count)])

    def test_what_the_workflow_does_not_allow_is_kept(self):
        self.assertEqual(decide(9, depth=0).action, SplitAction_Keep())
        self.assertEqual(decide(9, wish=SplitTime.NEVER).action, SplitAction_Keep())
