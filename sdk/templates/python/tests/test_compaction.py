"""When room is made."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports.questions import CompactionAction_Compact, CompactionAction_Keep


def decide(used_tokens, given=()):
    host(policy, given)
    occupancy = Seen(used_tokens=used_tokens, window_tokens=200_000)
    return policy.Compaction().decide(Seen(session=Seen(occupancy=occupancy)))


class CompactionTest(unittest.TestCase):
    def test_a_half_empty_window_is_kept_and_a_full_one_is_compacted(self):
        self.assertEqual(decide(100_000).action, CompactionAction_Keep())
        self.assertEqual(decide(150_000).action, CompactionAction_Compact(None))
        self.assertEqual(decide(150_000).reason, "75 % of the window are used, and 70 % are allowed")

    def test_the_threshold_is_a_setting(self):
        given = [("compact-percent", types.SettingValue_Number(40.0))]
        self.assertEqual(decide(100_000, given).action, CompactionAction_Compact(None))

    def test_an_unknown_occupancy_is_kept(self):
        self.assertEqual(decide(None).action, CompactionAction_Keep())
