/* Small values are gathered before they are hashed, because a call of the hash costs as much as
 * hashing a hundred bytes. */
#include "storage/db/digest.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/buffer.h"
#include "memory/memory.h"
#include "storage/db/db_state.h"

#define GATHERED_BYTES 512
#define READ_MOST      4096 /* bytes of a statement */
#define NAME_SHOWN     48   /* bytes of a key column in an error */

struct digest_state {
    crypto_generichash_state hash;
    size_t gathered;
    unsigned char bytes[GATHERED_BYTES];
};

static void digest_flush(struct digest_state *state)
{
    crypto_generichash_update(&state->hash, state->bytes, state->gathered);
    state->gathered = 0;
}

static void digest_gather(struct digest_state *state, const void *bytes, size_t size)
{
    if (size > GATHERED_BYTES - state->gathered)
        digest_flush(state);
    if (size > GATHERED_BYTES) {
        crypto_generichash_update(&state->hash, bytes, size);
        return;
    }
    if (size > 0)
        memcpy(state->bytes + state->gathered, bytes, size);
    state->gathered += size;
}

static void digest_gather_number(struct digest_state *state, uint64_t number)
{
    unsigned char bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
    digest_gather(state, bytes, sizeof bytes);
}

/* The type in a byte, then a number, or a size and the bytes. */
static void digest_gather_value(struct digest_state *state, const struct db_value *value)
{
    uint64_t number = 0;
    double real;
    unsigned char type = (unsigned char)value->type;
    digest_gather(state, &type, 1);
    switch (value->type) {
    case DB_NULL: return;
    case DB_INTEGER: digest_gather_number(state, (uint64_t)value->integer); return;
    case DB_REAL:
        real = value->real + 0.0; /* a database keeps no negative zero */
        memcpy(&number, &real, sizeof number);
        digest_gather_number(state, number);
        return;
    default:
        digest_gather_number(state, value->size);
        digest_gather(state, value->data, value->size);
    }
}

void digest_of_values(const struct db *db, const struct table *table, const struct db_value *values,
                      unsigned char out[DIGEST_SIZE])
{
    struct digest_state state = {.gathered = 0};
    crypto_generichash_init(&state.hash, db->store->digest_key, sizeof db->store->digest_key,
                            DIGEST_SIZE);
    digest_gather(&state, table->name, strlen(table->name) + 1);
    digest_gather(&state, table->digest, strlen(table->digest) + 1);
    for (unsigned i = 0; i < table->count - table->loose; i++)
        digest_gather_value(&state, &values[i]);
    digest_flush(&state);
    crypto_generichash_final(&state.hash, out, DIGEST_SIZE);
}

/* ---- the name of a row that does not hold */

/* A key may be a client's own text, so other bytes than those of names become question marks. */
static void name_value(const struct db_value *value, char out[NAME_SHOWN + 1])
{
    if (value->type == DB_INTEGER) {
        snprintf(out, NAME_SHOWN + 1, "%lld", (long long)value->integer);
        return;
    }
    size_t size = value->type == DB_TEXT ? value->size : 0;
    size = size > NAME_SHOWN ? NAME_SHOWN : size;
    for (size_t i = 0; i < size; i++) {
        char c = ((const char *)value->data)[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     strchr("_-.:", c);
        out[i] = c != '\0' && plain ? c : '?';
    }
    out[size] = '\0';
}

bool digest_holds(struct db *db, const struct table *table, const struct db_row *row)
{
    unsigned char wanted[DIGEST_SIZE];
    char first[NAME_SHOWN + 1], second[NAME_SHOWN + 1] = "";
    const struct db_value *got = &row->values[table->count];
    assert(row->count == table->count + 1);
    digest_of_values(db, table, row->values, wanted);
    if (got->type == DB_BYTES && got->size == DIGEST_SIZE &&
        sodium_memcmp(got->data, wanted, DIGEST_SIZE) == 0)
        return true;
    name_value(&row->values[0], first);
    if (table->named > 1)
        name_value(&row->values[1], second);
    snprintf(db->fault.damage, sizeof db->fault.damage, "%s %s%s%s", table->name, first,
             table->named > 1 ? " " : "", second);
    snprintf(db->fault.text, sizeof db->fault.text, "row is damaged (%s): %.160s", table->digest,
             db->fault.damage);
    return false;
}

bool digest_damaged(const struct db *db, const struct table *table, const char *id)
{
    char name[DB_ERROR_SIZE];
    snprintf(name, sizeof name, "%s %s", table->name, id);
    return strcmp(db->fault.damage, name) == 0;
}

/* ---- the upgrade */

struct digest_work {
    struct db *db;
    const struct table *table;
    const char *sql;
};

static enum db_status digest_row(void *context, const struct db_row *row)
{
    const struct digest_work *work = context;
    unsigned char digest[DIGEST_SIZE];
    digest_of_values(work->db, work->table, row->values, digest);
    return db_owed(db_change(work->db, work->sql,
                             DB_VALUES(db_bytes(digest, sizeof digest), row->values[0],
                                       row->values[1], row->values[2])));
}

enum db_status digest_all(struct db *db, const struct table *table)
{
    char sql[256];
    int n =
        snprintf(sql, sizeof sql, "UPDATE %s SET %s = $1 WHERE true", table->name, table->digest);
    assert(table->named <= 3 && table->count > 1);
    for (unsigned i = 0; i < table->named; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, " AND %s = $%u", table->columns[i].name,
                      i + 2);
    assert((size_t)n < sizeof sql);
    /* The loose columns may be younger than the version that is upgraded. */
    struct buffer read = {.lid = READ_MOST};
    for (unsigned i = 0; i < table->count - table->loose; i++)
        buffer_add_format(&read, "%s%s", i == 0 ? "SELECT " : ", ", table->columns[i].name);
    buffer_add_format(&read, ", %s FROM %s", table->digest, table->name);
    char *text = memory_must(buffer_take(&read, NULL));
    struct digest_work work = {db, table, sql};
    enum db_status status = db_run(db, text, NULL, 0, digest_row, &work);
    free(text);
    return status;
}

void digest_key_name(const struct db *db, char out[2 * DIGEST_SIZE + 1])
{
    static const char purpose[] = "tacet: the name of the key of digests, 1";
    unsigned char name[DIGEST_SIZE];
    crypto_generichash(name, sizeof name, (const unsigned char *)purpose, sizeof purpose,
                       db->store->digest_key, sizeof db->store->digest_key);
    sodium_bin2hex(out, 2 * DIGEST_SIZE + 1, name, sizeof name);
}
