/* Entries as they lie in the database: runs of them, one account's and in order, one line each.
 *
 * A batch writes what it appended to an account as one row, so that a debit costs a line and not a
 * row with an index. A line holds the entry's fields but sequence and hashes, which follow from
 * where it stands: time, kind, the six effects, epsilon, delta, client, resource and event, with a
 * tab after each but the last, and a newline. A field that is LEDGER_DITTO is that of the line
 * above, in the same row. For the files of the ledger alone. */
#ifndef TACET_STORAGE_LEDGER_LEDGER_BLOCK_H
#define TACET_STORAGE_LEDGER_LEDGER_BLOCK_H

#include "storage/ledger/ledger.h"

#define LEDGER_DITTO      '\x10'                     /* no text has control characters */
#define LEDGER_TEXTS      3                          /* client, resource, event */
#define LEDGER_LINE_BYTES (LEDGER_EVENT_BYTES + 512) /* of the longest line, its end included */

/* A run of entries in memory. */
struct ledger_block {
    int64_t first; /* sequence of the first entry; count: 0 */
    int64_t count;
    unsigned char previous_hash[LEDGER_HASH_SIZE]; /* what the first entry follows */
    size_t size;                                   /* bytes of LINES in use */
    struct ledger_entry last;                      /* numbers of the last line */
    struct {
        size_t at, size;
    } texts[LEDGER_TEXTS]; /* where in LINES those of the last line are written out */
    char lines[2 * LEDGER_LINE_BYTES];
};

/* Whether ENTRY's texts can stand in a line: no control characters, and not too long. */
bool ledger_block_can_hold(const struct ledger_entry *entry);

/* Appends ENTRY, which follows the last one and whose texts can stand in a line. False: there is no
 * room; write the block first. */
bool ledger_block_add(struct ledger_block *block, const struct ledger_entry *entry);

/* Inserts the block's row and empties it. Nothing happens when it is empty. */
enum db_status ledger_block_write(struct db *db, int64_t account_number,
                                  struct ledger_block *block);

/* Columns of ledger_blocks in the order that ledger_block_read expects. */
#define LEDGER_BLOCK_COLUMNS "first, count, previous_hash, lines"

/* What reading a row gives, one entry after the other. */
struct ledger_block_reader {
    const char *account;
    struct ledger_entry entry; /* the last that was read; texts are the reader's */
    int64_t left;              /* entries to come */
    bool has_line;             /* there is one above */
    const char *at, *end;
    char text[LEDGER_LINE_BYTES];
    char client[ID_SIZE], resource[ID_SIZE], event[LEDGER_EVENT_BYTES + 1];
};

/* Begins to read ROW of ACCOUNT (borrowed). False: it is not one that we wrote. */
bool ledger_block_open(struct ledger_block_reader *reader, const struct db_row *row,
                       const char *account);
enum ledger_block_next { LEDGER_BLOCK_ENTRY, LEDGER_BLOCK_END, LEDGER_BLOCK_BROKEN };
/* The next entry, its hashes made. BROKEN: the rest cannot be read, or the count is wrong. */
enum ledger_block_next ledger_block_next(struct ledger_block_reader *reader);

#endif
