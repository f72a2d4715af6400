// Room in the context before the limit at which an earlier session was exhausted.
#include "baton.h"

// As many as the host tells of.
#define PAST_SESSIONS 16

void compaction_settings(void) {
    number_setting("learned-percent", 80, 1, 100,
                   "Make room from this percentage of the tokens that exhausted an earlier session of the agent.");
}

// The fewest tokens at which a session of this agent was exhausted; 0 if that is not known.
static uint64_t learned_limit(string agent) {
    facts_history_list_past_session_t past;
    facts_history_past_sessions(PAST_SESSIONS, &past);
    uint64_t limit = 0;
    for (size_t n = 0; n < past.len; n++) {
        facts_history_past_session_t *one = &past.ptr[n];
        bool is_exhausted = one->ended_by.is_some && same(one->ended_by.val, format("exhausted"));
        if (!is_exhausted || !same(one->agent, agent) || !one->peak_tokens.is_some) continue;
        uint64_t peak = one->peak_tokens.val;
        if (peak > 0 && (limit == 0 || peak < limit)) limit = peak;
    }
    return limit;
}

bool exports_compaction_decide(questions_compaction_observation_t *o, questions_compaction_decision_t *answer) {
    guest_option_u64_t used = o->session.occupancy.used_tokens;
    if (!used.is_some) return false;
    uint64_t limit = learned_limit(o->session.agent);
    if (limit == 0 || (double)used.val * 100 < (double)limit * get_number("learned-percent")) return false;
    bool compacts = o->session.capabilities & TYPES_CAPABILITIES_COMPACTS;
    *answer = (questions_compaction_decision_t){0};
    answer->action.tag = compacts ? QUESTIONS_COMPACTION_ACTION_COMPACT : QUESTIONS_COMPACTION_ACTION_HAND_OFF;
    answer->reason = format("%llu tokens are used, and an earlier session was exhausted at %llu", (unsigned long long)used.val,
                            (unsigned long long)limit);
    return true;
}
