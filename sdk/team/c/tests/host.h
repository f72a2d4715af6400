// A host in memory in place of the component's imports: settings, texts by handle, past
// sessions, the next policy. Offsets are bytes, as in the contract.
#ifndef HOST_H
#define HOST_H

#undef NDEBUG
#include "baton.h"
#include <assert.h>
#include <string.h>

// A fresh host: the settings of the policy with their defaults, and no texts.
void host(void);
// The value of a setting, to change it: set("compact-percent")->number = 40.
typedef __typeof__(((types_setting_value_t *)0)->val) value;
value *set(const char *key);
// The handle of a text.
uint32_t give_text(const char *words);
// A session that came before those that were given so far.
void give_past(const char *agent, const char *ended_by, uint64_t peak_tokens);
// The ids of the sections that the next policy writes, with a space between two; NULL if it abstains.
void give_next(const char *ids);

static inline string words(const char *words) { return (string){(uint8_t *)words, strlen(words)}; }
static inline bool is(string one, const char *other) { return same(one, words(other)); }
static inline bool has(string one, const char *part) { return contains(one, words(part)); }

#endif
