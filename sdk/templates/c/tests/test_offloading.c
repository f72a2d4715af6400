// What becomes a reference.
#include "host.h"

static size_t offloaded(uint64_t tokens) {
    questions_item_t item = {.id = words("result-1"), .tokens = tokens};
    questions_offloading_observation_t o = {.items = {&item, 1}};
    questions_offloading_decision_t answer;
    assert(exports_offloading_decide(&o, &answer));
    return answer.items.len;
}

int main(void) {
    host();
    assert(offloaded(20000) == 0);
    assert(offloaded(20001) == 1);
    // What is large is a setting.
    set("offload-tokens")->integer = 5000;
    assert(offloaded(9000) == 1);
}
