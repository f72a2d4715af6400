// How many turns a scope may take.
#include "baton.h"

void budgeting_settings(void) {
    integer_setting("extra-turns-percent", 0, 0, 900, "Turns beyond those of the table, in percent of them.");
}

bool exports_budgeting_decide(questions_budgeting_observation_t *o, questions_turn_budget_t *answer) {
    int percent = 100 + (int)get_integer("extra-turns-percent");
    uint64_t turns = ((uint64_t)o->base_turns.val * percent + 99) / 100;
    // A table without a cap leaves it without one.
    answer->max_turns = (guest_option_u32_t){o->base_turns.is_some, turns < UINT32_MAX ? turns : UINT32_MAX};
    answer->reason = format("%d %% of the table's value", percent);
    return true;
}
