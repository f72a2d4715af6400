"""What is done."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy


def decide(status=None, report_needed=False):
    host(policy, [("report-needed", types.SettingValue_Flag(report_needed))])
    reported = None if status is None else Seen(status=status, note="", by_session=True)
    session = Seen(objectives=[Seen(id="parser", reported=reported)])
    return policy.Completion().decide(Seen(session=session)).done


class CompletionTest(unittest.TestCase):
    def test_what_was_answered_is_done_but_for_what_is_reported_as_failed(self):
        self.assertEqual(decide(), ["parser"])
        self.assertEqual(decide(types.ObjectiveStatus.FAILED), [])

    def test_a_report_may_be_needed(self):
        self.assertEqual(decide(report_needed=True), [])
        self.assertEqual(decide(types.ObjectiveStatus.DONE, report_needed=True), ["parser"])
