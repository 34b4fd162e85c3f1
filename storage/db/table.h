/* Rows as structs: one list of columns says what SELECT names, what INSERT writes, and where in the
 * struct each value lies. */
#ifndef TACET_STORAGE_DB_TABLE_H
#define TACET_STORAGE_DB_TABLE_H

#include "storage/db/db.h"

enum column_kind {
    COLUMN_TEXT,    /* char[SIZE], with its NUL */
    COLUMN_POINTER, /* char *: a text of any length. table_find allocates it, table_list lends it */
    COLUMN_BYTES,   /* unsigned char[SIZE]: exactly that many bytes */
    COLUMN_BLOB,    /* char * that ends in a NUL, with its size_t at offset SIZE; otherwise like
                       POINTER */
    COLUMN_INTEGER, /* int64_t */
    COLUMN_COUNT,   /* uint32_t, or an int that is not negative */
    COLUMN_FLAG,    /* bool */
    COLUMN_REAL,    /* double */
    COLUMN_WORD,    /* an enum 0, 1, ...: WORDS has its names and ends in NULL */
};

struct column {
    const char *name; /* in SQL; an expression where the column is only read */
    enum column_kind kind;
    size_t offset, size; /* of the struct's member */
    const char *const *words;
};

/* Column FIELD of struct ROW, by the same name in both. */
#define COLUMN(row, field, kind)                                                                   \
    {                                                                                              \
#field, COLUMN_##kind, offsetof(struct row, field), sizeof(((struct row *)0)->field), NULL \
    }

/* Column FIELD of any bytes, whose size is member SIZE_FIELD: a COLUMN_BLOB. */
#define COLUMN_BYTES_OF(row, field, size_field)                                                    \
    {                                                                                              \
#field, COLUMN_BLOB, offsetof(struct row, field), offsetof(struct row, size_field), NULL   \
    }

#define DIGEST_SIZE 16

struct table {
    const char *name;
    const struct column *columns;
    unsigned count;
    unsigned inserted; /* INSERT writes the first INSERTED columns; the others have defaults */
    size_t row_size;   /* of the struct */
    /* The column with the keyed digest of the others (digest.h), which is written by INSERT and
     * checked by every read; NULL: rows have none. The struct does not have it. */
    const char *digest;
    unsigned named; /* with a digest: the first NAMED columns, 1 to 3, are the row's key */
    unsigned loose; /* the last LOOSE columns change, or came later, and are not under the digest */
};

/* The initializer of a table of struct ROW whose COLUMNS are an array. */
#define TABLE(name, row, columns, inserted)                                                        \
    {                                                                                              \
        name, columns, sizeof(columns) / sizeof *(columns), inserted, sizeof(struct row), NULL, 0, \
            0                                                                                      \
    }
/* The same with a DIGEST. */
#define TABLE_DIGESTED(name, row, columns, inserted, digest, named, loose)                         \
    {                                                                                              \
        name, columns, sizeof(columns) / sizeof *(columns), inserted, sizeof(struct row), digest,  \
            named, loose                                                                           \
    }
#define TABLE_ALL(columns) (sizeof(columns) / sizeof *(columns)) /* INSERT writes all of them */

/* Reads the row of a SELECT of TABLE's columns into OUT, without its digest. Pointers and blobs are
 * the row's own, or allocated when OWNED (free with table_done). False: it is not a row that this
 * program wrote. */
bool table_read(const struct table *table, const struct db_row *row, bool owned, void *out);

/* Computes the digest that ROW is stored with, for statements that table_insert does not write. */
void table_digest(const struct db *db, const struct table *table, const void *row,
                  unsigned char out[DIGEST_SIZE]);

/* Frees the pointers and blobs of ROW, and sets them to NULL. */
void table_done(const struct table *table, void *row);

/* Runs "SELECT the columns FROM the table TAIL", TAIL being a literal ("WHERE id = $1"), and shows
 * the rows to EACH. */
enum db_status table_rows(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, db_row_fn *each,
                          void *context);

/* The only row of that SELECT. DB_NONE: there is none; DB_FAILED: or it is damaged. Free pointers
 * with table_done. */
enum db_status table_find(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, void *out);

/* The same by db_run_known: within a batch the row is often asked for. */
enum db_status table_find_known(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, void *out);

/* The row whose first column is id = ID, as table_find. A missing one takes as long as one that is
 * there, because another row is read in its place: who may not see a row cannot tell by the time
 * that it exists. By db_run_known. */
enum db_status table_find_id(struct db *db, const struct table *table, const char *id, void *out);

/* The only row of that SELECT that is sound: others are damaged, which db_damage tells, and count
 * as not there. For rows that allow something. DB_NONE: there is none. */
enum db_status table_find_sound(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, void *out);

/* Reads the columns of TABLE and its digest from column FIRST of ROW on, of a statement that a
 * caller wrote, and owns what is allocated. False: the row is damaged. */
bool table_read_part(struct db *db, const struct table *table, const struct db_row *row,
                     unsigned first, void *out);

typedef bool table_row_fn(void *context, const void *row);

/* Shows the rows as structs, until EACH gives false. */
enum db_status table_list(struct db *db, const struct table *table, const char *tail,
                          const struct db_value *values, unsigned count, table_row_fn *each,
                          void *context);

/* The same, without rows that are damaged, which db_damage tells. For rows that allow something,
 * and for lists in which one may be missing. */
enum db_status table_list_sound(struct db *db, const struct table *table, const char *tail,
                                const struct db_value *values, unsigned count, table_row_fn *each,
                                void *context);

/* Defines the function NAME and a struct NAME {each, context}: table_list with them calls EACH with
 * rows of their own type. */
#define TABLE_SHOW(name, row_struct)                                                               \
    struct name {                                                                                  \
        bool (*each)(void *context, const struct row_struct *row);                                 \
        void *context;                                                                             \
    };                                                                                             \
    static bool name(void *context, const void *row)                                               \
    {                                                                                              \
        const struct name *list = context;                                                         \
        return list->each(list->context, row);                                                     \
    }                                                                                              \
    struct name

/* A column that the struct does not have. */
struct table_extra {
    const char *name;
    struct db_value value;
};

/* Inserts ROW with COUNT further columns (the same ones at each call), in the open transaction or
 * one of its own. DB_NONE: a row with its key exists. */
enum db_status table_insert(struct db *db, const struct table *table, const void *row,
                            const struct table_extra *extras, unsigned count);

/* The same for a table to which a batch adds many rows, without further columns, inside a
 * transaction. The caller has looked for a row with its key, and found none. The row may be put off
 * (db.h): a row that is there all the same loses the batch, with DB_RETRY. */
enum db_status table_append(struct db *db, const struct table *table, const void *row);

#endif
