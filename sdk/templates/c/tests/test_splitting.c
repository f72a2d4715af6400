// What is split, and into what.
#include "host.h"

static questions_split_action_t decide_as(size_t count, uint32_t parts, uint32_t depth, questions_split_time_t wish) {
    questions_splitting_observation_t o = {.limits = {parts, depth}, .wish = wish};
    list(&o.objectives, count);
    while (o.objectives.len < count) {
        string id = format("o%zu", o.objectives.len);
        o.objectives.ptr[o.objectives.len++] = (types_objective_t){.id = id};
    }
    questions_split_decision_t answer;
    assert(exports_splitting_decide(&o, &answer));
    return answer.action;
}

static questions_split_action_t decide(size_t count, uint32_t parts, uint32_t depth) {
    return decide_as(count, parts, depth, QUESTIONS_SPLIT_TIME_DURING);
}

int main(void) {
    host();
    // A small phase is kept, and so is one that the workflow does not allow to be split.
    assert(decide(4, 26, 2).tag == QUESTIONS_SPLIT_ACTION_KEEP);
    assert(decide(9, 26, 0).tag == QUESTIONS_SPLIT_ACTION_KEEP);
    assert(decide_as(9, 26, 2, QUESTIONS_SPLIT_TIME_NEVER).tag == QUESTIONS_SPLIT_ACTION_KEEP);
    // Every open objective is in exactly one part, and there are as many parts as may be.
    for (size_t count = 5; count < 60; count++) {
        for (uint32_t allowed = 2; allowed < 9; allowed++) {
            questions_list_sub_phase_t parts = decide(count, allowed, 2).val.split;
            assert(parts.len >= 2 && parts.len <= allowed);
            size_t given = 0;
            for (size_t part = 0; part < parts.len; part++)
                for (size_t n = 0; n < parts.ptr[part].objectives.len; n++)
                    assert(is(parts.ptr[part].objectives.ptr[n], chars(format("o%zu", given++))));
            assert(given == count);
        }
    }
}
