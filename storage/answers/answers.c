/* Answers under their keys: looked up before a request is executed again, stored with the request's
 * effects. */
#include "storage/answers/answers.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/key_date.h"
#include "storage/db/listing.h"
#include "storage/db/note.h"
#include "storage/db/table.h"
#include "storage/marks/marks.h"

/* A row of the table: the answer under its name. */
struct named_answer {
    char client[ID_SIZE], key[ANSWER_KEY_SIZE];
    struct answer_row answer;
    int64_t rowid; /* grows in the order of storing */
};

#define ANSWER(field, kind)                                                                        \
    {                                                                                              \
#field, COLUMN_##kind, offsetof(struct named_answer, answer.field),                        \
            sizeof(((struct answer_row *)0)->field), NULL                                          \
    }

#define ANSWER_COLUMNS                                                                             \
    COLUMN(named_answer, client, TEXT), COLUMN(named_answer, key, TEXT),                           \
        ANSWER(fingerprint, BYTES), ANSWER(status, COUNT), ANSWER(content_type, TEXT),             \
        {"location", COLUMN_TEXT, offsetof(struct named_answer, answer.headers),                   \
         ANSWER_HEADERS_SIZE, NULL},                                                               \
        {"body", COLUMN_BLOB, offsetof(struct named_answer, answer.body),                          \
         offsetof(struct named_answer, answer.body_size), NULL},                                   \
        ANSWER(created_ms, INTEGER)

static const struct column answer_columns[] = {ANSWER_COLUMNS};
static const struct column placed_columns[] = {ANSWER_COLUMNS,
                                               COLUMN(named_answer, rowid, INTEGER)};

const struct table answers_table = TABLE_DIGESTED("answers", named_answer, answer_columns,
                                                  TABLE_ALL(answer_columns), "digest", 2, 0);

/* The same table, read with rowid. The digest does not cover rowid. */
static const struct table placed_table =
    TABLE_DIGESTED("answers", named_answer, placed_columns, 0, "digest", 2, 1);

void answer_done(struct answer_row *answer)
{
    free(answer->body);
    answer->body = NULL;
}

static enum db_status answers_find_by(struct db *db, const char *tail,
                                      const struct db_value *values, unsigned count,
                                      struct answer_row *out)
{
    struct named_answer found;
    found.answer.body = NULL;
    enum db_status status = table_find(db, &answers_table, tail, values, count, &found);
    out->body = NULL;
    if (status == DB_OK)
        *out = found.answer;
    return status;
}

/* ---- the keys of a batch */

#define EXPECTED_MOST 128 /* further ones are looked for one by one */

struct expected {
    char client[ID_SIZE], key[ANSWER_KEY_SIZE];
    bool is_new; /* as far as is known */
};

struct expectation {
    unsigned count, asked; /* the first ASKED were looked for */
    struct expected answers[EXPECTED_MOST];
};

static enum db_status nothing_to_write(struct db *db, void *state)
{
    (void)db;
    (void)state;
    return DB_OK;
}

static struct expectation *expectation_of(struct db *db)
{
    if (!db_driver_of(db)->lists)
        return NULL;
    return db_batch_state(db, sizeof(struct expectation), nothing_to_write);
}

void answers_expect(struct db *db, const char *client, const char *key)
{
    struct expectation *all = expectation_of(db);
    size_t client_size = strlen(client), key_size = strlen(key);
    if (!all || all->count == EXPECTED_MOST || client_size >= ID_SIZE ||
        key_size >= ANSWER_KEY_SIZE)
        return;
    struct expected *expected = &all->answers[all->count++];
    memcpy(expected->client, client, client_size);
    memcpy(expected->key, key, key_size);
}

static enum db_status see_new(void *context, const struct db_row *row)
{
    struct expectation *all = context;
    int64_t number = db_row_integer(row, 0);
    assert(number > 0 && number <= all->count);
    all->answers[number - 1].is_new = true;
    return DB_OK;
}

/* Each key is looked for by itself, whatever the database believes of the table's size. */
static enum db_status look_for_all(struct db *db, struct expectation *all)
{
    struct db_value clients[EXPECTED_MOST], keys[EXPECTED_MOST];
    for (unsigned i = 0; i < all->count; i++) {
        clients[i] = db_text(all->answers[i].client);
        keys[i] = db_text(all->answers[i].key);
    }
    all->asked = all->count;
    return db_run(db,
                  "SELECT n.number FROM unnest($1, $2) WITH ORDINALITY AS n (client, key, number)"
                  " WHERE (SELECT count(*) FROM answers AS a WHERE a.client = n.client"
                  " AND a.key = n.key) = 0",
                  DB_VALUES(db_list(clients, all->count), db_list(keys, all->count)), see_new, all);
}

static struct expected *find_expected(struct expectation *all, const char *client, const char *key)
{
    for (unsigned i = 0; all && i < all->asked; i++)
        if (strcmp(all->answers[i].key, key) == 0 && strcmp(all->answers[i].client, client) == 0)
            return &all->answers[i];
    return NULL;
}

/* Whether the open batch knows that there is no answer for CLIENT and KEY. */
static enum db_status know_new(struct db *db, const char *client, const char *key, bool *out)
{
    struct expectation *all = expectation_of(db);
    enum db_status status = DB_OK;
    if (all && all->asked < all->count)
        status = look_for_all(db, all);
    const struct expected *expected = find_expected(all, client, key);
    *out = expected && expected->is_new;
    return status;
}

enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out)
{
    bool is_new = false;
    enum db_status status = know_new(db, client, key, &is_new);
    out->body = NULL;
    if (status != DB_OK || is_new)
        return status == DB_OK ? DB_NONE : status;
    return answers_find_by(db, "WHERE client = $1 AND key = $2",
                           DB_VALUES(db_text(client), db_text(key)), out);
}

enum db_status answers_find_since(struct db *db, const char *client, const char *name,
                                  int64_t from_ms, struct answer_row *out)
{
    char from[ANSWER_KEY_SIZE], end[ANSWER_KEY_SIZE];
    key_date_name(name, from_ms, from);
    key_date_name(name, INT64_MAX, end);
    return answers_find_by(
        db,
        "WHERE client = $1 AND key >= $2 AND key <= $4 AND (key = $2 OR key >= $3) "
        "ORDER BY key DESC LIMIT 1",
        DB_VALUES(db_text(client), db_text(name), db_text(from), db_text(end)), out);
}

enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer)
{
    struct named_answer row = {.answer = *answer};
    struct expected *expected = find_expected(expectation_of(db), client, key);
    size_t client_size = strlen(client), key_size = strlen(key);
    assert(db_in_transaction(db));
    assert(client_size < sizeof row.client && key_size < sizeof row.key);
    memcpy(row.client, client, client_size);
    memcpy(row.key, key, key_size);
    marks_note_key(db, key_date_ms(key));
    if (expected)
        expected->is_new = false;
    return table_append(db, &answers_table, &row);
}

/* ---- removal */

#define PRUNED_AT_ONCE 1024 /* some milliseconds, shorter than a full batch */

struct prune_work {
    struct answers_sweep *sweep;
    int64_t seen;
    bool ended; /* at a row whose time is not over */
    unsigned rows, count;
    int64_t rowids[PRUNED_AT_ONCE];
};

enum db_status answers_kept_from(struct db *db, int64_t *out_ms)
{
    char value[NOTE_SIZE];
    enum db_status status = note_find(db, "answers-from", value);
    *out_ms = strtoll(value, NULL, 10);
    return db_owed(status);
}

/* Notes a later time. One that is damaged is not replaced. */
static enum db_status note_from(struct db *db, int64_t from_ms)
{
    char value[NOTE_SIZE];
    int64_t noted_ms;
    enum db_status status = answers_kept_from(db, &noted_ms);
    if (status != DB_OK || noted_ms >= from_ms)
        return status;
    snprintf(value, sizeof value, "%lld", (long long)from_ms);
    return note_put(db, "answers-from", value);
}

enum db_status answers_newest(struct db *db, int64_t *out_ms)
{
    *out_ms = 0;
    return db_optional(db_one(db, "SELECT created_ms FROM answers ORDER BY rowid DESC LIMIT 1",
                              NULL, 0, listing_integer, out_ms));
}

/* Rows that were stored while keys had to name a time are seen after all of them are over. The
 * others stay: their keys name no time, or one that a wrong clock allowed. */
static bool see_placed(void *context, const void *row)
{
    struct prune_work *work = context;
    const struct named_answer *named = row;
    const struct answers_sweep *sweep = work->sweep;
    bool old = named->answer.created_ms < sweep->from_ms - ANSWERS_EARLY_MS;
    work->ended = !old && named->answer.created_ms <= sweep->now_ms;
    if (work->ended)
        return false;
    int64_t date = key_date_ms(named->key);
    if (old && date >= 0 && date < sweep->from_ms)
        work->rowids[work->count++] = named->rowid;
    work->seen = named->rowid;
    work->rows++;
    return true;
}

static enum db_status find_old(struct db *db, void *context)
{
    struct prune_work *work = context;
    return table_list(db, &placed_table, "WHERE rowid > $1 ORDER BY rowid LIMIT $2",
                      DB_VALUES(db_integer(work->seen), db_integer(PRUNED_AT_ONCE)), see_placed,
                      work);
}

static enum db_status remove_old(struct db *db, void *context)
{
    struct prune_work *work = context;
    int64_t last = 0;
    enum db_status status = note_from(db, work->sweep->from_ms);
    for (unsigned i = 0; i < work->count && status == DB_OK; i++) {
        unsigned first = i;
        while (i + 1 < work->count && work->rowids[i + 1] == work->rowids[i] + 1)
            i++;
        status = db_owed(
            db_change(db, "DELETE FROM answers WHERE rowid BETWEEN $1 AND $2",
                      DB_VALUES(db_integer(work->rowids[first]), db_integer(work->rowids[i]))));
    }
    if (status == DB_OK)
        status = db_one(db, "SELECT coalesce(max(rowid), 0) FROM answers", NULL, 0, listing_integer,
                        &last);
    if (last < work->seen) /* the places of the newest rows are used again */
        work->seen = last;
    return status;
}

enum db_status answers_prune(struct db *db, struct answers_sweep *sweep)
{
    struct prune_work work = {.sweep = sweep, .seen = sweep->seen};
    sweep->more = false;
    enum db_status status = db_view(db, find_old, &work);
    if (status == DB_OK && work.count > 0)
        status = db_transact(db, remove_old, &work);
    if (status != DB_OK)
        return status;
    sweep->more = work.rows == PRUNED_AT_ONCE;
    sweep->seen = work.seen;
    return DB_OK;
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
