// Which large items need not lie in the context.
#include "baton.h"

void offloading_settings(void) {
    integer_setting("offload-tokens", 20000, 1, 10000000, "An item of more tokens than this becomes a reference.");
}

bool exports_offloading_decide(questions_offloading_observation_t *o, questions_offloading_decision_t *answer) {
    uint64_t most = get_integer("offload-tokens");
    list(&answer->items, o->items.len);
    for (size_t n = 0; n < o->items.len; n++)
        if (o->items.ptr[n].tokens > most) answer->items.ptr[answer->items.len++] = o->items.ptr[n].id;
    answer->reason = format("%zu of %zu items have more than %d tokens", answer->items.len, o->items.len, (int)most);
    return true;
}
