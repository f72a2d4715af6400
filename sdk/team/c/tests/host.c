// See host.h. It is the same in every policy in C.
#include "host.h"
#include <strings.h>

static exports_settings_list_setting_t settings;
static string texts[16];
static size_t texts_given;
static facts_history_past_session_t past[16];
static size_t past_given;
static const char *next_ids;

void host(void) {
    texts_given = past_given = 0;
    next_ids = NULL;
    exports_settings_schema(&settings);
}

uint32_t give_text(const char *given) {
    assert(texts_given < 16);
    texts[texts_given] = words(given);
    return texts_given++;
}

void give_past(const char *agent, const char *ended_by, uint64_t peak_tokens) {
    assert(past_given < 16);
    past[past_given++] = (facts_history_past_session_t){
        .agent = words(agent), .ended_by = {ended_by != NULL, words(ended_by ? ended_by : "")}, .peak_tokens = {peak_tokens > 0, peak_tokens}};
}

void give_next(const char *ids) { next_ids = ids; }

static types_setting_value_t *find(string key) {
    for (size_t n = 0; n < settings.len; n++)
        if (same(settings.ptr[n].key, key)) return &settings.ptr[n].default_;
    assert(!"the schema has this setting");
    return NULL;
}

value *set(const char *key) { return &find(words(key))->val; }

static value read(string *key, uint8_t type) {
    types_setting_value_t *found = find(*key);
    assert(found->tag == type);
    return found->val;
}

bool config_get_flag(string *key) { return read(key, TYPES_SETTING_VALUE_FLAG).flag; }
int64_t config_get_integer(string *key) { return read(key, TYPES_SETTING_VALUE_INTEGER).integer; }
double config_get_number(string *key) { return read(key, TYPES_SETTING_VALUE_NUMBER).number; }
void config_get_text(string *key, string *value) { *value = read(key, TYPES_SETTING_VALUE_TEXT).text; }
void config_get_texts(string *key, guest_list_string_t *value) { *value = read(key, TYPES_SETTING_VALUE_TEXTS).texts; }

void facts_history_past_sessions(uint32_t limit, facts_history_list_past_session_t *answer) {
    *answer = (facts_history_list_past_session_t){past, past_given < limit ? past_given : limit};
}

bool prompting_compose(questions_handoff_observation_t *o, questions_prompt_t *answer) {
    (void)o;
    if (next_ids == NULL) return false;
    *answer = (questions_prompt_t){.reason = words("one objective")};
    static char ids[200];
    for (char *id = strtok(strcpy(ids, next_ids), " "); id != NULL; id = strtok(NULL, " "))
        add_section(&answer->sections, id, NULL, words("Write it."), 0);
    return true;
}

uint32_t text_len(uint32_t text) { return text < texts_given ? texts[text].len : 0; }

void text_slice(uint32_t text, types_span_t *range, string *found) {
    uint32_t len = text_len(text), end = range->end < len ? range->end : len;
    uint32_t start = range->start < end ? range->start : end;
    *found = (string){start < end ? texts[text].ptr + start : NULL, end - start};
}

// Leftmost first and the longest at one place; ASCII letters in either case.
void text_find_any(uint32_t text, types_span_t *range, guest_list_string_t *patterns, uint32_t limit, text_list_hit_t *hits) {
    string body;
    text_slice(text, range, &body);
    list(hits, limit);
    for (size_t at = 0, longest; at < body.len && hits->len < limit; at += longest ? longest : 1) {
        longest = 0;
        for (size_t n = 0; n < patterns->len; n++) {
            string one = patterns->ptr[n];
            if (one.len <= longest || one.len > body.len - at) continue;
            if (strncasecmp((char *)body.ptr + at, (char *)one.ptr, one.len) != 0) continue;
            longest = one.len;
            uint32_t start = range->start + at;
            hits->ptr[hits->len] = (text_hit_t){n, {start, start + longest}};
        }
        hits->len += longest > 0;
    }
}

void text_find_setting(uint32_t text, types_span_t *range, string *key, uint32_t limit, text_list_hit_t *hits) {
    guest_list_string_t patterns;
    config_get_texts(key, &patterns);
    text_find_any(text, range, &patterns, limit, hits);
}
