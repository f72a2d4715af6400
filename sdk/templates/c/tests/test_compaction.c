// When room is made.
#include "host.h"

static questions_compaction_decision_t decide(uint64_t used) {
    types_occupancy_t occupancy = {.used_tokens = {used > 0, used}, .window_tokens = {true, 200000}};
    questions_compaction_observation_t o = {.session.occupancy = occupancy};
    questions_compaction_decision_t answer;
    assert(exports_compaction_decide(&o, &answer));
    return answer;
}

int main(void) {
    host();
    assert(decide(100000).action.tag == QUESTIONS_COMPACTION_ACTION_KEEP);
    assert(decide(150000).action.tag == QUESTIONS_COMPACTION_ACTION_COMPACT);
    assert(is(decide(150000).reason, "75 % of the window are used, and 70 % are allowed"));
    // An unknown occupancy is kept.
    assert(decide(0).action.tag == QUESTIONS_COMPACTION_ACTION_KEEP);
    // The threshold is a setting.
    set("compact-percent")->number = 40;
    assert(decide(100000).action.tag == QUESTIONS_COMPACTION_ACTION_COMPACT);
}
