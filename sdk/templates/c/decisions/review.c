// Whether a handoff is fit to start a successor.
#include "baton.h"

void review_settings(void) {
    integer_setting("accept-score", 70, 0, 100, "Points, of 100, that a handoff needs.");
}

static void find(questions_review_t *answer, uint32_t cost, string text) {
    // Further findings cost nothing: a document with this many has no points left.
    if (answer->findings.len == LINES) return;
    answer->findings.ptr[answer->findings.len++] = (questions_finding_t){.cost = cost, .text = text};
    answer->score -= cost < answer->score ? cost : answer->score;
}

bool exports_review_assess(questions_review_observation_t *o, questions_review_t *answer) {
    *answer = (questions_review_t){.score = 100};
    list(&answer->findings, LINES);
    for (size_t n = 0; n < o->secrets.len; n++)
        find(answer, 100, format("it contains a secret: %s", line(o->secrets.ptr[n])));
    for (size_t n = 0; n < o->missing_files.len; n++)
        find(answer, 10, format("it names %s, which is not there", line(o->missing_files.ptr[n])));
    // Each search costs fuel, so it ends with the last point.
    for (size_t n = 0; n < o->open_objectives.len && answer->score > 0; n++) {
        string id = o->open_objectives.ptr[n];
        if (!find_text(id, o->document)) find(answer, 20, format("it does not name the open objective %s", line(id)));
    }
    answer->staleness = o->commits_since == 0 ? QUESTIONS_STALENESS_FRESH : QUESTIONS_STALENESS_SLIGHTLY_STALE;
    answer->accepted = o->secrets.len == 0 && answer->score >= get_integer("accept-score");
    answer->reason = format("%d of 100", answer->score);
    return true;
}
