/* A growing array of plain numbers, in memory or in a file without a name. */
#ifndef TACET_ALGOS_DATA_DATA_COLUMN_H
#define TACET_ALGOS_DATA_DATA_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATA_COLUMNS_SPARE ((uint64_t)256 << 20) /* bytes of the disk that others keep */

/* All zero: empty. ITEMS may move when the size changes. */
struct data_column {
    void *items;
    size_t size; /* bytes */
    const char
        *directory; /* borrowed; NULL: in memory. Set it before the first data_column_resize */
    int file;       /* of a column with a directory that is not empty */
};

/* Gives COLUMN SIZE bytes; further ones of a file are zero, of memory undefined. The disk's room is
 * taken here, so that writing to ITEMS cannot meet a full disk, unless its file system copies on
 * write. False, and COLUMN is as it was: no
 * memory, no room on the disk, or a directory that cannot have such a file. */
bool data_column_resize(struct data_column *column, size_t size);

/* Waits until what was written to ITEMS is on the disk. False: some of it never gets there, and may
 * be read as zeros. Of a column in memory: true. */
bool data_column_store(const struct data_column *column);

/* Whether DIRECTORY's disk has BYTES, and DATA_COLUMNS_SPARE besides. */
bool data_columns_have_room(const char *directory, uint64_t bytes);

/* Frees what COLUMN holds, which is then empty. Memory is wiped. Of a file, what had not reached
 * the disk never does; the system gives its blocks to other files without wiping them. */
void data_column_free(struct data_column *column);

#endif
