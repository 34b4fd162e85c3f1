/* Lines in, lines out. Numbers are decimal; a double that is not 0 has 17 digits and reads back the
 * same. */
#include "storage/ledger_block.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/ledger_post.h"

#define NUMBER_ROOM 28 /* of a number and its tab */
#define NUMBERS     9  /* time, six effects, epsilon, delta */

/* ---- writing */

static bool plain(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < ' ') {
            return false;
        }
    }
    return true;
}

bool ledger_block_can_hold(const struct ledger_entry *entry)
{
    return strlen(entry->client) < ID_SIZE && strlen(entry->resource) < ID_SIZE &&
           strlen(entry->event) <= LEDGER_EVENT_BYTES && plain(entry->client) &&
           plain(entry->resource) && plain(entry->event);
}

static char *put_text(char *at, const char *text, char end)
{
    size_t size = strlen(text);
    memcpy(at, text, size + 1);
    at[size] = end;
    return at + size + 1;
}

static char *put_integer(char *at, int64_t value)
{
    char digits[24];
    unsigned count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        *at++ = '-';
    }
    while (count > 0) {
        *at++ = digits[--count];
    }
    *at = '\t';
    return at + 1;
}

static char *put_real(char *at, double value)
{
    if (value == 0) {
        return put_text(at, "0", '\t');
    }
    return at + snprintf(at, NUMBER_ROOM, "%.17g\t", value);
}

bool ledger_block_add(struct ledger_block *block, const struct ledger_entry *entry)
{
    size_t most = NUMBERS * NUMBER_ROOM + LEDGER_KIND_SIZE + strlen(entry->client) +
                  strlen(entry->resource) + strlen(entry->event) + 4;
    if (most >= sizeof block->lines - block->size) {
        return false;
    }
    if (block->count == 0) {
        block->first = entry->sequence;
        memcpy(block->previous_hash, entry->previous_hash, LEDGER_HASH_SIZE);
    }
    assert(entry->sequence == block->first + block->count);
    char *at = block->lines + block->size;
    at = put_integer(at, entry->time_ms);
    at = put_text(at, ledger_entry_kind_name(entry->kind), '\t');
    at = put_integer(at, entry->limit_units);
    at = put_integer(at, entry->spent_units);
    at = put_integer(at, entry->held_units);
    at = put_integer(at, entry->limit_delta);
    at = put_integer(at, entry->spent_delta);
    at = put_integer(at, entry->held_delta);
    at = put_real(at, entry->epsilon);
    at = put_real(at, entry->delta);
    at = put_text(at, entry->client, '\t');
    at = put_text(at, entry->resource, '\t');
    at = put_text(at, entry->event, '\n');
    *at = '\0';
    block->size = (size_t)(at - block->lines);
    block->count++;
    return true;
}

enum db_status ledger_block_write(struct db *db, int64_t account_number, struct ledger_block *block)
{
    if (block->count == 0) {
        return DB_OK;
    }
    struct db_value values[] = {
        db_integer(account_number), db_integer(block->first),
        db_integer(block->count),   db_bytes(block->previous_hash, LEDGER_HASH_SIZE),
        db_text(block->lines),
    };
    enum db_status status = db_run(db,
                                   "INSERT INTO ledger_blocks (account, " LEDGER_BLOCK_COLUMNS ") "
                                   "VALUES ($1, $2, $3, $4, $5)",
                                   values, sizeof values / sizeof *values, NULL, NULL);
    block->count = 0;
    block->size = 0;
    return status;
}

/* ---- reading */

bool ledger_block_open(struct ledger_block_reader *reader, const struct db_row *row,
                       const char *account)
{
    size_t size = 0;
    const void *hash = db_row_bytes(row, 2, &size);
    if (size != LEDGER_HASH_SIZE) {
        return false;
    }
    *reader = (struct ledger_block_reader){.account = account, .left = db_row_integer(row, 1)};
    reader->entry.sequence = db_row_integer(row, 0) - 1;
    memcpy(reader->entry.hash, hash, LEDGER_HASH_SIZE);
    reader->at = db_row_text(row, 3);
    reader->end = reader->at + strlen(reader->at);
    return reader->left > 0;
}

/* Cuts the text up to END off *AT; NULL when END does not come. */
static char *cut(char **at, char end)
{
    char *field = *at;
    char *stop = field == NULL ? NULL : strchr(field, end);
    if (stop == NULL) {
        return NULL;
    }
    *stop = '\0';
    *at = stop + 1;
    return field;
}

static bool cut_integer(char **at, int64_t *out)
{
    char *field = cut(at, '\t'), *end = NULL;
    if (field == NULL || *field == '\0') {
        return false;
    }
    *out = strtoll(field, &end, 10);
    return *end == '\0';
}

static bool cut_real(char **at, double *out)
{
    char *field = cut(at, '\t'), *end = NULL;
    if (field == NULL || *field == '\0') {
        return false;
    }
    *out = strtod(field, &end);
    return *end == '\0';
}

static bool read_line(char *at, struct ledger_entry *entry)
{
    const char *kind = NULL;
    if (!cut_integer(&at, &entry->time_ms) || (kind = cut(&at, '\t')) == NULL ||
        !ledger_entry_kind_find(kind, &entry->kind) || !cut_integer(&at, &entry->limit_units) ||
        !cut_integer(&at, &entry->spent_units) || !cut_integer(&at, &entry->held_units) ||
        !cut_integer(&at, &entry->limit_delta) || !cut_integer(&at, &entry->spent_delta) ||
        !cut_integer(&at, &entry->held_delta) || !cut_real(&at, &entry->epsilon) ||
        !cut_real(&at, &entry->delta)) {
        return false;
    }
    entry->client = cut(&at, '\t');
    entry->resource = cut(&at, '\t');
    entry->event = at;
    return entry->client != NULL && entry->resource != NULL && strchr(at, '\t') == NULL;
}

enum ledger_block_next ledger_block_next(struct ledger_block_reader *reader)
{
    struct ledger_entry *entry = &reader->entry;
    if (reader->left == 0) {
        return reader->at == reader->end ? LEDGER_BLOCK_END : LEDGER_BLOCK_BROKEN;
    }
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    if (stop == NULL || (size_t)(stop - reader->at) >= sizeof reader->text) {
        return LEDGER_BLOCK_BROKEN;
    }
    memcpy(reader->text, reader->at, (size_t)(stop - reader->at));
    reader->text[stop - reader->at] = '\0';
    reader->at = stop + 1;
    reader->left--;
    entry->account = reader->account;
    entry->sequence++;
    memcpy(entry->previous_hash, entry->hash, LEDGER_HASH_SIZE);
    if (!read_line(reader->text, entry)) {
        return LEDGER_BLOCK_BROKEN;
    }
    ledger_entry_hash(entry, entry->hash);
    return LEDGER_BLOCK_ENTRY;
}
