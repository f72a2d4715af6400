// Which objectives of a prompt that was answered are done.
#include "baton.h"

void completion_settings(void) {
    flag_setting("report-needed", false, "Only what the agent reports as done is done; else its answer is enough.");
}

static bool is_done(const types_objective_t *objective) {
    // What this session itself reported counts more than that it answered.
    if (objective->reported.is_some && objective->reported.val.by_session)
        return objective->reported.val.status == TYPES_OBJECTIVE_STATUS_DONE;
    return !get_flag("report-needed");
}

bool exports_completion_decide(questions_completion_observation_t *o, questions_completion_decision_t *answer) {
    questions_list_objective_t all = o->session.objectives;
    *answer = (questions_completion_decision_t){0};
    list(&answer->done, all.len);
    for (size_t n = 0; n < all.len; n++)
        if (is_done(&all.ptr[n])) answer->done.ptr[answer->done.len++] = all.ptr[n].id;
    answer->reason = format("%zu of %zu objectives are done", answer->done.len, all.len);
    return true;
}
