/* Where answers lie that the database has no place in an index for yet.
 *
 * A place in an index for each answer would cost a commit more pages than the answers themselves,
 * because keys come in no order. So places are kept in memory, from where the blocks that hold the
 * answers are read again after a restart, and are filed into the database many at a time, in the
 * index's own order, a few with each batch. What is here always follows from what is committed.
 * Shared by the connections of a process. For answers.c alone. */
#ifndef TACET_STORAGE_ANSWERS_ANSWER_INDEX_H
#define TACET_STORAGE_ANSWERS_ANSWER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_INDEX_FILED 131072 /* places that are filed in one go */

struct answer_index;

struct answer_place {
    int64_t hash, block;
};

struct answer_index *answer_index_new(void); /* NULL: memory is short */
void answer_index_free(void *index);         /* NULL is allowed */

/* The last block whose places are all here or in the database; -1 before the first call of
 * answer_index_reach. */
int64_t answer_index_reached(struct answer_index *index);
void answer_index_reach(struct answer_index *index, int64_t block);

/* Whether the table of older versions holds answers, which nobody adds to; UNKNOWN until it was
 * said once. */
enum answer_index_old { ANSWER_OLD_UNKNOWN, ANSWER_OLD_NONE, ANSWER_OLD_SOME };
enum answer_index_old answer_index_old(struct answer_index *index);
void answer_index_say_old(struct answer_index *index, enum answer_index_old old);

/* Adds a place, which may be here already. False: memory is short. */
bool answer_index_add(struct answer_index *index, struct answer_place place);

/* The blocks that have a place for HASH: at most MOST of them into OUT, the number of all. */
size_t answer_index_find(struct answer_index *index, int64_t hash, int64_t *out, size_t most);

/* The next places to be filed: at most MOST, in order; 0 while there is no hurry. *out_filed: 0, or
 * the block up to which everything is filed once these are. Only a writing transaction may ask, and
 * says after its commit how many it filed; if it is rolled back it says nothing. */
size_t answer_index_next(struct answer_index *index, struct answer_place *out, size_t most,
                         int64_t *out_filed);
void answer_index_filed(struct answer_index *index, size_t count);

/* Whether answer_places may have a place for HASH beside those that are here. False is certain for
 * whoever has brought the index up to what is committed: of the blocks that were filed when it
 * began all places were shown to a filter, all others are here until this process has filed them,
 * and then the filter has them. */
bool answer_index_may_be_filed(struct answer_index *index, int64_t hash);

/* True: the filter wants to see hashes of answer_places, in order, from *OUT_FROM on. Only a
 * writing transaction may show them: no other sees everything that is committed. */
bool answer_index_wants(struct answer_index *index, int64_t *out_from);
void answer_index_show(struct answer_index *index, const int64_t *hashes, size_t count, bool end);

/* A place for HASH is being filed, at once. */
void answer_index_placed(struct answer_index *index, int64_t hash);

#endif
