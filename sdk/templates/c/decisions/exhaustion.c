// How a session is, or why it stopped.
#include "baton.h"

void exhaustion_settings(void) {
    texts_setting("exhausted-phrases", "prompt is too long\ncontext window\ncontext length",
                  "What an agent or its provider says when the context is used up, in any case.");
}

// Characters of a signal that are quoted as evidence.
#define QUOTED_CHARS 50

bool exports_exhaustion_assess(questions_session_observation_t *o, questions_assessment_t *answer) {
    *answer = (questions_assessment_t){.verdict.tag = QUESTIONS_VERDICT_HEALTHY, .reason = format("it works")};
    // While it works it may still recover; only what has ended is judged.
    uint8_t occasion = o->occasion.tag;
    if (occasion != QUESTIONS_OCCASION_PROMPT_ENDED && occasion != QUESTIONS_OCCASION_SESSION_ENDED) return true;
    for (size_t n = 0; n < o->signals.len; n++) {
        types_signal_t signal = o->signals.ptr[n];
        // What a tool printed is not evidence: an agent may read a file about context windows.
        if (signal.channel == TYPES_CHANNEL_TOOL_OUTPUT) continue;
        if (!find_setting("exhausted-phrases", o->window, signal.text)) continue;
        string words = cut(slice(o->window, signal.text.start, signal.text.end), QUOTED_CHARS);
        list(&answer->evidence, 1);
        answer->evidence.ptr[answer->evidence.len++] = (types_evidence_t){signal.channel, {true, signal.seq}, words};
        answer->verdict.tag = QUESTIONS_VERDICT_EXHAUSTED;
        answer->reason = format("its context is used up");
        return true;
    }
    bool answered = o->answer_bytes > 0 || o->files_changed > 0;
    answer->verdict.tag = answered ? QUESTIONS_VERDICT_ANSWERED : QUESTIONS_VERDICT_FAILED;
    answer->reason = format(answered ? "it answered" : "it ended without an answer");
    return true;
}
