/* Names of experts: the rule that they keep, and the numbers 0, 1, ... of those in one upload. */
#ifndef TACET_API_DATA_EXPERT_NAMES_H
#define TACET_API_DATA_EXPERT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPERT_NAME_MAX 64 /* bytes: letters, digits and . _ : @ + - */

/* NULL when NAME[size] is a good name for an expert, else a sentence that says why not. */
const char *expert_name_problem(const char *name, size_t size);

struct expert_names;

/* An empty set of names. The caller frees it with expert_names_free. */
struct expert_names *expert_names_new(void);

/* Frees all of them. NULL is fine. */
void expert_names_free(struct expert_names *names);

/* Gives the number of NAME, which is added when it is new. False: there are MOST others already. */
bool expert_names_number(struct expert_names *names, const char *name, uint32_t most,
                         uint32_t *out_number);

/* How many there are. */
uint32_t expert_names_count(const struct expert_names *names);

/* All names in order of their numbers; lives until the next call of expert_names_number. */
const char *const *expert_names_all(const struct expert_names *names);

#endif
