// What handoffs say.
#include "host.h"

int main(void) {
    host();
    types_objective_t objectives[] = {
        {.id = words("lexer"), .description = words("Write src/lexer.rs"), .status = TYPES_OBJECTIVE_STATUS_DONE},
        {.id = words("parser"), .description = words("Write src/parser.rs")},
    };
    questions_handoff_observation_t o = {.phase.title = words("Build\nthe parser"), .objectives = {objectives, 2}};
    questions_composition_t answer;
    assert(exports_handoff_compose(&o, &answer));
    questions_section_t *title = answer.document.ptr, *done = title + 1, *next = title + 2;
    assert(is(title->blocks.ptr[0].val.markdown, "# Handoff of Build the parser"));
    assert(is(done->heading.val, "Done") && is(done->blocks.ptr[0].val.markdown, "- lexer: Write src/lexer.rs\n"));
    assert(is(next->blocks.ptr[0].val.markdown, "- parser: Write src/parser.rs\n"));
}
