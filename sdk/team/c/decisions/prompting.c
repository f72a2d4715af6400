// The prompts of the next policy, each with the rules of the house.
#include "baton.h"

// The section of the built-in policy that has to come last: it says how to report.
#define LAST_SECTION "reporting"

void prompting_settings(void) {
    texts_setting("house-rules", "", "The lines of the section that every prompt gets; without any, there is none.");
}

bool exports_prompting_compose(questions_handoff_observation_t *o, questions_prompt_t *answer) {
    string key = format("house-rules");
    guest_list_string_t rules;
    config_get_texts(&key, &rules);
    if (rules.len == 0 || !prompting_compose(o, answer)) return false;
    page lines = {0};
    for (size_t n = 0; n < rules.len; n++) add(&lines, "%s\n", chars(rules.ptr[n]));
    add_section(&answer->sections, "house-rules", "House rules", lines.text, 0);
    move_last_before(&answer->sections, LAST_SECTION);
    return true;
}
