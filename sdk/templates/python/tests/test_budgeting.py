"""How many turns a scope gets."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy


class BudgetingTest(unittest.TestCase):
    def test_more_turns_are_a_setting(self):
        host(policy)
        self.assertEqual(policy.Budgeting().decide(Seen(base_turns=25)).max_turns, 25)
        host(policy, [("extra-turns-percent", types.SettingValue_Integer(20))])
        self.assertEqual(policy.Budgeting().decide(Seen(base_turns=25)).max_turns, 30)
