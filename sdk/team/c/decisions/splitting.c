// A large phase whose objectives name files in several top folders: one part per folder.
#include "baton.h"
#include <string.h>

// Characters of a part's title.
#define TITLE_CHARS 60
// The part of the objectives that name no folder.
#define REST "other files"
// Marks around a path in a sentence.
#define AROUND "\"'`()[]<>,;:!?"

void splitting_settings(void) {
    integer_setting("objectives-at-most", 4, 1, 100,
                    "Split a phase that has more open objectives than this, and in more than one top folder.");
}

static bool is_one_of(uint8_t byte, const char *bytes) { return byte != 0 && strchr(bytes, byte); }

// The first folder of a relative path; empty if it has none.
static string top(string path) {
    if (path.len >= 2 && memcmp(path.ptr, "./", 2) == 0) path = (string){path.ptr + 2, path.len - 2};
    for (size_t at = 0; at < path.len; at++)
        if (path.ptr[at] == '/') return (string){path.ptr, at};
    return (string){0};
}

// The top folder of a word that is a path: it has a folder, and its last name has a dot or is empty.
static string named(string word) {
    while (word.len > 0 && is_one_of(word.ptr[word.len - 1], AROUND)) word.len--;
    while (word.len > 0 && is_one_of(word.ptr[0], AROUND)) word.ptr++, word.len--;
    size_t end = word.len;
    while (end > 0 && word.ptr[end - 1] == '.') end--;
    size_t start = end;
    while (start > 0 && word.ptr[start - 1] != '/') start--;
    bool is_file = start == end || memchr(word.ptr + start, '.', end - start);
    return is_file && !contains(word, format("://")) ? top(word) : (string){0};
}

// The top folder of the first file that an objective names; empty if it names none.
static string folder(types_objective_t *objective) {
    if (objective->expected_files.len > 0) return top(objective->expected_files.ptr[0].path);
    string words = objective->description, found = {0};
    for (size_t start = 0, end; start < words.len && found.len == 0; start = end + 1) {
        for (end = start; end < words.len && !is_one_of(words.ptr[end], " \t\r\n");) end++;
        found = named((string){words.ptr + start, end - start});
    }
    return found;
}

bool exports_splitting_decide(questions_splitting_observation_t *o, questions_split_decision_t *answer) {
    bool is_allowed = o->phase.depth < o->limits.depth && o->wish != QUESTIONS_SPLIT_TIME_NEVER;
    if (o->occasion.tag != QUESTIONS_SPLIT_OCCASION_PHASE_START || !is_allowed) return false;
    // In the order in which the objectives name them; `of` has the folder of each part.
    size_t most = o->objectives.len, open = 0, folders = 0;
    questions_list_sub_phase_t parts;
    list(&parts, most);
    string *of = calloc(most + 1, sizeof *of);
    for (size_t n = 0; n < most; n++) {
        types_objective_t *objective = &o->objectives.ptr[n];
        if (objective->status == TYPES_OBJECTIVE_STATUS_DONE) continue;
        open++;
        string found = folder(objective);
        size_t place = 0;
        while (place < parts.len && !same(of[place], found)) place++;
        questions_sub_phase_t *part = &parts.ptr[place];
        if (place == parts.len) {
            parts.len++;
            of[place] = found;
            folders += found.len > 0;
            part->title = cut(found.len > 0 ? found : format(REST), TITLE_CHARS);
            part->order = QUESTIONS_ORDER_DIRECT;
            list(&part->objectives, most);
        }
        part->objectives.ptr[part->objectives.len++] = objective->id;
    }
    if (open <= (size_t)get_integer("objectives-at-most") || folders < 2 || parts.len > o->limits.parts) return false;
    *answer = (questions_split_decision_t){.action.tag = QUESTIONS_SPLIT_ACTION_SPLIT, .action.val.split = parts};
    answer->reason = format("%zu open objectives name files in %zu folders: %zu parts", open, folders, parts.len);
    return true;
}
