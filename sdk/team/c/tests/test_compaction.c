// When room is made.
#include "host.h"

static questions_compaction_decision_t answer;

static bool decide(uint64_t used, types_capabilities_t capabilities) {
    questions_compaction_observation_t o = {.session = {.agent = words("claude"), .capabilities = capabilities}};
    o.session.occupancy.used_tokens = (guest_option_u64_t){used > 0, used};
    return exports_compaction_decide(&o, &answer);
}

int main(void) {
    // Room is made below the smallest limit that was learned.
    host();
    give_past("claude", "exhausted", 150000);
    give_past("claude", "failed", 40000);
    give_past("claude", "exhausted", 120000);
    assert(!decide(95999, TYPES_CAPABILITIES_COMPACTS));
    assert(decide(96000, TYPES_CAPABILITIES_COMPACTS));
    assert(answer.action.tag == QUESTIONS_COMPACTION_ACTION_COMPACT && !answer.action.val.compact.is_some);
    assert(is(answer.reason, "96000 tokens are used, and an earlier session was exhausted at 120000"));
    assert(decide(96000, 0) && answer.action.tag == QUESTIONS_COMPACTION_ACTION_HAND_OFF);
    set("learned-percent")->number = 50;
    assert(decide(60000, 0));
    assert(!decide(0, 0));
    // Without such a session it abstains.
    host();
    give_past("claude", "exhausted", 0);
    give_past("codex", "exhausted", 100000);
    give_past("claude", NULL, 9);
    assert(!decide(190000, TYPES_CAPABILITIES_COMPACTS));
}
