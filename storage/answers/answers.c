/* Answers under their keys: found before anything is done again, stored with what was done.
 *
 * DESIGN. Answers lie in blocks (answer_block.h), found by a hash of client and key. A batch keeps
 * its answers in memory and writes them as one block at its end (db_keep.h); their places in the
 * index come later (answer_index.h). Everything else is a block and a place of its own, at once. So
 * a key is looked for where it may be: in this batch, among the places that wait to be filed, in
 * answer_places unless a filter knows better (answer_filter.h), and in the table of the versions
 * before (answer_search.h). */
#include "storage/answers/answers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "storage/answers/answer_block.h"
#include "storage/answers/answer_index.h"
#include "storage/answers/answer_search.h"
#include "storage/db/db_keep.h"
#include "storage/db/id.h"
#include "storage/db/listing.h"

#define BATCH_BYTES   (256 << 10) /* of a batch's block; what does not fit is written at once */
#define BATCH_ANSWERS 1024
#define SHOWN_PLACES  512 /* of earlier batches, with each batch until all were shown */
#define KEY_ROOM      256 /* of a key that is remembered; longer ones are hashed again */

/* The key that was looked for last, and is new: mostly its answer comes next. */
struct absent {
    bool known;
    int64_t hash;
    char client[ID_SIZE], key[KEY_ROOM];
};

/* A batch's answers before they are written. */
struct waiting {
    bool synced; /* the index has all that is committed, up to the last block */
    bool alone;  /* this batch has written blocks of one answer */
    struct absent absent;
    unsigned count;
    size_t size;
    int64_t block; /* its number, once it is written */
    size_t filed;  /* places that this batch has filed */
    int64_t hashes[BATCH_ANSWERS];
    struct answer_place filing[2 * BATCH_ANSWERS];
    unsigned char bytes[BATCH_BYTES];
};

void answer_done(struct answer_row *answer)
{
    free(answer->body);
    answer->body = NULL;
}

/* ---- what the connections share */

static void *make_index(void)
{
    return answer_index_new();
}

static const struct db_sharer sharer = {
    .place = DB_SHARE_ANSWERS, .make = make_index, .free = answer_index_free};

/* ---- the batch's own */

static enum db_status write_waiting(struct db *db, void *kept);
static void learn(struct db *db, void *kept);
static void forget_waiting(struct db *db, void *kept);

static const struct db_keeper keeper = {.place = DB_KEEP_ANSWERS,
                                        .size = sizeof(struct waiting),
                                        .write = write_waiting,
                                        .committed = learn,
                                        .forget = forget_waiting};

static enum db_status search_waiting(struct answer_search *search, const struct waiting *waiting)
{
    for (unsigned i = 0; waiting && i < waiting->count; i++)
        if (waiting->hashes[i] == search->hash)
            return answer_search_block(search, waiting->bytes, waiting->size);
    return DB_OK;
}

/* ---- finding */

static void remember_absent(struct absent *absent, const struct answer_search *search)
{
    absent->known =
        search->client_size < sizeof absent->client && search->key_size < sizeof absent->key;
    if (absent->known) {
        absent->hash = search->hash;
        memcpy(absent->client, search->client, search->client_size + 1);
        memcpy(absent->key, search->key, search->key_size + 1);
    }
}

/* What is known of that key when it is the one that was looked for last; else NULL. */
static const struct absent *find_absent(const struct waiting *waiting, const char *client,
                                        const char *key)
{
    bool it = waiting && waiting->absent.known && strcmp(waiting->absent.key, key) == 0 &&
              strcmp(waiting->absent.client, client) == 0;
    return it ? &waiting->absent : NULL;
}

