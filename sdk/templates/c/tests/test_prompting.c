// What prompts say.
#include "host.h"

int main(void) {
    host();
    types_objective_t objectives[] = {
        {.id = words("lexer"), .description = words("Write src/lexer.rs")},
        {.id = words("parser"), .description = words("Write src/parser.rs")},
    };
    string focus = words("parser");
    questions_handoff_observation_t o = {.goal = words("A parser."), .objectives = {objectives, 2}, .focus = {&focus, 1}};
    questions_prompt_t answer;
    assert(exports_prompting_compose(&o, &answer));
    string task = answer.sections.ptr[0].blocks.ptr[0].val.markdown;
    assert(has(task, "- parser: Write src/parser.rs"));
    assert(!has(task, "lexer"));
}
