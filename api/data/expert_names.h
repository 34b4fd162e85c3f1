/* Names of experts: the rule for a valid name, and the numbers 0, 1, ... of the names in one
 * upload. */
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

/* Frees the set. NULL is fine. */
void expert_names_free(struct expert_names *names);

/* Sets *OUT_NUMBER to the number of NAME, which is added when it is new. False: there are MOST
 * other names already. */
bool expert_names_number(struct expert_names *names, const char *name, uint32_t most,
                         uint32_t *out_number);

/* The number of names. */
uint32_t expert_names_count(const struct expert_names *names);

/* All names in order of their numbers; lives until the next call of expert_names_number. */
const char *const *expert_names_all(const struct expert_names *names);

#endif
