/* Looking for a key in the database: in the blocks whose places wait to be filed, in answer_places,
 * and in the table of the versions before. A place only says where to look: the block's own text
 * decides. For answers.c alone. */
#ifndef TACET_STORAGE_ANSWERS_ANSWER_SEARCH_H
#define TACET_STORAGE_ANSWERS_ANSWER_SEARCH_H

#include "storage/answers/answer_index.h"
#include "storage/answers/answers.h"

/* What is looked for, and where it was found. */
struct answer_search {
    struct db *db;
    const char *client, *key;
    size_t client_size, key_size;
    int64_t hash;
    struct answer_row *out;
    bool found;
};

/* Looks through a block. DB_OK whether or not it is there (search->found). */
enum db_status answer_search_block(struct answer_search *search, const void *bytes, size_t size);

/* Brings INDEX up to all that is committed; or, when the open transaction has changed something and
 * so may see what is not, searches the blocks that INDEX does not know. */
enum db_status answer_search_newest(struct answer_search *search, struct answer_index *index);

/* Looks where INDEX and the tables say. */
enum db_status answer_search_filed(struct answer_search *search, struct answer_index *index);

#endif
