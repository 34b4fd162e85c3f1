/* Which hashes answer_places surely has no place for, so that a new key is not looked for there.
 *
 * A Bloom filter: a few bits of one word for each hash, more words as there are more hashes. It is
 * filled by showing it the whole table in the order of the hashes, a little at a time, and by every
 * place that is filed meanwhile. It never says no of a hash that it was shown. For answer_index.c
 * alone, under its lock. */
#ifndef TACET_STORAGE_ANSWERS_ANSWER_FILTER_H
#define TACET_STORAGE_ANSWERS_ANSWER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answer_filter {
    uint64_t *words;
    size_t count;  /* of words: a power of two; 0: none yet */
    size_t hashes; /* that were added, equal ones too */
    bool complete; /* the whole table was shown */
    int64_t from;  /* else: what is below was */
};

/* False: HASH was never added, and the table was shown up to it. */
bool answer_filter_may_hold(const struct answer_filter *filter, int64_t hash);

void answer_filter_add(struct answer_filter *filter, int64_t hash);

/* True: the table's hashes are wanted, in order, from *OUT_FROM on. A filter that has become too
 * full begins again, larger; the table must have all by then that was added in another way. */
bool answer_filter_wants(struct answer_filter *filter, int64_t *out_from);

/* These are the next ones; END: there are no others. */
void answer_filter_show(struct answer_filter *filter, const int64_t *hashes, size_t count,
                        bool end);

void answer_filter_clear(struct answer_filter *filter); /* frees the words */

#endif
