// How many turns a scope gets.
#include "host.h"

static uint32_t turns(uint32_t base) {
    questions_budgeting_observation_t o = {.base_turns = {true, base}};
    questions_turn_budget_t answer;
    assert(exports_budgeting_decide(&o, &answer));
    return answer.max_turns.val;
}

int main(void) {
    host();
    assert(turns(25) == 25);
    // More turns are a setting.
    set("extra-turns-percent")->integer = 20;
    assert(turns(25) == 30);
}
