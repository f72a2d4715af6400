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

int main(void) {
    // The rules stand before the last section, or at the end.
    assert(compose("Write it.\n\n## Reporting\nTo inbox.\n", 2));
    assert(is(answer.prompt, "Write it.\n\n## House rules\nNo TODO comments.\nTests first.\n\n## Reporting\nTo inbox.\n"));
    assert(is(answer.reason, "one objective"));
    assert(compose("Write it.\n", 1));
    assert(is(answer.prompt, "Write it.\n\n## House rules\nNo TODO comments.\n"));
    // It abstains without rules, without a next policy and without room.
    assert(!compose("Write it.", 0));
    assert(!compose(NULL, 2));
    char long_prompt[32760] = {0};
    memset(long_prompt, 'x', sizeof long_prompt - 1);
    assert(!compose(long_prompt, 2));
}
