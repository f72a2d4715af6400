// What a decision uses beside the contract, whose types and functions are in build/guest.h (`make bindings`).
//
// Do not free anything: each call has fresh memory, and `free` does nothing in the component.
#ifndef BATON_H
#define BATON_H

#include "guest.h"
#include <stdlib.h>

// ---- strings: a pointer and a length in bytes, UTF-8, without a zero at the end ----

typedef guest_string_t string;

string format(const char *format, ...) __attribute__((format(printf, 1, 2)));
// A copy for "%s".
const char *chars(string words);
// The same for words of others, as one short line: they cannot pass for a heading or for another item.
const char *line(string words);
bool same(string one, string other);
bool contains(string words, string part);
// At most this many characters of a string.
string cut(string words, size_t characters);
// A point in time of the contract for people: RFC 3339 in UTC with whole seconds.
const char *utc(uint64_t unix_ms);
// The text of the host in this range, at most 64 KiB.
string slice(uint32_t text, uint32_t start, uint32_t end);
// Whether a text of the host has this part, with ASCII letters in either case. The host searches, which costs least fuel.
bool find_text(string part, uint32_t text);

// ---- lists: `list(&answer->items, count)` makes room for this many, and `len` counts those that you put there ----

#define list(target, count) ((target)->len = 0, (target)->ptr = calloc((count) + 1, sizeof *(target)->ptr))

// ---- a text of many lines ----

typedef struct {
    string text;
    size_t room, items;
} page;

void add(page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
// An item of a list, on a line of its own. A list has at most LINES of them; `end_list` counts the rest.
void item(page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void end_list(page *page);

#define LINES 60

// ---- sections of a prompt or document; the heading may be NULL, and of rank 0 the host never leaves one out ----
// Each call may move the list: take no address of a section before it.

void add_section(questions_list_section_t *sections, const char *id, const char *heading, string lines, uint8_t rank);
// Puts the last section before the one of this id, where there is one: how a layer adds to the prompt of the next policy.
void move_last_before(questions_list_section_t *sections, const char *id);

// ---- settings: declared once, and read by their keys ----

void flag_setting(const char *key, bool value, const char *doc);
void integer_setting(const char *key, long long value, double minimum, double maximum, const char *doc);
void number_setting(const char *key, double value, double minimum, double maximum, const char *doc);
void text_setting(const char *key, const char *value, const char *doc);
// A text that is one of the choices. Choices, and the values of a list of texts, are one a line: "low\nhigh".
void choice_setting(const char *key, const char *value, const char *choices, const char *doc);
void texts_setting(const char *key, const char *values, const char *doc);

bool get_flag(const char *key);
long long get_integer(const char *key);
double get_number(const char *key);
string get_text(const char *key);
// Whether a phrase of the setting (of type texts) is in this range of a text, in upper or lower case.
bool find_setting(const char *key, uint32_t text, types_span_t range);

#endif
