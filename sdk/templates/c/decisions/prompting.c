// What the next message to an agent says.
#include "baton.h"

void prompting_settings(void) { text_setting("rules", "", "What every prompt says at its end."); }

static bool is_in_focus(const questions_handoff_observation_t *o, string id) {
    for (size_t n = 0; n < o->focus.len; n++)
        if (same(o->focus.ptr[n], id)) return true;
    return false;
}

bool exports_prompting_compose(questions_handoff_observation_t *o, questions_prompt_t *answer) {
    page prompt = {0};
    add(&prompt, "Goal of the whole run: %s\n\n", line(o->goal));
    if (o->because.is_some) add(&prompt, "Why you are asked: %s\n\n", line(o->because.val));
    if (o->newest_handoff.is_some) add(&prompt, "Read %s first.\n\n", line(o->newest_handoff.val.path));
    add(&prompt, "Do this:\n");
    for (size_t n = 0; n < o->objectives.len; n++) {
        types_objective_t *one = &o->objectives.ptr[n];
        if (is_in_focus(o, one->id)) item(&prompt, "- %s: %s", line(one->id), line(one->description));
    }
    size_t in_focus = prompt.items;
    end_list(&prompt);
    *answer = (questions_prompt_t){.reason = format("%zu objectives are in focus", in_focus)};
    add_section(&answer->sections, "task", NULL, prompt.text, 0);
    string rules = get_text("rules");
    if (rules.len > 0) add_section(&answer->sections, "rules", NULL, format("\n%s", chars(rules)), 1);
    return true;
}