enum db_status answers_find(struct db *db, const char *client, const char *key,
                            struct answer_row *out)
{
    struct answer_search search = {.db = db,
                                   .client = client,
                                   .key = key,
                                   .client_size = strlen(client),
                                   .key_size = strlen(key),
                                   .out = out};
    struct waiting *waiting = db_kept(db, &keeper);
    struct answer_index *index = db_shared(db, &sharer);
    out->body = NULL;
    if (!index)
        return DB_FAILED;
    search.hash = answer_hash(client, search.client_size, key, search.key_size);
    enum db_status status = search_waiting(&search, waiting);
    bool synced = waiting && waiting->synced;
    if (status == DB_OK && !search.found && !synced) {
        bool clean = db_unchanged(db);
        status = answer_search_newest(&search, index);
        if (waiting)
            waiting->synced = clean && status == DB_OK;
    }
    if (status == DB_OK && !search.found)
        status = answer_search_filed(&search, index);
    if (status != DB_OK) {
        answer_done(out);
        return status;
    }
    if (waiting && !search.found)
        remember_absent(&waiting->absent, &search);
    return search.found ? DB_OK : DB_NONE;
}

enum db_status answers_recall(struct db *db)
{
    struct answer_index *index = db_shared(db, &sharer);
    struct answer_search none = {.db = db};
    return !index ? DB_FAILED : answer_search_newest(&none, index);
}

/* ---- storing */

/* The number of the block that comes next. */
static enum db_status next_block(struct db *db, int64_t *out)
{
    return db_one(db, "SELECT coalesce(max(id), 0) + 1 FROM answer_blocks", NULL, 0,
                  listing_integer, out);
}

static enum db_status insert_block(struct db *db, int64_t block, const unsigned char *bytes,
                                   size_t size)
{
    struct db_value values[] = {db_integer(block), db_bytes(bytes, size)};
    return db_run(db, "INSERT INTO answer_blocks (id, answers) VALUES ($1, $2)", values, 2, NULL,
                  NULL);
}

