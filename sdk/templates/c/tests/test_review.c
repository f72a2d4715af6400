// Which handoffs are accepted.
#include "host.h"

static questions_review_t assess(const char *document, size_t secrets) {
    host();
    string secret = words("an API key"), open = words("parser");
    questions_review_observation_t o = {.secrets = {&secret, secrets}, .open_objectives = {&open, 1}};
    o.document = give_text(document);
    questions_review_t answer;
    assert(exports_review_assess(&o, &answer));
    return answer;
}

int main(void) {
    assert(assess("- parser: half of it", 0).score == 100);
    assert(assess("# nothing", 0).score == 80);
    // A secret is never accepted.
    assert(!assess("# parser", 1).accepted);
}
