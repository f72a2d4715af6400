"""What is done about a session that is not well."""

import unittest
from types import SimpleNamespace as Seen

from tests.host import host, types
import policy
from wit_world.imports import questions


def decide(verdict, nudges=0):
    host(policy)
    session = Seen(exit=None, capabilities=types.Capabilities.INTERRUPTS)
    seen = Seen(session=Seen(session=session, nudges=nudges), assessment=Seen(verdict=verdict))
    return policy.Recovery().decide(seen).action


class RecoveryTest(unittest.TestCase):
    def test_a_session_is_asked_once_for_what_is_missing(self):
        self.assertEqual(decide(questions.Verdict_Answered()), questions.RecoveryAction_Nudge())
        self.assertEqual(decide(questions.Verdict_Answered(), 1), questions.RecoveryAction_Retry())

    def test_a_silent_one_is_interrupted(self):
        self.assertEqual(decide(questions.Verdict_Stalled()), questions.RecoveryAction_Interrupt())

    def test_a_new_session_continues_one_that_is_used_up_and_replaces_one_that_failed(self):
        self.assertEqual(decide(questions.Verdict_Exhausted()), questions.RecoveryAction_HandOff())
        self.assertEqual(decide(questions.Verdict_Failed()), questions.RecoveryAction_Retry())
