// What is split, and into what.
#include "host.h"

static const char *FIVE[] = {"Write src/lexer.rs.", "Describe `docs/lexer.md`.", "Write src/parser.rs.", "Name it and/or not.",
                             "Write docs/a.md"};

// The parts as "src o1 o3, docs o2 o5"; empty if it abstains.
static string parts(const char **descriptions, size_t count, questions_split_limits_t limits, questions_split_time_t wish,
                    uint8_t occasion) {
    questions_splitting_observation_t o = {.limits = limits, .wish = wish, .occasion.tag = occasion};
    list(&o.objectives, count);
    while (o.objectives.len < count) {
        types_objective_t *one = &o.objectives.ptr[o.objectives.len];
        one->description = words(descriptions[o.objectives.len++]);
        one->id = format("o%zu", o.objectives.len);
    }
    questions_split_decision_t answer;
    page said = {0};
    if (!exports_splitting_decide(&o, &answer)) return said.text;
    for (size_t n = 0; n < answer.action.val.split.len; n++) {
        questions_sub_phase_t part = answer.action.val.split.ptr[n];
        add(&said, "%s%s", n ? ", " : "", chars(part.title));
        for (size_t id = 0; id < part.objectives.len; id++) add(&said, " %s", chars(part.objectives.ptr[id]));
    }
    return said.text;
}

int main(void) {
    host();
    const uint8_t starts = QUESTIONS_SPLIT_OCCASION_PHASE_START;
    questions_split_limits_t limits = {26, 2}, two_parts = {2, 2}, no_depth = {26, 0};
    questions_split_time_t during = QUESTIONS_SPLIT_TIME_DURING;
    // One part per folder.
    assert(is(parts(FIVE, 5, limits, during, starts), "src o1 o3, docs o2 o5, other files o4"));
    // It abstains from what is small, in one folder or not allowed.
    const char *one[] = {"src/a.c", "src/b.c", "src/c.c", "src/d.c", "src/e.c"};
    assert(parts(FIVE, 4, limits, during, starts).len == 0);
    assert(parts(one, 5, limits, during, starts).len == 0);
    assert(parts(FIVE, 5, two_parts, during, starts).len == 0);
    assert(parts(FIVE, 5, no_depth, during, starts).len == 0);
    assert(parts(FIVE, 5, limits, QUESTIONS_SPLIT_TIME_NEVER, starts).len == 0);
    assert(parts(FIVE, 5, limits, during, QUESTIONS_SPLIT_OCCASION_BOUNDARY).len == 0);
}
