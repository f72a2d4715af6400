// What is done.
#include "host.h"

// With a report of this session, unless it is negative.
static size_t done(int status) {
    types_objective_t objective = {.id = words("parser")};
    objective.reported.is_some = status >= 0;
    objective.reported.val = (types_status_report_t){.status = (uint8_t)status, .by_session = true};
    questions_completion_observation_t o = {.session.objectives = {&objective, 1}};
    questions_completion_decision_t answer;
    assert(exports_completion_decide(&o, &answer));
    return answer.done.len;
}

int main(void) {
    host();
    assert(done(-1) == 1);
    assert(done(TYPES_OBJECTIVE_STATUS_FAILED) == 0);
    // A report may be needed.
    set("report-needed")->flag = true;
    assert(done(-1) == 0);
    assert(done(TYPES_OBJECTIVE_STATUS_DONE) == 1);
}
