// When the agent says that its context is used up.
#include "host.h"

static questions_assessment_t answer;

static bool assess(types_channel_t channel, const char *said, uint8_t occasion, uint32_t prompt) {
    host();
    types_signal_t signal = {.channel = channel, .seq = 40, .prompt = prompt, .text = {0, strlen(said)}};
    questions_session_observation_t o = {.occasion.tag = occasion, .signals = {&signal, 1}, .session.prompts = 2};
    o.window = give_text(said);
    return exports_exhaustion_assess(&o, &answer);
}

int main(void) {
    // Its own words count at the end of a prompt or session.
    assert(assess(TYPES_CHANNEL_AGENT_TEXT, "It is done, but my context is full.", QUESTIONS_OCCASION_PROMPT_ENDED, 2));
    assert(answer.verdict.tag == QUESTIONS_VERDICT_EXHAUSTED);
    assert(answer.evidence.len == 1 && is(answer.evidence.ptr[0].text, "my context is full"));
    assert(assess(TYPES_CHANNEL_AGENT_TEXT, "Kontext voll.", QUESTIONS_OCCASION_SESSION_ENDED, 2));
    // The words of others, of another time and about something else do not.
    assert(!assess(TYPES_CHANNEL_TOOL_OUTPUT, "My context is full.", QUESTIONS_OCCASION_PROMPT_ENDED, 2));
    assert(!assess(TYPES_CHANNEL_AGENT_TEXT, "My context is full.", QUESTIONS_OCCASION_TURN, 2));
    assert(!assess(TYPES_CHANNEL_AGENT_TEXT, "My context is full.", QUESTIONS_OCCASION_PROMPT_ENDED, 1));
    assert(!assess(TYPES_CHANNEL_AGENT_TEXT, "The context window is small.", QUESTIONS_OCCASION_PROMPT_ENDED, 2));
}