static enum db_status insert_place(struct db *db, struct answer_place place)
{
    struct db_value values[] = {db_integer(place.hash), db_integer(place.block)};
    return db_run(db,
                  "INSERT INTO answer_places (hash, block) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                  values, 2, NULL, NULL);
}

/* A block of one answer, with its place. */
static enum db_status store_alone(struct db *db, int64_t hash, const char *client, const char *key,
                                  const struct answer_row *answer)
{
    size_t size = ANSWER_BLOCK_START + answer_block_room(client, key, answer);
    unsigned char *bytes = malloc(size);
    struct answer_place place = {.hash = hash};
    if (!bytes)
        return DB_FAILED;
    answer_block_add(answer_block_begin(bytes), client, key, answer);
    enum db_status status = next_block(db, &place.block);
    if (status == DB_OK)
        status = insert_block(db, place.block, bytes, size);
    free(bytes);
    struct answer_index *index = db_shared(db, &sharer);
    if (status != DB_OK || !index)
        return status == DB_OK ? DB_FAILED : status;
    answer_index_placed(index, hash);
    return insert_place(db, place);
}

/* DB_NONE: the key is new. */
static enum db_status look_again(struct db *db, const char *client, const char *key)
{
    struct answer_row taken;
    enum db_status status = answers_find(db, client, key, &taken);
    if (status == DB_OK)
        answer_done(&taken);
    return status;
}

enum db_status answers_store(struct db *db, const char *client, const char *key,
                             const struct answer_row *answer)
{
    assert(db_in_transaction(db));
    struct waiting *waiting = db_kept(db, &keeper);
    const struct absent *absent = find_absent(waiting, client, key);
    enum db_status status = absent ? DB_NONE : look_again(db, client, key);
    if (status != DB_NONE)
        return status == DB_OK ? DB_NONE : status;
    int64_t hash = absent ? absent->hash : answer_hash(client, strlen(client), key, strlen(key));
    if (waiting)
        waiting->absent.known = false;
    size_t room = answer_block_room(client, key, answer);
    if (!waiting || waiting->count == BATCH_ANSWERS ||
        room > BATCH_BYTES - ANSWER_BLOCK_START - waiting->size) {
        if (waiting)
            waiting->alone = true;
        return store_alone(db, hash, client, key, answer);
    }
    unsigned char *at = waiting->bytes + waiting->size;
    at = waiting->count == 0 ? answer_block_begin(waiting->bytes) : at;
    waiting->size = (size_t)(answer_block_add(at, client, key, answer) - waiting->bytes);
    waiting->hashes[waiting->count++] = hash;
    db_keep_changed(db);
    return DB_OK;
}

/* ---- the end of a batch */

/* Files some places of earlier batches: twice as many as there are new ones, so that it ends. */
static enum db_status file_places(struct db *db, struct waiting *waiting,
                                  struct answer_index *index)
{
    int64_t upto = 0;
    size_t count = answer_index_next(index, waiting->filing, 2 * (size_t)waiting->count, &upto);
    enum db_status status = DB_OK;
    for (size_t i = 0; i < count && status == DB_OK; i++)
        status = insert_place(db, waiting->filing[i]);
    waiting->filed = count;
    struct db_value values[] = {db_integer(upto)};
    return status != DB_OK || upto == 0
               ? status
               : db_run(db, "UPDATE answers_filed SET upto = max(upto, $1)", values, 1, NULL, NULL);
}

struct shown {
    int64_t hashes[SHOWN_PLACES];
    size_t count;
};

static enum db_status see_hash(void *context, const struct db_row *row)
{
    struct shown *shown = context;
    assert(shown->count < SHOWN_PLACES);
    shown->hashes[shown->count++] = db_row_integer(row, 0);
    return DB_OK;
}

/* Shows the index some of the places that were filed, until it has seen all. */
static enum db_status show_places(struct db *db, struct answer_index *index)
{
    struct shown shown = {.count = 0};
    int64_t from = 0;
    if (!answer_index_wants(index, &from))
        return DB_OK;
    struct db_value values[] = {db_integer(from), db_integer(SHOWN_PLACES)};
    enum db_status status =
        db_run(db, "SELECT hash FROM answer_places WHERE hash >= $1 ORDER BY hash LIMIT $2", values,
               2, see_hash, &shown);
    if (status == DB_OK)
        answer_index_show(index, shown.hashes, shown.count, shown.count < SHOWN_PLACES);
    return status;
}

static enum db_status write_waiting(struct db *db, void *kept)
{
    struct waiting *waiting = kept;
    struct answer_index *index = db_shared(db, &sharer);
    enum db_status status = DB_OK;
    if (waiting->count == 0)
        return DB_OK;
    if (!index)
        return DB_FAILED;
    if (waiting->synced && !waiting->alone)
        waiting->block = answer_index_reached(index) + 1;
    else
        status = next_block(db, &waiting->block);
    if (status == DB_OK)
        status = insert_block(db, waiting->block, waiting->bytes, waiting->size);
    if (status == DB_OK)
        status = file_places(db, waiting, index);
    return status == DB_OK ? show_places(db, index) : status;
}

static void empty(struct waiting *waiting)
{
    waiting->absent.known = waiting->alone = false;
    waiting->count = 0;
    waiting->size = 0;
    waiting->filed = 0;
}

/* Whether the index now has the answers of this batch, all that was committed since the last. */
static bool add_answers(const struct waiting *waiting, struct answer_index *index)
{
    if (waiting->alone || answer_index_reached(index) != waiting->block - 1)
        return false; /* blocks in between have to be read: by the next sync */
    for (unsigned i = 0; i < waiting->count; i++) {
        struct answer_place place = {waiting->hashes[i], waiting->block};
        if (!answer_index_add(index, place))
            return false;
    }
    answer_index_reach(index, waiting->block);
    return true;
}

/* What was committed is known without being read again. */
static void learn(struct db *db, void *kept)
{
    struct waiting *waiting = kept;
    struct answer_index *index = db_shared(db, &sharer);
    if (index && waiting->count > 0) {
        answer_index_filed(index, waiting->filed);
        waiting->synced = add_answers(waiting, index) && waiting->synced;
    }
    waiting->synced = waiting->synced && !waiting->alone && index;
    empty(waiting);
}

static void forget_waiting(struct db *db, void *kept)
{
    struct waiting *waiting = kept;
    (void)db;
    waiting->synced = false;
    empty(waiting);
}
