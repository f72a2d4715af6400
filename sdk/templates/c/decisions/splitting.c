// Whether a scope is too large, and where its seams are.
#include "baton.h"

void splitting_settings(void) {
    integer_setting("objectives-at-most", 4, 1, 100, "Split a phase that has more open objectives than this.");
}

// Characters of a part's title.
#define TITLE_CHARS 60

static size_t divided(size_t count, size_t by) { return (count + by - 1) / by; }

bool exports_splitting_decide(questions_splitting_observation_t *o, questions_split_decision_t *answer) {
    guest_list_string_t open;
    list(&open, o->objectives.len);
    for (size_t n = 0; n < o->objectives.len; n++)
        if (o->objectives.ptr[n].status != TYPES_OBJECTIVE_STATUS_DONE) open.ptr[open.len++] = o->objectives.ptr[n].id;
    size_t most = get_integer("objectives-at-most");
    // A part of a split stays whole: the host bounds how deep splits go, and so does this policy.
    if (open.len <= most || o->phase.depth > 0 || o->limits.depth == 0) {
        answer->action.tag = QUESTIONS_SPLIT_ACTION_KEEP;
        answer->reason = format("%zu open objectives are few enough", open.len);
        return true;
    }
    // The workflow's word holds, unless the agent itself asks for a split: the host refuses another answer.
    if (o->wish == QUESTIONS_SPLIT_TIME_NEVER && o->occasion.tag != QUESTIONS_SPLIT_OCCASION_REQUESTED) {
        answer->action.tag = QUESTIONS_SPLIT_ACTION_KEEP;
        answer->reason = format("the workflow leaves it whole");
        return true;
    }
    // Parts of equal size, in the order of the file; every open objective is in exactly one.
    size_t allowed = o->limits.parts < 2 ? 2 : o->limits.parts;
    size_t half = divided(open.len, 2), share = divided(open.len, allowed), size = most < half ? most : half;
    if (size < share) size = share;
    questions_list_sub_phase_t *parts = &answer->action.val.split;
    list(parts, divided(open.len, size));
    for (size_t start = 0; start < open.len; start += size) {
        guest_list_string_t ids = {open.ptr + start, open.len - start < size ? open.len - start : size};
        page title = {0};
        for (size_t n = 0; n < ids.len; n++) add(&title, "%s%s", n ? ", " : "", chars(ids.ptr[n]));
        string short_title = cut(title.text, TITLE_CHARS);
        parts->ptr[parts->len++] = (questions_sub_phase_t){short_title, ids, QUESTIONS_ORDER_DIRECT, {0}};
    }
    answer->action.tag = QUESTIONS_SPLIT_ACTION_SPLIT;
    answer->reason = format("%zu open objectives are more than %zu: %zu parts", open.len, most, parts->len);
    return true;
}
