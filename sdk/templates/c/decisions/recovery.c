// What to do about a session that is not well, or whose objectives are not done.
#include "baton.h"

void recovery_settings(void) {
    integer_setting("nudges-at-most", 1, 0, 10, "Prompts that a session gets again before a new session takes over.");
}

bool exports_recovery_decide(questions_recovery_observation_t *o, questions_recovery_decision_t *answer) {
    types_session_t *session = &o->session.session;
    bool may_nudge = !session->exit.is_some && o->session.nudges < get_integer("nudges-at-most");
    *answer = (questions_recovery_decision_t){.action.tag = QUESTIONS_RECOVERY_ACTION_RETRY};
    answer->reason = format("a new session tries again");
    switch (o->assessment.verdict.tag) {
    case QUESTIONS_VERDICT_QUOTA:
        answer->action.tag = QUESTIONS_RECOVERY_ACTION_WAIT;
        answer->reason = format("a provider's limit is waited for");
        break;
    case QUESTIONS_VERDICT_EXHAUSTED:
    case QUESTIONS_VERDICT_HANDED_OFF:
    case QUESTIONS_VERDICT_TURN_LIMIT:
    case QUESTIONS_VERDICT_BUDGET_LIMIT:
        answer->action.tag = QUESTIONS_RECOVERY_ACTION_HAND_OFF;
        answer->reason = format("a new session continues from its handoff");
        break;
    case QUESTIONS_VERDICT_STALLED:
        if (!may_nudge || !(session->capabilities & TYPES_CAPABILITIES_INTERRUPTS)) break;
        answer->action.tag = QUESTIONS_RECOVERY_ACTION_INTERRUPT;
        answer->reason = format("it is silent, and is asked to go on");
        break;
    case QUESTIONS_VERDICT_ANSWERED:
    case QUESTIONS_VERDICT_TRUNCATED:
        if (!may_nudge) break;
        answer->action.tag = QUESTIONS_RECOVERY_ACTION_NUDGE;
        answer->reason = format("it is asked for what is missing");
        break;
    }
    return true;
}
