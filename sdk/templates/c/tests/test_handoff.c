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
    assert(is(answer.document, "# Handoff of Build the parser\n"
                               "## Done\n- lexer: Write src/lexer.rs\n"
                               "## Immediate next action\n- parser: Write src/parser.rs\n"
                               "## Changed files\n"));
}
