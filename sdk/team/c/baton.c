// See baton.h. It is the same in every policy in C.
#include "baton.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// ---- strings ----

static string literal(const char *words) { return (string){(uint8_t *)words, strlen(words)}; }

static string print(const char *format, va_list values) {
    va_list again;
    va_copy(again, values);
    int bytes = vsnprintf(NULL, 0, format, again);
    va_end(again);
    string made = {malloc(bytes + 1), bytes};
    vsnprintf((char *)made.ptr, bytes + 1, format, values);
    return made;
}

string format(const char *format, ...) {
    va_list values;
    va_start(values, format);
    string made = print(format, values);
    va_end(values);
    return made;
}

// The calendar is by `civil_from_days` of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms".
const char *utc(uint64_t unix_ms) {
    unsigned long long seconds = unix_ms / 1000, days = seconds / 86400 + 719468, of_day = seconds % 86400;
    unsigned long long era = days / 146097, of_era = days % 146097;
    unsigned long long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    unsigned long long of_year = of_era - (365 * year + year / 4 - year / 100), from_march = (5 * of_year + 2) / 153;
    unsigned long long day = of_year - (153 * from_march + 2) / 5 + 1;
    unsigned long long month = from_march < 10 ? from_march + 3 : from_march - 9;
    year += 400 * era + (month <= 2);
    return chars(format("%04llu-%02llu-%02lluT%02llu:%02llu:%02lluZ", year, month, day, of_day / 3600, of_day / 60 % 60,
                        of_day % 60));
}

bool same(string one, string other) { return one.len == other.len && contains(one, other); }

bool contains(string words, string part) {
    if (part.len == 0) return true;
    for (size_t at = 0; at + part.len <= words.len; at++)
        if (memcmp(words.ptr + at, part.ptr, part.len) == 0) return true;
    return false;
}

string cut(string words, size_t characters) {
    size_t end = 0;
    // Bytes of the form 10xxxxxx continue a character.
    while (end < words.len && ((words.ptr[end] & 0xc0) == 0x80 || characters-- > 0)) end++;
    return (string){words.ptr, end};
}

const char *chars(string words) {
    char *made = calloc(words.len + 1, 1);
    for (size_t at = 0; at < words.len; at++) made[at] = (char)words.ptr[at];
    return made;
}

const char *line(string words) {
    words = cut(words, 120);
    char *made = calloc(words.len + 1, 1);
    size_t len = 0;
    for (size_t at = 0; at < words.len; at++) {
        bool is_space = words.ptr[at] <= ' ' || words.ptr[at] == 0x7f;
        if (!is_space) made[len++] = (char)words.ptr[at];
        else if (len > 0 && made[len - 1] != ' ') made[len++] = ' ';
    }
    if (len > 0 && made[len - 1] == ' ') made[len - 1] = 0;
    return made;
}

string slice(uint32_t text, uint32_t start, uint32_t end) {
    string made;
    text_slice(text, &(types_span_t){start, end}, &made);
    return made;
}

bool find_text(string part, uint32_t text) {
    text_list_hit_t hits;
    text_find_any(text, &(types_span_t){0, UINT32_MAX}, &(guest_list_string_t){&part, 1}, 1, &hits);
    return hits.len > 0;
}

// ---- pages ----

static void append(page *page, string words) {
    size_t needs = page->text.len + words.len;
    if (needs > page->room) page->text.ptr = realloc(page->text.ptr, page->room = 2 * needs + 1000);
    memcpy(page->text.ptr + page->text.len, words.ptr, words.len);
    page->text.len = needs;
}

void add(page *page, const char *format, ...) {
    va_list values;
    va_start(values, format);
    append(page, print(format, values));
    va_end(values);
}

void item(page *page, const char *format, ...) {
    if (++page->items > LINES) return;
    va_list values;
    va_start(values, format);
    append(page, print(format, values));
    va_end(values);
    append(page, literal("\n"));
}

void end_list(page *page) {
    if (page->items > LINES) add(page, "- and %zu more\n", page->items - LINES);
    page->items = 0;
}

// ---- sections ----

void add_section(questions_list_section_t *sections, const char *id, const char *heading, string lines, uint8_t rank) {
    sections->ptr = realloc(sections->ptr, (sections->len + 1) * sizeof *sections->ptr);
    questions_section_t *made = &sections->ptr[sections->len++];
    *made = (questions_section_t){.id = literal(id), .rank = rank};
    made->heading.is_some = heading != NULL;
    if (heading != NULL) made->heading.val = literal(heading);
    list(&made->blocks, 1);
    made->blocks.ptr[made->blocks.len++] = (questions_block_t){.tag = QUESTIONS_BLOCK_MARKDOWN, .val.markdown = lines};
}

