"""When room is made."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports.questions import CompactionAction_Compact, CompactionAction_HandOff, CompactionDecision


def ended(ended_by, peak_tokens, agent="claude"):
    return Seen(agent=agent, ended_by=ended_by, peak_tokens=peak_tokens)


def decide(used_tokens, past, capabilities=types.Capabilities.COMPACTS, given=()):
    host(policy, given, past=past)
    session = Seen(agent="claude", capabilities=capabilities, occupancy=Seen(used_tokens=used_tokens))
    return policy.Compaction().decide(Seen(session=session))


class CompactionTest(unittest.TestCase):
    def test_room_is_made_below_the_smallest_limit_that_was_learned(self):
        past = [ended("exhausted", 150_000), ended("failed", 40_000), ended("exhausted", 120_000)]
        self.assertIsNone(decide(95_999, past))
        reason = "96000 tokens are used, and an earlier session was exhausted at 120000"
        self.assertEqual(decide(96_000, past), CompactionDecision(CompactionAction_Compact(None), reason))
        self.assertEqual(decide(96_000, past, types.Capabilities(0)).action, CompactionAction_HandOff())
        given = [("learned-percent", types.SettingValue_Number(50.0))]
        self.assertIsNotNone(decide(60_000, past, given=given))

    def test_without_such_a_session_it_abstains(self):
        for past in [], [ended("exhausted", None)], [ended("exhausted", 100_000, "codex")], [ended(None, 9)]:
            self.assertIsNone(decide(190_000, past))
