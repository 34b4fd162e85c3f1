/* Lines in, lines out. Numbers are decimal; a double that is not 0 has 17 digits and reads back the
 * same. */
#include "storage/ledger/ledger_block.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/ledger/ledger_post.h"

#define NUMBER_ROOM 28 /* of a number and its tab */
#define NUMBERS     9  /* time, six effects, epsilon, delta */

/* ---- writing */

static const size_t texts_most[LEDGER_TEXTS] = {ID_SIZE - 1, ID_SIZE - 1, LEDGER_EVENT_BYTES};

/* Whether text I may be TEXT: short enough, without control characters. Looked at to the end, so by
 * vectors. */
static bool fits(unsigned i, const char *text, size_t size)
{
    unsigned char control = 0;
    for (size_t c = 0; c < size; c++)
        control |= (unsigned char)text[c] < ' ';
    return size <= texts_most[i] && control == 0;
}

bool ledger_block_can_hold(const struct ledger_entry *entry)
{
    return fits(0, entry->client, strlen(entry->client)) &&
           fits(1, entry->resource, strlen(entry->resource)) &&
           fits(2, entry->event, strlen(entry->event));
}

static char *put_text(char *at, const char *text, size_t size, char end)
{
    memcpy(at, text, size);
    at[size] = end;
    return at + size + 1;
}

static char *put_ditto(char *at)
{
    *at = LEDGER_DITTO;
    at[1] = '\t';
    return at + 2;
}

/* BEFORE: the field above, or NULL. */
static char *put_integer(char *at, int64_t value, const int64_t *before)
{
    if (before && *before == value)
        return put_ditto(at);
    char digits[24];
    unsigned count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *at++ = '-';
    while (count > 0)
        *at++ = digits[--count];
    *at = '\t';
    return at + 1;
}

static char *put_real(char *at, double value, const double *before)
{
    if (before && *before == value)
        return put_ditto(at);
    if (value == 0)
        return put_text(at, "0", 1, '\t');
    return at + snprintf(at, NUMBER_ROOM, "%.17g\t", value);
}

/* Text I of the line, or a ditto; END stands behind it. What stands above has been looked at. */
static char *put_known(struct ledger_block *block, char *at, unsigned i, const char *text,
                       size_t size, char end)
{
    if (block->count > 0 && block->texts[i].size == size &&
        memcmp(block->lines + block->texts[i].at, text, size) == 0) {
        at = put_ditto(at);
        at[-1] = end;
        return at;
    }
    assert(fits(i, text, size));
    block->texts[i].at = (size_t)(at - block->lines);
    block->texts[i].size = size;
    return put_text(at, text, size, end);
}

static char *put_kind(char *at, enum ledger_entry_kind kind)
{
    const char *name = ledger_entry_kind_name(kind);
    return put_text(at, name, strlen(name), '\t');
}

static bool same_numbers(const struct ledger_entry *a, const struct ledger_entry *b)
{
    return a->time_ms == b->time_ms && a->kind == b->kind && a->limit_units == b->limit_units &&
           a->spent_units == b->spent_units && a->held_units == b->held_units &&
           a->limit_delta == b->limit_delta && a->spent_delta == b->spent_delta &&
           a->held_delta == b->held_delta && a->epsilon == b->epsilon && a->delta == b->delta;
}

/* The fields of a line that are no texts: all of them dittos, as mostly, or one by one. */
static char *put_numbers(char *at, const struct ledger_entry *entry,
                         const struct ledger_entry *last)
{
#define D LEDGER_DITTO, '\t'
    static const char dittos[] = {D, D, D, D, D, D, D, D, D, D};
#undef D
    _Static_assert(sizeof dittos == 2 * (NUMBERS + 1),
                   "as many as there are numbers, and the kind");
    if (last && same_numbers(entry, last)) {
        memcpy(at, dittos, sizeof dittos);
        return at + sizeof dittos;
    }
#define ABOVE(field) (!last ? NULL : &last->field)
    at = put_integer(at, entry->time_ms, ABOVE(time_ms));
    at = last && last->kind == entry->kind ? put_ditto(at) : put_kind(at, entry->kind);
    at = put_integer(at, entry->limit_units, ABOVE(limit_units));
    at = put_integer(at, entry->spent_units, ABOVE(spent_units));
    at = put_integer(at, entry->held_units, ABOVE(held_units));
    at = put_integer(at, entry->limit_delta, ABOVE(limit_delta));
    at = put_integer(at, entry->spent_delta, ABOVE(spent_delta));
    at = put_integer(at, entry->held_delta, ABOVE(held_delta));
    at = put_real(at, entry->epsilon, ABOVE(epsilon));
    return put_real(at, entry->delta, ABOVE(delta));
#undef ABOVE
}

