// How sessions are judged.
#include "host.h"

static questions_assessment_t assess(types_channel_t channel, const char *said, questions_occasion_t occasion, uint64_t answer_bytes) {
    host();
    types_signal_t signal = {.channel = channel, .seq = 40, .text = {0, strlen(said)}};
    questions_session_observation_t o = {.occasion = occasion, .signals = {&signal, 1}, .answer_bytes = answer_bytes};
    o.window = give_text(said);
    questions_assessment_t answer;
    assert(exports_exhaustion_assess(&o, &answer));
    return answer;
}

int main(void) {
    questions_occasion_t ended = {.tag = QUESTIONS_OCCASION_PROMPT_ENDED};
    questions_assessment_t said = assess(TYPES_CHANNEL_PROVIDER_ERROR, "400: Prompt is too long", ended, 0);
    assert(said.verdict.tag == QUESTIONS_VERDICT_EXHAUSTED);
    assert(is(said.evidence.ptr[0].text, "400: Prompt is too long"));
    // What a tool printed is not evidence.
    said = assess(TYPES_CHANNEL_TOOL_OUTPUT, "context window", ended, 9);
    assert(said.verdict.tag == QUESTIONS_VERDICT_ANSWERED);
    // A session that works is healthy.
    questions_occasion_t turn = {.tag = QUESTIONS_OCCASION_TURN};
    said = assess(TYPES_CHANNEL_AGENT_TEXT, "the context window is small", turn, 0);
    assert(said.verdict.tag == QUESTIONS_VERDICT_HEALTHY);
    // What ended without an answer has failed.
    said = assess(TYPES_CHANNEL_AGENT_TEXT, "", ended, 0);
    assert(said.verdict.tag == QUESTIONS_VERDICT_FAILED);
}
