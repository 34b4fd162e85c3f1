/* The writer of schema version 11, kept to make data directories of that version: entries as lines
 * in ledger_blocks, answers in answer_blocks. It is the writer of commit cc30558, shortened. */
#ifndef TACET_TESTS_STORAGE_OLD_FORMAT_H
#define TACET_TESTS_STORAGE_OLD_FORMAT_H

#include "storage/answers/answers.h"
#include "storage/ledger/ledger.h"
#include "tests/unit/storage/fixture.h"

#define OLD_VERSION 11

/* Opens a store over the golden database of schema version 11 (make_lines.sh), not migrated. */
void old_open_golden(struct fixture *fixture);

/* The same without its rows: the tables are as that version made them. */
void old_open_empty(struct fixture *fixture);

/* The bytes of a file below tests/golden/storage with a NUL behind them; the caller frees them. */
void *old_golden(const char *name, size_t *out_size);

/* Writes the lines of COUNT entries of one account as the row of ledger_blocks that the old program
 * would write. ACCOUNT is the number of the account. */
void old_write_entries(struct db *db, int64_t account, const struct ledger_entry *entries,
                       unsigned count);

/* The text of those lines; the caller frees it. */
char *old_lines(const struct ledger_entry *entries, unsigned count);

struct old_answer {
    const char *client, *key;
    struct answer_row row;
};

/* Writes COUNT answers as block ID. */
void old_write_answers(struct db *db, int64_t id, const struct old_answer *answers, unsigned count);

/* The bytes of that block; the caller frees them. */
unsigned char *old_block(const struct old_answer *answers, unsigned count, size_t *out_size);

#endif
