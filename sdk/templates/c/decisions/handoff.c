// What a session leaves to the one after it.
#include "baton.h"

void handoff_settings(void) {}

static string objectives(questions_list_objective_t all, bool done) {
    page page = {0};
    for (size_t n = 0; n < all.len; n++)
        if ((all.ptr[n].status == TYPES_OBJECTIVE_STATUS_DONE) == done)
            item(&page, "- %s: %s", line(all.ptr[n].id), line(all.ptr[n].description));
    end_list(&page);
    return page.text;
}

bool exports_handoff_compose(questions_handoff_observation_t *o, questions_composition_t *answer) {
    page files = {0};
    for (size_t n = 0; n < o->changed_files.len; n++) item(&files, "- `%s`", line(o->changed_files.ptr[n].path));
    end_list(&files);
    *answer = (questions_composition_t){
        .continuer = QUESTIONS_CONTINUER_SUCCESSOR,
        .reason = format("objectives and files, as the host knows them"),
    };
    const char *title = line(o->phase.title);
    add_section(&answer->document, "title", NULL, format("# Handoff of %s", title), 0);
    add_section(&answer->document, "done", "Done", objectives(o->objectives, true), 0);
    add_section(&answer->document, "next", "Immediate next action", objectives(o->objectives, false), 0);
    add_section(&answer->document, "files", "Changed files", files.text, 1);
    add_section(&answer->index, "index", NULL, format("- %s: %s", utc(o->asked_at_ms), title), 0);
    return true;
}
