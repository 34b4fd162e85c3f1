/* A block is the byte 1 and then answers, one after the other. Numbers are little endian:
 *
 *   u32 size of what follows; i64 created_ms; u16 status; 32 bytes of fingerprint;
 *   client, key, content type, location (each u16 size and bytes); the body (the rest) */
#include "storage/answers/answers_upgrade.h"

#include <stdio.h>

#include "storage/answers/answers.h"
#include "storage/db/table.h"

#define FIXED_BYTES (8 + 2 + ANSWER_FINGERPRINT_SIZE)
#define TEXTS       4

struct answer_block {
    int64_t id;
    char *answers;
    size_t size;
};

static const struct column block_columns[] = {
    COLUMN(answer_block, id, INTEGER),
    COLUMN_BYTES_OF(answer_block, answers, size),
};

static const struct table blocks_table = TABLE("answer_blocks", answer_block, block_columns, 0);

static uint64_t old_number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Reads the text at *AT into *OUT and advances *AT past it. False: the text does not end before
 * END. */
static bool old_text(const unsigned char **at, const unsigned char *end, struct db_value *out)
{
    if (end - *at < 2)
        return false;
    size_t size = (size_t)old_number(*at, 2);
    *at += 2;
    if ((size_t)(end - *at) < size)
        return false;
    *out = (struct db_value){.type = DB_TEXT, .data = *at, .size = size};
    *at += size;
    return true;
}

/* Decodes the answer in the bytes from AT up to END and inserts it. DB_NONE: the bytes are
 * malformed. */
static enum db_status insert_answer(struct db *db, const unsigned char *at,
                                    const unsigned char *end)
{
    struct db_value values[TEXTS + 4];
    if (end - at < FIXED_BYTES)
        return DB_NONE;
    values[TEXTS] = db_integer((int64_t)old_number(at, 8));
    values[TEXTS + 1] = db_integer((int64_t)old_number(at + 8, 2));
    values[TEXTS + 2] = db_bytes(at + 10, ANSWER_FINGERPRINT_SIZE);
    at += FIXED_BYTES;
    for (unsigned i = 0; i < TEXTS; i++)
        if (!old_text(&at, end, &values[i]))
            return DB_NONE;
    values[TEXTS + 3] = db_bytes(at, (size_t)(end - at));
    return db_run(db,
                  "INSERT INTO answers (client, key, content_type, location, created_ms, status, "
                  "fingerprint, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                  values, sizeof values / sizeof *values, NULL, NULL);
}

static enum db_status copy_answers(struct db *db, const struct answer_block *block)
{
    const unsigned char *at = (const unsigned char *)block->answers, *end = at + block->size;
    if (at == end || *at++ != 1)
        return DB_NONE;
    enum db_status status = DB_OK;
    while (at < end && status == DB_OK) {
        size_t size = end - at < 4 ? SIZE_MAX : (size_t)old_number(at, 4);
        if (size > (size_t)(end - at) - 4)
            return DB_NONE;
        status = insert_answer(db, at + 4, at + 4 + size);
        at += 4 + size;
    }
    return status;
}

struct answers_work {
    struct db *db;
    char *error;
    enum db_status status;
};

static bool upgrade_block(void *context, const void *row)
{
    struct answers_work *work = context;
    const struct answer_block *block = row;
    work->status = copy_answers(work->db, block);
    if (work->status == DB_NONE)
        snprintf(work->error, DB_ERROR_SIZE, "block %lld of stored answers cannot be read",
                 (long long)block->id);
    return work->status == DB_OK;
}

enum db_status answers_upgrade(struct db *db, char error[DB_ERROR_SIZE])
{
    struct answers_work work = {db, error, DB_OK};
    enum db_status status =
        table_list(db, &blocks_table, "ORDER BY id", NULL, 0, upgrade_block, &work);
    return status == DB_OK ? work.status : status;
}
