"""What becomes a reference."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy


def decide(tokens, given=()):
    host(policy, given)
    return policy.Offloading().decide(Seen(items=[Seen(id="result-1", tokens=tokens)])).items


class OffloadingTest(unittest.TestCase):
    def test_what_is_large_becomes_a_reference(self):
        self.assertEqual(decide(20_000), [])
        self.assertEqual(decide(20_001), ["result-1"])

    def test_what_is_large_is_a_setting(self):
        self.assertEqual(decide(9_000, [("offload-tokens", types.SettingValue_Integer(5_000))]), ["result-1"])
