/* One block after the other, until the key is found. */
#include "storage/answers/answer_search.h"

#include <string.h>

#include "storage/answers/answer_block.h"
#include "storage/db/db_keep.h"
#include "storage/db/listing.h"

#define EQUAL_HASHES 16 /* that many keys of one hash are no accident and cannot be made */

/* ---- reading blocks */

static bool copy_text(char *out, size_t room, const char *text, size_t size)
{
    if (size >= room)
        return false;
    memcpy(out, text, size);
    out[size] = '\0';
    return true;
}

static enum db_status take_entry(const struct answer_entry *entry, struct answer_row *out)
{
    out->status = entry->status;
    out->created_ms = entry->created_ms;
    memcpy(out->fingerprint, entry->fingerprint, sizeof out->fingerprint);
    if (!copy_text(out->content_type, sizeof out->content_type, entry->content_type,
                   entry->content_type_size) ||
        !copy_text(out->location, sizeof out->location, entry->location, entry->location_size))
        return DB_FAILED;
    out->body = listing_duplicate(entry->body, entry->body_size);
    out->body_size = entry->body_size;
    return !out->body ? DB_FAILED : DB_OK;
}

enum db_status answer_search_block(struct answer_search *search, const void *bytes, size_t size)
{
    struct answer_walk walk;
    struct answer_entry entry;
    if (!answer_walk_begin(&walk, bytes, size))
        return DB_FAILED;
    enum answer_step step;
    while (!search->found && (step = answer_walk_next(&walk, &entry)) != ANSWER_END) {
        if (step == ANSWER_BROKEN)
            return DB_FAILED;
        search->found = entry.client_size == search->client_size &&
                        entry.key_size == search->key_size &&
                        memcmp(entry.client, search->client, entry.client_size) == 0 &&
                        memcmp(entry.key, search->key, entry.key_size) == 0;
    }
    return search->found ? take_entry(&entry, search->out) : DB_OK;
}

static enum db_status see_block(void *context, const struct db_row *row)
{
    size_t size = 0;
    const void *bytes = db_row_bytes(row, 0, &size);
    return answer_search_block(context, bytes, size);
}

static enum db_status search_numbered(struct answer_search *search, int64_t block)
{
    struct db_value values[] = {db_integer(block)};
    return search->found ? DB_OK
                         : db_run(search->db, "SELECT answers FROM answer_blocks WHERE id = $1",
                                  values, 1, see_block, search);
}

/* ---- the index: brought up to what is committed before it is asked */

static enum db_status add_block(void *context, const struct db_row *row)
{
    struct answer_index *index = context;
    int64_t block = db_row_integer(row, 0);
    size_t size = 0;
    const void *bytes = db_row_bytes(row, 1, &size);
    struct answer_walk walk;
    struct answer_entry entry;
    if (!answer_walk_begin(&walk, bytes, size))
        return DB_FAILED;
    enum answer_step step;
    while ((step = answer_walk_next(&walk, &entry)) == ANSWER_ENTRY) {
        int64_t hash = answer_hash(entry.client, entry.client_size, entry.key, entry.key_size);
        if (!answer_index_add(index, (struct answer_place){hash, block}))
            return DB_FAILED;
    }
    if (step == ANSWER_BROKEN)
        return DB_FAILED;
    answer_index_reach(index, block);
    return DB_OK;
}

static enum db_status see_newer(void *context, const struct db_row *row)
{
    struct answer_search *search = context;
    size_t size = 0;
    const void *bytes = db_row_bytes(row, 1, &size);
    return search->found ? DB_OK : answer_search_block(search, bytes, size);
}

enum db_status answer_search_newest(struct answer_search *search, struct answer_index *index)
{
    struct db *db = search->db;
    int64_t reached = answer_index_reached(index), filed = 0;
    enum db_status status = DB_OK;
    if (reached < 0) {
        status = db_one(db, "SELECT upto FROM answers_filed", NULL, 0, listing_integer, &filed);
        reached = filed;
    }
    if (status != DB_OK)
        return status == DB_NONE ? DB_FAILED : status;
    static const char newer[] = "SELECT id, answers FROM answer_blocks WHERE id > $1 ORDER BY id";
    struct db_value values[] = {db_integer(reached)};
    if (!db_unchanged(db))
        return db_run(db, newer, values, 1, see_newer, search);
    status = db_run(db, newer, values, 1, add_block, index);
    if (status == DB_OK)
        answer_index_reach(index, reached);
    return status;
}

/* ---- where the places say */

static enum db_status see_place(void *context, const struct db_row *row)
{
    return search_numbered(context, db_row_integer(row, 0));
}

static enum db_status see_old(void *context, const struct db_row *row)
{
    struct answer_search *search = context;
    struct answer_row *out = search->out;
    size_t size = 0;
    const void *fingerprint = db_row_bytes(row, 0, &size);
    if (size != sizeof out->fingerprint)
        return DB_FAILED;
    memcpy(out->fingerprint, fingerprint, size);
    out->status = (int)db_row_integer(row, 1);
    out->created_ms = db_row_integer(row, 5);
    const void *body = db_row_bytes(row, 4, &out->body_size);
    if (!db_row_copy(row, 2, out->content_type, sizeof out->content_type) ||
        !db_row_copy(row, 3, out->location, sizeof out->location))
        return DB_FAILED;
    out->body = listing_duplicate(body, out->body_size);
    search->found = out->body != NULL;
    return !out->body ? DB_FAILED : DB_OK;
}

static enum db_status search_indexed(struct answer_search *search, struct answer_index *index)
{
    int64_t blocks[EQUAL_HASHES];
    size_t count = answer_index_find(index, search->hash, blocks, EQUAL_HASHES);
    if (count > EQUAL_HASHES)
        return DB_FAILED;
    enum db_status status = DB_OK;
    for (size_t i = 0; i < count && status == DB_OK; i++)
        status = search_numbered(search, blocks[i]);
    return status;
}

/* The table of the versions before; mostly there is nothing in it. */
static enum db_status search_old(struct answer_search *search, struct answer_index *index)
{
    struct db_value names[] = {db_text(search->client), db_text(search->key)};
    enum answer_index_old old = answer_index_old(index);
    if (old == ANSWER_OLD_UNKNOWN) {
        int64_t some = 0;
        enum db_status status = db_one(search->db, "SELECT EXISTS (SELECT 1 FROM answers)", NULL, 0,
                                       listing_integer, &some);
        if (status != DB_OK)
            return status;
        old = some ? ANSWER_OLD_SOME : ANSWER_OLD_NONE;
        answer_index_say_old(index, old);
    }
    return old == ANSWER_OLD_NONE
               ? DB_OK
               : db_run(search->db,
                        "SELECT fingerprint, status, content_type, location, body, created_ms "
                        "FROM answers WHERE client = $1 AND key = $2",
                        names, 2, see_old, search);
}

static enum db_status search_tables(struct answer_search *search, struct answer_index *index)
{
    struct db_value hash[] = {db_integer(search->hash)};
    enum db_status status = DB_OK;
    if (answer_index_may_be_filed(index, search->hash)) {
        status = db_run(search->db, "SELECT block FROM answer_places WHERE hash = $1", hash, 1,
                        see_place, search);
    }
    if (status != DB_OK || search->found)
        return status;
    return search_old(search, index);
}

enum db_status answer_search_filed(struct answer_search *search, struct answer_index *index)
{
    enum db_status status = search_indexed(search, index);
    return status == DB_OK && !search->found ? search_tables(search, index) : status;
}
