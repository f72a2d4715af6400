// Whether to make room in the context between two prompts.
#include "baton.h"

void compaction_settings(void) {
    number_setting("compact-percent", 70, 1, 99, "Compact from this occupancy, in percent of the window.");
}

bool exports_compaction_decide(questions_compaction_observation_t *o, questions_compaction_decision_t *answer) {
    guest_option_u64_t used = o->session.occupancy.used_tokens, window = o->session.occupancy.window_tokens;
    *answer = (questions_compaction_decision_t){.action.tag = QUESTIONS_COMPACTION_ACTION_KEEP};
    if (!used.is_some || !window.is_some || window.val == 0) {
        answer->reason = format("nobody knows how full the window is");
        return true;
    }
    double percent = (double)used.val * 100 / (double)window.val, threshold = get_number("compact-percent");
    if (percent < threshold) {
        answer->reason = format("%llu %% of the window are used", (unsigned long long)percent);
        return true;
    }
    answer->action.tag = QUESTIONS_COMPACTION_ACTION_COMPACT;
    answer->reason = format("%llu %% of the window are used, and %d %% are allowed", (unsigned long long)percent, (int)threshold);
    return true;
}
