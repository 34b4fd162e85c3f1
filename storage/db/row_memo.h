/* Rows that batches have read, for files of this room alone: most calls come from the same
 * few clients. A memo is a db_keeper (db_keep.h) whose rows are copies of one struct. */
#ifndef TACET_STORAGE_DB_ROW_MEMO_H
#define TACET_STORAGE_DB_ROW_MEMO_H

#include "storage/db/db_keep.h"

#define ROW_MEMO_ROWS 16

struct row_memo {
    unsigned count, next;              /* rows filled; the one to be replaced */
    _Alignas(16) unsigned char rows[]; /* ROW_MEMO_ROWS structs */
};

/* The keeper of a memo of structs of TYPE. */
#define ROW_MEMO_KEEPER(PLACE, TYPE)                                                               \
    {                                                                                              \
        .place = (PLACE), .size = sizeof(struct row_memo) + ROW_MEMO_ROWS * sizeof(TYPE),          \
        .committed = row_memo_committed, .forget = row_memo_forget                                 \
    }

/* Copies the row of SIZE bytes for which SAME(row, KEY) into OUT; false: there is none. */
typedef bool row_memo_same(const void *row, const void *key);
bool row_memo_find(struct db *db, const struct db_keeper *keeper, size_t size, row_memo_same *same,
                   const void *key, void *out);

/* Remembers ROW, as it was just read. */
void row_memo_put(struct db *db, const struct db_keeper *keeper, size_t size, const void *row);

/* To be called before the table changes. */
void row_memo_drop(struct db *db, const struct db_keeper *keeper);

/* For ROW_MEMO_KEEPER. */
void row_memo_committed(struct db *db, void *kept);
void row_memo_forget(struct db *db, void *kept);

#endif
