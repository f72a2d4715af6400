// What a session leaves to the one after it.
#include "baton.h"

void handoff_settings(void) {}

static void objectives(page *page, questions_list_objective_t all, bool done) {
    for (size_t n = 0; n < all.len; n++)
        if ((all.ptr[n].status == TYPES_OBJECTIVE_STATUS_DONE) == done)
            item(page, "- %s: %s", line(all.ptr[n].id), line(all.ptr[n].description));
    end_list(page);
}

bool exports_handoff_compose(questions_handoff_observation_t *o, questions_composition_t *answer) {
    page document = {0};
    const char *title = line(o->phase.title);
    add(&document, "# Handoff of %s\n## Done\n", title);
    objectives(&document, o->objectives, true);
    add(&document, "## Immediate next action\n");
    objectives(&document, o->objectives, false);
    add(&document, "## Changed files\n");
    for (size_t n = 0; n < o->changed_files.len; n++) item(&document, "- `%s`", line(o->changed_files.ptr[n].path));
    end_list(&document);
    *answer = (questions_composition_t){
        .document = document.text,
        .index = format("- %s: %s\n", utc(o->asked_at_ms), title),
        .continuer = QUESTIONS_CONTINUER_SUCCESSOR,
        .reason = format("objectives and files, as the host knows them"),
    };
    return true;
}
