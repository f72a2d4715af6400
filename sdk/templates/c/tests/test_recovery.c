// What is done about a session that is not well.
#include "host.h"

static uint8_t decide(uint8_t verdict, uint32_t nudges) {
    host();
    questions_recovery_observation_t o = {.assessment.verdict.tag = verdict, .session.nudges = nudges};
    o.session.session.capabilities = TYPES_CAPABILITIES_INTERRUPTS;
    questions_recovery_decision_t answer;
    assert(exports_recovery_decide(&o, &answer));
    return answer.action.tag;
}

int main(void) {
    // A session is asked once for what is missing.
    assert(decide(QUESTIONS_VERDICT_ANSWERED, 0) == QUESTIONS_RECOVERY_ACTION_NUDGE);
    assert(decide(QUESTIONS_VERDICT_ANSWERED, 1) == QUESTIONS_RECOVERY_ACTION_RETRY);
    // A silent one is interrupted.
    assert(decide(QUESTIONS_VERDICT_STALLED, 0) == QUESTIONS_RECOVERY_ACTION_INTERRUPT);
    // A new session continues one that is used up, and replaces one that failed.
    assert(decide(QUESTIONS_VERDICT_EXHAUSTED, 0) == QUESTIONS_RECOVERY_ACTION_HAND_OFF);
    assert(decide(QUESTIONS_VERDICT_FAILED, 0) == QUESTIONS_RECOVERY_ACTION_RETRY);
}
