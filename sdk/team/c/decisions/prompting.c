// The prompts of the next policy, each with the rules of the house.
#include "baton.h"
#include <string.h>

// Bytes of a prompt.
#define PROMPT_BYTES (32 << 10)
// The section of the built-in policy that has to come last: it says how to report.
#define LAST_SECTION "\n## Reporting\n"

void prompting_settings(void) {
    texts_setting("house-rules", "", "The lines of the section that every prompt gets; without any, there is none.");
}

// Where the last section begins, or where the prompt ends.
static size_t end_of(string prompt) {
    size_t bytes = strlen(LAST_SECTION);
    for (size_t end = prompt.len; end >= bytes; end--)
        if (memcmp(prompt.ptr + end - bytes, LAST_SECTION, bytes) == 0) return end - bytes;
    return prompt.len;
}

bool exports_prompting_compose(questions_handoff_observation_t *o, questions_prompt_t *answer) {
    string key = format("house-rules");
    guest_list_string_t rules;
    config_get_texts(&key, &rules);
    if (rules.len == 0 || !prompting_compose(o, answer)) return false;
    string written = answer->prompt;
    size_t end = end_of(written);
    page prompt = {0};
    add(&prompt, "%s\n## House rules\n", chars((string){written.ptr, end}));
    for (size_t n = 0; n < rules.len; n++) add(&prompt, "%s\n", chars(rules.ptr[n]));
    add(&prompt, "%s", chars((string){written.ptr + end, written.len - end}));
    answer->prompt = prompt.text;
    // Without room for them, the next policy's prompt goes out as it is.
    return prompt.text.len <= PROMPT_BYTES;
}
