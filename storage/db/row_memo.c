/* A handful of rows, searched one by one, replaced in turn. */
#include "storage/db/row_memo.h"

#include <string.h>

bool row_memo_find(struct db *db, const struct db_keeper *keeper, size_t size, row_memo_same *same,
                   const void *key, void *out)
{
    const struct row_memo *memo = db_kept(db, keeper);
    for (unsigned i = 0; memo && i < memo->count; i++) {
        const unsigned char *row = memo->rows + i * size;
        if (same(row, key)) {
            memcpy(out, row, size);
            return true;
        }
    }
    return false;
}

void row_memo_put(struct db *db, const struct db_keeper *keeper, size_t size, const void *row)
{
    struct row_memo *memo = db_kept(db, keeper);
    if (!memo)
        return;
    memcpy(memo->rows + memo->next * size, row, size);
    memo->next = (memo->next + 1) % ROW_MEMO_ROWS;
    memo->count += memo->count < ROW_MEMO_ROWS;
}

void row_memo_drop(struct db *db, const struct db_keeper *keeper)
{
    struct row_memo *memo = db_kept(db, keeper);
    if (memo)
        row_memo_forget(db, memo);
}

/* They still are what the table says: who changes it drops them first. */
void row_memo_committed(struct db *db, void *kept)
{
    (void)db;
    (void)kept;
}

void row_memo_forget(struct db *db, void *kept)
{
    (void)db;
    struct row_memo *memo = kept;
    memo->count = memo->next = 0;
}
