"""What is split along which folders, natively; golden/ holds whole decisions of the component.

`python3 build.py bindings`, then `python3 -m unittest`.
"""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports.questions import (
    Order,
    SplitAction_AskPerson,
    SplitAction_Keep,
    SplitOccasion_Boundary,
    SplitOccasion_OutOfContinuations,
    SplitOccasion_PhaseStart,
    SplitOccasion_Requested,
    SplitTime,
)

OPEN = types.ObjectiveStatus.OPEN


def decide(descriptions, occasion=SplitOccasion_PhaseStart(), parts=26, wish=SplitTime.DURING, **given):
    host(policy, [(key.replace("_", "-"), types.SettingValue_Integer(value)) for key, value in given.items()])
    objectives = [Seen(id=f"o{n}", description=text, status=OPEN) for n, text in enumerate(descriptions, 1)]
    limits = Seen(parts=parts, depth=2)
    seen = Seen(objectives=objectives, occasion=occasion, limits=limits, wish=wish, phase=Seen(id="20", depth=0))
    return policy.Splitting().decide(seen)


FIVE = [
    "Write src/lexer/mod.rs",
    "Write `src/parser/mod.rs`, with errors",
    "Cover tests/lexer/all.rs",
    "Say it in the README",
    "Mend src/parser/expr.rs.",
]


class ByFolderTest(unittest.TestCase):
    def test_one_part_a_folder_with_its_tests(self):
        parts = decide(FIVE).action.value
        self.assertEqual(
            [(one.title, one.objectives, one.order) for one in parts],
            [
                ("lexer", ["o1", "o3"], Order.MINI_PLAN),
                ("parser", ["o2", "o5"], Order.MINI_PLAN),
                ("everything else", ["o4"], Order.DIRECT),
            ],
        )

    def test_the_smallest_folders_are_put_together(self):
        parts = decide([*FIVE, "Mend src/parser/x.rs"], parts=2).action.value
        self.assertEqual([one.objectives for one in parts], [["o1", "o3", "o4"], ["o2", "o5", "o6"]])

    def test_what_is_small_or_in_one_folder_is_kept(self):
        self.assertEqual(decide(FIVE[:4]).action, SplitAction_Keep())
        self.assertEqual(decide(["Write src/lexer.rs", "Cover tests/lexer_test.rs"] * 3).action, SplitAction_Keep())
        self.assertEqual(decide(FIVE, SplitOccasion_Boundary()).action, SplitAction_Keep())
        self.assertIsInstance(decide(FIVE[:1], SplitOccasion_OutOfContinuations()).action, SplitAction_AskPerson)

    def test_a_workflow_that_says_never_is_split_at_an_agents_request_only(self):
        self.assertEqual(decide(FIVE, wish=SplitTime.NEVER).action, SplitAction_Keep())
        stuck = decide(FIVE, SplitOccasion_OutOfContinuations(), wish=SplitTime.NEVER).action
        self.assertIsInstance(stuck, SplitAction_AskPerson)
        self.assertEqual(len(decide(FIVE, SplitOccasion_Requested(), wish=SplitTime.NEVER).action.value), 3)

    def test_the_depth_of_folders_is_a_setting(self):
        deep = [f"Write src/a/{name}/x.rs" for name in "abcde"]
        self.assertEqual(decide(deep).action, SplitAction_Keep())
        self.assertEqual(len(decide(deep, folder_depth=2).action.value), 5)