bool ledger_block_add(struct ledger_block *block, const struct ledger_entry *entry)
{
    const char *texts[LEDGER_TEXTS] = {entry->client, entry->resource, entry->event};
    size_t sizes[LEDGER_TEXTS];
    size_t most = NUMBERS * NUMBER_ROOM + LEDGER_KIND_SIZE + 2 * (LEDGER_TEXTS + 1);
    for (unsigned i = 0; i < LEDGER_TEXTS; i++) {
        sizes[i] = strlen(texts[i]);
        most += sizes[i];
    }
    if (most >= sizeof block->lines - block->size)
        return false;
    if (block->count == 0) {
        block->first = entry->sequence;
        memcpy(block->previous_hash, entry->previous_hash, LEDGER_HASH_SIZE);
    }
    assert(entry->sequence == block->first + block->count);
    char *at = block->lines + block->size;
    at = put_numbers(at, entry, block->count > 0 ? &block->last : NULL);
    for (unsigned i = 0; i < LEDGER_TEXTS; i++)
        at = put_known(block, at, i, texts[i], sizes[i], i + 1 < LEDGER_TEXTS ? '\t' : '\n');
    *at = '\0';
    block->size = (size_t)(at - block->lines);
    block->last = *entry;
    block->count++;
    return true;
}

enum db_status ledger_block_write(struct db *db, int64_t account_number, struct ledger_block *block)
{
    if (block->count == 0)
        return DB_OK;
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
    if (size != LEDGER_HASH_SIZE)
        return false;
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
    char *stop = !field ? NULL : strchr(field, end);
    if (!stop)
        return NULL;
    *stop = '\0';
    *at = stop + 1;
    return field;
}

static bool is_ditto(const struct ledger_block_reader *reader, const char *field)
{
    return reader->has_line && field[0] == LEDGER_DITTO && field[1] == '\0';
}

static bool cut_integer(struct ledger_block_reader *reader, char **at, int64_t *out)
{
    char *field = cut(at, '\t'), *end = NULL;
    if (!field || *field == '\0')
        return false;
    if (is_ditto(reader, field))
        return true; /* it still stands in the entry, and so below */
    *out = strtoll(field, &end, 10);
    return *end == '\0';
}

static bool cut_real(struct ledger_block_reader *reader, char **at, double *out)
{
    char *field = cut(at, '\t'), *end = NULL;
    if (!field || *field == '\0')
        return false;
    if (is_ditto(reader, field))
        return true;
    *out = strtod(field, &end);
    return *end == '\0';
}

static bool keep_text(struct ledger_block_reader *reader, const char *field, char *out, size_t room)
{
    size_t size = !field ? room : strlen(field);
    if (size >= room)
        return false;
    if (!is_ditto(reader, field))
        memcpy(out, field, size + 1);
    return true;
}

static bool read_line(struct ledger_block_reader *reader)
{
    char *at = reader->text;
    struct ledger_entry *entry = &reader->entry;
    const char *kind = NULL;
    if (!cut_integer(reader, &at, &entry->time_ms) || !(kind = cut(&at, '\t')) ||
        (!is_ditto(reader, kind) && !ledger_entry_kind_find(kind, &entry->kind)) ||
        !cut_integer(reader, &at, &entry->limit_units) ||
        !cut_integer(reader, &at, &entry->spent_units) ||
        !cut_integer(reader, &at, &entry->held_units) ||
        !cut_integer(reader, &at, &entry->limit_delta) ||
        !cut_integer(reader, &at, &entry->spent_delta) ||
        !cut_integer(reader, &at, &entry->held_delta) || !cut_real(reader, &at, &entry->epsilon) ||
        !cut_real(reader, &at, &entry->delta))
        return false;
    bool good = keep_text(reader, cut(&at, '\t'), reader->client, sizeof reader->client) &&
                keep_text(reader, cut(&at, '\t'), reader->resource, sizeof reader->resource) &&
                !strchr(at, '\t') && keep_text(reader, at, reader->event, sizeof reader->event);
    entry->client = reader->client;
    entry->resource = reader->resource;
    entry->event = reader->event;
    reader->has_line = true;
    return good;
}

enum ledger_block_next ledger_block_next(struct ledger_block_reader *reader)
{
    struct ledger_entry *entry = &reader->entry;
    if (reader->left == 0)
        return reader->at == reader->end ? LEDGER_BLOCK_END : LEDGER_BLOCK_BROKEN;
    const char *stop = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    if (!stop || (size_t)(stop - reader->at) >= sizeof reader->text)
        return LEDGER_BLOCK_BROKEN;
    memcpy(reader->text, reader->at, (size_t)(stop - reader->at));
    reader->text[stop - reader->at] = '\0';
    reader->at = stop + 1;
    reader->left--;
    entry->account = reader->account;
    entry->sequence++;
    memcpy(entry->previous_hash, entry->hash, LEDGER_HASH_SIZE);
    if (!read_line(reader))
        return LEDGER_BLOCK_BROKEN;
    ledger_entry_hash(entry, entry->hash);
    return LEDGER_BLOCK_ENTRY;
}