void move_last_before(questions_list_section_t *sections, const char *id) {
    size_t at = 0, last = sections->len - 1;
    while (at < last && !same(sections->ptr[at].id, literal(id))) at++;
    questions_section_t moved = sections->ptr[last];
    for (size_t n = last; n > at; n--) sections->ptr[n] = sections->ptr[n - 1];
    sections->ptr[at] = moved;
}

// ---- settings ----

#define SETTINGS_MOST 64

void all_settings(void);

static exports_settings_list_setting_t schema;

void exports_settings_schema(exports_settings_list_setting_t *answer) {
    list(&schema, SETTINGS_MOST);
    all_settings();
    *answer = schema;
}

static exports_settings_setting_t *setting(const char *key, const char *doc, uint8_t type) {
    if (schema.len == SETTINGS_MOST) abort();
    exports_settings_setting_t *made = &schema.ptr[schema.len++];
    made->key = literal(key);
    made->doc = literal(doc);
    made->default_.tag = type;
    return made;
}

static void bounds(exports_settings_setting_t *setting, double minimum, double maximum) {
    setting->minimum = (guest_option_f64_t){true, minimum};
    setting->maximum = (guest_option_f64_t){true, maximum};
}

void flag_setting(const char *key, bool value, const char *doc) {
    setting(key, doc, TYPES_SETTING_VALUE_FLAG)->default_.val.flag = value;
}

void integer_setting(const char *key, long long value, double minimum, double maximum, const char *doc) {
    exports_settings_setting_t *made = setting(key, doc, TYPES_SETTING_VALUE_INTEGER);
    made->default_.val.integer = value;
    bounds(made, minimum, maximum);
}

void number_setting(const char *key, double value, double minimum, double maximum, const char *doc) {
    exports_settings_setting_t *made = setting(key, doc, TYPES_SETTING_VALUE_NUMBER);
    made->default_.val.number = value;
    bounds(made, minimum, maximum);
}

void text_setting(const char *key, const char *value, const char *doc) {
    setting(key, doc, TYPES_SETTING_VALUE_TEXT)->default_.val.text = literal(value);
}

static void lines(guest_list_string_t *texts, const char *values) {
    list(texts, strlen(values));
    while (*values) {
        size_t bytes = strcspn(values, "\n");
        texts->ptr[texts->len++] = (string){(uint8_t *)values, bytes};
        values += bytes + (values[bytes] == '\n');
    }
}

void choice_setting(const char *key, const char *value, const char *choices, const char *doc) {
    exports_settings_setting_t *made = setting(key, doc, TYPES_SETTING_VALUE_TEXT);
    made->default_.val.text = literal(value);
    lines(&made->choices, choices);
}

void texts_setting(const char *key, const char *values, const char *doc) {
    lines(&setting(key, doc, TYPES_SETTING_VALUE_TEXTS)->default_.val.texts, values);
}

#define named(key) (&(string){(uint8_t *)(key), strlen(key)})

bool get_flag(const char *key) { return config_get_flag(named(key)); }

long long get_integer(const char *key) { return config_get_integer(named(key)); }

double get_number(const char *key) { return config_get_number(named(key)); }

string get_text(const char *key) {
    string value;
    config_get_text(named(key), &value);
    return value;
}

bool find_setting(const char *key, uint32_t text, types_span_t range) {
    text_list_hit_t hits;
    text_find_setting(text, &range, named(key), 1, &hits);
    return hits.len > 0;
}

// ---- memory of the component: it only grows, for the length of a call ----

#ifdef __wasm__

extern uint8_t __heap_base;
static uint8_t *top = &__heap_base;

static size_t *size_of(void *block) { return (size_t *)block - 4; } // 16 bytes before it

void *malloc(size_t bytes) {
    uint8_t *block = (uint8_t *)(((uintptr_t)top + 31) & ~(uintptr_t)15);
    size_t memory = __builtin_wasm_memory_size(0) << 16;
    if (bytes > SIZE_MAX / 2) abort();
    if ((size_t)block + bytes > memory) {
        size_t pages = (((size_t)block + bytes - memory) >> 16) + 1;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) abort();
    }
    top = block + bytes;
    *size_of(block) = bytes;
    return block;
}

void *calloc(size_t count, size_t bytes) {
    if (bytes && count > SIZE_MAX / bytes) abort();
    return malloc(count * bytes); // No memory is used twice, so it is zero.
}

void *realloc(void *block, size_t bytes) {
    void *made = malloc(bytes);
    // The host points an empty list at its alignment, where no block is.
    if ((uintptr_t)block > 16) memcpy(made, block, *size_of(block) < bytes ? *size_of(block) : bytes);
    return made;
}

void free(void *block) { (void)block; }

#endif
