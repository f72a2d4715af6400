// The section, and where it stands.
#include "host.h"

static questions_prompt_t answer;

static bool compose(const char *next, size_t count) {
    static string rules[2];
    rules[0] = words("No TODO comments."), rules[1] = words("Tests first.");
    host();
    give_next(next);
    set("house-rules")->texts = (guest_list_string_t){rules, count};
    questions_handoff_observation_t o = {0};
    return exports_prompting_compose(&o, &answer);
}

static bool is_section(size_t at, const char *id) { return is(answer.sections.ptr[at].id, id); }

int main(void) {
    // The rules stand before the last section, or at the end.
    assert(compose("opening reporting", 2) && answer.sections.len == 3);
    assert(is_section(0, "opening") && is_section(1, "house-rules") && is_section(2, "reporting"));
    questions_section_t rules = answer.sections.ptr[1];
    assert(is(rules.heading.val, "House rules"));
    assert(is(rules.blocks.ptr[0].val.markdown, "No TODO comments.\nTests first.\n"));
    assert(is(answer.reason, "one objective"));
    assert(compose("opening", 1) && answer.sections.len == 2 && is_section(1, "house-rules"));
    // It abstains without rules and without a next policy.
    assert(!compose("opening", 0));
    assert(!compose(NULL, 2));
}
