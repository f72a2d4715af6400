// Whether the agent itself says that its context is used up.
#include "baton.h"

void exhaustion_settings(void) {
    texts_setting("own-words",
                  "my context is full\n"
                  "my context window is full\n"
                  "my context is used up\n"
                  "i have run out of context\n"
                  "i am out of context\n"
                  "kontext voll",
                  "What an agent says of itself when its context is used up; ASCII letters match in either case.");
}

// The last words of the agent in the current prompt; NULL if it said nothing.
static types_signal_t *last_words(questions_session_observation_t *o) {
    for (size_t n = o->signals.len; n-- > 0;) {
        types_signal_t *signal = &o->signals.ptr[n];
        if (signal->channel == TYPES_CHANNEL_AGENT_TEXT && signal->prompt == o->session.prompts) return signal;
    }
    return NULL;
}

bool exports_exhaustion_assess(questions_session_observation_t *o, questions_assessment_t *answer) {
    uint8_t occasion = o->occasion.tag;
    if (occasion != QUESTIONS_OCCASION_PROMPT_ENDED && occasion != QUESTIONS_OCCASION_SESSION_ENDED) return false;
    types_signal_t *last = last_words(o);
    if (!last) return false;
    string key = format("own-words");
    text_list_hit_t hits;
    text_find_setting(o->window, &last->text, &key, 1, &hits);
    if (hits.len == 0) return false;
    string said = slice(o->window, hits.ptr[0].at.start, hits.ptr[0].at.end);
    *answer = (questions_assessment_t){.verdict.tag = QUESTIONS_VERDICT_EXHAUSTED};
    list(&answer->evidence, 1);
    answer->evidence.ptr[answer->evidence.len++] = (types_evidence_t){last->channel, {true, last->seq}, said};
    answer->reason = format("the agent says that its context is used up");
    return true;
}
