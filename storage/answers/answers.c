/* Answers under their keys: looked up before a request is executed again, stored with the request's
 * effects. */
#include "storage/answers/answers.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/db/table.h"

/* A row of the table: the answer under its name. */
struct named_answer {
    char client[ID_SIZE], key[ANSWER_KEY_SIZE];
    struct answer_row answer;
};

#define ANSWER(field, kind)                                                                        \
    {                                                                                              \
#field, COLUMN_##kind, offsetof(struct named_answer, answer.field),                        \
            sizeof(((struct answer_row *)0)->field), NULL                                          \
    }

static const struct column answer_columns[] = {
    COLUMN(named_answer, client, TEXT),
    COLUMN(named_answer, key, TEXT),
    ANSWER(fingerprint, BYTES),
    ANSWER(status, COUNT),
    ANSWER(content_type, TEXT),
    ANSWER(location, TEXT),
    {"body", COLUMN_BLOB, offsetof(struct named_answer, answer.body),
     offsetof(struct named_answer, answer.body_size), NULL},
    ANSWER(created_ms, INTEGER),
};

const struct table answers_table = TABLE_DIGESTED("answers", named_answer, answer_columns,
                                                  TABLE_ALL(answer_columns), "digest", 2, 0);

void answer_done(struct answer_row *answer)
{
    free(answer->body);
    answer->body = NULL;
}

enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out)
{
    struct named_answer found;
    found.answer.body = NULL;
    enum db_status status = table_find(db, &answers_table, "WHERE client = $1 AND key = $2",
                                       DB_VALUES(db_text(client), db_text(key)), &found);
    out->body = NULL;
    if (status == DB_OK)
        *out = found.answer;
    return status;
}

enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer)
{
    struct named_answer row = {.answer = *answer};
    size_t client_size = strlen(client), key_size = strlen(key);
    assert(db_in_transaction(db));
    assert(client_size < sizeof row.client && key_size < sizeof row.key);
    memcpy(row.client, client, client_size);
    memcpy(row.key, key, key_size);
    return table_insert(db, &answers_table, &row, NULL, 0);
}

/* ---- all of them */

/* A damaged index would make an answer look as if it had never been given, and its key would be
 * answered anew. So the names in the rows and those in the index are counted and summed up. */
struct name_sum {
    int64_t count;
    uint64_t sum;                               /* of the names' hashes */
    char client[ID_SIZE], key[ANSWER_KEY_SIZE]; /* the last name that the index showed */
    bool sorted;
};

static void add_name(struct name_sum *sum, const char *client, const char *key)
{
    static const unsigned char no_key[crypto_shorthash_KEYBYTES];
    unsigned char text[ID_SIZE + ANSWER_KEY_SIZE], hash[crypto_shorthash_BYTES];
    uint64_t number;
    int size = snprintf((char *)text, sizeof text, "%s %s", client, key);
    crypto_shorthash(hash, text, (unsigned long long)size, no_key);
    memcpy(&number, hash, sizeof number);
    sum->sum += number;
    sum->count++;
}

static bool see_answer(void *context, const void *row)
{
    const struct named_answer *named = row;
    add_name(context, named->client, named->key);
    return true;
}

static enum db_status see_name(void *context, const struct db_row *row)
{
    struct name_sum *sum = context;
    char client[ID_SIZE], key[ANSWER_KEY_SIZE];
    if (!db_row_copy(row, 0, client, sizeof client) || !db_row_copy(row, 1, key, sizeof key))
        return DB_FAILED;
    int order = strcmp(sum->client, client);
    sum->sorted = sum->sorted && (order < 0 || (order == 0 && strcmp(sum->key, key) < 0));
    memcpy(sum->client, client, sizeof client);
    memcpy(sum->key, key, sizeof key);
    add_name(sum, client, key);
    return DB_OK;
}

struct verify_work {
    struct name_sum rows, index;
};

static enum db_status verify_answers(struct db *db, void *context)
{
    struct verify_work *work = context;
    enum db_status status = table_list(db, &answers_table, "", NULL, 0, see_answer, &work->rows);
    if (status != DB_OK)
        return status;
    return db_run(db, "SELECT client, key FROM answers ORDER BY client, key", NULL, 0, see_name,
                  &work->index);
}

enum db_status answers_verify(struct db *db, int64_t *out_count, char error[DB_ERROR_SIZE])
{
    struct verify_work work = {.index.sorted = true};
    enum db_status status = db_view(db, verify_answers, &work);
    *out_count = work.rows.count;
    if (status != DB_OK) {
        snprintf(error, DB_ERROR_SIZE, "%s", db_last_error(db));
        return DB_FAILED;
    }
    if (work.index.sorted && work.index.count == work.rows.count && work.index.sum == work.rows.sum)
        return DB_OK;
    snprintf(error, DB_ERROR_SIZE, "the index of stored answers is damaged");
    return DB_FAILED;
}
